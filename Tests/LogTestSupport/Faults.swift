// Faults that are expected.
package import EventLog

/// The fault that the body throws.
package func fault(_ body: () throws -> Void) throws -> LogFault {
    do {
        try body()
    } catch let fault as LogFault {
        return fault
    }
    throw NoFault()
}

/// Nothing went wrong where something had to.
package struct NoFault: Error {
    package init() {}
}
