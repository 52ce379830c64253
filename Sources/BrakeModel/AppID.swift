// The identity of an app: the key of every topic.

/// An app's id: 1 to 64 characters of `A-Z a-z 0-9 . _ -`. Ordered by its bytes.
public struct AppID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The most bytes an id may have.
    public static let bytesMax = 64

    /// The id itself.
    public let text: String

    /// Makes an id from text, nil if it is empty, too long, or has another character.
    public init?(_ text: some StringProtocol) {
        guard AppID.isValid(text.utf8) else { return nil }
        self.text = String(text)
    }

    /// The id of a record's key, nil when that is absent or none.
    package init?(bytes: UnsafeRawBufferPointer?) {
        guard let bytes = unsafe bytes, unsafe AppID.isValid(bytes) else { return nil }
        text = unsafe String(decoding: bytes, as: UTF8.self)
    }

    /// Whether these bytes are an id. O(length).
    public static func isValid(_ bytes: some Collection<UInt8>) -> Bool {
        guard (1...bytesMax).contains(bytes.count) else { return false }
        for byte in bytes where !isAllowed(byte) { return false }
        return true
    }

    @inlinable
    package static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
            UInt8(ascii: "-"):
            true
        default: false
        }
    }

    public var description: String { text }

    public static func < (one: AppID, other: AppID) -> Bool {
        // Of ASCII alone, the order of texts is that of their bytes, and compared at once.
        one.text < other.text
    }
}
