// What will happen next: a binary heap over world time, equal times in the order of their planning.

/// Something that the world has planned.
struct Appointment: Sendable, BitwiseCopyable {
    enum Purpose: UInt8, Sendable {
        /// A person opens an app; `subject` is the app.
        case arrival
        /// A session goes on; `subject` is the session.
        case step
        /// A person opens an app again after a crash; `subject` is the device.
        case relaunch
        /// Facts reach the collector late or again; `subject` is the delivery.
        case delivery
        /// The relay has waited long enough for a full batch.
        case relay
    }

    /// World time, ms.
    var time: Int64
    var order: UInt64
    var subject: Int32
    var purpose: Purpose

    @inline(__always)
    func isBefore(_ other: Appointment) -> Bool {
        time != other.time ? time < other.time : order < other.order
    }
}

/// Appointments by time. Adding and taking are O(log count).
struct Agenda: Sendable {
    private var heap: ContiguousArray<Appointment> = []
    private var order: UInt64 = 0

    var count: Int { heap.count }

    mutating func add(_ purpose: Appointment.Purpose, _ subject: Int, at time: Int64) {
        let entry = Appointment(
            time: time, order: order, subject: Int32(subject), purpose: purpose)
        order += 1
        heap.append(entry)
        var index = heap.count - 1
        while index > 0 {
            let parent = (index - 1) / 2
            guard entry.isBefore(heap[parent]) else { break }
            heap[index] = heap[parent]
            index = parent
        }
        heap[index] = entry
    }

    /// Takes the first appointment if it is not after this time.
    mutating func next(until time: Int64) -> Appointment? {
        guard let first = heap.first, first.time <= time else { return nil }
        // Not empty, as it has a first.
        let last = heap.removeLast()
        guard !heap.isEmpty else { return first }
        var index = 0
        while true {
            var child = 2 * index + 1
            guard child < heap.count else { break }
            if child + 1 < heap.count && heap[child + 1].isBefore(heap[child]) { child += 1 }
            guard heap[child].isBefore(last) else { break }
            heap[index] = heap[child]
            index = child
        }
        heap[index] = last
        return first
    }
}
