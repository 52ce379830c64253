// A relay between a worker and the brokers that can stop passing anything, as a network does that
// is cut: connections stay, and what was sent is passed on once it works again.
import Glibc
import Runtime
import Testing

/// Listens on some ports and passes bytes on, both ways.
final class Relay: Sendable {
    private static let pieceBytes = 1 << 16
    private static let lookMilliseconds: Int32 = 200
    private static let connectionsMax: Int32 = 128

    private struct State {
        var isCut = false
        var isClosed = false
    }

    private let state = Monitor(State())

    /// Connections to a port of loopback, the key, are passed on to another one.
    init(_ ports: [Int: Int]) throws {
        for (port, target) in ports {
            let listener = try Self.listen(port)
            _ = WorkerThread(name: "relay") { [state] in
                Self.accept(listener, target: target, state)
            }
        }
    }

    /// Stops passing, or goes on.
    func cut(_ isCut: Bool) { state.withLock { $0.isCut = isCut } }

    func close() { state.withLock { $0.isClosed = true } }

    /// Whether bytes may pass, once they may; false when it is closed.
    private static func mayPass(_ state: Monitor<State>) -> Bool {
        while true {
            let answer = state.wait(milliseconds: Int(lookMilliseconds)) { state -> Bool? in
                state.isClosed ? false : state.isCut ? nil : true
            }
            if let answer { return answer }
        }
    }

    private static func accept(_ listener: Int32, target: Int, _ state: Monitor<State>) {
        defer { Glibc.close(listener) }
        while mayPass(state) {
            guard isReadable(listener) else { continue }
            let near = Glibc.accept(listener, nil, nil)
            guard near >= 0 else { continue }
            _ = fcntl(near, F_SETFD, FD_CLOEXEC)
            let far = newSocket()
            guard unsafe withAddress(target, { unsafe Glibc.connect(far, $0, $1) }) else {
                Glibc.close(near)
                Glibc.close(far)
                continue
            }
            let ends = Monitor(2)
            for (from, to) in [(near, far), (far, near)] {
                _ = WorkerThread(name: "relay pump") {
                    pump(from: from, to: to, state)
                    // Ends the other direction, too; who comes second closes both.
                    Glibc.shutdown(from, Int32(SHUT_RDWR))
                    Glibc.shutdown(to, Int32(SHUT_RDWR))
                    let left = ends.withLock { left -> Int in
                        left -= 1
                        return left
                    }
                    if left == 0 {
                        Glibc.close(from)
                        Glibc.close(to)
                    }
                }
            }
        }
    }

    private static func pump(from: Int32, to: Int32, _ state: Monitor<State>) {
        var bytes = [UInt8](repeating: 0, count: pieceBytes)
        while mayPass(state) {
            guard isReadable(from) else { continue }
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe Glibc.recv(from, $0.baseAddress, $0.count, 0)
            }
            guard count > 0, mayPass(state) else { return }
            var sent = 0
            while sent < count {
                let done = unsafe bytes[sent..<count].withUnsafeBytes {
                    unsafe Glibc.send(to, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard done > 0 else { return }
                sent += done
            }
        }
    }

    private static func isReadable(_ descriptor: Int32) -> Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return unsafe poll(&entry, 1, lookMilliseconds) > 0
    }

    private static func newSocket() -> Int32 {
        socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    }

    private static func listen(_ port: Int) throws -> Int32 {
        let listener = newSocket()
        var yes: Int32 = 1
        unsafe setsockopt(
            listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let isBound = unsafe withAddress(port) { unsafe Glibc.bind(listener, $0, $1) }
        try #require(isBound && Glibc.listen(listener, connectionsMax) == 0, "port \(port) is free")
        return listener
    }

    /// Calls with a port's address on loopback; returns whether the call succeeded.
    @unsafe
    private static func withAddress(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Bool {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
