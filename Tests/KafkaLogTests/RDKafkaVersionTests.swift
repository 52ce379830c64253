// Which librdkafka these tests run with: that of the system, or another one put in its place.
import CRdKafka
import Foundation
import Testing

@testable import KafkaLog

@Suite("The library of Kafka")
struct RDKafkaVersionTests {
    @Test("is the one that was asked for")
    func askedFor() throws {
        let name = unsafe String(cString: rd_kafka_version_str())
        print("librdkafka \(name)")
        #expect(RDKafkaVersion.current >= RDKafkaVersion(number: 0x0200_02ff))
        #expect(name.hasPrefix("\(RDKafkaVersion.current)"))
        guard let asked = ProcessInfo.processInfo.environment["ADBRAKE_RDKAFKA"] else { return }
        let isLoaded = unsafe dlopen(asked, RTLD_NOW | RTLD_NOLOAD) != nil
        #expect(isLoaded)
        // It is the one that is called: its number is not that of the system's.
        #expect(RDKafkaVersion.current > RDKafkaVersion(number: 0x0200_02ff))
    }

    /// A number of ours stands for a name that the system's header does not have.
    @Test("knows the errors of newer ones by their names")
    func newerErrors() {
        let gone = RDKafkaError(code: RDKafkaError.brokerDestroyed)
        #expect(gone.kind == .retriable)
        let isNewer = RDKafkaVersion.current > RDKafkaVersion(number: 0x0200_02ff)
        #expect(gone.name == (isNewer ? "_DESTROY_BROKER" : "ERR_-137?"))
    }
}
