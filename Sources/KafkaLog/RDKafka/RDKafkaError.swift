// The one classifier of librdkafka's errors: what kind a code is, what a caller has to do about it,
// and what an operator can do.

import CRdKafka
import EventLog

/// An error of librdkafka, copied out of its memory.
struct RDKafkaError: Error, Sendable {
    /// What has to happen next; everything that handles errors asks this and nothing else.
    enum Kind: Sendable, Equatable {
        /// The same call may succeed later.
        case retriable
        /// The open transaction must be aborted; then all of it may be sent again.
        case abortable
        /// The client is of no use any more: a new one is needed.
        case fatal
        /// Another member has taken our place in the group.
        case fenced
        /// The group has given us up; who has our partitions now, it decides anew.
        case lost
        /// A right is missing or credentials are wrong.
        case authorization
        /// No repetition helps.
        case permanent
    }

    /// `_DESTROY_BROKER` of newer libraries, which Debian's header has not: a question was on its
    /// way to a broker of which the client has just let go, as the cluster's list had lost it.
    static let brokerDestroyed = rd_kafka_resp_err_t(-137)

    /// A record of which librdkafka says that it is written, but not where. When a batch fails and
    /// the next one of its partition is taken, it concludes that the failed one is there, too. A
    /// broker, however, takes any batch for the first of a producer that it does not know in a
    /// partition, as it does when it has refused the first one (KAFKA-15591). Whatever
    /// the cause, client and broker may disagree on what is written: a new producer is needed.
    static let unproven = RDKafkaError(
        code: RD_KAFKA_RESP_ERR_DUPLICATE_SEQUENCE_NUMBER,
        text: "a record has no offset though it is said to be written: it may be missing",
        kind: .fatal)

    let code: rd_kafka_resp_err_t
    let text: String
    let kind: Kind

    init(code: rd_kafka_resp_err_t, text: String? = nil, kind: Kind? = nil) {
        self.code = code
        self.text = unsafe text ?? String(cString: rd_kafka_err2str(code))
        self.kind = kind ?? RDKafkaError.kind(of: code)
    }

    /// Takes over and frees an error object; nil stands for success.
    @unsafe
    init?(taking error: OpaquePointer?) {
        guard let error = unsafe error else { return nil }
        let code = unsafe rd_kafka_error_code(error)
        let byCode = RDKafkaError.kind(of: code)
        // The group and missing rights decide before the flags: a transaction aborted because
        // another member has our partitions must not be sent again.
        let kind: Kind =
            if byCode == .fenced || byCode == .lost || byCode == .authorization {
                byCode
            } else if unsafe rd_kafka_error_is_fatal(error) != 0 {
                .fatal
            } else if unsafe rd_kafka_error_txn_requires_abort(error) != 0 {
                .abortable
            } else if unsafe rd_kafka_error_is_retriable(error) != 0 {
                .retriable
            } else {
                byCode
            }
        unsafe self.init(
            code: code, text: String(cString: rd_kafka_error_string(error)), kind: kind)
        unsafe rd_kafka_error_destroy(error)
    }

    /// The error of the last call on this thread that only said that it failed.
    static func last() -> RDKafkaError { RDKafkaError(code: rd_kafka_last_error()) }

    static func check(_ code: rd_kafka_resp_err_t) throws(RDKafkaError) {
        guard code == RD_KAFKA_RESP_ERR_NO_ERROR else { throw RDKafkaError(code: code) }
    }

    /// `_FENCED` is not among the fenced ones: librdkafka also says it of a producer whose
    /// transaction has only timed out. Whether another process took over is for the group to say.
    static func kind(of code: rd_kafka_resp_err_t) -> Kind {
        switch code {
        case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
            .fenced
        case RD_KAFKA_RESP_ERR_ILLEGAL_GENERATION, RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID,
            RD_KAFKA_RESP_ERR__ASSIGNMENT_LOST:
            .lost
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
            RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, RD_KAFKA_RESP_ERR__AUTHENTICATION,
            RD_KAFKA_RESP_ERR_UNSUPPORTED_SASL_MECHANISM:
            .authorization
        case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__RESOLVE,
            RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, RD_KAFKA_RESP_ERR__TIMED_OUT,
            RD_KAFKA_RESP_ERR__TIMED_OUT_QUEUE, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
            RD_KAFKA_RESP_ERR__QUEUE_FULL, RD_KAFKA_RESP_ERR__WAIT_COORD,
            RD_KAFKA_RESP_ERR__WAIT_CACHE, RD_KAFKA_RESP_ERR__IN_PROGRESS,
            RD_KAFKA_RESP_ERR__PREV_IN_PROGRESS, RD_KAFKA_RESP_ERR__RETRY,
            RD_KAFKA_RESP_ERR__INTR, RD_KAFKA_RESP_ERR__PURGE_QUEUE,
            RD_KAFKA_RESP_ERR__PURGE_INFLIGHT, RD_KAFKA_RESP_ERR__NODE_UPDATE,
            RD_KAFKA_RESP_ERR__ISR_INSUFF, brokerDestroyed:
            .retriable
        case RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION,
            RD_KAFKA_RESP_ERR_REQUEST_TIMED_OUT, RD_KAFKA_RESP_ERR_BROKER_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_REPLICA_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NETWORK_EXCEPTION,
            RD_KAFKA_RESP_ERR_COORDINATOR_LOAD_IN_PROGRESS,
            RD_KAFKA_RESP_ERR_COORDINATOR_NOT_AVAILABLE, RD_KAFKA_RESP_ERR_NOT_COORDINATOR,
            RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS,
            RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            RD_KAFKA_RESP_ERR_REBALANCE_IN_PROGRESS, RD_KAFKA_RESP_ERR_NOT_CONTROLLER,
            RD_KAFKA_RESP_ERR_CONCURRENT_TRANSACTIONS, RD_KAFKA_RESP_ERR_KAFKA_STORAGE_ERROR,
            RD_KAFKA_RESP_ERR_UNSTABLE_OFFSET_COMMIT, RD_KAFKA_RESP_ERR_OFFSET_NOT_AVAILABLE,
            RD_KAFKA_RESP_ERR_FENCED_LEADER_EPOCH, RD_KAFKA_RESP_ERR_UNKNOWN_LEADER_EPOCH,
            RD_KAFKA_RESP_ERR_THROTTLING_QUOTA_EXCEEDED, RD_KAFKA_RESP_ERR_UNKNOWN_PRODUCER_ID,
            RD_KAFKA_RESP_ERR_PREFERRED_LEADER_NOT_AVAILABLE:
            .retriable
        case RD_KAFKA_RESP_ERR__FATAL, RD_KAFKA_RESP_ERR__FENCED,
            RD_KAFKA_RESP_ERR_PRODUCER_FENCED, RD_KAFKA_RESP_ERR_INVALID_PRODUCER_EPOCH,
            RD_KAFKA_RESP_ERR_INVALID_PRODUCER_ID_MAPPING, RD_KAFKA_RESP_ERR_INVALID_TXN_STATE,
            RD_KAFKA_RESP_ERR_OUT_OF_ORDER_SEQUENCE_NUMBER, RD_KAFKA_RESP_ERR__STATE,
            RD_KAFKA_RESP_ERR__CONFLICT, RD_KAFKA_RESP_ERR__INCONSISTENT,
            RD_KAFKA_RESP_ERR__GAPLESS_GUARANTEE,
            RD_KAFKA_RESP_ERR_TRANSACTION_COORDINATOR_FENCED:
            .fatal
        default:
            .permanent
        }
    }

    /// Whether somebody, the client itself or a broker, does not know the topic or the partition.
    var isUnknownPlace: Bool {
        switch code {
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
            RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
            true
        default: false
        }
    }

    /// `_TRANSPORT`, `TOPIC_AUTHORIZATION_FAILED`, ...: what operators search for.
    var name: String { unsafe String(cString: rd_kafka_err2name(code)) }

    /// As a fault of the log. `trouble` is the last the connections had to say, with the broker.
    func fault(
        _ operation: String, at place: String, trouble: String? = nil
    ) -> LogFault {
        let remedy: LogFault.Remedy =
            switch kind {
            case .retriable, .abortable, .fatal: .retry
            case .fenced: .fenced
            case .lost: .rejoin
            case .authorization: .refused
            case .permanent: .stop
            }
        var reason = "\(text) [\(name)]"
        if let trouble, kind == .retriable || kind == .authorization {
            reason += "; last trouble: \(trouble)"
        }
        return LogFault(
            operation, at: place, reason: reason, hint: hint(for: operation), remedy: remedy)
    }

    private func hint(for operation: String) -> String? {
        switch code {
        case RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED:
            "grant this principal \(RDKafkaError.right(to: operation)) on the topic"
        case RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED:
            "grant this principal Read on the group"
        case RD_KAFKA_RESP_ERR_TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            "grant this principal Write on the transactional id"
        case RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED:
            operation == "append"
                ? "grant this principal Write on the topic; brokers before 2.8 also ask for "
                    + "IdempotentWrite on the cluster"
                : "grant this principal \(RDKafkaError.right(to: operation)) on the cluster"
        case RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, RD_KAFKA_RESP_ERR__AUTHENTICATION:
            "check the credentials in the file given with --kafka-config"
        case RD_KAFKA_RESP_ERR_FENCED_INSTANCE_ID:
            "another process runs under the same instance name: give each its own"
        case RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART, RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC,
            RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION:
            "adbrake topics create makes what is missing"
        case RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE:
            "raise the topic's max.message.bytes; adbrake topics check tells by how much"
        case RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN,
            RD_KAFKA_RESP_ERR__RESOLVE, RD_KAFKA_RESP_ERR__MSG_TIMED_OUT,
            RD_KAFKA_RESP_ERR__TIMED_OUT:
            "check that the brokers run and can be reached from here"
        default:
            nil
        }
    }

    /// Kafka's name of the right that an operation on a topic takes.
    private static func right(to operation: String) -> String {
        switch operation {
        case "describe topics", "ask for bounds": "Describe"
        case "describe settings": "DescribeConfigs"
        case "create topic": "Create"
        case "append", "write": "Write"
        case _ where operation.hasPrefix("commit"): "Write (on inputs Read)"
        default: "Read"
        }
    }
}
