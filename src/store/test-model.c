/* See test-model.h. */
#include "store/test-model.h"

#define MAX_FILL 6000

void model_done(struct model *m)
{
    vec_done(&m->ops);
}

/* ---- keys and payloads ---- */

struct key_text {
    const char *ns;
    char name[32];
};

static struct key_text key_text(uint64_t key)
{
    static const char *const ns[] = {"a", "a-b", "b"};
    struct key_text t = {.ns = ns[key / 2 % 3]};
    snprintf(t.name, sizeof(t.name), "n%llu", (unsigned long long)key / 6);
    return t;
}

const struct kind *model_kind(uint64_t key)
{
    return key % 2 ? &kind_secret : &kind_config_map;
}

/* "17:xxxxx": the number names the version, the rest makes pages of all sorts and shows whether a
 * version is whole. */
static void add_payload(uint64_t value, struct strbuf *out)
{
    strbuf_printf(out, "%llu:", (unsigned long long)value);
    size_t fill = value * 2654435761u % MAX_FILL;
    if (value % 3 == 0)
        fill /= 40;
    char *p = strbuf_reserve(out, fill);
    memset(p, 'x', fill);
    strbuf_commit(out, fill);
}

uint64_t model_value_of(const struct obj *o)
{
    if (!o)
        return 0;
    str rest = test_payload(o);
    uint64_t value = 0;
    CHECK(str_to_uint(str_cut(&rest, ':'), &value));
    struct strbuf want = STRBUF_INIT(2 * MAX_FILL);
    add_payload(value, &want);
    CHECK(str_eq(test_payload(o), strbuf_str(&want)));
    strbuf_done(&want);
    return value;
}

/* ---- writes ---- */

static struct obj *newest_of(const struct store *s, uint64_t key)
{
    struct key_text t = key_text(key);
    return store_newest(s, model_kind(key), str_of(t.ns), str_of(t.name));
}

struct model_op model_draw(struct model *m, struct rng *r, const struct store *s)
{
    struct model_op op = {.revision = store_next_revision(s), .key = rng_below(r, MODEL_KEYS)};
    if (!newest_of(s, op.key) || rng_chance(r, 70))
        op.value = ++m->next_value;
    return op;
}

struct obj *model_obj(const struct model_op *op, const struct store *s)
{
    struct key_text t = key_text(op->key);
    struct strbuf payload = STRBUF_INIT(2 * MAX_FILL);
    add_payload(op->value ? op->value : model_value_of(newest_of(s, op->key)), &payload);
    struct obj *o = test_obj(model_kind(op->key), str_of(t.ns), str_of(t.name), op->revision,
                             strbuf_str(&payload));
    strbuf_done(&payload);
    return o;
}

void model_add(struct model *m, const struct model_op *op)
{
    CHECK_INT(op->revision, m->ops.len + STORE_FIRST_REVISION + 1);
    *vec_push(&m->ops) = *op;
    m->next_value = MAX(m->next_value, op->value);
}

void model_cut(struct model *m, uint64_t revision)
{
    while (m->ops.len && vec_last(&m->ops)->revision > revision)
        m->ops.len--;
}

/* ---- by definition ---- */

uint64_t model_value(const struct model *m, uint64_t key, uint64_t revision)
{
    uint64_t value = 0;
    for (size_t i = 0; i < m->ops.len && m->ops.p[i].revision <= revision; i++)
        if (m->ops.p[i].key == key)
            value = m->ops.p[i].value;
    return value;
}

/* ---- comparing ---- */

void model_check_keys(const struct model *m, const struct store *s)
{
    size_t count[2] = {0};
    for (uint64_t key = 0; key < MODEL_KEYS; key++) {
        struct key_text t = key_text(key);
        uint64_t want = model_value(m, key, store_revision(s));
        const struct obj *o = store_get(s, model_kind(key), str_of(t.ns), str_of(t.name));
        CHECK_INT(model_value_of(o), want);
        CHECK_INT(model_value_of(newest_of(s, key)), model_value(m, key, UINT64_MAX));
        count[key % 2] += want != 0;
    }
    CHECK_INT(store_count(s, model_kind(0)), count[0]);
    CHECK_INT(store_count(s, model_kind(1)), count[1]);
}

struct replay {
    const struct model *m;
    size_t at; /* in ops */
};

static void check_event(void *ctx, const struct store_event *e)
{
    struct replay *r = ctx;
    REQUIRE(r->at < r->m->ops.len);
    const struct model_op *op = &r->m->ops.p[r->at++];
    uint64_t prev = model_value(r->m, op->key, op->revision - 1);
    CHECK_INT(e->revision, op->revision);
    CHECK_INT(model_value_of(e->prev), prev);
    CHECK_INT(model_value_of(e->obj), op->value ? op->value : prev);
    CHECK_INT(e->type, !op->value ? STORE_DELETED : prev ? STORE_MODIFIED : STORE_ADDED);
}

void model_check_replay(const struct model *m, const struct store *s, uint64_t after)
{
    struct replay r = {.m = m, .at = (size_t)(after - STORE_FIRST_REVISION)};
    REQUIRE(store_replay(s, after, check_event, &r, NULL) == 0);
    CHECK_INT(r.at, store_revision(s) - STORE_FIRST_REVISION);
}
