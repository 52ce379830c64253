// The event that a parser has read last, field by field.

internal import CSimdJSON

/// Refers to the event which a reader has read last, until the reader goes on. Fields are read
/// where the parser has put them: to hand over the event itself would copy all of them.
///
/// Safe: the reader that owns the memory outlives what is done with an event.
@safe
struct RawEvent {
    private let fields: UnsafePointer<brake_json_event>

    init(_ fields: UnsafePointer<brake_json_event>) { unsafe self.fields = fields }

    /// Otherwise there are no fields.
    @inline(__always) var isObject: Bool { unsafe fields.pointee.is_object }
    /// Its bytes.
    @inline(__always) var length: Int { unsafe Int(fields.pointee.length) }
    /// Where it lies in the document.
    @inline(__always) var range: Range<Int> {
        let start = unsafe Int(fields.pointee.start)
        return start..<start + length
    }

    @inline(__always) var type: JSONSlice { unsafe fields.pointee.type }
    @inline(__always) var app: JSONSlice { unsafe fields.pointee.app }
    @inline(__always) var id: JSONSlice { unsafe fields.pointee.id }
    @inline(__always) var session: JSONSlice { unsafe fields.pointee.session }
    @inline(__always) var device: JSONSlice { unsafe fields.pointee.device }
    @inline(__always) var os: JSONSlice { unsafe fields.pointee.os }
    @inline(__always) var at: JSONSlice { unsafe fields.pointee.at }
    @inline(__always) var sent: JSONSlice { unsafe fields.pointee.sent }
    @inline(__always) var sessionAt: JSONSlice { unsafe fields.pointee.session_at }
    @inline(__always) var phase: JSONSlice { unsafe fields.pointee.phase }
    @inline(__always) var foreground: JSONSlice { unsafe fields.pointee.foreground }
    @inline(__always) var fatal: JSONSlice { unsafe fields.pointee.fatal }
    @inline(__always) var kind: JSONSlice { unsafe fields.pointee.kind }
    @inline(__always) var severity: JSONSlice { unsafe fields.pointee.severity }
    @inline(__always) var signal: JSONSlice { unsafe fields.pointee.signal }
    @inline(__always) var event: JSONSlice { unsafe fields.pointee.event }
    @inline(__always) var errorCode: JSONSlice { unsafe fields.pointee.error_code }
    @inline(__always) var count: JSONSlice { unsafe fields.pointee.count }
    @inline(__always) var country: JSONSlice { unsafe fields.pointee.country }
    @inline(__always) var dismissDelay: JSONSlice { unsafe fields.pointee.dismiss_delay_ms }
}
