// Starting programs in tests: what one is given, others do not keep.
import ProcessTestSupport
import Runtime
import Testing

@Suite("A program that a test starts")
struct ChildProcessTests {
    @Test("ends for who waits for it, whatever else is started at the same moment")
    func startedTogether() throws {
        // Those that live on, as the guardian of a broker does, hold whatever they got.
        let lasting = Monitor<[ChildProcess]>([])
        let running = Monitor(2)
        for _ in 0..<2 {
            _ = WorkerThread(name: "starting") {
                for _ in 0..<50 {
                    guard
                        let child = try? ChildProcess(["cat"], takesInput: true, errors: .tests)
                    else { break }
                    lasting.withLock { $0.append(child) }
                }
                running.withLock { $0 -= 1 }
            }
        }
        for number in 0..<50 {
            let ran = try ChildProcess.run(["echo", "\(number)"], input: [])
            #expect(ran.ending == .exited(0) && ran.output == Array("\(number)\n".utf8))
        }
        let isDone = running.wait(milliseconds: Child.patienceMilliseconds) { $0 == 0 ? true : nil }
        try #require(isDone == true)
        let children = lasting.read { $0 }
        #expect(children.count == 100)
        for child in children {
            child.closeInput()
            #expect(child.read().isEmpty)
            #expect(child.wait() == .exited(0))
        }
    }

    @Test("is heard on both its streams, hears signals, and tells how it has ended")
    func streams() throws {
        let script = "read line; echo \"out $line $WORD\"; echo err >&2; kill -s TERM $$"
        let child = try ChildProcess(
            ["sh", "-c", script], environment: ["PATH=/bin:/usr/bin", "WORD=w"], takesInput: true)
        #expect(child.write("in\n".utf8))
        #expect(child.read() == Array("out in w\n".utf8))
        #expect(child.read(.errors) == Array("err\n".utf8))
        #expect(child.wait() == .killed(15) && child.wait() == .killed(15))
        child.signal(9)
    }

    @Test("that is not there is named")
    func missing() {
        let error = #expect(throws: ChildProcess.NotStarted.self) {
            try ChildProcess(["no-such-program", "x"])
        }
        #expect(error?.words == ["no-such-program", "x"])
    }
}
