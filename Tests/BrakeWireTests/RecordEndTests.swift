// Logs lend records in their own memory, which may end where a record ends.

import BrakeModel
import Glibc
import Testing

@testable import BrakeWire

@safe @Suite struct RecordEndTests {
    /// A page that can be read, before one that cannot.
    private let pages: UnsafeMutableRawPointer
    private let pageBytes = Int(sysconf(Int32(_SC_PAGESIZE)))

    init() throws {
        let mapped = unsafe mmap(
            nil, 2 * pageBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        try #require(unsafe mapped != MAP_FAILED)
        unsafe pages = try #require(unsafe mapped)
        let isGuarded = unsafe mprotect(pages + pageBytes, pageBytes, PROT_NONE) == 0
        try #require(isGuarded)
    }

    @Test func `nothing behind the end of a record is read`() {
        defer { unsafe munmap(pages, 2 * pageBytes) }
        let decoder = EventDecoder()
        var batch = EventBatch()
        var rejected: [RejectedEvent] = []
        for length in 0..<200 {
            let filler = String(repeating: "x", count: length)
            // Whole, cut off, and an array whose frame is looked at again.
            let event = #"{"type":"crash","app":"a","x":"\#(filler)"}"#
            for record in [event, String(event.dropLast(2)), #"[\#(event),{"a"}]"#] {
                let start = unsafe pages + pageBytes - record.utf8.count
                unsafe start.copyMemory(from: Array(record.utf8), byteCount: record.utf8.count)
                unsafe decoder.decode(
                    UnsafeRawBufferPointer(start: start, count: record.utf8.count), append: 1,
                    into: &batch, rejected: &rejected)
            }
        }
        #expect(batch.events.count == 400)
        #expect(rejected.count == 400)
    }
}
