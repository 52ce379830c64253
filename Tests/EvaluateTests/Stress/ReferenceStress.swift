// The stress index once more, as plainly as it can be said: every fact is kept for ever, and both
// windows are counted anew at every full minute.

enum ReferenceStress {
    /// What is told of an app at a tick, in words that both sides write alike.
    struct Told: Equatable, CustomStringConvertible {
        var tick: Int64
        var app: String
        /// Nil: nothing is left.
        var text: String?

        var description: String { "\(tick) \(app) \(text ?? "none")" }
    }

    struct Rule {
        var perThousand: Double?
        var isOfDay = false
        var trend: Double?
        var minImpressions = 0
        var nonFatals: Int
    }

    private struct Counts {
        var (impressions, signals, dismissals, delay) = (0, 0, 0, 0)

        var text: String { "\(impressions)/\(signals)/\(dismissals)/\(delay)" }
    }

    private struct App {
        var isCounted = false
        var facts: [ReferenceRecord] = []
        var text: String?
        var toldAt: Int64 = 0
    }

    /// A window of so many panes, for a tick: DESIGN section 4, "Windows".
    private static func times(_ tick: Int64, pane: Int64, panes: Int64) -> Range<Int64> {
        let k = floorDivide(tick - 1, pane)
        return (k - panes + 1) * pane..<(k + 1) * pane
    }

    static func told(over input: [String], _ rules: [Rule]) -> [Told] {
        var records: [ReferenceRecord] = []
        var last: Int64 = 0
        for text in input {
            guard let line = JSONText(text), let append = line["append"]?.integer else { continue }
            last = append
            if let value = line["value"] {
                records += ReferenceRecord.events(of: value, append: append)
            }
        }
        var told: [Told] = []
        var apps: [String: App] = [:]
        var next = 0
        var tick = (records.first.map { $0.append } ?? last) / 60_000 * 60_000
        while tick <= last {
            while next < records.count, records[next].append < tick {
                take(records[next], into: &apps)
                next += 1
            }
            for app in apps.keys.sorted() {
                told += tell(app, &apps[app, default: App()], at: tick, rules)
            }
            tick += 60_000
        }
        return told
    }

    private static func take(_ record: ReferenceRecord, into apps: inout [String: App]) {
        let isSign: Bool
        switch record.meaning {
        case .softError(let isSignal): isSign = isSignal
        case .dismissal: isSign = true
        case .impression: isSign = false
        default: return
        }
        guard isSign || record.meaning == .impression else { return }
        if isSign { apps[record.app, default: App()].isCounted = true }
        if apps[record.app]?.isCounted == true { apps[record.app]?.facts.append(record) }
    }

    private static func tell(
        _ name: String, _ app: inout App, at tick: Int64, _ rules: [Rule]
    ) -> [Told] {
        guard app.isCounted else { return [] }
        let day = times(tick, pane: 3_600_000, panes: 24)
        app.facts.removeAll { $0.time < day.lowerBound }
        let isAnnoying = app.facts.contains { $0.meaning != .impression }
        guard isAnnoying else {
            let wasTold = app.text != nil
            app = App()
            return wasTold ? [Told(tick: tick, app: name, text: nil)] : []
        }
        let countries = Set(app.facts.compactMap(\.country)).sorted()
        let text =
            ([nil] + countries).map { country in
                let facts = app.facts.filter { country == nil || $0.country == country }
                return (country ?? "all") + " " + words(of: facts, at: tick, rules)
            }.joined(separator: "; ")
        guard text != app.text || tick - app.toldAt >= 3_600_000 else { return [] }
        app.text = text
        app.toldAt = tick
        return [Told(tick: tick, app: name, text: text)]
    }

    private static func words(
        of facts: [ReferenceRecord], at tick: Int64, _ rules: [Rule]
    ) -> String {
        let hour = counts(facts, times(tick, pane: 300_000, panes: 12))
        let day = counts(facts, times(tick, pane: 3_600_000, panes: 24))
        var nonFatals = 0
        for rule in rules {
            let window = rule.isOfDay ? day : hour
            guard window.impressions >= rule.minImpressions else { continue }
            if let limit = rule.perThousand {
                guard window.impressions > 0,
                    Double(window.signals) * 1_000 >= limit * Double(window.impressions)
                else { continue }
            }
            if let limit = rule.trend {
                guard hour.dismissals > 0, day.delay > 0 else { continue }
                let trend =
                    Double(hour.delay) * Double(day.dismissals)
                    / (Double(hour.dismissals) * Double(day.delay))
                guard trend >= limit else { continue }
            }
            nonFatals = max(nonFatals, rule.nonFatals)
        }
        return "\(hour.text) \(day.text) nf\(nonFatals)"
    }

    private static func counts(_ facts: [ReferenceRecord], _ times: Range<Int64>) -> Counts {
        var counts = Counts()
        for fact in facts where times.contains(fact.time) {
            switch fact.meaning {
            case .impression: counts.impressions += fact.count
            case .softError: counts.signals += 1
            case .dismissal(let delay):
                counts.dismissals += fact.count
                counts.delay += fact.count * delay
            default: break
            }
        }
        return counts
    }
}
