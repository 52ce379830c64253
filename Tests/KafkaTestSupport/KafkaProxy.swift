// A man in the middle: carries what clients and the broker say to each other, request by request
// and answer by answer, and lets a test hold, lose or change some of it.
import Foundation
import Runtime
import Synchronization

/// Listens where the broker's other door is said to be. Only one at a time: a test has it while it
/// has the broker alone.
package final class KafkaProxy: Sendable {
    /// A request on its way to the broker, or its answer on its way back.
    package struct Message: Sendable {
        /// Kafka's number of the kind of request.
        package let kind: Int16
        package let isAnswer: Bool
        package var bytes: [UInt8]
    }

    /// What becomes of a message.
    package enum Fate: Sendable {
        case pass
        case change([UInt8])
        /// It never comes, nor does anything after it on this connection.
        case lose
        /// It never comes, and the connection ends.
        case cut
    }

    /// Kafka's numbers of requests.
    package static let produce: Int16 = 0
    package static let listOffsets: Int16 = 2
    package static let versions: Int16 = 18
    package static let endTransaction: Int16 = 26

    private struct State {
        var isOpen = true
        var connections: [Int32] = []
        var threads = 0
    }

    private let listener: Int32
    private let target: Int
    private let state = Monitor(State())
    private let judge: @Sendable (Message) -> Fate

    /// Where clients connect to.
    package let bootstrap: String

    /// `judge` may block, and so hold a connection still.
    package init(
        _ kafka: KafkaFixture, judge: @escaping @Sendable (Message) -> Fate
    ) throws {
        self.judge = judge
        target = kafka.doorPort
        bootstrap = "127.0.0.1:\(kafka.advertisedPort)"
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var yes: Int32 = 1
        unsafe setsockopt(
            listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<Int32>.size))
        let isBound = unsafe KafkaProxy.withAddress(kafka.advertisedPort) {
            unsafe bind(listener, $0, $1) == 0
        }
        guard isBound, listen(listener, 64) == 0 else { throw TimedOut(what: "the proxy's port") }
        spawn { [self] in accept() }
    }

    /// Ends all connections and waits for its threads.
    package func close() {
        state.withLock { state in
            state.isOpen = false
            for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
        }
        shutdown(listener, Int32(SHUT_RDWR))
        _ = state.wait(milliseconds: 20_000) { $0.threads == 0 ? true : nil }
        for descriptor in state.read({ $0.connections }) + [listener] {
            Glibc.close(descriptor)
        }
    }

    private func spawn(_ body: @escaping @Sendable () -> Void) {
        state.withLock { $0.threads += 1 }
        _ = WorkerThread(name: "proxy") { [state] in
            body()
            state.withLock { $0.threads -= 1 }
        }
    }

    private func accept() {
        while true {
            let client = Glibc.accept(listener, nil, nil)
            guard client >= 0 else {
                if errno == EINTR { continue }
                return
            }
            let broker = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            let isConnected = unsafe KafkaProxy.withAddress(target) {
                unsafe connect(broker, $0, $1) == 0
            }
            let isOpen = state.withLock { state in
                state.connections += [client, broker]
                return state.isOpen
            }
            guard isConnected, isOpen else {
                shutdown(client, Int32(SHUT_RDWR))
                continue
            }
            carry(client, broker)
        }
    }

    private func carry(_ client: Int32, _ broker: Int32) {
        let waiting = Waiting()
        spawn { [self] in
            pump(from: client, to: broker) { frame in
                let kind = Int16(truncatingIfNeeded: KafkaProxy.integer(frame, at: 0, bytes: 2))
                let number = KafkaProxy.integer(frame, at: 4, bytes: 4)
                waiting.kinds.withLock { $0[number] = kind }
                return judge(Message(kind: kind, isAnswer: false, bytes: frame))
            }
        }
        spawn { [self] in
            pump(from: broker, to: client) { frame in
                let number = KafkaProxy.integer(frame, at: 0, bytes: 4)
                let kind = waiting.kinds.withLock { $0.removeValue(forKey: number) } ?? -1
                return judge(Message(kind: kind, isAnswer: true, bytes: frame))
            }
        }
    }

    /// Of one connection, by number, the kind of each request that has no answer yet.
    private final class Waiting: Sendable {
        let kinds = Mutex<[Int: Int16]>([:])
    }

    /// Carries frames, each with its length before it, until one of both ends or a frame is lost.
    private func pump(from source: Int32, to target: Int32, _ judge: ([UInt8]) -> Fate) {
        defer {
            shutdown(source, Int32(SHUT_RDWR))
            shutdown(target, Int32(SHUT_RDWR))
        }
        while let head = KafkaProxy.read(source, 4) {
            let count = KafkaProxy.integer(head, at: 0, bytes: 4)
            guard count >= 4, count < 200 << 20, let frame = KafkaProxy.read(source, count) else {
                return
            }
            switch judge(frame) {
            case .pass: if !KafkaProxy.write(target, head + frame) { return }
            case .change(let bytes):
                let size = (0..<4).map { UInt8(truncatingIfNeeded: bytes.count >> (24 - 8 * $0)) }
                if !KafkaProxy.write(target, size + bytes) { return }
            case .lose:
                // The connection stays, and says nothing any more: as through a cut cable.
                _ = state.wait(milliseconds: nil) { $0.isOpen ? nil : true }
                return
            case .cut: return
            }
        }
    }

    // MARK: Bytes

    package static func integer(_ bytes: [UInt8], at first: Int, bytes count: Int) -> Int {
        guard bytes.count >= first + count else { return 0 }
        return bytes[first..<first + count].reduce(0) { $0 << 8 | Int($1) }
    }

    private static func read(_ descriptor: Int32, _ count: Int) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: count)
        var got = 0
        while got < count {
            let more = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe recv(descriptor, buffer.baseAddress.map { unsafe $0 + got }, count - got, 0)
            }
            if more < 0 && errno == EINTR { continue }
            guard more > 0 else { return nil }
            got += more
        }
        return bytes
    }

    private static func write(_ descriptor: Int32, _ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let sent = unsafe rest.withUnsafeBytes { buffer in
                unsafe send(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            if sent < 0 && errno == EINTR { continue }
            guard sent > 0 else { return false }
            rest = rest.dropFirst(sent)
        }
        return true
    }

    private static func withAddress<Result>(
        _ port: Int, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(port).bigEndian
        address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
        return unsafe withUnsafePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                unsafe body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
    }
}
