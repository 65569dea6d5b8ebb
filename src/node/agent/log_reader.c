/* See log_reader.h. */
#include "node/agent/log_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 64 * 1024 };

void log_reader_init(struct log_reader *r, const char *path)
{
    *r = (struct log_reader){.tail = -1, .limit = -1};
    (void)snprintf(r->path, sizeof(r->path), "%s", path);
    strbuf_init(&r->part, LINE_MAX_BYTES);
    strbuf_init(&r->out, 4 * LOG_READER_PIECE);
}

void log_reader_done(struct log_reader *r)
{
    for (size_t i = r->at; i < r->n; i++)
        close(r->fds[i]);
    strbuf_done(&r->part);
    strbuf_done(&r->out);
}

static void open_files(struct log_reader *r)
{
    char name[sizeof(r->path) + 8];
    for (int i = LOG_READER_FILES - 1; i >= 0; i--) {
        (void)snprintf(name, sizeof(name), i ? "%s.%d" : "%s", r->path, i);
        int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
        if (fd >= 0)
            r->fds[r->n++] = fd;
    }
    r->opened = true;
}

/* ---- the last lines ---- */

/* The offset after the last newline but `lines`, counting backwards; *lines: how many are still
 * wanted when the file is too short. */
static int64_t tail_in(int fd, int64_t *lines)
{
    char b[LOG_READER_PIECE];
    struct stat st;
    int64_t end = fstat(fd, &st) == 0 ? st.st_size : 0, last = end;
    while (end > 0) {
        size_t len = (size_t)MIN(end, (int64_t)sizeof(b));
        ssize_t n = pread(fd, b, len, end - (int64_t)len);
        if (n <= 0)
            return 0;
        for (ssize_t i = n; i-- > 0;) {
            int64_t at = end - (int64_t)len + i;
            if (b[i] != '\n' || at == last - 1)
                continue;
            if (--*lines == 0)
                return at + 1;
        }
        end -= (int64_t)len;
    }
    if (last > 0)
        --*lines;
    return 0;
}

static void seek_tail(struct log_reader *r)
{
    int64_t lines = r->tail;
    size_t first = r->n;
    if (r->tail == 0) {
        struct stat st;
        first = r->n ? r->n - 1 : 0;
        r->offset = r->n && fstat(r->fds[first], &st) == 0 ? st.st_size : 0;
    }
    while (lines > 0 && first > 0)
        r->offset = tail_in(r->fds[--first], &lines);
    for (size_t i = 0; i < first; i++)
        close(r->fds[i]);
    r->at = first;
}

/* ---- lines ---- */

/* "TIME STREAM TAG text" */
static void put_line(struct log_reader *r, str line)
{
    str time = str_cut(&line, ' '), stream = str_cut(&line, ' '), tag = str_cut(&line, ' ');
    usec when = 0;
    if (r->only[0] && !str_is(stream, r->only))
        return;
    if (r->since && time_parse_rfc3339(time, &when) && when < r->since)
        return;
    size_t before = r->out.len;
    if (r->timestamps)
        strbuf_printf(&r->out, "%.*s ", STR_ARG(time));
    strbuf_add_str(&r->out, line);
    if (str_is(tag, "F"))
        strbuf_add_char(&r->out, '\n');
    if (r->limit < 0)
        return;
    int64_t added = (int64_t)(r->out.len - before);
    if (added > r->limit) {
        r->out.len = before + (size_t)r->limit;
        r->out.p[r->out.len] = 0;
    }
    r->limit -= MIN(added, r->limit);
}

static void put_piece(struct log_reader *r, str piece)
{
    while (!str_is_empty(piece)) {
        ptrdiff_t end = str_find_char(piece, '\n');
        if (end < 0) {
            strbuf_add_str(&r->part, piece);
            return;
        }
        strbuf_add_str(&r->part, str_sub(piece, 0, (size_t)end));
        if (r->limit != 0)
            put_line(r, strbuf_str(&r->part));
        strbuf_reset(&r->part);
        piece = str_sub(piece, (size_t)end + 1, piece.len);
    }
}

/* The newest file may have been rotated away since it was opened: then another one follows. */
static bool reopen(struct log_reader *r)
{
    struct stat ours, now;
    if (fstat(r->fds[r->at], &ours) < 0 || stat(r->path, &now) < 0 || ours.st_ino == now.st_ino)
        return false;
    int fd = open(r->path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    close(r->fds[r->at]);
    r->fds[r->at] = fd;
    r->offset = 0;
    return true;
}

void log_reader_next(struct log_reader *r)
{
    char b[LOG_READER_PIECE];
    strbuf_reset(&r->out);
    if (!r->opened) {
        open_files(r);
        if (r->tail >= 0)
            seek_tail(r);
    }
    r->ended = r->at == r->n;
    while (!r->ended) {
        ssize_t n = pread(r->fds[r->at], b, sizeof(b), r->offset);
        if (n > 0) {
            r->offset += n;
            put_piece(r, str_n(b, (size_t)n));
            return;
        }
        if (r->at + 1 == r->n) {
            r->ended = !reopen(r);
            continue;
        }
        close(r->fds[r->at++]);
        r->offset = 0;
    }
}
