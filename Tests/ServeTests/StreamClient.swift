// A client of server-sent events over a real socket, which reads as much as a test wants.
import Glibc
import Testing

/// One request for a stream.
final class StreamClient {
    private static let waitMilliseconds: Int32 = 20_000

    struct Event: Equatable {
        var id: String?
        var name: String?
        var data: String?
        var retry: Int?
        var comment: String?
    }

    private let descriptor: Int32
    private var received: [UInt8] = []
    /// Decoded from the chunks.
    private var body: [UInt8] = []
    let status: Int

    init(
        port: UInt16, _ target: String = "/v1/stream", lastEventID: String? = nil,
        receiveBufferBytes: Int32? = nil
    ) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        if var bytes = receiveBufferBytes {
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = descriptor
        let isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe connect(
                descriptor, UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), size)
                == 0
        }
        var head = "GET \(target) HTTP/1.1\r\nHost: test\r\n"
        if let lastEventID { head += "Last-Event-ID: \(lastEventID)\r\n" }
        let bytes = Array((head + "\r\n").utf8)
        let sent = unsafe Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var status = 0
        if isConnected, sent == bytes.count,
            let line = Self.take(through: "\r\n\r\n", &received, descriptor)
        {
            status = Int(line.split(separator: " ")[1]) ?? 0
        }
        self.status = status
    }

    deinit { close(descriptor) }

    /// Waits for the next event, comment or `retry`; nil at the end of the stream.
    func next() throws -> Event? {
        var event = Event()
        while true {
            guard let line = try line() else { return nil }
            if line.isEmpty { return event }
            let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
            let value = parts.count > 1 ? String(parts[1].drop { $0 == " " }) : ""
            switch parts[0] {
            case "id": event.id = value
            case "event": event.name = value
            case "data": event.data = value
            case "retry": event.retry = Int(value)
            case "": event.comment = value
            default: Issue.record("unknown field \(line)")
            }
        }
    }

    /// Waits for the next event of this name.
    func next(_ name: String) throws -> Event {
        while let event = try next() {
            if event.name == name { return event }
        }
        throw Ended()
    }

    struct Ended: Error {}

    private func line() throws -> String? {
        while true {
            if let end = body.firstIndex(of: 10) {
                defer { body.removeFirst(end + 1) }
                return String(decoding: body[..<end], as: UTF8.self)
            }
            guard let size = Self.take(through: "\r\n", &received, descriptor),
                let count = Int(size.dropLast(), radix: 16)  // CRLF is one character
            else { return nil }
            while received.count < count + 2 {
                guard Self.receive(&received, descriptor) else { return nil }
            }
            body += received[..<count]
            received.removeFirst(count + 2)
            if count == 0 { return nil }
        }
    }

    private static func take(
        through end: String, _ received: inout [UInt8], _ descriptor: Int32
    ) -> String? {
        let end = Array(end.utf8)
        while true {
            if let start = received.indices.first(where: { received[$0...].starts(with: end) }) {
                defer { received.removeFirst(start + end.count) }
                return String(decoding: received[..<(start + end.count)], as: UTF8.self)
            }
            guard receive(&received, descriptor) else { return nil }
        }
    }

    private static func receive(_ received: inout [UInt8], _ descriptor: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&request, 1, waitMilliseconds) == 1 else { return false }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
        guard count > 0 else { return false }
        received += buffer.prefix(count)
        return true
    }
}
