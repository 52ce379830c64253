// libmicrohttpd for Swift: the library's header, and plain functions where it has variadic ones,
// which Swift cannot call.
#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H

#include <microhttpd.h>
#include <string.h>
#include <sys/socket.h>

/// What `adbrake_mhd_start` takes; null and zero mean the library's own choice.
struct adbrake_mhd_settings {
    int listen_socket;
    unsigned int threads;  // of the pool; 0: a thread for each connection
    unsigned int connections_max;
    unsigned int idle_seconds;
    size_t connection_memory_bytes;
    size_t stack_bytes;
    const char *tls_key_pem;
    const char *tls_certificate_pem;
    void *context;  // first argument of the five callbacks
    MHD_AcceptPolicyCallback on_accept;
    MHD_AccessHandlerCallback on_request;
    void *(*on_target)(void *context, const char *target, struct MHD_Connection *connection);
    MHD_RequestCompletedCallback on_completed;
    MHD_NotifyConnectionCallback on_connection;
};

/// Leaves percent escapes in place: the caller decodes the target itself, segment by segment.
static size_t adbrake_mhd_keep_escapes(
    void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static inline struct MHD_Daemon *adbrake_mhd_start(const struct adbrake_mhd_settings *settings) {
    unsigned int flags = MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_SUSPEND_RESUME;
    flags |= settings->threads == 0 ? MHD_USE_THREAD_PER_CONNECTION | MHD_USE_POLL : MHD_USE_EPOLL;
    struct MHD_OptionItem tuning[5];
    int count = 0;
    // A pool of one is refused by the library: without the option it has one thread anyway.
    if (settings->threads > 1)
        tuning[count++] = (struct MHD_OptionItem){
            MHD_OPTION_THREAD_POOL_SIZE, (intptr_t)settings->threads, NULL};
    if (settings->tls_key_pem != NULL && settings->tls_certificate_pem != NULL) {
        flags |= MHD_USE_TLS;
        tuning[count++] = (struct MHD_OptionItem){
            MHD_OPTION_HTTPS_MEM_KEY, 0, (void *)settings->tls_key_pem};
        tuning[count++] = (struct MHD_OptionItem){
            MHD_OPTION_HTTPS_MEM_CERT, 0, (void *)settings->tls_certificate_pem};
        tuning[count++] = (struct MHD_OptionItem){
            MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)"NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"};
    }
    tuning[count] = (struct MHD_OptionItem){MHD_OPTION_END, 0, NULL};
    return MHD_start_daemon(
        flags, 0, settings->on_accept, settings->context, settings->on_request, settings->context,
        MHD_OPTION_LISTEN_SOCKET, settings->listen_socket,
        MHD_OPTION_CONNECTION_LIMIT, settings->connections_max,
        MHD_OPTION_CONNECTION_TIMEOUT, settings->idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings->connection_memory_bytes,
        MHD_OPTION_THREAD_STACK_SIZE, settings->stack_bytes,
        MHD_OPTION_UNESCAPE_CALLBACK, adbrake_mhd_keep_escapes, NULL,
        MHD_OPTION_URI_LOG_CALLBACK, settings->on_target, settings->context,
        MHD_OPTION_NOTIFY_COMPLETED, settings->on_completed, settings->context,
        MHD_OPTION_NOTIFY_CONNECTION, settings->on_connection, settings->context,
        MHD_OPTION_ARRAY, tuning,
        MHD_OPTION_END);
}

/// The ends of a streamed body, which are macros with casts in the library.
static const ssize_t adbrake_mhd_end_of_stream = MHD_CONTENT_READER_END_OF_STREAM;
static const ssize_t adbrake_mhd_end_with_error = MHD_CONTENT_READER_END_WITH_ERROR;

/// The socket of a connection, -1 when it has none.
static inline int adbrake_mhd_socket(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info == NULL ? -1 : info->connect_fd;
}

/// What `on_connection` stored for the connection.
static inline void *adbrake_mhd_socket_context(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info == NULL ? NULL : info->socket_context;
}

#endif
