// A listener: one address, one router, libmicrohttpd's threads in between.
import CMicroHTTPD
import Glibc
package import Runtime
import Synchronization

/// Serves a router at an address, from `start` to `stop`.
///
/// The owner calls `stop` before it lets go of it: the library's threads do not hold a reference.
package final class HTTPListener: Sendable {
    package struct Settings: Sendable {
        /// How requests meet threads.
        package enum Threads: Sendable, Equatable {
            /// So many, each with many connections: for handlers that answer from memory.
            case pool(Int)
            /// One for each connection: for handlers that wait for something.
            case perConnection
        }

        package var address: ListenAddress
        package var threads = Threads.pool(2)
        package var connectionsMax = 4_096
        /// 0: no limit; keep it so behind a proxy, whose clients share an address.
        package var connectionsPerAddressMax = 0
        /// What the bodies of all requests take together, as sent and as decoded.
        package var bodyBytesTotalMax = 256 << 20
        /// Of these, what one address may have on its way at once: enough for thousands of clients
        /// behind one proxy, and never all.
        package var bodyBytesPerAddressMax = 64 << 20
        /// Addresses of proxies whose `X-Forwarded-For` is believed.
        package var trustedProxies: Set<String> = []
        /// Sites whose pages may use it.
        package var crossOrigin = CrossOrigin.none
        /// A connection in which nothing moves is closed.
        package var idleSeconds = 60
        /// A request has to be complete so long after its headers, however slowly it is sent.
        package var receiveSeconds = 30
        /// An answer that is no stream has to be read so long after it was ready, however slowly.
        package var answerSeconds = 120
        /// Headers of a request and the buffers of its answer.
        package var connectionMemoryBytes = 32 << 10
        /// PEM texts; both or none.
        package var tlsKey: String?
        package var tlsCertificate: String?
        /// Given, answers that handlers allow are given again until it passes; nil: never.
        package var answersVersion: AnswersVersion?

        package init(address: ListenAddress) { self.address = address }
    }

    /// How often overdue connections are looked for.
    private static let watchMilliseconds = 500
    private static let stackBytes = 1 << 20
    /// Connections that are closed but not yet forgotten by the library.
    private static let connectionsLeaving = 256
    /// Beside connections: those, logs, databases, the library's own.
    private static let otherFilesMax = 512

    package let name: String
    package let settings: Settings
    let router: Router
    let log: Logger
    let meters: ListenerMeters
    let connections: Connections
    let bodies: BodyBudget
    let cache: AnswerCache?
    let streams = Monitor<[ObjectIdentifier: ResponseStream]>([:])
    private let stopping = Atomic<Bool>(false)
    /// Requests from their first line to the end of their answer; streams are not among them.
    let running = Monitor(0)

    /// What lives from `start` to `stop`.
    ///
    /// @unchecked Sendable: the daemon may be used from any thread; whoever takes it out of the
    /// monitor stops it.
    @safe
    private struct Life: @unchecked Sendable {
        let daemon: OpaquePointer
        let port: UInt16
        let watch: WorkerThread
        let endOfWatch: StopSignal
    }

    private let life = Monitor<Life?>(nil)

    package init(
        _ name: String, _ settings: Settings, router: Router, log: Logger, metrics: Metrics
    ) {
        precondition(settings.connectionsMax > 0, "a listener accepts connections")
        self.name = name
        self.settings = settings
        self.router = router
        self.log = log
        meters = ListenerMeters(name: name, metrics)
        connections = Connections(
            most: settings.connectionsMax, mostPerAddress: settings.connectionsPerAddressMax)
        bodies = BodyBudget(
            bytesMax: settings.bodyBytesTotalMax,
            arrivingPerAddressMax: settings.bodyBytesPerAddressMax)
        cache = settings.answersVersion.map { AnswerCache($0) }
    }

    var isStopping: Bool { stopping.load(ordering: .sequentiallyConsistent) }

    /// The port it listens on; 0 before `start` and after `stop`.
    package var port: UInt16 { life.read { $0?.port ?? 0 } }

    /// Begins to accept connections and returns.
    package func start() throws(HTTPFault) {
        try checkTLS()
        let files = ListenSocket.raiseFileLimit(to: settings.connectionsMax + Self.otherFilesMax)
        if files < settings.connectionsMax + Self.otherFilesMax {
            log.warning(
                "fewer open files than connections allowed",
                ["files": LogValue(files), "connections": LogValue(settings.connectionsMax)])
        }
        let (socket, port) = try ListenSocket.open(settings.address)
        guard let daemon = unsafe makeDaemon(socket: socket) else {
            close(socket)
            throw HTTPFault(
                operation: "start the HTTP server", place: settings.address.description,
                reason: "libmicrohttpd refuses the settings",
                hint: "Check the TLS key and certificate, and the limits of threads and memory.")
        }
        let end = StopSignal()
        let (connections, log, meters) = (connections, log, meters)
        let watch = WorkerThread(name: "\(name) watch") {
            while !end.wait(milliseconds: Self.watchMilliseconds) {
                let cut = connections.cutOverdue(now: SystemClock.monotonicMilliseconds())
                meters.cut(.slow, count: cut)
                if cut > 0 { log.debug("slow clients were cut off", ["count": LogValue(cut)]) }
            }
        }
        let begun = unsafe Life(
            daemon: daemon, port: port, watch: watch, endOfWatch: end)
        life.withLock { life in
            precondition(life == nil, "a listener starts once")
            life = begun
        }
    }

    /// Accepts no more, ends streams, lets running requests finish until the deadline, cuts the
    /// rest. A handler that still runs then is waited for: it has its own time-outs.
    package func stop(withinMilliseconds deadline: Int = 5_000) {
        let ending = life.withLock { life -> Life? in
            defer { life = nil }
            return life
        }
        guard let ending else { return }
        // From here on connections are closed as they come. The library's own way, to take the
        // socket from its threads, is a race in 0.9.75: a thread that has just seen it takes the
        // socket from its epoll set itself, and the second to do that aborts the process.
        stopping.store(true, ordering: .sequentiallyConsistent)
        for stream in streams.read({ Array($0.values) }) { stream.finish() }
        let isDone = running.wait(milliseconds: deadline) { $0 == 0 ? true : nil } ?? false
        if !isDone { log.warning("requests were cut off", ["listener": .text(name)]) }
        // No connection is suspended now, as the library demands: all streams are finished, and
        // those that come later finish at once. It closes the socket.
        unsafe MHD_stop_daemon(ending.daemon)
        ending.endOfWatch.request(reason: "stopped")
        ending.watch.join()
    }

    /// Serves until asked to stop, as a service.
    package func run(stop: StopSignal) throws(HTTPFault) {
        try start()
        log.info(
            "listening",
            [
                "listener": .text(name), "port": LogValue(port),
                "tls": .truth(settings.tlsKey != nil),
            ])
        while !stop.wait(milliseconds: 60_000) {}
        self.stop()
    }

    private func checkTLS() throws(HTTPFault) {
        guard (settings.tlsKey == nil) == (settings.tlsCertificate == nil) else {
            throw HTTPFault(
                operation: "set up TLS", place: settings.address.description,
                reason: "a key without a certificate, or the other way round",
                hint: "Give both files, in PEM.")
        }
        guard settings.tlsKey == nil || MHD_is_feature_supported(.FEATURE_TLS) == .YES else {
            throw HTTPFault(
                operation: "set up TLS", place: settings.address.description,
                reason: "libmicrohttpd was built without TLS",
                hint: "Put a proxy in front of it, or install a build with GnuTLS.")
        }
    }

    private func makeDaemon(socket: Int32) -> OpaquePointer? {
        var given = unsafe adbrake_mhd_settings()
        unsafe given.listen_socket = socket
        if case .pool(let count) = settings.threads {
            precondition(count > 0, "a pool has threads")
            unsafe given.threads = UInt32(count)
        }
        // Ours is looked at first, and counts whom it turns away; the library lets go of closed
        // ones a little later.
        unsafe given.connections_max = UInt32(settings.connectionsMax + Self.connectionsLeaving)
        unsafe given.idle_seconds = UInt32(settings.idleSeconds)
        unsafe given.connection_memory_bytes = settings.connectionMemoryBytes
        unsafe given.stack_bytes = Self.stackBytes
        // Unretained: the owner of the listener calls `stop` before it lets go of it, after which
        // the library has no threads.
        unsafe given.context = Unmanaged.passUnretained(self).toOpaque()
        unsafe Callbacks.install(in: &given)
        guard let key = settings.tlsKey, let certificate = settings.tlsCertificate else {
            return unsafe adbrake_mhd_start(&given)
        }
        // The library reads the texts while it starts, and keeps its own form of them.
        return unsafe key.withCString { key in
            unsafe certificate.withCString { certificate in
                unsafe given.tls_key_pem = key
                unsafe given.tls_certificate_pem = certificate
                return unsafe adbrake_mhd_start(&given)
            }
        }
    }
}
