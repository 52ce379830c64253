// Decides over a file: lines in the order of their append times, throttle records out.

package import BrakeEngine
package import BrakeModel
package import BrakeWire

/// What a replay has met so far.
package struct ReplayCounts: Sendable, Equatable {
    package var lines: Int64 = 0
    package var bytes: Int64 = 0
    /// By reason.
    package var rejected: [Rejection: Int64] = [:]
    /// The first few of them, for a person: their line, and the event's place in it.
    package var examples: [(line: Int64, event: RejectedEvent)] = []
    /// The most examples that are kept.
    package static let examplesMax = 5

    package static func == (one: ReplayCounts, other: ReplayCounts) -> Bool {
        (one.lines, one.bytes, one.rejected) == (other.lines, other.bytes, other.rejected)
    }
}

/// Evaluates lines `{"append":A,"value":{record}}`, `{"append":A,"value":[...]}` or `{"append":A}`.
/// A line first moves the clock to A, deciding at each tick it passes, then counts its record; a
/// line whose record cannot be used moves the clock all the same. The type of a record says its
/// topic; one of `control` is in force from there on. What comes out depends on the lines alone,
/// not on how the bytes were cut. One thread owns it.
package struct Replay: ~Copyable {
    /// Lines are counted in batches: looking ahead pays only with some to look at.
    private static let batchEvents = 4_096

    /// Throttle records as NDJSON, in order of tick, then app. Take them with `takeOutput`.
    package private(set) var output: [UInt8] = []
    package private(set) var counts = ReplayCounts()
    private var evaluator: Evaluator
    private let policy: Policy
    private var control = ControlLedger()
    private let documents = DocumentReader()
    private let partitions: Int
    private let decoder = ReplayDecoder()
    private var batch = EventBatch(capacity: Replay.batchEvents + EventDecoder.eventsMax)
    private var decisions = Decisions()
    private var rejected: [RejectedEvent] = []
    private var lineStart: [UInt8] = []
    private var isLineTooLong = false

    package init(
        policy: Policy, partitions: Int = 16, limits: EvaluatorLimits = EvaluatorLimits()
    ) {
        self.policy = policy
        evaluator = Evaluator(policy: policy, limits: limits)
        self.partitions = partitions
    }

    package var tallies: Tallies { evaluator.tallies }
    package var appCount: Int { evaluator.appCount }
    /// C, ms since 1970; nil before the first line.
    package var clock: Int64? { evaluator.clock == .min ? nil : evaluator.clock }

    /// Takes the next bytes of the input, cut anywhere.
    package mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        counts.bytes += Int64(bytes.count)
        var first = 0
        while let end = unsafe LineEnd.place(in: bytes, from: first) {
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[first..<end])
            if lineStart.isEmpty && !isLineTooLong {
                unsafe take(line: rest)
            } else {
                unsafe keep(rest)
                takeKeptLine()
            }
            first = end + 1
        }
        unsafe keep(UnsafeRawBufferPointer(rebasing: bytes[first...]))
    }

    /// As the other, for bytes in an array.
    package mutating func feed(_ bytes: [UInt8]) {
        unsafe bytes.withUnsafeBytes { unsafe feed($0) }
    }

    /// Ends the input: a last line needs no newline.
    package mutating func finish() {
        if !lineStart.isEmpty || isLineTooLong { takeKeptLine() }
        applyBatch()
    }

    /// Hands over the output so far and empties it.
    package mutating func takeOutput() -> [UInt8] {
        defer { output.removeAll(keepingCapacity: true) }
        return output
    }

    /// Keeps a part of a line until the rest comes; beyond the limit only that it was too long.
    private mutating func keep(_ part: UnsafeRawBufferPointer) {
        guard !isLineTooLong else { return }
        if lineStart.count + part.count > ReplayDecoder.lineBytesMax {
            isLineTooLong = true
            lineStart.removeAll(keepingCapacity: true)
        } else {
            unsafe lineStart.append(contentsOf: part)
        }
    }

    private mutating func takeKeptLine() {
        if isLineTooLong {
            isLineTooLong = false
            counts.lines += 1
            reject([RejectedEvent(index: nil, reason: .tooLarge)])
        } else {
            var line: [UInt8] = []
            swap(&line, &lineStart)
            unsafe line.withUnsafeBytes { unsafe take(line: $0) }
            line.removeAll(keepingCapacity: true)
            swap(&line, &lineStart)
        }
    }

    private mutating func take(line: UnsafeRawBufferPointer) {
        counts.lines += 1
        if unsafe line.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) {
            return
        }
        let events = batch.events.count
        let append = unsafe decoder.decode(line, into: &batch, rejected: &rejected)
        if !rejected.isEmpty {
            if let append, rejected.count == 1, rejected[0].reason == .unknownType,
                unsafe takeControl(line, at: append)
            {
                return rejected.removeAll(keepingCapacity: true)
            }
            reject(rejected)
            rejected.removeAll(keepingCapacity: true)
        }
        if batch.events.count >= Self.batchEvents { applyBatch() }
        if let append, batch.events.count == events {
            applyBatch()
            evaluator.advance(to: append, into: &decisions)
            writeDecisions()
        }
    }

    /// Takes what a person has decided; false when the line is nothing of the kind.
    private mutating func takeControl(_ line: UnsafeRawBufferPointer, at append: Int64) -> Bool {
        guard let value = unsafe documents.read(line)?["value"], let type = value["type"]?.text,
            ControlRecord.Content.types.contains(type)
        else { return false }
        applyBatch()
        evaluator.advance(to: append, into: &decisions)
        do throws(DocumentProblems) {
            let end = control.end
            try control.take(ControlRecord(value), offset: end)
            var controls = control.controls(base: policy) { _ in true }
            controls.newFrom = end
            evaluator.adopt(controls, into: &decisions)
        } catch {
            reject([RejectedEvent(index: nil, reason: .badField)])
        }
        writeDecisions()
        return true
    }

    private mutating func reject(_ events: [RejectedEvent]) {
        for event in events {
            counts.rejected[event.reason, default: 0] += 1
            if counts.examples.count < ReplayCounts.examplesMax {
                counts.examples.append((line: counts.lines, event: event))
            }
        }
    }

    private mutating func applyBatch() {
        evaluator.apply(batch, into: &decisions)
        batch.removeAll()
        writeDecisions()
    }

    private mutating func writeDecisions() {
        if decisions.isEmpty { return }
        for change in decisions.changes {
            let partition = Partitioner.partition(of: change.app.text.utf8, partitions: partitions)
            output += ThrottleRecord(change: change, partition: partition, epoch: 0).encode()
            output.append(UInt8(ascii: "\n"))
        }
        for refused in decisions.refused { counts.rejected[refused.reason, default: 0] += 1 }
        decisions.removeAll()
    }
}
