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

    static func routes(
        _ command: ParsedCommand, _ process: StageProcess, address: ListenAddress
    ) throws -> [Route] {
        let current = Monitor<CollectorKeys?>(nil)
        if let path = command[keys] {
            let first = try read(path)
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
        } else if address.isLoopback {
            process.logger.warning(
                "no --keys: every process on this machine may report for every app", [:])
        } else {
            throw Refusal(
                problem: "listening on \(address) without --keys would be open to everyone",
                hint: "give a file of app keys with --keys, or listen on 127.0.0.1.")
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
