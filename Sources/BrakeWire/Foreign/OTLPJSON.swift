// A request of OTLP for logs in JSON.

extension OTLPLogs {
    /// Nil: not such a document.
    package init?(json bytes: [UInt8], _ reader: DocumentReader) {
        guard let request = reader.read(bytes), request.fields != nil else { return nil }
        guard let resources = request["resourceLogs"] else { return }
        guard let resources = resources.array else { return nil }
        for resourceLogs in resources {
            var resource = OTLPAttributes()
            Self.read(resourceLogs["resource"]?["attributes"], into: &resource)
            for scope in resourceLogs["scopeLogs"]?.array ?? [] {
                for record in scope["logRecords"]?.array ?? [] {
                    add(Self.record(record, resource))
                }
            }
        }
    }

    private static func record(_ value: JSONValue, _ resource: OTLPAttributes) -> OTLPRecord {
        var record = OTLPRecord(resource: resource)
        record.time = number(value["timeUnixNano"])
        record.observed = number(value["observedTimeUnixNano"])
        record.severity = number(value["severityNumber"])
        record.eventName = text(value["eventName"]?.text ?? "")
        read(value["attributes"], into: &record.attributes)
        return record
    }

    private static func read(_ list: JSONValue?, into attributes: inout OTLPAttributes) {
        for item in list?.array ?? [] {
            guard let key = item["key"]?.text, let value = item["value"] else { continue }
            if let text = value["stringValue"]?.text {
                attributes.set(key, Self.text(text))
            } else if case .bool(let bool) = value["boolValue"] {
                attributes.set(key, bool ? "true" : "false")
            } else if let integer = value["intValue"]?.text
                ?? value["intValue"]?.integer?.description
            {
                attributes.set(key, Self.text(integer))
            }
        }
    }

    private static func text(_ text: String) -> String {
        String(decoding: text.utf8.prefix(OTLPAttributes.textBytesMax), as: UTF8.self)
    }

    /// 64-bit numbers are texts in JSON; some senders make them numbers all the same.
    private static func number(_ value: JSONValue?) -> UInt64 {
        value?.text.flatMap { UInt64($0) } ?? value?.integer.flatMap { UInt64(exactly: $0) } ?? 0
    }
}
