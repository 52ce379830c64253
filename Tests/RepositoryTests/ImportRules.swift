// Who may import whom: the table of the architecture, and no import beside it.

enum ImportRules {
    /// What every target of ours may import; the system's modules are in a table of their own.
    static let allowed: [String: Set<String>] = {
        let stage: Set = [
            "BrakeModel", "BrakeEngine", "BrakeWire", "EventLog", "Runtime", "HTTPServer",
        ]
        return [
            "BrakeModel": [],
            "BrakeEngine": ["BrakeModel", "CPrefetch"],
            "BrakeWire": ["BrakeModel", "BrakeEngine", "CSimdJSON"],
            "EventLog": ["BrakeModel", "Runtime"],
            "SQLiteLog": ["BrakeModel", "EventLog", "Runtime", "CSQLite"],
            "KafkaLog": ["BrakeModel", "EventLog", "Runtime", "CRdKafka"],
            "Runtime": [],
            "HTTPServer": ["Runtime", "CMicroHTTPD", "CZlib"],
            "HTTPClient": ["Runtime", "CCurl"],
            "Admin": stage, "Collect": stage.union(["AdBrakeProducer"]), "Evaluate": stage,
            "Serve": stage,
            "Alert": stage.union(["HTTPClient"]),
            "Bridge": stage.union(["HTTPClient", "COpenSSL"]),
            "AdBrakeProducer": [
                "BrakeModel", "BrakeWire", "EventLog", "KafkaLog", "SQLiteLog", "Runtime",
            ],
            "DeadLetters": ["BrakeModel", "BrakeWire", "EventLog", "Runtime"],
            "AdBrakeClient": ["BrakeModel"],
            "Traffic": ["BrakeModel", "BrakeWire", "HTTPClient", "Runtime"],
            "Watch": ["BrakeModel", "BrakeWire", "HTTPClient", "Runtime"],
            "Simulation": stage.union(["Collect", "Evaluate", "Serve", "Alert"]),
        ]
    }()

    /// The executable, benchmarks and tests are where parts meet: they may import all.
    static let meetingPlaces: Set = ["adbrake"]

    /// The only importers of a C library.
    static let contacts: [String: Set<String>] = [
        "CSimdJSON": ["BrakeWire"], "CSQLite": ["SQLiteLog"],
        "CRdKafka": ["KafkaLog", "KafkaStageTests", "KafkaTestSupport"],
        "CMicroHTTPD": ["HTTPServer"], "CZlib": ["HTTPServer"], "CCurl": ["HTTPClient"],
        "COpenSSL": ["Bridge"], "CPrefetch": ["BrakeEngine"],
    ]

    /// No system module at all: deterministic, or for phones.
    private static let pure: Set = ["BrakeModel", "BrakeEngine", "BrakeWire"]
    private static let foundation: Set = ["AdBrakeClient"]
    private static let system: Set = ["Glibc", "Synchronization", "Dispatch", "Foundation"]

    static func findings(in file: TextFile) -> [Finding] {
        guard file.isSwift, let target = file.target else { return [] }
        return file.code.enumerated().compactMap { number, line in
            guard let module = imported(by: line) else { return nil }
            return finding(file, target, module).map { instead in
                Finding(
                    path: file.path, line: number + 1, problem: "\(target) imports \(module)",
                    instead: instead)
            }
        }
    }

    /// Targets on disk that the table does not know.
    static func unknownTargets(_ repository: Repository) -> [Finding] {
        let targets = Set(
            repository.texts.filter { $0.isSwift && $0.isUnder("Sources") }.compactMap(\.target))
        return targets.subtracting(allowed.keys).subtracting(meetingPlaces).sorted().map { target in
            Finding(
                path: "Sources/\(target)", line: nil, problem: "this target is not in the table",
                instead: "Add it to ImportRules.allowed and to the table in ARCHITECTURE.md.")
        }
    }

    private static func imported(by line: String) -> Substring? {
        guard line.contains("import ") else { return nil }
        // Attributes and access levels, then a kind of declaration, then the module.
        let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_" || $0 == "@") }
        let prefix: Set = ["@testable", "package", "public", "private", "internal", "@_exported"]
        let kinds: Set = ["struct", "class", "enum", "protocol", "func", "let", "var", "typealias"]
        let rest = words.drop { prefix.contains(String($0)) }
        guard rest.first == "import" else { return nil }
        return rest.dropFirst().first { !kinds.contains(String($0)) }
    }

    /// What to do instead; nil: the import is fine.
    private static func finding(_ file: TextFile, _ target: String, _ module: Substring) -> String?
    {
        let module = String(module)
        if let contacts = contacts[module], !contacts.contains(target) {
            let isTest = contacts.contains { target == $0 + "Tests" }
            return isTest ? nil : "Only \(contacts.sorted().joined(separator: ", ")) may touch it."
        }
        guard file.isUnder("Sources"), !meetingPlaces.contains(target),
            let own = allowed[target]
        else { return nil }
        if system.contains(module) {
            if pure.contains(target) { return "Take what is needed as an argument: it is pure." }
            if foundation.contains(target) {
                return module == "Foundation" ? nil : "Only Foundation, so that it runs on phones."
            }
            return module == "Foundation"
                ? "Use Runtime and the standard library: Foundation is for the client only." : nil
        }
        return own.contains(module)
            ? nil
            : "It may import \(own.isEmpty ? "nothing" : own.sorted().joined(separator: ", "))."
    }
}
