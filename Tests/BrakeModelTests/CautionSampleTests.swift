// The sample of people in Caution: by vectors that every client has to agree with.

import BrakeModel
import Foundation
import Testing

@Suite struct CautionSampleTests {
    private struct Vector: Decodable {
        var salt: String
        var person: String
        var bucket: Int
    }

    @Test("every vector has its bucket, in every process and release")
    func vectors() throws {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appending(path: "schemas/caution-sample.json")
        let vectors = try JSONDecoder().decode([Vector].self, from: Data(contentsOf: file))
        #expect(vectors.count > 40)
        for vector in vectors {
            let bucket = CautionSample.bucket(of: vector.person, salt: vector.salt)
            #expect(bucket == vector.bucket, "\(vector)")
        }
    }

    @Test("it is half of the people, and another half for another app")
    func half() throws {
        let people = (0..<20_000).map { "person-\($0)" }
        let apps = try ["one", "two"].map { try #require(AppID($0)) }
        let allowed = apps.map { app in people.map { CautionSample.allows($0, in: app) } }
        // Half of 20 000, give or take nine deviations.
        for app in allowed { #expect((9_360...10_640).contains(app.count { $0 })) }
        let alike = zip(allowed[0], allowed[1]).count { $0 == $1 }
        #expect((9_360...10_640).contains(alike))
    }
}
