// The routes of the admin listener: see what people have decided, and decide.

package import BrakeWire
package import EventLog
package import HTTPServer
package import Runtime

/// Shows and changes what is in `control`. Whoever may do so has a token; every change carries the
/// name that goes with it.
package final class AdminDesk: Sendable {
    /// A policy document and what surrounds it.
    private static let bodyBytesMax = PolicyDocument.bytesMax + 4_096
    /// Decisions in a history that is asked for without a limit.
    private static let historyDefault = 100

    /// Tries what would be decided on what the log still has of the last hour: what holds now, and
    /// what would hold. Throws what a person should be told.
    package typealias Rehearsal =
        @Sendable (_ now: ControlLedger, _ then: ControlLedger) throws -> [UInt8]

    private let log: any EventLog
    private let tokens: @Sendable () -> AdminTokens
    private let rehearse: Rehearsal
    private let logger: Logger
    private let changes: Family<Counter>
    private let refusals: Family<Counter>
    private let wallMilliseconds: @Sendable () -> Int64
    private let book: Monitor<ControlBook>

    package init(
        log: any EventLog, tokens: @escaping @Sendable () -> AdminTokens,
        rehearse: @escaping Rehearsal, logger: Logger, metrics: Metrics,
        wallMilliseconds: @escaping @Sendable () -> Int64
    ) {
        self.log = log
        self.tokens = tokens
        self.rehearse = rehearse
        self.logger = logger
        self.wallMilliseconds = wallMilliseconds
        changes = metrics.counter(
            "adbrake_admin_changes_total", help: "Decisions of people taken down, by type.",
            labels: ["type"])
        refusals = metrics.counter(
            "adbrake_admin_refusals_total", help: "Requests refused, by status.",
            labels: ["status"])
        book = Monitor(ControlBook(log: log))
    }

    package var routes: [Route] {
        [
            Route(.get, "/v1/control") { self.answer($0, for: .read) { _ in try self.overview() } },
            Route(.get, "/v1/control/history") { request in
                self.answer(request, for: .read) { _ in try self.history(request) }
            },
            Route(.get, "/v1/control/policies/{name}") { request in
                self.answer(request, for: .read) { _ in try self.policy(request) }
            },
            Route(.post, "/v1/control", bodyBytesMax: Self.bodyBytesMax) { request in
                self.answer(request, for: .write) { try self.decide(request, $0) }
            },
        ]
    }

    // MARK: Who asks

    private func answer(
        _ request: Request, for role: AdminTokens.Role,
        _ body: (AdminTokens.Person) throws -> Response
    ) -> Response {
        let response = checked(request, for: role, body).with("Cache-Control", "no-store")
        if response.status >= 400 { refusals.add(1, String(response.status)) }
        return response
    }

    private func checked(
        _ request: Request, for role: AdminTokens.Role,
        _ body: (AdminTokens.Person) throws -> Response
    ) -> Response {
        guard let person = request.bearerToken.flatMap({ tokens().person(of: $0) }) else {
            return Response.error(
                401, "no token, or one that is not known",
                hint: "Send Authorization: Bearer TOKEN, with one of the --admin-tokens file."
            ).with("WWW-Authenticate", "Bearer")
        }
        guard role == .read || person.role == .write else {
            return .error(
                403, "the token of \(person.name) may only read",
                hint: "Ask for one with the role write.")
        }
        do {
            return try body(person)
        } catch let fault as LogFault {
            logger.warning("the log failed", ["fault": LogValue(fault)])
            return Self.failed(fault)
        } catch {
            return .error(500, "\(error)", hint: "Nothing has changed.")
        }
    }

    // MARK: What is there

    private func read<Value: Sendable>(
        _ body: (ControlBook) throws -> Value
    ) throws -> Value {
        try book.withLock { book in
            try book.refresh()
            return try body(book)
        }
    }

    private func overview() throws -> Response {
        let ledger = try read { $0.ledger }
        let now = wallMilliseconds()
        return .json(JSONWriter.bytes { $0.write(ledger, now: now) })
    }

    private func history(_ request: Request) throws -> Response {
        var limit = Self.historyDefault
        if let text = request.query("limit"), !text.isEmpty {
            guard let number = Int(text), number > 0 else {
                return .error(400, "limit is not a number", hint: "Give a whole number from 1 on.")
            }
            limit = number
        }
        let entries = try read { $0.entries }.reversed().prefix(limit)
        return .json(
            JSONWriter.bytes { body in
                body.object { body in
                    body.array("history") { list in for entry in entries { list.write(entry) } }
                }
            })
    }

    private func policy(_ request: Request) throws -> Response {
        let name = request.parameter("name")
        if let entry = try read({ $0.ledger.policies[name] }) {
            return .json(JSONWriter.bytes { $0.write(entry.value.document) })
        }
        guard let source = BuiltInPolicies.source(named: name) else {
            return .error(
                404, "no policy of this name", hint: "GET /v1/control lists those there are.")
        }
        return .json(Array(source.utf8))
    }

    // MARK: Deciding

    private func decide(_ request: Request, _ person: AdminTokens.Person) throws -> Response {
        guard let document = DocumentReader().read(request.body) else {
            return .error(400, "the body is not JSON", hint: "Send one decision as an object.")
        }
        let isRehearsal = request.query("dry_run").map { $0 != "0" && $0 != "false" } ?? false
        let decision: Decision
        do throws(DocumentProblems) {
            decision = try Decision(document, by: person.name, at: wallMilliseconds())
        } catch {
            return Self.refused(error)
        }
        let now = try read { $0.ledger }
        var then = now
        do throws(DocumentProblems) {
            try decision.check(against: now)
            try then.take(decision.record, offset: now.end)
        } catch {
            return Self.refused(error)
        }
        if isRehearsal { return .json(try rehearse(now, then)) }
        try log.append([
            OutgoingRecord(.control, partition: 0, key: nil, value: decision.record.encode())
        ])
        changes.add(1, decision.record.content.type)
        logger.info(
            "decided",
            [
                "by": .text(person.name), "type": .text(decision.record.content.type),
                "reason": .text(decision.record.reason),
            ])
        return .json(decision.record.encode(), status: 201)
    }

    private static func failed(_ fault: LogFault) -> Response {
        guard fault.remedy == .refused else {
            return Response.error(
                503, "the log does not answer: \(fault.reason)", hint: "Nothing has changed."
            ).with("Retry-After", "2")
        }
        let remedy = fault.hint.map { " For who runs this: \($0)." } ?? ""
        return Response.error(
            503, "the log forbids to \(fault.operation) (\(fault.place)): \(fault.reason)",
            hint: "Nothing has changed.\(remedy)"
        ).with("Retry-After", "60")
    }

    private static func refused(_ problems: DocumentProblems) -> Response {
        .json(
            JSONWriter.bytes { body in
                body.object { body in
                    body.field("error", "this cannot be decided: \(problems)")
                    body.field("hint", "Nothing has changed. schemas/control.schema.json says all.")
                    body.array("problems") { list in
                        for problem in problems.problems {
                            list.object { item in
                                item.field("path", problem.path)
                                item.field("text", problem.text)
                            }
                        }
                    }
                }
            }, status: 422)
    }
}
