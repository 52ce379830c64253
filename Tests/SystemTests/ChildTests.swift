// What the tests' own way to start processes promises.
import Glibc
import ProcessTestSupport
import Testing

@Suite("A process started by a test")
struct ChildTests {
    /// Threads of tests may block all signals. A process that took that over could not be asked to
    /// end, and a tool such as `timeout` would not even notice the end of its own child.
    @Test("blocks no signals, whatever the thread that starts it does")
    func signals() throws {
        var (all, before) = (sigset_t(), sigset_t())
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }
        let child = try Child(command: ["/bin/cat", "/proc/self/status"], variables: [])
        defer { child.close() }
        #expect(try child.waitForEnd() == .exited(0))
        let blocked = child.output.split(separator: "\n").first { $0.hasPrefix("SigBlk:") }
        #expect(blocked?.hasSuffix("0000000000000000") == true, "\(blocked ?? "nothing")")
    }
}
