// swift-tools-version: 6.2
// The targets are the architecture: a pure core, one module for each C library, stages that meet in
// topics only, and one executable where real logs meet stages. `make build` adds the release flags.
import PackageDescription

/// What every Swift target of ours is compiled with.
let strict: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .strictMemorySafety(),
    .treatAllWarnings(as: .error),
]

func module(
    _ name: String, _ dependencies: [Target.Dependency] = [], resources: [Resource] = []
) -> Target {
    .target(
        name: name, dependencies: dependencies, resources: resources, swiftSettings: strict)
}

func tests(
    of name: String, _ dependencies: [Target.Dependency] = [], exclude: [String] = []
) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: name)] + dependencies,
        exclude: exclude, swiftSettings: strict)
}

let kafkaTests: [Target.Dependency] = [
    "AdBrakeProducer", "BrakeModel", "BrakeWire", "CRdKafka", "DeadLetters", "EventLog",
    "KafkaTestSupport", "LogTestSupport", "Runtime",
]
let listenerTests: [Target.Dependency] = [
    "BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "OpenAPITestSupport",
    "ProcessTestSupport", "Runtime",
]
let producerTests: [Target.Dependency] = [
    "BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "Runtime", "SQLiteLog",
]

let package = Package(
    name: "adbrake",
    products: [
        // For servers that write to the topics directly; BrakeModel has the types it shares.
        .library(name: "AdBrakeProducer", targets: ["AdBrakeProducer", "BrakeModel"]),
        .executable(name: "adbrake", targets: ["adbrake"]),
    ],
    targets: [
        // The pure core.
        module("BrakeModel"),
        module("BrakeEngine", ["BrakeModel", "CPrefetch"]),
        .systemLibrary(name: "CPrefetch"),

        // C libraries, each behind one module.
        .systemLibrary(
            name: "CRdKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .target(name: "CSimdJSON", linkerSettings: [.linkedLibrary("simdjson")]),
        .systemLibrary(
            name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CMicroHTTPD", pkgConfig: "libmicrohttpd",
            providers: [.apt(["libmicrohttpd-dev"])]),
        .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(
            name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(
            name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),

        // Bytes, logs, and the doors to the network.
        module("BrakeWire", ["BrakeModel", "BrakeEngine", "CSimdJSON"]),
        module("EventLog", ["BrakeModel", "Runtime"]),
        module("SQLiteLog", ["EventLog", "Runtime", "CSQLite"]),
        module("KafkaLog", ["EventLog", "Runtime", "CRdKafka"]),
        module("Runtime"),
        module("HTTPServer", ["Runtime", "CMicroHTTPD", "CZlib"]),
        module("HTTPClient", ["CCurl"]),

        // Events into a log: for the collector, and for servers that need none.
        module(
            "AdBrakeProducer",
            ["BrakeModel", "BrakeWire", "EventLog", "KafkaLog", "SQLiteLog", "Runtime"]),

        // The stages.
        module(
            "Collect",
            [
                "AdBrakeProducer", "BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime",
            ]),
        module("Evaluate", ["BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "Runtime"]),
        module(
            "Serve", ["BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime"],
            resources: [.embedInCode("Console/console.html")]),
        module(
            "Bridge",
            [
                "BrakeModel", "BrakeWire", "EventLog", "HTTPClient", "Runtime", "COpenSSL",
            ]),

        // What stages could not use, looked at and retried.
        module("DeadLetters", ["BrakeModel", "BrakeWire", "EventLog", "Runtime"]),
        module(
            "Admin",
            ["BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "HTTPServer", "Runtime"]),

        // Tools: a fleet that sends, and a person who looks on. Outside, like everyone's apps.
        module("Traffic", ["BrakeModel", "BrakeWire", "HTTPClient", "Runtime"]),
        module("Watch", ["BrakeModel", "BrakeWire", "HTTPClient", "Runtime"]),

        // A seeded world that the stages are run in: log, time, faults, checkers.
        module(
            "Simulation",
            [
                "BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "Evaluate", "Runtime",
                "Serve",
            ]),

        // The executable, where real logs meet stages.
        .executableTarget(
            name: "adbrake",
            dependencies: [
                "BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "SQLiteLog", "KafkaLog",
                "HTTPClient", "HTTPServer", "Runtime", "AdBrakeProducer", "Admin", "Bridge",
                "Collect", "DeadLetters", "Evaluate", "Serve", "Simulation", "Traffic", "Watch",
            ],
            swiftSettings: strict),

        // What is fuzzed; the tests try it with all that was found.
        .target(
            name: "FuzzSubjects",
            dependencies: ["BrakeModel", "BrakeWire", "HTTPServer", "Runtime"],
            path: "Fuzz/Subjects", swiftSettings: strict),
        .testTarget(
            name: "FuzzTests", dependencies: ["FuzzSubjects"], swiftSettings: strict),

        // Measured by hand.
        .executableTarget(
            name: "LogBench", dependencies: ["EventLog", "SQLiteLog"], path: "Benchmarks/LogBench",
            swiftSettings: strict),
        .executableTarget(
            name: "KafkaBench", dependencies: ["EventLog", "KafkaLog", "Runtime"],
            path: "Benchmarks/KafkaBench", swiftSettings: strict),
        .executableTarget(
            name: "KafkaTakeover",
            dependencies: ["BrakeModel", "BrakeWire", "EventLog", "KafkaLog", "Runtime"],
            path: "Benchmarks/KafkaTakeover", exclude: ["run.sh"], swiftSettings: strict),
        .executableTarget(
            name: "EdgeBench",
            dependencies: [
                "BrakeModel", "BrakeWire", "EventLog", "KafkaLog", "Runtime", "SQLiteLog",
            ],
            path: "Benchmarks/EdgeBench", exclude: ["scripts"], swiftSettings: strict),

        // Tests.
        .testTarget(
            name: "RepositoryTests", dependencies: ["ProcessTestSupport"], swiftSettings: strict),
        tests(of: "BrakeModel"),
        tests(of: "BrakeEngine", ["BrakeModel"], exclude: ["Golden"]),
        .testTarget(
            name: "EventLogTests",
            dependencies: [
                "BrakeModel", "EventLog", "KafkaLog", "KafkaTestSupport", "LogTestSupport",
                "LogTortureChild", "ProcessTestSupport", "Runtime", "SQLiteLog",
            ],
            swiftSettings: strict),
        .executableTarget(
            name: "LogTortureChild", dependencies: ["EventLog", "SQLiteLog"],
            path: "Tests/LogTortureChild", swiftSettings: strict),
        // What tests of all logs and lanes share.
        .target(
            name: "LogTestSupport", dependencies: ["BrakeEngine", "BrakeModel", "EventLog"],
            path: "Tests/LogTestSupport", swiftSettings: strict),
        // Programs that tests start.
        .target(
            name: "ProcessTestSupport", dependencies: ["Runtime"],
            path: "Tests/ProcessTestSupport", swiftSettings: strict),
        // One broker for all tests of a run, and what they do to it.
        .target(
            name: "KafkaTestSupport",
            dependencies: ["CRdKafka", "EventLog", "KafkaLog", "ProcessTestSupport", "Runtime"],
            path: "Tests/KafkaTestSupport", swiftSettings: strict),
        .testTarget(
            name: "KafkaStageTests",
            dependencies: [
                "BrakeEngine", "BrakeModel", "BrakeWire", "CRdKafka", "Evaluate", "EventLog",
                "KafkaLog", "KafkaTestSupport", "LogTestSupport", "Runtime", "Serve",
            ],
            swiftSettings: strict),
        tests(of: "AdBrakeProducer", producerTests),
        tests(of: "KafkaLog", kafkaTests),
        tests(of: "DeadLetters", ["BrakeModel", "BrakeWire", "EventLog", "SQLiteLog"]),
        tests(of: "Traffic", ["BrakeModel", "BrakeWire", "Evaluate", "HTTPServer", "Runtime"]),
        tests(of: "Watch", ["BrakeModel", "BrakeWire"]),
        tests(of: "HTTPClient", ["Runtime"]),
        tests(of: "Bridge", ["BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime"]),
        tests(of: "Runtime"),
        tests(of: "BrakeWire", ["BrakeModel", "BrakeEngine", "ProcessTestSupport"]),
        // Holds routes against the OpenAPI document.
        .target(
            name: "OpenAPITestSupport", dependencies: ["HTTPServer"],
            path: "Tests/OpenAPITestSupport", swiftSettings: strict),
        tests(of: "Collect", listenerTests),
        tests(of: "Serve", listenerTests, exclude: ["Golden"]),
        .testTarget(
            name: "EvaluateTests",
            dependencies: [
                "BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "Evaluate",
                "LogTestSupport", "Runtime", "Simulation",
            ],
            resources: [.copy("Policies")], swiftSettings: strict),
        tests(of: "Admin", listenerTests),
        tests(of: "HTTPServer", ["ProcessTestSupport", "Runtime"]),
        tests(of: "Simulation"),
        .testTarget(
            name: "SystemTests",
            dependencies: [
                "adbrake", "BrakeModel", "BrakeWire", "EventLog", "HTTPClient", "HTTPServer",
                "KafkaLog", "KafkaTestSupport", "ProcessTestSupport", "Runtime", "SQLiteLog",
            ],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)

// The fuzzer links its program by itself, with a `main` that is not ours: see ops/fuzz.sh.
if Context.environment["ADBRAKE_FUZZ"] != nil {
    package.products.append(
        .library(name: "FuzzSubjects", type: .static, targets: ["FuzzSubjects"]))
}
