// Who waits for which delivery reports. A message carries no object through librdkafka, only the
// number of its flight and its index there.

import CRdKafka
import Dispatch
import Synchronization

/// Counts the delivery reports of groups of messages sent together.
final class DeliveryBoard: Sendable {
    /// How a flight ended.
    struct Landing {
        /// By index; -1 where the broker did not take the record.
        var offsets: [Int64]
        /// The first failure and whose it was.
        var failure: (error: RDKafkaError, index: Int)?
        var isComplete: Bool
    }

    private struct Flight {
        var left: Int
        var landing: Landing
        let done: DispatchSemaphore
    }

    /// A flight under way; the number is zero for none.
    struct Ticket {
        let number: UInt32
        let done: DispatchSemaphore
    }

    private struct State {
        var flights: [UInt32: Flight] = [:]
        var last: UInt32 = 0
    }

    private let state = Mutex(State())

    /// Opens a flight of so many messages.
    func open(count: Int) -> Ticket {
        let done = DispatchSemaphore(value: 0)
        let landing = Landing(
            offsets: Array(repeating: -1, count: count), failure: nil, isComplete: false)
        let number = state.withLock { state in
            repeat { state.last &+= 1 } while state.flights[state.last] != nil
            state.flights[state.last] = Flight(left: count, landing: landing, done: done)
            return state.last
        }
        return Ticket(number: number, done: done)
    }

    /// What a message of the flight carries: the number above, the index below.
    func mark(_ ticket: Ticket, index: Int) -> UnsafeMutableRawPointer? {
        let bits = UInt(ticket.number) << 32 | UInt(UInt32(index))
        return unsafe UnsafeMutableRawPointer(bitPattern: bits)
    }

    /// Takes messages off the flight that were never handed over.
    func withdraw(_ ticket: Ticket, count: Int) {
        guard count > 0 else { return }
        state.withLock { state in
            guard var flight = state.flights[ticket.number] else { return }
            flight.left -= count
            if flight.left == 0 { flight.done.signal() }
            state.flights[ticket.number] = flight
        }
    }

    /// The first failure that the flight has met until now.
    func failure(of ticket: Ticket) -> (error: RDKafkaError, index: Int)? {
        state.withLock { $0.flights[ticket.number]?.landing.failure }
    }

    /// Waits for all reports, or until the time is over, and closes the flight; reports that come
    /// later are for nobody.
    func close(_ ticket: Ticket, waitMilliseconds: Int) -> Landing {
        let isComplete =
            ticket.done.wait(timeout: .now() + .milliseconds(waitMilliseconds)) == .success
        let flight = state.withLock { $0.flights.removeValue(forKey: ticket.number) }
        guard var landing = flight?.landing else {
            return Landing(offsets: [], failure: nil, isComplete: false)
        }
        landing.isComplete = isComplete
        return landing
    }

    /// Takes the reports of one event: one lock for all of them.
    @unsafe
    func take(_ event: OpaquePointer) {
        state.withLock { state in
            while let message = unsafe rd_kafka_event_message_next(event) {
                let bits = unsafe UInt(bitPattern: message.pointee._private)
                let number = UInt32(truncatingIfNeeded: bits >> 32)
                let index = Int(UInt32(truncatingIfNeeded: bits))
                // Looked up and changed in place: a copy would copy the offsets.
                guard let slot = state.flights.index(forKey: number) else { continue }
                let (code, offset) = unsafe (message.pointee.err, message.pointee.offset)
                let isWritten = code == RD_KAFKA_RESP_ERR_NO_ERROR && offset >= 0
                if isWritten {
                    state.flights.values[slot].landing.offsets[index] = offset
                } else if state.flights.values[slot].landing.failure == nil {
                    let error =
                        code == RD_KAFKA_RESP_ERR_NO_ERROR ? .unproven : RDKafkaError(code: code)
                    state.flights.values[slot].landing.failure = (error, index)
                }
                state.flights.values[slot].left -= 1
                if state.flights.values[slot].left == 0 {
                    state.flights.values[slot].done.signal()
                }
            }
        }
    }
}
