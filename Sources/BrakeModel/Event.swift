// An event as the engine takes it: numbers only. Strings have become hashes, save the app's name.

/// What an event means to the counts. Anything an app may report that has no meaning for them
/// (a session's end, a background start, a non-fatal crash, a clicked ad) is `nothing`: it only
/// makes the app known.
public enum EventMeaning: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    case nothing = 0
    /// A foreground session started.
    case start = 1
    /// A session's first sign of life.
    case alive = 2
    /// A fatal crash.
    case crash = 3
    /// A soft error without a signal of annoyance.
    case softError = 4
    /// A soft error with a signal of annoyance; counts as a soft error too.
    case signal = 5
    /// An ad was shown.
    case impression = 6
    /// An ad failed to load or to show, other than for want of ads or network.
    case adFailure = 7
    /// An ad was dismissed, after a time that the record tells.
    case dismissal = 8

    /// What a checksum of events takes of it. A dismissal is `nothing` there, as it was before it
    /// had a meaning: what older builds have counted comes out the same.
    @inlinable public var checksumBits: UInt64 { UInt64(rawValue & 7) }
}

/// A fact an app reported, decoded. Times are milliseconds since 1970; a device time that the
/// record did not have is `Event.noTime`, a text that it did not have hashes to 0.
public struct Event: Sendable, BitwiseCopyable {
    /// Stands for a device time that the record did not have.
    public static let noTime = Int64.min

    /// `StableHash` of the app's id.
    public var appHash: UInt64
    /// `StableHash` of the event id; 0: none, or none that its meaning asks for.
    public var idHash: UInt64
    /// `StableHash` of the session id; 0: none, or none that its meaning asks for.
    public var sessionHash: UInt64
    /// Of crashes the `StableHash` of the device; 0: none. Of ad events and signals, for which
    /// nobody asks who it was, their `AdCircumstances`.
    public var deviceHash: UInt64
    /// A: when the log took the record.
    public var append: Int64
    /// The device's clock when it happened.
    public var at: Int64
    /// The device's clock at this upload attempt.
    public var sent: Int64
    /// The device's clock at the start of the session that crashed; of an ad event its `count`.
    public var sessionAt: Int64
    /// Where the app's id begins in the batch's names.
    public var nameOffset: UInt32
    /// The length of the app's id, in bytes.
    public var nameLength: UInt8
    public var meaning: EventMeaning
    /// How many of its device times were not in milliseconds and have been converted.
    public var convertedTimes: UInt8

    /// How many equal ad events it stands for, at least 1. It lies where only crashes have
    /// something else, so that an event takes nine words.
    @inlinable public var count: Int64 {
        get { sessionAt == Event.noTime ? 1 : sessionAt }
        set { sessionAt = newValue == 1 ? Event.noTime : newValue }
    }

    /// Where an ad event or a signal happened, and after what delay. It lies where crashes have
    /// their device, so that an event takes nine words.
    @inlinable public var circumstances: AdCircumstances {
        get { AdCircumstances(bits: deviceHash) }
        set { deviceHash = newValue.bits }
    }

    /// Makes an event; what is left out is absent.
    public init(
        appHash: UInt64, meaning: EventMeaning, append: Int64, at: Int64 = Event.noTime,
        sent: Int64 = Event.noTime, sessionAt: Int64 = Event.noTime, idHash: UInt64 = 0,
        sessionHash: UInt64 = 0, deviceHash: UInt64 = 0, nameOffset: UInt32 = 0,
        nameLength: UInt8 = 0, convertedTimes: UInt8 = 0
    ) {
        self.appHash = appHash
        self.idHash = idHash
        self.sessionHash = sessionHash
        self.deviceHash = deviceHash
        self.append = append
        self.at = at
        self.sent = sent
        self.sessionAt = sessionAt
        self.nameOffset = nameOffset
        self.nameLength = nameLength
        self.meaning = meaning
        self.convertedTimes = convertedTimes
    }
}

/// What is told of an ad event besides its kind, in one word.
public struct AdCircumstances: Sendable, Equatable, BitwiseCopyable {
    /// Longer delays count as this one: who has not looked by then has put the device away.
    public static let dismissMillisecondsMax: Int64 = 600_000

    public let bits: UInt64

    @inlinable public init(bits: UInt64) { self.bits = bits }

    /// `country`: as `CountryCode.number`; `dismissMilliseconds`: 0 ... `dismissMillisecondsMax`.
    @inlinable public init(country: UInt16, dismissMilliseconds: Int64 = 0) {
        bits = UInt64(country) | UInt64(clamping: dismissMilliseconds) << 16
    }

    /// Two letters as a number, 0: not known.
    @inlinable public var country: UInt16 { UInt16(truncatingIfNeeded: bits) }

    /// How long the ad had been there when it was dismissed.
    @inlinable public var dismissMilliseconds: Int64 {
        min(Int64(bits >> 16), Self.dismissMillisecondsMax)
    }
}

/// Decoded events in the order of their append times, with the ids of their apps. Made to be
/// refilled: `removeAll` keeps the memory.
public struct EventBatch: Sendable {
    public var events: ContiguousArray<Event>
    /// The bytes of app ids, which events point into.
    public var names: ContiguousArray<UInt8>

    /// An empty batch with room for so many events.
    public init(capacity: Int = 0) {
        events = []
        names = []
        events.reserveCapacity(capacity)
        names.reserveCapacity(capacity * 16)
    }

    /// Empties the batch and keeps its memory.
    public mutating func removeAll() {
        events.removeAll(keepingCapacity: true)
        names.removeAll(keepingCapacity: true)
    }

    /// Adds the bytes of an app's id and returns where they begin.
    public mutating func addName(_ bytes: some Collection<UInt8>) -> UInt32 {
        let offset = UInt32(truncatingIfNeeded: names.count)
        names.append(contentsOf: bytes)
        return offset
    }

    /// Adds an event of this app: for tests and tools, where ids are still text.
    public mutating func add(_ event: Event, app: AppID) {
        var event = event
        event.appHash = StableHash.of(app.text)
        event.nameOffset = addName(app.text.utf8)
        event.nameLength = UInt8(app.text.utf8.count)
        events.append(event)
    }
}
