// A value within a document that is being read, and what our fields ask of it.

internal import BrakeModel
internal import CSimdJSON

typealias JSONSlice = brake_json_slice

extension brake_json_slice {
    /// Not there, or null: the same for every optional field.
    @inline(__always)
    var isAbsent: Bool { kind == BRAKE_JSON_ABSENT || kind == BRAKE_JSON_NULL }

    /// The bytes of a text, valid until the parser is used again.
    @inline(__always)
    var text: UnsafeRawBufferPointer {
        // Only text has bytes in the union, and the parser sets both fields together.
        guard kind == BRAKE_JSON_TEXT || kind == BRAKE_JSON_KEY, length > 0 else {
            return unsafe UnsafeRawBufferPointer(start: nil, count: 0)
        }
        return unsafe UnsafeRawBufferPointer(start: bytes, count: Int(length))
    }

    /// A copy of a text.
    var string: String { unsafe String(decoding: text, as: UTF8.self) }

    /// Whether it is exactly this text.
    @inline(__always)
    func matches(_ word: StaticString) -> Bool {
        guard kind == BRAKE_JSON_TEXT, Int(length) == word.utf8CodeUnitCount else { return false }
        return unsafe brake_json_is(bytes, word.utf8Start, word.utf8CodeUnitCount)
    }

    /// Whether it is exactly this text, which is not empty.
    @inline(__always)
    func matches(_ word: UnsafeRawBufferPointer) -> Bool {
        guard kind == BRAKE_JSON_TEXT, Int(length) == word.count else { return false }
        return unsafe UnsafeRawBufferPointer(start: bytes, count: Int(length)).isEqual(to: word)
    }

    /// Whether an optional text is there that is not empty; it must not be too long.
    @inline(__always)
    func hasID(charactersMax: Int) throws(Rejection) -> Bool {
        if isAbsent { return false }
        guard kind == BRAKE_JSON_TEXT else { throw .badField }
        if Int(length) > charactersMax {
            guard unsafe scalarCount(text) <= charactersMax else { throw .badField }
        }
        return length > 0
    }

    /// An optional text's hash, 0 when it is absent or empty, or nobody asks for it.
    @inline(__always)
    func hash(charactersMax: Int, isAsked: Bool) throws(Rejection) -> UInt64 {
        guard try hasID(charactersMax: charactersMax), isAsked else { return 0 }
        return unsafe StableHash.of(text)
    }

    /// How many ad events one stands for: a whole number, however it is written; absent, one.
    func eventCount() throws(Rejection) -> Int64 {
        switch kind {
        case BRAKE_JSON_NULL: return 1
        case BRAKE_JSON_INTEGER where (1...UInt64(EventDecoder.countMax)).contains(integer):
            return Int64(integer)
        case BRAKE_JSON_REAL where real >= 1 && real <= Double(EventDecoder.countMax):
            guard let count = Int64(exactly: real) else { throw .badField }
            return count
        default: throw .badField
        }
    }

    /// A country as `CountryCode.number`, in either case; 0 for all else: where it happened is not
    /// worth losing what happened.
    @inline(__always)
    var countryNumber: UInt16 {
        guard kind == BRAKE_JSON_TEXT, length == 2 else { return 0 }
        let bytes = unsafe text
        // Without the bit that small letters have.
        let number = unsafe UInt16(bytes[0] & 0xdf) << 8 | UInt16(bytes[1] & 0xdf)
        return CountryCode.isNumber(number) ? number : 0
    }

    /// A delay in whole ms, at most `AdCircumstances.dismissMillisecondsMax`; nil for what is none.
    @inline(__always)
    var delayMilliseconds: Int64? {
        let most = AdCircumstances.dismissMillisecondsMax
        switch kind {
        case BRAKE_JSON_INTEGER: return Int64(min(integer, UInt64(most)))
        case BRAKE_JSON_REAL where real >= 0: return Int64(min(real, Double(most)))
        default: return nil
        }
    }

    /// An optional yes or no.
    @inline(__always)
    func bool(default value: Bool) throws(Rejection) -> Bool {
        switch kind {
        case BRAKE_JSON_ABSENT, BRAKE_JSON_NULL: return value
        case BRAKE_JSON_TRUE: return true
        case BRAKE_JSON_FALSE: return false
        default: throw .badField
        }
    }

    /// Makes sure that an optional word is text, whatever it says.
    @inline(__always)
    func checkIsWord() throws(Rejection) {
        guard isAbsent || kind == BRAKE_JSON_TEXT else { throw .badField }
    }
}

/// How many Unicode scalars there are in UTF-8. O(length).
func scalarCount(_ text: UnsafeRawBufferPointer) -> Int {
    var count = 0
    for index in 0..<text.count where unsafe text[index] & 0xc0 != 0x80 { count += 1 }
    return count
}
