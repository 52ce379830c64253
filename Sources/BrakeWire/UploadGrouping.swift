// The events of one upload, gathered by type and app.

internal import BrakeModel

/// Gathers good events into records no larger than a record may be.
struct UploadGrouping {
    private struct Group: Hashable {
        var type: EventType
        var app: AppID
    }

    private let apps: Set<AppID>?
    private var upload = Upload()
    /// The record of each group that has room.
    private var open: [Group: Int] = [:]

    init(apps: Set<AppID>?) { self.apps = apps }

    /// Takes an event of a document that begins at the offset within the body.
    mutating func take(
        _ event: RawEvent, index: Int, offset: Int,
        of body: UnsafeRawBufferPointer
    ) {
        do {
            let group = try check(event)
            let range = event.range.lowerBound + offset..<event.range.upperBound + offset
            unsafe add(UnsafeRawBufferPointer(rebasing: body[range]), to: group)
        } catch {
            reject(event.rejected(error, index: index, offset: offset))
        }
    }

    mutating func reject(_ event: RejectedEvent) { upload.rejected.append(event) }

    /// The upload, with its arrays closed.
    consuming func finish() -> Upload {
        for index in upload.records.indices where upload.records[index].count > 1 {
            upload.records[index].value.append(UInt8(ascii: "]"))
        }
        return upload
    }

    /// The evaluator would judge the event by the same checks; its append time does not matter
    /// here.
    private func check(_ event: RawEvent) throws(Rejection) -> Group {
        let type = try event.checkedType()
        let bytes = unsafe try event.checkedApp()
        _ = try event.checkedEvent(as: type, append: 0, .counted)
        guard let app = unsafe AppID(String(decoding: bytes, as: UTF8.self)) else { throw .badApp }
        if let apps, !apps.contains(app) { throw .wrongApp }
        return Group(type: type, app: app)
    }

    private mutating func add(_ event: UnsafeRawBufferPointer, to group: Group) {
        if let index = open[group], hasRoom(upload.records[index], for: event.count) {
            if upload.records[index].count == 1 {
                upload.records[index].value.insert(UInt8(ascii: "["), at: 0)
            }
            upload.records[index].value.append(UInt8(ascii: ","))
            unsafe upload.records[index].value.append(contentsOf: event)
            upload.records[index].count += 1
            return
        }
        open[group] = upload.records.count
        let value = unsafe [UInt8](event)
        upload.records.append(
            UploadRecord(type: group.type, app: group.app, value: value, count: 1))
    }

    /// Room for a comma, the event, and the brackets.
    private func hasRoom(_ record: UploadRecord, for bytes: Int) -> Bool {
        record.count < EventDecoder.eventsMax
            && record.value.count + bytes + 3 <= EventDecoder.recordBytesMax
    }
}
