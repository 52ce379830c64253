// The document of the fleet: a page of apps with their reasons, and how many are in which state.

import BrakeModel
import BrakeWire

/// One answer about the fleet. Saved to a file, it is what an edge can be started from.
struct FleetDocument {
    var page: FleetPage
    /// Apps of the whole fleet, by the severity of what they are served.
    var counts: [Int]
    var isReady: Bool
    var ageMilliseconds: Int64
    var settings: ServeSettings

    func bytes(now: Int64) -> [UInt8] {
        JSONWriter.bytes(capacity: 1_024 * (page.apps.count + 1)) { body in
            body.object { body in
                body.array("apps") { list in
                    for served in page.apps {
                        AppDocument(served, settings).writeWithReason(into: &list, now: now)
                    }
                }
                body.field("issued_at", now)
                body.object("counts") { list in
                    for state in ThrottleState.allCases {
                        list.field(foreign: state.name, counts[state.severity])
                    }
                }
                body.field("ready", isReady)
                body.field("age_ms", ageMilliseconds)
                body.field("next", page.next?.text)
            }
        }
    }

    /// As that of an app, equal on all replicas. A reason changes only with the record it is of.
    var entityTag: EntityTag {
        var hash: UInt64 = isReady ? 1 : 0
        for served in page.apps {
            let record = UInt64(bitPattern: served.entry?.epoch ?? -1)
            hash = StableHash.combine(hash, AppDocument(served, settings).contentHash)
            hash = StableHash.combine(hash, record)
            // A record of stress is told of by its clock.
            hash = StableHash.combine(hash, UInt64(bitPattern: served.stress?.clock ?? -1))
        }
        for count in counts { hash = StableHash.combine(hash, UInt64(count)) }
        return EntityTag(StableHash.combine(hash, StableHash.of(page.next?.text ?? "")))
    }
}
