// The evaluation once more, as plainly as it can be said: every record is kept for ever and every
// window is counted anew. Written from DESIGN section 4 alone, so that it can disagree with the
// engine; slow on purpose.

/// A throttle record, by the reference or by the code under test.
struct ReferenceChange {
    var tick: Int64
    var app: String
    var state: String
    var cause: String
    var rule: String?
    var revision: Int
    /// The windows of 60, 600 and 3600 s.
    var windows: [Window]

    struct Window {
        var seconds: Int
        /// By the name a throttle record gives them.
        var counts: [String: Int]
        var rate: Double?
        var low: Double?
        var high: Double?
    }
}

enum Reference {
    private static let controlTypes: Set = ["policy", "assignment", "override", "cap"]

    /// The throttle changes over an input as `adbrake replay --input` takes it, in the order of
    /// tick, then app.
    static func changes(over input: [String], _ policy: ReferencePolicy) -> [ReferenceChange] {
        var records: [String: [ReferenceRecord]] = [:]
        var controls: [ReferenceControl] = []
        var last: Int64 = 0
        for text in input {
            guard let line = JSONText(text), let append = line["append"]?.integer else { continue }
            last = append
            guard let value = line["value"] else { continue }
            if let type = value["type"]?.string, controlTypes.contains(type) {
                controls.append(ReferenceControl(append: append, value: value))
                // A person has decided about this app: it is known from then on.
                if type == "override", let app = value["app"]?.string, app != "*" {
                    records[app, default: []] += []
                }
                continue
            }
            for event in ReferenceRecord.events(of: value, append: append) {
                records[event.app, default: []].append(event)
            }
        }
        return
            records
            .flatMap { changes(of: $0.key, $0.value, controls, until: last, policy) }
            .sorted { ($0.tick, $0.app) < ($1.tick, $1.app) }
    }

    /// The changes of one app: no app depends on another.
    private static func changes(
        of app: String, _ records: [ReferenceRecord], _ controls: [ReferenceControl],
        until last: Int64, _ base: ReferencePolicy
    ) -> [ReferenceChange] {
        var course = ReferenceCourse(app, records, controls, base)
        guard var tick = course.firstTime(records) else { return [] }
        var changes: [ReferenceChange] = []
        while tick <= last {
            if let change = course.pass(tick) { changes.append(change) }
            guard let next = course.next(after: tick) else { break }
            tick = next
        }
        return changes
    }
}
