// The admin listener as `run` and `serve` start it.

import Admin
import BrakeEngine
import Evaluate
import EventLog
import HTTPServer
import Runtime

/// Options of the second listener, on which people decide; off unless an address is given.
enum AdminOptions {
    private static let listen = Option.optional(
        "admin-listen", "HOST:PORT", environment: "ADBRAKE_ADMIN_LISTEN",
        help: "where people decide: overrides, policies, caps; off unless given. Anywhere but on "
            + "loopback it needs TLS")
    private static let tokens = Option.optional(
        "admin-tokens", "FILE", environment: "ADBRAKE_ADMIN_TOKENS",
        help: "who may: lines `TOKEN NAME read|write`; read again at SIGHUP")
    private static let certificate = Option.optional(
        "admin-tls-certificate", "FILE", help: "the listener's certificate chain, PEM")
    private static let key = Option.optional(
        "admin-tls-key", "FILE", help: "the key of the certificate, PEM")

    static let options: [any DeclaredOption] = [listen, tokens, certificate, key]

    private static let tokensBytesMax = 1 << 20
    private static let pemBytesMax = 1 << 20
    /// A dry run that takes longer answers with what it has seen.
    private static let rehearsalMilliseconds: Int64 = 60_000

    /// What the options say, checked before anything is opened or made.
    struct Plan {
        var settings: HTTPListener.Settings
        var tokensPath: String
        var tokens: AdminTokens
    }

    static func plan(_ command: ParsedCommand) throws -> Plan? {
        guard let text = command[listen] else { return nil }
        guard let address = ListenAddress(text) else {
            throw Refusal(
                problem: "--admin-listen \(text): expected HOST:PORT",
                hint: "give an address as 127.0.0.1:8090 or [::1]:8090.")
        }
        guard let path = command[tokens] else {
            throw Refusal(
                problem: "--admin-listen without --admin-tokens would be open to everyone",
                hint: "give a file of lines `TOKEN NAME read|write`; "
                    + "`openssl rand -hex 24` makes a token.")
        }
        var settings = HTTPListener.Settings(address: address)
        settings.connectionsMax = 64
        switch (command[certificate], command[key]) {
        case (let certificate?, let key?):
            settings.tlsCertificate = try pem(certificate)
            settings.tlsKey = try pem(key)
        case (nil, nil):
            guard address.isLoopback else {
                throw Refusal(
                    problem: "--admin-listen \(address): tokens would cross the network in clear",
                    hint:
                        "give --admin-tls-certificate and --admin-tls-key, or listen on 127.0.0.1.")
            }
        default:
            throw Refusal(
                problem: "--admin-tls-certificate and --admin-tls-key belong together",
                hint: "give both, or on loopback none.")
        }
        return Plan(settings: settings, tokensPath: path, tokens: try read(path))
    }

    /// The listener, from now on. `base` is the policy of apps that are not assigned another.
    static func service(
        _ plan: Plan, _ command: ParsedCommand, base: Policy, process: StageProcess
    ) throws -> Service {
        let current = Monitor(plan.tokens)
        let logger = process.logger.named("admin")
        process.onReload {
            do {
                let fresh = try read(plan.tokensPath)
                current.withLock { $0 = fresh }
                logger.info("tokens read again", ["tokens": LogValue(fresh.count)])
            } catch {
                logger.error("tokens kept as they were", ["reason": .text("\(error)")])
            }
        }
        let log = process.log
        let limits = EvaluateSettings.limits(
            appsMax: EvaluateOptions.appsMaxDefault, partitions: log.partitions)
        let rehearsal = Rehearsal(log: log, base: base, limits: limits, logger: logger)
        let desk = AdminDesk(
            log: log, tokens: { current.read { $0 } },
            rehearse: { now, then in
                let begun = SystemClock.monotonicMilliseconds()
                return try rehearsal.run(now: now, then: then) {
                    SystemClock.monotonicMilliseconds() - begun > rehearsalMilliseconds
                }.bytes
            }, logger: logger, metrics: process.metrics,
            wallMilliseconds: { SystemClock.wallMilliseconds() })
        return try process.listener(
            plan.settings, desk.routes, threads: .perConnection, name: "admin")
    }

    private static func pem(_ path: String) throws -> String {
        String(decoding: try InputFile.contents(of: path, bytesMax: pemBytesMax), as: UTF8.self)
    }

    private static func read(_ path: String) throws -> AdminTokens {
        let bytes = try InputFile.contents(of: path, bytesMax: tokensBytesMax)
        do {
            return try AdminTokens(String(decoding: bytes, as: UTF8.self))
        } catch {
            throw Refusal(problem: "\(path), \(error)", hint: "nothing of the file was used.")
        }
    }
}
