/*
 * Pods about pods; see terms.h. What is said is read as kube-scheduler reads it:
 *
 *   affinity      only pods that all required terms of a pod speak of count for any of them
 *   namespaces    those listed and those selected by label; neither: the pod's own
 *   label keys    matchLabelKeys and mismatchLabelKeys add the pod's own values to the selector
 *   spread        pods count on nodes that have the keys of all required constraints and that the
 *                 policies let count: node affinity is honoured, taints are not, unless they say so
 *   ports         conflict on one address, or where one of them means all addresses
 */
#include "sched/terms.h"

#include "sched/claims.h"
#include "json/write.h"

#define HOSTNAME "kubernetes.io/hostname"
#define REQUIRED "requiredDuringSchedulingIgnoredDuringExecution"
#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
#define ALL_ADDRESSES "0.0.0.0"
/* Of a label and its value; longer ones are not looked up. */
enum { LABEL_MAX = 512 };

/* ---- walking through what a pod says ---- */

enum said { SAID_APART, SAID_NEAR, SAID_WISH, SAID_SPREAD, SAID_PORT, SAID_VOLUME };

struct saying {
    enum said what;
    str key; /* topology */
    jval term;
    jval all;              /* of an affinity: all terms of the pod */
    int32_t weight;        /* of a wish */
    str name;              /* of a port or volume */
    bool counted, avoided; /* of a port: the pod is one of its users; keeps away from them */
};

typedef void saying_fn(void *ctx, const struct saying *s);

static void each_affinity(jval affinity, enum said what, saying_fn *fn, void *ctx)
{
    jval all = jgetc(affinity, REQUIRED);
    for (struct jiter it = jiter(all); jnext(&it);)
        fn(ctx, &(struct saying){.what = what,
                                 .key = jstr(jgetc(it.value, "topologyKey")),
                                 .term = it.value,
                                 .all = all});
    for (struct jiter it = jiter(jgetc(affinity, PREFERRED)); jnext(&it);) {
        jval term = jgetc(it.value, "podAffinityTerm");
        int64_t weight = MIN(MAX(jint(jgetc(it.value, "weight"), 1), 1), 100);
        if (j_has(jgetc(term, "topologyKey")))
            fn(ctx, &(struct saying){.what = SAID_WISH,
                                     .key = jstr(jgetc(term, "topologyKey")),
                                     .term = term,
                                     .weight = (int32_t)(what == SAID_NEAR ? weight : -weight)});
    }
}

/* Those who use the port on all addresses meet everybody who uses it, others those on the same
 * address and on all. */
static void say_port(jval port, struct arena *a, saying_fn *fn, void *ctx)
{
    long long number = (long long)jint(jgetc(port, "hostPort"), 0);
    str protocol = jstr(jgetc(port, "protocol")), ip = jstr(jgetc(port, "hostIP"));
    if (number <= 0)
        return;
    if (str_is_empty(protocol))
        protocol = STR("TCP");
    bool everywhere = str_is_empty(ip) || str_is(ip, ALL_ADDRESSES);
    str anywhere = arena_printf(a, "%lld/%.*s/*", number, STR_ARG(protocol));
    str all = arena_printf(a, "%lld/%.*s/" ALL_ADDRESSES, number, STR_ARG(protocol));
    struct saying s = {.what = SAID_PORT, .key = STR(HOSTNAME), .counted = true};
    s.name = anywhere;
    s.avoided = everywhere;
    fn(ctx, &s);
    s.name = all;
    s.counted = everywhere;
    s.avoided = !everywhere;
    fn(ctx, &s);
    if (everywhere)
        return;
    s.name = arena_printf(a, "%lld/%.*s/%.*s", number, STR_ARG(protocol), STR_ARG(ip));
    s.counted = true;
    fn(ctx, &s);
}

static void each_port(jval spec, struct arena *a, saying_fn *fn, void *ctx)
{
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);) {
        for (struct jiter k = jiter(jgetc(it.value, "ports")); jnext(&k);)
            say_port(k.value, a, fn, ctx);
    }
    for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);) {
        if (!str_is(jstr(jgetc(it.value, "restartPolicy")), "Always"))
            continue; /* gone before the others come */
        for (struct jiter k = jiter(jgetc(it.value, "ports")); jnext(&k);)
            say_port(k.value, a, fn, ctx);
    }
}

static void each_saying(struct tables *t, const struct obj *pod, struct arena *a, saying_fn *fn,
                        void *ctx)
{
    jval spec = obj_spec(pod), affinity = jgetc(spec, "affinity");
    if (j_has(affinity)) {
        each_affinity(jgetc(affinity, "podAntiAffinity"), SAID_APART, fn, ctx);
        each_affinity(jgetc(affinity, "podAffinity"), SAID_NEAR, fn, ctx);
    }
    for (struct jiter it = jiter(jgetc(spec, "topologySpreadConstraints")); jnext(&it);)
        fn(ctx, &(struct saying){.what = SAID_SPREAD,
                                 .key = jstr(jgetc(it.value, "topologyKey")),
                                 .term = it.value});
    each_port(spec, a, fn, ctx);
    for (struct jiter it = jiter(jgetc(spec, "volumes")); jnext(&it);) {
        str claim = claims_single(t, pod, it.value, a);
        if (!str_is_empty(claim))
            fn(ctx, &(struct saying){.what = SAID_VOLUME, .name = claim});
    }
}

/* ---- names of terms ---- */

static void add_json(struct strbuf *b, jval v)
{
    strbuf_add_char(b, '|');
    if (j_has(v))
        json_pretty(v, 0, b);
}

/* Whom a term of the pod speaks of: its namespaces, its selector, and the pod's own values of the
 * keys that are to be like them, or unlike. */
static void add_match(struct strbuf *b, const struct obj *pod, jval term)
{
    static const char *const keys[] = {"matchLabelKeys", "mismatchLabelKeys"};
    jval namespaces = jgetc(term, "namespaces"), selector = jgetc(term, "namespaceSelector");
    add_json(b, namespaces);
    add_json(b, selector);
    if (jlen(namespaces) == 0 && !j_has(selector))
        strbuf_add_str(b, pod->ns);
    add_json(b, jgetc(term, "labelSelector"));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        for (struct jiter it = jiter(jget(term, str_of(keys[i]))); jnext(&it);) {
            jval value = jget(pod->labels, jstr(it.value));
            if (j_has(value))
                strbuf_printf(b, "|%c%.*s=%.*s", i == 0 ? '+' : '-', STR_ARG(jstr(it.value)),
                              STR_ARG(jstr(value)));
        }
    }
}

static bool is_honoured(jval constraint, const char *policy, bool otherwise)
{
    str word = jstr(jget(constraint, str_of(policy)));
    return str_is_empty(word) ? otherwise : str_is(word, "Honor");
}

static bool is_hard(jval constraint)
{
    return !str_is(jstr(jgetc(constraint, "whenUnsatisfiable")), "ScheduleAnyway");
}

/* On which nodes a constraint counts; see is_eligible. */
static void add_policy(struct strbuf *b, const struct obj *pod, jval constraint)
{
    jval spec = obj_spec(pod);
    if (!is_hard(constraint))
        return;
    if (is_honoured(constraint, "nodeAffinityPolicy", true)) {
        add_json(b, jgetc(spec, "nodeSelector"));
        add_json(b, jpath(spec, "affinity.nodeAffinity." REQUIRED));
    }
    if (is_honoured(constraint, "nodeTaintsPolicy", false)) {
        strbuf_add_char(b, '!');
        add_json(b, jgetc(spec, "tolerations"));
    }
    for (struct jiter it = jiter(jgetc(spec, "topologySpreadConstraints")); jnext(&it);) {
        if (is_hard(it.value))
            add_json(b, jgetc(it.value, "topologyKey"));
    }
}

static str term_id(struct arena *a, const struct obj *pod, const struct saying *s, char kind)
{
    struct strbuf b = STRBUF_INIT((size_t)1 << 20);
    strbuf_printf(&b, "%c|%.*s|%.*s", kind, STR_ARG(s->key), STR_ARG(s->name));
    if (kind == 'm' || kind == 'h' || kind == 's')
        add_match(&b, pod, s->term);
    for (struct jiter it = jiter(s->all); kind == 'n' && jnext(&it);)
        add_match(&b, pod, it.value);
    if (kind == 's')
        add_policy(&b, pod, s->term);
    str id = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return id;
}

/* ---- collecting ---- */

static struct tterm *find_term(const struct tables *t, str id)
{
    size_t n = (size_t)map_get(&t->term_ids, id);
    return n ? &t->terms.p[n - 1] : NULL;
}

/* The selector with the pod's own values of the keys that say so. */
static const struct selector *read_selector(struct arena *a, const struct obj *pod, jval term)
{
    jval like = jgetc(term, "matchLabelKeys"), unlike = jgetc(term, "mismatchLabelKeys");
    struct selector *plain = label_selector_from(a, jgetc(term, "labelSelector"), NULL);
    if (!plain || !j_has(jgetc(term, "labelSelector")) || jlen(like) + jlen(unlike) == 0)
        return plain;
    struct strbuf b = STRBUF_INIT((size_t)1 << 20);
    label_selector_print(plain, &b);
    if (selector_is_everything(plain))
        strbuf_reset(&b);
    for (size_t i = 0; i < 2; i++) {
        for (struct jiter it = jiter(i == 0 ? like : unlike); jnext(&it);) {
            jval value = jget(pod->labels, jstr(it.value));
            if (j_has(value))
                strbuf_printf(&b, "%s%.*s%s%.*s", b.len ? "," : "", STR_ARG(jstr(it.value)),
                              i == 0 ? "=" : "!=", STR_ARG(jstr(value)));
        }
    }
    const struct selector *all = label_selector_parse(a, strbuf_str(&b), NULL);
    strbuf_done(&b);
    return all;
}

/* A certain value of a label that the selector wants: pods that do not have it need not be looked
 * at. */
static void read_wanted(jval selector, struct tmatch *m)
{
    for (struct jiter it = jiter(jgetc(selector, "matchLabels")); jnext(&it);) {
        /* Long values are worn by few. */
        if (str_is_empty(m->label) || jstr(it.value).len > m->value.len) {
            m->label = it.key;
            m->value = jstr(it.value);
        }
    }
    for (struct jiter it = jiter(jgetc(selector, "matchExpressions"));
         str_is_empty(m->label) && jnext(&it);) {
        jval values = jgetc(it.value, "values");
        if (!str_is(jstr(jgetc(it.value, "operator")), "In") || jlen(values) != 1)
            continue;
        m->label = jstr(jgetc(it.value, "key"));
        m->value = jstr(jat(values, 0));
    }
    if (m->label.len + m->value.len >= LABEL_MAX)
        m->label = STR_NONE;
}

static struct tmatch read_match(struct arena *a, const struct obj *pod, jval term)
{
    jval selector = jgetc(term, "namespaceSelector");
    struct tmatch m = {.ns = pod->ns,
                       .namespaces = jgetc(term, "namespaces"),
                       .ns_selector =
                           j_has(selector) ? label_selector_from(a, selector, NULL) : NULL,
                       .selector = read_selector(a, pod, term)};
    read_wanted(jgetc(term, "labelSelector"), &m);
    return m;
}

/* ---- who says what ---- */

bool terms_are_over(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

struct collector {
    struct tables *tables;
    const struct obj *pod;
    struct arena arena;
    bool held;    /* it is on a node: what it says is counted as far as possible */
    bool over;    /* some of it cannot be */
    size_t fresh; /* of what is said, that nobody else says */
    VEC(int32_t) said;
};

static str label_key(char *buf, str label, str value)
{
    int n = snprintf(buf, LABEL_MAX + 2, "%.*s=%.*s", STR_ARG(label), STR_ARG(value));
    return str_n(buf, (size_t)n);
}

static void add_to_index(struct tables *t, int32_t number)
{
    struct tterm *x = &t->terms.p[number];
    char buf[LABEL_MAX + 2];
    if (x->n_matches == 0)
        return; /* whoever says it names it himself */
    const struct tmatch *m = &x->matches[0];
    if (str_is_empty(m->label)) {
        x->next = t->term_loose;
        t->term_loose = number;
        return;
    }
    str key = arena_str(&t->arena, label_key(buf, m->label, m->value));
    size_t first = (size_t)map_put(&t->term_labels, key, (void *)((size_t)number + 1));
    x->next = first ? (int32_t)first - 1 : CORE_NONE;
}

static void place(struct tables *t, struct tterm *x);

/* Its number; CORE_NONE: there are too many. */
static int32_t add_term(struct collector *c, const struct saying *s, char kind, str id)
{
    struct tables *t = c->tables;
    if (t->terms.len >= 4 * t->sched->terms_max)
        return CORE_NONE;
    int32_t number = (int32_t)t->terms.len;
    struct tterm *x = vec_push(&t->terms);
    *x = (struct tterm){
        .kind = kind, .id = arena_str(&t->arena, id), .term = CORE_NONE, .next = CORE_NONE};
    (void)map_put(&t->term_ids, x->id, (void *)t->terms.len);
    x->key = arena_str(&t->arena, s->key);
    x->model = obj_hold(&t->arena, obj_ref(c->pod));
    x->constraint = s->term;
    x->n_matches = kind == 'n' ? jlen(s->all) : kind == 'p' || kind == 'v' ? 0 : 1;
    x->matches = arena_array(&t->arena, struct tmatch, x->n_matches + 1);
    if (x->n_matches && kind != 'n')
        x->matches[0] = read_match(&t->arena, c->pod, s->term);
    for (struct jiter it = jiter(s->all); kind == 'n' && jnext(&it);)
        x->matches[it.index] = read_match(&t->arena, c->pod, it.value);
    place(t, x);
    add_to_index(t, number);
    /* Ports and claims are named by those who use them. */
    x->settled = x->n_matches == 0 || list_is_empty(&t->all_pods);
    if (!x->settled) {
        t->terms_new++;
        t->settle_at = t->all_pods.next;
    }
    return number;
}

static void collect_one(struct collector *c, const struct saying *s, char kind)
{
    struct tables *t = c->tables;
    str id = term_id(&c->arena, c->pod, s, kind);
    size_t known = (size_t)map_get(&t->term_ids, id);
    bool said = known && t->terms.p[known - 1].sayers > 0;
    if (!said && !c->held && t->terms_said + c->fresh >= t->sched->terms_max) {
        c->over = true;
        return;
    }
    int32_t number = known ? (int32_t)known - 1 : add_term(c, s, kind, id);
    c->over = c->over || number == CORE_NONE;
    if (number == CORE_NONE)
        return;
    c->fresh += !said;
    *vec_push(&c->said) = number;
}

static void on_collect(void *ctx, const struct saying *s)
{
    static const char kinds[] = {'m', 'n', 'm', 's', 'p', 'v'};
    if (str_is_empty(s->key) && s->what != SAID_VOLUME)
        return;
    collect_one(ctx, s, kinds[s->what]);
    if (s->what == SAID_APART)
        collect_one(ctx, s, 'h');
}

void terms_expect(struct tables *t, const struct obj *pod)
{
    struct collector c = {.tables = t, .pod = pod, .held = true};
    if (!terms_are_over(pod))
        each_saying(t, pod, &c.arena, on_collect, &c);
    vec_done(&c.said);
    arena_done(&c.arena);
}

void terms_join(struct tables *t, struct tpod *p)
{
    struct collector c = {.tables = t, .pod = p->obj, .held = pod_holds_node(p->obj)};
    if (terms_are_over(p->obj))
        return;
    each_saying(t, p->obj, &c.arena, on_collect, &c);
    /* What is refused says nothing: whoever waits for a turn does not keep others from theirs. */
    if (c.over && !c.held)
        c.said.len = 0;
    for (size_t i = 0; i < c.said.len; i++)
        t->terms_said += t->terms.p[c.said.p[i]].sayers++ == 0;
    if (c.over)
        list_push_back(&t->over, &p->over);
    p->said = c.said.p;
    p->n_said = c.said.len;
    arena_done(&c.arena);
}

void terms_leave(struct tables *t, struct tpod *p)
{
    list_remove(&p->over);
    for (size_t i = 0; i < p->n_said; i++) {
        struct tterm *x = &t->terms.p[p->said[i]];
        if (--x->sayers > 0)
            continue;
        t->terms_said--;
        t->retry = true;
        t->stale = t->stale || (t->treeless && x->term != CORE_NONE && !str_is(x->key, HOSTNAME));
    }
    t->stale = t->stale || t->terms.len - t->terms_said > MAX((size_t)TERMS_IDLE, t->terms_said);
    free(p->said);
    p->said = NULL;
    p->n_said = 0;
}

void terms_retry(struct tables *t)
{
    struct list again;
    list_init(&again);
    while (t->retry && !list_is_empty(&t->over))
        list_push_back(&again, list_pop_front(&t->over));
    t->retry = false;
    for (struct list *it; (it = list_pop_front(&again));) {
        struct tpod *p = list_entry(it, struct tpod, over);
        if (t->terms_said >= t->sched->terms_max) {
            list_push_back(&t->over, it);
            continue;
        }
        terms_leave(t, p);
        t->retry = false;
        terms_join(t, p);
        tables_reclass(t, p);
        if (!list_is_linked(&p->over))
            tables_touch(t, p->gang);
    }
}

void terms_init(struct tables *t)
{
    list_init(&t->all_pods);
    list_init(&t->over);
    t->settle_at = &t->all_pods;
    t->term_loose = CORE_NONE;
}

void terms_done(struct tables *t)
{
    vec_done(&t->terms);
    map_done(&t->term_ids);
    map_done(&t->term_labels);
}

/* ---- placing ---- */

/* Whether pods on the node count for a spread constraint. */
static bool is_eligible(const struct tterm *x, const struct snap_node *n)
{
    if (!is_hard(x->constraint))
        return true;
    if (is_honoured(x->constraint, "nodeAffinityPolicy", true) && !node_is_wanted(n, x->model))
        return false;
    if (is_honoured(x->constraint, "nodeTaintsPolicy", false) && !node_tolerates(n, x->model))
        return false;
    for (struct jiter it = jiter(jgetc(obj_spec(x->model), "topologySpreadConstraints"));
         jnext(&it);) {
        str key = jstr(jgetc(it.value, "topologyKey"));
        if (is_hard(it.value) && !str_is(key, HOSTNAME) && !j_has(jget(n->obj->labels, key)))
            return false;
    }
    return true;
}

static void place_mask(struct tables *t, struct tterm *x)
{
    bool all = true;
    x->mask = arena_array(&t->arena, uint8_t, t->snap.nodes.len + 1);
    for (size_t i = 0; i < t->snap.nodes.len; i++) {
        x->mask[i] = is_eligible(x, &t->snap.nodes.p[i]);
        all = all && x->mask[i];
    }
    if (!all)
        core_mask_term(t->core, x->term, x->mask);
}

/* The tree and level of a key, made when no tree has it. */
static int32_t place_term(struct tables *t, const struct tterm *x)
{
    if (x->kind == 'v')
        return core_add_term(t->core, 0, 0);
    for (size_t i = 0; i < t->trees.len; i++) {
        const struct ttree *tree = &t->trees.p[i];
        /* Below the first level a domain is a path, a key by itself is not. */
        if (str_is(x->key, HOSTNAME))
            return core_add_term(t->core, (int32_t)i, tree->n_levels + 1);
        if (tree->n_levels > 0 && str_eq(tree->keys[0], x->key))
            return core_add_term(t->core, (int32_t)i, 1);
    }
    if (t->trees.len == CORE_TREES_MAX) {
        t->treeless = true;
        return CORE_NONE;
    }
    struct ttree tree = {.n_levels = 1};
    tree.keys[0] = x->key;
    tables_add_tree(t, tree);
    return core_add_term(t->core, (int32_t)t->trees.len - 1, 1);
}

static void place(struct tables *t, struct tterm *x)
{
    x->term = place_term(t, x);
    if (x->kind == 's' && x->term != CORE_NONE)
        place_mask(t, x);
}

/* ---- whom terms speak of ---- */

static const struct cache *namespaces_of(const struct tables *t)
{
    return runtime_cache(t->sched->runtime, &kind_namespace);
}

static bool names_namespace(const struct tables *t, const struct tmatch *m, str ns)
{
    for (struct jiter it = jiter(m->namespaces); jnext(&it);) {
        if (str_eq(jstr(it.value), ns))
            return true;
    }
    if (!m->ns_selector)
        return jlen(m->namespaces) == 0 && str_eq(ns, m->ns);
    if (selector_is_everything(m->ns_selector))
        return true;
    const struct cache *c = namespaces_of(t);
    const struct obj *o = cache_get(c, STR_NONE, ns);
    /* Where labels of namespaces cannot be read, any of them may be meant. */
    return o ? label_selector_match(m->ns_selector, o->labels) : cache_is_absent(c);
}

static bool speaks_of(const struct tables *t, const struct tterm *x, const struct obj *pod)
{
    for (size_t i = 0; i < x->n_matches; i++) {
        const struct tmatch *m = &x->matches[i];
        if (!m->selector || !label_selector_match(m->selector, pod->labels) ||
            !names_namespace(t, m, pod->ns))
            return false;
    }
    return x->n_matches > 0;
}

static bool reads_labels(const struct tterm *x)
{
    for (size_t i = 0; i < x->n_matches; i++) {
        const struct selector *s = x->matches[i].ns_selector;
        if (s && !selector_is_everything(s))
            return true;
    }
    return false;
}

bool terms_read_namespaces(const struct tables *t)
{
    for (size_t i = 0; i < t->terms.len; i++) {
        if (reads_labels(&t->terms.p[i]))
            return true;
    }
    return false;
}

/* ---- by labels ---- */

typedef VEC(int32_t) number_list;

static void find_chain(const struct tables *t, int32_t first, const struct obj *pod,
                       number_list *ret)
{
    for (int32_t i = first; i != CORE_NONE; i = t->terms.p[i].next) {
        if (speaks_of(t, &t->terms.p[i], pod))
            *vec_push(ret) = i;
    }
}

static int cmp_numbers(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return x < y ? -1 : x > y;
}

/* Terms that speak of the pod, in order. */
static void find_speaking(const struct tables *t, const struct obj *pod, number_list *ret)
{
    char buf[LABEL_MAX + 2];
    find_chain(t, t->term_loose, pod, ret);
    for (struct jiter it = jiter(pod->labels); t->term_labels.len > 0 && jnext(&it);) {
        str value = jstr(it.value);
        size_t first = it.key.len + value.len >= LABEL_MAX
                           ? 0
                           : (size_t)map_get(&t->term_labels, label_key(buf, it.key, value));
        if (first)
            find_chain(t, (int32_t)first - 1, pod, ret);
    }
    vec_sort(ret, cmp_numbers);
}

bool terms_differ(const struct tables *t, const struct obj *old, const struct obj *new)
{
    number_list a = {0}, b = {0};
    if (t->terms.len == 0 || jequal(old->labels, new->labels))
        return false;
    find_speaking(t, old, &a);
    find_speaking(t, new, &b);
    bool differ = a.len != b.len || (a.len && memcmp(a.p, b.p, a.len * sizeof(*a.p)) != 0);
    vec_done(&a);
    vec_done(&b);
    return differ;
}

static bool is_news_for(const struct tables *t, const struct obj *pod)
{
    number_list list = {0};
    bool any = false;
    find_speaking(t, pod, &list);
    for (size_t i = 0; i < list.len; i++)
        any = any || !t->terms.p[list.p[i]].settled;
    vec_done(&list);
    return any;
}

bool terms_settle(struct tables *t, size_t *budget)
{
    enum { PODS_PER_UNIT = 4 };
    size_t n = 0;
    for (; t->terms_new > 0 && t->settle_at != &t->all_pods; n++) {
        if (n / PODS_PER_UNIT >= *budget) {
            *budget = 0;
            return false;
        }
        struct tpod *p = list_entry(t->settle_at, struct tpod, all);
        t->settle_at = t->settle_at->next;
        if (p->cls != CORE_NONE && is_news_for(t, p->obj))
            tables_reclass(t, p);
    }
    *budget -= n / PODS_PER_UNIT;
    for (size_t i = t->terms.len; t->terms_new > 0 && i-- > 0;) {
        t->terms_new -= !t->terms.p[i].settled;
        t->terms.p[i].settled = true;
    }
    return true;
}

bool terms_node_differs(const struct tables *t, int32_t node)
{
    for (size_t i = 0; i < t->terms.len; i++) {
        const struct tterm *x = &t->terms.p[i];
        if (x->mask && x->mask[node] != is_eligible(x, &t->snap.nodes.p[node]))
            return true;
    }
    return false;
}

/* ---- uses ---- */

struct user {
    const struct tables *tables;
    const struct obj *pod;
    struct arena arena;
    struct term_use *use;
};

#define ADD(list, number)                                       \
    do {                                                        \
        size_t at_ = 0;                                         \
        while (at_ < (list)->len && (list)->p[at_] != (number)) \
            at_++;                                              \
        if (at_ == (list)->len)                                 \
            *vec_push(list) = (number);                         \
    } while (0)

static void use_spread(struct user *u, const struct saying *s, const struct tterm *x)
{
    int64_t skew = jint(jgetc(s->term, "maxSkew"), 1),
            least = jint(jgetc(s->term, "minDomains"), 1);
    *vec_push(&u->use->spreads) =
        (struct core_spread){.term = x->term,
                             .max_skew = (int32_t)MIN(MAX(skew, 1), (int64_t)INT32_MAX / 2),
                             .min_domains = (int32_t)MIN(MAX(least, 1), (int64_t)INT32_MAX / 2),
                             .required = is_hard(s->term)};
}

static void use_term(struct user *u, const struct saying *s, const struct tterm *x)
{
    struct term_use *use = u->use;
    switch (s->what) {
    case SAID_PORT:
        if (s->counted)
            ADD(&use->counts, x->term);
        if (s->avoided)
            ADD(&use->avoids, x->term);
        use->alone = true;
        break;
    case SAID_VOLUME:
        ADD(&use->counts, x->term);
        ADD(&use->avoids, x->term);
        break;
    case SAID_APART:
        ADD(&use->avoids, x->term);
        use->alone = use->alone || (str_is(x->key, HOSTNAME) && speaks_of(u->tables, x, u->pod));
        break;
    case SAID_NEAR:
        ADD(&use->wants, x->term);
        break;
    case SAID_WISH:
        *vec_push(&use->wishes) = (struct core_wish){x->term, s->weight};
        break;
    case SAID_SPREAD:
        use_spread(u, s, x);
        break;
    }
}

static void on_use(void *ctx, const struct saying *s)
{
    static const char kinds[] = {'m', 'n', 'm', 's', 'p', 'v'};
    struct user *u = ctx;
    if (str_is_empty(s->key) && s->what != SAID_VOLUME)
        return;
    const struct tterm *x = find_term(u->tables, term_id(&u->arena, u->pod, s, kinds[s->what]));
    bool counted = x && x->term != CORE_NONE;
    bool is_wish = s->what == SAID_WISH || (s->what == SAID_SPREAD && !is_hard(s->term));
    if (is_wish && !counted)
        return; /* never mind */
    if (!x || (x->sayers == 0 && !is_wish))
        u->use->refused = STR("it says something about other pods (affinity, spread, ports) that "
                              "nobody else says, and others say as much of their own as this "
                              "scheduler keeps count of");
    else if (!counted)
        u->use->refused =
            STR("it names a topology key that this scheduler keeps no count of: there "
                "are too many others");
    else if (reads_labels(x) && cache_is_absent(namespaces_of(u->tables)))
        u->use->refused = STR("it selects namespaces by label, which this scheduler may not read");
    else
        use_term(u, s, x);
}

/* Holder terms: those the pod has itself, by their text. */
static void on_hold(void *ctx, const struct saying *s)
{
    struct user *u = ctx;
    if (s->what != SAID_APART)
        return;
    const struct tterm *x = find_term(u->tables, term_id(&u->arena, u->pod, s, 'h'));
    if (x && x->term != CORE_NONE)
        ADD(&u->use->counts, x->term);
}

void terms_use(struct tables *t, const struct obj *pod, struct term_use *ret)
{
    *ret = (struct term_use){.alone = false};
    struct user u = {.tables = t, .pod = pod, .use = ret};
    if (t->terms.len == 0)
        return;
    each_saying(t, pod, &u.arena, on_use, &u);
    each_saying(t, pod, &u.arena, on_hold, &u);
    number_list speaking = {0};
    find_speaking(t, pod, &speaking);
    for (size_t i = 0; i < speaking.len; i++) {
        const struct tterm *x = &t->terms.p[speaking.p[i]];
        if (x->kind != 'h' && x->term != CORE_NONE)
            ADD(&ret->counts, x->term);
        else if (x->term != CORE_NONE)
            ADD(&ret->avoids, x->term);
        else if (x->kind == 'h')
            ret->refused = STR("pods keep away from it by more topology keys than this scheduler "
                               "keeps count of");
    }
    vec_done(&speaking);
    arena_done(&u.arena);
}

void terms_use_done(struct term_use *u)
{
    vec_done(&u->counts);
    vec_done(&u->avoids);
    vec_done(&u->wants);
    vec_done(&u->spreads);
    vec_done(&u->wishes);
}

static void key_terms(struct strbuf *out, char what, const int32_t *list, size_t n)
{
    for (size_t i = 0; i < n; i++)
        strbuf_printf(out, "\n%c%d", what, list[i]);
}

void terms_key(struct tables *t, const struct obj *pod, struct strbuf *out)
{
    struct term_use u;
    if (t->terms.len == 0)
        return;
    terms_use(t, pod, &u);
    key_terms(out, '+', u.counts.p, u.counts.len);
    key_terms(out, '-', u.avoids.p, u.avoids.len);
    key_terms(out, '>', u.wants.p, u.wants.len);
    for (size_t i = 0; i < u.spreads.len; i++) {
        const struct core_spread *s = &u.spreads.p[i];
        strbuf_printf(out, "\n~%d %d %d %d", s->term, s->max_skew, s->min_domains, s->required);
    }
    for (size_t i = 0; i < u.wishes.len; i++)
        strbuf_printf(out, "\n?%d %d", u.wishes.p[i].term, u.wishes.p[i].weight);
    strbuf_printf(out, "\n%d", u.alone);
    strbuf_add_str(out, u.refused);
    terms_use_done(&u);
}
