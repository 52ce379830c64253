// How the listeners of stages are reached: TLS, proxies, pages of other sites, limits.

import Glibc
import HTTPServer
import Runtime

/// Options of every listener that the public may reach.
enum ListenerOptions {
    private static let certificate = Option.optional(
        "tls-certificate", "FILE", environment: "ADBRAKE_TLS_CERTIFICATE",
        help: "serve HTTPS with this certificate and its chain, in PEM; with --tls-key")
    private static let key = Option.optional(
        "tls-key", "FILE", environment: "ADBRAKE_TLS_KEY",
        help: "the private key of the certificate, in PEM")
    private static let proxies = Option.list(
        "trusted-proxy", "ADDRESS", environment: "ADBRAKE_TRUSTED_PROXIES",
        help: "believe the X-Forwarded-For of a proxy at this address; may be given again")
    private static let origins = Option.list(
        "cors-origin", "ORIGIN", environment: "ADBRAKE_CORS_ORIGINS",
        help: "let pages of this site use the API, as https://example.com, or * for all; may be "
            + "given again")
    private static let connections = Option.integer(
        "connections", in: 1...100_000, default: 4_096,
        help: "the most open connections beside streams")
    private static let perAddress = Option.integer(
        "connections-per-address", in: 0...100_000, default: 0,
        help: "the most open connections of one address; 0: no limit, as behind a proxy")
    private static let requestTime = Option.milliseconds(
        "request-timeout", in: 1_000...300_000, default: 30_000,
        help: "a request that is not complete so long after its first line is cut off")

    static let options: [any DeclaredOption] = [
        certificate, key, proxies, origins, connections, perAddress, requestTime,
    ]

    private static let pemBytesMax = 1 << 20

    /// The settings as the options say, with files read.
    static func settings(
        _ command: ParsedCommand, _ address: ListenAddress
    ) throws -> HTTPListener.Settings {
        var settings = HTTPListener.Settings(address: address)
        settings.tlsCertificate = try command[certificate].map(pem)
        settings.tlsKey = try command[key].map(pem)
        for proxy in command[proxies] where !ClientAddress.isAddress(proxy) {
            throw Refusal(
                problem: "--trusted-proxy \(proxy): not a numeric address",
                hint: "give the address that its connections come from, as 10.0.0.7.")
        }
        settings.trustedProxies = Set(command[proxies])
        settings.crossOrigin = CrossOrigin(command[origins])
        settings.connectionsMax = command[connections]
        settings.connectionsPerAddressMax = command[perAddress]
        settings.receiveSeconds = (command[requestTime] + 999) / 1_000
        return settings
    }

    private static func pem(_ path: String) throws -> String {
        String(decoding: try InputFile.contents(of: path, bytesMax: pemBytesMax), as: UTF8.self)
    }
}
