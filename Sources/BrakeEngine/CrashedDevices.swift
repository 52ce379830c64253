// The distinct devices among an app's crashes, for every window at once.

/// When each device of an app last crashed. A window holds the devices whose last crash lies in
/// it; only the newest 4096 matter, since counting stops there.
struct CrashedDevices {
    /// Counting stops here.
    static let countMax = 4096
    /// So many are kept before the oldest are dropped, so that dropping costs little a crash.
    private static let keptMax = 2 * countMax

    private var lastSeconds: [UInt64: UInt32] = [:]

    /// Notes a crash of the device.
    mutating func insert(_ device: UInt64, at second: UInt32) {
        lastSeconds[device, default: second] = max(lastSeconds[device] ?? second, second)
        if lastSeconds.count > Self.keptMax { dropOldest() }
    }

    /// Distinct devices in a window that ends at the head, at most `countMax`. O(devices).
    func count(window: Int, head: UInt32) -> Int {
        let newest = Panes.pane(ofSecond: head, window: window)
        var count = 0
        for second in lastSeconds.values
        where newest &- Panes.pane(ofSecond: second, window: window) < UInt32(Panes.perWindow) {
            count += 1
        }
        return min(count, Self.countMax)
    }

    /// Devices with their seconds in a fixed order: for snapshots.
    var sorted: [(device: UInt64, second: UInt32)] {
        lastSeconds.map { (device: $0.key, second: $0.value) }
            .sorted { ($0.second, $0.device) < ($1.second, $1.device) }
    }

    private mutating func dropOldest() {
        lastSeconds = Dictionary(
            uniqueKeysWithValues: sorted.suffix(Self.countMax).map { ($0.device, $0.second) })
    }
}
