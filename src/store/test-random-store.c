/* Random writes, commits, restarts and window sizes against the model; and what is on disk against
 * what somebody may still ask for. */
#include "store/test-model.h"

struct run {
    struct fixture f;
    struct model m;
};

/* Is this record the answer to anything that can still be asked? */
static bool model_needs(const struct model *m, size_t i, uint64_t oldest)
{
    const struct model_op *op = &m->ops.p[i];
    if (op->revision > oldest)
        return true;
    if (op->value == 0)
        return false;
    for (size_t j = i + 1; j < m->ops.len && m->ops.p[j].revision <= oldest; j++)
        if (m->ops.p[j].key == op->key)
            return false;
    return true;
}

/* ---- acting ---- */

static void act(struct run *r)
{
    struct model_op op = model_draw(&r->m, test_rng(), r->f.store);
    REQUIRE(apply_obj(&r->f, model_obj(&op, r->f.store), op.value == 0) == op.revision);
    model_add(&r->m, &op);
}

static void reopen(struct run *r)
{
    struct rng *rng = test_rng();
    r->f.options.history_events = 1 + rng_below(rng, 60);
    r->f.options.history_bytes = rng_chance(rng, 30) ? 1 + rng_below(rng, 200000) : 0;
    fixture_reopen(&r->f);
    /* Writes that the close refused never happened; they are the last ones. */
    if (r->f.failed_from)
        model_cut(&r->m, r->f.failed_from - 1);
    r->f.failed_from = 0;
}

/* ---- comparing ---- */

struct listing {
    str last_ns, last_name;
    uint64_t values[MODEL_KEYS]; /* in order of arrival */
    size_t n;
};

static void listing_add(void *ctx, struct obj *o)
{
    struct listing *l = ctx;
    CHECK(l->n == 0 || key_cmp(l->last_ns, l->last_name, o->ns, o->name) < 0);
    l->values[l->n++] = model_value_of(o);
    l->last_ns = o->ns;
    l->last_name = o->name;
    /* The store still holds it. */
    obj_unref(o);
}

static bool is_in(const uint64_t *p, size_t n, uint64_t v)
{
    for (size_t i = 0; i < n; i++)
        if (p[i] == v)
            return true;
    return false;
}

static void check_list_at(struct run *r, uint64_t revision)
{
    struct listing l = {.n = 0};
    const struct kind *k = model_kind(1);
    REQUIRE(store_list_at(r->f.store, revision, k, STR_NONE, listing_add, &l, NULL) == 0);
    size_t count = 0;
    for (uint64_t key = 1; key < MODEL_KEYS; key += 2) {
        uint64_t want = model_value(&r->m, key, revision);
        count += want != 0;
        CHECK(want == 0 || is_in(l.values, l.n, want));
    }
    CHECK_INT(l.n, count);
}

struct on_disk {
    const struct model *m;
    VEC(uint64_t) revisions;
};

static int collect_record(void *ctx, const struct record *r, struct err *err)
{
    struct on_disk *d = ctx;
    REQUIRE(r->revision - 2 < d->m->ops.len);
    CHECK_INT(r->delete, d->m->ops.p[r->revision - 2].value == 0);
    *vec_push(&d->revisions) = r->revision;
    return 0;
}

/* With nothing on its way: on disk is what somebody may ask for, and what waits to be removed. */
static void check_disk(struct run *r)
{
    struct store *s = r->f.store;
    const struct history *h = &s->history;
    struct disk_head head;
    struct on_disk d = {.m = &r->m};
    REQUIRE(disk_read_begin(s->disk, &head, NULL) == 0);
    REQUIRE(disk_read(s->disk, 0, UINT64_MAX, true, collect_record, &d, NULL) == 0);
    disk_read_end(s->disk);
    CHECK_INT(head.revision, store_revision(s));
    CHECK(head.oldest <= h->oldest);
    for (size_t i = 0; i < r->m.ops.len; i++) {
        uint64_t revision = r->m.ops.p[i].revision;
        bool needed = model_needs(&r->m, i, h->oldest);
        bool garbage = false;
        for (size_t g = h->garbage_done; g < h->garbage.len; g++)
            garbage = garbage || h->garbage.p[g] == revision;
        CHECK(!(needed && garbage));
        CHECK_INT(is_in(d.revisions.p, d.revisions.len, revision), needed || garbage);
    }
    vec_done(&d.revisions);
}

static void check_all(struct run *r)
{
    struct store *s = r->f.store;
    uint64_t oldest = store_oldest_revision(s), span = store_revision(s) - oldest + 1;
    model_check_keys(&r->m, s);
    check_list_at(r, oldest);
    check_list_at(r, oldest + rng_below(test_rng(), span));
    model_check_replay(&r->m, s, oldest);
    model_check_replay(&r->m, s, oldest + rng_below(test_rng(), span));
    CHECK_INT(store_list_at(s, oldest - 1, model_kind(1), STR_NONE, NULL, NULL, NULL), ERR_GONE);
}

/* ---- the property ---- */

static void step(struct run *r)
{
    for (uint64_t n = rng_below(test_rng(), 8); n > 0; n--)
        act(r);
    /* A part of the way, so that batches overlap. */
    usec until = loop_now(r->f.loop) + (usec)rng_below(test_rng(), 3000);
    loop_run_until(r->f.loop, until, 1000);
    strbuf_reset(&r->f.diary);
    check_all(r);
    if (!r->f.dir[0])
        return;
    if (rng_chance(test_rng(), 15)) {
        reopen(r);
        check_all(r);
        check_disk(r);
    }
    if (rng_chance(test_rng(), 20)) {
        settle(&r->f);
        check_disk(r);
    }
}

static void run_model(bool on_disk)
{
    struct run r = {.m.next_value = 0};
    if (on_disk)
        fixture_init_disk(&r.f, true);
    else
        fixture_init(&r.f);
    for (int i = 0; i < 60; i++)
        step(&r);
    settle(&r.f);
    check_all(&r);
    model_done(&r.m);
    fixture_done(&r.f);
}

TEST(random_writes_in_memory_match_the_model)
{
    for (size_t i = 0; i < test_cases(20); i++)
        run_model(false);
}

TEST(random_writes_and_restarts_on_disk_match_the_model)
{
    for (size_t i = 0; i < test_cases(12); i++)
        run_model(true);
}

/* ---- compaction keeps up ---- */

static int count_record(void *ctx, const struct record *r, struct err *err)
{
    ++*(size_t *)ctx;
    return 0;
}

static size_t records_on_disk(struct store *s)
{
    struct disk_head head;
    size_t n = 0;
    REQUIRE(disk_read_begin(s->disk, &head, NULL) == 0);
    REQUIRE(disk_read(s->disk, 0, UINT64_MAX, false, count_record, &n, NULL) == 0);
    disk_read_end(s->disk);
    return n;
}

TEST(compaction_keeps_the_log_near_the_window)
{
    struct fixture f;
    fixture_init_disk(&f, true);
    f.options.history_events = 10;
    fixture_reopen(&f);
    for (int i = 0; i < 300; i++) {
        char name[32];
        snprintf(name, sizeof(name), "n%d", i % 5);
        if (i % 3 == 2 && store_newest(f.store, &kind_config_map, STR("ns"), str_of(name)))
            del(&f, name);
        else
            put(&f, name, "1");
        settle(&f);
        strbuf_reset(&f.diary);
        /* 10 in the window, at most 5 objects below it, and what the last commit made garbage. */
        CHECK(records_on_disk(f.store) <= 10 + 5 + 2);
        CHECK(history_garbage_len(&f.store->history) <= 2);
    }
    fixture_done(&f);
}
