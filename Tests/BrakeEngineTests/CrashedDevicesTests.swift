// Distinct devices in every window, up to where counting stops.

import Testing

@testable import BrakeEngine

@Suite struct CrashedDevicesTests {
    @Test("distinct devices of each window as in a list", arguments: 0..<20)
    func agreesWithList(seed: UInt64) {
        var random = Seeded(seed)
        var devices = CrashedDevices()
        var crashes: [(device: UInt64, second: Int)] = []
        let head = 500_000
        for _ in 0..<(seed < 10 ? 500 : 14_000) {
            let device = UInt64(random.below(seed < 10 ? 80 : 9_000))
            let second = head - random.below(3_500)
            devices.insert(device, at: UInt32(second))
            crashes.append((device, second))
        }
        for (window, pane) in [1, 10, 60].enumerated() {
            let distinct = Set(
                crashes.filter { $0.second / pane > head / pane - 60 }.map(\.device))
            #expect(
                devices.count(window: window, head: UInt32(head)) == min(distinct.count, 4_096),
                "seed \(seed), window \(window)")
        }
    }
}
