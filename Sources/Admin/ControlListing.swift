// What people have decided, as the admin listener tells it.

import BrakeEngine
import BrakeModel
import BrakeWire

extension JSONWriter {
    /// All that holds, each with who, when and why; in order of subject.
    mutating func write(_ ledger: ControlLedger, now: Int64) {
        object { body in
            body.array("overrides") { list in
                let entries = ledger.overrides.sorted {
                    ($0.key?.text ?? "") < ($1.key?.text ?? "")
                }
                for (_, entry) in entries {
                    list.object { item in
                        item.write(entry)
                        item.field("in_force", entry.value.endTick > now)
                    }
                }
            }
            body.array("assignments") { list in
                for (_, entry) in ledger.assignments.sorted(by: { $0.key < $1.key }) {
                    list.object { $0.write(entry) }
                }
            }
            body.array("policies") { list in
                for (name, entry) in ledger.policies.sorted(by: { $0.key < $1.key }) {
                    list.object { item in
                        item.field("name", name)
                        item.field("version", entry.value.policy.version)
                        item.writeAuthor(entry.record, entry.offset)
                    }
                }
            }
            body.array("caps") { list in
                for (_, entry) in ledger.caps.sorted(by: { $0.key < $1.key }) {
                    list.object { $0.write(entry) }
                }
            }
            body.array("ignored") { list in
                for rejected in ledger.rejections {
                    list.object { item in
                        item.field("offset", rejected.offset)
                        item.field("problem", rejected.reason)
                    }
                }
            }
        }
    }

    private mutating func write<Value: Sendable>(_ entry: ControlLedger.Entry<Value>) {
        write(entry.record.content)
        writeAuthor(entry.record, entry.offset)
    }

    private mutating func writeAuthor(_ record: ControlRecord, _ offset: Int64) {
        field("by", record.by)
        field("at", record.at)
        field("reason", record.reason)
        field("offset", offset)
    }

    /// A record of the topic, whether it could be used or not.
    mutating func write(_ entry: ControlEntry) {
        object { item in
            item.field("offset", entry.offset)
            item.field("append", entry.append)
            if let problem = entry.problem { item.field("ignored", problem) }
            guard let record = entry.record else { return }
            item.field("type", record.content.type)
            item.write(record.content)
            item.field("by", record.by)
            item.field("at", record.at)
            item.field("reason", record.reason)
        }
    }
}
