// Open connections and their deadlines: who sends too slowly is cut off, whatever it sends.
import Glibc
import Runtime
import Synchronization

/// One open connection. The listener's thread and the watch share it; its deadline is atomic.
final class Connection: Sendable {
    let descriptor: Int32
    let remoteAddress: String
    /// Monotonic ms by which the request has to be complete; `never` while it is answered.
    private let receiveBy: Atomic<Int64>

    static let never = Int64.max

    init(descriptor: Int32, receiveBy: Int64) {
        self.descriptor = descriptor
        self.receiveBy = Atomic(receiveBy)
        remoteAddress = ListenSocket.peer(of: descriptor)
    }

    func mustReceive(by deadline: Int64) { receiveBy.store(deadline, ordering: .relaxed) }

    func isOverdue(now: Int64) -> Bool { receiveBy.load(ordering: .relaxed) < now }
}

/// All open connections of a listener.
final class Connections: Sendable {
    private let open = Mutex<[ObjectIdentifier: Connection]>([:])

    var count: Int { open.withLock { $0.count } }

    func add(_ connection: Connection) {
        open.withLock { $0[ObjectIdentifier(connection)] = connection }
    }

    /// To be called before the descriptor is closed.
    func remove(_ connection: Connection) {
        _ = open.withLock { $0.removeValue(forKey: ObjectIdentifier(connection)) }
    }

    /// Cuts off those whose request is overdue; returns how many. O(open connections).
    ///
    /// Under the lock, so that no descriptor is closed and given to another file meanwhile.
    func cutOverdue(now: Int64) -> Int {
        open.withLock { open in
            var count = 0
            for connection in open.values where connection.isOverdue(now: now) {
                // The library sees the end of the stream and lets the connection go.
                shutdown(connection.descriptor, Int32(SHUT_RDWR))
                connection.mustReceive(by: Connection.never)
                count += 1
            }
            return count
        }
    }
}
