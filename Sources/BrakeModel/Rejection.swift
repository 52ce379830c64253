// Bad data is not an error but a value: what could not be used, and why.

/// Why an event could not be used. Counted and set aside; nothing else is affected.
public enum Rejection: String, Error, Sendable, CaseIterable {
    /// Not JSON, or not UTF-8.
    case badJSON = "bad_json"
    /// JSON, but neither an object nor an array of objects.
    case notAnObject = "not_an_object"
    /// More than the record may have: 16 kB an event, 256 kB or 1 000 events an array.
    case tooLarge = "too_large"
    /// No `type`, or one that is not ours.
    case unknownType = "unknown_type"
    /// The type is not that of the topic or of the array.
    case wrongType = "wrong_type"
    /// No `app`, or not 1 to 64 of `[A-Za-z0-9._-]`.
    case badApp = "bad_app"
    /// The app is not the record's key or the array's app.
    case wrongApp = "wrong_app"
    /// `at`, `sent` or `session_at` is not a finite positive number.
    case badTime = "bad_time"
    /// A field has the wrong JSON type or is too long.
    case badField = "bad_field"
    /// A record with no value where one is needed.
    case empty = "empty"
    /// A record version that this build does not know.
    case unknownVersion = "unknown_version"
    /// The process has as many apps as it may have.
    case tooManyApps = "too_many_apps"
}
