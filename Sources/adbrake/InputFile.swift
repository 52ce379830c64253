// Reading files and standard input in pieces.

import Glibc

/// A file that cannot be read.
struct InputFault: Error, CustomStringConvertible {
    var path: String
    var reason: String

    var description: String { "\(path): \(reason)" }
}

/// A file open for reading, or standard input for `-`.
struct InputFile: ~Copyable {
    private let path: String
    private let descriptor: Int32
    /// Its length, nil for what has none, as a pipe.
    let byteCount: Int64?

    init(_ path: String) throws(InputFault) {
        self.path = path
        descriptor = unsafe path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw InputFault(path: path, reason: Self.reason()) }
        var status = stat()
        let isKnown = unsafe fstat(descriptor, &status) == 0
        guard !isKnown || status.st_mode & S_IFMT != S_IFDIR else {
            throw InputFault(path: path, reason: "is a folder")
        }
        let isRegular = isKnown && status.st_mode & S_IFMT == S_IFREG
        byteCount = isRegular ? Int64(status.st_size) : nil
    }

    deinit { if descriptor != STDIN_FILENO { close(descriptor) } }

    /// Reads the next bytes into the buffer and returns how many; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(InputFault) -> Int {
        while true {
            let count = unsafe Glibc.read(descriptor, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            if errno != EINTR { throw InputFault(path: path, reason: Self.reason()) }
        }
    }

    /// All of a file that is known to be small.
    static func contents(of path: String, bytesMax: Int) throws(InputFault) -> [UInt8] {
        let file = try InputFile(path)
        var bytes: [UInt8] = []
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 1)
        defer { unsafe buffer.deallocate() }
        while true {
            let count = unsafe try file.read(into: buffer)
            if count == 0 { return bytes }
            unsafe bytes.append(contentsOf: buffer[..<count])
            guard bytes.count <= bytesMax else {
                throw InputFault(path: path, reason: "has more than \(bytesMax) bytes")
            }
        }
    }

    /// What changes when a file does; nil when there is none.
    static func stamp(of path: String) -> [Int]? {
        var status = Glibc.stat()
        guard unsafe stat(path, &status) == 0 else { return nil }
        return [
            Int(status.st_ino), Int(status.st_size), status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
        ]
    }

    private static func reason() -> String {
        // The text is the C library's own, copied at once.
        unsafe String(cString: strerror(errno))
    }
}
