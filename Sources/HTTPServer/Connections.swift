// Open connections: how many there may be, and their deadlines. Who sends or reads too slowly is
// cut off, whatever it sends.
import Glibc
import Runtime
import Synchronization

/// One open connection. The listener's thread and the watch share it; its deadline is atomic.
final class Connection: Sendable {
    let descriptor: Int32
    let remoteAddress: String
    /// Monotonic ms by which the client has to have sent its request, or to have read the answer;
    /// `never` while the answer is made, and for streams.
    private let deadline: Atomic<Int64>
    /// Whether a request line has ever come.
    private let asked = Atomic<Bool>(false)
    private let cut = Atomic<Bool>(false)

    static let never = Int64.max

    init(descriptor: Int32, deadline: Int64) {
        self.descriptor = descriptor
        self.deadline = Atomic(deadline)
        remoteAddress = ListenSocket.peer(of: descriptor)
    }

    func mustBeDone(by time: Int64) { deadline.store(time, ordering: .relaxed) }

    func isOverdue(now: Int64) -> Bool { deadline.load(ordering: .relaxed) < now }

    func noteRequest() { asked.store(true, ordering: .relaxed) }

    var hasAsked: Bool { asked.load(ordering: .relaxed) }

    /// Whether it was cut off, and counted as that.
    var isCut: Bool { cut.load(ordering: .relaxed) }

    func noteCut() { cut.store(true, ordering: .relaxed) }
}

/// All open connections of a listener.
final class Connections: Sendable {
    private struct Open {
        var connections: [ObjectIdentifier: Connection] = [:]
        /// By group of addresses; empty without a limit.
        var counts: [String: Int] = [:]
    }

    private let most: Int
    /// 0: no limit.
    private let mostPerAddress: Int
    private let open = Mutex(Open())

    init(most: Int, mostPerAddress: Int) {
        self.most = most
        self.mostPerAddress = mostPerAddress
    }

    var count: Int { open.withLock { $0.connections.count } }

    /// Why one more connection of this address may not be opened; nil when it may.
    func refusal(of address: @autoclosure () -> String) -> ListenerMeters.Cut? {
        open.withLock { open in
            if open.connections.count >= most { return .connections }
            guard mostPerAddress > 0 else { return nil }
            let count = open.counts[ClientAddress.group(address())] ?? 0
            return count >= mostPerAddress ? .addressConnections : nil
        }
    }

    func add(_ connection: Connection) {
        open.withLock { open in
            open.connections[ObjectIdentifier(connection)] = connection
            guard mostPerAddress > 0 else { return }
            open.counts[ClientAddress.group(connection.remoteAddress), default: 0] += 1
        }
    }

    /// To be called before the descriptor is closed.
    func remove(_ connection: Connection) {
        open.withLock { open in
            open.connections[ObjectIdentifier(connection)] = nil
            guard mostPerAddress > 0 else { return }
            let group = ClientAddress.group(connection.remoteAddress)
            let left = (open.counts[group] ?? 1) - 1
            open.counts[group] = left > 0 ? left : nil
        }
    }

    /// Cuts off those that are overdue; returns how many. O(open connections).
    ///
    /// Under the lock, so that no descriptor is closed and given to another file meanwhile.
    func cutOverdue(now: Int64) -> Int {
        open.withLock { open in
            var count = 0
            for connection in open.connections.values where connection.isOverdue(now: now) {
                connection.noteCut()
                // The library sees the end of the stream and lets the connection go.
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
                connection.mustBeDone(by: Connection.never)
                count += 1
            }
            return count
        }
    }
}
