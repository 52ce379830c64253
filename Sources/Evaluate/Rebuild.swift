// What an operator asks for who does not trust the snapshots: every partition from the topics.

import Synchronization

/// The partitions that are to be made anew from their epochs and inputs, whatever snapshots there
/// are: each once in the life of a process, when the process has it for the first time.
package final class Rebuild: Sendable {
    private let done = Mutex<Set<Int>>([])

    package init() {}

    func isDue(_ partition: Int) -> Bool { done.withLock { !$0.contains(partition) } }

    func note(done partition: Int) { done.withLock { _ = $0.insert(partition) } }
}
