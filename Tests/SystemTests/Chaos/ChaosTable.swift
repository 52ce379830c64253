// The table that `make chaos` ends with.

/// What came of one kind of fault.
struct ChaosRow {
    var name: String
    var times: Int
    /// Counted by evaluators since the row before.
    var records = 0
    var lost = 0
    var doubled = 0
    var stragglers = 0
    /// From the end of the fault until all was counted that was in the log by then.
    var recoveredMilliseconds: Int64?
    var result = "as undisturbed"

    static let failed = "FAILED"
    private static let widths = [30, 5, 10, 6, 7, 10, 9]
    private static let head = [
        "fault", "times", "records in", "lost", "doubled", "stragglers", "recovered", "result",
    ]

    static func table(_ rows: [ChaosRow]) -> String {
        ([heading] + rows.map(\.line)).joined(separator: "\n")
    }

    static var heading: String { aligned(head) }
    var line: String { Self.aligned(cells) }

    private static func aligned(_ cells: [String]) -> String {
        let padded = zip(cells, widths).enumerated().map { index, cell in
            let room = String(repeating: " ", count: max(0, cell.1 - cell.0.count))
            return index == 0 ? cell.0 + room : room + cell.0
        }
        return (padded + cells.suffix(1)).joined(separator: "  ")
    }

    private var cells: [String] {
        [
            name, "\(times)", "\(records)", "\(lost)", "\(doubled)", "\(stragglers)",
            recoveredMilliseconds.map { "\($0 / 1_000).\($0 % 1_000 / 100) s" } ?? "", result,
        ]
    }
}
