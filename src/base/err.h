/*
 * err: what went wrong, for a human or an API client: code, message and, where it has one, the
 * path of the offending field. Made at the point of failure, wrapped on the way up, shown once by
 * the station that handles it. Fallible functions return 0 or a negative enum err_code and take
 * `struct err *err` last; NULL is allowed when nobody will read it.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>

#include "base/str.h"

enum err_code {
    ERR_NONE = 0,
    ERR_INVALID = -1, /* input is malformed or breaks a rule */
    ERR_NOT_FOUND = -2,
    ERR_EXISTS = -3,
    ERR_CONFLICT = -4, /* changed meanwhile */
    ERR_FORBIDDEN = -5,
    ERR_UNAUTHORIZED = -6,
    ERR_TOO_LARGE = -7, /* a limit was hit */
    ERR_UNSUPPORTED = -8,
    ERR_TIMEOUT = -9,
    ERR_UNAVAILABLE = -10, /* try again later */
    ERR_GONE = -11,        /* the past asked for is no longer kept */
    ERR_IO = -12,          /* the operating system said no */
    ERR_USAGE = -13,       /* wrong command line */
    ERR_INTERNAL = -14,
    ERR_NO_SPACE = -15, /* disk or memory is full: goes on when there is room */
};

struct err {
    int code;           /* enum err_code */
    char field[256];    /* "spec.template.cliques[0].name", or empty */
    char message[1024]; /* cut with "..." when longer */
};

#define ERR_INIT ((struct err){0})

/* Sets the message and returns the code, so that `return err_set(...)` is one line. */
int err_set(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
int err_set_field(struct err *err, int code, str field, const char *fmt, ...) PRINTF_LIKE(4, 5);
/* Puts "context: " before the message; keeps the code, which it returns (ERR_INTERNAL when err is
 * NULL: the code is not known here then). */
int err_wrap(struct err *err, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* message becomes "fmt...: strerror(errno)". */
int err_errno(struct err *err, int code, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* The analyzer cannot see that these return the code they are given. */
#if defined(__clang_analyzer__) && !defined(ERR_IMPLEMENTATION)
#define err_set(err, code, ...) ((err_set)((err), (code), __VA_ARGS__), (code))
#define err_set_field(err, code, field, ...) \
    ((err_set_field)((err), (code), (field), __VA_ARGS__), (code))
#define err_errno(err, code, ...) ((err_errno)((err), (code), __VA_ARGS__), (code))
#endif

/* Short name of a code: "not found". */
const char *err_code_name(int code);

#endif
