// zlib for Swift: the library's header, and functions where it has macros.
#ifndef CZLIB_SHIM_H
#define CZLIB_SHIM_H

#include <zlib.h>

/// Window bits that mean gzip framing.
enum { ADBRAKE_ZLIB_GZIP = 15 + 16 };

static inline int adbrake_zlib_inflate_init(z_stream *stream) {
    return inflateInit2(stream, ADBRAKE_ZLIB_GZIP);
}

static inline int adbrake_zlib_deflate_init(z_stream *stream, int level) {
    return deflateInit2(stream, level, Z_DEFLATED, ADBRAKE_ZLIB_GZIP, 8, Z_DEFAULT_STRATEGY);
}

#endif
