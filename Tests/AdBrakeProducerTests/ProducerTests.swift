// A producer as a server uses it: what arrives, what it holds, and what becomes of each event.
import BrakeModel
import BrakeWire
import EventLog
import Testing

@testable import AdBrakeProducer

@Suite struct ProducerTests {
    private static let time: Int64 = 1_800_000_000_000

    static func context(_ app: String, id: String? = nil, at: Int64? = time) throws -> ReportContext
    {
        ReportContext(app: try #require(AppID(app)), id: id, at: at)
    }

    @Test func `each type arrives in its input, under the app's key and partition`() throws {
        let log = HeldLog()
        let producer = Producer(log)
        let apps = (0..<20).map { "app-\($0)" }
        for app in apps {
            let context = try Self.context(app, id: "e-1")
            try producer.send(.session(SessionReport(context)))
            try producer.send(.crash(CrashReport(context, kind: .signal, sessionAt: Self.time - 5)))
            try producer.send(.softError(SoftErrorReport(context, signal: .quitAfterAd)))
            try producer.send(.ad(AdReport(context, event: .shown, unit: "u", count: 3)))
        }
        #expect(producer.flush(timeoutMilliseconds: 30_000))
        for topic in Topic.inputs {
            let stored = try log.stored(topic)
            #expect(Set(stored.map(\.key)) == Set(apps))
            for record in stored {
                let home = Partitioner.partition(of: Array(record.key.utf8), partitions: 4)
                #expect(record.place.partition == home)
                #expect(record.value.contains(#""app":"\#(record.key)""#))
            }
        }
        let ads = try log.stored(.adEvent)
        let ad = #"{"type":"ad_event","id":"e-1","app":"app-7","event":"shown","unit":"u","#
        #expect(
            ads.first { $0.key == "app-7" }?.value == ad + #""at":\#(Self.time),"count":3}"#)
        producer.close()
    }

    @Test func `reports mean to the evaluator what their fields say`() throws {
        let context = try Self.context("app", id: "é\"\u{1}")
        let cases: [(Report, EventMeaning)] = [
            (.session(SessionReport(context)), .start),
            (.session(SessionReport(context, phase: .alive)), .alive),
            (.session(SessionReport(context, isForeground: false)), .nothing),
            (.crash(CrashReport(context, kind: .launch, vendor: "sdk")), .crash),
            (.crash(CrashReport(context, isFatal: false)), .nothing),
            (.softError(SoftErrorReport(context, severity: .error, domain: "d")), .softError),
            (.softError(SoftErrorReport(context, signal: .slowDismiss)), .signal),
            (.ad(AdReport(context, event: .shown, state: .caution, revision: 4)), .impression),
            (.ad(AdReport(context, event: .loadFailed, errorCode: "no_fill")), .nothing),
            (.ad(AdReport(context, event: .showFailed, errorCode: "7")), .adFailure),
        ]
        let decoder = EventDecoder()
        for (report, meaning) in cases {
            var batch = EventBatch()
            var rejected: [RejectedEvent] = []
            let bytes = try report.encode()
            let key = Array("app".utf8)
            unsafe bytes.withUnsafeBytes { bytes in
                unsafe key.withUnsafeBytes { key in
                    unsafe decoder.decode(
                        bytes, append: Self.time, from: .topic(report.type, key: key),
                        into: &batch, rejected: &rejected)
                }
            }
            #expect(rejected.isEmpty)
            #expect(batch.events.map(\.meaning) == [meaning], "\(report)")
            #expect(batch.events.first?.at == Self.time)
        }
    }

    @Test func `what breaks the contract is refused at once, with its field`() throws {
        let producer = Producer(MemoryLog(partitions: 1))
        defer { producer.close() }
        let long = String(repeating: "x", count: 65)
        var context = try Self.context("app")
        context.device = long
        let cases: [(Report, String)] = [
            (.session(SessionReport(try Self.context("app", id: long))), "id"),
            (.session(SessionReport(context)), "device"),
            (.session(SessionReport(try Self.context("app", at: 1_700_000_000))), "at"),
            (.ad(AdReport(try Self.context("app"), event: .shown, count: 0)), "count"),
            (
                .softError(
                    SoftErrorReport(
                        try Self.context("app"), domain: String(repeating: "x", count: 17_000))),
                "event"
            ),
        ]
        for (report, field) in cases {
            do {
                try producer.send(report)
                Issue.record("\(field) was taken")
            } catch ProducerFault.invalid(let found, _) {
                #expect(found == field)
            }
        }
        #expect(producer.bufferedBytes == 0)
    }

    @Test func `records are arrays of one app, as large as a record may be`() throws {
        let log = HeldLog()
        var settings = ProducerSettings()
        settings.lingerMilliseconds = 10_000
        let producer = Producer(log, settings: settings)
        let text = String(repeating: "x", count: 400)
        for number in 0..<2_500 {
            let app = number % 5 == 0 ? "small" : "large"
            let context = try Self.context(app, id: "\(number)")
            let domain = app == "large" ? text : nil
            try producer.send(.softError(SoftErrorReport(context, domain: domain)))
        }
        #expect(producer.flush(timeoutMilliseconds: 30_000))
        let records = try log.stored(.softError)
        #expect(records.filter { $0.key == "small" }.count == 1)
        #expect(records.allSatisfy { $0.value.utf8.count <= EventDecoder.recordBytesMax })
        let ids = records.filter { $0.key == "large" }.flatMap { record in
            DocumentReader().read(Array(record.value.utf8))?.array?.compactMap { $0["id"]?.text }
                ?? []
        }
        #expect(ids == (0..<2_500).filter { $0 % 5 != 0 }.map(String.init))
        producer.close()
    }

    @Test func `a full buffer holds callers back and loses nothing`() throws {
        let log = HeldLog()
        log.hold(true)
        var settings = ProducerSettings()
        settings.bufferBytesMax = 1 << 20
        settings.blockMilliseconds = 0
        let producer = Producer(log, settings: settings)
        let text = String(repeating: "x", count: 1_000)
        var deliveries: [Delivery] = []
        var refused: ProducerFault?
        while refused == nil, deliveries.count < 10_000 {
            let context = try Self.context("app", id: "\(deliveries.count)")
            do {
                deliveries.append(
                    try producer.send(.softError(SoftErrorReport(context, domain: text))))
            } catch {
                refused = error
            }
        }
        #expect(refused == .full && producer.bufferedBytes <= 1 << 20)
        #expect(deliveries.count > 500 && deliveries.allSatisfy { $0.result == nil })
        log.hold(false)
        #expect(producer.flush(timeoutMilliseconds: 30_000))
        #expect(deliveries.allSatisfy { $0.result == .success(Delivery.Receipt()) })
        #expect(producer.bufferedBytes == 0)
        try producer.send(.session(SessionReport(try Self.context("app"))))
        producer.close()
        #expect(throws: ProducerFault.closed) {
            try producer.send(.session(SessionReport(try Self.context("app"))))
        }
        #expect(try log.stored(.session).count == 1)
    }

    @Test func `a fault of the log reaches exactly the events of its records`() async throws {
        let log = HeldLog()
        log.memory.failAppends([.before])
        let producer = Producer(log)
        let lost = try producer.send(.session(SessionReport(try Self.context("app"))))
        await #expect(throws: ProducerFault.self) { try await lost.receipt() }
        guard case .failure(.log(reason: _, isPassing: true)) = lost.result else {
            Issue.record("\(String(describing: lost.result))")
            return
        }
        let kept = try producer.send(.session(SessionReport(try Self.context("app"))))
        #expect(try await kept.receipt() == Delivery.Receipt())
        #expect(kept.wait(milliseconds: 0) != nil)
        #expect(try log.stored(.session).count == 1)
        producer.close()
    }
}
