// `adbrake watch`: tells the changes of a fleet's states in words, as they happen.
internal import BrakeWire
internal import Glibc
internal import HTTPClient
package import Runtime

/// The subcommand.
package enum WatchCommand {
    private static let pollMilliseconds = 1_000

    private static let edge = Option.text(
        "edge", "URL", default: "http://127.0.0.1:8080", help: "the edge to ask")
    private static let until = Option.choice(
        "until", ["stopped"] + WatchGoal.allCases.map(\.rawValue), default: "stopped",
        help: "end once some app is braked (Throttle or Halt), none is, or all are Normal")
    private static let limit = Option.milliseconds(
        "for", in: 0...604_800_000, default: 0,
        help: "how long at most, 0: no limit; exit status 1 when --until was not reached")
    private static let quiet = Option.flag(
        "quiet", help: "tell nothing, only wait for what --until says")

    package static let syntax = CommandSyntax(
        "watch", summary: "Tell the changes of a fleet's states in words, as they happen.",
        discussion: """
            Asks the edge once a second. A line is a change: time (UTC), app, states, and why, with
            the counts of the window that speaks most clearly.
            """,
        options: [edge, until, limit, quiet],
        examples: [
            .init("adbrake watch", "all changes, until Ctrl-C"),
            .init("adbrake watch --until brake --for 5m", "wait for an incident, for scripts"),
        ])

    /// Runs until the goal is reached, the time is over or `stop` is requested.
    package static func run(_ command: ParsedCommand, stop: StopSignal) throws -> Int32 {
        var base = command[edge]
        while base.hasSuffix("/") { base.removeLast() }
        var follower = Follower(url: base + "/v1/apps")
        let goal = WatchGoal(rawValue: command[until])
        let begun = SystemClock.monotonicMilliseconds()
        while !stop.isRequested {
            let lines = follower.poll { stop.isRequested }
            if !command[quiet] { lines.forEach(say) }
            if let goal, follower.watch.hasReached(goal) { return 0 }
            let elapsed = SystemClock.monotonicMilliseconds() - begun
            if command[limit] > 0 && elapsed >= Int64(command[limit]) {
                guard let goal else { return 0 }
                say("not reached in time: \(goal.rawValue) (\(follower.watch.summary()))")
                return 1
            }
            stop.wait(milliseconds: pollMilliseconds)
        }
        return 0
    }

    private static func say(_ text: String) {
        print(text)
        // Others may follow the output through a pipe.
        fflush(nil)
    }
}

/// The polling side: a connection, and what went wrong last.
private struct Follower {
    /// A fleet of a hundred thousand apps; beyond it a person should not watch line by line.
    private static let pagesMax = 100

    let url: String
    private(set) var watch = FleetWatch()
    private let connection = HTTPConnection(
        limits: HTTPLimits(totalMilliseconds: 5_000), acceptsGzip: true)
    private let reader = DocumentReader(bytesMax: HTTPLimits().bodyBytesMax)
    private var trouble: String?

    init(url: String) {
        self.url = url
    }

    /// Asks once, and returns what is to be said.
    mutating func poll(isCancelled: @escaping () -> Bool) -> [String] {
        var found: String?
        var lines: [String] = []
        do {
            lines = watch.see(try fleet(isCancelled))
        } catch let fault as HTTPFault {
            if fault.kind == .stopped { return [] }
            found = "\(fault)"
        } catch {
            found = "\(error)"
        }
        // Each trouble is told once, and its end.
        if found != trouble {
            let text = found.map { "\($0); asking again" }
            lines.insert(text ?? "the edge answers again", at: 0)
        }
        trouble = found
        return lines
    }

    /// All pages of the fleet.
    private func fleet(_ isCancelled: @escaping () -> Bool) throws -> [AppDocument] {
        var apps: [AppDocument] = []
        var after = ""
        for _ in 0..<Self.pagesMax {
            let response = try connection.send(
                .get(url + "?limit=1000&after=\(after)"), isCancelled: isCancelled)
            guard response.status == 200 else {
                throw NotAFleet(text: "\(url) answered \(response.status)")
            }
            guard let page = FleetDocument(reader.read(response.body)) else {
                throw NotAFleet(text: "\(url) answered something else than a fleet")
            }
            apps += page.apps
            guard let next = page.next else { break }
            after = next
        }
        return apps
    }

    private struct NotAFleet: Error, CustomStringConvertible {
        var text: String
        var description: String { text }
    }
}
