// Where things are in a JSON text, so that one value can be replaced and all else stays as it is,
// byte for byte. Only for texts that a reader has found to be JSON.

import BrakeWire

/// A JSON text that can be changed in places.
struct JSONSpans {
    /// A member of an object.
    struct Member {
        var key: String
        var value: Range<Int>
    }

    private(set) var bytes: [UInt8]
    private var edits: [(place: Range<Int>, bytes: [UInt8])] = []

    /// Nil: not JSON, or not an object, or more than a template may have.
    init?(_ bytes: [UInt8], bytesMax: Int) {
        guard DocumentReader(bytesMax: bytesMax).read(bytes)?.fields != nil else { return nil }
        self.bytes = bytes
    }

    /// The whole text's object.
    var root: Range<Int> {
        let start = skipSpace(0)
        return start..<end(of: start)
    }

    /// The members of an object, in their order; empty for a value that is none. O(its length).
    func members(of object: Range<Int>) -> [Member] {
        guard bytes[object.lowerBound] == UInt8(ascii: "{") else { return [] }
        var members: [Member] = []
        var index = skipSpace(object.lowerBound + 1)
        while bytes[index] != UInt8(ascii: "}") {
            let keyEnd = end(of: index)
            let key = text(index..<keyEnd) ?? ""
            // Over the colon.
            let start = skipSpace(skipSpace(keyEnd) + 1)
            let end = end(of: start)
            members.append(Member(key: key, value: start..<end))
            index = skipSpace(end)
            if bytes[index] == UInt8(ascii: ",") { index = skipSpace(index + 1) }
        }
        return members
    }

    /// The value of an object's member, the last one of equal keys, as readers take it.
    func value(_ key: String, of object: Range<Int>?) -> Range<Int>? {
        object.flatMap { object in members(of: object).last { $0.key == key }?.value }
    }

    /// The elements of an array; empty for a value that is none.
    func elements(of array: Range<Int>) -> [Range<Int>] {
        guard bytes[array.lowerBound] == UInt8(ascii: "[") else { return [] }
        var elements: [Range<Int>] = []
        var index = skipSpace(array.lowerBound + 1)
        while bytes[index] != UInt8(ascii: "]") {
            let end = end(of: index)
            elements.append(index..<end)
            index = skipSpace(end)
            if bytes[index] == UInt8(ascii: ",") { index = skipSpace(index + 1) }
        }
        return elements
    }

    func isObject(_ value: Range<Int>) -> Bool { bytes[value.lowerBound] == UInt8(ascii: "{") }

    /// A text value, decoded; nil when it is another value.
    func text(_ value: Range<Int>) -> String? {
        guard bytes[value.lowerBound] == UInt8(ascii: "\"") else { return nil }
        // In an array: a text alone is no document for the reader.
        let document = [UInt8(ascii: "[")] + bytes[value] + [UInt8(ascii: "]")]
        return DocumentReader(bytesMax: document.count + 64).read(document)?.array?.first?.text
    }

    // MARK: Changing

    mutating func replace(_ value: Range<Int>, by json: [UInt8]) { edits.append((value, json)) }

    /// Adds to the end of an object or an array: JSON without a comma.
    mutating func append(_ json: [UInt8], to list: Range<Int>) {
        let last =
            isObject(list)
            ? members(of: list).last?.value.upperBound : elements(of: list).last?.upperBound
        // Additions to one place are made in their order.
        let isFirst =
            last == nil && !edits.contains { $0.place == list.lowerBound + 1..<list.lowerBound + 1 }
        let place = last ?? list.lowerBound + 1
        edits.append((place..<place, (isFirst ? [] : [UInt8(ascii: ",")]) + json))
    }

    /// The text with all changes.
    func edited() -> [UInt8] {
        var text: [UInt8] = []
        var index = 0
        // Stable: equal places keep their order.
        let ordered = edits.enumerated().sorted {
            ($0.element.place.lowerBound, $0.offset) < ($1.element.place.lowerBound, $1.offset)
        }
        for (_, edit) in ordered {
            text += bytes[index..<edit.place.lowerBound]
            text += edit.bytes
            index = edit.place.upperBound
        }
        return text + bytes[index...]
    }

    // MARK: Scanning

    private func skipSpace(_ start: Int) -> Int {
        var index = start
        while index < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[index]) { index += 1 }
        return index
    }

    /// The end of the value that begins here.
    private func end(of start: Int) -> Int {
        var depth = 0
        var index = start
        while index < bytes.count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                index += 1
                while bytes[index] != UInt8(ascii: "\"") {
                    index += bytes[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                index += 1
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                index += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"), 0x20, 0x09, 0x0a, 0x0d:
                index += 1
            default:
                // A number or a word.
                while index < bytes.count, !isDelimiter(bytes[index]) { index += 1 }
            }
            if depth == 0 { return index }
        }
        return index
    }

    private func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: ","), UInt8(ascii: ":"), UInt8(ascii: "}"), UInt8(ascii: "]"), 0x20, 0x09,
            0x0a, 0x0d:
            true
        default: false
        }
    }
}
