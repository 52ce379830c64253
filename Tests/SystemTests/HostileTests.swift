// An open port on the internet: what nobody should send comes from several sides at once, while an
// app goes on reporting.
import BrakeModel
import BrakeWire
import Foundation
import HTTPClient
import Runtime
import Testing

@Suite("The collector among hostile clients")
struct HostileTests {
    /// `ADBRAKE_HOSTILE` in the environment asks for more.
    private static let requests =
        ProcessInfo.processInfo.environment["ADBRAKE_HOSTILE"].flatMap { Int($0) } ?? 400
    private static let attackers = 4
    /// What a process may grow by while it has seen it all before.
    private static let growthMegabytesMax = 48

    private struct Tally {
        /// How many refusals were earned, by reason.
        var earned: [String: Int] = [:]
        var unended: [String] = []
        var done = 0
        var running = HostileTests.attackers
    }

    @Test("serves good ones on, counts every refusal by its reason, and does not grow")
    func hostile() throws {
        try withWorkplace { workplace in
            let keys = try workplace.write("keys.txt", "\(Attack.key) shop project=7:shop\n")
            let child = try workplace.start(
                "collect", ["--keys", keys, "--request-timeout", "3s"])
            defer { child.close() }
            let address = try child.address()
            let port = try #require(UInt16(address.split(separator: ":").last ?? ""))
            let good = GoodClient(address: address)
            defer { _ = good.finish() }
            // Everything that is made once is made before memory is looked at.
            _ = attack(port, requests: Attack.kinds.count * Self.attackers, seed: 0)
            let calm = good.rate(milliseconds: 1_000)
            let (before, counted) = (try memory(of: child), try refusals(at: address))
            let slow = (0..<8).compactMap { _ in RudeClient(port: port) }
            for client in slow { client.send("POST /v1/events HTTP/1.1\r\nHost: t\r\nX: ") }
            let begun = SystemClock.monotonicMilliseconds()
            let sent = good.count
            let seed = UInt64.random(in: 0...UInt64.max)
            print("HostileTests seed \(seed)")
            var tally = attack(port, requests: Self.requests, seed: seed)
            let time = SystemClock.monotonicMilliseconds() - begun
            let during = (good.count - sent) * 1_000 / max(1, Int(time))
            for client in slow { #expect(client.receiveAll() != nil, "who is slow is cut off") }
            tally.earned["slow"] = slow.count
            #expect(tally.unended.isEmpty, "\(tally.unended.prefix(3))")
            for (reason, count) in tally.earned.sorted(by: { $0.key < $1.key }) {
                _ = try eventually("\(count) refusals for \(reason)") {
                    let now = try refusals(at: address)
                    return now[reason, default: 0] - counted[reason, default: 0] >= count
                        ? true : nil
                }
            }
            let after = try memory(of: child)
            let calmAgain = good.rate(milliseconds: 1_000)
            #expect(after - before < Self.growthMegabytesMax, "from \(before) to \(after) MB")
            #expect(good.finish().isEmpty, "good uploads are all accepted")
            print(
                "HostileTests \(tally.done) requests in \(time) ms; good uploads a second \(calm) "
                    + "before, \(during) meanwhile, \(calmAgain) after; memory \(before) MB before, "
                    + "\(after) MB after; refusals \(tally.earned.sorted { $0.key < $1.key })")
            #expect(!child.complaints.contains(Attack.key))
        }
    }

    /// Attacks from several sides until so many requests are done.
    private func attack(_ port: UInt16, requests: Int, seed: UInt64) -> Tally {
        let tally = Monitor(Tally())
        for attacker in 0..<Self.attackers {
            _ = WorkerThread(name: "attacker \(attacker)") {
                var random = SeededGenerator(seed: seed &+ UInt64(attacker) &* 104_729)
                for number in 0..<requests / Self.attackers {
                    let kind = Attack.kinds[(number + attacker) % Attack.kinds.count]
                    Self.send(kind(&random), to: port, tally)
                }
                tally.withLock { $0.running -= 1 }
            }
        }
        return tally.wait(milliseconds: 3_600_000) { $0.running == 0 ? $0 : nil } ?? Tally()
    }

    private static func send(_ attack: Attack, to port: UInt16, _ tally: Monitor<Tally>) {
        guard let client = RudeClient(port: port) else { return }
        client.send(attack.bytes)
        client.endSending()
        let isEnded = client.receiveAll() != nil
        tally.withLock { tally in
            tally.done += 1
            if !isEnded { tally.unended.append("\(attack.reason ?? "fuzzed"): no end") }
            if let reason = attack.reason {
                tally.earned[reason, default: 0] += attack.refusals
            }
        }
    }

    /// Refusals so far, by reason.
    private func refusals(at address: String) throws -> [String: Int] {
        let text = try HTTPConnection().get("\(address)/metrics").text
        var counts: [String: Int] = [:]
        for line in text.split(separator: "\n")
        where line.hasPrefix("adbrake_http_refusals_total{") {
            let parts = line.components(separatedBy: "reason=\"")
            let rest = try #require(parts.last).components(separatedBy: "\"} ")
            counts[rest[0], default: 0] += try #require(Int(rest[1]))
        }
        return counts
    }

    /// What a process has in memory, in MB.
    private func memory(of child: Child) throws -> Int {
        let status = try String(contentsOfFile: "/proc/\(child.pid)/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        let kilobytes = try #require(
            line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first)
        return try #require(Int(kilobytes)) / 1_024
    }
}

/// An app that reports all the time, ten sessions at once.
final class GoodClient: Sendable {
    private struct State {
        var count = 0
        var failures: [String] = []
        var isRunning = true
    }

    private let state = Monitor(State())
    private let stop = StopSignal()

    init(address: String) {
        let (state, stop) = (state, stop)
        _ = WorkerThread(name: "good client") {
            let connection = HTTPConnection(limits: HTTPLimits(totalMilliseconds: 20_000))
            let event = #"{"type":"session","app":"shop"}"#
            let body = "[" + Array(repeating: event, count: 10).joined(separator: ",") + "]"
            let headers = [(name: "Authorization", value: "Bearer \(Attack.key)")]
            while !stop.isRequested {
                do {
                    let answer = try connection.post("\(address)/v1/events", body, headers: headers)
                    state.withLock { state in
                        state.count += 1
                        if answer.status != 202 { state.failures.append(answer.text) }
                    }
                } catch {
                    state.withLock { $0.failures.append("\(error)") }
                }
            }
            state.withLock { $0.isRunning = false }
        }
    }

    /// Uploads answered so far.
    var count: Int { state.read { $0.count } }

    /// Uploads a second, over a while.
    func rate(milliseconds: Int) -> Int {
        let before = count
        let pause = StopSignal()
        pause.wait(milliseconds: milliseconds)
        return (count - before) * 1_000 / milliseconds
    }

    /// Stops, and tells what was not accepted.
    func finish() -> [String] {
        stop.request(reason: "the test has seen enough")
        return state.wait(milliseconds: Child.patienceMilliseconds) { state in
            state.isRunning ? nil : state.failures
        } ?? ["still running"]
    }
}
