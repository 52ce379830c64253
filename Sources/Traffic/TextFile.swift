// Whole small files: scenarios in, reports out.
internal import Glibc

/// A file that cannot be read or written.
struct FileFault: Error, CustomStringConvertible {
    var operation: String
    var path: String
    var reason: String
    var hint: String

    var description: String { "cannot \(operation) \(path): \(reason) (\(hint))" }
}

enum TextFile {
    static func read(_ path: String, bytesMax: Int) throws(FileFault) -> [UInt8] {
        guard let file = unsafe fopen(path, "r") else {
            throw fault("read", path, hint: "check the name and the rights")
        }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: bytesMax + 1)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        guard unsafe ferror(file) == 0 else {
            throw fault("read", path, hint: "is it a directory?")
        }
        return Array(bytes.prefix(count))
    }

    /// Written aside and renamed, so that whoever waits for the file finds it whole.
    static func write(_ bytes: [UInt8], to path: String) throws(FileFault) {
        let aside = path + ".part"
        guard let file = unsafe fopen(aside, "w") else {
            throw fault("write", path, hint: "check that the directory exists and can be written")
        }
        let count = unsafe fwrite(bytes, 1, bytes.count, file)
        let isClosed = unsafe fclose(file) == 0
        guard count == bytes.count, isClosed, unsafe rename(aside, path) == 0 else {
            throw fault("write", path, hint: "check that the disk has room")
        }
    }

    private static func fault(_ operation: String, _ path: String, hint: String) -> FileFault {
        FileFault(
            operation: operation, path: path, reason: unsafe String(cString: strerror(errno)),
            hint: hint)
    }
}
