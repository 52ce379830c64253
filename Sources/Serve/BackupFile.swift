// The backup on disk: written aside and renamed, so that there is always a whole one.

import EventLog
import Glibc
import Runtime

/// Keeps backups of a table in one file. One thread at a time.
final class BackupFile {
    private static let pieceBytes = 1 << 20

    private let path: String
    private let logger: Logger
    /// What the file holds, as far as this process wrote it.
    private var written: TableImage?
    private var isFailing = false

    init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    // MARK: Reading

    /// The backup, nil when there is none or it is of no use, which is said.
    func load(partitions: Int) -> TableBackup? {
        do throws(BackupFault) {
            guard let bytes = try StoredFile(path).read("read the backup") else { return nil }
            return try TableBackup(bytes: bytes, partitions: partitions)
        } catch {
            var fault = error
            fault.place = path
            logger.warning("the backup is ignored", ["fault": LogValue(fault)])
            return nil
        }
    }

    // MARK: Writing

    /// Writes the image unless the file holds it already. A failure is said once, and tried again
    /// at the next call.
    func save(_ image: TableImage) {
        // What came from a backup need not become one.
        guard written !== image, image.source == .log else { return }
        do throws(BackupFault) {
            try write(
                TableBackup(
                    shards: image.shards, caps: image.caps, position: image.position))
            written = image
            isFailing = false
        } catch {
            if !isFailing { logger.warning("no backup was written", ["fault": LogValue(error)]) }
            isFailing = true
        }
    }

    private func write(_ backup: TableBackup) throws(BackupFault) {
        let aside = path + ".new"
        let file = unsafe open(aside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw fault("write the backup") }
        var isOpen = true
        defer { if isOpen { close(file) } }
        var piece: [UInt8] = []
        piece.reserveCapacity(Self.pieceBytes + (64 << 10))
        try backup.writeLines { line throws(BackupFault) in
            piece += line
            piece.append(UInt8(ascii: "\n"))
            if piece.count >= Self.pieceBytes {
                try write(piece, to: file)
                piece.removeAll(keepingCapacity: true)
            }
        }
        try write(piece, to: file)
        guard fsync(file) == 0 else { throw fault("write the backup") }
        isOpen = false
        guard close(file) == 0, unsafe rename(aside, path) == 0 else {
            throw fault("write the backup")
        }
    }

    private func write(_ bytes: [UInt8], to file: Int32) throws(BackupFault) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.write(file, buffer.baseAddress, buffer.count)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw fault("write the backup") }
            rest.removeFirst(count)
        }
    }

    private func fault(_ operation: String) -> BackupFault {
        StoredFile(path).fault(operation, hint: "is there room, and may this user write there?")
    }
}
