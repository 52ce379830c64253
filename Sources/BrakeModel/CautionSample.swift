// Which people see fewer ads while an app is in Caution: the same half on every device, server
// and release. Never change it: people would move from one half to the other.

/// A salted, stable sample of people. The hash is the one that Kafka's clients use for keys, so
/// that an app in any language can compute it; `schemas/caution-sample.json` has vectors for it.
public enum CautionSample {
    /// Buckets are 0 ..< 10 000.
    public static let buckets = 10_000
    /// People in buckets below it see ads between screens in Caution: half of them.
    public static let allowedBuckets = 5_000

    /// The bucket of a person, known by an opaque id, under a salt without a colon. O(length).
    public static func bucket(of person: some StringProtocol, salt: some StringProtocol) -> Int {
        var bytes = Array(salt.utf8)
        bytes.append(UInt8(ascii: ":"))
        bytes.append(contentsOf: person.utf8)
        return Partitioner.partition(of: bytes, partitions: buckets)
    }

    /// Whether a person sees ads between screens while the app is in Caution. The salt is the app,
    /// so that it is not the same people whom every app spares.
    public static func allows(_ person: some StringProtocol, in app: AppID) -> Bool {
        bucket(of: person, salt: app.text) < allowedBuckets
    }
}
