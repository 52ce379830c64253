// Documents: one title each, links that lead somewhere, no page that nothing leads to, and no
// option that does not exist.
import Foundation

enum DocumentRules {
    /// Where readers begin.
    private static let entrances: Set = ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"]

    static func findings(in repository: Repository) -> [Finding] {
        let documents = repository.texts.filter { $0.path.hasSuffix(".md") }
        var reached = entrances
        var found: [Finding] = []
        for document in documents {
            found += titles(document)
            for (line, target) in links(document) {
                let path = resolved(target, from: document.path)
                reached.insert(path)
                let isThere =
                    repository.sizes[path] != nil
                    || repository.sizes.keys.contains { $0.hasPrefix(path + "/") }
                if !isThere {
                    found.append(
                        Finding(
                            path: document.path, line: line, problem: "a link to \(target)",
                            instead: "Link to a file that is there."))
                }
            }
        }
        // Without its entrances no document leads anywhere.
        let hasEntrance = repository.text("README.md") != nil
        for document in documents where hasEntrance && !reached.contains(document.path) {
            found.append(
                Finding(
                    path: document.path, line: nil, problem: "no page links here",
                    instead: "Link it from where a reader needs it, or delete it."))
        }
        return found
    }

    /// Options in command lines of the program that no subcommand declares.
    static func unknownOptions(in repository: Repository) -> [Finding] {
        var declared: Set = ["--help", "--version"]
        // Any factory of `Option`: its first argument is the name.
        for file in repository.texts where file.isUnder("Sources") && file.isSwift {
            let text = file.lines.joined(separator: "\n")
            guard text.contains("Option.") else { continue }
            let pattern = /\.[a-z]+\(\s*"([a-z][a-z0-9-]*)",/
            for match in text.matches(of: pattern) { declared.insert("--" + match.output.1) }
        }
        return repository.texts.filter { $0.path.hasSuffix(".md") }.flatMap { document in
            document.lines.enumerated().flatMap { number, line -> [Finding] in
                guard let start = line.firstRange(of: /\badbrake [a-z]/)?.lowerBound else {
                    return []
                }
                return line[start...].matches(of: /(?:\s|`|\[)(--[a-z][a-z0-9-]*)/)
                    .map { String($0.output.1) }
                    .filter { !declared.contains($0) }
                    .map { option in
                        Finding(
                            path: document.path, line: number + 1,
                            problem: "\(option) is no option of the program",
                            instead: "Write what `adbrake SUBCOMMAND --help` shows.")
                    }
            }
        }
    }

    private static func titles(_ document: TextFile) -> [Finding] {
        let titles = prose(document).filter { $0.text.hasPrefix("# ") }.map(\.line)
        guard titles.count != 1 else { return [] }
        return [
            Finding(
                path: document.path, line: titles.dropFirst().first,
                problem: "\(titles.count) titles",
                instead: "One line `# Title` a document.")
        ]
    }

    private static func links(_ document: TextFile) -> [(line: Int, target: String)] {
        prose(document).flatMap { line in
            line.text.matches(of: /\]\(([^)#\s]+)(?:#[^)]*)?\)/)
                .map { (line.line, String($0.output.1)) }
                .filter { !$0.1.contains("://") && !$0.1.hasPrefix("mailto:") }
        }
    }

    /// Lines outside of code blocks.
    private static func prose(_ document: TextFile) -> [(line: Int, text: String)] {
        var isCode = false
        return document.lines.enumerated().compactMap { number, text in
            if text.drop(while: { $0 == " " }).hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return isCode ? nil : (number + 1, text)
        }
    }

    private static func resolved(_ target: String, from path: String) -> String {
        var parts = target.hasPrefix("/") ? [] : path.split(separator: "/").dropLast()
        for part in target.split(separator: "/") {
            if part == ".." { _ = parts.popLast() } else if part != "." { parts.append(part) }
        }
        return parts.joined(separator: "/")
    }
}
