/* See shim_log.h. */
#include "node/shim/shim_log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "node/shim/shim_wire.h"

int shim_log_open(struct shim_log *l, int dir, const char *name)
{
    struct stat st;
    l->dir = dir;
    (void)snprintf(l->name, sizeof(l->name), "%s", name);
    l->fd = openat(dir, name, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0640);
    if (l->fd < 0)
        return -1;
    l->size = fstat(l->fd, &st) == 0 ? st.st_size : 0;
    return 0;
}

void shim_log_close(struct shim_log *l)
{
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

static void rotate(struct shim_log *l)
{
    char from[320], to[320];
    shim_log_close(l);
    for (int i = SHIM_LOG_FILES - 1; i > 0; i--) {
        (void)snprintf(to, sizeof(to), "%s.%d", l->name, i);
        if (i > 1)
            (void)snprintf(from, sizeof(from), "%s.%d", l->name, i - 1);
        else
            (void)snprintf(from, sizeof(from), "%s", l->name);
        (void)renameat(l->dir, from, l->dir, to);
    }
    (void)shim_log_open(l, l->dir, from);
}

static void put_line(struct shim_log *l, const char *stream, bool whole, const char *p, size_t n)
{
    struct timespec now;
    struct tm tm;
    char head[64];
    (void)clock_gettime(CLOCK_REALTIME, &now);
    (void)gmtime_r(&now.tv_sec, &tm);
    int len = snprintf(head, sizeof(head), "%04d-%02d-%02dT%02d:%02d:%02d.%09ldZ %s %c ",
                       tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                       tm.tm_sec, now.tv_nsec, stream, whole ? 'F' : 'P');
    struct iovec v[] = {{head, (size_t)len}, {(void *)p, n}, {(void *)"\n", 1}};
    if (l->size > 0 && l->size + (long long)n + len >= SHIM_LOG_MAX)
        rotate(l);
    ssize_t done = l->fd >= 0 ? writev(l->fd, v, 3) : -1; /* a full disk loses lines, not pods */
    if (done > 0)
        l->size += done;
}

static void put_lines(struct shim_stream *s, struct shim_log *l, bool all)
{
    size_t from = 0;
    for (;;) {
        const char *end = memchr(s->line + from, '\n', s->len - from);
        if (!end)
            break;
        put_line(l, s->name, true, s->line + from, (size_t)(end - s->line) - from);
        from = (size_t)(end - s->line) + 1;
    }
    bool full = s->len - from == sizeof(s->line);
    if ((all || full) && from < s->len) {
        put_line(l, s->name, !full, s->line + from, s->len - from);
        from = s->len;
    }
    memmove(s->line, s->line + from, s->len - from);
    s->len -= from;
}

bool shim_stream_pump(struct shim_stream *s, struct shim_log *l)
{
    ssize_t n = read(s->fd, s->line + s->len, sizeof(s->line) - s->len);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return true;
    if (n > 0)
        s->len += (size_t)n;
    put_lines(s, l, n <= 0);
    if (n > 0)
        return true;
    close(s->fd);
    s->fd = -1;
    return false;
}
