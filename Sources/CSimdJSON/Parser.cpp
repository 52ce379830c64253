// The parser behind the C header: simdjson's structural index, and what is read from it.

#include <simdjson.h>

#include <cstring>
#include <memory>
#include <new>

#include "Events.hpp"

using brake::Cursor;
using brake::KeyMemory;
using brake::is_word;

namespace {

// Where an event stream stands.
enum class Stage : uint8_t { start, element, end };

}  // namespace

struct brake_json {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> structure;
    std::unique_ptr<uint8_t[]> scratch;
    Cursor cursor;
    KeyMemory memory;
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
    cursor.near_count = brake::near_count(cursor);
    return true;
}

brake_json_kind brake_json_peek(const brake_json *json) { return json->cursor.peek(); }

brake_json_step brake_json_next_token(brake_json *json, brake_json_slice *token) {
    return json->cursor.next_token(*token);
}

brake_json_step brake_json_next_events(
    brake_json *json, brake_json_event *events, uint32_t max, uint32_t *count) {
    Cursor &cursor = json->cursor;
    *count = 0;
    if (json->stage != Stage::end) {
        bool is_first = json->stage == Stage::start;
        if (is_first) json->is_array = cursor.take('[');
        json->stage = Stage::element;
        if (!json->is_array) {
            if (!brake::read_event(cursor, json->memory, events[0])) return BRAKE_JSON_BAD;
            *count = 1;
        } else if (!is_first || cursor.head() != ']') {
            auto step = brake::read_events(cursor, json->memory, events, max, *count);
            if (step != BRAKE_JSON_END) return step;
        }
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
            if (is_word(key.bytes, key.length, "append")) {
                line->append = value;
            } else if (is_word(key.bytes, key.length, "value")) {
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
