// What happened on a device, before it becomes a record. Numbers only: hundreds of thousands of
// them may wait for their upload.

/// What a record will say.
enum FactKind: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    case start, backgroundStart, alive, end
    case crash, nonFatal
    case softError, signal
    case adRequest, adLoaded, adLoadFailed, adShown, adShowFailed, adClicked, adDismissed

    var isAdEvent: Bool { rawValue >= FactKind.adRequest.rawValue }
}

package enum AdFormat: UInt8, Sendable, CaseIterable, BitwiseCopyable {
    case banner, native, interstitial, appOpen, rewarded, rewardedInterstitial

    /// The word used in records and scenario files.
    package var name: String {
        switch self {
        case .banner: "banner"
        case .native: "native"
        case .interstitial: "interstitial"
        case .appOpen: "app_open"
        case .rewarded: "rewarded"
        case .rewardedInterstitial: "rewarded_interstitial"
        }
    }

    package init?(name: String) {
        guard let format = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = format
    }

    /// Whether it covers the screen and must be dismissed.
    var isFullScreen: Bool { self != .banner && self != .native }
}

/// Something that happened on a device.
struct Fact: Sendable, BitwiseCopyable {
    var kind: FactKind
    var format = AdFormat.banner
    /// Index of the ad network.
    var network: UInt8 = 0
    /// Which error, signal or kind of crash; its meaning depends on `kind`.
    var detail: UInt8 = 0
    /// Index of the trouble that caused it, for its vendor; 255: none.
    var trouble: UInt8 = 255
    /// Severity of the state obeyed; 255: none.
    var state: UInt8 = 255
    var dismissDelay: UInt32 = 0
    var revision: Int64 = 0
    /// Counts all facts of the fleet: the event's id is made of it.
    var number: UInt64
    /// Counts all sessions of the fleet: the session's id is made of it.
    var session: UInt64
    /// When it happened, ms since 1970 by a perfect clock.
    var at: Int64
    /// When its session started, likewise.
    var sessionAt: Int64
}

/// A list of facts within a pool.
struct FactList: Sendable, BitwiseCopyable {
    fileprivate(set) var head: Int32 = -1
    fileprivate(set) var tail: Int32 = -1
    fileprivate(set) var count: Int32 = 0

    var isEmpty: Bool { count == 0 }
}

/// A place in a list.
struct FactCursor: Sendable, BitwiseCopyable {
    fileprivate var index: Int32

    init(_ list: FactList) {
        index = list.head
    }
}

/// Memory of all facts that wait: linked lists in one array, so that no list has memory of its own.
struct FactPool: Sendable {
    private struct Node: Sendable, BitwiseCopyable {
        var fact: Fact
        var next: Int32
    }

    private var nodes: ContiguousArray<Node> = []
    private var free: Int32 = -1
    private(set) var count = 0

    mutating func append(_ fact: Fact, to list: inout FactList) {
        let index: Int32
        if free >= 0 {
            index = free
            free = nodes[Int(index)].next
            nodes[Int(index)] = Node(fact: fact, next: -1)
        } else {
            index = Int32(nodes.count)
            nodes.append(Node(fact: fact, next: -1))
        }
        count += 1
        if list.tail >= 0 { nodes[Int(list.tail)].next = index } else { list.head = index }
        list.tail = index
        list.count += 1
    }

    /// Moves all facts of the other list to the end of this one.
    mutating func move(_ other: inout FactList, to list: inout FactList) {
        guard !other.isEmpty else { return }
        if list.tail >= 0 {
            nodes[Int(list.tail)].next = other.head
        } else {
            list.head = other.head
        }
        list.tail = other.tail
        list.count += other.count
        other = FactList()
    }

    /// The fact at the cursor, which moves on; nil at the end.
    @inline(__always)
    func next(_ cursor: inout FactCursor) -> Fact? {
        guard cursor.index >= 0 else { return nil }
        let node = nodes[Int(cursor.index)]
        cursor.index = node.next
        return node.fact
    }

    mutating func remove(_ list: inout FactList) {
        guard !list.isEmpty else { return }
        nodes[Int(list.tail)].next = free
        free = list.head
        count -= Int(list.count)
        list = FactList()
    }
}
