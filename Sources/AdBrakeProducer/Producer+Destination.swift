// Where a producer sends to: the logs that the stages know.

internal import EventLog
internal import KafkaLog
internal import SQLiteLog

/// A log of AdBrake.
public enum Destination: Sendable, Equatable {
    /// The file that `adbrake run` keeps on the same machine; made when it is not there.
    case sqlite(path: String)
    /// The brokers of a Kafka, as `host:port,host:port`; librdkafka's properties (TLS, SASL and the
    /// rest) and what the names of the topics begin with. A record that the brokers have not taken
    /// after `deliveryMilliseconds` has failed.
    case kafka(
        bootstrap: String, properties: [String: String] = [:], prefix: String = "adbrake-",
        deliveryMilliseconds: Int = 30_000)
}

extension Producer {
    /// A producer on a log. Waits up to a minute for brokers that cannot be reached, and refuses
    /// topics that are not as they must be.
    ///
    /// It needs the rights of a collector: to describe all topics, and to write to the four inputs.
    public convenience init(
        to destination: Destination, settings: ProducerSettings = ProducerSettings()
    ) throws(ProducerFault) {
        let log: any EventLog
        do throws(LogFault) {
            switch destination {
            case .sqlite(let path): log = try SQLiteLog(path: path)
            case .kafka(let bootstrap, let properties, let prefix, let deliveryMilliseconds):
                var kafka = KafkaSettings(bootstrap: bootstrap)
                kafka.properties = properties
                kafka.prefix = prefix
                kafka.appendTimeoutMilliseconds = deliveryMilliseconds
                log = try KafkaLog(kafka)
            }
        } catch {
            throw ProducerFault(error)
        }
        self.init(log, settings: settings)
    }
}
