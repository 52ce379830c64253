// The batch that polls refill.
import EventLog
import Foundation
import Testing

@Suite("A batch")
struct LogBatchTests {
    @Test("takes records up to its limit, and the first one whatever its size")
    func limit() {
        let batch = LogBatch(bytesMax: 1_000)
        #expect(add([UInt8](repeating: 1, count: 5_000), to: batch))
        #expect(!add([1], to: batch))
        batch.reset()
        var count = 0
        while add([UInt8](repeating: 2, count: 100), to: batch) { count += 1 }
        #expect(count == 1_000 / (100 + LogBatch.recordOverhead))
        #expect(batch.records.count == count)
        #expect(batch.bytes <= 1_000)
    }

    @Test("releases lent memory at each reset and at its end, once")
    func releases() {
        var released = 0
        do {
            let batch = LogBatch(bytesMax: 1_000)
            let lent = UnsafeMutableRawBufferPointer.allocate(byteCount: 100, alignment: 8)
            let record = unsafe LogRecord(
                topic: .session, partition: 0, offset: 0, append: 0, key: nil,
                value: UnsafeRawBufferPointer(lent))
            let isAdded = batch.fill { $0.append(lent: record, upTo: batch.bytesMax) }
            #expect(isAdded)
            batch.onReset { released += 1 }
            batch.reset()
            #expect(released == 1)
            #expect(batch.isEmpty)
            batch.reset()
            #expect(released == 1)
            batch.onReset {
                released += 1
                unsafe lent.deallocate()
            }
        }
        #expect(released == 2)
    }

    private func add(_ value: [UInt8], to batch: LogBatch) -> Bool {
        unsafe value.withUnsafeBytes { bytes in
            unsafe batch.append(
                .session, partition: 0, offset: Int64(batch.records.count), append: 0, key: nil,
                value: bytes)
        }
    }
}
