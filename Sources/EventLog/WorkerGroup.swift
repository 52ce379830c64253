// Who evaluates what: a group of members, and the partitions they own, give up and receive. A pure
// value; the logs that need it keep it behind their lock.

/// The members of a group and their partitions.
///
/// A partition has one owner at most. It changes hands only after its owner has heard that it is
/// revoked and has asked again, or when the owner is expelled.
package struct WorkerGroup: Sendable {
    /// Names a member; never used twice.
    package struct MemberID: Hashable, Sendable {
        let number: Int
    }

    private struct Member: Sendable {
        let id: MemberID
        let lane: Int
        var owned: Set<Int> = []
        /// Told as revoked, to be given up when the member asks again.
        var leaving: Set<Int> = []
        var target: Set<Int> = []
    }

    package let partitions: Int
    private var members: [Member] = []
    private var joined = 0

    package init(partitions: Int) {
        self.partitions = partitions
    }

    package func isMember(_ id: MemberID) -> Bool {
        members.contains { $0.id == id }
    }

    /// Whether the member owns all partitions that a commit is about.
    package func mayCommit(
        _ id: MemberID, _ outputs: [OutgoingRecord], positions: [TopicPartition: Int64]
    ) -> Bool {
        guard let owned = members.first(where: { $0.id == id })?.owned else { return false }
        return positions.keys.allSatisfy { owned.contains($0.partition) }
            && outputs.allSatisfy { !$0.topic.isPartitioned || owned.contains($0.partition) }
    }

    /// The member in this lane.
    package func member(lane: Int) -> MemberID? {
        members.first { $0.lane == lane }?.id
    }

    /// Adds a member, in place of the one that had its lane.
    package mutating func join(lane: Int) -> MemberID {
        joined += 1
        members.removeAll { $0.lane == lane }
        members.append(Member(id: MemberID(number: joined), lane: lane))
        members.sort { $0.lane < $1.lane }
        spread()
        return MemberID(number: joined)
    }

    /// Removes a member, whether it goes or is thought dead: its partitions are free at once.
    package mutating func remove(_ id: MemberID) {
        members.removeAll { $0.id == id }
        spread()
    }

    /// Removes all members but this one.
    package mutating func removeAll(but id: MemberID) {
        members.removeAll { $0.id != id }
        spread()
    }

    /// Gives partitions to these lanes from now on, until somebody joins or leaves.
    package mutating func assign(_ lanes: [Int: Set<Int>]) {
        for index in members.indices {
            members[index].target = lanes[members[index].lane] ?? []
        }
    }

    /// Whether `nextChange` would return something.
    package func changeWaits(for id: MemberID) -> Bool {
        guard let member = members.first(where: { $0.id == id }) else { return true }
        let staying = member.owned.subtracting(member.leaving)
        return !staying.isSubset(of: member.target) || !free(for: member).isEmpty
    }

    /// Gives up what the member was told to be revoked, then returns the next change for it;
    /// revocations come first.
    package mutating func nextChange(for id: MemberID) -> AssignmentChange? {
        guard let index = members.firstIndex(where: { $0.id == id }) else { return nil }
        members[index].owned.subtract(members[index].leaving)
        members[index].leaving = members[index].owned.subtracting(members[index].target)
        if !members[index].leaving.isEmpty { return .revoked(members[index].leaving.sorted()) }
        let gained = free(for: members[index])
        members[index].owned.formUnion(gained)
        return gained.isEmpty ? nil : .assigned(gained.sorted())
    }

    /// What is meant for the member and owned by nobody.
    private func free(for member: Member) -> Set<Int> {
        members.reduce(member.target) { $0.subtracting($1.owned) }
    }

    /// Each member gets a range, the first ones get one more when it does not come out even.
    private mutating func spread() {
        guard !members.isEmpty else { return }
        let (share, rest) = partitions.quotientAndRemainder(dividingBy: members.count)
        var first = 0
        for index in members.indices {
            let count = share + (index < rest ? 1 : 0)
            members[index].target = Set(first..<(first + count))
            first += count
        }
    }
}
