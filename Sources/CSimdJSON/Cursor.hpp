// Walks the positions which simdjson found (brackets, colons, commas, the first byte of each
// scalar) and checks the grammar as it goes. What lies between two positions is one scalar and
// white space.

#ifndef ADBRAKE_CURSOR_HPP
#define ADBRAKE_CURSOR_HPP

#include <cstring>

#include "include/CSimdJSON.h"

namespace brake {

// Deeper documents are refused, so that nesting costs a bit a level and no stack.
constexpr unsigned depth_max = 64;

// Whether these bytes are this word.
template <size_t size>
bool is_word(const uint8_t *bytes, uint32_t length, const char (&word)[size]) {
    return length == size - 1 && std::memcmp(bytes, word, size - 1) == 0;
}

inline bool is_digit(uint8_t byte) { return byte >= '0' && byte <= '9'; }

struct Cursor {
    const uint8_t *bytes = nullptr;
    uint32_t length = 0;
    const uint32_t *positions = nullptr;
    uint32_t count = 0;
    uint32_t place = 0;  // index of the next position
    uint32_t near_count = 0;  // see the function of this name
    bool has_escapes = false;
    uint8_t *scratch = nullptr;  // as long as the document may be: holds unescaped text
    uint32_t scratch_used = 0;

    // Of the token walk: one bit a level, set in objects.
    uint64_t objects = 0;
    unsigned depth = 0;
    enum class Expects : uint8_t { value, first_key, first_element, separator } expects =
        Expects::value;

    // The byte at the next position; 0, which no position has, after the last.
    uint8_t head() const { return place < count ? bytes[positions[place]] : 0; }

    // The first byte of the value or token which comes next.
    uint32_t head_position() const { return place < count ? positions[place] : length; }

    // The end of the scalar before the next position, without white space.
    uint32_t scalar_end() const {
        uint32_t end = head_position();
        while (end > 0 && is_white(bytes[end - 1])) end -= 1;
        return end;
    }

    static bool is_white(uint8_t byte) {
        return byte <= ' ' && (byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t');
    }

    bool take(uint8_t byte) {
        if (head() != byte) return false;
        place += 1;
        return true;
    }

    // The string at the next position.
    bool text(brake_json_slice &out) {
        uint32_t start = positions[place] + 1;
        place += 1;
        uint32_t end = scalar_end();
        // simdjson has made sure that the string is closed, and only white space can follow it.
        if (end <= start || bytes[end - 1] != '"') return false;
        out.kind = BRAKE_JSON_TEXT;
        out.bytes = bytes + start;
        out.length = end - 1 - start;
        return !has_escapes || unescape(out);
    }

    // The string, number or literal at the next position.
    bool scalar(brake_json_slice &out);

    // A key with its colon.
    bool key(brake_json_slice &out) { return head() == '"' && text(out) && take(':'); }

    // Any value; objects and arrays are checked and skipped.
    bool value(brake_json_slice &out) { return head() == '"' ? text(out) : other_value(out); }

    brake_json_kind peek() const;
    brake_json_step next_token(brake_json_slice &out);

    // Starts a token walk at the next position.
    void restart_tokens() {
        objects = 0;
        depth = 0;
        expects = Expects::value;
    }

private:
    bool unescape(brake_json_slice &text);
    bool other_value(brake_json_slice &out);
    bool token_value(brake_json_slice &out);
    bool close(brake_json_slice &out);
};

// A number which fills [begin, end); false when that is not one.
bool read_number(const uint8_t *begin, const uint8_t *end, brake_json_slice &out);

// Writes the text of [begin, end) without its escapes, which is never longer; null when an escape
// is not one or stands for half a character.
uint8_t *unescape(const uint8_t *begin, const uint8_t *end, uint8_t *to);

}  // namespace brake

#endif
