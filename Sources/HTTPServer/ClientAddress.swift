// Whose request it is: the peer's address, or the one that a trusted proxy tells.
import Glibc

/// Addresses as texts, and the groups that limits go by.
package enum ClientAddress {
    /// More hops than that are no chain of proxies.
    private static let hopsMax = 32

    /// What limits count by: an IPv4 address, or the first half of an IPv6 address, since whoever
    /// has one of those has all that share it. What is no address stands for itself.
    package static func group(_ address: String) -> String {
        let address = unmapped(address)
        guard address.contains(":"), let bytes = ipv6(address) else { return address }
        return bytes[..<8].map { String($0, radix: 16) }.joined(separator: ":") + "/64"
    }

    /// The IPv4 address that an IPv6 address stands for, or the address itself.
    static func unmapped(_ address: String) -> String {
        guard address.contains(":"), let bytes = ipv6(address),
            bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == 0xff, bytes[11] == 0xff
        else { return address }
        return bytes[12...].map(String.init).joined(separator: ".")
    }

    /// The client's address behind proxies that are trusted: the last hop of `X-Forwarded-For`
    /// that is not one of them. What a client has put there itself is before that and never read.
    static func client(
        peer: String, _ headers: Headers, trusted: Set<String>
    ) -> String {
        guard trusted.contains(peer) else { return peer }
        for hop in headers.list("X-Forwarded-For").suffix(hopsMax).reversed() {
            guard isAddress(hop) else { return peer }
            if !trusted.contains(unmapped(hop)) { return hop }
        }
        return peer
    }

    /// Whether it is a numeric address.
    package static func isAddress(_ text: String) -> Bool {
        var space: UInt32 = 0
        // Four bytes are what an IPv4 address takes.
        return unsafe inet_pton(AF_INET, text, &space) == 1 || ipv6(text) != nil
    }

    private static func ipv6(_ text: String) -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 16)
        // Sixteen bytes are what an IPv6 address takes.
        return unsafe inet_pton(AF_INET6, text, &bytes) == 1 ? bytes : nil
    }
}
