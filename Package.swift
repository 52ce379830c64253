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

func tests(of name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .testTarget(
        name: name + "Tests", dependencies: [.byName(name: name)] + dependencies,
        swiftSettings: strict)
}

let package = Package(
    name: "adbrake",
    targets: [
        // The pure core.
        module("BrakeModel"),
        module("BrakeEngine", ["BrakeModel"]),

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

        // Bytes, logs, and the doors to the network.
        module("BrakeWire", ["BrakeModel", "BrakeEngine", "CSimdJSON"]),
        module("EventLog", ["BrakeModel", "Runtime"]),
        module("SQLiteLog", ["EventLog", "Runtime", "CSQLite"]),
        module("KafkaLog", ["EventLog", "Runtime", "CRdKafka"]),
        module("Runtime"),
        module("HTTPServer", ["Runtime", "CMicroHTTPD", "CZlib"]),
        module("HTTPClient", ["CCurl"]),

        // The stages.
        module(
            "Collect", ["BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime"]),
        module("Evaluate", ["BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "Runtime"]),
        module(
            "Serve", ["BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime"],
            resources: [.embedInCode("Console/console.html")]),

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
                "HTTPClient", "HTTPServer", "Runtime", "Admin", "Collect", "Evaluate", "Serve",
                "Simulation", "Traffic", "Watch",
            ],
            swiftSettings: strict),

        // Measured by hand.
        .executableTarget(
            name: "LogBench", dependencies: ["EventLog", "SQLiteLog"], path: "Benchmarks/LogBench",
            swiftSettings: strict),
        .executableTarget(
            name: "KafkaBench", dependencies: ["EventLog", "KafkaLog", "Runtime"],
            path: "Benchmarks/KafkaBench", swiftSettings: strict),

        // Tests.
        .testTarget(name: "RepositoryTests", swiftSettings: strict),
        tests(of: "BrakeModel"),
        tests(of: "BrakeEngine", ["BrakeModel"]),
        tests(of: "EventLog", ["Runtime", "SQLiteLog", "LogTortureChild"]),
        .executableTarget(
            name: "LogTortureChild", dependencies: ["EventLog", "SQLiteLog"],
            path: "Tests/LogTortureChild", swiftSettings: strict),
        tests(of: "KafkaLog", ["EventLog", "CRdKafka"]),
        tests(of: "Traffic", ["BrakeModel", "BrakeWire", "Evaluate", "HTTPServer", "Runtime"]),
        tests(of: "Watch", ["BrakeModel", "BrakeWire"]),
        tests(of: "HTTPClient", ["Runtime"]),
        tests(of: "Runtime"),
        tests(of: "BrakeWire", ["BrakeModel", "BrakeEngine"]),
        tests(of: "Collect", ["BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime"]),
        tests(of: "Serve", ["BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime"]),
        .testTarget(
            name: "EvaluateTests",
            dependencies: [
                "BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "Evaluate", "Runtime",
                "Simulation",
            ],
            resources: [.copy("Policies")], swiftSettings: strict),
        tests(of: "Admin", ["BrakeModel", "BrakeWire", "EventLog", "HTTPServer", "Runtime"]),
        tests(of: "HTTPServer", ["Runtime"]),
        tests(of: "Simulation"),
        .testTarget(
            name: "SystemTests",
            dependencies: [
                "adbrake", "BrakeModel", "BrakeWire", "EventLog", "HTTPClient", "HTTPServer",
                "KafkaLog", "Runtime", "SQLiteLog",
            ],
            swiftSettings: strict),
    ],
    cxxLanguageStandard: .cxx17
)
