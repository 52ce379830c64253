// The answer while it comes in: called back by libcurl with bytes, keeps them within limits.

/// What one exchange has brought so far. Lives on the stack of the blocking call, on whose thread
/// libcurl calls back.
struct Incoming {
    let limits: HTTPLimits
    let isCancelled: () -> Bool
    private(set) var headers: [HTTPResponse.Header] = []
    private(set) var body: [UInt8] = []
    private(set) var isTooLarge = false
    private(set) var isStopped = false
    private var headerBytes = 0

    init(limits: HTTPLimits, isCancelled: @escaping () -> Bool) {
        self.limits = limits
        self.isCancelled = isCancelled
    }

    /// Takes a piece of the body; false: no more of it.
    mutating func takeBody(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard body.count + bytes.count <= limits.bodyBytesMax else {
            isTooLarge = true
            return false
        }
        unsafe body.append(contentsOf: bytes)
        return true
    }

    /// Takes a line of the head; false: no more of it.
    mutating func takeHeaderLine(_ bytes: UnsafeRawBufferPointer) -> Bool {
        headerBytes += bytes.count
        guard headerBytes <= limits.headerBytesMax else {
            isTooLarge = true
            return false
        }
        let line = unsafe String(decoding: bytes, as: UTF8.self)
        if line.hasPrefix("HTTP/") {
            // A new head: that of the final answer after an interim one.
            headers = []
        } else if let colon = line.firstIndex(of: ":") {
            headers.append(
                HTTPResponse.Header(
                    name: String(line[..<colon]),
                    value: Incoming.trimmed(line[line.index(after: colon)...])))
        }
        return true
    }

    /// Asks the caller whether to go on.
    mutating func isStillWanted() -> Bool {
        if isCancelled() { isStopped = true }
        return !isStopped
    }

    private static func trimmed(_ text: Substring) -> String {
        var text = text
        while let first = text.first, first.isWhitespace { text.removeFirst() }
        while let last = text.last, last.isWhitespace { text.removeLast() }
        return String(text)
    }
}
