// The table that the follower keeps and the HTTP threads read.

import BrakeModel
package import HTTPServer
import Synchronization

/// Holds the newest image. The follower publishes, any thread reads.
package final class ThrottleTable: Sendable {
    // Held for the copy of a reference, nothing more.
    private let newest: Mutex<TableImage>
    /// Passes when apps are told otherwise.
    package let version = AnswersVersion()
    // Held while a table of another source is published and told of: seldom, and for long.
    private let takeover = Mutex(())

    package init(partitions: Int, startedAt: Int64) {
        let shards = [TableShard](repeating: TableShard(), count: partitions)
        newest = Mutex(
            TableImage(
                shards: shards, caps: CapTable(), source: .nothing, position: .zero(partitions),
                startedAt: startedAt))
    }

    package var image: TableImage { newest.withLock { $0 } }

    func publish(_ image: TableImage) { newest.withLock { $0 = image } }

    /// Runs the body while no other source of states takes over.
    func takingOver<Result>(_ body: () -> Result) -> Result { takeover.withLock { _ in body() } }
}
