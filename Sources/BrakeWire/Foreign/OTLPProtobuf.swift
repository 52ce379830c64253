// A request of OTLP for logs in protocol buffers: opentelemetry.proto.collector.logs.v1.

extension OTLPLogs {
    /// Nil: not such a message.
    package init?(protobuf bytes: [UInt8]) {
        var request = ProtobufReader(bytes, 0..<bytes.count)
        while true {
            switch request.next() {
            case .field(1, .bytes(let range)):
                guard addResource(bytes, range) else { return nil }
            case .field: continue
            case .end: return
            case .malformed: return nil
            }
        }
    }

    /// A ResourceLogs. Its resource may come after its logs, so it is looked for first.
    private mutating func addResource(_ bytes: [UInt8], _ range: Range<Int>) -> Bool {
        var resource = OTLPAttributes()
        var fields = ProtobufReader(bytes, range)
        var scopes: [Range<Int>] = []
        while true {
            switch fields.next() {
            case .field(1, .bytes(let range)):
                guard Self.read(bytes, range, field: 1, into: &resource) else { return false }
            case .field(2, .bytes(let range)): scopes.append(range)
            case .field: continue
            case .end: return scopes.allSatisfy { addScope(bytes, $0, resource) }
            case .malformed: return false
            }
        }
    }

    private mutating func addScope(
        _ bytes: [UInt8], _ range: Range<Int>, _ resource: OTLPAttributes
    ) -> Bool {
        var fields = ProtobufReader(bytes, range)
        while true {
            switch fields.next() {
            case .field(2, .bytes(let range)):
                guard let record = Self.record(bytes, range, resource) else { return false }
                add(record)
            case .field: continue
            case .end: return true
            case .malformed: return false
            }
        }
    }

    private static func record(
        _ bytes: [UInt8], _ range: Range<Int>, _ resource: OTLPAttributes
    ) -> OTLPRecord? {
        var record = OTLPRecord(resource: resource)
        var fields = ProtobufReader(bytes, range)
        while true {
            switch fields.next() {
            case .field(1, .fixed64(let time)): record.time = time
            case .field(2, .number(let severity)): record.severity = severity
            case .field(6, .bytes(let range)):
                guard readKeyValue(bytes, range, into: &record.attributes) else { return nil }
            case .field(11, .fixed64(let time)): record.observed = time
            case .field(12, .bytes(let range)): record.eventName = text(bytes, range)
            case .field: continue
            case .end: return record
            case .malformed: return nil
            }
        }
    }

    /// The attributes in the fields of that number.
    private static func read(
        _ bytes: [UInt8], _ range: Range<Int>, field number: Int,
        into attributes: inout OTLPAttributes
    ) -> Bool {
        var fields = ProtobufReader(bytes, range)
        while true {
            switch fields.next() {
            case .field(number, .bytes(let range)):
                guard readKeyValue(bytes, range, into: &attributes) else { return false }
            case .field: continue
            case .end: return true
            case .malformed: return false
            }
        }
    }

    private static func readKeyValue(
        _ bytes: [UInt8], _ range: Range<Int>, into attributes: inout OTLPAttributes
    ) -> Bool {
        var (key, value): (String?, Range<Int>?) = (nil, nil)
        var fields = ProtobufReader(bytes, range)
        while true {
            switch fields.next() {
            case .field(1, .bytes(let range)): key = text(bytes, range)
            case .field(2, .bytes(let range)): value = range
            case .field: continue
            case .malformed: return false
            case .end:
                guard let key, OTLPAttributes.known.contains(key), let value else { return true }
                guard let text = scalar(bytes, value) else { return false }
                attributes.set(key, text)
                return true
            }
        }
    }

    /// An AnyValue as text; empty when it is a list.
    private static func scalar(_ bytes: [UInt8], _ range: Range<Int>) -> String? {
        var fields = ProtobufReader(bytes, range)
        var text = ""
        while true {
            switch fields.next() {
            case .field(1, .bytes(let range)): text = Self.text(bytes, range)
            case .field(2, .number(let bool)): text = bool == 0 ? "false" : "true"
            case .field(3, .number(let integer)): text = "\(Int64(bitPattern: integer))"
            case .field: continue
            case .end: return text
            case .malformed: return nil
            }
        }
    }

    private static func text(_ bytes: [UInt8], _ range: Range<Int>) -> String {
        // What is not UTF-8 becomes the replacement character.
        String(decoding: bytes[range].prefix(OTLPAttributes.textBytesMax), as: UTF8.self)
    }
}
