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
            return try PolicyDocument(source, with: DocumentReader()).policy
        } catch {
            let list = error.problems.map { "\n  - \($0)" }.joined()
            throw Refusal(
                problem: "policy \(text) cannot be used:\(list)",
                hint: "schemas/policy.schema.json says what a policy may have.")
        }
    }
}
