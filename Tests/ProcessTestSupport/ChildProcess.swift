// Programs that tests start. Not by Foundation's `Process`: what it opens for a child is closed in
// others a moment later only. A child that another thread starts just then keeps it open, and then
// neither what the first one prints nor its end ever comes.
import Foundation
import Glibc
import Runtime
import Synchronization

/// A program that has been started, and our ends of its streams.
package final class ChildProcess: Sendable {
    /// How a program has ended: its own status, or the signal that has ended it.
    package enum Ending: Equatable, Sendable {
        case exited(Int32)
        case killed(Int32)
    }

    /// Where what it prints goes.
    package enum Sink: Sendable {
        /// To us, who read it.
        case us
        /// To where what the tests print goes.
        case tests
        /// Errors to where the output goes.
        case output
        case file(String)

        package static let nowhere = Sink.file("/dev/null")
    }

    /// What a program prints to.
    package enum Stream: Sendable {
        case output, errors
    }

    package struct NotStarted: Error {
        package let words: [String]
        package let code: Int32
    }

    package let pid: Int32
    private let input: Mutex<Descriptor?>
    private let output: Descriptor?
    private let errors: Descriptor?
    private let ending = Mutex<Ending?>(nil)

    /// Starts a program, which is looked for where the tests' own `PATH` says.
    /// - Parameters:
    ///   - environment: As `name=value`; nil stands for ours.
    ///   - takesInput: Whether it reads what we write; otherwise it has nothing to read.
    ///   - hasOwnGroup: Whether what interrupts the tests leaves it alone.
    package init(
        _ words: [String], environment: [String]? = nil, takesInput: Bool = false,
        output: Sink = .us, errors: Sink = .us, hasOwnGroup: Bool = false
    ) throws {
        let actions = SpawnActions()
        input = Mutex(try actions.setInput(isOurs: takesInput))
        self.output = try actions.setOutput(1, to: output)
        self.errors = try actions.setOutput(2, to: errors)
        let ours = { ProcessInfo.processInfo.environment.map { "\($0)=\($1)" } }
        pid = try actions.spawn(words, environment ?? ours(), hasOwnGroup: hasOwnGroup)
    }

    /// Writes to its input; false when nobody reads there any more.
    @discardableResult
    package func write(_ bytes: some Collection<UInt8>) -> Bool {
        input.withLock { $0?.write(Array(bytes)) ?? false }
    }

    /// Ends its input.
    package func closeInput() { input.withLock { $0 = nil } }

    /// What it prints next, as soon as there is some; empty at the end.
    package func read(_ stream: Stream = .output) -> [UInt8] {
        (stream == .output ? output : errors)?.read() ?? []
    }

    /// Hands over what it prints as it comes, on a thread of its own; at the end an empty piece.
    package func follow(
        _ stream: Stream = .output, _ take: @escaping @Sendable ([UInt8]) -> Void
    ) {
        _ = WorkerThread(name: "child out") {
            while true {
                let bytes = self.read(stream)
                take(bytes)
                if bytes.isEmpty { return }
            }
        }
    }

    /// Sends a signal, unless `wait` has seen its end.
    package func signal(_ number: Int32) {
        ending.withLock { if $0 == nil { kill(pid, number) } }
    }

    /// Waits for its end.
    @discardableResult
    package func wait() -> Ending {
        if let known = ending.withLock({ $0 }) { return known }
        // Seen first and reaped under the lock, so that nobody signals a pid that is free.
        var info = unsafe siginfo_t()
        while unsafe waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {}
        return ending.withLock { ending in
            if let ending { return ending }
            var status: Int32 = 0
            _ = unsafe waitpid(pid, &status, 0)
            let signal = status & 0x7f
            let seen: Ending = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
            ending = seen
            return seen
        }
    }
}

extension ChildProcess {
    /// Runs a program to its end; returns how it ended and what it printed.
    package static func run(
        _ words: [String], input: [UInt8]? = nil, output: Sink = .us, errors: Sink = .output
    ) throws -> (ending: Ending, output: [UInt8]) {
        let child = try ChildProcess(
            words, takesInput: input != nil, output: output, errors: errors)
        child.write(input ?? [])
        child.closeInput()
        var printed: [UInt8] = []
        while true {
            let more = child.read()
            if more.isEmpty { break }
            printed += more
        }
        return (child.wait(), printed)
    }
}
