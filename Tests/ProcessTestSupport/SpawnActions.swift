// What is done between a child's beginning and its program's: `posix_spawn`'s list of that.
import Glibc

/// The streams of a child to be started, and its start.
@safe
final class SpawnActions {
    private var actions = unsafe posix_spawn_file_actions_t()
    /// Kept until the child has them.
    private var theirs: [Descriptor] = []

    init() { unsafe posix_spawn_file_actions_init(&actions) }

    deinit { unsafe posix_spawn_file_actions_destroy(&actions) }

    /// Gives the child something to read: our end of it, or nothing at all.
    func setInput(isOurs: Bool) throws -> Descriptor? {
        if isOurs { return try connect(0) }
        unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        return nil
    }

    /// Sends what the child prints somewhere; returns our end if that is us.
    func setOutput(_ stream: Int32, to sink: ChildProcess.Sink) throws -> Descriptor? {
        switch sink {
        case .tests: break
        case .output: unsafe posix_spawn_file_actions_adddup2(&actions, 1, stream)
        case .file(let path):
            unsafe posix_spawn_file_actions_addopen(
                &actions, stream, path, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        case .us: return try connect(stream)
        }
        return nil
    }

    private func connect(_ stream: Int32) throws -> Descriptor {
        let pair = try Descriptor.pair()
        theirs.append(pair.theirs)
        unsafe posix_spawn_file_actions_adddup2(&actions, pair.theirs.number, stream)
        return pair.ours
    }

    func spawn(
        _ words: [String], _ environment: [String], hasOwnGroup: Bool
    ) throws -> pid_t {
        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        // Threads of tests may block all signals, and a child takes over what is blocked.
        var none = sigset_t()
        unsafe sigemptyset(&none)
        unsafe posix_spawnattr_setsigmask(&attributes, &none)
        let flags = POSIX_SPAWN_SETSIGMASK | (hasOwnGroup ? POSIX_SPAWN_SETPGROUP : 0)
        unsafe posix_spawnattr_setflags(&attributes, Int16(flags))
        // All pointers here live through the call, which copies what it needs.
        let arguments = unsafe words.map { unsafe strdup($0) }
        let variables = unsafe environment.map { unsafe strdup($0) }
        defer { unsafe (arguments + variables).forEach { unsafe free($0) } }
        var pid: pid_t = 0
        let status = unsafe posix_spawnp(
            &pid, words[0], &actions, &attributes, arguments + [nil], variables + [nil])
        theirs = []
        guard status == 0 else { throw ChildProcess.NotStarted(words: words, code: status) }
        return pid
    }
}
