// Logs on the real broker, each with topics of its own.
import EventLog
package import KafkaLog
import Runtime

/// A name that no other test of any run uses.
package func freshPrefix() -> String { "t\(UInt32.random(in: 0...UInt32.max))-" }

extension KafkaSettings {
    /// Of a log on the real broker, whose topics are yet to be made.
    package static func fresh() throws -> KafkaSettings {
        var settings = KafkaSettings(bootstrap: try KafkaFixture.shared.get().bootstrap)
        settings.prefix = freshPrefix()
        settings.instance = "test"
        return settings
    }
}

/// Runs the body while nobody disturbs the broker, or while nobody else uses it. It may wait as
/// long as it likes: it has a thread of its own, while the few that Swift has for all tests go on.
package func withBroker<Result>(
    _ mode: BrokerAccess.Mode = .beside, _ body: () throws -> Result
) async throws -> Result {
    await KafkaFixture.access.enter(mode)
    let result = await withTaskExecutorPreference(OwnThread.shared) {
        Swift.Result { try body() }
    }
    await KafkaFixture.access.leave()
    return try result.get()
}

/// Runs each piece of a task on a new thread.
private final class OwnThread: TaskExecutor {
    static let shared = OwnThread()

    func enqueue(_ job: consuming ExecutorJob) {
        // A job is run once, here and by nobody else.
        let job = UnownedJob(job)
        _ = WorkerThread(name: "test") { [self] in
            unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        }
    }
}

/// Runs the body with a log on the real broker, whose topics are its own.
package func withKafka(
    partitions: Int = 4, _ mode: BrokerAccess.Mode = .beside,
    _ change: (inout KafkaSettings) -> Void = { _ in },
    _ body: (KafkaLog, KafkaSettings) throws -> Void
) async throws {
    try await withBroker(mode) {
        var settings = try KafkaSettings.fresh()
        change(&settings)
        try KafkaTopics(settings, partitions: partitions, replicas: 1).create()
        let log = try KafkaLog(settings)
        defer { log.close() }
        try body(log, settings)
    }
}

/// A condition that did not come true in time.
package struct TimedOut: Error {
    package let what: String

    package init(what: String) { self.what = what }
}

/// Repeats the body until it returns a value; fails after a time that a right program never needs.
package func eventually<Value>(
    _ what: @autoclosure () -> String, seconds: Int = 60, _ body: () throws -> Value?
) throws -> Value {
    let pause = StopSignal()
    let deadline = LogClock.steady.now() + Int64(seconds) * 1_000
    while LogClock.steady.now() < deadline {
        if let value = try body() { return value }
        pause.wait(milliseconds: 5)
    }
    throw TimedOut(what: what())
}
