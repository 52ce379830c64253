// Log lines as machines and people read them, and what happens when nobody reads.
import Glibc
import Testing

@testable import Runtime

@Suite struct LoggerTests {
    private let line = LogLine(
        at: 1_769_903_999_042, level: .warning, part: "collect", message: "log is slow",
        metadata: ["waited_ms": 12, "topic": "se\"ss\nion", "ratio": 0.5, "late": true])

    @Test func `A line is one JSON object with its metadata in order of key`() {
        #expect(
            line.json == #"{"ts":"2026-01-31T23:59:59.042Z","level":"warning","part":"collect","#
                + #""msg":"log is slow","late":true,"ratio":0.5,"topic":"se\"ss\nion","#
                + #""waited_ms":12}"#)
    }

    @Test func `A readable line cannot drive the terminal`() {
        #expect(
            line.readable == "23:59:59.042 warning collect: log is slow"
                + #"  late=true  ratio=0.5  topic="se\"ss\nion"  waited_ms=12"#)
        var hostile = line
        hostile.metadata = ["app": "\u{1b}[2J"]
        #expect(hostile.readable.hasSuffix(#"app="\u001b[2J""#))
    }

    @Test func `Long values are cut and the line stays within its limit`() {
        var long = line
        long.metadata = [:]
        for key in 0..<100 {
            long.metadata["k\(key)"] = .text(String(repeating: "x", count: 9_999))
        }
        #expect(long.json.utf8.count <= LogLine.bytesMax)
        #expect(long.json.hasSuffix("}"))
    }

    @Test func `Metadata cannot pose as a field of the line`() {
        var posing = line
        posing.metadata = ["level": "error", "app": "a"]
        #expect(
            posing.json.hasSuffix(
                #""level":"warning","part":"collect","msg":"log is slow","app":"a"}"#))
    }

    @Test func `Lines below the level are not made`() {
        let log = CapturedLog()
        let logger = Logger(part: "test", level: .warning, to: log)
        func metadata() -> [String: LogValue] {
            Issue.record("made for nothing")
            return [:]
        }
        logger.info("quiet", metadata())
        logger.warning("loud")
        logger.named("other").error("louder", ["count": LogValue(3)])
        #expect(log.lines.map(\.message) == ["loud", "louder"])
        #expect(log.lines.map(\.part) == ["test", "other"])
        #expect(log.line("louder")?.metadata == ["count": 3])
    }

    @Test func `Moments are written in UTC with ms`() {
        #expect(ISO8601.text(milliseconds: 0) == "1970-01-01T00:00:00.000Z")
        #expect(ISO8601.text(milliseconds: -1) == "1969-12-31T23:59:59.999Z")
        #expect(ISO8601.text(milliseconds: 951_782_400_000) == "2000-02-29T00:00:00.000Z")
        #expect(ISO8601.text(milliseconds: 1_709_251_199_999) == "2024-02-29T23:59:59.999Z")
        #expect(ISO8601.text(milliseconds: 4_107_542_400_000) == "2100-03-01T00:00:00.000Z")
    }

    @Test func `A pipe that nobody reads drops lines, and says how many once it is read`() throws {
        var ends: [Int32] = [0, 0]
        // Two descriptors for two elements.
        try #require(unsafe pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        let sink = StandardErrorSink(descriptor: ends[1], isReadable: false)
        var long = line
        long.metadata = ["text": .text(String(repeating: "y", count: 2_000))]
        while sink.dropped < 3 { sink.write(long) }

        var read: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        func drain() {
            var request = pollfd(fd: ends[0], events: Int16(POLLIN), revents: 0)
            // One request, and as many bytes as the buffer has.
            while unsafe poll(&request, 1, 0) == 1 {
                let count = unsafe Glibc.read(ends[0], &buffer, buffer.count)
                read.append(contentsOf: buffer.prefix(max(0, count)))
            }
        }
        drain()
        sink.write(line)
        drain()
        let lines = String(decoding: read, as: UTF8.self).split(separator: "\n")
        #expect(sink.dropped == 0)
        #expect(lines.last == Substring(line.json))
        let notice = try #require(lines.dropLast().last)
        #expect(notice.hasSuffix(#""msg":"log lines were dropped","count":3}"#))
    }
}
