// Clients that nobody here has written, as mobile teams run them: their own packages, pointed at
// the collector by an address and a key.
import BrakeModel
import BrakeWire
import EventLog
import Foundation
import HTTPClient
import ProcessTestSupport
import SQLiteLog
import Testing

@Suite("SDKs of others", .serialized)
struct ForeignClientTests {
    private static let key = "0123456789abcdef0123456789abcdef"

    /// Plays healthy sessions until the app is in Normal, then crashing ones until it is throttled.
    private func drive(_ script: String, _ arguments: (_ place: String) -> [String]) throws {
        try withWorkplace { workplace in
            let keys = try workplace.write("keys.txt", "\(Self.key) shop project=7:shop\n")
            let child = try workplace.start("run", try workplace.evaluating() + ["--keys", keys])
            defer { child.close() }
            let address = try child.address()
            let client = try PythonClient(script, arguments(String(address.dropFirst(7))))
            defer { client.close() }
            try play(client, until: "Normal", "healthy 200", at: address, child)
            let throttled = try play(client, until: "Throttle", "crashing 40", at: address, child)
            #expect(throttled.cause == "rule")
            client.say("end")
            #expect(client.waitForEnd() == .exited(0), "\(client.said)")
            child.signal(SIGTERM)
            #expect(try child.waitForEnd() == .exited(0), "\(child.complaints)")
            for secret in [Self.key, "device-", "Broken"] {
                #expect(!child.complaints.contains(secret), "\(secret) is in the log")
            }
            try checkLog(workplace)
        }
    }

    @discardableResult
    private func play(
        _ client: PythonClient, until state: String, _ line: String, at address: String,
        _ child: Child
    ) throws -> Answer {
        client.say(line)
        try client.wait(for: "sent \(line)")
        let connection = HTTPConnection()
        return try eventually("\(state); \(client.said), \(child.complaints)") { () -> Answer? in
            let answer = try Answer(about: "shop", of: address, connection)
            return answer.state == state ? answer : nil
        }
    }

    /// What the SDK has said is in the log as events of ours, with nothing rejected.
    private func checkLog(_ workplace: Workplace) throws {
        let log = try workplace.open()
        defer { log.close() }
        var counts: [String: Int] = [:]
        for type in EventType.allCases {
            for record in try log.stored(Topic(type)) {
                let value = try #require(DocumentReader().read(record.value))
                for event in value.array ?? [value] {
                    #expect(event["app"]?.text == "shop")
                    #expect(event["build"]?.text == "shop@1.2")
                    #expect(event["device"]?.text?.hasPrefix("device-") == true)
                    let isFatal = event["fatal"] != .bool(false)
                    let kind = event["phase"]?.text ?? (isFatal ? "" : "not fatal")
                    counts[kind.isEmpty ? type.name : "\(type.name) \(kind)", default: 0] += 1
                }
            }
        }
        #expect(counts["session"] == 240 && counts["session end"] == 200, "\(counts)")
        #expect(counts["crash"] == 40 && counts["soft_error"] == 20, "\(counts)")
        #expect(try log.stored(.dead).isEmpty)
    }

    @Test("sentry-sdk drives an app from Normal to Throttle", .needsClients)
    func sentry() throws {
        try drive("sentry_client.py") { place in ["http://\(Self.key)@\(place)/7"] }
    }

    @Test("opentelemetry-sdk drives an app from Normal to Throttle", .needsClients)
    func openTelemetry() throws {
        try drive("otel_client.py") { place in ["http://\(place)/v1/logs", Self.key] }
    }
}
