// A client that keeps one connection and sends exactly the lines it is given.
import Glibc
import Testing

/// One connection to the loopback address; answers need a length.
final class WireClient {
    private static let waitMilliseconds: Int32 = 20_000

    struct Answer {
        var status: Int
        var lines: [Substring]
        var body: [UInt8]

        subscript(name: String) -> String? {
            let start = name.lowercased() + ":"
            return lines.first { $0.lowercased().hasPrefix(start) }.map {
                String($0.dropFirst(start.count).drop { $0 == " " })
            }
        }
    }

    private let descriptor: Int32
    private var received: [UInt8] = []

    init(port: UInt16) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(Self.connect(descriptor, to: port))
    }

    /// Whether anybody listens there.
    static func isListening(port: UInt16) -> Bool {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        return connect(descriptor, to: port)
    }

    private static func connect(_ descriptor: Int32, to port: UInt16) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The address lives through the call, of its own size.
        return unsafe withUnsafePointer(to: &address) { pointer in
            let generic = unsafe UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self)
            return unsafe Glibc.connect(descriptor, generic, size) == 0
        }
    }

    deinit { close(descriptor) }

    func send(_ method: String, _ target: String, _ headers: [String] = []) throws -> Answer {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: test"] + headers + ["", ""]
        let bytes = Array(lines.joined(separator: "\r\n").utf8)
        let sent = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        try #require(sent == bytes.count)
        let end = Array("\r\n\r\n".utf8)
        var headEnd: Int?
        while headEnd == nil {
            headEnd = received.indices.first { received[$0...].starts(with: end) }
            if headEnd == nil { try receive() }
        }
        let head = String(decoding: received[..<(headEnd ?? 0)], as: UTF8.self)
        received.removeFirst((headEnd ?? 0) + end.count)
        let fields = head.split(separator: "\r\n")
        let status = try #require(Int(fields[0].split(separator: " ")[1]))
        var answer = Answer(status: status, lines: Array(fields.dropFirst()), body: [])
        if method != "HEAD", status != 304 {
            let count = try #require(answer["Content-Length"].flatMap { Int($0) })
            while received.count < count { try receive() }
            answer.body = Array(received.prefix(count))
            received.removeFirst(count)
        }
        return answer
    }

    private func receive() throws {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        try #require(unsafe poll(&request, 1, Self.waitMilliseconds) == 1)
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
        try #require(count > 0, "the connection was kept")
        received += buffer.prefix(count)
    }
}

/// A port for a program that cannot be told to take any.
enum FreePort {
    static func find() throws -> UInt16 {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The address lives through both calls, of its own size.
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            let generic = unsafe UnsafeMutableRawPointer(pointer)
                .assumingMemoryBound(to: sockaddr.self)
            guard unsafe bind(descriptor, generic, size) == 0 else { return Int32(-1) }
            return unsafe getsockname(descriptor, generic, &size)
        }
        try #require(status == 0)
        return UInt16(bigEndian: address.sin_port)
    }
}
