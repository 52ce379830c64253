// What a person can set of the bridge to Remote Config.

package import BrakeModel

/// Settings of a bridge; times in milliseconds.
package struct BridgeSettings: Sendable {
    package static let parameterName = "ad_throttle_state"

    package var account: ServiceAccount
    /// The id of the Firebase project.
    package var project: String
    /// Where the service is.
    package var api: String
    package var parameter = BridgeSettings.parameterName
    /// The app whose state is the parameter's default; nil: the default is left alone.
    package var usual: AppID?
    /// Apps with the ids that Firebase has for them, in their order: each gets a condition.
    package var apps: [(app: AppID, firebaseID: String)] = []
    /// Between two versions, unless a state becomes stricter.
    package var spacingMilliseconds: Int64 = 60_000
    /// How often the template is looked at though nothing has changed here.
    package var lookMilliseconds: Int64 = 300_000
    /// Without an epoch for so long, nothing looser than Caution is published.
    package var validityMilliseconds: Int64 = 15 * 60_000
    /// How long a call may take.
    package var callMilliseconds = 15_000

    package init(account: ServiceAccount, project: String, api: String) {
        self.account = account
        self.project = project
        self.api = api
    }

    /// Whether Firebase could have given this id: nothing that would end the text of a condition.
    package static func isFirebaseID(_ text: some StringProtocol) -> Bool {
        (1...100).contains(text.utf8.count)
            && text.utf8.allSatisfy { AppID.isValid([$0]) || $0 == UInt8(ascii: ":") }
    }

    /// The condition of an app.
    static func condition(of app: AppID) -> String { "AdBrake \(app.text)" }

    /// The expression of each condition.
    var conditions: [String: String] {
        Dictionary(
            apps.map { (Self.condition(of: $0.app), "app.id == '\($0.firebaseID)'") },
            uniquingKeysWith: { first, _ in first })
    }

    /// Which app's state is in which slot.
    var slots: [(slot: TemplateSlot, app: AppID)] {
        (usual.map { [(TemplateSlot.usual, $0)] } ?? [])
            + apps.map { (.condition(Self.condition(of: $0.app)), $0.app) }
    }
}
