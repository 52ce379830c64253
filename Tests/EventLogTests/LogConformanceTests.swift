// What every log must do: one suite, run against each kind.
import EventLog
import Foundation
import KafkaTestSupport
import LogTestSupport
import Testing

@Suite("Every log")
struct LogConformanceTests {
    @Test("gives back what was appended, in order, with rising offsets", arguments: LogKind.all)
    func order(kind: LogKind) async throws {
        try await kind.withLog { log in
            try log.append([
                .init(.session, 1, "a"), .init(.session, 1, "b"), .init(.crash, 1, "x"),
            ])
            try log.append([.init(.session, 1, key: nil, "c"), .init(.session, 2, "d")])
            let records = try log.readAll(.session, 1)
            #expect(records.map(\.value) == ["a", "b", "c"])
            #expect(records.map(\.key) == ["app", "app", nil])
            #expect(records.map(\.offset) == records.map(\.offset).sorted())
            #expect(Set(records.map(\.offset)).count == 3)
            #expect(try log.readAll(.session, 2).map(\.value) == ["d"])
            #expect(try log.readAll(.session, 0) == [])
        }
    }

    @Test("tells empty from absent", arguments: LogKind.all)
    func emptyAndAbsent(kind: LogKind) async throws {
        try await kind.withLog { log in
            try log.append([.init(.notice, 0, key: "", ""), .init(.notice, 0, key: nil, nil)])
            let records = try log.readAll(.notice)
            #expect(records.map(\.key) == ["", nil])
            #expect(records.map(\.value) == ["", nil])
        }
    }

    @Test("keeps every byte of large values", arguments: LogKind.all)
    func largeValues(kind: LogKind) async throws {
        try await kind.withLog { log in
            let texts = [1, 4_000, 70_000, 999_000].map { count in
                String((0..<count).map { Character(UnicodeScalar(UInt8(97 + $0 % 26))) })
            }
            try log.append(texts.map { .init(.snapshot, 3, key: "k", $0) })
            #expect(try log.readAll(.snapshot, 3).map(\.value) == texts)
        }
    }

    @Test("has bounds that hold what was appended", arguments: LogKind.all)
    func bounds(kind: LogKind) async throws {
        try await kind.withLog { log in
            let place = TopicPartition(.adEvent, 2)
            let before = try log.bounds(of: place)
            #expect(before.isEmpty)
            try log.append([.init(.adEvent, 2, "a"), .init(.adEvent, 2, "b")])
            let after = try log.bounds(of: place)
            let offsets = try log.readAll([place]).map(\.offset)
            #expect(offsets.allSatisfy(after.contains))
            #expect(after.upperBound > offsets[1])
            #expect(offsets[0] >= before.upperBound)
        }
    }

    @Test("never lets append times go back, though the clock does", arguments: LogKind.all)
    func appendTimes(kind: LogKind) async throws {
        let clock = SetClock(2_000_000)
        try await kind.withLog(clock: clock) { log in
            try log.append([.init(.session, 0, "a")])
            clock.set(1_000_000)
            try log.append([.init(.session, 1, "b")])
            clock.set(3_000_000)
            try log.append([.init(.crash, 0, "c")])
            let times = try [(Topic.session, 0), (.session, 1), (.crash, 0)].map {
                try log.readAll($0.0, $0.1)[0].append
            }
            if kind.answersAtOnce {
                #expect(times == [2_000_000, 2_000_000, 3_000_000])
            } else {
                #expect(times == times.sorted() && times[0] > clock.now)
            }
        }
    }

    @Test(
        "fills a batch to its limit at most and gives every partition its turn",
        arguments: LogKind.all)
    func boundedReads(kind: LogKind) async throws {
        try await kind.withLog { log in
            let value = String(repeating: "v", count: 900)
            for partition in 0..<4 {
                try log.append((0..<100).map { _ in .init(.session, partition, value) })
            }
            let places = log.places(of: .session)
            let reader = try log.makeReader(
                from: Dictionary(uniqueKeysWithValues: places.map { ($0, 0) }))
            defer { reader.close() }
            let batch = LogBatch(bytesMax: 20_000)
            _ = try kind.ask("a record") {
                _ = try reader.poll(into: batch, waitMilliseconds: 0)
                return batch.isEmpty ? nil : true
            }
            #expect(batch.bytes <= 20_000)
            if kind.answersAtOnce {
                #expect(batch.records.count >= 15)
                #expect(Set(batch.records.map(\.partition)) == [0, 1, 2, 3])
            }
            let rest = try reader.readToEnd(bytesMax: 20_000)
            #expect(rest.count + batch.records.count == 400)
        }
    }

    @Test("reads a record that alone is larger than the batch", arguments: LogKind.all)
    func oversized(kind: LogKind) async throws {
        try await kind.withLog { log in
            let large = String(repeating: "x", count: 50_000)
            try log.append([.init(.dead, 0, "a"), .init(.dead, 0, large), .init(.dead, 0, "b")])
            let reader = try log.makeReader(from: [TopicPartition(.dead, 0): 0])
            defer { reader.close() }
            #expect(try reader.readToEnd(bytesMax: 1_000).map(\.value) == ["a", large, "b"])
        }
    }

    @Test("says which partitions have ended, as of a time before it looked", arguments: LogKind.all)
    func endedAndAsOf(kind: LogKind) async throws {
        let clock = SetClock(5_000_000)
        try await kind.withLog(clock: clock) { log in
            let (full, empty) = (TopicPartition(.session, 0), TopicPartition(.crash, 0))
            try log.append((0..<10).map { .init(.session, 0, String(repeating: "v", count: $0)) })
            clock.set(6_000_000)
            let reader = try log.makeReader(from: [full: 0, empty: 0])
            defer { reader.close() }
            let batch = LogBatch(bytesMax: 300)
            // The end of what is empty is known before that of what is not; on a broker both may
            // come at once.
            var outcome = try kind.ask("the first end") {
                let outcome = try reader.poll(into: batch, waitMilliseconds: 0)
                return outcome.ended.isEmpty ? nil : outcome
            }
            #expect(outcome.ended.contains(empty))
            if kind.answersAtOnce { #expect(outcome.ended == [empty]) }
            let asOf = outcome.asOf
            if kind.answersAtOnce { #expect(asOf == 6_000_000) }
            _ = try eventually("the other end") {
                outcome = try reader.poll(into: batch, waitMilliseconds: 0)
                return outcome.ended.contains(full) ? true : nil
            }
            let end = try log.bounds(of: full).upperBound
            #expect(reader.positions == [full: end, empty: 0])
            clock.set(1_000_000)
            let before = LogClock.wall.now()
            outcome = try reader.poll(into: batch, waitMilliseconds: 0)
            #expect(kind.answersAtOnce ? outcome.asOf == 6_000_000 : outcome.asOf >= asOf)
            #expect(outcome.asOf <= before)
        }
    }

    @Test("has shown all that was appended before the time it names", arguments: LogKind.local)
    func asOfIsExact(kind: LogKind) async throws {
        try withDirectory { directory in
            let log = try kind.open(directory, 4, .wall)
            let writers = DispatchGroup()
            defer {
                writers.wait()
                log.close()
            }
            for thread in 0..<2 {
                DispatchQueue.global().async(group: writers) {
                    for _ in 0..<300 { try? log.append([.init(.session, thread, "v")]) }
                }
            }
            let places = [TopicPartition(.session, 0), TopicPartition(.session, 1)]
            let reader = try log.makeReader(from: [places[0]: 0, places[1]: 0])
            defer { reader.close() }
            let batch = LogBatch()
            var (clock, seen) = (Int64.min, 0)
            while seen < 600 {
                let outcome = try reader.poll(into: batch, waitMilliseconds: 10_000)
                for record in batch.records { #expect(record.append >= clock) }
                seen += batch.records.count
                if outcome.ended.count == 2 { clock = max(clock, outcome.asOf) }
            }
        }
    }

    @Test("wakes a waiting reader when something was appended", arguments: LogKind.all)
    func wakes(kind: LogKind) async throws {
        try await kind.withLog { log in
            let thread = Thread { try? log.append([.init(.control, 0, "now")]) }
            let reader = try log.makeReader(from: [TopicPartition(.control, 0): 0])
            defer { reader.close() }
            let batch = LogBatch()
            thread.start()
            _ = try reader.poll(into: batch, waitMilliseconds: 60_000)
            #expect(batch.copies.map(\.value) == ["now"])
        }
    }

    @Test("ends waits when it is interrupted, and goes on working", arguments: LogKind.all)
    func interrupts(kind: LogKind) async throws {
        try await kind.withLog { log in
            let reader = try log.makeReader(from: [TopicPartition(.control, 0): 0])
            defer { reader.close() }
            let worker = try log.makeAssignedWorker()
            defer { worker.close() }
            let batch = LogBatch()
            Thread { log.interrupt() }.start()
            _ = try reader.poll(into: batch, waitMilliseconds: 60_000)
            _ = try worker.poll(into: batch, waitMilliseconds: 60_000)
            _ = try worker.pollAssignment(waitMilliseconds: 60_000)
            try log.append([.init(.control, 0, "after")])
            #expect(try reader.read(1).map(\.value) == ["after"])
        }
    }

    @Test(
        "deletes streams by age and never skips what a reader has missed",
        arguments: LogKind.local)
    func retention(kind: LogKind) async throws {
        let clock = SetClock()
        let start = clock.now
        try await kind.withLog(clock: clock) { log in
            let place = TopicPartition(.session, 1)
            try log.append([.init(.session, 1, "old"), .init(.control, 0, "policy")])
            clock.set(start + 3_600_000)
            try log.append([.init(.session, 1, "young")])
            let reader = try log.makeReader(from: [place: 0])
            defer { reader.close() }
            clock.set(start + 24 * 3_600_000 + 1)
            while try log.maintain() {}
            #expect(try log.readAll([place]).map(\.value) == ["young"])
            #expect(try log.bounds(of: place).lowerBound > 0)
            #expect(try log.readAll(.control).map(\.value) == ["policy"])
            let missed = try fault { _ = try reader.poll(into: LogBatch(), waitMilliseconds: 0) }
            #expect(missed.remedy == .stop)
            let end = try log.bounds(of: place).upperBound
            clock.set(start + 48 * 3_600_000)
            while try log.maintain() {}
            #expect(try log.bounds(of: place) == end..<end)
            #expect(try log.readAll([place]) == [])
        }
    }

    @Test("refuses an offset beyond the end", arguments: LogKind.all)
    func beyondEnd(kind: LogKind) async throws {
        try await kind.withLog { log in
            let reader = try log.makeReader(from: [TopicPartition(.epoch, 0): 7])
            defer { reader.close() }
            let beyond = try fault {
                for _ in 0..<(kind.answersAtOnce ? 1 : 1_000) {
                    _ = try reader.poll(into: LogBatch(), waitMilliseconds: 10)
                }
            }
            #expect(beyond.remedy == .stop)
            #expect(beyond.reason == "offset 7 is beyond the end, 0")
        }
    }

    @Test(
        "keeps the last record of each key of a table, and tombstones for a while",
        arguments: LogKind.local)
    func tables(kind: LogKind) async throws {
        let clock = SetClock()
        let start = clock.now
        try await kind.withLog(clock: clock) { log in
            try log.append([
                .init(.throttle, 0, key: "a", "1"), .init(.throttle, 0, key: "b", "1"),
                .init(.throttle, 0, key: "a", "2"), .init(.throttle, 0, key: "b", nil),
                .init(.throttle, 1, key: "a", "other"),
            ])
            let all = try log.readAll(.throttle, 0)
            #expect(all.map(\.value) == ["1", "1", "2", nil])
            while try log.maintain() {}
            #expect(try log.readAll(.throttle, 0) == all)
            clock.set(start + TableRetention.supersededMilliseconds)
            while try log.maintain() {}
            #expect(try log.readAll(.throttle, 0) == Array(all[2...]))
            #expect(try log.bounds(of: TopicPartition(.throttle, 0)).lowerBound == 0)
            clock.set(start + TableRetention.tombstoneMilliseconds)
            while try log.maintain() {}
            #expect(try log.readAll(.throttle, 0) == [all[2]])
            try log.append([.init(.throttle, 0, key: "b", "3")])
            let records = try log.readAll(.throttle, 0)
            #expect(records.map(\.value) == ["2", "3"])
            #expect(records[1].offset > all[3].offset)
            #expect(try log.readAll(.throttle, 1).map(\.value) == ["other"])
        }
    }

    @Test(
        "lets a tombstone go that a newer record has overtaken, not that record",
        arguments: LogKind.local)
    func overtakenTombstone(kind: LogKind) async throws {
        let clock = SetClock()
        let start = clock.now
        try await kind.withLog(clock: clock) { log in
            try log.append([.init(.throttle, 0, key: "a", nil), .init(.throttle, 0, key: "a", "1")])
            clock.set(start + 2 * TableRetention.tombstoneMilliseconds)
            while try log.maintain() {}
            #expect(try log.readAll(.throttle, 0).map(\.value) == ["1"])
            try log.append([.init(.throttle, 0, key: "a", "2")])
            clock.set(clock.now + TableRetention.supersededMilliseconds)
            while try log.maintain() {}
            #expect(try log.readAll(.throttle, 0).map(\.value) == ["2"])
        }
    }
}
