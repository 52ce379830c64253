// Records whose keys and values are texts.
package import EventLog

extension OutgoingRecord {
    package init(_ topic: Topic, _ partition: Int, key: String? = "app", _ value: String?) {
        self.init(
            topic, partition: partition, key: key.map { Array($0.utf8) },
            value: value.map { Array($0.utf8) })
    }
}
