// The paths and methods that the OpenAPI document tells of, for the tests of who answers them.
import Foundation
package import HTTPServer

/// `schemas/openapi.yaml`, read as far as paths and methods go.
package struct OpenAPIDocument {
    private let lines: [Substring]

    package init() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "schemas/openapi.yaml")
        lines = try String(contentsOf: file, encoding: .utf8).split(separator: "\n")
    }

    /// The routes that are not in the document, as `POST /v1/events`.
    package func missing(of routes: [Route]) -> [String] {
        routes.filter { !has($0) }.map { "\($0.method.rawValue) \($0.pattern)" }
    }

    private func has(_ route: Route) -> Bool {
        let path = lines.drop { $0 != "  \(route.pattern):" }.dropFirst()
        let operations = path.prefix { $0.hasPrefix("    ") }
        return operations.contains("    \(route.method.rawValue.lowercased()):")
    }
}
