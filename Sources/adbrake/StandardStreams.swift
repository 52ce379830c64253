// The two streams a command writes to: results, and words for a person.

import Glibc

/// What a command is asked for goes here, whole or not at all.
enum StandardOutput {
    static func write(_ bytes: [UInt8]) throws {
        guard let reason = StandardStream.write(bytes, to: STDOUT_FILENO) else { return }
        throw Refusal(
            problem: "standard output: \(reason)", hint: "is the disk full, or has the reader gone?"
        )
    }
}

/// Progress, summaries and errors.
enum StandardError {
    static var isTerminal: Bool { isatty(STDERR_FILENO) == 1 }

    /// Writes as far as it goes: nobody could be told if this fails.
    static func write(_ text: String) {
        _ = StandardStream.write(Array(text.utf8), to: STDERR_FILENO)
    }
}

private enum StandardStream {
    /// Writes all bytes; the reason when that is not possible.
    static func write(_ bytes: [UInt8], to descriptor: Int32) -> String? {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes {
                unsafe Glibc.write(descriptor, $0.baseAddress, $0.count)
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                // The text is the C library's own, copied at once.
                return unsafe String(cString: strerror(errno))
            }
        }
        return nil
    }
}
