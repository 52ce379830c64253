// The walk over scalars, values and tokens.

#include "Cursor.hpp"

namespace brake {

// Text that may have escapes, without them.
bool Cursor::unescape(brake_json_slice &text) {
    if (std::memchr(text.bytes, '\\', text.length) == nullptr) return true;
    uint8_t *to = scratch + scratch_used;
    uint8_t *stop = brake::unescape(text.bytes, text.bytes + text.length, to);
    if (stop == nullptr) return false;
    text.bytes = to;
    text.length = uint32_t(stop - to);
    scratch_used += text.length;
    return true;
}

bool Cursor::scalar(brake_json_slice &out) {
    uint8_t first = head();
    if (first == '"') return text(out);
    if (first == 0) return false;
    const uint8_t *begin = bytes + positions[place];
    place += 1;
    const uint8_t *end = bytes + scalar_end();
    if (first == '-' || is_digit(first)) return read_number(begin, end, out);
    uint32_t size = uint32_t(end - begin);
    if (is_word(begin, size, "true")) out.kind = BRAKE_JSON_TRUE;
    else if (is_word(begin, size, "false")) out.kind = BRAKE_JSON_FALSE;
    else if (is_word(begin, size, "null")) out.kind = BRAKE_JSON_NULL;
    else return false;
    return true;
}

bool Cursor::other_value(brake_json_slice &out) {
    uint8_t first = head();
    if (first != '{' && first != '[') return scalar(out);
    restart_tokens();
    // Text within is checked and dropped again.
    uint32_t kept = scratch_used;
    do {
        if (next_token(out) != BRAKE_JSON_MORE) return false;
        scratch_used = kept;
    } while (depth > 0);
    out.kind = first == '{' ? BRAKE_JSON_OBJECT : BRAKE_JSON_ARRAY;
    return true;
}

brake_json_kind Cursor::peek() const {
    switch (head()) {
        case 0: return BRAKE_JSON_ABSENT;
        case '{': return BRAKE_JSON_OBJECT;
        case '[': return BRAKE_JSON_ARRAY;
        case '"': return BRAKE_JSON_TEXT;
        case 't': return BRAKE_JSON_TRUE;
        case 'f': return BRAKE_JSON_FALSE;
        case 'n': return BRAKE_JSON_NULL;
        default: return BRAKE_JSON_REAL;
    }
}

brake_json_step Cursor::next_token(brake_json_slice &out) {
    bool is_in_object = objects & 1;
    bool is_good = false;
    switch (expects) {
        case Expects::value:
            is_good = token_value(out);
            break;
        case Expects::first_element:
            is_good = head() == ']' ? close(out) : token_value(out);
            break;
        case Expects::first_key:
            if (head() == '}') return close(out) ? BRAKE_JSON_MORE : BRAKE_JSON_BAD;
            is_good = key(out);
            out.kind = BRAKE_JSON_KEY;
            expects = Expects::value;
            break;
        case Expects::separator:
            if (depth == 0) return place == count ? BRAKE_JSON_END : BRAKE_JSON_BAD;
            if (head() != ',') {
                is_good = head() == (is_in_object ? '}' : ']') && close(out);
            } else if (place += 1; is_in_object) {
                is_good = key(out);
                out.kind = BRAKE_JSON_KEY;
                expects = Expects::value;
            } else {
                is_good = token_value(out);
            }
            break;
    }
    return is_good ? BRAKE_JSON_MORE : BRAKE_JSON_BAD;
}

bool Cursor::token_value(brake_json_slice &out) {
    uint8_t first = head();
    if (first != '{' && first != '[') {
        expects = Expects::separator;
        return scalar(out);
    }
    if (depth == depth_max) return false;
    depth += 1;
    objects = objects << 1 | uint64_t(first == '{');
    place += 1;
    out.kind = first == '{' ? BRAKE_JSON_OBJECT : BRAKE_JSON_ARRAY;
    expects = first == '{' ? Expects::first_key : Expects::first_element;
    return true;
}

bool Cursor::close(brake_json_slice &out) {
    place += 1;
    depth -= 1;
    objects >>= 1;
    out.kind = BRAKE_JSON_CLOSE;
    expects = Expects::separator;
    return true;
}

}  // namespace brake
