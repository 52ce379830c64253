// A client without manners: bytes as a test wants them, over a socket of its own.
import Glibc
import Testing

/// One connection to the loopback address.
final class RudeClient {
    /// Longer than a listener lets a sender be slow.
    private static let waitMilliseconds: Int32 = 20_000

    private let descriptor: Int32

    /// Nil when the connection was not accepted.
    init?(port: UInt16) {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        // The address lives for the call.
        let status = unsafe withUnsafePointer(to: &address) { pointer in
            unsafe connect(
                descriptor, UnsafeRawPointer(pointer).assumingMemoryBound(to: sockaddr.self), size)
        }
        guard status == 0 else { return nil }
    }

    deinit { close(descriptor) }

    /// Sends as much as the other side takes.
    func send(_ bytes: [UInt8]) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { buffer in
                unsafe Glibc.send(
                    descriptor, buffer.baseAddress, buffer.count, Int32(MSG_NOSIGNAL))
            }
            if count <= 0 { return }
            rest = rest.dropFirst(count)
        }
    }

    func send(_ text: String) { send(Array(text.utf8)) }

    func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// What comes until the end of the connection; nil when that does not come in time.
    func receiveAll() -> String? {
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&request, 1, Self.waitMilliseconds) == 1 else { return nil }
            let count = unsafe recv(descriptor, &buffer, buffer.count, 0)
            if count <= 0 { return String(decoding: all, as: UTF8.self) }
            all += buffer.prefix(count)
        }
    }
}
