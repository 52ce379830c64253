// Our ends of a child's streams, and theirs.
import Glibc

/// A descriptor with one owner.
final class Descriptor: Sendable {
    let number: Int32

    private init(_ number: Int32) { self.number = number }

    deinit { close(number) }

    /// Two ends of a stream. Sockets: unlike a pipe these are closed in children from the beginning
    /// on, and to write where nobody reads is an error that ends nobody.
    static func pair() throws -> (ours: Descriptor, theirs: Descriptor) {
        var ends: [Int32] = [-1, -1]
        let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else {
            throw ChildProcess.NotStarted(words: ["socketpair"], code: errno)
        }
        return (Descriptor(ends[0]), Descriptor(ends[1]))
    }

    func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe send(number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    /// What comes next; empty at the end.
    func read() -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.read(number, $0.baseAddress, $0.count)
            }
            if count < 0 && errno == EINTR { continue }
            return Array(bytes.prefix(max(0, count)))
        }
    }
}
