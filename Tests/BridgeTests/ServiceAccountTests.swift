// Key files, and proofs signed with them.
import BrakeWire
import Testing

@testable import Bridge

@Suite struct ServiceAccountTests {
    @Test func `a signature is the one that OpenSSL's own tool makes`() throws {
        let signature = try ServiceAccount.signature(
            of: Array("signed by hand".utf8), key: TestAccount.key)
        #expect(Base64URL.text(signature) == TestAccount.signature)
    }

    @Test(arguments: [
        ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"),
        ("fooba", "Zm9vYmE"), ("foobar", "Zm9vYmFy"), ("\u{3ff}\u{3ff}\u{3fe}", "z7_Pv8--"),
    ])
    func `base 64 for addresses is that of RFC 4648`(_ text: String, _ encoded: String) {
        #expect(Base64URL.text(Array(text.utf8)) == encoded)
    }

    @Test func `a proof names the account, the right asked for, and an hour`() throws {
        let account = try ServiceAccount(file: TestAccount.file())
        let proof = try account.proof(nowSeconds: 1_800_000_000)
        let parts = proof.split(separator: ".")
        #expect(parts.count == 3)
        let claims = try #require(DocumentReader().read(ProofReading.bytes(parts[1])))
        #expect(claims["iss"]?.text == TestAccount.email)
        #expect(claims["aud"]?.text == "http://127.0.0.1:1/token")
        #expect(claims["scope"]?.text?.hasSuffix("firebase.remoteconfig") == true)
        #expect(claims["iat"]?.integer == 1_800_000_000)
        #expect(claims["exp"]?.integer == 1_800_003_600)
        let head = try #require(DocumentReader().read(ProofReading.bytes(parts[0])))
        #expect(head["alg"]?.text == "RS256")
        #expect(head["kid"]?.text == "0123456789abcdef")
    }

    @Test(arguments: [
        (Array("{".utf8), "no JSON"),
        (TestAccount.file(type: "authorized_user"), "type is not service_account"),
        (Array(#"{"type":"service_account"}"#.utf8), "lacks client_email"),
        (TestAccount.file(key: "none"), "no key in PEM"),
        (TestAccount.file(key: TestAccount.curveKey), "not RSA"),
    ])
    func `a key file that is none is refused with the reason`(
        _ bytes: [UInt8], _ reason: String
    ) throws {
        let fault = #expect(throws: BridgeFault.self) { try ServiceAccount(file: bytes) }
        let words = fault?.description ?? ""
        #expect(words.contains(reason) && words.contains("key file"), "\(words)")
        // A key is never repeated.
        #expect(!words.contains("PRIVATE"))
    }
}

/// Takes proofs apart.
enum ProofReading {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")

    static func bytes(_ text: Substring) -> [UInt8] {
        var bytes: [UInt8] = []
        var word = 0
        var bits = 0
        for digit in text {
            word = (word << 6 | (digits.firstIndex(of: digit) ?? 0)) & 0xffff
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(word >> bits & 0xff))
            }
        }
        return bytes
    }
}
