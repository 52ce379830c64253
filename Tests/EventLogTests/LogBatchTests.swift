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

    @Test("lets the parser read beyond the end of every value", arguments: [1, 100, 1_000, 9_000])
    func padding(bytes: Int) {
        let batch = LogBatch(bytesMax: 4_000)
        while add([UInt8](repeating: 3, count: bytes), to: batch) {}
        var sum = 0
        for record in batch.records {
            guard let value = unsafe record.value, let start = value.baseAddress else {
                continue
            }
            // Under a memory checker this is where a batch without padding fails.
            for index in 0..<(value.count + LogBatch.padding) {
                sum += unsafe Int(start.load(fromByteOffset: index, as: UInt8.self))
            }
        }
        #expect(sum >= 3 * bytes)
    }

    @Test("releases lent memory at each reset and at its end, once")
    func releases() {
        var released = 0
        do {
            let batch = LogBatch(bytesMax: 1_000)
            let lent = UnsafeMutableRawBufferPointer.allocate(byteCount: 164, alignment: 8)
            let record = unsafe LogRecord(
                topic: .session, partition: 0, offset: 0, append: 0, key: nil,
                value: UnsafeRawBufferPointer(rebasing: lent[..<100]))
            let isAdded = batch.append(lent: record)
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
