/*
 * A data file that was damaged: bytes flipped, pages lost or exchanged, the end cut off.
 *
 * A store with pages of every type is written and closed. Then the file is damaged in one way, and
 * a child process opens it, reads everything, writes, deletes and closes. It must not die by a
 * signal: either the store refuses to open and says what is wrong and what to do, or it holds
 * exactly what it held before and works. (Bytes that nothing reads may be any.)
 *
 * GROVE_TEST_SCALE multiplies the number of cases; the seed is printed with a failure.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/xxh.h"
#include "store/check.h"
#include "store/test-store-fixture.h"

#define PAGE 4096

enum { SAME = 0, REFUSED = 1, OTHER = 2, SILENT = 3, NOT_WORKING = 4, DISAGREES = 5 };

enum page_type { META, BRANCH, LEAF, OVERFLOW_HEAD, OTHER_PAGE, PAGE_TYPES };

struct damage {
    char dir[64], path[96];
    struct store_options options;
    char *good; /* the file as it was closed */
    size_t len;
    size_t used; /* bytes up to the last page in use */
    uint64_t digest;
    VEC(size_t) pages[PAGE_TYPES];
    size_t outcomes[2];
};

/* ---- what a store holds ---- */

static void digest_event(void *ctx, const struct store_event *e)
{
    uint64_t *h = ctx;
    str text = doc_text(e->obj->doc);
    *h = XXH3_64bits_withSeed(text.p, text.len, *h + e->type);
}

static uint64_t digest_of(struct store *s)
{
    uint64_t h = store_revision(s);
    struct obj *o;
    struct store_iter it = store_range(s, &kind_config_map, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        str text = doc_text(o->doc);
        h = XXH3_64bits_withSeed(text.p, text.len, h);
    }
    (void)store_replay(s, store_oldest_revision(s), digest_event, &h, NULL);
    return h;
}

/* ---- the store that is damaged ---- */

static void fill(struct fixture *f)
{
    char payload[8000], name[32];
    for (int i = 0; i < 700; i++) {
        size_t len = i % 10 == 0 ? 7000 : 1500 + (size_t)i % 300;
        memset(payload, 'a' + i % 26, len);
        payload[len] = 0;
        snprintf(name, sizeof(name), "o%d", i % 600);
        put(f, name, payload);
        if (i % 7 == 0)
            settle(f);
        if (i % 11 == 10)
            del(f, name);
    }
    settle(f);
}

static enum page_type type_of(const char *p, size_t number)
{
    uint64_t own;
    uint16_t flags;
    memcpy(&own, p, sizeof(own));
    memcpy(&flags, p + 10, sizeof(flags));
    if (number < 2)
        return META;
    if (own != number)
        return OTHER_PAGE;
    return flags == 1 ? BRANCH : flags == 2 ? LEAF : flags == 4 ? OVERFLOW_HEAD : OTHER_PAGE;
}

static void read_good(struct damage *d)
{
    struct stat st;
    int fd = open(d->path, O_RDONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
    d->len = (size_t)st.st_size;
    d->good = xmalloc(d->len);
    REQUIRE(read(fd, d->good, d->len) == (ssize_t)d->len);
    close(fd);
    for (size_t i = 0; i < d->len / PAGE; i++) {
        enum page_type t = type_of(d->good + i * PAGE, i);
        *vec_push(&d->pages[t]) = i;
        if (t != OTHER_PAGE)
            d->used = (i + 1) * PAGE;
    }
    for (int t = META; t < OTHER_PAGE; t++)
        REQUIRE(d->pages[t].len > 0);
}

static void damage_init(struct damage *d)
{
    struct fixture f;
    *d = (struct damage){0};
    fixture_init_disk(&f, true);
    f.options.history_events = 150;
    fixture_reopen(&f);
    fill(&f);
    d->digest = digest_of(f.store);
    store_close(f.store);
    f.store = NULL;
    memcpy(d->dir, f.dir, sizeof(d->dir));
    snprintf(d->path, sizeof(d->path), "%s/data.mdb", d->dir);
    d->options = f.options;
    d->options.dir = d->dir;
    read_good(d);
    f.dir[0] = 0; /* the directory stays */
    fixture_done(&f);
}

static void damage_done(struct damage *d)
{
    test_note("%zu opened unchanged, %zu refused", d->outcomes[SAME], d->outcomes[REFUSED]);
    static const char *const names[] = {"data.mdb", "lock.mdb", "lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", d->dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(d->dir);
    for (int t = 0; t < PAGE_TYPES; t++)
        vec_done(&d->pages[t]);
    free(d->good);
}

/* ---- the child ---- */

static void quiet(void *ctx, str line)
{
}

static int say(const struct err *err)
{
    str text = str_of(err->message);
    bool good = str_find(text, STR("grove up --check")) >= 0 || err->code == ERR_UNSUPPORTED ||
                err->code == ERR_IO;
    return text.len > 0 && good ? REFUSED : SILENT;
}

static void on_done(struct store_write *w, const struct err *err)
{
    loop_stop(w->ctx, err ? NOT_WORKING : 0);
}

static int write_one(struct store *s, struct loop *l, struct obj *o, bool delete)
{
    struct store_write w = {.kind = o->kind,
                            .ns = o->ns,
                            .name = o->name,
                            .obj = o,
                            .delete = delete,
                            .done = on_done,
                            .ctx = l};
    return store_apply(s, &w, NULL) < 0 ? NOT_WORKING : loop_run(l);
}

/* Every page of the trees is changed by somebody. */
static int work(struct store *s, struct loop *l)
{
    int r = 0;
    for (int i = 0; r == 0 && i < 600; i += 5) {
        char name[32];
        snprintf(name, sizeof(name), "o%d", i);
        bool delete = i % 2 && store_get(s, &kind_config_map, STR("ns"), str_of(name));
        r = write_one(s, l,
                      test_obj(&kind_config_map, STR("ns"), str_of(name), store_next_revision(s),
                               STR("again")),
                      delete);
    }
    return r;
}

/* What the check says must be what opening says. */
static int run_check(const struct damage *d)
{
    FILE *null = fopen("/dev/null", "w");
    return null ? store_check(d->dir, NULL, null) : 2;
}

static int child_work(const struct damage *d)
{
    struct err err = ERR_INIT;
    alarm(60);
    log_set_sink(quiet, NULL);
    int checked = run_check(d);
    struct loop *l = loop_new_virtual(1, 0);
    struct store *s = store_open(l, &d->options, &err);
    if (!s)
        return checked == 0 ? DISAGREES : say(&err);
    if (digest_of(s) != d->digest)
        return OTHER;
    if (checked != 0)
        return DISAGREES;
    int r = work(s, l);
    uint64_t digest = digest_of(s);
    store_close(s);
    if (r)
        return r;
    s = store_open(l, &d->options, &err);
    return s && digest_of(s) == digest ? SAME : NOT_WORKING;
}

/* ---- cases ---- */

static void judge(struct damage *d, const char *what)
{
    int status = 0;
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        _exit(child_work(d));
    REQUIRE(waitpid(pid, &status, 0) == pid);
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (code == SAME || code == REFUSED) {
        d->outcomes[code]++;
        return;
    }
    static const char *const meanings[] = {[OTHER] = "opened with other contents",
                                           [SILENT] = "refused without a word of advice",
                                           [NOT_WORKING] = "opened and does not work",
                                           [DISAGREES] = "the check says something else"};
    test_note("%s: %s", what,
              WIFSIGNALED(status)               ? strsignal(WTERMSIG(status))
              : code < (int)ARRAY_LEN(meanings) ? meanings[code]
                                                : "unexpected exit status");
    CHECK(code == SAME || code == REFUSED);
}

static void write_file(const struct damage *d, const char *p, size_t len)
{
    int fd = open(d->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, p, len) == (ssize_t)len);
    close(fd);
}

static void patch(const struct damage *d, size_t offset, const char *p, size_t len)
{
    int fd = open(d->path, O_WRONLY | O_CLOEXEC);
    REQUIRE(fd >= 0 && pwrite(fd, p, len, (off_t)offset) == (ssize_t)len);
    close(fd);
}

/* The file as it was, but for `len` bytes at an offset. */
static void case_bytes(struct damage *d, const char *what, size_t offset, const char *p, size_t len)
{
    char text[120];
    snprintf(text, sizeof(text), "%s at byte %zu (page %zu, byte %zu)", what, offset, offset / PAGE,
             offset % PAGE);
    write_file(d, d->good, d->len);
    patch(d, offset, p, len);
    judge(d, text);
}

static void case_flip(struct damage *d, size_t offset)
{
    char byte = (char)(d->good[offset] ^ (char)(1 << rng_below(test_rng(), 8)));
    case_bytes(d, "one bit", offset, &byte, 1);
    byte = (char)rng_u64(test_rng());
    if (byte != d->good[offset])
        case_bytes(d, "one byte", offset, &byte, 1);
}

static size_t some_page(struct damage *d, enum page_type t)
{
    return d->pages[t].p[rng_below(test_rng(), d->pages[t].len)];
}

TEST(flipped_bits_in_every_type_of_page)
{
    struct damage d;
    damage_init(&d);
    for (size_t i = 0; i < test_cases(25); i++)
        for (int t = META; t < OTHER_PAGE; t++) {
            size_t at = some_page(&d, t) * PAGE;
            case_flip(&d, at + rng_below(test_rng(), 16));
            case_flip(&d, at + 16 + rng_below(test_rng(), t == META ? 136 : 100));
            case_flip(&d, at + rng_below(test_rng(), PAGE));
        }
    damage_done(&d);
}

TEST(lost_and_exchanged_pages_of_every_type)
{
    static const char zeros[PAGE];
    char ones[PAGE];
    struct damage d;
    damage_init(&d);
    memset(ones, 0xff, sizeof(ones));
    for (size_t i = 0; i < test_cases(6); i++)
        for (int t = META; t < OTHER_PAGE; t++) {
            size_t at = some_page(&d, t) * PAGE;
            case_bytes(&d, "a page of zeros", at, zeros, PAGE);
            case_bytes(&d, "a page of ones", at, ones, PAGE);
            case_bytes(&d, "half a page of zeros", at + PAGE / 2, zeros, PAGE / 2);
            case_bytes(&d, "a sector of zeros", at + rng_below(test_rng(), 8) * 512, zeros, 512);
            for (int from = META; from < PAGE_TYPES; from++)
                if (d.pages[from].len)
                    case_bytes(&d, "another page", at, d.good + some_page(&d, from) * PAGE, PAGE);
            /* The page says its own number, and holds what another one holds. */
            char copy[PAGE];
            memcpy(copy, d.good + some_page(&d, t) * PAGE, PAGE);
            memcpy(copy, d.good + at, 8);
            case_bytes(&d, "another page's contents", at, copy, PAGE);
        }
    damage_done(&d);
}

TEST(a_file_cut_short_anywhere)
{
    struct damage d;
    damage_init(&d);
    for (size_t i = 0; i < test_cases(60); i++) {
        size_t len = rng_below(test_rng(), d.len);
        if (i % 3 == 0)
            len = len / PAGE * PAGE;
        if (i < 12)
            len = (size_t[]){0, 1, 15, 16, 100, 167, 512, 4095, 4096, 4200, 8191, 8192}[i];
        char text[60];
        snprintf(text, sizeof(text), "cut at byte %zu of %zu", len, d.len);
        write_file(&d, d.good, len);
        judge(&d, text);
    }
    damage_done(&d);
}

/* ---- damage while it is in use ---- */

/* A branch with one child, which LMDB asserts there never is. */
static void break_branches(const struct damage *d)
{
    static const uint16_t lower = 18;
    for (size_t i = 0; i < d->pages[BRANCH].len; i++)
        patch(d, d->pages[BRANCH].p[i] * PAGE + 12, (const char *)&lower, sizeof(lower));
}

static int child_assertion(const struct damage *d)
{
    struct err err = ERR_INIT;
    log_set_sink(quiet, NULL);
    struct loop *l = loop_new_virtual(1, 0);
    struct store *s = store_open(l, &d->options, &err);
    if (!s)
        return OTHER;
    break_branches(d);
    struct obj *o =
        test_obj(&kind_config_map, STR("ns"), STR("new"), store_next_revision(s), STR("x"));
    if (write_one(s, l, o, false) != NOT_WORKING || !store_is_read_only(s))
        return SILENT;
    bool told = str_find(str_of(s->failure.message), STR("Assertion")) >= 0;
    bool serves = store_get(s, &kind_config_map, STR("ns"), STR("o1"));
    store_close(s);
    return told && serves ? SAME : NOT_WORKING;
}

TEST(an_assertion_inside_lmdb_is_an_error_and_not_the_end)
{
    struct damage d;
    int status;
    damage_init(&d);
    write_file(&d, d.good, d.len);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0)
        _exit(child_assertion(&d));
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status));
    CHECK_INT(WIFEXITED(status) ? WEXITSTATUS(status) : -1, SAME);
    damage_done(&d);
}

/* ---- things that are no data file ---- */

static void check_message(struct damage *d, const char *want)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new_virtual(1, 0);
    struct store *s = store_open(l, &d->options, &err);
    CHECK(!s);
    if (str_find(str_of(err.message), str_of(want)) < 0)
        test_note("%s", err.message);
    CHECK(str_find(str_of(err.message), str_of(want)) >= 0);
    CHECK(run_check(d) > 0);
    store_close(s);
    loop_free(l);
}

TEST(what_is_no_data_file_is_called_what_it_is)
{
    struct damage d;
    static char text[20000];
    damage_init(&d);
    write_file(&d, "", 0);
    check_message(&d, "data.mdb is empty");
    memset(text, 'x', sizeof(text));
    write_file(&d, text, sizeof(text));
    check_message(&d, "there is no meta page at its beginning");
    REQUIRE(unlink(d.path) == 0 && mkdir(d.path, 0700) == 0);
    check_message(&d, "data.mdb is a directory and not a file");
    REQUIRE(rmdir(d.path) == 0 && mkfifo(d.path, 0600) == 0);
    check_message(&d, "data.mdb is no regular file");
    REQUIRE(unlink(d.path) == 0 && symlink("nowhere", d.path) == 0);
    check_message(&d, "No such file or directory");
    REQUIRE(unlink(d.path) == 0);
    /* A lock file that LMDB would refuse or wait for is not looked at. */
    write_file(&d, d.good, d.len);
    char lock[96];
    snprintf(lock, sizeof(lock), "%s/lock.mdb", d.dir);
    int fd = open(lock, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    REQUIRE(fd >= 0 && write(fd, text, sizeof(text)) == (ssize_t)sizeof(text));
    close(fd);
    judge(&d, "a lock file of nobody's");
    CHECK_INT(d.outcomes[SAME], 1);
    damage_done(&d);
}
