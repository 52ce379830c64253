// The console's page: whole, closed to the outside, and safe from what apps are called.
import HTTPServer
import Serve
import Testing

@Suite struct ConsoleTests {
    @Test func `the page and its policy share a nonce that no other answer has`() throws {
        let world = EdgeWorld()
        var seen: Set<String> = []
        for _ in 0..<2 {
            let response = try world.get("/")
            #expect(response.status == 200)
            let policy = try #require(response.headers["Content-Security-Policy"])
            let nonce = try #require(policy.firstMatch(of: /script-src 'nonce-([0-9a-z]+)'/)).1
            let page = String(decoding: response.bytes, as: UTF8.self)
            #expect(page.contains("<script nonce=\"\(nonce)\">"))
            #expect(page.contains("<style nonce=\"\(nonce)\">"))
            #expect(!page.contains("{{"))
            #expect(page.hasSuffix("</html>\n"))
            #expect(policy.contains("default-src 'none'"))
            #expect(!policy.contains("unsafe"))
            seen.insert(String(nonce))
        }
        #expect(seen.count == 2)
    }

    @Test func `nothing comes from outside, and no text becomes markup`() throws {
        let response = try EdgeWorld().get("/")
        let page = String(decoding: response.bytes, as: UTF8.self)
            // The name of a format, in the icon within the page.
            .replacing("http://www.w3.org/2000/svg", with: "")
        for banned in [
            "http:", "https:", "//cdn", "@import", "url(", "innerHTML", "outerHTML",
            "insertAdjacentHTML", "document.write", "eval(", " style=\"", " onclick=",
        ] {
            #expect(!page.contains(banned), "\(banned)")
        }
    }
}
