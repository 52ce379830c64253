// The OpenAPI document has every path that the collector answers.
import HTTPServer
import OpenAPITestSupport
import Testing

@Suite struct OpenAPITests {
    @Test func `every route of the collector is in the document`() throws {
        let routes = try GateWorld().routes
        // The same without a slash at the end is for SDKs that leave it out.
        let documented = routes.filter { $0.pattern != "/api/{project}/envelope" }
        #expect(try OpenAPIDocument().missing(of: documented) == [])
    }

    @Test func `a route that is not in the document is noticed`() throws {
        let route = Route(.delete, "/v1/events") { _ in Response(200) }
        #expect(try OpenAPIDocument().missing(of: [route]) == ["DELETE /v1/events"])
    }
}
