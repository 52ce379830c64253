// An account for these tests alone. Its key was made for them and opens nothing.
import BrakeWire

@testable import Bridge

enum TestAccount {
    static let email = "adbrake@test-project.iam.gserviceaccount.com"

    static let key = """
        -----BEGIN PRIVATE KEY-----
        MIIEvAIBADANBgkqhkiG9w0BAQEFAASCBKYwggSiAgEAAoIBAQCcc1JunGZffWXD
        Jd16Et8m6VmhutS3yBXtwDSSnVyVHWw5UtlMYeD5fC/1gpVZSOVKLARyneWwzmfL
        6QVka+tXKjErdd/MVr7B7y77Ekjb1HxOck/pYSybrkwxT9TV4KkuACLyapfPNOQy
        1k9xO4ppfBoGWZkoExodvRmdIjiBulJ4C8HdHcwiv8w17gNps0iXA3v4joViu2fA
        iu0G+Ax4d+ptrP8N8VeWhVUQWOOwUyTvAISY0zcLjXVjFtYgSD+3X8YjRZV+GxFs
        s2Tl+rl/WZzIJ6Qk9oSq1QmGat8NEbHU/DEfK0Vi/0mjcLSi8xIM5DTHwtRjgwv+
        BvRjr7VhAgMBAAECggEAGt+XQP81+YCPbowuRTYBJUyvc/+k4tWoaKCblzSXDtkR
        Oi6AO2XTsF8T2NrfnwjNs+YoNGzpY6usuiKyZavA7sXFUOcMNGwRE7xrSD69i58t
        5AawMdEaibpQhabmEv/mZ4un9RZ4saOu8AmOd0+IKLLjwIP68h6H3aRaBjr21FeB
        aiJY3xqKAIKw1jkVOJW39YKNmWTSJN6C8n+Cr3oJT8v4b5huAhuvIp+4byTbOkwu
        M6Ebds1oE4fSOMNdmq8Y0J+VeitZa4XflU4ot3nYxxNcgDPW74eEzSapKI6eu0tW
        n/GUVLnD27H628YvWKfGzgdXRCk521S3PSz5b+fWXQKBgQDJxE3+mzVg9qr9nvoF
        hthrTXyHaepJ/I01HPUqmeDGI7dCtrUOZnKbyVffm3IQuHhRu9P8KhNZVU41WpCz
        srW5V0x8qmPY+l+pDiWahasMYSCan9cK35Dtf/GdNlVahK+nG5RzkDZvi/g8EUd2
        BCrZsnX+mwEh22TGuc5AHHSYbQKBgQDGgMXgGvux4NJSXpSJwBAPX+GWMHko71U+
        D3aOBpTNun6fI9CxTY5cyHHvn7RtcBxaWQNzCon5DywItV07eGXsoWO2rfrkN6g2
        QusM6zA/jGkai69RLgJEjToAhY2N/rJUml7h39f1SSxqQ0QpUkMJ+M/XzNAdXf6o
        vNcO0ukgRQKBgCtV2lqhA2n8EOXAS3r8Z2dEkUaUXRnfAIUz3wRzYG+uJCJUE7cw
        EdWb/R+tx2YH+O+1I+a5MsaxJ8cV2JZ//7/7HBZ6kk98Fye8Ph9eLkrOYa5UPl+7
        fOlF3aMilFqIvSFrLwtTIh37NinQnESgyINRbT5uFGQtNwvnxIDIm9JRAoGAZwSV
        rQTT8zDWdmEXfZXrv87m6GcnuhLbjmXABV1tBIfxBu4zdJDnfUeZud6MaO9yB4GC
        xMWHbXZuR+a4CBEn9HKdqUUJnD82UVLRYdb9Jz3bnic4SU0zaBhTLcoh+LtiGX40
        F81v6qCbKFrYmQlUOWyjkT9+En+hljjK86qJynECgYByEdlZJXTWBNWJt2TYqPwM
        kqYbn0B+0NmxZR/OoBYL/4PzipAl0aXlyQ5Ohfhu08Pf6uhcVu3n+NHekTswye7+
        M1GidOprqbyc/GYerGsxKT7a8yOH/ghtnHRBmrweesbqHyYk+acxjiRNkyD+TqTy
        XU690DWW1qH4z1hiNJ47Vw==
        -----END PRIVATE KEY-----
        """

    /// A key of another kind.
    static let curveKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgwSQ100w6QwQh9V7j
        P+fF4k7sPQXLPgRq8ojExGQX+yihRANCAASp217jbISZc0fxa9atRBpBiokHivR+
        nGjcSdoeWAmCkSrElx0ubKDMp8L1xMhV0CIeAWW177wjB96VwdPisRJw
        -----END PRIVATE KEY-----
        """

    /// `printf 'signed by hand' | openssl dgst -sha256 -sign key.pem`, in base 64 for addresses.
    static let signature = """
        SjaBbOo1UruUw6hDuiz2Cp6BJvHOhBYZ-9xRpgyJlJk6DBvSU7b_p6s0QXncgZS5TRK9pCrpi3EGi3xd\
        akdJT_Az7llEUc326JvQfkCnVXkjLh-oY5C85Za7eTCUkMdSmpvE4VjNeSZxiaL_LzNmf9wDluo-NWDf\
        h5kQJqcI3m-blvoH1OpsLBaDQhpKmF3Sc7bL2WbDKgly-55Do6gJf9bpaRbU4YrWm0K50eGhGllt_J4F\
        bRuT89BrkVTQjOfaaSYXX4SInKcqd01IkFoo9dQ5bW4BJ3CRuCuUTQ4uAv0nIbTtIyYd8htUl-30Kwq-\
        gg7HSzxGLdJGNA8bmP3fkQ
        """

    /// A key file, with other fields than usual if given.
    static func file(
        tokens: String = "http://127.0.0.1:1/token", key: String = TestAccount.key,
        type: String = "service_account"
    ) -> [UInt8] {
        JSONWriter.bytes { json in
            json.object { file in
                file.field("type", type)
                file.field("project_id", "test-project")
                file.field("private_key_id", "0123456789abcdef")
                file.field("private_key", key + "\n")
                file.field("client_email", email)
                file.field("token_uri", tokens)
            }
        }
    }
}
