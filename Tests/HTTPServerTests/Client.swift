// A client that says exactly what a test wants it to say, over a real socket.
import Glibc
import Testing

@testable import HTTPServer

/// One connection to the loopback address.
final class Client {
    /// Nothing a test waits for takes longer; a test that fails ends by it.
    private static let waitMilliseconds: Int32 = 20_000

    struct Answer {
        var status: Int
        var headers: Headers
        var body: [UInt8]

        var text: String { String(decoding: body, as: UTF8.self) }
    }

    let isConnected: Bool
    private let descriptor: Int32
    /// Received and not yet taken.
    private var received: [UInt8] = []

    init(port: UInt16, receiveBufferBytes: Int32? = nil) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        try #require(descriptor >= 0)
        self.descriptor = descriptor
        if var bytes = receiveBufferBytes {
            unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &bytes, 4)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        isConnected = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe connect(
                descriptor, UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), size)
                == 0
        }
    }

    deinit { close(descriptor) }

    /// Sends all bytes; false: the other side does not take them any more.
    @discardableResult
    func send(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return false }
            sent += count
        }
        return true
    }

    @discardableResult
    func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    func get(_ target: String, _ headers: String = "") throws -> Answer {
        send("GET \(target) HTTP/1.1\r\nHost: test\r\n\(headers)\r\n")
        return try answer()
    }

    func post(_ target: String, _ body: [UInt8], _ headers: String = "") throws -> Answer {
        send(
            "POST \(target) HTTP/1.1\r\nHost: test\r\n\(headers)"
                + "Content-Length: \(body.count)\r\n\r\n"
        )
        send(body)
        return try answer()
    }

    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Waits for the next complete answer.
    func answer(toHead: Bool = false) throws -> Answer {
        let head = try #require(take(through: Array("\r\n\r\n".utf8)), "no answer came")
        var lines = String(decoding: head, as: UTF8.self).split(separator: "\r\n")
        let status = try #require(Int(lines.removeFirst().split(separator: " ")[1]))
        let headers = Headers(
            lines.map { line in
                let parts = line.split(separator: ":", maxSplits: 1)
                return (String(parts[0]), String(parts[1].trimmingSpaces()))
            })
        var answer = Answer(status: status, headers: headers, body: [])
        if toHead || status == 204 || status == 304 || status < 200 { return answer }
        if headers["Transfer-Encoding"]?.lowercased() == "chunked" {
            while let chunk = try self.chunk() { answer.body += chunk }
        } else {
            let count = Int(headers["Content-Length"] ?? "") ?? 0
            answer.body = try #require(take(count), "the body is cut")
        }
        return answer
    }

    /// The next chunk of a chunked body; nil after the last.
    func chunk() throws -> [UInt8]? {
        let line = try #require(take(through: [13, 10]), "the body is cut")
        let count = try #require(
            Int(String(decoding: line.dropLast(2), as: UTF8.self), radix: 16))
        let bytes = try #require(take(count + 2), "the chunk is cut")
        return count == 0 ? nil : Array(bytes.dropLast(2))
    }

    /// Only the head of a streamed answer.
    func head() throws -> Int {
        let head = try #require(take(through: Array("\r\n\r\n".utf8)), "no answer came")
        return try #require(Int(String(decoding: head, as: UTF8.self).split(separator: " ")[1]))
    }

    /// Waits for the end of the connection; false: it stays open for as long as tests wait.
    func isClosedByServer() -> Bool {
        while true {
            switch receive() {
            case .some(0): return true
            case .some: continue
            case nil: return false
            }
        }
    }

    private func take(through end: [UInt8]) -> [UInt8]? {
        while true {
            if let start = received.indices.first(where: { received[$0...].starts(with: end) }) {
                return take(start + end.count)
            }
            guard let count = receive(), count > 0 else { return nil }
        }
    }

    private func take(_ count: Int) -> [UInt8]? {
        while received.count < count {
            guard let more = receive(), more > 0 else { return nil }
        }
        defer { received.removeFirst(count) }
        return Array(received.prefix(count))
    }

    /// Bytes received; 0 at the end or a reset, nil when nothing came in time.
    private func receive() -> Int? {
        var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&request, 1, Self.waitMilliseconds) == 1 else { return nil }
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
        received += buffer.prefix(max(0, count))
        return max(0, count)
    }
}
