/* The store on disk: what a restart finds, what compaction leaves, what happens when the disk or
 * the file is at fault. */
#include <fcntl.h>
#include <lmdb.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "store/test-fixture.h"

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

TEST(a_failed_commit_makes_the_store_read_only)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    put(&f, "a", "1");
    settle(&f);
    CHECK_DIARY(&f, "event ADDED a 2; batch; done a 2; ");
    signal(SIGXFSZ, SIG_IGN);
    limit_file_size(data_size(&f));
    char *big = big_payload(1 << 20);
    put(&f, "a", big);
    put(&f, "b", "1");
    settle(&f);
    limit_file_size(RLIM_INFINITY);
    CHECK_DIARY(&f, "failed a 3; failed b 4; ");
    CHECK_INT(f.last_error, ERR_IO);
    CHECK(store_is_read_only(f.store));
    /* Reads go on; nothing of the failed batch is seen by anybody. */
    CHECK_STR(durable(&f, "a"), STR("1"));
    CHECK_STR(newest(&f, "a"), STR("1"));
    CHECK_STR(newest(&f, "b"), STR("-"));
    CHECK_INT(store_revision(f.store), 2);
    /* A sync is never retried, also when there is room again. */
    CHECK_INT(put(&f, "c", "1"), 0);
    CHECK_INT(f.last_error, ERR_IO);
    fixture_reopen(&f);
    CHECK(!store_is_read_only(f.store));
    CHECK_INT(store_revision(f.store), 2);
    CHECK_STR(durable(&f, "a"), STR("1"));
    CHECK_INT(put(&f, "b", big), 3);
    settle(&f);
    CHECK_DIARY(&f, "event ADDED b 3; batch; done b 3; ");
    free(big);
    fixture_done(&f);
}

static struct fixture *late_fixture;

static void write_late(struct loop_timer *t)
{
    put(late_fixture, "late", "1");
}

TEST(a_failed_commit_drops_the_filling_batch_too)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    signal(SIGXFSZ, SIG_IGN);
    char *big = big_payload(1 << 20);
    struct loop_timer t;
    loop_timer_init(f.loop, &t, write_late);
    late_fixture = &f;
    put(&f, "a", big);
    loop_timer_set(&t, loop_now(f.loop) + 1);
    limit_file_size(data_size(&f));
    settle(&f);
    limit_file_size(RLIM_INFINITY);
    CHECK_DIARY(&f, "failed a 2; failed late 3; ");
    CHECK_INT(store_next_revision(f.store), 2);
    CHECK_INT(store_count(f.store, &kind_config_map), 0);
    free(big);
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
    rlim_t size = data_size(&f);
    REQUIRE(truncate(path, (off_t)(size - size / 4)) == 0);
    check_refused(&f, "");
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
