// When a log that does not answer is out of reach.

/// Questions in a row that found no answer.
struct Silence {
    /// How long the log may be out of reach before polls say so.
    static let milliseconds: Int64 = 10_000
    /// Fewer say little, however far apart they are: a worker asks nothing while it waits for a
    /// commit, and the first question after that may meet a broker that has just lost its place.
    static let questionsMin = 5

    private var questions = 0
    private var first: Int64 = 0
    private var last: Int64 = 0

    /// Takes note of one more question without an answer, asked at this time.
    mutating func grow(at now: Int64) {
        if questions == 0 { first = now }
        last = now
        questions += 1
    }

    var isTooLong: Bool {
        questions >= Silence.questionsMin && last - first >= Silence.milliseconds
    }
}
