// A file of states on disk, read whole.

import Glibc

/// Where a backup or a bootstrap file lies.
struct StoredFile {
    private static let bytesMax = 1 << 30
    private static let pieceBytes = 1 << 20

    let path: String

    init(_ path: String) { self.path = path }

    /// Nil: there is no such file.
    func read(_ operation: String) throws(BackupFault) -> [UInt8]? {
        let hint = "may this user read it?"
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        if file < 0, errno == ENOENT { return nil }
        guard file >= 0 else { throw fault(operation, hint: hint) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: Self.pieceBytes)
        while true {
            let count = unsafe Glibc.read(file, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw fault(operation, hint: hint) }
            if count == 0 { return bytes }
            bytes.append(contentsOf: piece.prefix(count))
            guard bytes.count <= Self.bytesMax else {
                throw BackupFault(
                    operation: operation, place: path, reason: "it is too large",
                    hint: "at most \(Self.bytesMax) bytes")
            }
        }
    }

    /// What tells one writing of the file from the next; nil: there is no such file.
    struct Mark: Equatable {
        var inode: UInt64
        var bytes: Int64
        var seconds: Int
        var nanoseconds: Int
    }

    var mark: Mark? {
        var status = stat()
        // Filled within the call.
        guard unsafe stat(path, &status) == 0 else { return nil }
        return Mark(
            inode: UInt64(status.st_ino), bytes: Int64(status.st_size),
            seconds: status.st_mtim.tv_sec, nanoseconds: status.st_mtim.tv_nsec)
    }

    /// The fault of the system call that has just failed.
    func fault(_ operation: String, hint: String) -> BackupFault {
        // The text lives in the library until the next call of this thread; copied at once.
        let reason = unsafe String(cString: strerror(errno))
        return BackupFault(operation: operation, place: path, reason: reason, hint: hint)
    }
}
