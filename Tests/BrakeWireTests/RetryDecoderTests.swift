// Values that are tried again and were never an upload of ours.
import BrakeModel
import BrakeWire
import Testing

@Suite struct RetryDecoderTests {
    private static let append: Int64 = 1_764_500_000_000
    private static let session = #"{"type":"session","id":"1","app":"a","session":"s"}"#

    @Test(arguments: [
        "\(session),\(session)", #"{"type":"session"},{"app":"a"}"#, "{},{}", "1,2", ",", "],[",
        "\(session)],[\(session)", "}", "\(session)]", "\(session)}", "\"", "\(session)\"", "\\",
        "{",
    ])
    func `A value that is no array and more or less than an event is refused whole`(text: String) {
        let upload = RetryDecoder().decode(Array(text.utf8), append: Self.append)
        #expect(upload.records.isEmpty)
        #expect(upload.rejected.map(\.reason) == [.badJSON])
        #expect(upload.rejected.map(\.index) == [nil])
    }

    @Test func `An event is one, alone and in an array`() {
        for text in [Self.session, " \(Self.session)\n", "[\(Self.session)]"] {
            let upload = RetryDecoder().decode(Array(text.utf8), append: Self.append)
            #expect(upload.records.map(\.count) == [1])
            #expect(upload.rejected.isEmpty)
        }
    }
}
