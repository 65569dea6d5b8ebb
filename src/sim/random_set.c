/* See random_set.h. Small on purpose: what goes wrong goes wrong with two of each, and a thousand
 * schedules of two say more than ten of a hundred. */
#include "sim/random_set.h"

#include "grove/types.h"
#include "node/sim/life.h"
#include "json/write.h"

enum { NAME_MAX_LEN = 253 };

static int64_t between(struct rng *r, int64_t low, int64_t high)
{
    return low + (int64_t)rng_below(r, (uint64_t)(high - low) + 1);
}

/* Any order without cycles: each clique after some of those before it in the list, or, backwards,
 * after some of those behind it. Drawn apart: what else is drawn is the same without. */
static void random_order(struct rng r, struct random_shape *s)
{
    static const char *const types[] = {"AnyOrder", "InOrder", "Explicit"};
    size_t n = s->alone + s->members;
    bool backwards = rng_below(&r, 2);
    s->startup = types[rng_below(&r, ARRAY_LEN(types))];
    for (size_t i = 0; i < n; i++) {
        unsigned before = (1u << i) - 1, behind = (1u << n) - 1 - before - (1u << i);
        s->after[i] = (unsigned)rng_u64(&r) & (backwards ? behind : before);
    }
}

void random_shape(struct rng *r, struct random_shape *s)
{
    *s = (struct random_shape){.alone = (size_t)between(r, 0, 2),
                               .members = (size_t)between(r, 0, 2)};
    if (s->alone + s->members == 0)
        s->alone = 1;
    for (size_t i = 0; i < s->alone + s->members; i++) {
        s->replicas[i] = between(r, 1, i < s->alone ? 3 : 2 - (int64_t)(s->members > 1));
        s->min[i] = between(r, 1, s->replicas[i]);
    }
    s->group_replicas = between(r, 1, 2);
    s->group_min = between(r, 1, s->group_replicas);
    s->set_replicas = between(r, 1, 2);
    random_order(*r, s);
}

/* A name that begins so, as long as names are to be. */
static void write_name(struct jw *w, const struct random_shape *s, const char *begins)
{
    struct strbuf b = STRBUF_INIT(NAME_MAX_LEN);
    strbuf_add_cstr(&b, begins);
    while (b.len < s->names)
        strbuf_add_cstr(&b, b.len % 8 == 7 && b.len + 1 < s->names ? "-" : "x");
    jw_str(w, strbuf_str(&b));
    strbuf_done(&b);
}

static void write_clique_name(struct jw *w, const struct random_shape *s, size_t i)
{
    static const char *const names[RANDOM_CLIQUES] = {"c0", "c1", "c2", "c3"};
    write_name(w, s, names[i]);
}

/* One or two units, or a part of them. */
static void put_surge(struct jw *w, struct rng *r)
{
    int64_t n = between(r, 1, 3);
    if (n == 3)
        jw_put_cstr(w, "maxSurge", "50%");
    else
        jw_put_int(w, "maxSurge", n);
}

/* Mostly what it is without. Where there may be more than wanted, nothing need be missing. */
static void put_rolling(struct jw *w, struct rng *r, int64_t least, int64_t most,
                        const char *members)
{
    bool surge = rng_below(r, 3) == 0;
    bool budget = most >= least && (surge || rng_below(r, 3) == 0);
    if (!budget && !members)
        return;
    jw_put_object(w, "rollingUpdate");
    if (members)
        jw_put_cstr(w, "members", members);
    if (budget && surge)
        put_surge(w, r);
    if (budget && (!surge || rng_below(r, 2)))
        jw_put_int(w, "maxUnavailable", surge && rng_below(r, 2) ? 0 : between(r, least, most));
    jw_end(w);
}

/* NULL: nothing is said. */
static const char *draw_members(struct rng *r, bool coherent)
{
    static const char *const words[] = {"Changed", "Changed", "All", NULL};
    return coherent ? NULL : words[rng_below(r, ARRAY_LEN(words))];
}

/* Sometimes its pods take longer to be ready than most deadlines of progress, or to stop. */
static void put_slowness(struct jw *w, bool to_be_ready, bool to_stop)
{
    if (!to_be_ready && !to_stop)
        return;
    jw_put_object(w, "annotations");
    if (to_be_ready)
        jw_put_cstr(w, LIFE_PREFIX "ready", "12s");
    if (to_stop)
        jw_put_cstr(w, LIFE_PREFIX "stop", "15s");
    jw_end(w);
}

static void put_pod_spec(struct jw *w, int64_t version, int64_t grace)
{
    jw_put_object(w, "podSpec");
    jw_put_int(w, "terminationGracePeriodSeconds", grace);
    jw_put_array(w, "containers");
    jw_object(w);
    jw_put_cstr(w, "name", "main");
    jw_key(w, STR("image"));
    jw_printf(w, "busybox:%lld", (long long)version);
    jw_put_object(w, "resources");
    jw_put_object(w, "requests");
    jw_put_cstr(w, "cpu", "10");
    jw_end(w);
    jw_end(w);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

/* What it says where the type is not Explicit means nothing. */
static void put_starts_after(struct jw *w, const struct random_shape *s, unsigned after)
{
    if (after == 0)
        return;
    jw_put_array(w, "startsAfter");
    for (size_t i = 0; i < RANDOM_CLIQUES; i++) {
        if (after & 1u << i)
            write_clique_name(w, s, i);
    }
    jw_end(w);
}

static void put_clique(struct jw *w, struct rng *r, const struct random_shape *s, size_t i,
                       bool coherent, bool may_be_slow)
{
    jw_object(w);
    jw_key(w, STR("name"));
    write_clique_name(w, s, i);
    if (i < s->alone)
        put_rolling(w, r, coherent ? s->min[i] : 1, s->replicas[i], NULL);
    bool stops_slowly = rng_below(r, 8) == 0;
    put_slowness(w, may_be_slow && rng_below(r, 12) == 0, stops_slowly);
    jw_put_object(w, "spec");
    jw_put_int(w, "replicas", s->replicas[i]);
    jw_put_int(w, "minAvailable", s->min[i]);
    if (rng_below(r, 8) == 0)
        jw_put_cstr(w, "podReplacementPolicy", "TerminatingOrFailed");
    put_starts_after(w, s, s->after[i]);
    put_pod_spec(w, between(r, 1, 3), stops_slowly ? 20 : 2);
    jw_end(w);
    jw_end(w);
}

static void put_group(struct jw *w, struct rng *r, const struct random_shape *s, bool coherent)
{
    jw_put_array(w, "podCliqueScalingGroups");
    jw_object(w);
    jw_key(w, STR("name"));
    write_name(w, s, "g");
    jw_put_array(w, "cliqueNames");
    for (size_t i = s->alone; i < s->alone + s->members; i++)
        write_clique_name(w, s, i);
    jw_end(w);
    jw_put_int(w, "replicas", s->group_replicas);
    jw_put_int(w, "minAvailable", s->group_min);
    put_rolling(w, r, coherent ? s->group_min : 1, s->group_replicas, draw_members(r, coherent));
    jw_end(w);
    jw_end(w);
}

static void put_strategy(struct jw *w, struct rng *r, const struct random_shape *s, str strategy)
{
    jw_put_object(w, "updateStrategy");
    jw_put_str(w, "type", strategy);
    if (!str_is(strategy, "OnDelete")) {
        jw_put_object(w, "rollingUpdate");
        if (rng_below(r, 3) == 0)
            put_surge(w, r);
        jw_put_cstr(w, "surgeTimeout", "1s");
        jw_end(w);
    }
    if (!str_is(strategy, "OnDelete")) {
        jw_put_int(w, "maxConcurrentReplicas", between(r, 1, 2));
        if (rng_below(r, 6) == 0)
            jw_put_int(w, "partition", between(r, 0, s->set_replicas));
        if (rng_below(r, 4) == 0) {
            jw_put_cstr(w, "progressDeadline", rng_below(r, 2) ? "5s" : "1s");
            jw_put_cstr(w, "autoRollback", rng_below(r, 2) ? "OnProgressDeadline" : "Never");
        }
    }
    if (str_is(strategy, "Coherent") && rng_below(r, 2)) {
        jw_put_object(w, "coherent");
        jw_put_cstr(w, "tail", rng_below(r, 2) ? "Independent" : "Paired");
        jw_end(w);
    }
    jw_end(w);
}

static void put_meta(struct jw *w, const struct random_shape *s, bool paused)
{
    jw_put_cstr(w, "apiVersion", "grove.io/v1alpha1");
    jw_put_cstr(w, "kind", kind_pcs.kind);
    jw_put_object(w, "metadata");
    jw_key(w, STR("name"));
    write_name(w, s, "any");
    jw_put_object(w, "annotations");
    jw_put_cstr(w, ANNOTATION_PAUSED, paused ? "true" : "false");
    jw_end(w);
    jw_end(w);
}

struct doc *random_version(struct rng *r, const struct random_shape *s, jval strategies, bool last)
{
    str strategy = jstr(jat(strategies, (size_t)rng_below(r, jlen(strategies))));
    bool coherent = str_is(strategy, "Coherent");
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    put_meta(&w, s, rng_below(r, 8) == 0 && !last);
    jw_put_object(&w, "spec");
    jw_put_int(&w, "replicas", s->set_replicas);
    put_strategy(&w, r, s, strategy);
    jw_put_object(&w, "template");
    jw_key(&w, STR("cliqueStartupType"));
    jw_printf(&w, "CliqueStartupType%s", s->startup);
    jw_put_array(&w, "cliques");
    for (size_t i = 0; i < s->alone + s->members; i++)
        put_clique(&w, r, s, i, coherent, !last);
    jw_end(&w);
    if (s->members > 0)
        put_group(&w, r, s, coherent);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
