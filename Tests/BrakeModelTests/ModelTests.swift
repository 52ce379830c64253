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
