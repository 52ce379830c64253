// The walk over events, whose fields nearly always stand where those of the event before stood.

#include "Events.hpp"

#include <cstddef>
#include <cstring>

namespace brake {

namespace {

template <size_t size>
bool is_key(const brake_json_slice &key, const char (&word)[size]) {
    return is_word(key.bytes, key.length, word);
}

// Where in an event the value with this key goes.
size_t field_offset(const brake_json_slice &key) {
    switch (key.length) {
        case 2:
            if (is_key(key, "id")) return offsetof(brake_json_event, id);
            if (is_key(key, "at")) return offsetof(brake_json_event, at);
            if (is_key(key, "os")) return offsetof(brake_json_event, os);
            break;
        case 3:
            if (is_key(key, "app")) return offsetof(brake_json_event, app);
            break;
        case 4:
            if (is_key(key, "type")) return offsetof(brake_json_event, type);
            if (is_key(key, "sent")) return offsetof(brake_json_event, sent);
            if (is_key(key, "kind")) return offsetof(brake_json_event, kind);
            break;
        case 5:
            if (is_key(key, "phase")) return offsetof(brake_json_event, phase);
            if (is_key(key, "fatal")) return offsetof(brake_json_event, fatal);
            if (is_key(key, "count")) return offsetof(brake_json_event, count);
            if (is_key(key, "event")) return offsetof(brake_json_event, event);
            break;
        case 6:
            if (is_key(key, "device")) return offsetof(brake_json_event, device);
            if (is_key(key, "signal")) return offsetof(brake_json_event, signal);
            break;
        case 7:
            if (is_key(key, "session")) return offsetof(brake_json_event, session);
            if (is_key(key, "country")) return offsetof(brake_json_event, country);
            break;
        case 8:
            if (is_key(key, "severity")) return offsetof(brake_json_event, severity);
            break;
        case 10:
            if (is_key(key, "foreground")) return offsetof(brake_json_event, foreground);
            if (is_key(key, "session_at")) return offsetof(brake_json_event, session_at);
            if (is_key(key, "error_code")) return offsetof(brake_json_event, error_code);
            break;
        case 16:
            if (is_key(key, "dismiss_delay_ms"))
                return offsetof(brake_json_event, dismiss_delay_ms);
            break;
    }
    return offsetof(brake_json_event, ignored);
}

// The text whose quotes stand at `start` and right before `end`; false when something is between.
bool near_text(const uint8_t *bytes, uint32_t start, uint32_t end, brake_json_slice &out) {
    if (end - start < 2 || bytes[end - 1] != '"') return false;
    out.kind = BRAKE_JSON_TEXT;
    out.bytes = bytes + start + 1;
    out.length = end - start - 2;
    return true;
}

// Needs `KeyMemory::bytes_max` bytes at `bytes`.
bool matches(const KeyMemory::Key &key, const uint8_t *bytes, uint32_t colon) {
    uint64_t head, tail;
    std::memcpy(&head, bytes, 8);
    std::memcpy(&tail, bytes + 8, 8);
    return colon == key.colon
        && (((head ^ key.head) & key.head_mask) | ((tail ^ key.tail) & key.tail_mask)) == 0;
}

// Learns a key whose colon stands right behind its quote.
void learn(KeyMemory::Key &key, const uint8_t *bytes, uint32_t colon, size_t offset) {
    if (colon >= KeyMemory::bytes_max || bytes[colon - 1] != '"') return;
    uint8_t mask[KeyMemory::bytes_max] = {};
    std::memset(mask, 0xff, colon + 1);
    std::memcpy(&key.head, bytes, 8);
    std::memcpy(&key.tail, bytes + 8, 8);
    std::memcpy(&key.head_mask, mask, 8);
    std::memcpy(&key.tail_mask, mask + 8, 8);
    key.colon = colon;
    key.offset = uint32_t(offset);
}

// What nearly every field is, a key at its colon and a text or a number at the next comma, is taken
// from the positions at hand; all else is the cursor's. The place is held here, where it can stay
// in a register.
bool read_fields(Cursor &cursor, KeyMemory &memory, brake_json_event &event) {
    cursor.place += 1;
    if (cursor.take('}')) return true;
    const uint8_t *const bytes = cursor.bytes;
    const uint32_t count = cursor.count;
    const bool has_escapes = cursor.has_escapes;
    // Before it, there are bytes enough to compare a key with.
    const uint32_t memory_end =
        cursor.length < KeyMemory::bytes_max || has_escapes
        ? 0 : cursor.length - KeyMemory::bytes_max + 1;
    uint32_t place = cursor.place;
    // A field takes its key, its colon and its value; what ends it must follow.
    for (unsigned number = 0; place + 3 < count; number += 1) {
        const uint32_t *const at = cursor.positions + place;
        KeyMemory::Key *const known =
            at[0] < memory_end && number < KeyMemory::keys_max ? &memory.keys[number] : nullptr;
        size_t offset;
        if (known && matches(*known, bytes + at[0], at[1] - at[0])) {
            offset = known->offset;
        } else {
            brake_json_slice key;
            if (bytes[at[0]] != '"' || bytes[at[1]] != ':') return false;
            if (has_escapes || !near_text(bytes, at[0], at[1], key)) {
                cursor.place = place;
                if (!cursor.key(key)) return false;
            }
            offset = field_offset(key);
            if (known) learn(*known, bytes + at[0], at[1] - at[0], offset);
        }
        auto &to = *reinterpret_cast<brake_json_slice *>(
            reinterpret_cast<uint8_t *>(&event) + offset);
        uint32_t end = at[3];
        if (!has_escapes && bytes[at[2]] == '"' && near_text(bytes, at[2], end, to)) {
            place += 3;
        } else if (is_digit(bytes[at[2]]) && is_digit(bytes[end - 1])) {
            if (!read_number(bytes + at[2], bytes + end, to)) return false;
            place += 3;
        } else {
            cursor.place = place + 2;
            if (!cursor.value(to)) return false;
            place = cursor.place;
            end = cursor.head_position();
        }
        if (place >= count) return false;
        place += 1;
        if (bytes[end] == ',') continue;
        cursor.place = place;
        return bytes[end] == '}';
    }
    return false;
}

}  // namespace

bool read_event(Cursor &cursor, KeyMemory &memory, brake_json_event &event) {
    std::memset(&event, 0, sizeof event);
    event.start = cursor.head_position();
    event.is_object = cursor.head() == '{';
    if (event.is_object) {
        if (!read_fields(cursor, memory, event)) return false;
        event.length = cursor.positions[cursor.place - 1] + 1 - event.start;
    } else {
        if (!cursor.value(event.ignored)) return false;
        event.length = cursor.scalar_end() - event.start;
    }
    return true;
}

}  // namespace brake
