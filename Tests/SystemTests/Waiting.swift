// Waiting for what the program does, from outside: looking again and again until a deadline.
import Foundation
import HTTPClient
import Runtime
import Testing

/// Runs a test in a folder of its own.
func withWorkplace(_ body: (Workplace) throws -> Void) throws {
    let folder = FileManager.default.temporaryDirectory.path + "/adbrake-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try body(Workplace(folder: folder))
}

/// Looks until there is an answer; fails when there is none for a minute.
func eventually<Value>(_ what: String, _ look: () throws -> Value?) throws -> Value {
    let pause = StopSignal()
    let end = SystemClock.monotonicMilliseconds() + Int64(Child.patienceMilliseconds)
    while true {
        if let value = try look() { return value }
        try #require(SystemClock.monotonicMilliseconds() < end, "it never came to this: \(what)")
        pause.wait(milliseconds: 20)
    }
}

extension HTTPConnection {
    func get(_ url: String) throws -> HTTPResponse { try send(.get(url)) }

    func post(
        _ url: String, _ body: String, headers: [(name: String, value: String)] = []
    ) throws -> HTTPResponse {
        try send(.post(url, headers: headers, body: Array(body.utf8)))
    }
}
