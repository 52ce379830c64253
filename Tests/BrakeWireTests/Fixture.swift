// The files under `schemas`, which are the contract: tests read them where they are.

import Foundation

enum Fixture {
    /// The folder of schemas, found from where this file is.
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "schemas")

    static func bytes(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: root.appending(path: path)))
    }

    static func path(of file: String) -> String { root.appending(path: file).path() }

    /// The paths of the files in a folder, in order; none when it is not there.
    static func files(in folder: String) -> [String] {
        let path = root.appending(path: folder).path()
        let names = (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? []
        return names.sorted().map { "\(folder)/\($0)" }
    }
}
