// Values that other processes and languages must agree on.

import BrakeModel
import Testing

@Suite struct ModelTests {
    @Test(
        "apps go where the Java client puts them",
        arguments: [
            ("21", -973_932_308), ("foobar", -790_332_482),
            ("a-little-bit-long-string", -985_981_536),
            ("a-little-bit-longer-string", -1_486_304_829),
            ("lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58_897_971), ("abc", 479_470_107),
        ])
    func partition(key: String, murmur2: Int) {
        let positive = Int(UInt32(bitPattern: Int32(murmur2)) & 0x7fff_ffff)
        for partitions in [1, 4, 16, 100] {
            #expect(
                Partitioner.partition(of: key.utf8, partitions: partitions)
                    == positive % partitions)
        }
    }

    @Test("hashes never change: snapshots hold them")
    func hashesAreStable() {
        let longest = String(repeating: "x", count: 64)
        let texts = ["", "a", "12345678", "123456789", "my.app-1_2", longest]
        #expect(
            texts.map { StableHash.of($0) } == [
                9_172_221_799_168_211_355, 13_668_364_767_208_507_504,
                13_932_538_592_521_412_262, 6_045_573_210_414_866_898,
                12_875_391_477_249_216_862, 6_888_096_814_786_735_967,
            ])
    }

    @Test("of any length a hash is that of its words, one after the other")
    func hashesOfAnyLength() {
        for count in 0...80 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 151 &+ count) }
            let hash = unsafe bytes.withUnsafeBytes { unsafe StableHash.of($0) }
            #expect(hash == plainHash(bytes), "\(count) bytes")
        }
    }

    /// As the snapshot format has it, a byte at a time.
    private func plainHash(_ bytes: [UInt8]) -> UInt64 {
        func fold(_ one: UInt64, _ other: UInt64) -> UInt64 {
            let product = one.multipliedFullWidth(by: other)
            return product.high ^ product.low
        }
        func word(_ places: Range<Int>) -> UInt64 {
            places.reversed().reduce(0) { $0 << 8 | UInt64(bytes[$1]) }
        }
        let (first, second) = (0x243f_6a88_85a3_08d3 as UInt64, 0x1319_8a2e_0370_7344 as UInt64)
        var hash = first ^ UInt64(bytes.count)
        let whole = bytes.count / 8 * 8
        for place in stride(from: 0, to: whole, by: 8) {
            hash = fold(hash ^ word(place..<place + 8), second)
        }
        hash = fold(hash ^ word(whole..<bytes.count) ^ 0xa409_3822_299f_31d0, second &+ hash)
        return hash == 0 ? first : hash
    }

    @Test("an app id is 1 to 64 of its characters")
    func appID() {
        #expect(AppID("my.app_1-B")?.text == "my.app_1-B")
        #expect(AppID("") == nil)
        #expect(AppID("a b") == nil)
        #expect(AppID("é") == nil)
        #expect(AppID(String(repeating: "a", count: 64)) != nil)
        #expect(AppID(String(repeating: "a", count: 65)) == nil)
    }

    @Test("state words are exact")
    func stateWords() {
        #expect(ThrottleState(name: "Halt") == .halt)
        #expect(ThrottleState(name: "HALT") == nil)
        #expect(ThrottleState.normal.eased == .normal)
        #expect(ThrottleState.halt.raised == .halt)
    }
}
