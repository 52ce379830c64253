// The checks that every event goes through, wherever it comes from.

internal import BrakeModel
internal import CSimdJSON

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

    /// The event without the place of its app's name.
    @inline(always)
    func checkedEvent(
        as type: EventType, appHash: UInt64, append: Int64
    ) throws(Rejection) -> Event {
        let meaning = try meaning(as: type)
        let id = try id.hash(charactersMax: EventDecoder.idCharactersMax)
        // Of ads and signals nobody asks whose device it was.
        let isAd = type == .adEvent || meaning == .signal
        if isAd { _ = try device.hasID(charactersMax: EventDecoder.idCharactersMax) }
        let device =
            isAd ? 0 : try device.hash(charactersMax: EventDecoder.idCharactersMax)
        let session = try session.hash(charactersMax: EventDecoder.eventBytesMax)
        let at = try DeviceTime(at)
        let sent = try DeviceTime(sent)
        let begin = type == .crash ? try DeviceTime(sessionStart: sessionAt) : nil
        var converted: UInt8 = at?.isConverted == true ? 1 : 0
        if sent?.isConverted == true { converted += 1 }
        if begin?.isConverted == true { converted += 1 }
        var event = Event(
            appHash: appHash, meaning: meaning, append: append,
            at: at?.milliseconds ?? Event.noTime, sent: sent?.milliseconds ?? Event.noTime,
            sessionAt: begin?.milliseconds ?? Event.noTime, idHash: id, sessionHash: session,
            deviceHash: device, convertedTimes: converted)
        if type == .adEvent, count.kind != BRAKE_JSON_ABSENT {
            event.count = try count.eventCount()
        }
        if isAd {
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
