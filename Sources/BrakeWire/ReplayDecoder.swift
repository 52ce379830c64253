// Lines of a replay file: {"append": A, "value": record}, or {"append": A} to move the clock alone.

package import BrakeModel
internal import CSimdJSON

/// Decodes the lines of a replay file. Belongs to one thread.
package final class ReplayDecoder {
    /// The latest append time that a line may have: the last millisecond of 32 bits of seconds.
    package static let appendMax: Int64 = 4_294_967_295_999
    /// The most bytes of a line: a record and what surrounds it.
    package static let lineBytesMax = EventDecoder.recordBytesMax + 1_024

    private let reader = JSONReader(bytesMax: ReplayDecoder.lineBytesMax)

    package init() {}

    /// Adds a line's events to the batch and what could not be used to the rejected ones, and
    /// returns the append time that the clock moves to, whatever its record is worth.
    ///
    /// A line that is not JSON, or has no append time (a whole number, 0 ... `appendMax`), is
    /// rejected as a whole. Then the result is nil.
    package func decode(
        _ line: UnsafeRawBufferPointer, into batch: inout EventBatch,
        rejected: inout [RejectedEvent]
    ) -> Int64? {
        guard line.count <= ReplayDecoder.lineBytesMax else {
            rejected.append(RejectedEvent(index: nil, reason: .tooLarge))
            return nil
        }
        guard unsafe reader.open(line), !reader.isScalar else {
            rejected.append(RejectedEvent(index: nil, reason: .badJSON))
            return nil
        }
        guard let fields = reader.line() else {
            let reason = reader.isArray ? Rejection.notAnObject : .badJSON
            rejected.append(RejectedEvent(index: nil, reason: reason))
            return nil
        }
        guard fields.append.kind == BRAKE_JSON_INTEGER,
            fields.append.integer <= UInt64(ReplayDecoder.appendMax)
        else {
            rejected.append(RejectedEvent(index: nil, reason: .badTime))
            return nil
        }
        let append = Int64(fields.append.integer)
        switch fields.value {
        case BRAKE_JSON_ABSENT, BRAKE_JSON_NULL: break
        case BRAKE_JSON_OBJECT, BRAKE_JSON_ARRAY:
            // The grammar of the whole line has been checked, so this cannot fail.
            var record = RecordDecoding(append: append, source: .file, .counted)
            _ = record.read(reader, into: &batch, rejected: &rejected)
        default: rejected.append(RejectedEvent(index: nil, reason: .notAnObject))
        }
        return append
    }
}
