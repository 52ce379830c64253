// Which librdkafka runs: some of its faults are worked around by version.

import CRdKafka

/// The version of the library at run time, `0xMMmmrrpp` as librdkafka counts.
struct RDKafkaVersion: Comparable, CustomStringConvertible {
    let number: Int32

    static let current = RDKafkaVersion(number: rd_kafka_version())
    /// Before it SCRAM repeated its nonce.
    static let soundSCRAM = RDKafkaVersion(number: 0x0206_01ff)
    /// Since then a full queue is looked at again after a time of our choice instead of a second.
    static let queueBackoff = RDKafkaVersion(number: 0x0202_00ff)

    static func < (one: RDKafkaVersion, other: RDKafkaVersion) -> Bool {
        one.number < other.number
    }

    var description: String {
        "\(number >> 24 & 0xff).\(number >> 16 & 0xff).\(number >> 8 & 0xff)"
    }
}
