// What may go wrong between us and a server. A status such as 503 is an answer, not a fault.

/// A request that brought no answer.
package struct HTTPFault: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Kind: Sendable, CaseIterable {
        /// The address is not one, or not of http or https.
        case badAddress
        /// The host's name has no address.
        case unknownHost
        /// Nobody listens there, or no way leads there.
        case unreachable
        /// No whole answer within the time.
        case timedOut
        /// The connection ended before the whole answer had come.
        case cut
        /// The server's certificate or TLS itself.
        case insecure
        /// The answer is larger than the limit.
        case tooLarge
        /// The caller wanted no more of it.
        case stopped
        /// What came is not HTTP, or libcurl has another complaint.
        case other
    }

    package var kind: Kind
    /// The request's method.
    package var operation: String
    /// The address asked.
    package var place: String
    /// libcurl's words.
    package var reason: String

    /// What a person can do about it.
    package var hint: String {
        switch kind {
        case .badAddress: "give an address as http://host:port/path"
        case .unknownHost: "check the host's name and the resolver"
        case .unreachable: "check that the server runs and listens there"
        case .timedOut: "the server is slow or a firewall drops packets; a longer time may help"
        case .cut: "the server or something in between closed the connection; try again"
        case .insecure: "check the server's certificate and this machine's list of authorities"
        case .tooLarge: "this is not the service expected, or the limit is too low for it"
        case .stopped: "nothing to do"
        case .other: "check that an HTTP server answers there"
        }
    }

    /// Whether the same request may succeed later.
    package var isRetriable: Bool {
        switch kind {
        case .unknownHost, .unreachable, .timedOut, .cut, .other: true
        case .badAddress, .insecure, .tooLarge, .stopped: false
        }
    }

    package var description: String { "\(operation) \(place): \(reason) (\(hint))" }
}
