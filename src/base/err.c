/*
 * Errors have fixed room so that making one never allocates; what does not fit is cut at a
 * character border and ends in "...".
 */
#define ERR_IMPLEMENTATION
#include "base/err.h"

#include <errno.h>

/* After vsnprintf wanted `want` bytes in buf[size]: mark the cut. */
static void mark_cut(char *buf, size_t size, int want)
{
    if (want < 0 || (size_t)want < size)
        return;
    size_t at = size - 4;
    while (at > 0 && ((unsigned char)buf[at] & 0xc0) == 0x80)
        at--;
    memcpy(buf + at, "...", 4);
}

static void set_message(struct err *err, const char *fmt, va_list ap)
{
    mark_cut(err->message, sizeof(err->message),
             vsnprintf(err->message, sizeof(err->message), fmt, ap));
}

/* Puts the text after the message. */
static void append_message(struct err *err, const char *sep, const char *text)
{
    size_t at = strlen(err->message);
    size_t room = sizeof(err->message) - at;
    int n = snprintf(err->message + at, room, "%s%s", sep, text);
    if ((size_t)n >= room)
        mark_cut(err->message, sizeof(err->message), (int)sizeof(err->message));
}

int err_set(struct err *err, int code, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    err->field[0] = '\0';
    set_message(err, fmt, ap);
    va_end(ap);
    return code;
}

int err_set_field(struct err *err, int code, str field, const char *fmt, ...)
{
    if (!err)
        return code;
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    set_message(err, fmt, ap);
    va_end(ap);
    int n = snprintf(err->field, sizeof(err->field), "%.*s", STR_ARG(field));
    mark_cut(err->field, sizeof(err->field), n);
    return code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
    if (!err)
        return ERR_INTERNAL;
    char inner[sizeof(err->message)];
    memcpy(inner, err->message, sizeof(inner));
    va_list ap;
    va_start(ap, fmt);
    set_message(err, fmt, ap);
    va_end(ap);
    append_message(err, ": ", inner);
    return err->code;
}

int err_errno(struct err *err, int code, const char *fmt, ...)
{
    int saved = errno;
    if (!err)
        return code;
    char room[128];
    va_list ap;
    va_start(ap, fmt);
    err->code = code;
    err->field[0] = '\0';
    set_message(err, fmt, ap);
    va_end(ap);
    append_message(err, ": ", strerror_r(saved, room, sizeof(room)));
    errno = saved;
    return code;
}

const char *err_code_name(int code)
{
    static const char *const names[] = {
        [-ERR_NONE] = "no error",
        [-ERR_INVALID] = "invalid",
        [-ERR_NOT_FOUND] = "not found",
        [-ERR_EXISTS] = "already exists",
        [-ERR_CONFLICT] = "conflict",
        [-ERR_FORBIDDEN] = "forbidden",
        [-ERR_UNAUTHORIZED] = "unauthorized",
        [-ERR_TOO_LARGE] = "too large",
        [-ERR_UNSUPPORTED] = "unsupported",
        [-ERR_TIMEOUT] = "timeout",
        [-ERR_UNAVAILABLE] = "unavailable",
        [-ERR_GONE] = "gone",
        [-ERR_IO] = "input/output error",
        [-ERR_USAGE] = "wrong usage",
        [-ERR_INTERNAL] = "internal error",
        [-ERR_NO_SPACE] = "no space",
    };
    if (code > 0 || code <= -(int)ARRAY_LEN(names))
        return "unknown error";
    return names[-code];
}
