// Values as people type them: times and addresses.

/// Times as `500ms`, `10s`, `15m`, `24h`, `7d`.
package enum DurationText {
    private static let units: [(name: String, milliseconds: Int)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// The time in ms; nil when it is none or too long to count.
    package static func milliseconds(_ text: String) -> Int? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard let count = Int(digits), let known = units.first(where: { $0.name == unit }) else {
            return text == "0" ? 0 : nil
        }
        let (product, isOver) = count.multipliedReportingOverflow(by: known.milliseconds)
        return isOver ? nil : product
    }

    /// The shortest exact text.
    package static func text(_ milliseconds: Int) -> String {
        guard milliseconds > 0 else { return milliseconds == 0 ? "0" : "\(milliseconds)ms" }
        // One unit always divides: ms.
        let unit = units.last { milliseconds % $0.milliseconds == 0 } ?? units[0]
        return "\(milliseconds / unit.milliseconds)\(unit.name)"
    }
}

/// Where a server listens.
package struct ListenAddress: Sendable, Equatable, CustomStringConvertible {
    /// A numeric IPv4 or IPv6 address, without brackets.
    package var host: String
    /// 0: any free port.
    package var port: UInt16

    package init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// `127.0.0.1:8080`, `[::1]:8080`, `localhost:8080`, `*:8080` (all addresses).
    package init?(_ text: String) {
        guard let colon = text.lastIndex(of: ":"),
            let port = UInt16(text[text.index(after: colon)...])
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("[") && host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
            guard host.contains(":") else { return nil }
        } else if host.contains(":") {
            return nil
        }
        switch host {
        case "localhost": self.init(host: "127.0.0.1", port: port)
        case "*": self.init(host: "0.0.0.0", port: port)
        case "": return nil
        default: self.init(host: String(host), port: port)
        }
    }

    /// Whether only programs of this machine can reach it.
    package var isLoopback: Bool { host == "::1" || host.hasPrefix("127.") }

    package var description: String {
        host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)"
    }
}
