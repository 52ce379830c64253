// The console: one page without anything from outside, compiled into the program.

import HTTPServer

/// Answers with the page.
enum Console {
    /// In the page, where the nonce of each answer goes.
    private static let mark = Array("{{nonce}}".utf8)

    /// What lies between the marks.
    private static let parts: [[UInt8]] = {
        var parts: [[UInt8]] = []
        var rest = PackageResources.console_html[...]
        while let start = rest.indices.first(where: { rest[$0...].starts(with: mark) }) {
            parts.append(Array(rest[..<start]))
            rest = rest[(start + mark.count)...]
        }
        return parts + [Array(rest)]
    }()

    static func page() -> Response {
        let nonce =
            String(UInt64.random(in: .min ... .max), radix: 36)
            + String(UInt64.random(in: .min ... .max), radix: 36)
        let policy = [
            "default-src 'none'", "script-src 'nonce-\(nonce)'", "style-src 'nonce-\(nonce)'",
            "connect-src 'self'", "img-src data:", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'",
        ]
        return Response(
            200, headers: Headers([("Content-Type", "text/html; charset=utf-8")]),
            body: Array(parts.joined(separator: Array(nonce.utf8)))
        )
        .with("Content-Security-Policy", policy.joined(separator: "; "))
        .with("Cache-Control", "no-store")
        .with("X-Content-Type-Options", "nosniff")
        .with("Referrer-Policy", "no-referrer")
    }
}
