// Names of apps as people group them: one app, or all that fit a pattern.

/// An app's id in which `*` stands for any characters, also none. Without a `*` it is that app.
public struct AppPattern: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// All apps.
    public static let all = AppPattern(checked: "*")

    /// The pattern itself.
    public let text: String

    /// Makes a pattern of text, nil if it is empty, too long, or has another character.
    public init?(_ text: some StringProtocol) {
        let bytes = text.utf8
        guard (1...AppID.bytesMax).contains(bytes.count),
            bytes.allSatisfy({ AppID.isAllowed($0) || $0 == AppPattern.star })
        else { return nil }
        self.text = String(text)
    }

    private init(checked text: String) { self.text = text }

    private static let star = UInt8(ascii: "*")

    /// Whether it is one app.
    public var isOneApp: Bool { !text.utf8.contains(AppPattern.star) }

    /// Whether the app fits. O(pattern times id).
    public func matches(_ app: some Collection<UInt8>) -> Bool {
        let pattern = Array(text.utf8)
        let name = Array(app)
        var place = 0
        var index = 0
        /// The last `*` met, and where in the name it was last taken to end.
        var star: (place: Int, index: Int)?
        while index < name.count {
            if place < pattern.count, pattern[place] == AppPattern.star {
                star = (place, index)
                place += 1
            } else if place < pattern.count, pattern[place] == name[index] {
                place += 1
                index += 1
            } else if let last = star {
                star = (last.place, last.index + 1)
                place = last.place + 1
                index = last.index + 1
            } else {
                return false
            }
        }
        return pattern[place...].allSatisfy { $0 == AppPattern.star }
    }

    public var description: String { text }

    /// The more particular first: one app, then the pattern that says most of the id, then by text.
    public static func < (one: AppPattern, other: AppPattern) -> Bool {
        if one.isOneApp != other.isOneApp { return one.isOneApp }
        if one.literalCount != other.literalCount { return one.literalCount > other.literalCount }
        return one.text.utf8.lexicographicallyPrecedes(other.text.utf8)
    }

    private var literalCount: Int { text.utf8.count { $0 != AppPattern.star } }
}
