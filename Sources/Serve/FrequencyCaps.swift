// Base caps eased for people who are annoyed, and held by the state.

package import BrakeModel

extension FrequencyCaps {
    /// These base caps after so many signs of annoyance: never above the base, and never more an
    /// hour than a day.
    package func eased(by annoyance: Annoyance) -> FrequencyCaps {
        var caps = self
        switch annoyance {
        case .none: break
        case .once: caps.perHour = max(1, perHour - 1)
        case .repeated:
            caps.perHour = max(1, perHour / 2)
            // In integers: 0.6 is no exact binary fraction. Divided first, so that nothing
            // overflows.
            caps.perDay = max(2, perDay / 5 * 3 + perDay % 5 * 3 / 5)
        }
        caps.perDay = min(caps.perDay, perDay)
        caps.perHour = min(caps.perHour, perHour, caps.perDay)
        return caps
    }

    /// What is left of them in a state.
    package func allowed(in state: ThrottleState) -> FrequencyCaps {
        state >= .throttle ? .none : self
    }
}

/// How often a person has been annoyed by ads lately, the `nf` of a request.
package enum Annoyance: Sendable, Comparable {
    case none
    case once
    /// Twice or more; also what is no count at all, to be on the safe side.
    case repeated

    /// The count as a request gives it; nil when it gives none.
    package init(_ text: String?) {
        guard let text else {
            self = .none
            return
        }
        let digits = text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard digits, !text.isEmpty else {
            self = .repeated
            return
        }
        let count = text.drop(while: { $0 == "0" })
        self = count.isEmpty ? .none : count == "1" ? .once : .repeated
    }
}
