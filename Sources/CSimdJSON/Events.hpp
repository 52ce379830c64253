// Reads events from the positions that simdjson found, in one pass.

#ifndef ADBRAKE_EVENTS_HPP
#define ADBRAKE_EVENTS_HPP

#include <cstdint>

#include "Cursor.hpp"

namespace brake {

// The keys of events before, in their order: an app's events are written by one program, which
// writes them alike, but leaves out what it has nothing to say about. A key is known again by one
// comparison, with its quotes and its colon.
struct KeyMemory {
    static constexpr unsigned keys_max = 24;
    static constexpr uint32_t bytes_max = 16;
    // So many keys in a row may be left out.
    static constexpr unsigned left_out_max = 3;

    struct Key {
        // At first like none, since none begins with a zero.
        uint64_t head = 0, tail = 0, head_mask = ~uint64_t(0), tail_mask = 0;
        uint32_t offset = 0;  // of its field in an event
    };
    Key keys[keys_max + 1];  // the last one is never learnt, so that nothing is like it
};

// How many positions have three more behind them, bytes enough to compare a key with, and none of
// an escape: at those, `read_events` may look ahead without asking.
uint32_t near_count(const Cursor &cursor);

// Reads the value at the next position as an event; false when it is not JSON.
bool read_event(Cursor &cursor, KeyMemory &memory, brake_json_event &event);

// Reads the values from the next position on as events, up to `max`, as long as commas follow.
// `count` rises with each; with BRAKE_JSON_MORE the comma after the last one has been taken.
brake_json_step read_events(
    Cursor &cursor, KeyMemory &memory, brake_json_event *events, uint32_t max, uint32_t &count);

}  // namespace brake

#endif
