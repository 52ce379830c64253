// The collector as `run` and `collect` start it.

import Collect
import HTTPServer
import Runtime

/// Options of the collector, and how it is made of them.
enum CollectOptions {
    private static let keys = Option.optional(
        "keys", "FILE", environment: "ADBRAKE_KEYS",
        help: "app keys: lines `KEY APP,APP` or `KEY *`; read again at SIGHUP. Without a file "
            + "everyone who can connect may report, so only loopback is allowed")

    static let options: [any DeclaredOption] = [keys]

    private static let keysBytesMax = 4 << 20

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

    static func routes(_ gate: Gate, _ process: StageProcess) -> [Route] {
        let current = Monitor<CollectorKeys?>(nil)
        switch gate {
        case .open:
            process.logger.warning(
                "no --keys: every process on this machine may report for every app", [:])
        case .keys(let path, let first):
            current.withLock { $0 = first }
            let logger = process.logger
            process.onReload {
                do {
                    let fresh = try read(path)
                    current.withLock { $0 = fresh }
                    logger.info("keys read again", ["keys": LogValue(fresh.count)])
                } catch {
                    logger.error("keys kept as they were", ["reason": .text("\(error)")])
                }
            }
        }
        let collector = Collector(
            log: process.log, keys: { current.read { $0 } },
            logger: process.logger.named("collect"), metrics: CollectMetrics(process.metrics))
        return collector.routes
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
