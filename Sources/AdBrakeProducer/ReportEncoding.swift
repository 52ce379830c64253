// Reports as JSON, held to what the contract allows before they are taken.

import BrakeModel
import BrakeWire

extension Report {
    /// The event as it will stand in the log.
    func encode() throws(ProducerFault) -> [UInt8] {
        try check()
        let bytes = JSONWriter.bytes(capacity: 256) { event in
            event.object { event in
                event.field("type", type.name)
                event.write(context)
                switch self {
                case .session(let report): event.write(report)
                case .crash(let report): event.write(report)
                case .softError(let report): event.write(report)
                case .ad(let report):
                    event.write(report)
                    event.write(timesOf: context)
                    if report.count != 1 { event.field("count", report.count) }
                    return
                }
                event.write(timesOf: context)
            }
        }
        guard bytes.count <= EventDecoder.eventBytesMax else {
            throw .invalid(
                field: "event",
                reason: "it has \(bytes.count) bytes, at most \(EventDecoder.eventBytesMax)")
        }
        return bytes
    }

    private func check() throws(ProducerFault) {
        let context = context
        try Self.check("id", context.id, charactersMax: EventDecoder.idCharactersMax)
        try Self.check("device", context.device, charactersMax: EventDecoder.idCharactersMax)
        try Self.check("at", context.at)
        try Self.check("sent", context.sent)
        if case .ad(let report) = self, !(1...Int(EventDecoder.countMax)).contains(report.count) {
            throw .invalid(
                field: "count", reason: "\(report.count) is not from 1 to \(EventDecoder.countMax)")
        }
    }

    private static func check(
        _ field: String, _ text: String?, charactersMax: Int
    ) throws(ProducerFault) {
        guard let count = text?.unicodeScalars.count, count > charactersMax else { return }
        throw .invalid(field: field, reason: "it has \(count) characters, at most \(charactersMax)")
    }

    /// Milliseconds, and not seconds by mistake: those would be read as what they look like.
    private static func check(_ field: String, _ time: Int64?) throws(ProducerFault) {
        guard let time, !(100_000_000_000..<100_000_000_000_000).contains(time) else { return }
        throw .invalid(field: field, reason: "\(time) is not a time in ms since 1970")
    }
}

extension JSONWriter {
    fileprivate mutating func write(_ context: ReportContext) {
        write("id", context.id)
        field("app", context.app.text)
        write("session", context.session)
        write("device", context.device)
        write("build", context.build)
        write("os", context.os)
        write("model", context.model)
        write("country", context.country)
    }

    fileprivate mutating func write(timesOf context: ReportContext) {
        write("at", context.at)
        write("sent", context.sent)
    }

    fileprivate mutating func write(_ report: SessionReport) {
        if report.phase != .start { field("phase", report.phase.rawValue) }
        if !report.isForeground { field("foreground", false) }
    }

    fileprivate mutating func write(_ report: CrashReport) {
        if !report.isFatal { field("fatal", false) }
        write("kind", report.kind?.rawValue)
        write("session_at", report.sessionAt)
        write("vendor", report.vendor)
    }

    fileprivate mutating func write(_ report: SoftErrorReport) {
        write("severity", report.severity?.rawValue)
        write("domain", report.domain)
        write("code", report.code)
        write("signal", report.signal?.rawValue)
    }

    fileprivate mutating func write(_ report: AdReport) {
        field("event", report.event.rawValue)
        write("unit", report.unit)
        write("format", report.format)
        write("network", report.network)
        write("error_code", report.errorCode)
        write("dismiss_delay_ms", report.dismissDelayMilliseconds)
        write("state", report.state?.name)
        write("revision", report.revision)
    }

    private mutating func write(_ key: StaticString, _ value: String?) {
        if let value { field(key, value) }
    }

    private mutating func write(_ key: StaticString, _ value: Int64?) {
        if let value { field(key, value) }
    }
}
