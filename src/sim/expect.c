/* Expectations and watches; the forms are in scenario.h. Watches and milestones are kept by
 * counting with every event, so that looking at every revision costs no search. */
#include "sim/scenario_impl.h"

#include "sim/invariants.h"
#include "sim/oracle.h"

static const char *const expect_keys[] = {
    "is", "min", "max", "distinct", "kept", "fresh", "converged", "order", "placed", "each", NULL};

/* Numbers of a map; false when absent. */
static bool number(jval v, const char *key, int64_t *ret)
{
    return jint_get(jget(v, str_of(key)), ret);
}

/* A list, or the one thing that stands for a list of it. */
static bool next_of(struct jiter *it, jval v, bool *first)
{
    if (jtype(v) == J_ARRAY)
        return jnext(it);
    it->value = v;
    bool go = *first;
    *first = false;
    return go;
}

/* ---- memories ---- */

struct memory {
    str name;
    struct map uids; /* -> itself */
};

int run_remember(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"as", NULL};
    struct query q;
    obj_vec found = {0};
    if (keys_check(v, query_keys, keys, "remember", err) || query_parse(&r->arena, v, &q, err))
        return err->code;
    str name = jstr(jgetc(v, "as"));
    struct memory *m = map_get(&r->memories, name);
    if (!m) {
        m = arena_new(&r->arena, struct memory);
        m->name = name;
        (void)map_put(&r->memories, name, m);
    }
    map_done(&m->uids);
    query_list(&q, sim_store(r->sim), &found);
    for (size_t i = 0; i < found.len; i++)
        (void)map_put(&m->uids, arena_str(&r->arena, found.p[i]->uid), m);
    obj_vec_done(&found);
    return 0;
}

static int find_memory(struct run *r, jval v, const struct memory **ret, struct err *err)
{
    *ret = NULL;
    if (!j_has(v))
        return 0;
    *ret = map_get(&r->memories, jstr(v));
    return *ret ? 0 : err_set(err, ERR_INVALID, "nothing is remembered as %.*s", STR_ARG(jtext(v)));
}

/* ---- counts ---- */

static int check_distinct(const obj_vec *found, str path, struct err *err)
{
    struct map values = MAP_INIT;
    int result = 0;
    for (size_t i = 0; i < found->len && result == 0; i++) {
        jval v = query_value(found->p[i], path);
        if (!j_has(v))
            result = err_set(err, ERR_INVALID, "%.*s has no %.*s", STR_ARG(found->p[i]->name),
                             STR_ARG(path));
        else if (map_put(&values, jtext(v), found->p[i]))
            result = err_set(err, ERR_INVALID, "%.*s %.*s occurs twice", STR_ARG(path),
                             STR_ARG(jtext(v)));
    }
    map_done(&values);
    return result;
}

/* ---- where pods are ---- */

/* Pods that are judged together: those with the same values of the labels of `each`. */
static str group_of(struct arena *a, const struct obj *pod, jval each)
{
    str group = STR_NONE;
    bool first = true;
    struct jiter it = jiter(each);
    while (j_has(each) && next_of(&it, each, &first))
        group = arena_printf(a, "%.*s%s%.*s", STR_ARG(group), group.len ? ", " : "",
                             STR_ARG(obj_label(pod, jstr(it.value))));
    return group;
}

/* Absent: the pod is on no node, or on one that is gone. */
static jval node_label(struct run *r, const struct obj *pod, str key, bool *ret_on_node)
{
    const struct obj *node =
        store_get(sim_store(r->sim), &kind_node, STR_NONE, jstr(jgetc(obj_spec(pod), "nodeName")));
    *ret_on_node = node != NULL;
    return node ? jget(node->labels, key) : JVAL_ABSENT;
}

/* One label of their nodes: so many different values in each group, or this one, or none. */
static int check_label(struct run *r, const obj_vec *found, str key, jval want, jval each,
                       struct err *err)
{
    struct arena a = ARENA_INIT;
    struct map seen = MAP_INIT, counts = MAP_INIT;
    int64_t n;
    bool counted = jint_get(want, &n), on_node;
    int result = 0;
    for (size_t i = 0; i < found->len && result == 0; i++) {
        const struct obj *o = found->p[i];
        jval v = node_label(r, o, key, &on_node);
        str group = group_of(&a, o, each);
        str pair = arena_printf(&a, "%.*s\n%.*s", STR_ARG(group), STR_ARG(jstr(v)));
        if (!on_node || j_has(v) != j_has(want) || (!counted && !str_eq(jstr(v), jstr(want))))
            result = err_set(err, ERR_INVALID, "%.*s is on \"%.*s\", %.*s \"%.*s\"",
                             STR_ARG(o->name), STR_ARG(jstr(jgetc(obj_spec(o), "nodeName"))),
                             STR_ARG(key), STR_ARG(jstr(v)));
        else if (!map_put(&seen, pair, &seen))
            (void)map_put(&counts, group, (char *)map_get(&counts, group) + 1);
    }
    for (size_t i = 0; i < found->len && counted && result == 0; i++) {
        str group = group_of(&a, found->p[i], each);
        int64_t got = (int64_t)(uintptr_t)map_get(&counts, group);
        if (got != n)
            result = err_set(err, ERR_INVALID, "%.*s: there are %lld values%s%.*s", STR_ARG(key),
                             (long long)got, group.len ? " for " : "", STR_ARG(group));
    }
    map_done(&seen);
    map_done(&counts);
    arena_done(&a);
    return result;
}

static int check_placed(struct run *r, const obj_vec *found, jval v, struct err *err)
{
    int result = 0;
    for (struct jiter it = jiter(jgetc(v, "placed")); result == 0 && jnext(&it);)
        result = check_label(r, found, it.key, it.value, jgetc(v, "each"), err);
    return result;
}

static int check_number(int64_t got, jval v, struct err *err)
{
    int64_t is, min = 1, max = INT64_MAX;
    bool exact = number(v, "is", &is);
    (void)number(v, "min", &min);
    if (number(v, "max", &max) && !j_has(jgetc(v, "min")))
        min = 0;
    if (exact)
        min = max = is;
    if (got >= min && got <= max)
        return 0;
    return err_set(err, ERR_INVALID, "there are %lld", (long long)got);
}

static int check_query(struct run *r, jval v, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct query q;
    obj_vec found = {0};
    const struct memory *kept, *fresh;
    int result = query_parse(&a, v, &q, err);
    if (result == 0)
        result = find_memory(r, jgetc(v, "kept"), &kept, err);
    if (result == 0)
        result = find_memory(r, jgetc(v, "fresh"), &fresh, err);
    if (result == 0) {
        int64_t n = 0;
        query_list(&q, sim_store(r->sim), &found);
        for (size_t i = 0; i < found.len; i++)
            n += !(kept && !map_has(&kept->uids, found.p[i]->uid)) &&
                 !(fresh && map_has(&fresh->uids, found.p[i]->uid));
        result = check_number(n, v, err);
        if (result == 0 && j_has(jgetc(v, "distinct")))
            result = check_distinct(&found, jstr(jgetc(v, "distinct")), err);
        if (result == 0)
            result = check_placed(r, &found, v, err);
    }
    obj_vec_done(&found);
    arena_done(&a);
    return result;
}

/* ---- order ---- */

/* The N-th object that came to match. */
struct milestone {
    struct list link;
    uint32_t at; /* where in the document it is written */
    struct query query;
    int64_t nth;
    struct map seen; /* uids */
    uint64_t revision;
};

static int prepare_milestone(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"nth", NULL};
    struct milestone *m = arena_new(&r->arena, struct milestone);
    if (keys_check(v, query_keys, keys, "order", err) || query_parse(&r->arena, v, &m->query, err))
        return err->code;
    m->at = v.at;
    m->nth = jint(jgetc(v, "nth"), 1);
    list_push_back(&r->orders, &m->link);
    return 0;
}

/* Depth is bounded by the parser's own limit. */
int run_prepare_orders(struct run *r, jval v, struct err *err)
{
    int result = 0;
    for (struct jiter it = jiter(v); result == 0 && jnext(&it);) {
        if (jtype(v) == J_OBJECT && str_is(it.key, "order")) {
            for (struct jiter item = jiter(it.value); result == 0 && jnext(&item);)
                result = prepare_milestone(r, item.value, err);
        } else if (jtype(it.value) == J_OBJECT || jtype(it.value) == J_ARRAY) {
            result = run_prepare_orders(r, it.value, err);
        }
    }
    return result;
}

static void milestone_event(struct run *r, struct milestone *m, const struct store_event *e)
{
    if (m->revision || e->type == STORE_DELETED || !query_matches(&m->query, e->obj) ||
        map_has(&m->seen, e->obj->uid))
        return;
    (void)map_put(&m->seen, arena_str(&r->arena, e->obj->uid), m);
    if ((int64_t)m->seen.len == m->nth)
        m->revision = e->revision;
}

static const struct milestone *find_milestone(const struct run *r, jval v)
{
    list_foreach (it, &r->orders) {
        struct milestone *m = list_entry(it, struct milestone, link);
        if (m->at == v.at)
            return m;
    }
    return NULL;
}

static int check_order(struct run *r, jval list, struct err *err)
{
    uint64_t before = 0;
    for (struct jiter it = jiter(list); jnext(&it);) {
        const struct milestone *m = find_milestone(r, it.value);
        if (!m || !m->revision)
            return err_set(err, ERR_INVALID, "%.*s did not happen", STR_ARG(jtext(it.value)));
        if (m->revision < before)
            return err_set(err, ERR_INVALID,
                           "%.*s happened at revision %llu, before the other at "
                           "%llu",
                           STR_ARG(jtext(it.value)), (unsigned long long)m->revision,
                           (unsigned long long)before);
        before = m->revision;
    }
    return 0;
}

/* ---- expect, await ---- */

static int expect_one(struct run *r, jval v, struct err *err)
{
    int result = keys_check(v, query_keys, expect_keys, "expect", err);
    if (result)
        return result;
    if (j_has(jgetc(v, "order")))
        result = check_order(r, jgetc(v, "order"), err);
    else if (j_has(jgetc(v, "converged")))
        result = oracle_check(r->sim, err);
    else
        result = check_query(r, v, err);
    return result ? err_wrap(err, "%.*s", STR_ARG(jtext(v))) : 0;
}

int run_expect(struct run *r, jval v, struct err *err)
{
    bool first = true;
    struct jiter it = jiter(v);
    while (next_of(&it, v, &first)) {
        int result = expect_one(r, it.value, err);
        if (result)
            return result;
    }
    return 0;
}

int run_await(struct run *r, jval v, struct err *err)
{
    usec within = r->limit, min;
    jval until = jgetc(v, "until");
    if (j_has(jgetc(v, "within")) && range_parse(jgetc(v, "within"), &min, &within, err))
        return err->code;
    until = j_has(until) ? until : v;
    usec end = sim_now(r->sim) + within;
    uint64_t judged = 0;
    for (;;) {
        uint64_t revision = store_revision(sim_store(r->sim));
        if (revision != judged && run_expect(r, until, err) == 0) {
            *err = ERR_INIT; /* of the times before */
            return 0;
        }
        judged = revision;
        if (sim_now(r->sim) >= end)
            return err_wrap(err, "waited in vain");
        if (!sim_advance(r->sim, USEC_PER_MSEC)) {
            *err = ERR_INIT;
            return world_result(r, err);
        }
    }
}

/* ---- never ---- */

struct watch {
    struct list link;
    jval text;
    struct query query;
    int64_t over, under; /* -1: not asked for */
    int64_t count;
    bool reached; /* `under` holds from now on */
};

static void judge_watch(struct run *r, struct watch *w)
{
    w->reached = w->reached || w->count >= w->under;
    if (w->over >= 0 && w->count > w->over)
        sim_fail(r->sim, "never %.*s: there are %lld", STR_ARG(jtext(w->text)),
                 (long long)w->count);
    if (w->under >= 0 && w->reached && w->count < w->under)
        sim_fail(r->sim, "never %.*s: there are %lld", STR_ARG(jtext(w->text)),
                 (long long)w->count);
}

static int add_watch(struct run *r, jval v, struct err *err)
{
    static const char *const keys[] = {"over", "under", NULL};
    struct watch *w = arena_new(&r->arena, struct watch);
    if (keys_check(v, query_keys, keys, "never", err) || query_parse(&r->arena, v, &w->query, err))
        return err->code;
    w->text = v;
    w->over = jint(jgetc(v, "over"), -1);
    w->under = jint(jgetc(v, "under"), -1);
    if (w->over < 0 && w->under < 0)
        return err_set(err, ERR_INVALID, "never %.*s: over or under how many?", STR_ARG(jtext(v)));
    w->count = (int64_t)query_count(&w->query, sim_store(r->sim));
    list_push_back(&r->watches, &w->link);
    judge_watch(r, w);
    return 0;
}

int run_never(struct run *r, jval v, struct err *err)
{
    bool first = true;
    struct jiter it = jiter(v);
    while (next_of(&it, v, &first)) {
        if (add_watch(r, it.value, err))
            return err->code;
    }
    return 0;
}

void run_forget(struct run *r)
{
    list_init(&r->watches); /* they live in the arena */
}

void run_event(void *ctx, const struct store_event *e)
{
    struct run *r = ctx;
    list_foreach (it, &r->watches) {
        struct watch *w = list_entry(it, struct watch, link);
        int was = e->prev && query_matches(&w->query, e->prev);
        int is = e->type != STORE_DELETED && query_matches(&w->query, e->obj);
        w->count += is - was;
        if (is != was)
            judge_watch(r, w);
    }
    list_foreach (it, &r->orders)
        milestone_event(r, list_entry(it, struct milestone, link), e);
}

void run_done_expectations(struct run *r)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&r->memories, &it, &key, &value);)
        map_done(&((struct memory *)value)->uids);
    map_done(&r->memories);
    list_foreach (it, &r->orders)
        map_done(&list_entry(it, struct milestone, link)->seen);
}
