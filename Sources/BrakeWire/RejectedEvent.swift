// What could not be used, as a value.

package import BrakeModel

/// An event that could not be used.
package struct RejectedEvent: Sendable, Equatable {
    /// Its place in the array or upload, nil when the record as a whole could not be used.
    package var index: Int?
    /// Its event id, where that could be read.
    package var id: String?
    /// Its app, where that could be read.
    package var app: AppID?
    package var reason: Rejection
    /// Where the event lies in the bytes that were decoded, nil for all of them.
    package var bytes: Range<Int>?

    package init(
        index: Int?, id: String? = nil, app: AppID? = nil, reason: Rejection,
        bytes: Range<Int>? = nil
    ) {
        self.index = index
        self.id = id
        self.app = app
        self.reason = reason
        self.bytes = bytes
    }
}
