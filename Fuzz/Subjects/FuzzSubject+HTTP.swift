// A port on loopback that any bytes are sent to, over a real socket.

import BrakeWire
import Glibc
import HTTPServer
import Runtime

extension FuzzSubject {
    /// A listener with routes of each kind, started once a process.
    private static let port: UInt16 = {
        let routes = [
            Route(.post, "/v1/events", bodyBytesMax: UploadSplitter.uploadBytesMax) { request in
                let upload = unsafe request.body.withUnsafeBytes { bytes in
                    unsafe try? UploadSplitter().split(bytes)
                }
                return upload.map { .json($0.answer(), status: 202) }
                    ?? .error(400, "refused", hint: "none")
            },
            Route(.get, "/v1/apps/{app}") { request in
                .text(request.parameter("app") + (request.query("a") ?? ""))
            },
        ]
        var settings = HTTPListener.Settings(
            address: ListenAddress(host: "127.0.0.1", port: 0))
        settings.threads = .perConnection
        let listener = HTTPListener(
            "fuzz", settings, router: Router(routes),
            log: Logger(part: "fuzz", level: .error, to: StandardErrorSink()), metrics: Metrics())
        do throws(HTTPFault) {
            try listener.start()
        } catch {
            preconditionFailure("the listener starts: \(error)")
        }
        kept.withLock { $0 = listener }
        return listener.port
    }()
    private static let kept = Monitor<HTTPListener?>(nil)

    /// Sends the bytes, half-closes, and reads the answer to its end, which has to come.
    static func http(_ bytes: UnsafeRawBufferPointer) {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var patience = timeval(tv_sec: 10, tv_usec: 0)
        unsafe setsockopt(
            descriptor, SOL_SOCKET, SO_RCVTIMEO, &patience, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let status = unsafe withUnsafePointer(to: &address) { address in
            unsafe address.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                unsafe connect(descriptor, address, size)
            }
        }
        precondition(status == 0, "the port is open")
        var sent = 0
        while sent < bytes.count {
            let count = unsafe send(
                descriptor, bytes.baseAddress?.advanced(by: sent), bytes.count - sent,
                Int32(MSG_NOSIGNAL))
            // Refused before its end: the answer, if any, is there to be read.
            guard count > 0 else { break }
            sent += count
        }
        shutdown(descriptor, Int32(SHUT_WR))
        var answer = [UInt8](repeating: 0, count: 4_096)
        while true {
            let count = unsafe recv(descriptor, &answer, answer.count, 0)
            if count <= 0 {
                precondition(count == 0 || errno != EAGAIN, "the connection ends")
                return
            }
        }
    }
}
