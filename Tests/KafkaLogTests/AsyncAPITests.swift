// The AsyncAPI document tells the settings that the topics are made with, and no others.
import EventLog
import Foundation
import Testing

@testable import KafkaLog

@Suite struct AsyncAPITests {
    private static let document = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "schemas/asyncapi.yaml")

    /// The lines of a channel of the document, from its name on.
    private static func channel(_ name: String, in text: String) -> [Substring] {
        let lines = text.split(separator: "\n").drop { $0 != "channels:" }.dropFirst()
        let own = lines.drop { $0 != "  \(name):" }
        return own.prefix(1) + own.dropFirst().prefix { $0.hasPrefix("    ") }
    }

    @Test(arguments: Topic.all)
    func `a channel is as its topic is made`(topic: Topic) throws {
        let topics = KafkaTopics(KafkaSettings(bootstrap: "none:9092"), replicas: 3)
        let expected = topics.expected(topic)
        let settings = expected.settings.sorted { $0.key < $1.key }.map { name, value in
            "          \(name): " + (name == "cleanup.policy" ? "[\(value)]" : value)
        }
        let bindings =
            [
                "    bindings:", "      kafka:", "        partitions: \(expected.partitions)",
                "        replicas: \(expected.replicas)", "        topicConfiguration:",
            ] + settings
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let channel = Self.channel(topic.name, in: text).map(String.init)
        #expect(channel.contains("    address: \(KafkaSettings.defaultPrefix)\(topic.name)"))
        let start = try #require(channel.firstIndex(of: "    bindings:"))
        #expect(channel[start...].prefix(5) == bindings.prefix(5))
        #expect(channel[(start + 5)...].sorted() == bindings.dropFirst(5).sorted())
    }

    @Test func `there is a channel for each topic`() throws {
        let text = try String(contentsOf: Self.document, encoding: .utf8)
        let lines = text.split(separator: "\n").drop { $0 != "channels:" }.dropFirst()
        let names = lines.prefix { $0.hasPrefix(" ") }.filter {
            $0.hasPrefix("  ") && !$0.hasPrefix("   ")
        }.map { String($0.dropFirst(2).dropLast()) }
        #expect(names == Topic.all.map(\.name))
    }
}
