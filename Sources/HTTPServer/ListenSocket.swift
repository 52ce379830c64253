// The listening socket. Made here and not by the library, so that a failure has its reason.
import Glibc
import Runtime

enum ListenSocket {
    /// Connections that wait to be accepted; the kernel may have less.
    static let backlog: Int32 = 1_024

    /// A listening socket and the port it got.
    static func open(
        _ address: ListenAddress
    ) throws(HTTPFault) -> (descriptor: Int32, port: UInt16) {
        func fault(_ reason: String, _ hint: String) -> HTTPFault {
            HTTPFault(
                operation: "listen", place: address.description, reason: reason, hint: hint)
        }
        var hints = unsafe addrinfo()
        unsafe hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE
        unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        var found: UnsafeMutablePointer<addrinfo>?
        // The list is freed below, in this scope.
        guard unsafe getaddrinfo(address.host, "\(address.port)", &hints, &found) == 0,
            let info = unsafe found
        else {
            throw fault(
                "not a numeric address", "Use an address of this machine, as 127.0.0.1 or ::1.")
        }
        defer { unsafe freeaddrinfo(info) }
        let descriptor = unsafe socket(
            info.pointee.ai_family, info.pointee.ai_socktype | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { throw fault(reason(errno), "Raise the limit of open files.") }
        var on: Int32 = 1
        let size = socklen_t(MemoryLayout<Int32>.size)
        // The option is read within the call.
        unsafe setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, size)
        guard unsafe bind(descriptor, info.pointee.ai_addr, info.pointee.ai_addrlen) == 0,
            listen(descriptor, backlog) == 0
        else {
            let number = errno
            close(descriptor)
            throw fault(reason(number), hint(number))
        }
        return (descriptor, port(of: descriptor))
    }

    /// Lets the process have as many files as it needs, where the system allows it.
    /// Returns how many it may have.
    static func raiseFileLimit(to wanted: Int) -> Int {
        var limit = rlimit()
        // Read and written within the calls.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else {
            return 0
        }
        if limit.rlim_cur < rlim_t(wanted) {
            limit.rlim_cur = min(limit.rlim_max, rlim_t(wanted))
            unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        }
        return Int(clamping: limit.rlim_cur)
    }

    private static func port(of descriptor: Int32) -> UInt16 {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // The storage is large enough for every family; the port is at the same place in both.
        return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            let generic = UnsafeMutableRawPointer(pointer)
            let address = unsafe generic.assumingMemoryBound(to: sockaddr.self)
            guard unsafe getsockname(descriptor, address, &size) == 0 else { return 0 }
            let ipv4 = unsafe generic.assumingMemoryBound(to: sockaddr_in.self)
            return unsafe UInt16(bigEndian: ipv4.pointee.sin_port)
        }
    }

    /// The peer's numeric address, empty when it is gone.
    static func peer(of descriptor: Int32) -> String {
        var storage = sockaddr_storage()
        var size = socklen_t(MemoryLayout<sockaddr_storage>.size)
        // The storage is large enough for every family.
        return unsafe withUnsafeMutablePointer(to: &storage) { pointer in
            let address = unsafe UnsafeMutableRawPointer(pointer)
                .assumingMemoryBound(to: sockaddr.self)
            guard unsafe getpeername(descriptor, address, &size) == 0 else { return "" }
            return unsafe text(of: address, size)
        }
    }

    /// The numeric text of an address, empty for a family that has none. An IPv4 address that comes
    /// through a socket of IPv6 is one of IPv4 all the same.
    static func text(of address: UnsafePointer<sockaddr>, _ size: socklen_t) -> String {
        // The name is large enough for every numeric address.
        var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
        let status = unsafe getnameinfo(
            address, size, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
        guard status == 0 else { return "" }
        let text = String(
            decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        return ClientAddress.unmapped(text)
    }

    private static func reason(_ number: Int32) -> String {
        switch number {
        case EADDRINUSE: "the port is taken"
        case EACCES: "no permission for this port"
        case EADDRNOTAVAIL: "this machine does not have that address"
        case EMFILE, ENFILE: "too many open files"
        default: "error \(number)"
        }
    }

    private static func hint(_ number: Int32) -> String {
        switch number {
        case EADDRINUSE: "Stop the other program or choose another port; 0 takes any free one."
        case EACCES: "Ports below 1024 need rights; choose a higher one."
        default: "Choose an address of this machine."
        }
    }
}
