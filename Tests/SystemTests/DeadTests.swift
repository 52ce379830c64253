// `adbrake dead`, as an operator types it, over what a collector has set aside.
import BrakeModel
import BrakeWire
import EventLog
import HTTPClient
import ProcessTestSupport
import SQLiteLog
import Testing

@Suite("Dead letters, from outside")
struct DeadTests {
    private func dead(_ workplace: Workplace, _ words: [String]) throws -> (Int32, String, String) {
        let run = try Child.run(["dead"] + words + ["--log", workplace.place])
        guard case .exited(let status) = run.ending else { return (-1, run.output, run.complaints) }
        return (status, run.output, run.complaints)
    }

    @Test("are counted, listed, shown, and retried once a fix is there")
    func letters() throws {
        try withWorkplace { workplace in
            let collect = try workplace.start("collect")
            defer { collect.close() }
            let url = "\(try collect.address())/v1/events"
            let events = [
                #"{"type":"session","app":"my.app","session":"s1"}"#,
                #"{"type":"crash","app":"my.app","at":"noon"}"#, #"{"app":"my.app"}"#,
            ]
            let answer = try HTTPConnection().post(url, "[\(events.joined(separator: ","))]")
            #expect(answer.status == 202)

            // While the collector runs: other processes may read the file, and append.
            let (status, counted, _) = try dead(workplace, ["count", "--by", "app", "--json"])
            #expect(status == 0 && counted == "{\"app\":\"my.app\",\"letters\":2,\"retried\":0}\n")
            let listed = try dead(workplace, ["list", "--reason", "bad_time"])
            #expect(listed.0 == 0 && listed.1.contains("bad_time"))
            #expect(!listed.1.contains("unknown_type") && listed.2 == "1 of 1 letters\n")
            let shown = try dead(workplace, ["show", "0"])
            #expect(shown.1.contains(#"{"type":"crash","app":"my.app","at":"noon"}"#))
            #expect(shown.1.contains("stage     collect"))
            #expect(try dead(workplace, ["show"]).0 == 1)
            #expect(try dead(workplace, ["show", "77"]).0 == 1)
            #expect(try dead(workplace, ["bury"]).0 == 64)

            let vain = try dead(workplace, ["retry"])
            #expect(vain.0 == 0 && vain.1.contains("0 letters retried"))
            #expect(vain.1.contains("1 letters cannot be used still: bad_time"))

            // What an older build refused and this one takes.
            let log = try workplace.open()
            defer { log.close() }
            let good = #"{"type":"crash","app":"my.app","session":"s1","at":1700000000000}"#
            let letter = unsafe Array(good.utf8).withUnsafeBytes { bytes in
                unsafe DeadLetter(
                    stage: .collect, topic: "upload", partition: -1, offset: -1,
                    append: 1_700_000_001_000, app: nil,
                    event: RejectedEvent(index: 0, reason: .badField), value: bytes)
            }
            try log.append([
                OutgoingRecord(.dead, partition: 0, key: nil, value: letter.encode())
            ])
            let rehearsed = try dead(workplace, ["retry", "--dry-run"])
            #expect(rehearsed.1.contains("1 letters would be retried, 1 events"))
            #expect(try log.stored(.crash).isEmpty)
            let retried = try dead(workplace, ["retry", "--reason", "bad_field", "--json"])
            let outcome = DocumentReader().read(Array(retried.1.utf8))
            #expect(outcome?["retried"]?.integer == 1 && outcome?["events"]?.integer == 1)
            let again = try dead(workplace, ["retry", "2"]).1
            #expect(again.contains("1 letters were retried before"))
            let crashes = try log.stored(.crash).map { String(decoding: $0.value, as: UTF8.self) }
            #expect(crashes == [good])
        }
    }
}
