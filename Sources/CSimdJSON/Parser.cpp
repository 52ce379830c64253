// The parser behind the C header: simdjson's structural index, and events read in one pass.

#include <simdjson.h>

#include <cstring>
#include <memory>
#include <new>

#include "Cursor.hpp"

using brake::Cursor;
using brake::is_digit;

namespace {

// Where an event stream stands.
enum class Stage : uint8_t { start, element, end };

template <size_t size>
bool is_key(const brake_json_slice &key, const char (&word)[size]) {
    return std::memcmp(key.bytes, word, size - 1) == 0;
}

// The field of an event with this key; null when it does not decide what the event means.
brake_json_slice *field(brake_json_event &event, const brake_json_slice &key) {
    switch (key.length) {
        case 2:
            if (is_key(key, "id")) return &event.id;
            if (is_key(key, "at")) return &event.at;
            return is_key(key, "os") ? &event.os : nullptr;
        case 3: return is_key(key, "app") ? &event.app : nullptr;
        case 4:
            if (is_key(key, "type")) return &event.type;
            if (is_key(key, "sent")) return &event.sent;
            return is_key(key, "kind") ? &event.kind : nullptr;
        case 5:
            if (is_key(key, "phase")) return &event.phase;
            if (is_key(key, "fatal")) return &event.fatal;
            if (is_key(key, "count")) return &event.count;
            return is_key(key, "event") ? &event.event : nullptr;
        case 6:
            if (is_key(key, "device")) return &event.device;
            return is_key(key, "signal") ? &event.signal : nullptr;
        case 7:
            if (is_key(key, "session")) return &event.session;
            return is_key(key, "country") ? &event.country : nullptr;
        case 8: return is_key(key, "severity") ? &event.severity : nullptr;
        case 10:
            if (is_key(key, "foreground")) return &event.foreground;
            if (is_key(key, "session_at")) return &event.session_at;
            return is_key(key, "error_code") ? &event.error_code : nullptr;
        case 16: return is_key(key, "dismiss_delay_ms") ? &event.dismiss_delay_ms : nullptr;
        default: return nullptr;
    }
}

// The text whose quotes stand at `start` and right before `end`; false when something is between.
bool near_text(const uint8_t *bytes, uint32_t start, uint32_t end, brake_json_slice &out) {
    if (end - start < 2 || bytes[end - 1] != '"') return false;
    out.kind = BRAKE_JSON_TEXT;
    out.bytes = bytes + start + 1;
    out.length = end - start - 2;
    return true;
}

// What nearly every field is, a key at its colon and a text or a number at the next comma, is taken
// from the positions at hand; all else is the cursor's. The place is held here, where it can stay
// in a register.
bool read_fields(Cursor &cursor, brake_json_event &event) {
    cursor.place += 1;
    if (cursor.take('}')) return true;
    const uint8_t *const bytes = cursor.bytes;
    uint32_t place = cursor.place;
    // A field takes its key, its colon and its value; what ends it must follow.
    while (place + 3 < cursor.count) {
        const uint32_t *const at = cursor.positions + place;
        brake_json_slice key, ignored;
        if (bytes[at[0]] != '"' || bytes[at[1]] != ':') return false;
        if (cursor.has_escapes || !near_text(bytes, at[0], at[1], key)) {
            cursor.place = place;
            if (!cursor.key(key)) return false;
        }
        brake_json_slice *known = field(event, key);
        brake_json_slice &to = known == nullptr ? ignored : *known;
        uint32_t end = at[3];
        if (!cursor.has_escapes && bytes[at[2]] == '"' && near_text(bytes, at[2], end, to)) {
            place += 3;
        } else if (is_digit(bytes[at[2]]) && is_digit(bytes[end - 1])) {
            if (!brake::read_number(bytes + at[2], bytes + end, to)) return false;
            place += 3;
        } else {
            cursor.place = place + 2;
            if (!cursor.value(to)) return false;
            place = cursor.place;
            end = cursor.head_position();
        }
        if (place >= cursor.count || (bytes[end] != ',' && bytes[end] != '}')) return false;
        place += 1;
        if (bytes[end] == ',') continue;
        cursor.place = place;
        return true;
    }
    return false;
}

bool read_event(Cursor &cursor, brake_json_event &event) {
    std::memset(&event, 0, sizeof event);
    event.start = cursor.head_position();
    event.is_object = cursor.head() == '{';
    brake_json_slice ignored;
    if (!(event.is_object ? read_fields(cursor, event) : cursor.value(ignored))) return false;
    event.length = cursor.scalar_end() - event.start;
    return true;
}

}  // namespace

struct brake_json {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> structure;
    std::unique_ptr<uint8_t[]> scratch;
    Cursor cursor;
    Stage stage = Stage::start;
    bool is_array = false;
    bool is_line = false;  // events are the value of a line, whose rest has been checked
};

brake_json *brake_json_create(size_t bytes_max) {
    std::unique_ptr<brake_json> json(new (std::nothrow) brake_json);
    if (json == nullptr) return nullptr;
    auto error = simdjson::get_active_implementation()->create_dom_parser_implementation(
        bytes_max, brake::depth_max, json->structure);
    if (error != simdjson::SUCCESS) return nullptr;
    json->scratch.reset(new (std::nothrow) uint8_t[bytes_max + 1]);
    if (json->scratch == nullptr) return nullptr;
    json->cursor.scratch = json->scratch.get();
    return json.release();
}

void brake_json_destroy(brake_json *json) { delete json; }

bool brake_json_open(brake_json *json, const uint8_t *bytes, size_t length) {
    Cursor &cursor = json->cursor;
    cursor.count = 0;
    cursor.place = 0;
    cursor.length = 0;
    cursor.scratch_used = 0;
    cursor.restart_tokens();
    json->stage = Stage::start;
    json->is_line = false;
    if (length == 0 || length > json->structure->capacity()) return false;
    auto error = json->structure->stage1(bytes, length, simdjson::stage1_mode::regular);
    if (error != simdjson::SUCCESS) return false;
    cursor.bytes = bytes;
    cursor.length = uint32_t(length);
    cursor.positions = json->structure->structural_indexes.get();
    cursor.count = json->structure->n_structural_indexes;
    cursor.has_escapes = std::memchr(bytes, '\\', length) != nullptr;
    return true;
}

brake_json_kind brake_json_peek(const brake_json *json) { return json->cursor.peek(); }

brake_json_step brake_json_next_token(brake_json *json, brake_json_slice *token) {
    return json->cursor.next_token(*token);
}

brake_json_step brake_json_next_event(brake_json *json, brake_json_event *event) {
    Cursor &cursor = json->cursor;
    bool is_first = json->stage == Stage::start;
    if (is_first) {
        json->stage = Stage::element;
        json->is_array = cursor.take('[');
        if (!json->is_array) return read_event(cursor, *event) ? BRAKE_JSON_MORE : BRAKE_JSON_BAD;
    }
    if (json->stage == Stage::element) {
        bool is_element = json->is_array && (is_first ? cursor.head() != ']' : cursor.take(','));
        if (is_element) return read_event(cursor, *event) ? BRAKE_JSON_MORE : BRAKE_JSON_BAD;
        json->stage = Stage::end;
        if (json->is_array && !cursor.take(']')) return BRAKE_JSON_BAD;
    }
    return json->is_line || cursor.place == cursor.count ? BRAKE_JSON_END : BRAKE_JSON_BAD;
}

bool brake_json_read_line(brake_json *json, brake_json_line *line) {
    Cursor &cursor = json->cursor;
    std::memset(line, 0, sizeof *line);
    uint32_t value_place = 0;
    if (!cursor.take('{')) return false;
    if (!cursor.take('}')) {
        do {
            brake_json_slice key, value;
            if (!cursor.key(key)) return false;
            uint32_t place = cursor.place;
            if (!cursor.value(value)) return false;
            if (key.length == 6 && is_key(key, "append")) {
                line->append = value;
            } else if (key.length == 5 && is_key(key, "value")) {
                line->value = value.kind;
                value_place = place;
            }
        } while (cursor.take(','));
        if (!cursor.take('}')) return false;
    }
    if (cursor.place != cursor.count) return false;
    // The value is read again for its events: its text must find the scratch memory free.
    cursor.scratch_used = 0;
    cursor.place = value_place;
    json->is_line = true;
    return true;
}
