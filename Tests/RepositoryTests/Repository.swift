// The files of the repository as the rules see them.
import Foundation
import ProcessTestSupport

/// One file of text.
struct TextFile {
    /// Relative to the root: `Sources/Runtime/Logger.swift`.
    let path: String
    let lines: [String]
    /// The lines with comments and the contents of string literals blanked; Swift only.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        code = path.hasSuffix(".swift") ? SwiftText.blanked(lines) : lines
    }

    var isSwift: Bool { path.hasSuffix(".swift") }

    /// `Runtime` for `Sources/Runtime/Logger.swift`; nil outside targets.
    var target: String? {
        let parts = path.split(separator: "/")
        guard parts.count > 2, ["Sources", "Tests", "Benchmarks"].contains(parts[0]) else {
            return nil
        }
        return String(parts[1])
    }

    func isUnder(_ folder: String) -> Bool { path.hasPrefix(folder + "/") }
}

/// Something against a rule: where, what, and what to do instead.
struct Finding: Hashable, CustomStringConvertible {
    var path: String
    var line: Int?
    var problem: String
    var instead: String

    var description: String {
        "\(path)\(line.map { ":\($0)" } ?? ""): \(problem). \(instead)"
    }
}

/// The working copy that this test was compiled from.
struct Repository {
    /// No file of ours is larger; git keeps every version for ever.
    static let blobBytesMax = 1 << 20
    private static let textEndings = [
        "swift", "md", "sh", "h", "hpp", "c", "cpp", "json", "yml", "yaml", "modulemap", "js",
        "html",
        "css", "service", "xml", "run", "Makefile", "Dockerfile",
    ]
    private static let foreignFolders: Set<String> = [
        ".git", ".build", "node_modules", "DerivedData",
    ]

    let root: URL
    /// Every file's path and size.
    let sizes: [String: Int]
    let texts: [TextFile]

    init(root: URL = Self.root) throws {
        self.root = root
        var sizes: [String: Int] = [:]
        var texts: [TextFile] = []
        for path in try Self.paths(in: root) {
            let url = root.appending(path: path)
            sizes[path] = try url.resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            let ending = path.split(separator: "/").last?.split(separator: ".").last ?? ""
            if Self.textEndings.contains(String(ending)) {
                texts.append(
                    TextFile(
                        path: path, text: String(decoding: try Data(contentsOf: url), as: UTF8.self)
                    ))
            }
        }
        self.sizes = sizes
        self.texts = texts
    }

    func text(_ path: String) -> TextFile? { texts.first { $0.path == path } }

    private static let root = URL(filePath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// What git tracks or would track; all files where there is no git.
    private static func paths(in root: URL) throws -> [String] {
        let words = [
            "git", "-C", root.path(), "ls-files", "-z", "--cached", "--others",
            "--exclude-standard",
        ]
        let git = try? ChildProcess.run(words, errors: .nowhere)
        let listed = (git?.output ?? []).split(separator: 0)
            .map { String(decoding: $0, as: UTF8.self) }
        let exists = { (path: String) in
            FileManager.default.fileExists(atPath: root.appending(path: path).path())
        }
        if git?.ending == .exited(0) { return Set(listed).filter(exists).sorted() }
        let all = FileManager.default.enumerator(atPath: root.path())?.compactMap { $0 as? String }
        return (all ?? []).filter { path in
            let parts = path.split(separator: "/").map(String.init)
            let isFolder =
                (try? root.appending(path: path).resourceValues(forKeys: [.isDirectoryKey]))?
                .isDirectory
            return isFolder == false && foreignFolders.isDisjoint(with: parts)
        }.sorted()
    }
}
