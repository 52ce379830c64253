// Asks for memory that will be needed soon. It changes nothing but how long that takes.

import CPrefetch

enum Prefetch {
    /// The bytes that come with one another; more or fewer on some processors, where it costs time
    /// and is not wrong.
    static let lineBytes = 64

    /// The line in which the place lies.
    @unsafe
    @inline(__always)
    static func line(at place: UnsafeRawPointer) { unsafe adbrake_prefetch(place) }

    /// The line in which an element of an array begins.
    @inline(__always)
    static func element<Element>(_ index: Int, of elements: borrowing ContiguousArray<Element>) {
        unsafe elements.withUnsafeBufferPointer { elements in
            guard let base = elements.baseAddress else { return }
            unsafe line(at: UnsafeRawPointer(base + index))
        }
    }
}
