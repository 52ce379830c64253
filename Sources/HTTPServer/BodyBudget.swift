// The memory that bodies of all requests take together: clients decide how many send at once, the
// listener decides what that costs.
import Synchronization

/// Bytes lent to requests, up to a limit.
///
/// What is still being sent takes memory for as long as its client likes, up to the request's
/// time: of that an address has a limit, so that slow bodies of one shut out nobody else. A body
/// that is complete no longer counts there: how long it stays is then for us, and many clients
/// behind one address are held up by nothing but how much of theirs is on its way at once.
final class BodyBudget: Sendable {
    /// Whose limit it was.
    enum Shortage: Error {
        case all
        case address
    }

    private struct State {
        var lent = 0
        /// Of bodies that are not complete, by group of addresses.
        var arriving: [String: Int] = [:]
    }

    private let bytesMax: Int
    private let arrivingPerAddressMax: Int
    private let state = Mutex(State())

    init(bytesMax: Int, arrivingPerAddressMax: Int) {
        self.bytesMax = bytesMax
        self.arrivingPerAddressMax = arrivingPerAddressMax
    }

    var lentBytes: Int { state.withLock { $0.lent } }

    /// Lends so many more bytes to a body that is being sent.
    func takeArriving(_ bytes: Int, from group: String) throws(Shortage) {
        try state.withLock { state throws(Shortage) in
            let arriving = state.arriving[group, default: 0] + bytes
            guard state.lent + bytes <= bytesMax else { throw .all }
            guard arriving <= arrivingPerAddressMax else { throw .address }
            state.lent += bytes
            state.arriving[group] = arriving
        }
    }

    /// Those bytes are no longer on their way; they stay lent.
    func arrived(_ bytes: Int, from group: String) {
        state.withLock { state in
            let left = state.arriving[group, default: 0] - bytes
            state.arriving[group] = left > 0 ? left : nil
        }
    }

    /// Lends so many more bytes for what is done with a complete body.
    func take(_ bytes: Int) throws(Shortage) {
        try state.withLock { state throws(Shortage) in
            guard state.lent + bytes <= bytesMax else { throw .all }
            state.lent += bytes
        }
    }

    func give(_ bytes: Int) { state.withLock { $0.lent -= bytes } }
}
