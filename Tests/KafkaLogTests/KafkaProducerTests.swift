// The producer library on a real broker.
import AdBrakeProducer
import BrakeModel
import EventLog
import KafkaTestSupport
import Testing

@testable import KafkaLog

extension KafkaTests {
    @Suite("A producer on Kafka")
    struct ProducerTests {
        @Test("puts all events of an app into its partition of each topic", .needsKafka)
        func places() async throws {
            try await withKafka { log, settings in
                let producer = try Producer(
                    to: .kafka(bootstrap: settings.bootstrap, prefix: settings.prefix))
                var deliveries: [Delivery] = []
                for number in 0..<40 {
                    let app = try #require(AppID("app-\(number)"))
                    let context = ReportContext(app: app, id: "e-\(number)", session: "s")
                    deliveries.append(try producer.send(.session(SessionReport(context))))
                    deliveries.append(try producer.send(.crash(CrashReport(context))))
                }
                #expect(producer.flush(timeoutMilliseconds: 60_000))
                for delivery in deliveries {
                    #expect(delivery.result == .success(Delivery.Receipt()))
                }
                producer.close()
                for partition in 0..<log.partitions {
                    for topic in [Topic.session, .crash] {
                        let values = try log.readAll(topic, partition).compactMap { $0 }
                        let homes = (0..<40).filter {
                            let key = Array("app-\($0)".utf8)
                            return Partitioner.partition(of: key, partitions: log.partitions)
                                == partition
                        }
                        #expect(values.count == homes.count)
                        for number in homes {
                            #expect(values.contains { $0.contains("\"app\":\"app-\(number)\"") })
                        }
                    }
                }
            }
        }

        @Test("says what the brokers lack, before anything is sent", .needsKafka)
        func missingTopics() async throws {
            try await withBroker {
                let bootstrap = try KafkaSettings.fresh().bootstrap
                do {
                    _ = try Producer(to: .kafka(bootstrap: bootstrap, prefix: "nothing-here-"))
                    Issue.record("there are no such topics")
                } catch ProducerFault.log(let reason, let isPassing) {
                    #expect(!isPassing && reason.contains("adbrake topics create"))
                }
            }
        }
    }
}
