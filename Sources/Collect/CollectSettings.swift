// What an operator can choose about the collector, and its limits.

/// The limits of a collector. Memory is bounded by them, whatever comes in.
package struct CollectSettings: Sendable {
    /// Events a second that a key may bring, where its line does not say otherwise; 0: no limit.
    package var keyRate = 0
    /// Events a second from one address; 0: no limit.
    package var addressRate = 0
    /// Uploads that wait for the log at once; more are refused.
    package var waitingUploadsMax = 512
    /// Their bytes.
    package var waitingBytesMax = 64 << 20
    /// How long an answered upload is remembered by its `Idempotency-Key`.
    package var repeatHorizonMilliseconds: Int64 = 3_600_000
    /// How many are remembered.
    package var repeatsMax = 50_000
    /// The bytes of their answers and keys.
    package var repeatBytesMax = 32 << 20
    /// How long a repeat waits for the answer to the first.
    package var repeatWaitMilliseconds = 20_000

    package init() {}
}
