// The three brokers that `make chaos` has started, and what can be done to them.
import Foundation
import ProcessTestSupport
import Runtime
import Testing

/// Brokers 1 to 3. Each has a port for clients and one that it tells clients to reach through a
/// relay, which the tests run and can stop.
struct ChaosCluster: Sendable {
    static let brokers = Array(1...3)
    /// Where the brokers are, as the script tells that has started them; nil outside `make chaos`.
    static let folder = ProcessInfo.processInfo.environment["ADBRAKE_CHAOS"]

    let folder: String
    private let port: Int
    private let home: String
    private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path

    init() throws {
        let environment = ProcessInfo.processInfo.environment
        folder = try #require(Self.folder)
        port = try #require(environment["ADBRAKE_CHAOS_PORT"].flatMap { Int($0) })
        home = try #require(environment["KAFKA_HOME"])
    }

    /// For `--log`.
    var place: String { place { port(of: $0) } }
    /// The same through the relay.
    var relayedPlace: String { place { relayPort(of: $0) } }
    var bootstrap: String {
        Self.brokers.map { "127.0.0.1:\(port(of: $0))" }.joined(separator: ",")
    }

    /// Where a relay takes connections, and the brokers' ports behind it.
    var relays: [Int: Int] {
        Dictionary(
            uniqueKeysWithValues: Self.brokers.map { (relayPort(of: $0), port(of: $0) + 2) })
    }

    private func relayPort(of broker: Int) -> Int { port(of: broker) + 3 }

    private func port(of broker: Int) -> Int { port + 10 * (broker - 1) }

    private func place(_ port: (Int) -> Int) -> String {
        "kafka:" + Self.brokers.map { "127.0.0.1:\(port($0))" }.joined(separator: ",")
    }

    /// `kill`, `pause`, `resume` or `restart`, as ops/kafka/broker.sh does it.
    func broker(_ number: Int, _ verb: String) throws {
        try run(["/bin/bash", "\(Self.root)/ops/kafka/broker.sh", verb, "\(folder)/\(number)"])
    }

    /// Runs one of Kafka's own tools and returns what it printed.
    @discardableResult
    func tool(_ name: String, _ arguments: [String]) throws -> String {
        try run(["\(home)/bin/\(name).sh", "--bootstrap-server", bootstrap] + arguments)
    }

    /// Moves partitions to these brokers, and waits until they are there.
    func move(_ partitions: [(topic: String, partition: Int)], to brokers: [Int]) throws {
        let list = partitions.map { place in
            #"{"topic":"\#(place.topic)","partition":\#(place.partition),"replicas":\#(brokers)}"#
        }
        let plan = "\(folder)/plan.json"
        try #"{"version":1,"partitions":[\#(list.joined(separator: ","))]}"#
            .write(toFile: plan, atomically: true, encoding: .utf8)
        let words = ["--reassignment-json-file", plan]
        try tool("kafka-reassign-partitions", words + ["--execute"])
        _ = try eventually("partitions have moved") { () -> Bool? in
            let state = try tool("kafka-reassign-partitions", words + ["--verify"])
            return state.contains("in progress") ? nil : true
        }
    }

    @discardableResult
    private func run(_ words: [String]) throws -> String {
        let child = try Child(command: words, variables: ["KAFKA_HOME=\(home)"])
        defer { child.close() }
        let ending = try child.waitForEnd()
        guard ending == .exited(0) else {
            let said = child.output + child.complaints
            throw ChaosFailure("\(words.joined(separator: " ")): \(ending), \(said)")
        }
        return child.output
    }
}
