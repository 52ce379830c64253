// The log's wish that waits end, seen by all its readers and workers.

import Synchronization

/// Raised once, for ever.
final class Interruption: Sendable {
    private let raised = Atomic<Bool>(false)

    var isRaised: Bool { raised.load(ordering: .acquiring) }

    func raise() { raised.store(true, ordering: .releasing) }
}
