// libcurl for Swift: its variadic functions, one for each kind of argument that we use.
#ifndef ADBRAKE_CCURL_SHIM_H
#define ADBRAKE_CCURL_SHIM_H

#include <curl/curl.h>

typedef size_t (*brake_curl_bytes)(char *bytes, size_t size, size_t count, void *context);
typedef int (*brake_curl_progress)(
    void *context, curl_off_t down_total, curl_off_t down, curl_off_t up_total, curl_off_t up);

static inline CURLcode brake_curl_set_long(CURL *handle, CURLoption option, long value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode brake_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode brake_curl_set_size(CURL *handle, CURLoption option, curl_off_t value) {
    return curl_easy_setopt(handle, option, value);
}

static inline CURLcode brake_curl_on_bytes(
    CURL *handle, CURLoption option, brake_curl_bytes callback) {
    return curl_easy_setopt(handle, option, callback);
}

static inline CURLcode brake_curl_on_progress(CURL *handle, brake_curl_progress callback) {
    return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, callback);
}

static inline CURLcode brake_curl_get_long(CURL *handle, CURLINFO info, long *value) {
    return curl_easy_getinfo(handle, info, value);
}

#endif
