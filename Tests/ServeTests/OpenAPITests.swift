// The OpenAPI document has every path that the edge answers.
import Foundation
import HTTPServer
import Serve
import Testing

@Suite struct OpenAPITests {
    @Test func `every route of the edge is in the document`() throws {
        let document = URL(filePath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "schemas/openapi.yaml")
        let lines = try String(contentsOf: document, encoding: .utf8).split(separator: "\n")
        for route in EdgeWorld().edge.routes {
            let path = lines.drop { $0 != "  \(route.pattern):" }.dropFirst()
            let operations = path.prefix { $0.hasPrefix("    ") }
            let method = route.method.rawValue.lowercased()
            #expect(operations.contains("    \(method):"), "\(route.method) \(route.pattern)")
        }
    }
}
