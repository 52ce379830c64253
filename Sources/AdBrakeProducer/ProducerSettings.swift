// How a producer gathers, and how much it holds.

/// Times and sizes of a producer.
public struct ProducerSettings: Sendable, Equatable {
    /// When equal ad events are sent as one with a count.
    public enum Aggregation: Sendable, Equatable {
        /// Each event goes as it is.
        case never
        /// Those of apps with more ad events in a second than this, for the rest of that second.
        ///
        /// Gathered are events that differ in nothing but id, session, device and the time within a
        /// tenth of a second; these are lost, the counts stay exactly the same. Events with `sent`
        /// or a dismiss delay are never gathered.
        case above(eventsPerSecond: Int)
    }

    /// How long an event may wait for others to share its record, in ms: 0 to 10 000.
    public var lingerMilliseconds = 100
    /// The most bytes of events that wait to be sent: 1 MB to 1 GB.
    public var bufferBytesMax = 32 << 20
    /// How long `send` waits for room in a full buffer, in ms; 0: not at all.
    public var blockMilliseconds = 10_000
    public var aggregation = Aggregation.never

    public init() {}

    static let lingerMillisecondsMax = 10_000
    static let bufferBytes = 1 << 20...1 << 30

    /// The nearest settings that are allowed.
    var bounded: ProducerSettings {
        var settings = self
        settings.lingerMilliseconds = min(max(0, lingerMilliseconds), Self.lingerMillisecondsMax)
        settings.bufferBytesMax = min(
            max(Self.bufferBytes.lowerBound, bufferBytesMax), Self.bufferBytes.upperBound)
        settings.blockMilliseconds = max(0, blockMilliseconds)
        return settings
    }
}
