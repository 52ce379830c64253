// A response body without an end known in advance. Handlers push from any thread; the listener's
// thread pulls. In between is a bounded queue: a client that does not read is let go, never waited
// for.
import CMicroHTTPD
import Runtime

/// The body of one streaming response to one client.
///
/// @unchecked Sendable: all state is in the monitor; the connection in it is used under the lock
/// only, and taken out before libmicrohttpd frees it.
@safe
package final class ResponseStream: @unchecked Sendable {
    package static let queueBytesMaxDefault = 256 << 10

    package enum Sending: Sendable, Equatable {
        case queued
        /// The client reads too slowly: the stream has ended, it may come back and resume.
        case overflowed
        /// The client is gone, or the stream was finished.
        case ended
    }

    @safe
    private struct State {
        /// What waits is behind the head.
        var queue: [UInt8] = []
        var head = 0
        var isFinished = false
        var isBroken = false
        /// While libmicrohttpd has it suspended.
        var suspended: OpaquePointer?
    }

    private let queueBytesMax: Int
    private let onEnd: @Sendable () -> Void
    private let state = Monitor(State())

    /// `onEnd` runs once, when the connection is over: take the stream out of your tables there.
    package init(
        queueBytesMax: Int = ResponseStream.queueBytesMaxDefault,
        onEnd: @escaping @Sendable () -> Void = {}
    ) {
        self.queueBytesMax = queueBytesMax
        self.onEnd = onEnd
    }

    /// Queues bytes; never blocks.
    @discardableResult
    package func send(_ bytes: [UInt8]) -> Sending {
        state.withLock { state in
            if state.isFinished || state.isBroken { return .ended }
            let isOver = state.queue.count - state.head + bytes.count > queueBytesMax
            if isOver {
                state.isBroken = true
                state.queue = []
                state.head = 0
            } else {
                state.queue.append(contentsOf: bytes)
            }
            Self.wake(&state)
            return isOver ? .overflowed : .queued
        }
    }

    /// Ends the body once what is queued has been sent.
    package func finish() {
        state.withLock { state in
            state.isFinished = true
            Self.wake(&state)
        }
    }

    /// For the listener's threads, which must not wait: fills the buffer, or suspends the
    /// connection until there is more. Returns the bytes written, or one of the library's codes for
    /// the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, for connection: OpaquePointer) -> Int {
        state.withLock { state in
            if let result = unsafe take(into: buffer, &state) { return result }
            // Under the lock, so that no push can come between the look and the suspension.
            unsafe MHD_suspend_connection(connection)
            unsafe state.suspended = connection
            return 0
        }
    }

    /// For a thread that serves this connection alone: fills the buffer, or waits for a while.
    func read(into buffer: UnsafeMutableRawBufferPointer, waitMilliseconds: Int) -> Int {
        // One thread at a time, while this call has it.
        state.wait(milliseconds: waitMilliseconds) { state in
            unsafe take(into: buffer, &state)
        } ?? 0
    }

    /// Nil: there is nothing to send now.
    private func take(
        into buffer: UnsafeMutableRawBufferPointer, _ state: inout State
    ) -> Int? {
        if state.isBroken { return Int(adbrake_mhd_end_with_error) }
        let count = min(buffer.count, state.queue.count - state.head)
        // Within the buffer: count <= its count.
        unsafe buffer.copyBytes(from: state.queue[state.head..<state.head + count])
        state.head += count
        if state.head == state.queue.count {
            // Storage goes as well: most streams are silent most of the time.
            state.queue = []
            state.head = 0
        } else if state.head > queueBytesMax / 2 {
            state.queue.removeFirst(state.head)
            state.head = 0
        }
        if count > 0 { return count }
        if state.isFinished { return Int(adbrake_mhd_end_of_stream) }
        return nil
    }

    /// The connection is over; it must not be touched again.
    func end() {
        state.withLock { state in
            unsafe state.suspended = nil
            state.isBroken = true
        }
        onEnd()
    }

    private static func wake(_ state: inout State) {
        guard let connection = unsafe state.suspended else { return }
        unsafe state.suspended = nil
        unsafe MHD_resume_connection(connection)
    }
}
