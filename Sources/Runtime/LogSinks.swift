// Where log lines go: standard error in the program, memory in tests.
import Glibc
import Synchronization

/// Writes lines to a file descriptor: JSON, or readable text on a terminal.
///
/// A reader that has stopped reading costs each line at most a short wait, then lines are dropped
/// and counted until the reader is back: a stuck log pipe must not stop the brake.
package final class StandardErrorSink: LogSink {
    /// How long the first line waits for a reader that does not read.
    static let waitMilliseconds: Int32 = 250
    /// What a pipe that polls as writable takes without blocking.
    static let pieceBytes = 4_096

    private struct State {
        var dropped = 0
        /// The last line was cut in the middle: the next starts on a line of its own.
        var isTorn = false
    }

    private let descriptor: Int32
    private let isReadable: Bool
    private let state = Mutex(State())

    package init(descriptor: Int32 = STDERR_FILENO, isReadable: Bool? = nil) {
        self.descriptor = descriptor
        self.isReadable = isReadable ?? (isatty(descriptor) == 1)
    }

    /// Lines dropped since the last one that got through.
    package var dropped: Int { state.withLock { $0.dropped } }

    package func write(_ line: LogLine) {
        let text = isReadable ? line.readable : line.json
        // Held across the write, so lines never mix; bounded by the wait above.
        state.withLock { state in
            if state.dropped > 0 {
                let notice = LogLine(
                    at: line.at, level: .warning, part: "log", message: "log lines were dropped",
                    metadata: ["count": LogValue(state.dropped)])
                guard put(isReadable ? notice.readable : notice.json, &state) else {
                    state.dropped += 1
                    return
                }
                state.dropped = 0
            }
            if !put(text, &state) { state.dropped += 1 }
        }
    }

    private func put(_ text: String, _ state: inout State) -> Bool {
        var bytes = Array((state.isTorn ? "\n" : "").utf8)
        bytes.append(contentsOf: text.utf8)
        bytes.append(UInt8(ascii: "\n"))
        var sent = 0
        while sent < bytes.count {
            guard isWritable(waitMilliseconds: state.dropped > 0 ? 0 : Self.waitMilliseconds) else {
                break
            }
            let piece = min(bytes.count - sent, Self.pieceBytes)
            // Within the array: sent + piece <= count.
            let count = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress! + sent, piece)
            }
            if count > 0 {
                sent += count
            } else if errno != EINTR && errno != EAGAIN {
                break
            }
        }
        if sent > 0 { state.isTorn = sent < bytes.count }
        return sent == bytes.count
    }

    private func isWritable(waitMilliseconds: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        return unsafe poll(&request, 1, waitMilliseconds) == 1
            && request.revents & Int16(POLLOUT) != 0
    }
}

/// Keeps the last lines in memory, for tests that assert on what was said.
package final class CapturedLog: LogSink {
    package static let linesMax = 10_000

    private let state = Monitor<[LogLine]>([])

    package init() {}

    package var lines: [LogLine] { state.read { $0 } }

    package func write(_ line: LogLine) {
        state.withLock { lines in
            if lines.count == Self.linesMax { lines.removeFirst(Self.linesMax / 2) }
            lines.append(line)
        }
    }

    /// Waits for a line with this message; nil when none came in time.
    package func line(_ message: String, waitMilliseconds: Int = 0) -> LogLine? {
        state.wait(milliseconds: waitMilliseconds) { lines in
            lines.first { $0.message == message }
        }
    }
}
