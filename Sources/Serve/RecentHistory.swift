// What happened lately, for people: the last changes and the last notices, bounded.

import BrakeModel
import BrakeWire
import Synchronization

/// The newest changes and notices. Any thread.
final class RecentHistory: Sendable {
    static let entriesMax = 200

    private struct State {
        /// Oldest first.
        var changes: [AppliedChange] = []
        var notices: [Notice] = []
    }

    // Held for appending to or copying two short arrays.
    private let state = Mutex(State())

    init() {}

    /// Oldest first.
    func add(_ changes: [AppliedChange]) {
        state.withLock { state in
            state.changes.append(contentsOf: changes.suffix(Self.entriesMax))
            state.changes.removeFirst(max(0, state.changes.count - Self.entriesMax))
        }
    }

    func add(_ notices: [Notice]) {
        state.withLock { state in
            state.notices.append(contentsOf: notices.suffix(Self.entriesMax))
            state.notices.removeFirst(max(0, state.notices.count - Self.entriesMax))
        }
    }

    /// Begins anew with what the table tells: the last change of each app. O(apps log apps).
    func replaceChanges(by image: TableImage) {
        let entries = image.shards.flatMap(\.entries).sorted {
            ($0.change.since, $0.change.app) < ($1.change.since, $1.change.app)
        }
        let changes = entries.suffix(Self.entriesMax).map { entry in
            AppliedChange(
                app: entry.change.app, entry: entry, before: nil, partition: 0, offset: 0,
                append: entry.change.since)
        }
        state.withLock { $0.changes = changes }
    }

    func forgetNotices() { state.withLock { $0.notices = [] } }

    /// Newest first.
    func changes(limit: Int) -> [AppliedChange] {
        state.withLock { Array($0.changes.suffix(limit).reversed()) }
    }

    /// Newest first.
    func notices(limit: Int) -> [Notice] {
        state.withLock { Array($0.notices.suffix(limit).reversed()) }
    }
}

extension JSONWriter {
    mutating func write(_ notice: Notice) {
        object { record in
            record.field("kind", notice.kind.name)
            record.field("app", notice.app?.text)
            record.field("clock", notice.clock)
            record.field("text", notice.text)
        }
    }

    /// A change with what it replaced.
    mutating func write(_ change: AppliedChange) {
        object { record in
            let now = change.entry?.change
            record.field("app", change.app.text)
            record.field("from", change.before?.change.state.name)
            record.field("state", (now?.state ?? ServedState.fallback).name)
            record.field("severity", (now?.state ?? ServedState.fallback).severity)
            record.field("since", now?.since ?? change.append)
            record.field("revision", now?.revision ?? 0)
            record.field("cause", now?.cause.name ?? "deleted")
            if let now, let override = now.override {
                record.object("override") { $0.write(override, over: now.computed) }
            }
            record.field("policy", now?.policy)
            record.key("why")
            if let why = now?.why { record.object { $0.write(why) } } else { record.null() }
        }
    }
}
