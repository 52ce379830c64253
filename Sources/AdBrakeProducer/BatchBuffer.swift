// Events on their way, gathered into records: arrays of one type and app, as large as a record may
// be. A value that is told the time; the producer keeps it behind its lock.

import BrakeModel
import BrakeWire

/// A record that waits to be appended.
struct GatheredRecord: Sendable {
    var record: UploadRecord
    /// What it takes of the buffer.
    var bytes: Int
    let delivery: Delivery
}

/// Gathers events, closes records when they are full or old enough, and counts what it holds.
struct BatchBuffer: Sendable {
    /// What an event takes besides its bytes.
    private static let overhead = 64
    /// The tenth of a second in which ad events are gathered; it divides every pane of a window.
    static let gatherMilliseconds: Int64 = 100
    /// What a gathered event may grow by: its time, and a count.
    private static let gatheredBytes = 48
    /// Apps whose rate is watched at a time; beyond them none is gathered.
    static let watchedAppsMax = 100_000

    private struct Key: Hashable {
        let type: EventType
        let app: AppID
    }

    /// Equal ad events of a tenth of a second: the event without its end, and the time.
    private struct Gathered: Hashable {
        let start: [UInt8]
        let time: Int64
    }

    private struct Open {
        /// Comma-separated events.
        var value: [UInt8] = []
        var count = 0
        /// In the order of their first events.
        var gathered: [Gathered] = []
        var counts: [Gathered: Int] = [:]
        var gatheredBytes = 0
        let since: Int64
        var bytes = 0
        let delivery = Delivery()

        var events: Int { count + gathered.count }

        func hasRoom(for size: Int) -> Bool {
            events < EventDecoder.eventsMax
                && value.count + gatheredBytes + size + 3 <= EventDecoder.recordBytesMax
        }
    }

    private let settings: ProducerSettings
    private var open: [Key: Open] = [:]
    /// The open records from the oldest to the youngest; those closed meanwhile are skipped.
    private var order: [(key: Key, since: Int64)] = []
    private var oldest = 0
    private var closed: [GatheredRecord] = []
    /// The bytes of all events that were not yet taken back by `release`.
    private(set) var bytes = 0
    /// Ad events of each app in the current second.
    private var rates: [AppID: Int] = [:]
    private var rateSecond: Int64 = 0

    init(_ settings: ProducerSettings) {
        self.settings = settings
    }

    var isEmpty: Bool { open.isEmpty && closed.isEmpty }
    /// Whether a record is full and can go.
    var hasClosed: Bool { !closed.isEmpty }
    /// Whether it is so full that nothing should wait for company.
    var isPressing: Bool { bytes > settings.bufferBytesMax / 2 }

    /// Whether an event of so many bytes may come in.
    func hasRoom(for size: Int) -> Bool {
        bytes == 0 || bytes + size + Self.overhead <= settings.bufferBytesMax
    }

    /// Takes an encoded event, at a time in ms.
    mutating func add(_ report: Report, _ event: [UInt8], now: Int64) -> Delivery {
        let key = Key(type: report.type, app: report.context.app)
        let gathered = gathering(report, event, now: now)
        let size = gathered.map { $0.start.count + Self.gatheredBytes } ?? event.count
        if let full = open[key], !full.hasRoom(for: size) { close(key) }
        var batch: Open
        if let waiting = open.removeValue(forKey: key) {
            batch = waiting
        } else {
            batch = Open(since: now)
            order.append((key, now))
        }
        if let gathered {
            gather(gathered, size: size, into: &batch)
        } else {
            if batch.count > 0 { batch.value.append(UInt8(ascii: ",")) }
            batch.value += event
            batch.count += 1
            hold(size + Self.overhead, in: &batch)
        }
        open[key] = batch
        return batch.delivery
    }

    private mutating func gather(_ gathered: Gathered, size: Int, into batch: inout Open) {
        let before = batch.counts[gathered, default: 0]
        // One that has counted to its limit is followed by another of its kind.
        if before > 0 && before % Int(EventDecoder.countMax) != 0 {
            batch.counts[gathered] = before + 1
            return
        }
        batch.counts[gathered] = before + 1
        batch.gathered.append(gathered)
        batch.gatheredBytes += size
        hold(size + Self.overhead, in: &batch)
    }

    private mutating func hold(_ size: Int, in batch: inout Open) {
        batch.bytes += size
        bytes += size
    }

    /// What an ad event is gathered by; nil when it goes as it is.
    private mutating func gathering(_ report: Report, _ event: [UInt8], now: Int64) -> Gathered? {
        guard case .above(let limit) = settings.aggregation, case .ad(let ad) = report,
            ad.context.sent == nil, ad.dismissDelayMilliseconds == nil, ad.count == 1,
            let at = ad.context.at
        else { return nil }
        if now / 1_000 != rateSecond {
            rateSecond = now / 1_000
            rates.removeAll(keepingCapacity: true)
        }
        guard rates[ad.context.app] != nil || rates.count < Self.watchedAppsMax else { return nil }
        let rate = rates[ad.context.app, default: 0] + 1
        rates[ad.context.app] = rate
        guard rate > limit else { return nil }
        var common = ad
        common.context.id = nil
        common.context.session = nil
        common.context.device = nil
        common.context.at = nil
        // What was allowed stays allowed with less in it.
        guard var start = try? Report.ad(common).encode() else { return nil }
        start.removeLast()
        return Gathered(
            start: start, time: at - (at % Self.gatherMilliseconds))
    }

    /// The records that are full, or have waited for long enough; with `all`, every one.
    mutating func takeDue(now: Int64, all: Bool = false) -> [GatheredRecord] {
        let linger = Int64(settings.lingerMilliseconds)
        while oldest < order.count {
            let (key, since) = order[oldest]
            if open[key]?.since == since {
                guard all || now - since >= linger else { break }
                close(key)
            }
            oldest += 1
        }
        // Not at each call, so that it costs a constant for each record.
        if oldest > order.count / 2 {
            order.removeFirst(oldest)
            oldest = 0
        }
        defer { closed = [] }
        return closed
    }

    /// When the next record will be due at the latest, nil when there is none.
    var nextDue: Int64? {
        if !closed.isEmpty { return .min }
        guard oldest < order.count else { return nil }
        return order[oldest].since + Int64(settings.lingerMilliseconds)
    }

    /// Gives back the room of records that are no longer held.
    mutating func release(_ size: Int) { bytes -= size }

    private mutating func close(_ key: Key) {
        guard let batch = open.removeValue(forKey: key) else { return }
        var value = batch.value
        var left = batch.counts
        for gathered in batch.gathered {
            if !value.isEmpty { value.append(UInt8(ascii: ",")) }
            let count = min(left[gathered, default: 0], Int(EventDecoder.countMax))
            left[gathered, default: 0] -= count
            value += gathered.start
            value += #","at":\#(gathered.time)"#.utf8
            if count > 1 { value += #","count":\#(count)"#.utf8 }
            value.append(UInt8(ascii: "}"))
        }
        if batch.events > 1 {
            value.insert(UInt8(ascii: "["), at: 0)
            value.append(UInt8(ascii: "]"))
        }
        let record = UploadRecord(type: key.type, app: key.app, value: value, count: batch.events)
        closed.append(
            GatheredRecord(record: record, bytes: batch.bytes, delivery: batch.delivery))
    }
}
