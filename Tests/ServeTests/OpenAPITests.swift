// The OpenAPI document has every path that the edge answers.
import OpenAPITestSupport
import Serve
import Testing

@Suite struct OpenAPITests {
    @Test func `every route of the edge is in the document`() throws {
        #expect(try OpenAPIDocument().missing(of: EdgeWorld().edge.routes) == [])
    }
}
