/*
 * Structured log lines to stderr: text for people, JSON lines for machines, chosen once per run.
 *
 *   log_info("store opened", LOG_U("revision", rev), LOG_C("dir", dir));
 *
 * The list of fields ends by itself. Library code logs at debug only; the station
 * that handles an error logs it, once. Time stamps come from the clock given by log_set_clock
 * (the loop's), so a simulated run logs the same bytes every time.
 */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "base/str.h"

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARN, LOG_LEVEL_ERROR, LOG_LEVEL_OFF };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

struct log_field {
    const char *key;
    enum { LOG_T_END, LOG_T_STR, LOG_T_INT, LOG_T_UINT, LOG_T_BOOL } type;
    union {
        str s;
        int64_t i;
        uint64_t u;
        bool b;
    };
};

#define LOG_S(k, v) ((struct log_field){.key = (k), .type = LOG_T_STR, .s = (v)})
#define LOG_C(k, v) ((struct log_field){.key = (k), .type = LOG_T_STR, .s = str_of(v)})
#define LOG_I(k, v) ((struct log_field){.key = (k), .type = LOG_T_INT, .i = (v)})
#define LOG_U(k, v) ((struct log_field){.key = (k), .type = LOG_T_UINT, .u = (v)})
#define LOG_B(k, v) ((struct log_field){.key = (k), .type = LOG_T_BOOL, .b = (v)})

void log_set_level(enum log_level level);
void log_set_format(enum log_format format);
bool log_level_parse(str s, enum log_level *ret);
/* Microseconds since 1970; the default reads CLOCK_REALTIME. */
void log_set_clock(int64_t (*now_usec)(void *ctx), void *ctx);
/* Sends lines elsewhere (tests, simulations); NULL restores stderr. */
void log_set_sink(void (*sink)(void *ctx, str line), void *ctx);
bool log_enabled(enum log_level level);
/* fields ends with a field of type LOG_T_END. */
void log_write(enum log_level level, const char *message, const struct log_field *fields);

/* The fields stand between two empty ones, so that the list may have none; the first is skipped. */
#define LOG_AT(level, msg, ...)                                                       \
    do {                                                                              \
        if (log_enabled(level))                                                       \
            log_write(level, msg, (struct log_field[]){{0}, ##__VA_ARGS__, {0}} + 1); \
    } while (0)
/* log_info("listening", LOG_C("address", a), LOG_I("port", 6443)); */
#define log_debug(...) LOG_AT(LOG_LEVEL_DEBUG, __VA_ARGS__)
#define log_info(...) LOG_AT(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_warn(...) LOG_AT(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_error(...) LOG_AT(LOG_LEVEL_ERROR, __VA_ARGS__)

#endif
