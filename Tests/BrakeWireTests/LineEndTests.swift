// Where lines end, held against a plain search.
import BrakeModel
import BrakeWire
import Testing

@Suite struct LineEndTests {
    @Test func `finds what a plain search finds, from every place`() {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        // Bytes beside the newline, and the same with the highest bit, are what could be mistaken.
        let bytes: [UInt8] = [0x0a, 0x09, 0x0b, 0x8a, 0x00, 0xff, 0x20, 0x1a, 0x0e]
        for length in 0..<48 {
            let text = (0..<length).map { _ in
                bytes[Int.random(in: 0..<20, using: &random) % bytes.count]
            }
            unsafe text.withUnsafeBytes { text in
                for start in 0...length {
                    let expected = unsafe text[start...].firstIndex(of: 0x0a)
                    let found = unsafe LineEnd.place(in: text, from: start)
                    #expect(found == expected, "seed \(seed), length \(length), from \(start)")
                }
            }
        }
    }
}
