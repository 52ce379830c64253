// What operators read: one line per statement, a constant message, data as metadata. A logger is
// passed in; no part makes one and none is global.

/// How much a line matters; `warning` and above are things an operator can act on.
package enum LogLevel: Int, Sendable, Comparable, CaseIterable {
    case trace, debug, info, warning, error

    package var name: String { "\(self)" }

    package init?(name: String) {
        guard let level = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = level
    }

    package static func < (one: LogLevel, other: LogLevel) -> Bool {
        one.rawValue < other.rawValue
    }
}

/// A value of a log line's metadata.
package enum LogValue: Sendable, Equatable {
    case text(String)
    case integer(Int64)
    case number(Double)
    case truth(Bool)

    package init(_ integer: some BinaryInteger) { self = .integer(Int64(clamping: integer)) }
    package init(_ fault: any Error) { self = .text("\(fault)") }
}

extension LogValue: ExpressibleByStringInterpolation, ExpressibleByIntegerLiteral,
    ExpressibleByFloatLiteral, ExpressibleByBooleanLiteral
{
    package init(stringLiteral text: String) { self = .text(text) }
    package init(integerLiteral integer: Int64) { self = .integer(integer) }
    package init(floatLiteral number: Double) { self = .number(number) }
    package init(booleanLiteral truth: Bool) { self = .truth(truth) }
}

/// One line of the log.
package struct LogLine: Sendable, Equatable {
    /// ms since 1970.
    package var at: Int64
    package var level: LogLevel
    package var part: String
    package var message: String
    package var metadata: [String: LogValue]
}

/// Where lines go. May be called from any thread and returns within a bounded time.
package protocol LogSink: Sendable {
    func write(_ line: LogLine)
}

/// Writes lines for one part of the program.
package struct Logger: Sendable {
    package var part: String
    /// Lines below it are not made at all.
    package var level: LogLevel
    private let sink: any LogSink

    package init(part: String, level: LogLevel = .info, to sink: any LogSink) {
        self.part = part
        self.level = level
        self.sink = sink
    }

    /// The same log for another part.
    package func named(_ part: String) -> Logger {
        var logger = self
        logger.part = part
        return logger
    }

    package func trace(
        _ message: StaticString, _ metadata: @autoclosure () -> [String: LogValue] = [:]
    ) {
        log(.trace, message, metadata())
    }

    package func debug(
        _ message: StaticString, _ metadata: @autoclosure () -> [String: LogValue] = [:]
    ) {
        log(.debug, message, metadata())
    }

    package func info(
        _ message: StaticString, _ metadata: @autoclosure () -> [String: LogValue] = [:]
    ) {
        log(.info, message, metadata())
    }

    package func warning(
        _ message: StaticString, _ metadata: @autoclosure () -> [String: LogValue] = [:]
    ) {
        log(.warning, message, metadata())
    }

    package func error(
        _ message: StaticString, _ metadata: @autoclosure () -> [String: LogValue] = [:]
    ) {
        log(.error, message, metadata())
    }

    /// Logs at a level chosen at run time. The message is constant so that lines can be counted.
    package func log(
        _ level: LogLevel, _ message: StaticString,
        _ metadata: @autoclosure () -> [String: LogValue] = [:]
    ) {
        guard level >= self.level else { return }
        sink.write(
            LogLine(
                at: SystemClock.wallMilliseconds(), level: level, part: part,
                message: "\(message)", metadata: metadata()))
    }
}
