// Documents as a tree of values: for records which are few, and for what people write.

internal import BrakeModel
internal import CSimdJSON

/// A value of a JSON document.
package indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    case integer(Int64)
    /// Any number that is not an integer of 64 bits; infinite when it is too large.
    case real(Double)
    case text(String)
    case array([JSONValue])
    /// The fields in their order; equal keys are all there.
    case object([Field])

    package struct Field: Sendable, Equatable {
        package var key: String
        package var value: JSONValue

        package init(key: String, value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// The value of an object's field, the last one of equal keys; nil when it is not there, or
    /// null.
    package subscript(key: String) -> JSONValue? {
        guard case .object(let fields) = self,
            let field = fields.last(where: { $0.key == key }), field.value != .null
        else { return nil }
        return field.value
    }

    package var text: String? {
        if case .text(let text) = self { text } else { nil }
    }

    package var integer: Int64? {
        if case .integer(let integer) = self { integer } else { nil }
    }

    /// Any number that is finite.
    package var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .real(let real): real.isFinite ? real : nil
        default: nil
        }
    }

    package var array: [JSONValue]? {
        if case .array(let values) = self { values } else { nil }
    }

    package var fields: [Field]? {
        if case .object(let fields) = self { fields } else { nil }
    }
}

/// Reads documents into trees. Belongs to one thread.
package final class DocumentReader {
    /// The most bytes of a document that people or our own stages write.
    package static let bytesMaxDefault = 1_024 * 1_024

    private let reader: JSONReader

    package init(bytesMax: Int = DocumentReader.bytesMaxDefault) {
        reader = JSONReader(bytesMax: bytesMax)
    }

    /// The document's value, nil when it is not JSON, too deep or too large. O(length).
    package func read(_ bytes: UnsafeRawBufferPointer) -> JSONValue? {
        guard unsafe reader.open(bytes) else { return nil }
        var token = JSONSlice()
        guard reader.nextToken(&token) == BRAKE_JSON_MORE, let value = value(of: token),
            reader.nextToken(&token) == BRAKE_JSON_END
        else { return nil }
        return value
    }

    /// As `read`, of bytes in an array.
    package func read(_ bytes: [UInt8]) -> JSONValue? {
        unsafe bytes.withUnsafeBytes { unsafe read($0) }
    }

    /// An object that a topic holds, of the version we know.
    func record(
        _ bytes: UnsafeRawBufferPointer, version: Int64
    ) throws(Rejection) -> JSONValue {
        guard unsafe !bytes.isEmpty else { throw .empty }
        guard let value = unsafe read(bytes) else { throw .badJSON }
        guard value.fields != nil else { throw .notAnObject }
        guard value["v"]?.integer == version else { throw .unknownVersion }
        return value
    }

    // The parser bounds the depth, and with it this recursion.
    private func value(of token: JSONSlice) -> JSONValue? {
        switch token.kind {
        case BRAKE_JSON_NULL: .null
        case BRAKE_JSON_TRUE: .bool(true)
        case BRAKE_JSON_FALSE: .bool(false)
        case BRAKE_JSON_INTEGER:
            Int64(exactly: token.integer).map { .integer($0) } ?? .real(Double(token.integer))
        case BRAKE_JSON_NEGATIVE: .integer(Int64(bitPattern: token.integer))
        case BRAKE_JSON_REAL: .real(token.real)
        case BRAKE_JSON_TEXT: .text(token.string)
        case BRAKE_JSON_ARRAY: elements().map { .array($0) }
        case BRAKE_JSON_OBJECT: fields().map { .object($0) }
        default: nil
        }
    }

    private func elements() -> [JSONValue]? {
        var elements: [JSONValue] = []
        var token = JSONSlice()
        while reader.nextToken(&token) == BRAKE_JSON_MORE {
            if token.kind == BRAKE_JSON_CLOSE { return elements }
            guard let element = value(of: token) else { return nil }
            elements.append(element)
        }
        return nil
    }

    private func fields() -> [JSONValue.Field]? {
        var fields: [JSONValue.Field] = []
        var token = JSONSlice()
        while reader.nextToken(&token) == BRAKE_JSON_MORE {
            if token.kind == BRAKE_JSON_CLOSE { return fields }
            let key = token.string
            guard reader.nextToken(&token) == BRAKE_JSON_MORE, let value = value(of: token) else {
                return nil
            }
            fields.append(JSONValue.Field(key: key, value: value))
        }
        return nil
    }
}
