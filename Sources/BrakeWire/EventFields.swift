// The checks that every event goes through, wherever it comes from.

internal import BrakeModel
internal import CSimdJSON

extension DeviceTime {
    fileprivate var conversions: UInt8 { isConverted ? 1 : 0 }
}

extension RawEvent {
    /// Makes sure that it is an object of a size that we take, and returns its type.
    @inline(__always)
    func checkedType() throws(Rejection) -> EventType {
        guard isObject else { throw .notAnObject }
        guard length <= EventDecoder.eventBytesMax else { throw .tooLarge }
        return try eventType()
    }

    /// The bytes of its app's id.
    @inline(__always)
    func checkedApp() throws(Rejection) -> UnsafeRawBufferPointer {
        let text = unsafe app.text
        guard app.kind == BRAKE_JSON_TEXT, unsafe AppID.isValid(text) else { throw .badApp }
        return unsafe text
    }

    /// The event without its app.
    @inline(always)
    func checkedEvent(
        as type: EventType, append: Int64, _ hashedIDs: HashedIDs
    ) throws(Rejection) -> Event {
        let meaning = try meaning(as: type)
        let isCrash = meaning == .crash
        let all = hashedIDs == .all
        let idMax = EventDecoder.idCharactersMax
        let id = try id.hash(charactersMax: idMax, isAsked: isCrash || all)
        let device = try device.hash(charactersMax: idMax, isAsked: isCrash)
        let session = try session.hash(
            charactersMax: EventDecoder.eventBytesMax,
            isAsked: isCrash || meaning == .start || all)
        let at = try DeviceTime(at)
        let sent = try DeviceTime(sent)
        let begin = type == .crash ? try DeviceTime(sessionStart: sessionAt) : .absent
        var event = Event(
            appHash: 0, meaning: meaning, append: append, at: at.milliseconds,
            sent: sent.milliseconds, sessionAt: begin.milliseconds, idHash: id,
            sessionHash: session, deviceHash: device,
            convertedTimes: at.conversions &+ sent.conversions &+ begin.conversions)
        if type == .adEvent, count.kind != BRAKE_JSON_ABSENT {
            event.count = try count.eventCount()
        }
        if type == .adEvent || meaning == .signal {
            event.circumstances = AdCircumstances(
                country: country.countryNumber,
                dismissMilliseconds: dismissDelay.delayMilliseconds ?? 0)
        }
        return event
    }

    /// The event id for a report about a rejected event, nil where there is none that can be told.
    var readableID: String? {
        let text = unsafe id.text
        guard unsafe !text.isEmpty, unsafe scalarCount(text) <= EventDecoder.idCharactersMax else {
            return nil
        }
        return id.string
    }
}
