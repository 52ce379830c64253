// What takes a log away from the program, and gives it back.
import Foundation
import Glibc
import ProcessTestSupport
import Runtime
import Testing

/// Holds the lock that SQLite writes under, as a backup or another process would.
final class WriteLock {
    /// Of SQLite's file format in WAL mode: where the lock of the one writer is.
    private static let offset: off_t = 120
    /// Locks of an open file, which no other descriptor of this process gives up by closing.
    private static let lockAndWait: Int32 = 38

    private let descriptor: Int32

    /// Waits for the lock.
    init(path: String) throws {
        descriptor = unsafe Glibc.open(path + "-shm", O_RDWR | O_CLOEXEC)
        try #require(descriptor >= 0, "the log is open in another process")
        var lock = flock()
        lock.l_type = Int16(F_WRLCK)
        lock.l_whence = Int16(SEEK_SET)
        lock.l_start = Self.offset
        lock.l_len = 1
        let status = unsafe fcntl(descriptor, Self.lockAndWait, &lock)
        try #require(status == 0, "the write lock can be had: error \(errno)")
    }

    deinit { close(descriptor) }
}

/// A small file system in memory, which only root can mount.
final class SmallDisk {
    static let isPossible = getuid() == 0

    private let place: String
    private var filler: String { place + "/filler" }

    init(at place: String, megabytes: Int) throws {
        self.place = place
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try Self.run("mount", "-t", "tmpfs", "-o", "size=\(megabytes)m", "tmpfs", place)
    }

    deinit { try? Self.run("umount", place) }

    /// Takes all the room that is left.
    func fill() throws {
        let descriptor = unsafe Glibc.open(filler, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        let block = [UInt8](repeating: 1, count: 4_096)
        while true {
            let count = unsafe write(descriptor, block, block.count)
            if count <= 0 { return }
        }
    }

    func empty() { _ = unsafe unlink(filler) }

    private static func run(_ words: String...) throws {
        try #require(try ChildProcess.run(words).ending == .exited(0), "\(words)")
    }
}

/// A broker of its own, which is gone when this process is.
final class Broker {
    private static let script =
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().path + "/ops/kafka/broker.sh"

    /// Why no broker can be started here; nil when one can.
    static let obstacle: String? = {
        let finder = script.replacingOccurrences(of: "broker.sh", with: "find.sh")
        guard isThere([finder]) else { return "no Kafka found; set KAFKA_HOME" }
        return isThere(["java", "-version"]) ? nil : "no Java found; Kafka needs 17 or later"
    }()

    /// Obeys lines; when there are no more, as when this process is gone, it stops the broker.
    private static let life = """
        trap '' INT TERM HUP
        "$1" start "$2" --port "$3" && echo did start
        while read -r verb; do "$1" "$verb" "$2" && echo "did $verb"; done
        "$1" stop "$2"; rm -rf "$2"; echo did end
        """

    let bootstrap: String
    private let guardian: ChildProcess
    private let said = Monitor("")

    init() throws {
        let folder = FileManager.default.temporaryDirectory.path + "/adbrake-" + UUID().uuidString
        let port = Int.random(in: 20_000..<32_000)
        bootstrap = "127.0.0.1:\(port)"
        guardian = try ChildProcess(
            ["/bin/sh", "-c", Self.life, "guardian", Self.script, folder, "\(port)"],
            takesInput: true, errors: .nowhere)
        guardian.follow { [said] bytes in
            said.withLock { $0 += String(decoding: bytes, as: UTF8.self) }
        }
        try wait(for: "start")
    }

    /// `pause`, `resume`, `kill`, `restart`.
    func tell(_ verb: String) throws {
        said.withLock { $0 = "" }
        guardian.write("\(verb)\n".utf8)
        try wait(for: verb)
    }

    func close() {
        said.withLock { $0 = "" }
        guardian.closeInput()
        try? wait(for: "end")
        guardian.wait()
    }

    private func wait(for verb: String) throws {
        let isDone = said.wait(milliseconds: Child.patienceMilliseconds) {
            $0.contains("did \(verb)\n") ? true : nil
        }
        try #require(isDone == true, "the broker does \(verb)")
    }

    private static func isThere(_ words: [String]) -> Bool {
        (try? ChildProcess.run(words))?.ending == .exited(0)
    }
}

extension Trait where Self == ConditionTrait {
    /// Leaves a test out where no Kafka can be started.
    static var needsBroker: Self {
        .enabled(Broker.obstacle.map { Comment(rawValue: $0) }) { Broker.obstacle == nil }
    }
}
