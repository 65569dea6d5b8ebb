/*
 * A disk that fails and a power that goes, by the file layer that lies (faulty-file.h).
 *
 * failing calls   each call LMDB makes for a load of commits fails once, in each way: the store
 * must become read-only, go on serving what was durable, and be found whole at restart power cuts
 * from the trace of one load, the file is rebuilt as it may be when the power goes at any point:
 * everything synced, and any part of what was not. Every acknowledged write must be there, and
 * nothing that was not announced.
 *
 * In both, what is found must be exactly the announced writes up to the revision found.
 */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/log.h"
#include "base/xxh.h"
#include "faulty-file.h"
#include "store/test-model.h"

#define BATCHES 10

struct load {
    struct fixture f;
    struct model m;
    char path[96];
    uint64_t acked; /* all up to here */
};

static void load_init(struct load *l)
{
    *l = (struct load){.acked = STORE_FIRST_REVISION};
    fixture_init_disk(&l->f, true);
    l->f.options.history_events = 6; /* so that commits also remove */
    fixture_reopen(&l->f);
    snprintf(l->path, sizeof(l->path), "%s/data.mdb", l->f.dir);
}

static void load_done(struct load *l)
{
    model_done(&l->m);
    fixture_done(&l->f);
}

/* One batch; false when the store refused or lost it. */
static bool load_batch(struct load *l, struct rng *r)
{
    for (uint64_t n = 1 + rng_below(r, 6); n > 0; n--) {
        struct model_op op = model_draw(&l->m, r, l->f.store);
        if (!apply_obj(&l->f, model_obj(&op, l->f.store), op.value == 0))
            return false;
        model_add(&l->m, &op);
    }
    settle(&l->f);
    strbuf_reset(&l->f.diary);
    if (l->f.failed_from)
        return false;
    l->acked = store_revision(l->f.store);
    return true;
}

/* The directory as it is must hold what was acknowledged, and a state that once was. */
static void check_found(const struct model *announced, uint64_t acked, const struct store *s)
{
    struct model m = {.next_value = announced->next_value};
    for (size_t i = 0; i < announced->ops.len; i++)
        model_add(&m, &announced->ops.p[i]);
    CHECK(store_revision(s) >= acked);
    model_cut(&m, store_revision(s));
    CHECK_INT(store_revision(s), m.ops.len + STORE_FIRST_REVISION);
    model_check_keys(&m, s);
    model_check_replay(&m, s, store_oldest_revision(s));
    model_done(&m);
}

/* ---- failing calls ---- */

static void quiet(void *ctx, str line)
{
}

/* Returns whether the call was reached. */
static bool run_with_fault(size_t fail_at, enum faulty_fault fault, uint64_t seed)
{
    struct load l;
    struct rng r;
    rng_seed(&r, seed);
    load_init(&l);
    faulty_watch(l.path, NULL, fail_at, fault);
    bool failed = false;
    for (int i = 0; i < BATCHES && !failed; i++)
        failed = !load_batch(&l, &r);
    bool reached = faulty_unwatch() >= fail_at;
    CHECK_INT(failed, reached);
    CHECK_INT(store_is_read_only(l.f.store), reached);
    if (reached) {
        struct model durable = {.next_value = 0};
        for (size_t i = 0; i < l.acked - STORE_FIRST_REVISION; i++)
            model_add(&durable, &l.m.ops.p[i]);
        model_check_keys(&durable, l.f.store);
        model_done(&durable);
        CHECK_INT(put(&l.f, "refused", ""), 0);
    }
    fixture_reopen(&l.f);
    check_found(&l.m, l.acked, l.f.store);
    CHECK(put(&l.f, "works", "") > 0);
    settle(&l.f);
    CHECK_STR(durable(&l.f, "works"), STR(""));
    load_done(&l);
    return reached;
}

TEST(every_call_to_the_disk_may_fail_in_every_way)
{
    static const enum faulty_fault faults[] = {FAULTY_EIO, FAULTY_ENOSPC, FAULTY_SHORT};
    uint64_t seed = rng_u64(test_rng());
    size_t runs = 0;
    log_set_sink(quiet, NULL);
    for (size_t i = 0; i < ARRAY_LEN(faults); i++) {
        size_t n = 1;
        while (run_with_fault(n, faults[i], seed))
            n++;
        runs += n;
        /* At least a data write, a sync and a meta write per commit. */
        CHECK(n > 3 * BATCHES);
    }
    log_set_sink(NULL, NULL);
    test_note("%zu runs", runs);
}

static void watch_and_fail(struct fixture *f)
{
    char path[96];
    snprintf(path, sizeof(path), "%s/data.mdb", f->dir);
    faulty_watch(path, NULL, 1, FAULTY_EIO);
}

TEST(a_failed_commit_makes_the_store_read_only)
{
    struct fixture f;
    fixture_init_disk(&f, false);
    put(&f, "a", "1");
    settle(&f);
    CHECK_DIARY(&f, "event ADDED a 2; batch; done a 2; ");
    watch_and_fail(&f);
    char *big = xcalloc(1, 1 << 20);
    memset(big, 'x', (1 << 20) - 1);
    put(&f, "a", big);
    put(&f, "b", "1");
    settle(&f);
    faulty_unwatch();
    CHECK_DIARY(&f, "failed a 3; failed b 4; ");
    CHECK_INT(f.last_error, ERR_IO);
    CHECK(store_is_read_only(f.store));
    /* Reads go on; nothing of the failed batch is seen by anybody. */
    CHECK_STR(durable(&f, "a"), STR("1"));
    CHECK_STR(newest(&f, "a"), STR("1"));
    CHECK_STR(newest(&f, "b"), STR("-"));
    CHECK_INT(store_revision(f.store), 2);
    /* A sync is never retried, also when the disk works again. */
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
    char *big = xcalloc(1, 1 << 20);
    struct loop_timer t;
    memset(big, 'x', (1 << 20) - 1);
    loop_timer_init(f.loop, &t, write_late);
    late_fixture = &f;
    put(&f, "a", big);
    loop_timer_set(&t, loop_now(f.loop) + 1);
    watch_and_fail(&f);
    settle(&f);
    faulty_unwatch();
    CHECK_DIARY(&f, "failed a 2; failed late 3; ");
    CHECK_INT(store_next_revision(f.store), 2);
    CHECK_INT(store_count(f.store, &kind_config_map), 0);
    free(big);
    fixture_done(&f);
}

/* ---- power cuts ---- */

/* What the marks before a point of the trace say. */
static uint64_t acked_before(const struct faulty_trace *t, size_t upto)
{
    uint64_t acked = STORE_FIRST_REVISION;
    for (size_t i = 0; i < upto; i++)
        if (t->calls.p[i].type == FAULTY_MARK)
            acked = t->calls.p[i].mark;
    return acked;
}

static void check_image(const struct load *l, const struct faulty_trace *t, size_t upto)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    char path[96];
    snprintf(path, sizeof(path), "%s/data.mdb", f.dir);
    store_close(f.store);
    f.store = NULL;
    REQUIRE(faulty_image(t, upto, test_rng(), path) == 0);
    f.options = l->f.options;
    f.options.dir = f.dir;
    fixture_reopen(&f);
    check_found(&l->m, acked_before(t, upto), f.store);
    fixture_done(&f);
}

TEST(a_power_cut_at_any_point_loses_nothing_acknowledged)
{
    size_t images = 0;
    for (size_t i = 0; i < test_cases(3); i++) {
        struct load l;
        struct faulty_trace t = {0};
        load_init(&l);
        faulty_watch(l.path, &t, 0, FAULTY_NONE);
        for (int b = 0; b < BATCHES; b++) {
            REQUIRE(load_batch(&l, test_rng()));
            faulty_mark(l.acked);
        }
        faulty_unwatch();
        for (size_t upto = 0; upto <= t.calls.len; upto++)
            for (int again = 0; again < 3; again++, images++)
                check_image(&l, &t, upto);
        faulty_trace_done(&t);
        load_done(&l);
    }
    test_note("%zu images", images);
}

/* ---- power cuts while the disk is full ---- */

/* What each revision looked like. */
struct past {
    VEC(uint64_t) digests; /* by revision */
};

static uint64_t digest_of(const struct store *s)
{
    uint64_t h = store_revision(s);
    struct obj *o;
    struct store_iter it = store_range(s, &kind_config_map, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        str text = doc_text(o->doc);
        h = XXH3_64bits_withSeed(text.p, text.len, h);
    }
    return h;
}

static void remember(struct past *p, const struct store *s)
{
    while (p->digests.len <= store_revision(s))
        *vec_push(&p->digests) = 0;
    p->digests.p[store_revision(s)] = digest_of(s);
}

static void limit_file_size(rlim_t size)
{
    struct rlimit r;
    REQUIRE(getrlimit(RLIMIT_FSIZE, &r) == 0);
    r.rlim_cur = size;
    REQUIRE(setrlimit(RLIMIT_FSIZE, &r) == 0);
}

static void fill_up(struct fixture *f, const char *path, const char *payload)
{
    struct stat st;
    signal(SIGXFSZ, SIG_IGN);
    REQUIRE(stat(path, &st) == 0);
    limit_file_size((rlim_t)st.st_size);
    for (int i = 0; i < 1000; i++) {
        char name[32];
        snprintf(name, sizeof(name), "n%d", i);
        if (!put(f, name, payload))
            break;
        settle(f);
    }
    CHECK_INT(f->last_error, ERR_NO_SPACE);
    strbuf_reset(&f->diary);
}

/* Deletes, and writes that make an object smaller; whatever it is, it is taken. */
static void write_while_full(struct fixture *f, struct past *past, const char *payload)
{
    for (int i = 0; i < 30; i++) {
        char name[32];
        snprintf(name, sizeof(name), "n%d", i / 2);
        CHECK(i % 2 ? del(f, name) > 0 : put(f, name, payload + 1) > 0);
        settle(f);
        CHECK_INT(f->last_error, 0);
        remember(past, f->store);
        faulty_mark(store_revision(f->store));
    }
    strbuf_reset(&f->diary);
}

static void check_cut(const struct past *past, const struct faulty_trace *t, size_t upto)
{
    struct fixture f;
    char path[96];
    fixture_init_disk(&f, true);
    store_close(f.store);
    f.store = NULL;
    snprintf(path, sizeof(path), "%s/data.mdb", f.dir);
    REQUIRE(faulty_image(t, upto, test_rng(), path) == 0);
    fixture_reopen(&f);
    uint64_t revision = store_revision(f.store);
    CHECK(revision >= acked_before(t, upto) && revision < past->digests.len);
    if (revision < past->digests.len)
        CHECK(digest_of(f.store) == past->digests.p[revision]);
    fixture_done(&f);
}

TEST(a_power_cut_while_the_disk_is_full_loses_nothing_acknowledged)
{
    struct fixture f;
    struct past past = {0};
    struct faulty_trace t = {0};
    char path[96], payload[3001];
    log_set_sink(quiet, NULL);
    memset(payload, 'x', 3000);
    payload[3000] = 0;
    fixture_init_disk(&f, true);
    snprintf(path, sizeof(path), "%s/data.mdb", f.dir);
    fill_up(&f, path, payload);
    remember(&past, f.store);
    faulty_watch(path, &t, 0, FAULTY_NONE);
    faulty_mark(store_revision(f.store));
    write_while_full(&f, &past, payload);
    faulty_unwatch();
    limit_file_size(RLIM_INFINITY);
    for (size_t upto = 1; upto <= t.calls.len; upto++)
        check_cut(&past, &t, upto);
    test_note("%zu images", t.calls.len);
    log_set_sink(NULL, NULL);
    vec_done(&past.digests);
    faulty_trace_done(&t);
    fixture_done(&f);
}
