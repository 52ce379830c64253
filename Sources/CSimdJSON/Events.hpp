// Reads events from the positions that simdjson found, in one pass.

#ifndef ADBRAKE_EVENTS_HPP
#define ADBRAKE_EVENTS_HPP

#include <cstdint>

#include "Cursor.hpp"

namespace brake {

// The keys of the event before, in their order: an app's events are written by one program, which
// writes them alike. A key is known again by one comparison, with its quotes and its colon.
struct KeyMemory {
    static constexpr unsigned keys_max = 16;
    static constexpr uint32_t bytes_max = 16;

    struct Key {
        uint64_t head = 0, tail = 0, head_mask = 0, tail_mask = 0;
        uint32_t colon = 0;  // where its colon stands, from its quote on; 0: nothing is known
        uint32_t offset = 0;  // of its field in an event
    };
    Key keys[keys_max];
};

// Reads the value at the next position as an event; false when it is not JSON.
bool read_event(Cursor &cursor, KeyMemory &memory, brake_json_event &event);

}  // namespace brake

#endif
