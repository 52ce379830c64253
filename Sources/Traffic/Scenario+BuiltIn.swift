// The scenarios that the program has with it. A test keeps them equal to the files in
// ops/scenarios.

extension Scenario {
    /// All of them, by name.
    package static let builtIn: [Scenario] = [
        .calm, .adSDKCrash, .loopingDevice, .launchCrash, .night,
    ]

    package static func builtIn(named name: String) -> Scenario? {
        builtIn.first { $0.name == name }
    }

    private static let calm = Scenario(
        name: "calm", about: "A healthy fleet: now and then an app crashes, as apps do.")

    private static let adSDKCrash = Scenario(
        name: "ad-sdk-crash",
        about: "An update of an ad SDK crashes a third of the apps at full-screen ads.",
        troubles: [
            Trouble(
                .adCrash(share: 0.2, formats: [.interstitial, .appOpen], vendor: "acme-ads"),
                appsShare: 0.33, from: 90, to: 210)
        ])

    private static let loopingDevice = Scenario(
        name: "looping-device",
        about: "One device of an app crashes at launch, dozens of times a minute; others are well.",
        troubles: [Trouble(.crashLoop(perMinute: 40), appsShare: 0.01, from: 60, to: 600)])

    private static let launchCrash = Scenario(
        name: "launch-crash",
        about: "A build dies at launch before it can report: starts go on, signs of life fall.",
        troubles: [Trouble(.launchCrash(share: 0.8), appsShare: 0.33, from: 600, to: 1_500)])

    private static let night = Scenario(
        name: "night", about: "Traffic falls to a hundredth and comes back: no app is at fault.",
        troubles: [Trouble(.lull(share: 0.01), from: 900, to: 2_700)])
}
