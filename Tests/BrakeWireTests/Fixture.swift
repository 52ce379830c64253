// The files under `schemas`, which are the contract: tests read them where they are.

import Foundation

enum Fixture {
    /// The folder of schemas, found from where this file is.
    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "schemas")

    static func bytes(_ path: String) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: root.appending(path: path)))
    }

    /// The names of the files in a folder, in order.
    static func names(in folder: String) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: root.appending(path: folder).path())
            .filter { !$0.hasPrefix(".") }.sorted()
    }
}
