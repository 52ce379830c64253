// Uploads that wait for the log: a bounded number, so that a slow log costs refusals, not memory.
import Synchronization

/// Counts the uploads on their way into the log, and their bytes.
final class WaitingRoom: Sendable {
    private let uploadsMax: Int
    private let bytesMax: Int
    private let uploads = Atomic<Int>(0)
    private let bytes = Atomic<Int>(0)

    init(_ settings: CollectSettings) {
        uploadsMax = settings.waitingUploadsMax
        bytesMax = settings.waitingBytesMax
    }

    var count: Int { uploads.load(ordering: .relaxed) }
    var waitingBytes: Int { bytes.load(ordering: .relaxed) }
    var isFull: Bool { count >= uploadsMax || waitingBytes >= bytesMax }

    /// Whether there was room; then call `leave`.
    func enter(_ more: Int) -> Bool {
        let count = uploads.wrappingAdd(1, ordering: .relaxed).newValue
        let total = bytes.wrappingAdd(more, ordering: .relaxed).newValue
        // One that is larger than the room waits alone.
        if count <= uploadsMax, total <= bytesMax || total == more { return true }
        leave(more)
        return false
    }

    func leave(_ more: Int) {
        uploads.wrappingSubtract(1, ordering: .relaxed)
        bytes.wrappingSubtract(more, ordering: .relaxed)
    }
}
