// JSON for Swift without C++ interoperability: simdjson finds the structure of a document with SIMD
// instructions and checks its UTF-8; a cursor of ours walks that structure and checks the grammar
// in full (simdjson's On-Demand leaves what nobody asks for unchecked). Nothing here allocates per
// document, reads past the bytes given (no padding is needed), or traps.

#ifndef ADBRAKE_CSIMDJSON_H
#define ADBRAKE_CSIMDJSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// For Swift's memory safety checks: only reading the pointer in it is unsafe, not holding it.
#define BRAKE_SAFE __attribute__((swift_attr("safe")))
// Too large to be copied where nobody sees it.
#define BRAKE_UNIQUE __attribute__((swift_attr("~Copyable")))

// A parser and its memory. One thread at a time.
typedef struct brake_json brake_json;

// What a value or a token is.
typedef enum : uint8_t {
    BRAKE_JSON_ABSENT = 0,
    BRAKE_JSON_NULL,
    BRAKE_JSON_TRUE,
    BRAKE_JSON_FALSE,
    BRAKE_JSON_INTEGER,   // not negative, in `integer`
    BRAKE_JSON_NEGATIVE,  // a negative integer, in `integer` as two's complement
    BRAKE_JSON_REAL,      // any other number, in `real`; infinite when it is too large
    BRAKE_JSON_TEXT,      // unescaped UTF-8 in `bytes` and `length`
    BRAKE_JSON_OBJECT,    // of tokens: the beginning of an object
    BRAKE_JSON_ARRAY,     // of tokens: the beginning of an array
    BRAKE_JSON_KEY,       // tokens only: as text
    BRAKE_JSON_CLOSE,     // tokens only: the end of the innermost object or array
} brake_json_kind;

// A value. Text points into the document or into the parser, until the parser is used again.
typedef struct BRAKE_SAFE {
    union {
        const uint8_t *bytes;
        uint64_t integer;
        double real;
    };
    uint32_t length;
    brake_json_kind kind;
} brake_json_slice;

// The fields of an event which decide what it means; the last of equal keys wins.
typedef struct BRAKE_SAFE BRAKE_UNIQUE {
    uint32_t start;   // where the value lies in the document
    uint32_t length;
    bool is_object;   // otherwise there are no fields
    brake_json_slice type, app, id, session, device, os;
    brake_json_slice at, sent, session_at;
    brake_json_slice phase, foreground, fatal, kind, severity, signal, event, error_code, count;
    brake_json_slice country, dismiss_delay_ms;
    brake_json_slice ignored;  // the value of some other key
} brake_json_event;

typedef enum : uint8_t {
    BRAKE_JSON_END = 0,   // nothing is left, and the document was JSON
    BRAKE_JSON_MORE = 1,
    BRAKE_JSON_BAD = 2,   // not JSON
} brake_json_step;

// The fields of a line of a replay file.
typedef struct BRAKE_SAFE {
    brake_json_slice append;
    brake_json_kind value;
} brake_json_line;

// A parser for documents up to so many bytes; null when there is no memory.
brake_json *brake_json_create(size_t bytes_max);
void brake_json_destroy(brake_json *json);

// Starts a document. The bytes must stay until the parser is used for another one. False when its
// UTF-8 or a string is broken, nothing is there, or it is larger than the parser allows.
bool brake_json_open(brake_json *json, const uint8_t *bytes, size_t length);

// Whether these bytes are those of a word of this length; of a length that is known when it is
// compiled, the comparison is one of a register or two.
static inline bool brake_json_is(const uint8_t *bytes, const uint8_t *word, size_t length) {
    return __builtin_memcmp(bytes, word, length) == 0;
}

// The kind of the value which comes next.
brake_json_kind brake_json_peek(const brake_json *json);

// The next events of an opened document: the object that it is, or elements of the array, up to
// `max` of them. `count` says how many; with BRAKE_JSON_MORE another one follows.
brake_json_step brake_json_next_events(
    brake_json *json, brake_json_event *events, uint32_t max, uint32_t *count);

// The next token of an opened document.
brake_json_step brake_json_next_token(brake_json *json, brake_json_slice *token);

// Reads an opened document as a line {"append": ..., "value": ...}, all of whose grammar it checks.
// With a value, `brake_json_next_events` gives its events afterwards.
bool brake_json_read_line(brake_json *json, brake_json_line *line);

#ifdef __cplusplus
}
#endif

#endif
