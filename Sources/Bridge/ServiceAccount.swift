// The account in whose name the bridge writes: Google's key file, and the proofs signed with it.

import BrakeWire
internal import COpenSSL

/// A service account with its private key.
package struct ServiceAccount: Sendable {
    /// Key files are small.
    package static let bytesMax = 64 << 10
    /// What the bridge asks for: nothing beyond Remote Config.
    static let scope = "https://www.googleapis.com/auth/firebase.remoteconfig"
    /// The longest that a proof may be good for.
    private static let proofSeconds: Int64 = 3_600

    let email: String
    package let project: String?
    let tokenAddress: String
    private let keyID: String?
    private let key: String

    /// The account of a key file's bytes; throws what is wrong with them.
    package init(file bytes: [UInt8]) throws(BridgeFault) {
        func fault(_ reason: String) -> BridgeFault {
            BridgeFault(
                "read the service account", reason: reason,
                hint: "take the JSON key file that the Google console makes for the account",
                remedy: .stop)
        }
        guard let document = DocumentReader(bytesMax: Self.bytesMax).read(bytes) else {
            throw fault("it is no JSON")
        }
        guard document["type"]?.text == "service_account" else {
            throw fault("its type is not service_account")
        }
        guard let email = document["client_email"]?.text, let key = document["private_key"]?.text,
            let address = document["token_uri"]?.text
        else { throw fault("it lacks client_email, private_key or token_uri") }
        self.email = email
        self.key = key
        tokenAddress = address
        keyID = document["private_key_id"]?.text
        project = document["project_id"]?.text
        // Better known now than at the first change of state.
        do throws(BridgeFault) { _ = try Self.signature(of: [0], key: key) } catch {
            throw fault(error.reason)
        }
    }

    /// A signed statement that this account asks for a token now.
    func proof(nowSeconds: Int64) throws(BridgeFault) -> String {
        let head = JSONWriter.bytes { head in
            head.object { head in
                head.field("alg", "RS256")
                head.field("typ", "JWT")
                if let keyID { head.field("kid", keyID) }
            }
        }
        let claims = JSONWriter.bytes { claims in
            claims.object { claims in
                claims.field("iss", email)
                claims.field("scope", Self.scope)
                claims.field("aud", tokenAddress)
                claims.field("iat", nowSeconds)
                claims.field("exp", nowSeconds + Self.proofSeconds)
            }
        }
        let text = Base64URL.text(head) + "." + Base64URL.text(claims)
        let signature = try Self.signature(of: Array(text.utf8), key: key)
        return text + "." + Base64URL.text(signature)
    }

    /// RS256.
    static func signature(of bytes: [UInt8], key: String) throws(BridgeFault) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Int(ADBRAKE_SIGNATURE_BYTES_MAX))
        var count = 0
        let key = Array(key.utf8)
        // All three buffers live through the call, which keeps to their sizes.
        let ending = unsafe key.withUnsafeBytes { key in
            unsafe adbrake_sign_rs256(
                key.baseAddress?.assumingMemoryBound(to: CChar.self), key.count, bytes, bytes.count,
                &signature, &count)
        }
        switch ending {
        case ADBRAKE_SIGNED: return Array(signature.prefix(count))
        case ADBRAKE_NO_KEY: throw Self.badKey("its private_key is no key in PEM")
        case ADBRAKE_NOT_RSA: throw Self.badKey("its private_key is not RSA of 2048 to 8192 bits")
        default: throw Self.badKey("OpenSSL does not sign with its private_key")
        }
    }

    private static func badKey(_ reason: String) -> BridgeFault {
        BridgeFault(
            "sign", reason: reason, hint: "make a new key file for the account", remedy: .stop)
    }
}

/// Base 64 for addresses, without padding: RFC 4648, section 5.
enum Base64URL {
    private static let digits = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count * 4 + 2) / 3)
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            var word: UInt32 = 0
            for byte in group { word = word << 8 | UInt32(byte) }
            word <<= 8 * UInt32(3 - group.count)
            for place in 0...group.count {
                text.append(digits[Int(word >> (18 - 6 * UInt32(place))) & 63])
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}
