/*
 * See check.h. The file is walked page by page (pages.h), which finds what is reachable also when
 * parts are damaged, and the records are judged as at start-up (open.c), except that one bad record
 * is not the end. What the store would refuse is a finding here, and nothing else is.
 *
 * When the newest commit is damaged, the one before it is looked at as well: LMDB leaves its pages
 * alone until two commits later, so it is often whole.
 *
 * Saving writes the last readable version of each object, unless that is a deletion, into a new
 * store. Whether a lost record was newer cannot be known, and is said.
 */
#include "store/check.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal.h"
#include "store/pages.h"

#define SAY_MAX 30
#define SAVE_RECORDS 256

/* What is known of a key: its last record that can be read. */
struct last {
    uint64_t revision;
    bool delete;
};

/* One walk over one commit. */
struct look {
    FILE *out; /* NULL: findings are counted only */
    struct pages_report pages;
    struct map last; /* record key -> struct last */
    struct arena arena;
    VEC(uint64_t) revisions; /* of all records, in order */
    VEC(uint64_t) brief;     /* of tombstones without a document */
    size_t found, objects;
    /* Saving. */
    struct disk *target;
    struct commit commit;
    struct arena held; /* its records: the file is let go of before the last commit */
    uint64_t revision; /* the newest of them all: what the next write follows */
    size_t saved;
    int error;
    struct err err;
};

static void found(struct look *l, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void found(struct look *l, const char *fmt, ...)
{
    va_list ap;
    if (l->found++ >= SAY_MAX || !l->out)
        return;
    fputs("damaged: ", l->out);
    va_start(ap, fmt);
    vfprintf(l->out, fmt, ap);
    va_end(ap);
    fputc('\n', l->out);
}

static void on_finding(void *ctx, const char *what)
{
    found(ctx, "%s", what);
}

/* ---- judging ---- */

static struct last *last_of(struct look *l, str key)
{
    struct last *last = map_get(&l->last, key);
    if (last)
        return last;
    last = arena_new(&l->arena, struct last);
    (void)map_put(&l->last, arena_str(&l->arena, key), last);
    return last;
}

static bool is_readable(struct look *l, const struct record *r)
{
    struct err err = ERR_INIT;
    struct obj *o = record_obj(&store_unknown_kind, r, &err);
    if (!o)
        found(l, "the record at revision %" PRIu64 " (%.*s %.*s/%.*s): %s", r->revision,
              STR_ARG(r->storage), STR_ARG(r->ns), STR_ARG(r->name), err.message);
    obj_unref(o);
    return o != NULL;
}

static void on_record(void *ctx, str key, str value)
{
    struct look *l = ctx;
    struct record r;
    struct err err = ERR_INIT;
    bool good = record_decode(key, value, true, &r, &err) == 0;
    *vec_push(&l->revisions) = r.revision;
    if (!good) {
        found(l, "the record at revision %" PRIu64 ": %s", r.revision, err.message);
        return;
    }
    bool is_brief = r.delete &&r.doc.len == 0;
    if (is_brief)
        *vec_push(&l->brief) = r.revision;
    if (is_brief || is_readable(l, &r))
        *last_of(l, r.key) = (struct last){.revision = r.revision, .delete = r.delete};
}

static void check_gap(struct look *l, uint64_t from, uint64_t to)
{
    if (from <= to)
        found(l,
              "revisions %" PRIu64 " to %" PRIu64 " are missing: the objects that they wrote are "
              "older here, or missing",
              from, to);
}

/* Above `oldest` every revision has its record. */
static void check_window(struct look *l)
{
    const struct pages_report *p = &l->pages;
    uint64_t next = p->oldest + 1;
    for (size_t i = 0; i < l->revisions.len; i++) {
        uint64_t revision = l->revisions.p[i];
        if (revision <= p->oldest)
            continue;
        check_gap(l, next, MIN(revision - 1, p->revision));
        next = revision + 1;
        if (revision > p->revision)
            found(l, "there is a record at revision %" PRIu64 ", and the last commit is %" PRIu64,
                  revision, p->revision);
    }
    check_gap(l, next, p->revision);
    for (size_t i = 0; i < l->brief.len; i++)
        if (l->brief.p[i] > p->oldest)
            found(l, "the record at revision %" PRIu64 " has no document", l->brief.p[i]);
}

static void check_numbers(struct look *l)
{
    const struct pages_report *p = &l->pages;
    if (p->format != 1)
        found(l, "it has format %" PRIu64 ", this grove reads format 1", p->format);
    if (p->oldest < STORE_FIRST_REVISION || p->oldest > p->revision)
        found(l, "its revisions (%" PRIu64 " to %" PRIu64 ") cannot be", p->oldest, p->revision);
    else
        check_window(l);
}

/* ---- walking ---- */

static void look_done(struct look *l)
{
    map_done(&l->last);
    arena_done(&l->arena);
    vec_done(&l->revisions);
    vec_done(&l->brief);
}

static int walk(struct look *l, const char *path, bool past,
                void (*fn)(void *ctx, str key, str value), struct err *err)
{
    l->pages =
        (struct pages_report){.past = past, .on_finding = on_finding, .on_record = fn, .ctx = l};
    int r = pages_verify(path, &l->pages, err);
    return l->pages.findings ? 0 : r;
}

/* 0, or why the file cannot be looked at. */
static int look_at(struct look *l, const char *path, bool past, FILE *out, struct err *err)
{
    *l = (struct look){.out = out, .last = MAP_INIT, .arena = ARENA_INIT, .held = ARENA_INIT};
    int r = walk(l, path, past, on_record, err);
    if (r < 0)
        return r;
    if (l->pages.pages > 0)
        check_numbers(l);
    void *value;
    for (size_t it = 0; map_next(&l->last, &it, &(str){0}, &value);)
        l->objects += !((struct last *)value)->delete;
    if (out && l->found > SAY_MAX)
        fprintf(out, "damaged: and %zu more\n", l->found - SAY_MAX);
    return 0;
}

/* ---- saving ---- */

static void save_flush(struct look *l)
{
    struct disk_room room = {0};
    struct commit *c = &l->commit;
    if (l->error || c->records.len == 0)
        return;
    c->oldest = c->revision = l->revision;
    c->grows = true; /* room is made for it first */
    l->error = disk_commit(l->target, c, &room, &l->err);
    l->saved += l->error ? 0 : c->records.len;
    c->records.len = 0;
    arena_done(&l->held);
    l->held = ARENA_INIT;
}

static struct record hold(struct arena *a, struct record r)
{
    r.storage = arena_str(a, r.storage);
    r.ns = arena_str(a, r.ns);
    r.name = arena_str(a, r.name);
    r.doc = arena_str(a, r.doc);
    return r;
}

static void on_save(void *ctx, str key, str value)
{
    struct look *l = ctx;
    struct record r;
    if (record_decode(key, value, true, &r, NULL) < 0)
        return;
    const struct last *last = map_get(&l->last, r.key);
    if (!last || last->delete || last->revision != r.revision)
        return;
    *vec_push(&l->commit.records) = hold(&l->held, r);
    if (l->commit.records.len == SAVE_RECORDS)
        save_flush(l);
}

static int save(struct look *l, const char *path, const char *to, FILE *out)
{
    struct err err = ERR_INIT;
    struct disk_room room = {0};
    struct stat st;
    bool past = l->pages.past;
    if (lstat(to, &st) == 0) {
        fprintf(out, "not saved: %s is there already; name a directory that is not\n", to);
        return CHECK_IMPOSSIBLE;
    }
    if (l->found && l->objects == 0) {
        fprintf(out, "not saved: no object can be read\n");
        return CHECK_IMPOSSIBLE;
    }
    l->out = NULL;
    l->revision = MAX(l->pages.revision, l->revisions.len ? *vec_last(&l->revisions) : 1);
    l->target = disk_open(to, &room, &err);
    int r = l->target ? walk(l, path, past, on_save, &err) : err.code;
    if (r == 0)
        err = ERR_INIT; /* what is damaged is known, and is why this is done */
    save_flush(l);
    arena_done(&l->held);
    vec_done(&l->commit.records);
    disk_close(l->target);
    if (r == 0 && l->error)
        err = l->err;
    if (err.code) {
        fprintf(out, "not saved: %s\n", err.message);
        return CHECK_IMPOSSIBLE;
    }
    fprintf(out, "saved: %zu objects in %s\n", l->saved, to);
    return 0;
}

/* ---- what it says ---- */

static void say_objects(const struct look *l, FILE *out)
{
    fprintf(out, "%zu object%s can be read\n", l->objects, l->objects == 1 ? "" : "s");
}

static void say_pages(const struct look *l, const char *path, FILE *out)
{
    const struct pages_report *p = &l->pages;
    fprintf(out,
            "%s: %" PRIu64 " pages of %zu bytes, %" PRIu64 " of them free; commit %" PRIu64
            ", revision %" PRIu64 ", history since %" PRIu64 "\n",
            path, p->pages, p->page_size, p->free, p->commit, p->revision, p->oldest);
}

static void say_what_to_do(const struct look *best, const char *dir, FILE *out)
{
    fprintf(
        out,
        "what to do: put back a copy of the directory from before the damage. Without one, save "
        "what can be read: grove up --check %s --save NEW-DIR\n",
        dir);
    if (!best->pages.past)
        fprintf(out, "what is saved may be older than what is lost, and objects that were deleted "
                     "may be among it\n");
}

static int judge(const char *dir, const char *path, const char *to, FILE *out)
{
    struct look now, past;
    struct err err = ERR_INIT;
    if (look_at(&now, path, false, out, &err) < 0) {
        look_done(&now);
        fprintf(out, "%s: %s\n", err.code == ERR_INVALID ? "damaged" : "cannot be checked",
                err.message);
        return err.code == ERR_INVALID ? CHECK_DAMAGED : CHECK_IMPOSSIBLE;
    }
    if (now.pages.pages > 0)
        say_pages(&now, path, out);
    say_objects(&now, out);
    int code = now.found ? CHECK_DAMAGED : CHECK_WHOLE;
    struct look *best = &now;
    (void)look_at(&past, path, true, NULL, &err);
    if (now.found && past.found == 0 && past.pages.pages > 0) {
        fprintf(out, "the commit before the last one is whole: revision %" PRIu64 ", %zu objects\n",
                past.pages.revision, past.objects);
        best = &past;
    }
    if (code == CHECK_WHOLE)
        fprintf(out, "whole\n");
    else if (!to)
        say_what_to_do(best, dir, out);
    if (to && save(best, path, to, out))
        code = CHECK_IMPOSSIBLE;
    look_done(&now);
    look_done(&past);
    return code;
}

/* ---- the directory ---- */

/* Somebody who uses the directory changes the file while it is read. -1: there is no lock. */
static bool lock_shared(const char *dir, int *ret, FILE *out)
{
    char path[PATH_MAX];
    (void)snprintf(path, sizeof(path), "%s/lock", dir);
    *ret = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*ret < 0 || flock(*ret, LOCK_SH | LOCK_NB) == 0)
        return true;
    fprintf(out, "cannot be checked: %s is in use by another grove; stop it first\n", dir);
    close(*ret);
    return false;
}

int store_check(const char *dir, const char *save_to, FILE *out)
{
    char path[PATH_MAX];
    struct stat st;
    int lock, n = snprintf(path, sizeof(path), "%s/data.mdb", dir);
    if (n < 0 || (size_t)n >= sizeof(path) || stat(dir, &st) < 0) {
        fprintf(out, "cannot be checked: %s: %s\n", dir, strerror(errno));
        return CHECK_IMPOSSIBLE;
    }
    if (!S_ISDIR(st.st_mode)) {
        fprintf(out, "cannot be checked: %s is not a directory; name the one given as --data\n",
                dir);
        return CHECK_IMPOSSIBLE;
    }
    if (!lock_shared(dir, &lock, out))
        return CHECK_IMPOSSIBLE;
    int code = judge(dir, path, save_to, out);
    if (lock >= 0)
        close(lock);
    return code;
}
