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

brake_json_slice &field(brake_json_event &event, size_t offset) {
    return *reinterpret_cast<brake_json_slice *>(reinterpret_cast<uint8_t *>(&event) + offset);
}

// Needs `KeyMemory::bytes_max` bytes at `bytes`, none of them of an escape. A key has its quotes
// and its colon, so the value follows what matches.
bool matches(const KeyMemory::Key &key, const uint8_t *bytes) {
    uint64_t head, tail;
    std::memcpy(&head, bytes, 8);
    std::memcpy(&tail, bytes + 8, 8);
    return (((head ^ key.head) & key.head_mask) | ((tail ^ key.tail) & key.tail_mask)) == 0;
}

// One of the keys a little behind the one expected: those between were left out this time.
KeyMemory::Key *find_behind(KeyMemory &memory, KeyMemory::Key *expected, const uint8_t *bytes) {
    KeyMemory::Key *const end = memory.keys + KeyMemory::keys_max;
    for (unsigned number = 0; number < KeyMemory::left_out_max; number += 1) {
        expected += 1;
        if (expected >= end) return nullptr;
        if (matches(*expected, bytes)) return expected;
    }
    return nullptr;
}

// Learns a key whose colon stands right behind its quote; false when it is none, or too long.
bool learn(KeyMemory::Key &key, const uint8_t *bytes, uint32_t colon, size_t offset) {
    if (colon >= KeyMemory::bytes_max || bytes[colon - 1] != '"') return false;
    uint8_t mask[KeyMemory::bytes_max] = {};
    std::memset(mask, 0xff, colon + 1);
    std::memcpy(&key.head, bytes, 8);
    std::memcpy(&key.tail, bytes + 8, 8);
    std::memcpy(&key.head_mask, mask, 8);
    std::memcpy(&key.tail_mask, mask + 8, 8);
    key.offset = uint32_t(offset);
    return true;
}

enum class Field : uint8_t { bad, read, learnt };

// A field of any form, read by the cursor. With `unknown`, its key goes there, if it can be learnt;
// there are bytes enough for it then.
[[gnu::noinline]] Field read_any_field(
    Cursor &cursor, KeyMemory::Key *unknown, brake_json_event &event) {
    const uint32_t start = cursor.head_position();
    brake_json_slice key;
    if (!cursor.key(key)) return Field::bad;
    const size_t offset = field_offset(key);
    const uint32_t colon = cursor.positions[cursor.place - 1] - start;
    if (!cursor.value(field(event, offset))) return Field::bad;
    bool is_learnt = unknown != nullptr && learn(*unknown, cursor.bytes + start, colon, offset);
    return is_learnt ? Field::learnt : Field::read;
}

// The text or whole number that fills [start, end); false when it is something else.
bool read_near_value(
    const uint8_t *bytes, uint32_t start, uint32_t end, brake_json_slice &out) {
    const uint8_t first = bytes[start], last = bytes[end - 1];
    if (first == '"') {
        if (last != '"') return false;
        out.kind = BRAKE_JSON_TEXT;
        out.bytes = bytes + start + 1;
        out.length = end - start - 2;
        return true;
    }
    return is_digit(first) && is_digit(last) && read_number(bytes + start, bytes + end, out);
}

// What nearly every field is, a key that is known and a text or a number right up to the next
// comma, is taken from the positions at hand; all else is the cursor's. The place is held here,
// where it can stay in a register.
bool read_fields(Cursor &cursor, KeyMemory &memory, brake_json_event &event) {
    cursor.place += 1;
    if (cursor.take('}')) return true;
    const uint8_t *const bytes = cursor.bytes;
    const uint32_t *const near_end = cursor.positions + cursor.near_count;
    const uint32_t *at = cursor.positions + cursor.place;
    KeyMemory::Key *expected = memory.keys;
    for (;;) {
        KeyMemory::Key *unknown = nullptr;
        if (at < near_end) {
            const uint8_t *const text = bytes + at[0];
            KeyMemory::Key *const known =
                matches(*expected, text) ? expected : find_behind(memory, expected, text);
            if (known != nullptr) {
                expected = known + 1;
                if (read_near_value(bytes, at[2], at[3], field(event, known->offset))) {
                    const uint8_t next = bytes[at[3]];
                    at += 4;
                    if (next == ',') continue;
                    cursor.place = uint32_t(at - cursor.positions);
                    return next == '}';
                }
            } else if (expected < memory.keys + KeyMemory::keys_max) {
                unknown = expected;
            }
        }
        cursor.place = uint32_t(at - cursor.positions);
        const Field found = read_any_field(cursor, unknown, event);
        if (found == Field::bad) return false;
        if (found == Field::learnt) expected += 1;
        if (!cursor.take(',')) return cursor.take('}');
        at = cursor.positions + cursor.place;
    }
}

}  // namespace

uint32_t near_count(const Cursor &cursor) {
    if (cursor.has_escapes || cursor.length < KeyMemory::bytes_max || cursor.count < 4) return 0;
    uint32_t number = cursor.count - 3;
    const uint32_t last = cursor.length - KeyMemory::bytes_max;
    while (number > 0 && cursor.positions[number - 1] > last) number -= 1;
    return number;
}

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

brake_json_step read_events(
    Cursor &cursor, KeyMemory &memory, brake_json_event *events, uint32_t max, uint32_t &count) {
    while (count < max) {
        if (!read_event(cursor, memory, events[count])) return BRAKE_JSON_BAD;
        count += 1;
        if (!cursor.take(',')) return BRAKE_JSON_END;
    }
    return BRAKE_JSON_MORE;
}

}  // namespace brake
