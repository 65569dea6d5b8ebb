/*
 * The worked cases of the proposal for coherent updates in a whole world: every content the map of
 * gangs has from the change to the end, in order, none more and none less, against the tables
 * (operator/update/coherent_cases.h). With each: names stay as they were, anchors and what depends
 * on them are marked, and before the next one the gangs are exactly those of the map and the new
 * ones ready; what the status said to be in flight meanwhile were the gangs this sub-step made, and
 * no others.
 */
#include "base/map.h"
#include "base/test.h"
#include "grove/gangs.h"
#include "grove/names.h"
#include "grove/types.h"
#include "operator/update/coherent_cases.h"
#include "sim/sim.h"

#define LIMIT (30 * USEC_PER_MIN)
enum { F, P, D, N, MAX_INDEX = 128 };
static const char *const names[N] = {"f", "p", "d"};
static const char letters[] = "FPD";

struct numbers {
    int replicas, min, most; /* minAvailable, maxUnavailable */
};

struct worked {
    struct numbers c[N];
    bool legacy;
    /* what was seen */
    struct sim *sim;
    struct arena arena;
    struct obj *map;
    str old_hash, old_anchor;
    int64_t rolled[N];
    struct strbuf rows; /* a line each */
    struct map made;    /* gangs of the present sub-step: by name */
    struct map flying;  /* of these, that were said to be in flight */
};

/* ---- the set ---- */

static void write_clique(struct strbuf *b, const char *name, str more, int version)
{
    strbuf_printf(
        b,
        "    - {name: %s, %.*s podSpec: {containers: [{name: c, image: \"x:%d\", resources: "
        "{requests: {cpu: 1}}}]}}}\n",
        name, STR_ARG(more), version);
}

static void apply_set(struct worked *w, bool coherent, int f, int others)
{
    const struct numbers *c = w->c;
    struct err err = ERR_INIT;
    struct strbuf b = STRBUF_INIT(1 << 12), front = STRBUF_INIT(256);
    strbuf_printf(&b,
                  "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: w}\n"
                  "spec:\n  replicas: 1\n  updateStrategy: {type: %s}\n  template:\n    cliques:\n",
                  coherent ? "Coherent" : "RollingRecreate");
    strbuf_printf(&front,
                  "rollingUpdate: {maxUnavailable: %d}, spec: {replicas: %d, minAvailable: %d,",
                  c[F].most, c[F].replicas, c[F].min);
    write_clique(&b, "f", strbuf_str(&front), f);
    write_clique(&b, "pw", STR("spec: {"), others);
    write_clique(&b, "dw", STR("spec: {"), others);
    strbuf_add_cstr(&b, "    podCliqueScalingGroups:\n");
    for (int i = P; i < N; i++)
        strbuf_printf(&b,
                      "    - {name: %s, cliqueNames: [%sw], replicas: %d, minAvailable: %d,"
                      " rollingUpdate: {maxUnavailable: %d}}\n",
                      names[i], names[i], c[i].replicas, c[i].min, c[i].most);
    CHECK_INT(sim_apply_yaml(w->sim, strbuf_str(&b), &err), 0);
    strbuf_done(&front);
    strbuf_done(&b);
}

/* ---- a row of the tables ---- */

static str entry_name(jval entry)
{
    return jstr(jgetc(entry, "name"));
}

static bool is_anchor(jval entry)
{
    return str_is(jstr(jgetc(entry, "role")), gang_role_name(GANG_ANCHOR));
}

static bool is_old(struct worked *w, jval entry)
{
    return str_eq(jstr(jgetc(entry, "podCliqueSetGenerationHash")), w->old_hash);
}

static jval part_of(jval entry, int c)
{
    return c == F ? jget(jgetc(entry, "podCliques"), str_of(names[c]))
                  : jget(jgetc(entry, "pcsgReplicaIndices"), str_of(names[c]));
}

static int64_t units_of(jval entry, int c)
{
    jval part = part_of(entry, c);
    return c == F ? jint(part, 0) : (int64_t)jlen(part);
}

static void mark(jval entry, int c, bool *has)
{
    for (struct jiter it = jiter(part_of(entry, c)); jnext(&it);) {
        int64_t i = jint(it.value, -1);
        if (CHECK(i >= 0 && i < MAX_INDEX))
            has[i] = true;
    }
}

static void write_ranges(struct strbuf *out, const bool *has)
{
    bool first = true;
    for (int i = 0; i < MAX_INDEX; i++) {
        int end = i;
        if (!has[i])
            continue;
        while (end + 1 < MAX_INDEX && has[end + 1])
            end++;
        worked_range(out, first ? "" : ",", i, end);
        first = false;
        i = end;
    }
}

static void write_entry(struct strbuf *out, jval entry)
{
    const char *between = "";
    strbuf_add_char(out, '{');
    for (int c = 0; c < N; c++) {
        bool has[MAX_INDEX] = {false};
        if (units_of(entry, c) == 0)
            continue;
        strbuf_printf(out, "%s%c:", between, letters[c]);
        between = ", ";
        if (c == F) {
            strbuf_printf(out, "%lld", (long long)units_of(entry, c));
            continue;
        }
        mark(entry, c, has);
        strbuf_add_char(out, '[');
        write_ranges(out, has);
        strbuf_add_char(out, ']');
    }
    strbuf_add_char(out, '}');
}

/* Replicas in gangs of their own. */
static void write_tails(struct strbuf *out, struct worked *w, bool old)
{
    const char *between = "";
    for (int c = P; c < N; c++) {
        bool has[MAX_INDEX] = {false};
        size_t n = 0;
        for (struct jiter it = jiter(gang_list(&w->arena, w->map)); jnext(&it);) {
            if (is_anchor(it.value) || is_old(w, it.value) != old || !units_of(it.value, c))
                continue;
            CHECK_INT(units_of(it.value, P) + units_of(it.value, D), 1);
            CHECK_INT(units_of(it.value, F), 0);
            mark(it.value, c, has);
            n++;
        }
        if (n == 0)
            continue;
        strbuf_printf(out, "%s%c[", between, letters[c]);
        write_ranges(out, has);
        strbuf_add_char(out, ']');
        between = "; ";
    }
    if (!*between)
        strbuf_add_char(out, '-');
}

static void write_anchors(struct strbuf *out, struct worked *w)
{
    bool found = false;
    for (struct jiter it = jiter(gang_list(&w->arena, w->map)); jnext(&it);) {
        if (!str_eq(entry_name(it.value), w->old_anchor))
            continue;
        write_entry(out, it.value);
        CHECK(is_anchor(it.value));
        found = true;
    }
    strbuf_add_cstr(out, found ? " | " : "gone | ");
    write_tails(out, w, true);
    strbuf_add_cstr(out, " |");
    for (struct jiter it = jiter(gang_list(&w->arena, w->map)); jnext(&it);) {
        if (!is_anchor(it.value) || is_old(w, it.value))
            continue;
        strbuf_add_char(out, ' ');
        write_entry(out, it.value);
    }
}

static void write_row(struct worked *w)
{
    struct strbuf *out = &w->rows;
    size_t n_old = 0, n_new = 0;
    int64_t rolled[N] = {0};
    const char *between = "";
    for (struct jiter it = jiter(gang_list(&w->arena, w->map)); jnext(&it);) {
        bool old = is_old(w, it.value);
        n_old += old;
        n_new += !old;
        for (int c = 0; c < N; c++)
            rolled[c] += old ? 0 : units_of(it.value, c);
    }
    for (int c = 0; c < N; c++) {
        if (rolled[c] == w->rolled[c])
            continue;
        strbuf_printf(out, "%s%lld%c", between, (long long)(rolled[c] - w->rolled[c]), letters[c]);
        between = " ";
    }
    memcpy(w->rolled, rolled, sizeof(rolled));
    strbuf_add_cstr(out, " | ");
    write_anchors(out, w);
    strbuf_add_cstr(out, " | ");
    write_tails(out, w, false);
    strbuf_printf(out, " | %zu+%zu=%zu | %lld/%lld/%lld\n", n_old, n_new, n_old + n_new,
                  (long long)rolled[F], (long long)rolled[P], (long long)rolled[D]);
}

/* ---- looking on ---- */

static jval entry_named(jval gangs, str name)
{
    for (struct jiter it = jiter(gangs); jnext(&it);) {
        if (str_eq(entry_name(it.value), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* What stays keeps its version and its marks; what is new depends on anchors or is one. */
static void check_entries(struct worked *w, const struct obj *next)
{
    static const char *const kept[] = {"podCliqueSetGenerationHash", "role", "epoch"};
    jval gangs = gang_list(&w->arena, w->map);
    for (struct jiter it = jiter(gang_list(&w->arena, next)); jnext(&it);) {
        jval before = entry_named(gangs, entry_name(it.value));
        for (size_t i = 0; j_has(before) && i < ARRAY_LEN(kept); i++)
            CHECK(jequal(jget(before, str_of(kept[i])), jget(it.value, str_of(kept[i]))));
        if (j_has(before))
            continue;
        CHECK_INT(jlen(jgetc(it.value, "dependsOn")), !is_anchor(it.value));
        (void)map_put(&w->made, arena_str(&w->arena, entry_name(it.value)), w);
    }
}

/* As it must be before the map may change again. */
static void check_gangs(struct worked *w)
{
    size_t n = 0;
    struct obj *o;
    jval gangs = gang_list(&w->arena, w->map);
    struct store_iter it =
        store_range(sim_store(w->sim), &kind_pod_gang, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (!CHECK(j_has(entry_named(gangs, o->name))))
            test_note("%.*s is in no entry", STR_ARG(o->name));
        if (map_has(&w->made, o->name))
            CHECK(condition_is_true(jgetc(obj_status(o), "conditions"), STR("Ready")));
        n++;
    }
    CHECK_INT(n, jlen(gangs));
    CHECK_INT(w->flying.len, w->made.len);
}

static void on_map(struct worked *w, struct obj *next)
{
    if (jequal(jgetc(obj_spec(w->map), "entries"), jgetc(obj_spec(next), "entries")))
        return;
    check_gangs(w);
    map_done(&w->made);
    map_done(&w->flying);
    w->made = w->flying = (struct map){0};
    check_entries(w, next);
    obj_unref(w->map);
    w->map = obj_ref(next);
    write_row(w);
}

static void on_event(void *ctx, const struct store_event *e)
{
    struct worked *w = ctx;
    if (w->map && e->obj->kind == &kind_pod_gang_map)
        on_map(w, e->obj);
    if (!w->map || e->obj->kind != &kind_pcs)
        return;
    jval first = jat(jpath(obj_status(e->obj), "updateProgress.currentlyUpdating"), 0);
    for (struct jiter it = jiter(jgetc(first, "inFlightPodGangs")); jnext(&it);) {
        str name = arena_str(&w->arena, jstr(it.value));
        if (CHECK(map_has(&w->made, name)))
            (void)map_put(&w->flying, name, w);
    }
}

/* ---- a case ---- */

static void begin(struct worked *w)
{
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults};
    o.nodes.count = 4;
    w->sim = sim_new(&o, &err);
    REQUIRE(w->sim != NULL);
    sim_on_event(w->sim, on_event, w);
    REQUIRE(sim_settle(w->sim, LIMIT));
    apply_set(w, !w->legacy, 1, 1);
    REQUIRE(sim_settle(w->sim, LIMIT));
    if (w->legacy)
        apply_set(w, true, 1, 1);
    REQUIRE(sim_settle(w->sim, LIMIT));
    w->map = sim_get(w->sim, &kind_pod_gang_map, STR("default"), STR("w-0"));
    REQUIRE(w->map != NULL);
    w->map = obj_ref(w->map);
    jval first = jat(gang_list(&w->arena, w->map), 0);
    w->old_anchor = arena_str(&w->arena, entry_name(first));
    w->old_hash = arena_str(&w->arena, jstr(jgetc(first, "podCliqueSetGenerationHash")));
    CHECK(is_anchor(first));
}

static void check_case(struct worked *w, bool all, const struct strbuf *want)
{
    begin(w);
    apply_set(w, true, 2, all ? 2 : 1);
    CHECK(sim_settle(w->sim, LIMIT));
    CHECK_INT(sim_failure(w->sim)->code, 0);
    check_gangs(w);
    str got = strbuf_str(&w->rows), expected = strbuf_str(want);
    while (got.len || expected.len) {
        str g = str_cut(&got, '\n'), x = str_cut(&expected, '\n');
        CHECK_STR(g, x);
    }
    obj_unref(w->map);
    map_done(&w->made);
    map_done(&w->flying);
    strbuf_done(&w->rows);
    sim_free(w->sim);
    arena_done(&w->arena);
}

static void check_rows(struct worked *w, const char *const *rows, size_t n)
{
    struct strbuf want = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&want, "%s\n", rows[i]);
    check_case(w, true, &want);
    strbuf_done(&want);
}

#define WORKED(...)                                      \
    {                                                    \
        .c = {__VA_ARGS__}, .rows = STRBUF_INIT(1 << 20) \
    }

TEST(worked_case_main)
{
    struct worked w = WORKED({10, 2, 2}, {10, 3, 3}, {20, 3, 4});
    check_rows(&w, worked_main, ARRAY_LEN(worked_main));
}

TEST(worked_case_a_clean_divisibility)
{
    struct worked w = WORKED({10, 1, 1}, {100, 3, 3}, {80, 3, 4});
    struct strbuf want = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 40; i++) {
        worked_a_row(i / 4 + 1, i % 4 + 1, &want);
        strbuf_add_char(&want, '\n');
    }
    check_case(&w, true, &want);
    strbuf_done(&want);
}

TEST(worked_case_b_residual_and_leftover)
{
    struct worked w = WORKED({20, 2, 2}, {10, 3, 3}, {20, 3, 4});
    check_rows(&w, worked_b, ARRAY_LEN(worked_b));
}

TEST(worked_case_e_single_component)
{
    struct worked w = WORKED({10, 1, 1}, {100, 3, 3}, {80, 3, 4});
    struct strbuf want = STRBUF_INIT(1 << 20);
    for (int n = 1; n <= 10; n++) {
        worked_e_row(n, &want);
        strbuf_add_char(&want, '\n');
    }
    check_case(&w, false, &want);
    strbuf_done(&want);
}

TEST(worked_case_il_gangs_of_before)
{
    struct worked w = WORKED({5, 2, 2}, {4, 1, 1}, {3, 1, 1});
    w.legacy = true;
    check_rows(&w, worked_il, ARRAY_LEN(worked_il));
}
