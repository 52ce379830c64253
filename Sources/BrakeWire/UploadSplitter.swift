// What an app uploads, cut into records: one a type and app, with the bytes as they were sent.

package import BrakeModel
internal import CSimdJSON

/// A record to append: its key is the app, its topic that of the type.
package struct UploadRecord: Sendable, Equatable {
    package var type: EventType
    package var app: AppID
    /// One event, or an array of events.
    package var value: [UInt8]
    /// How many events that is.
    package var count: Int

    package init(type: EventType, app: AppID, value: [UInt8], count: Int) {
        self.type = type
        self.app = app
        self.value = value
        self.count = count
    }
}

/// An upload that has been cut into records.
package struct Upload: Sendable, Equatable {
    package var records: [UploadRecord] = []
    package var rejected: [RejectedEvent] = []

    /// How many events the records have.
    package var accepted: Int { records.reduce(0) { $0 + $1.count } }

    /// The answer to the app: `{accepted, rejected: [{index, id, reason}]}`.
    package func answer() -> [UInt8] {
        JSONWriter.bytes { answer in
            answer.object { answer in
                answer.field("accepted", accepted)
                answer.array("rejected") { list in
                    for event in rejected {
                        list.object { item in
                            item.field("index", event.index ?? 0)
                            item.field("id", event.id)
                            item.field("reason", event.reason.rawValue)
                        }
                    }
                }
            }
        }
    }
}

/// Why nothing of an upload could be taken.
package enum UploadRefusal: Error, Sendable, Equatable {
    /// There is nothing in it.
    case empty
    /// It is not JSON, or an array whose frame is broken.
    case badJSON
    /// It is a number, a text or the like.
    case notEvents
    /// It has more bytes than an upload may have.
    case tooLarge
    /// It has more events than an upload may have.
    case tooManyEvents
}

/// Cuts uploads into records. Belongs to one thread.
package final class UploadSplitter {
    /// The most bytes of an upload, unpacked.
    package static let uploadBytesMax = 1_024 * 1_024
    /// The most events of an upload.
    package static let eventsMax = 1_000

    private let reader = JSONReader(bytesMax: UploadSplitter.uploadBytesMax)

    package init() {}

    /// Checks each event of a JSON array, a single object, or lines of objects, and groups the good
    /// ones. With `apps`, events of others are rejected as `wrongApp`.
    ///
    /// An array whose frame is whole keeps its good events, as does each line that is JSON.
    package func split(
        _ body: UnsafeRawBufferPointer, apps: Set<AppID>? = nil
    ) throws(UploadRefusal) -> Upload {
        guard body.count <= UploadSplitter.uploadBytesMax else { throw .tooLarge }
        let whole = unsafe ArrayFrame.trimmed(0..<body.count, of: body)
        guard !whole.isEmpty else { throw .empty }
        var grouping = UploadGrouping(apps: apps)
        if unsafe body[whole.lowerBound] == UInt8(ascii: "[") {
            unsafe try splitArray(body, &grouping)
        } else if unsafe reader.readAlone(UnsafeRawBufferPointer(rebasing: body[whole])) {
            guard !reader.isScalar else { throw .notEvents }
            unsafe grouping.take(reader.event(0), index: 0, offset: whole.lowerBound, of: body)
        } else {
            unsafe try splitLines(body, &grouping)
        }
        return grouping.finish()
    }

    private func splitArray(
        _ body: UnsafeRawBufferPointer, _ grouping: inout UploadGrouping
    ) throws(UploadRefusal) {
        let before = grouping
        var step = unsafe reader.open(body) ? BRAKE_JSON_MORE : BRAKE_JSON_BAD
        var index = 0
        while step == BRAKE_JSON_MORE {
            step = reader.nextEvents()
            for place in 0..<reader.eventCount {
                guard index < UploadSplitter.eventsMax else { throw .tooManyEvents }
                unsafe grouping.take(reader.event(place), index: index, offset: 0, of: body)
                index += 1
            }
        }
        if step == BRAKE_JSON_END { return }
        grouping = before
        guard let elements = unsafe ArrayFrame.elements(of: body) else { throw .badJSON }
        guard elements.count <= UploadSplitter.eventsMax else { throw .tooManyEvents }
        for (index, range) in elements.enumerated() {
            unsafe takeAlone(range, index: index, of: body, &grouping)
        }
    }

    private func splitLines(
        _ body: UnsafeRawBufferPointer, _ grouping: inout UploadGrouping
    ) throws(UploadRefusal) {
        var index = 0
        var start = 0
        var hasJSON = false
        while start < body.count {
            let end = unsafe LineEnd.place(in: body, from: start) ?? body.count
            let line = unsafe ArrayFrame.trimmed(start..<end, of: body)
            start = end + 1
            if line.isEmpty { continue }
            guard index < UploadSplitter.eventsMax else { throw .tooManyEvents }
            if unsafe takeAlone(line, index: index, of: body, &grouping) { hasJSON = true }
            index += 1
        }
        guard hasJSON else { throw .badJSON }
    }

    /// Takes an event that is a document of its own; false when it is not JSON.
    @discardableResult
    private func takeAlone(
        _ range: Range<Int>, index: Int, of body: UnsafeRawBufferPointer,
        _ grouping: inout UploadGrouping
    ) -> Bool {
        guard unsafe reader.readAlone(UnsafeRawBufferPointer(rebasing: body[range])) else {
            grouping.reject(RejectedEvent(index: index, reason: .badJSON, bytes: range))
            return false
        }
        unsafe grouping.take(reader.event(0), index: index, offset: range.lowerBound, of: body)
        return true
    }
}
