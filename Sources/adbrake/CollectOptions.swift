// The collector as `run` and `collect` start it.

import Collect
import HTTPServer
import Runtime

/// Options of the collector, and how it is made of them.
enum CollectOptions {
    private static let keys = Option.optional(
        "keys", "FILE", environment: "ADBRAKE_KEYS",
        help: "app keys: lines `KEY APP,APP` or `KEY *`, then rate=N and project=N:APP if wanted; "
            + "read again when it changes. Without a file everyone who can connect may report, so "
            + "only loopback is allowed")
    private static let keyRate = Option.integer(
        "key-rate", in: 0...CollectorKeys.rateMax, default: 0,
        help: "events a second that a key may bring, ten seconds' worth at once; 0: no limit")
    private static let addressRate = Option.integer(
        "address-rate", in: 0...CollectorKeys.rateMax, default: 0,
        help: "events a second from one address, likewise; behind a proxy with --trusted-proxy")

    static let options: [any DeclaredOption] = [keys, keyRate, addressRate]

    private static let keysBytesMax = 4 << 20
    private static let lookMilliseconds = 2_000

    /// Who may report, as the options say.
    enum Gate {
        /// Everyone who can connect.
        case open
        /// Who has a key of this file, which has been read once.
        case keys(path: String, CollectorKeys)
    }

    /// Checks the options before anything is opened or made.
    static func gate(_ command: ParsedCommand, address: ListenAddress) throws -> Gate {
        if let path = command[keys] { return .keys(path: path, try read(path)) }
        guard address.isLoopback else {
            throw Refusal(
                problem: "listening on \(address) without --keys would be open to everyone",
                hint: "give a file of app keys with --keys, or listen on 127.0.0.1.")
        }
        return .open
    }

    /// The collector's routes, and the services that it needs.
    static func collector(
        _ gate: Gate, _ command: ParsedCommand, _ process: StageProcess
    ) -> (routes: [Route], services: [Service]) {
        let current = Monitor<CollectorKeys?>(nil)
        var services: [Service] = []
        switch gate {
        case .open:
            process.logger.warning(
                "no --keys: every process on this machine may report for every app", [:])
        case .keys(let path, let first):
            current.withLock { $0 = first }
            services.append(follow(path, current, process))
        }
        var settings = CollectSettings()
        settings.keyRate = command[keyRate]
        settings.addressRate = command[addressRate]
        let collector = Collector(
            log: process.log, keys: { current.read { $0 } }, settings: settings,
            logger: process.logger.named("collect"), metrics: CollectMetrics(process.metrics))
        return (collector.routes, services)
    }

    /// Reads the keys again at SIGHUP, and when the file has changed.
    private static func follow(
        _ path: String, _ current: Monitor<CollectorKeys?>, _ process: StageProcess
    ) -> Service {
        let logger = process.logger.named("collect")
        @Sendable func reload() {
            do {
                let fresh = try read(path)
                current.withLock { $0 = fresh }
                logger.info("keys read again", ["keys": LogValue(fresh.count)])
            } catch {
                logger.error("keys kept as they were", ["reason": .text("\(error)")])
            }
        }
        process.onReload(reload)
        let first = InputFile.stamp(of: path)
        return Service("keys") { stop in
            var seen = first
            while !stop.wait(milliseconds: lookMilliseconds) {
                let now = InputFile.stamp(of: path)
                // A file that is gone is being replaced.
                guard now != seen, now != nil else { continue }
                seen = now
                reload()
            }
        }
    }

    private static func read(_ path: String) throws -> CollectorKeys {
        let bytes = try InputFile.contents(of: path, bytesMax: keysBytesMax)
        do {
            return try CollectorKeys(String(decoding: bytes, as: UTF8.self))
        } catch {
            throw Refusal(problem: "\(path), \(error)", hint: "nothing of the file was used.")
        }
    }
}
