// Numbers and escaped text.

#include <charconv>
#include <cstring>
#include <limits>

#include "Cursor.hpp"

namespace brake {

namespace {

constexpr double powers_of_ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr int exact_powers_max = 22;

// The decimal digits of a number: digits x 10^exponent.
struct Decimal {
    uint64_t digits = 0;
    unsigned digit_count = 0;  // beyond 19 `digits` has overflowed
    int64_t exponent = 0;
    bool is_negative = false;
    bool is_integer = true;
};

bool scan(const uint8_t *begin, const uint8_t *end, Decimal &out) {
    const uint8_t *at = begin;
    if (at < end && *at == '-') {
        out.is_negative = true;
        at += 1;
    }
    const uint8_t *whole = at;
    for (; at < end && is_digit(*at); at += 1) out.digits = out.digits * 10 + (*at - '0');
    if (at == whole || (*whole == '0' && at - whole > 1)) return false;
    out.digit_count = unsigned(at - whole);
    if (at < end && *at == '.') {
        out.is_integer = false;
        const uint8_t *fraction = ++at;
        for (; at < end && is_digit(*at); at += 1) out.digits = out.digits * 10 + (*at - '0');
        if (at == fraction) return false;
        out.digit_count += unsigned(at - fraction);
        out.exponent = -(at - fraction);
    }
    if (at < end && (*at == 'e' || *at == 'E')) {
        out.is_integer = false;
        at += 1;
        bool is_small = at < end && *at == '-';
        if (at < end && (*at == '-' || *at == '+')) at += 1;
        const uint8_t *power = at;
        int64_t value = 0;
        for (; at < end && is_digit(*at); at += 1) {
            if (value < 1'000'000) value = value * 10 + (*at - '0');
        }
        if (at == power) return false;
        out.exponent += is_small ? -value : value;
    }
    return at == end;
}

double real(const uint8_t *begin, const uint8_t *end, const Decimal &decimal) {
    constexpr uint64_t exact_max = uint64_t(1) << 53;
    if (decimal.digit_count <= 19 && decimal.digits <= exact_max &&
        decimal.exponent >= -exact_powers_max && decimal.exponent <= exact_powers_max) {
        // Both operands are exact, so the one operation rounds correctly.
        double magnitude = decimal.exponent < 0
            ? double(decimal.digits) / powers_of_ten[-decimal.exponent]
            : double(decimal.digits) * powers_of_ten[decimal.exponent];
        return decimal.is_negative ? -magnitude : magnitude;
    }
    double value = 0;
    auto first = reinterpret_cast<const char *>(begin);
    auto result = std::from_chars(first, reinterpret_cast<const char *>(end), value);
    if (result.ec == std::errc::result_out_of_range) {
        // Not zero, so that there is a digit at which the zeros before it end.
        int64_t zeros = 0;
        for (const uint8_t *at = begin; *at == '-' || *at == '0' || *at == '.'; at += 1) {
            zeros += *at == '0';
        }
        bool is_tiny = decimal.exponent + int64_t(decimal.digit_count) - zeros <= 0;
        value = is_tiny ? 0 : std::numeric_limits<double>::infinity();
        if (decimal.is_negative) value = -value;
    }
    return value;
}

// The number that eight digits make, the first of them in the lowest byte; false when one is none.
// After D. Lemire, "Quickly parsing eight digits" (2018).
bool eight_digits(uint64_t text, uint64_t &number) {
    constexpr uint64_t zeros = 0x3030303030303030;
    // A byte beyond '9' or below '0' leaves its highest bit in one of the two.
    if (((text + 0x4646464646464646) | (text - zeros)) & 0x8080808080808080) return false;
    text -= zeros;
    text = text * 10 + (text >> 8);
    uint64_t fours = (text & 0x000000ff000000ff) * (1'000'000 * (uint64_t(1) << 32) + 100);
    uint64_t others = (text >> 16 & 0x000000ff000000ff) * (10'000 * (uint64_t(1) << 32) + 1);
    number = (fours + others) >> 32;
    return true;
}

// Whole numbers of nine to fifteen digits, as times in milliseconds are. False: take a closer look.
bool read_time(const uint8_t *begin, size_t size, uint64_t &number) {
    if (size < 9 || size > 15 || *begin == '0') return false;
    static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
    constexpr uint64_t zeros = 0x3030303030303030;
    uint64_t head, tail, high, low;
    std::memcpy(&head, begin, 8);
    std::memcpy(&tail, begin + size - 8, 8);
    // Of the head only what the tail has not, behind zeros.
    head = head << 8 * (16 - size) | zeros >> 8 * (size - 8);
    if (!eight_digits(head, high) || !eight_digits(tail, low)) return false;
    number = high * 100'000'000 + low;
    return true;
}

bool hex(const uint8_t *at, const uint8_t *end, uint32_t &out) {
    if (end - at < 4) return false;
    out = 0;
    for (int index = 0; index < 4; index += 1) {
        uint8_t byte = at[index];
        uint32_t digit;
        if (is_digit(byte)) digit = byte - '0';
        else if (byte >= 'a' && byte <= 'f') digit = byte - 'a' + 10;
        else if (byte >= 'A' && byte <= 'F') digit = byte - 'A' + 10;
        else return false;
        out = out << 4 | digit;
    }
    return true;
}

uint8_t *encode(uint32_t scalar, uint8_t *to) {
    if (scalar < 0x80) {
        *to++ = uint8_t(scalar);
    } else if (scalar < 0x800) {
        *to++ = uint8_t(0xc0 | scalar >> 6);
        *to++ = uint8_t(0x80 | (scalar & 0x3f));
    } else if (scalar < 0x10000) {
        *to++ = uint8_t(0xe0 | scalar >> 12);
        *to++ = uint8_t(0x80 | (scalar >> 6 & 0x3f));
        *to++ = uint8_t(0x80 | (scalar & 0x3f));
    } else {
        *to++ = uint8_t(0xf0 | scalar >> 18);
        *to++ = uint8_t(0x80 | (scalar >> 12 & 0x3f));
        *to++ = uint8_t(0x80 | (scalar >> 6 & 0x3f));
        *to++ = uint8_t(0x80 | (scalar & 0x3f));
    }
    return to;
}

// The scalar of a \u escape whose digits begin at `at`, which moves behind it.
bool unicode(const uint8_t *&at, const uint8_t *end, uint32_t &scalar) {
    if (!hex(at, end, scalar)) return false;
    at += 4;
    if (scalar < 0xd800 || scalar > 0xdfff) return true;
    uint32_t low;
    if (scalar > 0xdbff || end - at < 6 || at[0] != '\\' || at[1] != 'u') return false;
    if (!hex(at + 2, end, low) || low < 0xdc00 || low > 0xdfff) return false;
    at += 6;
    scalar = 0x10000 + ((scalar - 0xd800) << 10) + (low - 0xdc00);
    return true;
}

}  // namespace

bool read_number(const uint8_t *begin, const uint8_t *end, brake_json_slice &out) {
    if (read_time(begin, size_t(end - begin), out.integer)) {
        out.kind = BRAKE_JSON_INTEGER;
        return true;
    }
    Decimal decimal;
    if (!scan(begin, end, decimal)) return false;
    // 19 digits always fit into 64 bits.
    if (decimal.is_integer && decimal.digit_count <= 19) {
        if (!decimal.is_negative || decimal.digits == 0) {
            out.kind = BRAKE_JSON_INTEGER;
            out.integer = decimal.digits;
            return true;
        }
        if (decimal.digits <= uint64_t(1) << 63) {
            out.kind = BRAKE_JSON_NEGATIVE;
            out.integer = 0 - decimal.digits;
            return true;
        }
    }
    out.kind = BRAKE_JSON_REAL;
    out.real = real(begin, end, decimal);
    return true;
}

uint8_t *unescape(const uint8_t *begin, const uint8_t *end, uint8_t *to) {
    const uint8_t *at = begin;
    while (at < end) {
        if (*at != '\\') {
            *to++ = *at++;
            continue;
        }
        if (end - at < 2) return nullptr;
        uint8_t letter = at[1];
        at += 2;
        switch (letter) {
            case '"': case '\\': case '/': *to++ = letter; break;
            case 'b': *to++ = '\b'; break;
            case 'f': *to++ = '\f'; break;
            case 'n': *to++ = '\n'; break;
            case 'r': *to++ = '\r'; break;
            case 't': *to++ = '\t'; break;
            case 'u': {
                uint32_t scalar;
                if (!unicode(at, end, scalar)) return nullptr;
                to = encode(scalar, to);
                break;
            }
            default: return nullptr;
        }
    }
    return to;
}

}  // namespace brake
