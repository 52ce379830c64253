// Between the one thread that makes uploads and those that send them: bounded, so that a slow
// collector holds the fleet up instead of filling the memory.
internal import Runtime

/// Uploads in order; waits on both sides.
final class UploadQueue: Sendable {
    /// Beyond it the fleet waits.
    static let uploadsMax = 256

    private struct State {
        var uploads: [FleetUpload] = []
        var first = 0
        var isClosed = false

        var count: Int { uploads.count - first }
    }

    private let state = Monitor(State())

    var hasRoom: Bool { state.read { $0.count < Self.uploadsMax } }
    var isEmpty: Bool { count == 0 }
    var count: Int { state.read { $0.count } }

    /// Adds them all: what one short step of the world brings, with room for it looked up before.
    func add(_ uploads: [FleetUpload]) {
        guard !uploads.isEmpty else { return }
        state.withLock { $0.uploads.append(contentsOf: uploads) }
    }

    /// No more will come.
    func close() {
        state.withLock { $0.isClosed = true }
    }

    /// The next upload; nil once closed and empty. Blocks.
    func next() -> FleetUpload? {
        while true {
            let (upload, isOver) = take(milliseconds: 1_000)
            if upload != nil || isOver { return upload }
        }
    }

    /// Gives up what nobody will send.
    func discard(into totals: Monitor<SendTotals>) {
        let events = state.withLock { state in
            defer {
                state.uploads = []
                state.first = 0
            }
            return state.uploads[state.first...].reduce(0) { $0 + $1.events }
        }
        totals.withLock {
            $0.sent += events
            $0.lost += events
        }
    }

    private func take(milliseconds: Int) -> (FleetUpload?, isOver: Bool) {
        state.wait(milliseconds: milliseconds) { state -> (FleetUpload?, isOver: Bool)? in
            guard state.count > 0 else { return state.isClosed ? (nil, true) : nil }
            let upload = state.uploads[state.first]
            // Freed once sent, not when the array next shrinks.
            state.uploads[state.first] = FleetUpload(bytes: [], events: 0)
            state.first += 1
            if state.first > Self.uploadsMax {
                state.uploads.removeFirst(state.first)
                state.first = 0
            }
            return (upload, false)
        } ?? (nil, false)
    }
}
