// Notices as they stand in their topic: what a person should know.

package import BrakeModel

extension Notice {
    /// The version of the format that we write and read.
    package static let recordVersion: Int64 = 1

    package func encode() -> [UInt8] {
        JSONWriter.bytes { record in
            record.object { record in
                record.field("v", Notice.recordVersion)
                record.field("kind", kind.name)
                record.field("app", app?.text)
                record.field("clock", clock)
                record.field("text", text)
            }
        }
    }

    /// The notice of these bytes; one of an unknown kind is rejected.
    package static func decode(
        _ bytes: UnsafeRawBufferPointer, with reader: DocumentReader
    ) throws(Rejection) -> Notice {
        let record = unsafe try reader.record(bytes, version: recordVersion)
        let app: AppID?
        switch record["app"] {
        case nil: app = nil
        case .some(let value):
            guard let id = value.text.flatMap({ AppID($0) }) else { throw .badApp }
            app = id
        }
        return Notice(
            kind: try record.required("kind") { value in
                Kind.allCases.first { $0.name == value.text }
            },
            app: app, clock: try record.required("clock", \.integer),
            text: try record.required("text", \.text))
    }
}
