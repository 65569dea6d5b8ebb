/* The store on disk: what a restart finds, what compaction leaves, what happens when the disk or
 * the file is at fault. */
#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/check.h"
#include "store/test-store-fixture.h"

static void to_diary(void *ctx, const struct store_event *e)
{
    static const char *const names[] = {"ADDED", "MODIFIED", "DELETED"};
    str prev = test_payload(e->prev), now = test_payload(e->obj);
    strbuf_printf(ctx, "%s %.*s %.*s>%.*s; ", names[e->type], STR_ARG(e->obj->name), STR_ARG(prev),
                  STR_ARG(now));
}

static void check_replay(struct fixture *f, uint64_t after, const char *want)
{
    struct strbuf out = STRBUF_INIT(4096);
    CHECK_INT(store_replay(f->store, after, to_diary, &out, NULL), 0);
    CHECK_STR(strbuf_str(&out), str_of(want));
    strbuf_done(&out);
}

/* ---- restart ---- */

TEST(a_restart_finds_state_revision_and_window)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    put(&f, "a", "1");
    put(&f, "b", "1");
    settle(&f);
    put(&f, "a", "2");
    del(&f, "b");
    put_kind(&f, &kind_node, "", "n1", "x");
    settle(&f);
    fixture_reopen(&f);
    CHECK_INT(store_revision(f.store), 6);
    CHECK_INT(store_next_revision(f.store), 7);
    CHECK_INT(store_oldest_revision(f.store), 1);
    CHECK_STR(durable(&f, "a"), STR("2"));
    CHECK_STR(durable(&f, "b"), STR("-"));
    CHECK_INT(store_count(f.store, &kind_config_map), 1);
    const struct obj *n = store_get(f.store, &kind_node, STR_NONE, STR("n1"));
    REQUIRE(n);
    CHECK(n->kind == &kind_node);
    CHECK_INT(n->rv, 6);
    check_replay(&f, 1, "ADDED a ->1; ADDED b ->1; MODIFIED a 1>2; DELETED b 1>1; ADDED n1 ->x; ");
    CHECK_INT(put(&f, "b", "3"), 7);
    settle(&f);
    CHECK_STR(durable(&f, "b"), STR("3"));
    fixture_done(&f);
}

TEST(documents_come_back_byte_for_byte)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    str text =
        STR("{ \"metadata\":{\"name\":\"a\",\"namespace\":\"ns\", \"resourceVersion\":\"2\"},"
            "\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\",\"x\":1.50,\"u\":\"\\u00e9\\/\"}");
    struct obj *o = obj_new(&kind_config_map, doc_parse(text, NULL, NULL), NULL);
    REQUIRE(o);
    CHECK_INT(apply_obj(&f, o, false), 2);
    settle(&f);
    fixture_reopen(&f);
    const struct obj *back = store_get(f.store, &kind_config_map, STR("ns"), STR("a"));
    REQUIRE(back);
    CHECK_STR(doc_text(back->doc), text);
    fixture_done(&f);
}

TEST(the_oldest_revision_survives_and_the_past_before_it_is_gone)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    f.options.history_events = 2;
    fixture_reopen(&f);
    for (int i = 0; i < 6; i++) {
        put(&f, "a", (char[]){(char)('0' + i), 0});
        settle(&f);
    }
    CHECK_INT(store_oldest_revision(f.store), 5);
    f.options.history_events = 100;
    fixture_reopen(&f);
    /* The last commit stored what was the oldest before it was published. */
    CHECK_INT(store_oldest_revision(f.store), 4);
    CHECK_INT(store_revision(f.store), 7);
    CHECK_INT(store_replay(f.store, 3, to_diary, NULL, NULL), ERR_GONE);
    check_replay(&f, 4, "MODIFIED a 2>3; MODIFIED a 3>4; MODIFIED a 4>5; ");
    fixture_done(&f);
}

TEST(the_revision_does_not_go_back_when_the_newest_record_was_compacted)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    f.options.history_bytes = 1; /* nothing is kept */
    fixture_reopen(&f);
    put(&f, "a", "1");
    settle(&f);
    put(&f, "b", "1");
    settle(&f);
    del(&f, "b");
    settle(&f);
    del(&f, "a");
    settle(&f);
    CHECK_INT(store_revision(f.store), 5);
    fixture_reopen(&f);
    CHECK_INT(store_revision(f.store), 5);
    put(&f, "c", "1");
    settle(&f);
    put(&f, "c", "2");
    settle(&f);
    fixture_reopen(&f);
    CHECK_INT(store_revision(f.store), 7);
    CHECK_INT(store_count(f.store, &kind_config_map), 1);
    CHECK_STR(durable(&f, "c"), STR("2"));
    fixture_done(&f);
}

TEST(a_second_store_in_the_directory_is_refused)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    struct err err = ERR_INIT;
    CHECK(!store_open(f.loop, &f.options, &err));
    char want[200];
    snprintf(want, sizeof(want), "%s is in use by another grove (pid %d)", f.dir, (int)getpid());
    CHECK_CSTR(str_of(err.message), want);
    CHECK_INT(err.code, ERR_CONFLICT);
    /* The first goes on. */
    put(&f, "a", "1");
    settle(&f);
    CHECK_STR(durable(&f, "a"), STR("1"));
    fixture_done(&f);
}

TEST(a_directory_that_cannot_be_made_is_an_error)
{
    struct err err = ERR_INIT;
    struct loop *l = loop_new_virtual(1, 0);
    struct store_options o = {.dir = "/nonexistent/for/sure"};
    CHECK(!store_open(l, &o, &err));
    CHECK_INT(err.code, ERR_IO);
    loop_free(l);
}

TEST(files_are_private)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    char path[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/data.mdb", f.dir);
    REQUIRE(stat(path, &st) == 0);
    CHECK_INT(st.st_mode & 0777, 0600);
    fixture_done(&f);
}

/* ---- a disk that refuses ---- */

static void limit_file_size(rlim_t limit)
{
    struct rlimit r;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &r) == 0);
    r.rlim_cur = limit;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &r) == 0);
}

static rlim_t data_size(const struct fixture *f)
{
    char path[128];
    struct stat st;
    snprintf(path, sizeof(path), "%s/data.mdb", f->dir);
    REQUIRE(stat(path, &st) == 0);
    return (rlim_t)st.st_size;
}

static char *big_payload(size_t len)
{
    char *p = xmalloc(len + 1);
    memset(p, 'x', len);
    p[len] = 0;
    return p;
}

/* ---- a disk that is full ---- */

/* The file may not grow by more than a little: as good as a file system that is nearly full, and
 * the test need not be allowed to make one. */
static void fill_disk(struct fixture *f)
{
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(data_size(f) + (200 << 10));
}

/* Writes until it is refused; how many were taken. */
static int write_until_full(struct fixture *f, const char *prefix, const char *payload)
{
    for (int i = 0; i < 10000; i++) {
        char name[40];
        snprintf(name, sizeof(name), "%s%d", prefix, i);
        if (!put(f, name, payload))
            return i;
        settle(f);
        if (f->last_error)
            return i;
    }
    return -1;
}

static void quiet(void *ctx, str line)
{
}

TEST(a_full_disk_refuses_what_grows_and_takes_the_rest)
{
    struct fixture f;
    struct store_room room;
    fixture_init_disk(&f, true);
    char *page = big_payload(3000), *larger = big_payload(3100), *smaller = big_payload(2900);
    log_set_sink(quiet, NULL);
    fill_disk(&f);
    int taken = write_until_full(&f, "x", page);
    CHECK(taken > 20);
    CHECK_INT(f.last_error, ERR_NO_SPACE);
    CHECK(!store_is_read_only(f.store));
    store_room(f.store, &room);
    CHECK(room.is_full);
    CHECK(str_find(str_of(room.why.message), str_of(f.dir)) >= 0);
    CHECK(str_find(str_of(room.why.message), STR("(File too large)")) >= 0);
    /* Reads are served, new and larger objects refused, nothing else. */
    CHECK_STR(durable(&f, "x0"), str_of(page));
    CHECK_INT(put(&f, "new", "1"), 0);
    CHECK_INT(put(&f, "x0", larger), 0);
    CHECK_INT(f.last_error, ERR_NO_SPACE);
    CHECK(put(&f, "x0", smaller) > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    CHECK_STR(durable(&f, "x0"), str_of(smaller));
    /* Deletes go through, and then there is room again. */
    for (int i = 1; i < taken; i++) {
        char name[40];
        snprintf(name, sizeof(name), "x%d", i);
        CHECK(del(&f, name) > 0);
        settle(&f);
        CHECK_INT(f.last_error, 0);
    }
    store_room(f.store, &room);
    CHECK(!room.is_full);
    CHECK(put(&f, "new", larger) > 0);
    settle(&f);
    CHECK_STR(durable(&f, "new"), str_of(larger));
    fixture_reopen(&f);
    CHECK_INT(store_count(f.store, &kind_config_map), 2);
    CHECK_STR(durable(&f, "x0"), str_of(smaller));
    CHECK_STR(durable(&f, "new"), str_of(larger));
    limit_file_size(RLIM_INFINITY);
    log_set_sink(NULL, NULL);
    free(page);
    free(larger);
    free(smaller);
    fixture_done(&f);
}

static void stop_loop(struct loop_timer *t)
{
    loop_stop(container_of(t, struct fixture, timer)->loop, 0);
}

static void run_for(struct fixture *f, usec time)
{
    loop_timer_init(f->loop, &f->timer, stop_loop);
    loop_timer_set(&f->timer, loop_now(f->loop) + time);
    CHECK_INT(loop_run(f->loop), 0);
}

TEST(a_full_disk_gives_up_the_window_to_make_room)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    char *page = big_payload(3000);
    log_set_sink(quiet, NULL);
    fill_disk(&f);
    /* One object, written again and again: all but one of the records are superseded. */
    for (int i = 0; i < 5000; i++) {
        page[0] = (char)('a' + i % 26);
        put(&f, "one", page);
        settle(&f);
        run_for(&f, USEC_PER_MSEC);
    }
    CHECK_INT(f.last_error, 0);
    /* Those who watch do not notice before a restart. */
    CHECK_INT(store_oldest_revision(f.store), 1);
    CHECK(put(&f, "two", page) > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    fixture_reopen(&f);
    CHECK(store_oldest_revision(f.store) > 3000);
    CHECK_STR(durable(&f, "one"), str_of(page));
    CHECK_STR(durable(&f, "two"), str_of(page));
    limit_file_size(RLIM_INFINITY);
    log_set_sink(NULL, NULL);
    free(page);
    fixture_done(&f);
}

TEST(room_that_others_make_is_found_without_a_write)
{
    struct fixture f;
    struct store_room room;
    fixture_init_disk(&f, true);
    char *page = big_payload(3000);
    log_set_sink(quiet, NULL);
    fill_disk(&f);
    (void)write_until_full(&f, "x", page);
    run_for(&f, 30 * USEC_PER_SEC);
    store_room(f.store, &room);
    CHECK(room.is_full);
    limit_file_size(RLIM_INFINITY);
    run_for(&f, 3 * USEC_PER_SEC);
    store_room(f.store, &room);
    CHECK(!room.is_full);
    CHECK(put(&f, "new", page) > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    log_set_sink(NULL, NULL);
    free(page);
    fixture_done(&f);
}

TEST(a_store_that_is_opened_on_a_full_disk_serves_and_deletes)
{
    struct fixture f;
    struct store_room room;
    fixture_init_disk(&f, true);
    char *page = big_payload(3000);
    log_set_sink(quiet, NULL);
    fill_disk(&f);
    int taken = write_until_full(&f, "x", page);
    fixture_reopen(&f);
    store_room(f.store, &room);
    CHECK(room.is_full);
    CHECK_INT(store_count(f.store, &kind_config_map), taken);
    CHECK_INT(put(&f, "new", page), 0);
    CHECK(del(&f, "x0") > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    fixture_reopen(&f);
    CHECK_INT(store_count(f.store, &kind_config_map), taken - 1);
    CHECK_STR(durable(&f, "x0"), STR("-"));
    limit_file_size(RLIM_INFINITY);
    log_set_sink(NULL, NULL);
    free(page);
    fixture_done(&f);
}

/* An object as large as the reserve can be deleted: its tombstone carries no document. */
TEST(a_large_object_can_be_deleted_when_the_disk_is_full)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    char *large = big_payload(3 << 20), *page = big_payload(3000);
    log_set_sink(quiet, NULL);
    put(&f, "large", large);
    settle(&f);
    fill_disk(&f);
    (void)write_until_full(&f, "x", page);
    CHECK_INT(put(&f, "new", page), 0);
    CHECK(del(&f, "large") > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    run_for(&f, USEC_PER_SEC);
    CHECK(put(&f, "new", page) > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    limit_file_size(RLIM_INFINITY);
    log_set_sink(NULL, NULL);
    free(large);
    free(page);
    fixture_done(&f);
}

enum { FULL_KEYS = 60 };

static void check_lengths(struct fixture *f, const size_t *lengths)
{
    for (int i = 0; i < FULL_KEYS; i++) {
        char name[16];
        snprintf(name, sizeof(name), "k%d", i);
        const struct obj *o = store_get(f->store, &kind_config_map, STR("ns"), str_of(name));
        CHECK_INT(o ? test_payload(o).len : 0, lengths[i]);
    }
}

/* One write of a random size to a random key, or a delete; lengths follows what was acknowledged.
 * True when it was refused, which never happens to a delete. */
static bool write_at_random(struct fixture *f, size_t *lengths)
{
    static const size_t sizes[] = {50, 900, 3000, 15000, 60000};
    uint64_t key = rng_below(test_rng(), FULL_KEYS);
    bool delete = lengths[key] && rng_chance(test_rng(), 40);
    char name[16],
        *payload = big_payload(1 + rng_below(test_rng(), sizes[rng_below(test_rng(), 5)]));
    snprintf(name, sizeof(name), "k%d", (int)key);
    uint64_t taken = delete ? del(f, name) : put(f, name, payload);
    settle(f);
    CHECK(f->last_error == 0 || f->last_error == ERR_NO_SPACE);
    CHECK(!delete || f->last_error == 0);
    if (taken && !f->last_error)
        lengths[key] = delete ? 0 : strlen(payload);
    free(payload);
    return f->last_error != 0;
}

TEST(what_was_acknowledged_at_the_edge_of_a_full_disk_is_there)
{
    size_t lengths[FULL_KEYS] = {0}, refused = 0;
    struct fixture f;
    fixture_init_disk(&f, true);
    log_set_sink(quiet, NULL);
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(data_size(&f));
    for (size_t i = 0; i < test_cases(3000); i++) {
        refused += write_at_random(&f, lengths);
        strbuf_reset(&f.diary);
        if (rng_chance(test_rng(), 10))
            run_for(&f, USEC_PER_SEC * (int64_t)rng_below(test_rng(), 4));
        if (rng_chance(test_rng(), 1))
            fixture_reopen(&f);
        if (i % 100 == 0)
            check_lengths(&f, lengths);
    }
    fixture_reopen(&f);
    check_lengths(&f, lengths);
    limit_file_size(RLIM_INFINITY);
    log_set_sink(NULL, NULL);
    test_note("%zu refused", refused);
    CHECK(refused > test_cases(3000) / 100);
    fixture_done(&f);
}

/* ---- memory ---- */

TEST(a_memory_limit_refuses_what_grows_and_takes_deletes)
{
    struct fixture f;
    struct store_room room;
    fixture_init(&f);
    f.options.memory_limit = 1 << 20;
    fixture_reopen(&f);
    char *page = big_payload(3000);
    int taken = write_until_full(&f, "x", page);
    CHECK_INT(f.last_error, ERR_NO_SPACE);
    /* Each costs its text, its tape and its key, and nothing is given away. */
    CHECK(taken > (1 << 20) / 5000 && taken < (1 << 20) / 3000);
    store_room(f.store, &room);
    CHECK(room.is_full);
    CHECK(room.memory <= f.options.memory_limit);
    CHECK(str_find(str_of(room.why.message), STR("of 1 MiB")) >= 0);
    page[2000] = 0;
    CHECK(put(&f, "x0", page) > 0);
    CHECK(del(&f, "x1") > 0);
    CHECK(del(&f, "x2") > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    CHECK(put(&f, "new", page) > 0);
    settle(&f);
    CHECK_INT(f.last_error, 0);
    for (int i = 3; i < taken; i++) {
        char name[40];
        snprintf(name, sizeof(name), "x%d", i);
        del(&f, name);
    }
    del(&f, "x0");
    del(&f, "new");
    settle(&f);
    store_room(f.store, &room);
    CHECK(!room.is_full);
    CHECK_INT(f.store->memory, 0);
    CHECK_INT(f.store->pending_memory, 0);
    CHECK(room.memory <= f.options.memory_limit);
    free(page);
    fixture_done(&f);
}

TEST(the_window_gives_way_to_objects_within_the_memory_limit)
{
    struct fixture f;
    struct store_room room;
    fixture_init(&f);
    f.options.memory_limit = 1 << 20;
    fixture_reopen(&f);
    char *page = big_payload(3000);
    for (int i = 0; i < 1000; i++) {
        put(&f, "one", page);
        settle(&f);
        store_room(f.store, &room);
        CHECK(room.memory <= f.options.memory_limit);
    }
    CHECK(store_oldest_revision(f.store) > 500);
    CHECK(store_oldest_revision(f.store) < 900);
    CHECK(write_until_full(&f, "x", page) > 200);
    store_room(f.store, &room);
    CHECK(room.memory <= f.options.memory_limit);
    free(page);
    fixture_done(&f);
}

/* ---- what is in the file ---- */

struct file {
    MDB_env *env;
    MDB_txn *txn;
    MDB_dbi log, meta;
};

/* Behind the store's back; the store is closed. */
static void file_open(struct file *e, const char *dir)
{
    REQUIRE(mdb_env_create(&e->env) == 0);
    mdb_env_set_maxdbs(e->env, 2);
    REQUIRE(mdb_env_open(e->env, dir, 0, 0600) == 0);
    REQUIRE(mdb_txn_begin(e->env, NULL, 0, &e->txn) == 0);
    REQUIRE(mdb_dbi_open(e->txn, "log", 0, &e->log) == 0);
    REQUIRE(mdb_dbi_open(e->txn, "meta", 0, &e->meta) == 0);
}

static void file_close(struct file *e)
{
    REQUIRE(mdb_txn_commit(e->txn) == 0);
    mdb_env_close(e->env);
}

static MDB_val key_of(uint8_t *buf, uint64_t revision)
{
    for (int i = 7; i >= 0; i--, revision >>= 8)
        buf[i] = (uint8_t)revision;
    return (MDB_val){.mv_size = 8, .mv_data = buf};
}

/* Replaces the byte at an offset of a record (from the end when negative). */
static void damage_byte(const char *dir, uint64_t revision, int offset)
{
    struct file e;
    uint8_t buf[8];
    file_open(&e, dir);
    MDB_val key = key_of(buf, revision), value;
    REQUIRE(mdb_get(e.txn, e.log, &key, &value) == 0);
    size_t len = value.mv_size;
    uint8_t *copy = xmalloc(len);
    memcpy(copy, value.mv_data, len);
    copy[offset < 0 ? len - (size_t)-offset : (size_t)offset] ^= 0x55;
    value = (MDB_val){.mv_size = len, .mv_data = copy};
    REQUIRE(mdb_put(e.txn, e.log, &key, &value, 0) == 0);
    free(copy);
    file_close(&e);
}

static void check_refused(struct fixture *f, const char *word)
{
    struct err err = ERR_INIT;
    struct store *s = store_open(f->loop, &f->options, &err);
    CHECK(!s);
    if (str_find(str_of(err.message), str_of(word)) < 0)
        test_note("message: %s", err.message);
    CHECK(str_find(str_of(err.message), str_of(word)) >= 0);
    if (err.code != ERR_UNSUPPORTED)
        CHECK(str_find(str_of(err.message), STR("grove up --check")) >= 0);
    store_close(s);
}

static void fixture_close_store(struct fixture *f)
{
    settle(f);
    store_close(f->store);
    f->store = NULL;
}

TEST(a_damaged_record_is_refused_and_named)
{
    static const struct {
        int offset;
        const char *word;
    } cases[] = {
        {0, "version"},   {1, "operation"},  {4, "longer"},      {8, "checksum"},
        {-1, "checksum"}, {-20, "checksum"}, {40, "revision 3"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct fixture f;
        fixture_init_disk(&f, true);
        put(&f, "a", "1");
        put(&f, "b", "1");
        put(&f, "c", "1");
        fixture_close_store(&f);
        damage_byte(f.dir, 3, cases[i].offset);
        check_refused(&f, cases[i].word);
        fixture_done(&f);
    }
}

TEST(a_missing_record_in_the_window_is_refused)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    for (char c = 'a'; c < 'e'; c++)
        put(&f, (char[]){c, 0}, "1");
    fixture_close_store(&f);
    struct file e;
    uint8_t buf[8];
    file_open(&e, f.dir);
    MDB_val key = key_of(buf, 3);
    REQUIRE(mdb_del(e.txn, e.log, &key, NULL) == 0);
    file_close(&e);
    check_refused(&f, "revision 3 is missing");
    file_open(&e, f.dir);
    key = key_of(buf, 4);
    REQUIRE(mdb_del(e.txn, e.log, &key, NULL) == 0);
    key = key_of(buf, 5);
    REQUIRE(mdb_del(e.txn, e.log, &key, NULL) == 0);
    file_close(&e);
    check_refused(&f, "ends at revision 2 instead of 5");
    fixture_done(&f);
}

TEST(a_newer_format_is_refused)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    fixture_close_store(&f);
    struct file e;
    uint8_t buf[8];
    file_open(&e, f.dir);
    MDB_val key = {.mv_size = 6, .mv_data = (char[]){'f', 'o', 'r', 'm', 'a', 't'}};
    MDB_val value = key_of(buf, 2);
    REQUIRE(mdb_put(e.txn, e.meta, &key, &value, 0) == 0);
    file_close(&e);
    check_refused(&f, "has format 2, this grove reads format 1");
    fixture_done(&f);
}

TEST(a_file_cut_short_is_refused_without_a_crash)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    char *big = big_payload(100000);
    put(&f, "a", big);
    put(&f, "b", big);
    fixture_close_store(&f);
    char path[128];
    snprintf(path, sizeof(path), "%s/data.mdb", f.dir);
    REQUIRE(truncate(path, 50000) == 0);
    check_refused(&f, "is missing: the file ends at byte 50000");
    free(big);
    fixture_done(&f);
}

/* The first page of every value that has pages of its own is no such page any more. */
static void damage_large_values(const char *dir)
{
    char path[128], page[4096];
    size_t damaged = 0;
    snprintf(path, sizeof(path), "%s/data.mdb", dir);
    int fd = open(path, O_RDWR | O_CLOEXEC);
    REQUIRE(fd >= 0);
    for (off_t at = 0; pread(fd, page, sizeof(page), at) == sizeof(page); at += sizeof(page)) {
        if (page[10] != 4 || memcmp(page, &(uint64_t){(uint64_t)at / sizeof(page)}, 8) != 0)
            continue;
        page[10] = 0;
        REQUIRE(pwrite(fd, page, 16, at) == 16);
        damaged++;
    }
    close(fd);
    CHECK(damaged > 0);
}

TEST(what_can_be_read_is_saved_from_a_file_with_damaged_pages)
{
    struct fixture f;
    char saved[80];
    char *big = big_payload(100000), *said = NULL;
    size_t len;
    fixture_init_disk(&f, true);
    put(&f, "a", "1");
    put(&f, "lost", big);
    for (int i = 0; i < 3; i++) { /* so that it is part of both commits that the file knows */
        put(&f, "b", i == 2 ? "last" : "x");
        settle(&f);
    }
    fixture_close_store(&f);
    damage_large_values(f.dir);
    snprintf(saved, sizeof(saved), "%s-saved", f.dir);
    FILE *out = open_memstream(&said, &len);
    REQUIRE(out);
    CHECK_INT(store_check(f.dir, saved, out), CHECK_DAMAGED);
    fclose(out);
    if (!CHECK(strstr(said, "saved: 2 objects in ") && !strstr(said, "not saved")))
        test_note("%s", said);
    free(said);
    said = NULL;
    out = open_memstream(&said, &len);
    CHECK_INT(store_check(saved, NULL, out), CHECK_WHOLE);
    fclose(out);
    CHECK(strstr(said, "\n2 objects can be read\n"));
    free(said);
    fixture_remove_dir(saved);
    char path[128];
    snprintf(path, sizeof(path), "%s/data.mdb", f.dir);
    REQUIRE(truncate(path, 4096) == 0);
    said = NULL;
    out = open_memstream(&said, &len);
    CHECK_INT(store_check(f.dir, saved, out), CHECK_IMPOSSIBLE);
    fclose(out);
    CHECK(strstr(said, "\nnot saved: no object can be read\n"));
    CHECK(access(saved, F_OK) < 0);
    free(said);
    free(big);
    fixture_done(&f);
}

/* ---- kinds nobody knows ---- */

#define WIDGET                                                                      \
    .group = "example.com", .version = "v1", .kind = "Widget", .plural = "widgets", \
    .singular = "widget", .flags = KIND_NAMESPACED

static uint16_t widget_id;
static const struct kind widget = {WIDGET, .type = &type_raw, .id = &widget_id};
static const struct kind widget_unregistered = {WIDGET};

static size_t warnings;

static void count_warning(void *ctx, str line)
{
    if (str_find(line, STR("example.com/widgets")) >= 0)
        warnings++;
}

TEST(objects_of_unknown_kinds_are_kept_and_adopted_later)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    f.options.history_events = 3;
    fixture_reopen(&f);
    put_kind(&f, &widget_unregistered, "ns", "w1", "1");
    put_kind(&f, &widget_unregistered, "ns", "w2", "1");
    settle(&f);
    warnings = 0;
    log_set_sink(count_warning, NULL);
    fixture_reopen(&f);
    CHECK_INT(warnings, 0);
    store_warn_unknown(f.store);
    CHECK_INT(warnings, 1);
    /* Push them out of the window; compaction works on. */
    for (int i = 0; i < 10; i++) {
        put(&f, "a", "1");
        settle(&f);
    }
    fixture_reopen(&f);
    store_warn_unknown(f.store);
    CHECK_INT(warnings, 2);
    const struct obj *o = store_get(f.store, &widget, STR("ns"), STR("w1"));
    REQUIRE(o);
    CHECK(o->kind != &widget);
    kinds_register(&widget);
    store_adopt_kind(f.store, &widget);
    store_warn_unknown(f.store);
    CHECK_INT(warnings, 2);
    log_set_sink(NULL, NULL);
    o = store_get(f.store, &widget, STR("ns"), STR("w1"));
    REQUIRE(o);
    CHECK(o->kind == &widget);
    CHECK_STR(test_payload(o), STR("1"));
    CHECK_INT(store_count(f.store, &widget), 2);
    fixture_done(&f);
}
