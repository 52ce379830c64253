// The fuzzer's program: libFuzzer has the `main` and calls this with each input. Which subject, the
// environment says.

import FuzzSubjects
import Glibc

private let subject: FuzzSubject = {
    // Read once, before any thread of ours is started.
    let name = unsafe getenv("ADBRAKE_FUZZ_SUBJECT").map { unsafe String(cString: $0) } ?? ""
    guard let subject = FuzzSubject(rawValue: name) else {
        preconditionFailure("ADBRAKE_FUZZ_SUBJECT names a subject")
    }
    return subject
}()

@_cdecl("LLVMFuzzerTestOneInput")
public func testOneInput(_ bytes: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    unsafe subject.take(UnsafeRawBufferPointer(start: bytes, count: count))
    return 0
}
