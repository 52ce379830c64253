// A process of the program, as an operator sees it: its command line, its signals, what it prints,
// its exit status. What it prints is gathered as it comes; nobody outlives its test.
import Foundation
import Glibc
import Runtime
import Testing

/// One run of `adbrake`. Whoever starts it calls `close`, which kills what still runs.
final class Child: Sendable {
    /// How a process has ended.
    enum Ending: Equatable {
        case exited(Int32)
        case killed(Int32)
    }

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

    let pid: pid_t
    private let state = Monitor(State())
    private let input: Int32

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
        let started = try Self.starting.withLock { _ in
            try Self.start(words, ["PATH=/usr/bin:/bin"] + variables)
        }
        (pid, input) = (started.pid, started.input)
        let (state, pid) = (state, pid)
        let (output, complaints) = (started.output, started.complaints)
        _ = WorkerThread(name: "child out") {
            Self.gather(output) { bytes in state.withLock { $0.output += bytes } }
            state.withLock { $0.openStreams -= 1 }
        }
        _ = WorkerThread(name: "child err") {
            Self.gather(complaints) { bytes in state.withLock { $0.complaints += bytes } }
            state.withLock { $0.openStreams -= 1 }
        }
        _ = WorkerThread(name: "child end") {
            var info = unsafe siginfo_t()
            // Seen first and reaped under the lock, so that nobody signals a pid that is free.
            while unsafe waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR {
            }
            state.withLock { state in
                var status: Int32 = 0
                _ = unsafe waitpid(pid, &status, 0)
                let signal = status & 0x7f
                state.ending = signal == 0 ? .exited(status >> 8 & 0xff) : .killed(signal)
            }
        }
    }

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
        while !rest.isEmpty {
            let piece = Array(rest.prefix(pieceBytes))
            let count = unsafe piece.withUnsafeBytes {
                unsafe Glibc.write(input, $0.baseAddress, $0.count)
            }
            guard count > 0 else { break }
            rest = rest.dropFirst(count)
        }
        Glibc.close(input)
    }

    func signal(_ number: Int32) {
        state.withLock { state in
            if state.ending == nil { Glibc.kill(pid, number) }
        }
    }

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

    // MARK: The operating system

    /// One at a time: a child must not inherit the ends of another one's pipes.
    private static let starting = Monitor(0)

    private struct Pipe {
        var reading: Int32
        var writing: Int32

        init() throws {
            var ends: [Int32] = [-1, -1]
            // A pair of sockets is closed in other children from the beginning: these are started
            // meanwhile by others, and would keep an end open for as long as they live.
            let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
            let status = unsafe socketpair(AF_UNIX, type, 0, &ends)
            try #require(status == 0, "a pipe can be made")
            (reading, writing) = (ends[0], ends[1])
        }
    }

    private static func gather(_ descriptor: Int32, _ take: ([UInt8]) -> Void) {
        var bytes = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe read(descriptor, $0.baseAddress, $0.count)
            }
            if count > 0 {
                take(Array(bytes.prefix(count)))
            } else if count == 0 || errno != EINTR {
                break
            }
        }
        Glibc.close(descriptor)
    }

    /// Starts a process; returns its id and our ends of its streams.
    private static func start(
        _ arguments: [String], _ environment: [String]
    ) throws -> (pid: pid_t, input: Int32, output: Int32, complaints: Int32) {
        let (input, output, complaints) = (try Pipe(), try Pipe(), try Pipe())
        let ends = [input.reading, output.writing, complaints.writing]
        var actions = unsafe posix_spawn_file_actions_t()
        // All pointers here live through the call of posix_spawn, which copies what it needs.
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        for (target, end) in ends.enumerated() {
            unsafe posix_spawn_file_actions_adddup2(&actions, end, Int32(target))
        }
        var words: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe words.append(nil)
        var variables: [UnsafeMutablePointer<CChar>?] = unsafe environment.map { unsafe strdup($0) }
        unsafe variables.append(nil)
        defer { unsafe (words + variables).forEach { unsafe free($0) } }
        // Threads of tests may block all signals, and a child takes over what is blocked.
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
        var pid: pid_t = 0
        let status = unsafe posix_spawn(
            &pid, arguments[0], &actions, &attributes, &words, &variables)
        for end in ends { Glibc.close(end) }
        try #require(status == 0, "the program can be started: error \(status)")
        return (pid, input.writing, output.reading, complaints.reading)
    }
}
