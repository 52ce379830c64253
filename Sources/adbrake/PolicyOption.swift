// `--policy NAME|FILE`, wherever a policy is asked for.

import BrakeEngine
import BrakeWire
import Runtime

/// One of the built-in policies by name, or a policy document in a file.
enum PolicyOption {
    static let option = Option.text(
        "policy", "NAME|FILE", default: "default", environment: "ADBRAKE_POLICY",
        help: "a built-in policy (default, article) or a file with a policy document")

    static func policy(_ text: String) throws -> Policy {
        if let builtIn = BuiltInPolicies.policy(named: text) { return builtIn }
        return try document(inFile: text).policy
    }

    /// The name and document of a policy, as it will be written into the log.
    static func document(_ text: String) throws -> (name: String, document: JSONValue) {
        let source: [UInt8]
        let name: String
        if let builtIn = BuiltInPolicies.source(named: text) {
            source = Array(builtIn.utf8)
            name = text
        } else {
            let document = try document(inFile: text)
            source = document.source
            name = document.policy.name
        }
        return (name, DocumentReader().read(source) ?? .null)
    }

    private static func document(inFile text: String) throws -> PolicyDocument {
        let names = BuiltInPolicies.names.joined(separator: ", ")
        let source: [UInt8]
        do {
            source = try InputFile.contents(of: text, bytesMax: PolicyDocument.bytesMax)
        } catch {
            throw Refusal(
                problem: "policy \(text): \(error.reason)",
                hint: "give one of \(names), or the path of a policy document.")
        }
        do {
            return try PolicyDocument(source, with: DocumentReader())
        } catch {
            let list = error.problems.map { "\n  - \($0)" }.joined()
            throw Refusal(
                problem: "policy \(text) cannot be used:\(list)",
                hint: "schemas/policy.schema.json says what a policy may have.")
        }
    }
}
