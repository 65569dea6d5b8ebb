/* Pods about pods; see terms.h. */
#include "sched/terms.h"

#include "json/write.h"

#define HOSTNAME "kubernetes.io/hostname"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"

/* ---- walking through what a pod says ---- */

enum said { SAID_APART, SAID_NEAR, SAID_SPREAD, SAID_PORT };

struct saying {
    enum said what;
    str key; /* topology */
    jval term;
    str port;
};

typedef void saying_fn(void *ctx, const struct saying *s);

static void each_affinity(jval affinity, enum said what, saying_fn *fn, void *ctx)
{
    for (struct jiter it = jiter(jgetc(affinity, REQUIRED)); jnext(&it);)
        fn(ctx, &(struct saying){what, jstr(jgetc(it.value, "topologyKey")), it.value, STR_NONE});
}

static void each_saying(const struct obj *pod, struct arena *a, saying_fn *fn, void *ctx)
{
    jval spec = obj_spec(pod), affinity = jgetc(spec, "affinity");
    each_affinity(jgetc(affinity, "podAntiAffinity"), SAID_APART, fn, ctx);
    each_affinity(jgetc(affinity, "podAffinity"), SAID_NEAR, fn, ctx);
    for (struct jiter it = jiter(jgetc(spec, "topologySpreadConstraints")); jnext(&it);)
        fn(ctx,
           &(struct saying){SAID_SPREAD, jstr(jgetc(it.value, "topologyKey")), it.value, STR_NONE});
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);) {
        for (struct jiter k = jiter(jgetc(it.value, "ports")); jnext(&k);) {
            int64_t port = jint(jgetc(k.value, "hostPort"), 0);
            str protocol = jstr(jgetc(k.value, "protocol"));
            if (port > 0)
                fn(ctx, &(struct saying){
                            SAID_PORT, STR(HOSTNAME), JVAL_ABSENT,
                            arena_printf(a, "%lld/%.*s", (long long)port,
                                         STR_ARG(str_is_empty(protocol) ? STR("TCP") : protocol))});
        }
    }
}

/* ---- terms ---- */

static bool is_judged(const struct saying *s)
{
    jval ns = jgetc(s->term, "namespaceSelector");
    return jlen(ns) == 0 && jlen(jgetc(s->term, "matchLabelKeys")) == 0 &&
           jlen(jgetc(s->term, "mismatchLabelKeys")) == 0 && !str_is_empty(s->key);
}

static str term_id(struct arena *a, const struct obj *pod, const struct saying *s, char kind)
{
    struct strbuf b = STRBUF_INIT(65536);
    strbuf_printf(&b, "%c|%.*s|", kind, STR_ARG(s->key));
    if (s->what == SAID_PORT) {
        strbuf_add_str(&b, s->port);
    } else {
        if (j_has(jgetc(s->term, "namespaceSelector")))
            strbuf_add_char(&b, '*');
        else if (jlen(jgetc(s->term, "namespaces")) > 0)
            json_pretty(jgetc(s->term, "namespaces"), 0, &b);
        else
            strbuf_add_str(&b, pod->ns);
        strbuf_add_char(&b, '|');
        if (j_has(jgetc(s->term, "labelSelector")))
            json_pretty(jgetc(s->term, "labelSelector"), 0, &b);
    }
    str id = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return id;
}

static const struct tterm *find_term(const struct tables *t, str id)
{
    for (size_t i = 0; i < t->terms.len; i++) {
        if (str_eq(t->terms.p[i].id, id))
            return &t->terms.p[i];
    }
    return NULL;
}

struct collector {
    struct tables *tables;
    const struct obj *pod;
    struct arena arena;
    bool new;
};

static void collect_one(struct collector *c, const struct saying *s, char kind)
{
    struct tables *t = c->tables;
    str id = term_id(&c->arena, c->pod, s, kind);
    if (find_term(t, id) || t->terms.len >= TERMS_MAX)
        return;
    struct tterm *x = vec_push(&t->terms);
    *x = (struct tterm){.kind = kind, .id = arena_str(&t->arena, id), .term = CORE_NONE};
    x->key = arena_str(&t->arena, s->key);
    x->model = obj_hold(&t->arena, obj_ref(c->pod));
    x->ns = c->pod->ns;
    x->all_ns = j_has(jgetc(s->term, "namespaceSelector"));
    x->namespaces = jgetc(s->term, "namespaces");
    if (kind != 'p')
        x->selector = label_selector_from(&t->arena, jgetc(s->term, "labelSelector"), NULL);
    c->new = true;
}

static void on_collect(void *ctx, const struct saying *s)
{
    if (s->what != SAID_PORT && !is_judged(s))
        return;
    collect_one(ctx, s, s->what == SAID_PORT ? 'p' : 'm');
    if (s->what == SAID_APART)
        collect_one(ctx, s, 'h');
}

bool terms_collect(struct tables *t, const struct obj *pod)
{
    struct collector c = {.tables = t, .pod = pod};
    each_saying(pod, &c.arena, on_collect, &c);
    arena_done(&c.arena);
    return c.new;
}

/* The tree and level of a key, made when no tree has it. */
static bool place_term(struct tables *t, struct tterm *x)
{
    for (size_t i = 0; i < t->trees.len; i++) {
        const struct ttree *tree = &t->trees.p[i];
        /* Below the first level a domain is a path, a key by itself is not. */
        if (str_is(x->key, HOSTNAME)) {
            x->term = core_add_term(t->core, (int32_t)i, tree->n_levels + 1);
            return true;
        }
        if (tree->n_levels > 0 && str_eq(tree->keys[0], x->key)) {
            x->term = core_add_term(t->core, (int32_t)i, 1);
            return true;
        }
    }
    if (t->trees.len == CORE_TREES_MAX)
        return false;
    struct ttree tree = {.n_levels = 1};
    tree.keys[0] = x->key;
    tables_add_tree(t, tree);
    x->term = core_add_term(t->core, (int32_t)t->trees.len - 1, 1);
    return true;
}

void terms_place(struct tables *t)
{
    for (size_t i = 0; i < t->terms.len; i++)
        (void)place_term(t, &t->terms.p[i]);
}

/* ---- uses ---- */

static bool speaks_of(const struct tterm *x, const struct obj *pod)
{
    bool ns = x->all_ns || (jlen(x->namespaces) == 0 && str_eq(pod->ns, x->ns));
    for (struct jiter it = jiter(x->namespaces); !ns && jnext(&it);)
        ns = str_eq(jstr(it.value), pod->ns);
    return ns && x->selector && label_selector_match(x->selector, pod->labels);
}

struct user {
    const struct tables *tables;
    const struct obj *pod;
    struct arena arena;
    struct term_use *use;
};

static void add(int32_t *list, size_t *n, size_t max, int32_t term)
{
    for (size_t i = 0; i < *n; i++) {
        if (list[i] == term)
            return;
    }
    if (*n < max)
        list[(*n)++] = term;
}

static bool is_own(const struct user *u, const struct tterm *x)
{
    return x->kind == 'm' && speaks_of(x, u->pod);
}

static void on_use(void *ctx, const struct saying *s)
{
    struct user *u = ctx;
    struct term_use *use = u->use;
    if (s->what != SAID_PORT && !is_judged(s)) {
        use->refused =
            STR("it selects namespaces or label keys of other pods, which this scheduler "
                "cannot judge");
        return;
    }
    const struct tterm *x =
        find_term(u->tables, term_id(&u->arena, u->pod, s, s->what == SAID_PORT ? 'p' : 'm'));
    if (!x || x->term == CORE_NONE) {
        use->refused = STR("it says more about other pods than this scheduler keeps count of");
        return;
    }
    switch (s->what) {
    case SAID_PORT:
        add(use->counts, &use->n_counts, ARRAY_LEN(use->counts), x->term);
        add(use->avoids, &use->n_avoids, ARRAY_LEN(use->avoids), x->term);
        use->alone = true;
        break;
    case SAID_APART:
        add(use->avoids, &use->n_avoids, ARRAY_LEN(use->avoids), x->term);
        use->alone = use->alone || is_own(u, x);
        break;
    case SAID_NEAR:
        add(use->wants, &use->n_wants, ARRAY_LEN(use->wants), x->term);
        break;
    case SAID_SPREAD:
        if (use->n_spreads < ARRAY_LEN(use->spreads))
            use->spreads[use->n_spreads++] = (struct core_spread){
                x->term, (int32_t)jint(jgetc(s->term, "maxSkew"), 1),
                !str_is(jstr(jgetc(s->term, "whenUnsatisfiable")), "ScheduleAnyway")};
        break;
    }
}

/* Holder terms: those the pod has itself, by their text. */
static void on_hold(void *ctx, const struct saying *s)
{
    struct user *u = ctx;
    if (s->what != SAID_APART || !is_judged(s))
        return;
    const struct tterm *x = find_term(u->tables, term_id(&u->arena, u->pod, s, 'h'));
    if (x && x->term != CORE_NONE)
        add(u->use->counts, &u->use->n_counts, ARRAY_LEN(u->use->counts), x->term);
}

void terms_use(const struct tables *t, const struct obj *pod, struct term_use *ret)
{
    *ret = (struct term_use){0};
    struct user u = {.tables = t, .pod = pod, .use = ret};
    if (t->terms.len == 0)
        return;
    each_saying(pod, &u.arena, on_use, &u);
    each_saying(pod, &u.arena, on_hold, &u);
    for (size_t i = 0; i < t->terms.len; i++) {
        const struct tterm *x = &t->terms.p[i];
        if (x->kind == 'p' || x->term == CORE_NONE || !speaks_of(x, pod))
            continue;
        if (x->kind == 'm')
            add(ret->counts, &ret->n_counts, ARRAY_LEN(ret->counts), x->term);
        else
            add(ret->avoids, &ret->n_avoids, ARRAY_LEN(ret->avoids), x->term);
    }
    if (ret->n_counts == ARRAY_LEN(ret->counts) || ret->n_avoids == ARRAY_LEN(ret->avoids))
        ret->refused = STR("more is said about it than this scheduler keeps count of");
    arena_done(&u.arena);
}

void terms_key(const struct tables *t, const struct obj *pod, struct strbuf *out)
{
    for (size_t i = 0; i < t->terms.len; i++) {
        const struct tterm *x = &t->terms.p[i];
        if (x->kind != 'p' && speaks_of(x, pod))
            strbuf_printf(out, "\n%zu", i);
    }
    /* Namespaces of terms default to the pod's. */
    jval affinity = jgetc(obj_spec(pod), "affinity");
    if (j_has(affinity) || jlen(jgetc(obj_spec(pod), "topologySpreadConstraints")) > 0) {
        strbuf_add_char(out, '\n');
        strbuf_add_str(out, pod->ns);
    }
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "containers")); jnext(&it);) {
        for (struct jiter k = jiter(jgetc(it.value, "ports")); jnext(&k);) {
            if (jint(jgetc(k.value, "hostPort"), 0) > 0)
                json_pretty(k.value, 0, out);
        }
    }
}
