// A thread that can be joined: blocking work stays off the pool of Swift tasks.
import Glibc

/// One thread of the operating system with a name, started at once.
///
/// @unchecked Sendable: the handle is written once, in the initialiser, and joined once, under the
/// monitor.
package final class WorkerThread: @unchecked Sendable {
    private static let stackBytes = 1 << 20
    private static let nameBytesMax = 15

    private final class Body {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    private let handle: pthread_t
    private let isJoined = Monitor(false)

    /// Starts the thread. The name is cut to 15 bytes, as Linux has it.
    package init(name: String, _ run: @escaping @Sendable () -> Void) {
        var attributes = pthread_attr_t()
        unsafe pthread_attr_init(&attributes)
        defer { unsafe pthread_attr_destroy(&attributes) }
        unsafe pthread_attr_setstacksize(&attributes, Self.stackBytes)
        var thread = pthread_t()
        // Retained here, released by the thread once it has it.
        let context = unsafe Unmanaged.passRetained(Body(name: name, run: run))
        let status = unsafe pthread_create(
            &thread, &attributes,
            { context in
                // Never nil: it is the context given below.
                let body = unsafe Unmanaged<Body>.fromOpaque(context!).takeRetainedValue()
                WorkerThread.setName(body.name)
                body.run()
                return nil
            }, context.toOpaque())
        precondition(status == 0, "the machine has room for one more thread (\(name): \(status))")
        handle = thread
    }

    deinit {
        if !isJoined.read({ $0 }) { pthread_detach(handle) }
    }

    /// Waits for the end of the thread. May be called once, by another thread.
    package func join() {
        isJoined.withLock { isJoined in
            precondition(!isJoined, "a thread is joined once")
            isJoined = true
        }
        let status = pthread_join(handle, nil)
        precondition(status == 0, "another thread joins")
    }

    /// Names the calling thread, for `top -H` and debuggers.
    private static func setName(_ name: String) {
        let file = unsafe open("/proc/thread-self/comm", O_WRONLY)
        // Without /proc threads keep the program's name.
        guard file >= 0 else { return }
        let bytes = Array(name.utf8.prefix(nameBytesMax))
        unsafe write(file, bytes, bytes.count)
        close(file)
    }

    /// Sends a signal to this thread alone.
    func signal(_ number: Int32) {
        pthread_kill(handle, number)
    }
}
