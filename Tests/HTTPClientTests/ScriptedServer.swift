// A server that says exactly what a test wants, right or wrong, on a real socket.
import Glibc
import Runtime

/// Accepts connections one after another and answers each request with the bytes of the script.
///
/// @unchecked Sendable: the descriptor is set once; what changes is behind monitors.
final class ScriptedServer: @unchecked Sendable {
    struct Heard: Sendable {
        var connections = 0
        /// Heads and bodies, as they came.
        var requests: [String] = []
    }

    enum Answer: Sendable {
        case bytes(String)
        /// The bytes, and then the end of the connection.
        case last(String)
        /// Nothing, ever.
        case silence
    }

    let port: UInt16
    let heard = Monitor(Heard())
    private let socket: Int32
    private let end = StopSignal()
    private let threads = Monitor<[WorkerThread]>([])

    /// Answers the request of this number, counted from 0 over all connections.
    init(_ answer: @escaping @Sendable (Int) -> Answer) {
        let listening = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The address lives on this stack for these calls.
        let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                let bound = unsafe bind(listening, pointer, length)
                let named = unsafe getsockname(listening, pointer, &length)
                return bound + named + listen(listening, 16)
            }
        }
        precondition(status == 0, "loopback has a free port")
        socket = listening
        port = UInt16(bigEndian: address.sin_port)
        let accepting = WorkerThread(name: "scripted") { [self] in accept(answer) }
        threads.withLock { $0.append(accepting) }
    }

    var url: String { "http://127.0.0.1:\(port)" }

    /// Ends all connections and joins all threads.
    func stop() {
        end.request(reason: "the test is over")
        shutdown(socket, Int32(SHUT_RDWR))
        while let thread = threads.withLock({ $0.popLast() }) { thread.join() }
        close(socket)
    }

    private func accept(_ answer: @escaping @Sendable (Int) -> Answer) {
        while !end.isRequested {
            let connection = Glibc.accept(socket, nil, nil)
            guard connection >= 0 else { return }
            heard.withLock { $0.connections += 1 }
            let thread = WorkerThread(name: "connection") { [self] in
                serve(connection, answer)
                close(connection)
            }
            threads.withLock { $0.insert(thread, at: 0) }
        }
    }

    private func serve(_ connection: Int32, _ answer: (Int) -> Answer) {
        while let request = read(connection) {
            let number = heard.withLock { heard in
                heard.requests.append(request)
                return heard.requests.count - 1
            }
            switch answer(number) {
            case .bytes(let text): send(text, to: connection)
            case .last(let text):
                send(text, to: connection)
                return
            case .silence:
                while !end.wait(milliseconds: 10_000) {}
                return
            }
        }
    }

    private func send(_ text: String, to connection: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            rest = rest.dropFirst(count)
        }
    }

    /// A whole request; nil when the peer has gone.
    private func read(_ connection: Int32) -> String? {
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 4_096)
        while true {
            let text = String(decoding: bytes, as: UTF8.self)
            if let head = text.range(of: "\r\n\r\n") {
                let body = text.utf8.distance(from: head.upperBound, to: text.endIndex)
                if body >= contentLength(text) { return text }
            }
            var waiting = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
            while unsafe poll(&waiting, 1, 50) == 0 { if end.isRequested { return nil } }
            let count = unsafe recv(connection, &piece, piece.count, 0)
            guard count > 0 else { return nil }
            bytes += piece.prefix(count)
        }
    }

    private func contentLength(_ text: String) -> Int {
        for line in text.split(separator: "\r\n") {
            let parts = line.split(separator: ":")
            if parts.first?.lowercased() == "content-length", parts.count == 2 {
                return Int(parts[1].drop { $0 == " " }) ?? 0
            }
        }
        return 0
    }
}

extension String {
    /// Where the other text is within this one. O(length of both).
    func range(of other: String) -> Range<String.Index>? {
        let (bytes, wanted) = (Array(utf8), Array(other.utf8))
        guard bytes.count >= wanted.count else { return nil }
        for start in 0...bytes.count - wanted.count
        where bytes[start..<start + wanted.count].elementsEqual(wanted) {
            let lower = utf8.index(startIndex, offsetBy: start)
            return lower..<utf8.index(lower, offsetBy: wanted.count)
        }
        return nil
    }
}
