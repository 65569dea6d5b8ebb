/* The log of a container, as container runtimes write it: one file per run, a line per line,
 *
 *   2026-01-01T00:00:00.000000000Z stdout F a whole line
 *   2026-01-01T00:00:00.000000000Z stderr P the beginning of a long one
 *
 * At SHIM_LOG_MAX it becomes NAME.1, that NAME.2 and so on, SHIM_LOG_FILES in all. */
#ifndef NODE_SHIM_LOG_H
#define NODE_SHIM_LOG_H

#include <stdbool.h>
#include <stddef.h>

enum { SHIM_LINE_MAX = 16 * 1024 };

struct shim_log {
    int dir, fd;
    char name[300]; /* in dir */
    long long size;
};

/* One of the two streams: what has come of a line that has not ended. */
struct shim_stream {
    int fd; /* -1: closed */
    const char *name;
    size_t len;
    char line[SHIM_LINE_MAX];
};

int shim_log_open(struct shim_log *l, int dir, const char *name);
void shim_log_close(struct shim_log *l);
/* Reads what there is, once; false when the stream has ended. */
bool shim_stream_pump(struct shim_stream *s, struct shim_log *l);

#endif
