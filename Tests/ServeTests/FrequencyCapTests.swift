// Caps by table: base, annoyance, state, as section 6 of the design has them.
import BrakeModel
import Serve
import Testing

@Suite struct FrequencyCapTests {
    @Test(
        "annoyed people see fewer ads, never more than the base",
        arguments: [
            // base hour, base day, nf, hour, day
            (3, 8, nil, 3, 8), (3, 8, "0", 3, 8), (3, 8, "1", 2, 8), (3, 8, "2", 1, 4),
            (3, 8, "17", 1, 4), (3, 8, "", 1, 4), (3, 8, "-1", 1, 4), (3, 8, "1.5", 1, 4),
            (3, 8, "many", 1, 4), (3, 8, "+1", 1, 4), (3, 8, "99999999999999999999", 1, 4),
            (3, 8, "000", 3, 8), (3, 8, "01", 2, 8),
            (1, 2, "1", 1, 2), (1, 2, "2", 1, 2), (1, 1, "2", 1, 1), (0, 0, "1", 0, 0),
            (0, 0, "2", 0, 0), (0, 5, "1", 0, 5), (10, 10, "2", 5, 6), (10, 5, "1", 5, 5),
            (10, 5, "0", 5, 5), (7, 35, "2", 3, 21), (3, 3, "2", 1, 2), (2, 5, "2", 1, 3),
            (Int.max, Int.max, "2", Int.max / 2, Int.max / 5 * 3 + 1),
        ] as [(Int, Int, String?, Int, Int)])
    func easing(_ baseHour: Int, _ baseDay: Int, _ nf: String?, _ hour: Int, _ day: Int) {
        let caps = FrequencyCaps(perHour: baseHour, perDay: baseDay).eased(by: Annoyance(nf))
        #expect(caps == FrequencyCaps(perHour: hour, perDay: day))
    }
}
