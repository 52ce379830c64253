// Parsers for concurrent uploads: each has a megabyte of memory, so they are used again.

import BrakeWire
import Runtime

/// Lends splitters to request threads.
///
/// @unchecked Sendable: a splitter belongs to one thread at a time, the one that has borrowed it;
/// the list of idle ones is in a monitor.
final class SplitterPool: @unchecked Sendable {
    /// Idle ones beyond this are let go.
    private static let idleMax = 64
    private let idle = Monitor(Idle())

    /// @unchecked Sendable: handed over whole, under the monitor's lock.
    private struct Idle: @unchecked Sendable {
        var splitters: [UploadSplitter] = []
    }

    func withSplitter<Value>(_ body: (UploadSplitter) -> Value) -> Value {
        let splitter = idle.withLock { $0.splitters.popLast() } ?? UploadSplitter()
        defer {
            let isolated = Idle(splitters: [splitter])
            idle.withLock {
                if $0.splitters.count < Self.idleMax { $0.splitters += isolated.splitters }
            }
        }
        return body(splitter)
    }
}
