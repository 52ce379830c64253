// The stages as tests start them: on a free port of loopback, over the workplace's file, quick.

extension Workplace {
    /// What every stage that evaluates gets, on top of its listener and the log.
    func evaluating() throws -> [String] {
        [
            "--policy", try write("quick.json", QuickPolicy.text), "--snapshot-every", "1s",
            "--idle-lag", "100ms",
        ]
    }

    /// Starts a stage; whoever does so closes it.
    func start(_ stage: String, _ options: [String] = []) throws -> Child {
        try Child([stage, "--listen", "127.0.0.1:0", "--log", place] + options)
    }
}
