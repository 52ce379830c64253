// librdkafka's list of partitions with offsets, freed where its scope ends. Never leaves its
// thread.

import CRdKafka
import Glibc

/// A list of partitions, each with an offset and, if committed, a note.
@safe
struct RDKafkaPartitionList: ~Copyable {
    /// What one element says, copied out.
    struct Element {
        var topic: String
        var partition: Int32
        var offset: Int64
        var note: String?
        var code: rd_kafka_resp_err_t
    }

    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(capacity: Int) {
        unsafe pointer = rd_kafka_topic_partition_list_new(Int32(clamping: capacity))
    }

    deinit { unsafe rd_kafka_topic_partition_list_destroy(pointer) }

    /// The note lives with librdkafka's allocator, which is malloc's: it frees it with the list.
    func add(_ topic: String, _ partition: Int, offset: Int64, note: String? = nil) {
        let element = unsafe rd_kafka_topic_partition_list_add(pointer, topic, Int32(partition))
        guard let element = unsafe element else { return }
        unsafe element.pointee.offset = offset
        if let note {
            unsafe element.pointee.metadata = UnsafeMutableRawPointer(strdup(note))
            unsafe element.pointee.metadata_size = note.utf8.count
        }
    }

    var elements: [Element] { unsafe RDKafkaPartitionList.elements(of: pointer) }

    /// Copies a list that librdkafka lends, as in a rebalance.
    @unsafe
    static func elements(
        of list: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>
    ) -> [Element] {
        unsafe (0..<Int(list.pointee.cnt)).map { index in
            let raw = unsafe list.pointee.elems[index]
            let note = unsafe raw.metadata.map {
                unsafe String(
                    decoding: UnsafeRawBufferPointer(start: $0, count: raw.metadata_size),
                    as: UTF8.self)
            }
            return unsafe Element(
                topic: String(cString: raw.topic), partition: raw.partition,
                offset: raw.offset, note: note, code: raw.err)
        }
    }
}
