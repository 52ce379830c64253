// The file of librdkafka's properties, and which of them are ours, may hold secrets, or concern
// time limits that must agree with each other.

package import EventLog
import Glibc

/// Reads a file of properties: `name=value` a line, `#` begins a comment line.
package enum KafkaProperties {
    /// A file of settings is small; anything larger is the wrong file.
    static let fileBytesMax = 1 << 20

    /// Set by us and by nobody else.
    static let ours: Set<String> = [
        "bootstrap.servers", "metadata.broker.list", "group.id", "group.instance.id",
        "transactional.id", "isolation.level", "enable.auto.commit", "auto.commit.enable",
        "enable.auto.offset.store", "auto.offset.reset", "enable.idempotence", "acks",
        "request.required.acks", "partition.assignment.strategy", "group.protocol",
        "enable.partition.eof", "check.crcs", "plugin.library.paths", "retry.backoff.ms",
        "enable.gapless.guarantee", "max.in.flight.requests.per.connection", "max.in.flight",
    ]

    package static func read(path: String) throws(LogFault) -> [String: String] {
        let text = try contents(of: path)
        return try parse(text, place: path)
    }

    package static func parse(
        _ text: String, place: String
    ) throws(LogFault) -> [String: String] {
        var properties: [String: String] = [:]
        let lines = text.split(omittingEmptySubsequences: false) { $0.isNewline }
        for (index, line) in lines.enumerated() {
            let line = trimmed(line)
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(trimmed(parts[0]))
            // The line itself stays out of the message: it may hold a password.
            guard parts.count == 2, !name.isEmpty else {
                throw LogFault(
                    "read Kafka configuration", at: "\(place):\(index + 1)",
                    reason: "not of the form name=value", remedy: .stop)
            }
            guard properties[name] == nil else {
                throw LogFault(
                    "read Kafka configuration", at: "\(place):\(index + 1)",
                    reason: "\(name) is set twice", remedy: .stop)
            }
            properties[name] = String(trimmed(parts[1]))
        }
        return properties
    }

    /// Whether a value must not appear in any message.
    static func isSecret(_ name: String) -> Bool {
        ["password", "secret", "key", "pem", "token", "oauthbearer", "username", "credential"]
            .contains { name.contains($0) }
    }

    private static func trimmed(_ text: Substring) -> Substring {
        let isBlank = { (character: Character) in character.isWhitespace }
        var text = text.drop(while: isBlank)
        while let last = text.last, isBlank(last) { text.removeLast() }
        return text
    }

    private static func contents(of path: String) throws(LogFault) -> String {
        func fault(_ reason: String) -> LogFault {
            LogFault("read Kafka configuration", at: path, reason: reason, remedy: .stop)
        }
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw fault(unsafe String(cString: strerror(errno))) }
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: fileBytesMax + 1)
        var count = 0
        while count < bytes.count {
            let got = unsafe bytes.withUnsafeMutableBytes { buffer in
                unsafe Glibc.read(
                    file, buffer.baseAddress.map { unsafe $0 + count }, buffer.count - count)
            }
            guard got >= 0 else { throw fault(unsafe String(cString: strerror(errno))) }
            if got == 0 { break }
            count += got
        }
        guard count <= fileBytesMax else { throw fault("larger than \(fileBytesMax) bytes") }
        return String(decoding: bytes[..<count], as: UTF8.self)
    }
}
