// What Swift has no word for: asking the processor for memory without waiting for it.
#ifndef ADBRAKE_PREFETCH_H
#define ADBRAKE_PREFETCH_H

/// Has the cache line at a place fetched. Reads nothing, so it cannot fail, wherever the place is.
static inline void adbrake_prefetch(const void *place) { __builtin_prefetch(place); }

#endif
