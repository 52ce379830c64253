// The file of tokens: who may what, and what is wrong with it.
import Admin
import Testing

@Suite struct AdminTokensTests {
    @Test func `each token has a name and a role`() throws {
        let tokens = try AdminTokens(
            """
            # people
            0123456789abcdef anna write   # on call
            fedcba9876543210\tben\tread
            """)
        #expect(tokens.count == 2)
        #expect(tokens.person(of: "0123456789abcdef") == .init(name: "anna", role: .write))
        #expect(tokens.person(of: "fedcba9876543210") == .init(name: "ben", role: .read))
        #expect(tokens.person(of: "0123456789abcde") == nil)
        #expect(tokens.person(of: "") == nil)
    }

    @Test(arguments: [
        ("", "line 1: no token at all"),
        ("short anna write", "line 1: a token has 16 to 256 bytes"),
        ("\n0123456789abcdef anna", "line 2: expected a token, a name, and read or write"),
        ("0123456789abcdef anna admin", "line 1: expected a token, a name, and read or write"),
        (
            "0123456789abcdef anna read\n0123456789abcdef ben read",
            "line 2: the same token as on a line before"
        ),
    ])
    func `what is wrong is told by its line, without the token`(
        _ text: String, _ problem: String
    ) throws {
        do {
            _ = try AdminTokens(text)
            Issue.record("taken")
        } catch {
            #expect("\(error)" == problem)
            #expect(!"\(error)".contains("0123"))
        }
    }
}
