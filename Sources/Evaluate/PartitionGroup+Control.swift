// What people have decided, taken over by a partition between two epochs.

import BrakeEngine
import BrakeModel
import BrakeWire
import EventLog

extension PartitionGroup {
    /// The controls of a partition under a ledger.
    static func controls(
        of partition: Int, partitions: Int, by ledger: ControlLedger, base: Policy, since: Int64
    ) -> Controls {
        var controls = ledger.controls(base: base) { app in
            Partitioner.partition(of: app.text.utf8, partitions: partitions) == partition
        }
        controls.newFrom = since
        controls.tellsOfFleet = partition == 0
        return controls
    }

    /// The policies in force, as an epoch tells them.
    var policyVersions: [EpochRecord.PolicyVersion] { Self.versions(of: evaluator.policies) }

    static func versions(of policies: [Policy]) -> [EpochRecord.PolicyVersion] {
        policies.map { EpochRecord.PolicyVersion(name: $0.name, version: $0.version) }
    }

    /// From the next record on decides by what a ledger says. Nothing may be open: the epoch that
    /// follows tells the ledger's end, and whoever repeats it takes it over at the same place.
    func adopt(_ ledger: ControlLedger, base: Policy, partitions: Int) {
        let controls = Self.controls(
            of: partition, partitions: partitions, by: ledger, base: base, since: controlEnd)
        evaluator.adopt(controls, into: &decisions)
        if controls.tellsOfFleet {
            for rejected in ledger.rejections where rejected.offset >= controlEnd {
                decisions.notices.append(
                    Notice(
                        kind: .policyRejected, app: nil, clock: max(0, evaluator.clock),
                        text: "The record of control at offset \(rejected.offset) is ignored: "
                            + rejected.reason.prefix(Self.reasonCharactersMax)))
            }
        }
        controlEnd = ledger.end
    }

    /// The most of a reason that a notice repeats.
    private static let reasonCharactersMax = 1_000
}
