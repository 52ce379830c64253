// A process of the program, as an operator sees it: its command line, its signals, what it prints,
// its exit status. What it prints is gathered as it comes; nobody outlives its test.
import Foundation
import Glibc
import ProcessTestSupport
import Runtime
import Testing

/// One run of `adbrake`. Whoever starts it calls `close`, which kills what still runs.
final class Child: Sendable {
    typealias Ending = ChildProcess.Ending

    struct State {
        var output: [UInt8] = []
        var complaints: [UInt8] = []
        var openStreams = 2
        var ending: Ending?
    }

    /// A child that a dead test run has left behind ends after so much work.
    private static let cpuSecondsMax = 300
    /// How long anything of a child is waited for, on a machine with much else to do.
    static let patienceMilliseconds = 60_000

    private let process: ChildProcess
    private let state = Monitor(State())

    /// The program lies beside the tests; `ADBRAKE_PROGRAM` names another one, as the optimised.
    static var program: String {
        get throws {
            if let given = ProcessInfo.processInfo.environment["ADBRAKE_PROGRAM"] { return given }
            let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
            return URL(fileURLWithPath: tests).deletingLastPathComponent().path + "/adbrake"
        }
    }

    /// Starts the program. Variables that would reach it from the tests' own environment do not;
    /// `ADBRAKE_RDKAFKA` gives it another librdkafka than the system's.
    convenience init(_ arguments: [String]) throws {
        let words =
            ["/usr/bin/prlimit", "--cpu=\(Self.cpuSecondsMax)", "--core=0", "--", try Self.program]
            + arguments
        let library = ProcessInfo.processInfo.environment["ADBRAKE_RDKAFKA"] ?? ""
        try self.init(
            command: words, variables: library.isEmpty ? [] : ["LD_PRELOAD=\(library)"])
    }

    /// Starts any command, by the path of its file.
    init(command words: [String], variables: [String]) throws {
        process = try ChildProcess(
            words, environment: ["PATH=/usr/bin:/bin"] + variables, takesInput: true)
        process.follow(.output) { [state] bytes in
            state.withLock { state in
                state.output += bytes
                if bytes.isEmpty { state.openStreams -= 1 }
            }
        }
        process.follow(.errors) { [state] bytes in
            state.withLock { state in
                state.complaints += bytes
                if bytes.isEmpty { state.openStreams -= 1 }
            }
        }
        _ = WorkerThread(name: "child end") { [state, process] in
            let ending = process.wait()
            state.withLock { $0.ending = ending }
        }
    }

    var pid: pid_t { process.pid }

    /// Runs the program to its end.
    static func run(
        _ arguments: [String], input: [UInt8] = [], pieceBytes: Int = 1 << 16
    ) throws -> (ending: Ending, output: String, complaints: String) {
        let child = try Child(arguments)
        defer { child.close() }
        child.feed(input, pieceBytes: pieceBytes)
        let ending = try child.waitForEnd()
        return (ending, child.output, child.complaints)
    }

    var output: String { String(decoding: state.read { $0.output }, as: UTF8.self) }
    var complaints: String { String(decoding: state.read { $0.complaints }, as: UTF8.self) }
    var isRunning: Bool { state.read { $0.ending == nil } }

    /// Writes to its standard input, in pieces, and closes that.
    func feed(_ bytes: [UInt8], pieceBytes: Int) {
        var rest = bytes[...]
        while !rest.isEmpty, process.write(rest.prefix(pieceBytes)) {
            rest = rest.dropFirst(pieceBytes)
        }
        process.closeInput()
    }

    func signal(_ number: Int32) { process.signal(number) }

    /// Waits for a line on standard error that has the text.
    func line(with text: String) throws -> String {
        let line = state.wait(milliseconds: Self.patienceMilliseconds) { state -> String?? in
            let lines = String(decoding: state.complaints, as: UTF8.self).split(separator: "\n")
            if let line = lines.first(where: { $0.contains(text) }) { return .some(String(line)) }
            return state.ending != nil && state.openStreams == 0 ? .some(nil) : nil
        }
        return try #require(line ?? nil, "no line with \(text) came, but\n\(complaints)")
    }

    /// The address at which it listens, once it does.
    func address() throws -> String {
        let line = try line(with: "\"msg\":\"listening\"")
        let rest = line.components(separatedBy: "\"address\":\"").dropFirst().first
        return try #require(rest?.components(separatedBy: "\"").first)
    }

    /// Waits for its end, with all that it has printed.
    @discardableResult
    func waitForEnd(milliseconds: Int = Child.patienceMilliseconds) throws -> Ending {
        let ending = state.wait(milliseconds: milliseconds) { state in
            state.openStreams == 0 ? state.ending : nil
        }
        return try #require(ending, "the program did not end; it said\n\(complaints)")
    }

    /// Kills it if it still runs.
    func close() {
        signal(SIGKILL)
        _ = state.wait(milliseconds: Self.patienceMilliseconds) { $0.ending }
    }
}
