// The shape of files: sizes, headers, links, and that nothing lies around unused.
import Foundation

enum ShapeRules {
    static let fileLinesMax = 500
    static let functionLinesMax = 70
    static let columnsMax = 100
    static let headerLinesMax = 5

    /// Rules for one source file.
    static func findings(in file: TextFile) -> [Finding] {
        var found: [Finding] = []
        func report(_ line: Int?, _ problem: String, _ instead: String) {
            found.append(Finding(path: file.path, line: line, problem: problem, instead: instead))
        }
        let isScript = file.path.hasSuffix(".sh") || file.path == ".ci/run"
        guard file.isSwift || isScript || isC(file) else { return [] }
        if file.lines.count > fileLinesMax + 1 {
            report(
                nil, "\(file.lines.count - 1) lines", "Split it by idea; \(fileLinesMax) at most.")
        }
        for (number, line) in file.lines.enumerated()
        where line.utf8.count > columnsMax && line.count > columnsMax {
            // A line of nothing but a literal is data: little of it is left after blanking.
            let isData = file.isSwift && file.code[number].count { $0 != " " } <= 2
            if !isData || line.drop(while: { $0 == " " }).hasPrefix("//") {
                report(number + 1, "\(line.count) columns", "\(columnsMax) at most.")
            }
        }
        if isScript {
            if file.lines.first != "#!/usr/bin/env bash" {
                report(1, "no shebang", "Begin with #!/usr/bin/env bash.")
            }
            if !file.lines.contains("set -euo pipefail") {
                report(nil, "goes on after errors", "Add a line: set -euo pipefail.")
            }
        } else if file.path != "Package.swift" {
            let header = file.lines.prefix { $0.hasPrefix("//") }.count
            if header == 0 || header > headerLinesMax {
                report(
                    1, "no header comment of 1 to \(headerLinesMax) lines",
                    "Open with the file's purpose and role.")
            }
        }
        for function in SwiftText.functions(in: file.isSwift ? file.code : [])
        where function.count > functionLinesMax {
            report(
                function.line, "a function of \(function.count) lines",
                "Keep the flow here and move pure parts out; \(functionLinesMax) at most.")
        }
        return found
    }

    /// Files that no target, document or rule knows.
    static func strays(in repository: Repository) -> [Finding] {
        var found: [Finding] = []
        let manifest = repository.text("Package.swift")?.lines.joined(separator: "\n") ?? ""
        let folders = Set(
            repository.texts.filter { $0.target != nil }
                .map { $0.path.split(separator: "/").prefix(2).joined(separator: "/") })
        for folder in folders.sorted() {
            let name = String(folder.split(separator: "/")[1])
            let isTestsOf = name.hasSuffix("Tests") ? String(name.dropLast(5)) : name
            let isKnown =
                manifest.contains("\"\(name)\"") || manifest.contains("tests(of: \"\(isTestsOf)\"")
            if !isKnown {
                found.append(
                    Finding(
                        path: folder, line: nil, problem: "no target of Package.swift",
                        instead: "Declare it or delete it."))
            }
        }
        for (path, size) in repository.sizes.sorted(by: { $0.key < $1.key })
        where size > Repository.blobBytesMax {
            found.append(
                Finding(
                    path: path, line: nil, problem: "\(size) bytes",
                    instead: "Generate it; git keeps every version for ever."))
        }
        return found
    }

    private static func isC(_ file: TextFile) -> Bool {
        [".h", ".hpp", ".c", ".cpp"].contains { file.path.hasSuffix($0) }
    }
}
