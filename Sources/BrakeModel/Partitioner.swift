// Which partition an app belongs to: the same answer as the Java client's default partitioner.

/// Apache Kafka's murmur2 partitioner (librdkafka's `murmur2_random`), so that producers in any
/// language put an app where the evaluator looks for it.
public enum Partitioner {
    /// The partition of a key, 0 ..< partitions. O(length).
    public static func partition(of key: some Collection<UInt8>, partitions: Int) -> Int {
        precondition(partitions > 0, "a topic has at least one partition")
        return Int(murmur2(key) & 0x7fff_ffff) % partitions
    }

    /// MurmurHash2 (Austin Appleby, public domain) with the seed that Kafka uses.
    static func murmur2(_ key: some Collection<UInt8>) -> UInt32 {
        let multiplier: UInt32 = 0x5bd1_e995
        var hash: UInt32 = 0x9747_b28c ^ UInt32(truncatingIfNeeded: key.count)
        var word: UInt32 = 0
        var filled: UInt32 = 0
        for byte in key {
            word |= UInt32(byte) << (8 * filled)
            filled += 1
            guard filled == 4 else { continue }
            word = word &* multiplier
            word ^= word >> 24
            hash = hash &* multiplier ^ (word &* multiplier)
            word = 0
            filled = 0
        }
        if filled > 0 { hash = (hash ^ word) &* multiplier }
        hash ^= hash >> 13
        hash = hash &* multiplier
        return hash ^ (hash >> 15)
    }
}
