// Storage for many small values of one type, by index. Grows by chunks and never moves what it has.

/// A value of which there is a blank one.
protocol SlabElement: BitwiseCopyable {
    init()
}

/// Values addressed by a dense index. A growing array would copy hundreds of megabytes in the
/// middle of an event and hold them twice; a slab takes one chunk more.
///
/// Indexes come from `allocate` and end with `free`; an index that is not allocated is a bug and
/// traps beyond the last chunk. Safe because the chunks belong to the slab alone until its end.
@safe
struct Slab<Element: SlabElement>: ~Copyable {
    /// Elements a chunk holds, as a power of two: a chunk of 200-byte values is under a megabyte.
    private static var chunkShift: UInt32 { 12 }
    private static var chunkCount: Int { 1 << Int(chunkShift) }
    /// Two cache lines, which processors fetch together.
    private static var alignment: Int { 128 }

    private var chunks: ContiguousArray<UnsafeMutablePointer<Element>> = unsafe []
    private var free: ContiguousArray<UInt32> = []
    /// One more than the highest index ever allocated.
    private(set) var end: UInt32 = 0

    deinit {
        for index in unsafe 0..<chunks.count { unsafe chunks[index].deallocate() }
    }

    /// How many elements are allocated.
    var count: Int { Int(end) - free.count }

    /// The memory of its elements, chunks not yet filled included.
    var byteCount: Int { unsafe chunks.count * Self.chunkCount * MemoryLayout<Element>.stride }

    /// A blank element's index. O(1), amortised.
    mutating func allocate() -> UInt32 {
        if let index = free.popLast() {
            self[index] = Element()
            return index
        }
        let index = end
        if unsafe Int(index >> Self.chunkShift) == chunks.count {
            let bytes = UnsafeMutableRawPointer.allocate(
                byteCount: Self.chunkCount * MemoryLayout<Element>.stride, alignment: Self.alignment
            )
            let chunk = unsafe bytes.bindMemory(to: Element.self, capacity: Self.chunkCount)
            unsafe chunk.initialize(repeating: Element(), count: Self.chunkCount)
            unsafe chunks.append(chunk)
        }
        end = index + 1
        return index
    }

    /// Gives an element back.
    mutating func deallocate(_ index: UInt32) { free.append(index) }

    /// Where an element lies, until the slab ends.
    @unsafe
    @inline(__always)
    func place(of index: UInt32) -> UnsafeMutablePointer<Element> {
        let chunk = unsafe chunks[Int(index &>> Self.chunkShift)]
        return unsafe chunk + Int(index) & (Self.chunkCount - 1)
    }

    /// Has an element fetched, all of its cache lines.
    @inline(__always)
    func prefetch(_ index: UInt32) {
        let place = unsafe UnsafeRawPointer(place(of: index))
        var offset = 0
        while offset < MemoryLayout<Element>.stride {
            unsafe Prefetch.line(at: place + offset)
            offset &+= Prefetch.lineBytes
        }
    }

    subscript(index: UInt32) -> Element {
        @inline(__always)
        unsafeAddress { unsafe UnsafePointer(place(of: index)) }
        @inline(__always)
        unsafeMutableAddress { unsafe place(of: index) }
    }
}
