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
#include "sched/model/speech.h"

/* Of a label and its value; longer ones are not looked up. */
enum { LABEL_MAX = 512 };

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

/* On which nodes constraints with the same policies count. */
struct tmask {
    uint8_t *nodes; /* NULL: not asked for yet */
    bool all;
};

struct collector {
    struct tables *tables;
    struct speech speech;
    struct tmatch *near; /* of all affinities; NULL: not asked for yet */
    struct tmask masks[2][2][2];
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

static void place(struct collector *c, struct tterm *x);

/* Whom the term speaks of; for all affinities of a pod the same. */
static void read_matches(struct collector *c, const struct saying *s, struct tterm *x)
{
    struct arena *a = &c->tables->arena;
    const struct obj *pod = c->speech.pod;
    if (x->kind == 'p' || x->kind == 'v')
        return;
    if (x->kind != 'n') {
        x->matches = arena_new(a, struct tmatch);
        x->n_matches = 1;
        *x->matches = read_match(a, pod, s->term);
        return;
    }
    jval all = jgetc(jpath(obj_spec(pod), "affinity.podAffinity"), REQUIRED);
    x->n_matches = jlen(all);
    if (!c->near) {
        c->near = arena_array(a, struct tmatch, x->n_matches + 1);
        for (struct jiter it = jiter(all); jnext(&it);)
            c->near[it.index] = read_match(a, pod, it.value);
    }
    x->matches = c->near;
}

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
    x->model = obj_hold(&t->arena, obj_ref(c->speech.pod));
    x->constraint = s->term;
    read_matches(c, s, x);
    place(c, x);
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
    str id = speech_term_id(&c->speech, s, kind);
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

/* Used up; c->said stays. */
static void collect(struct collector *c)
{
    bool heard = speech_is_heard(&c->speech);
    c->over = !heard;
    for (size_t i = 0; heard && i < c->speech.sayings.len; i++) {
        const struct saying *s = &c->speech.sayings.p[i];
        collect_one(c, s, speech_kind(s));
        if (s->what == SAID_APART)
            collect_one(c, s, 'h');
    }
    speech_done(&c->speech);
}

void terms_expect(struct tables *t, const struct obj *pod)
{
    struct collector c = {.tables = t, .held = true};
    if (terms_are_over(pod))
        return;
    speech_hear(t, pod, &c.speech);
    collect(&c);
    vec_done(&c.said);
}

void terms_join(struct tables *t, struct tpod *p)
{
    struct collector c = {.tables = t, .held = pod_holds_node(p->obj)};
    if (terms_are_over(p->obj))
        return;
    speech_hear(t, p->obj, &c.speech);
    collect(&c);
    /* What is refused says nothing: whoever waits for a turn does not keep others from theirs. */
    if (c.over && !c.held)
        c.said.len = 0;
    for (size_t i = 0; i < c.said.len; i++)
        t->terms_said += t->terms.p[c.said.p[i]].sayers++ == 0;
    if (c.over)
        list_push_back(&t->over, &p->over);
    p->said = c.said.p;
    p->n_said = c.said.len;
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

/* Keys of all required constraints of a pod, each once; hosts have theirs. */
struct hard_keys {
    const struct obj *pod;
    VEC(str) keys;
};

static int cmp_keys(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void read_hard_keys(const struct obj *pod, struct hard_keys *k)
{
    size_t n = 0;
    if (k->pod == pod)
        return;
    k->pod = pod;
    vec_clear(&k->keys);
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "topologySpreadConstraints")); jnext(&it);) {
        str key = jstr(jgetc(it.value, "topologyKey"));
        if (constraint_is_hard(it.value) && !str_is(key, HOSTNAME))
            *vec_push(&k->keys) = key;
    }
    vec_sort(&k->keys, cmp_keys);
    for (size_t i = 0; i < k->keys.len; i++) {
        if (n == 0 || !str_eq(k->keys.p[n - 1], k->keys.p[i]))
            k->keys.p[n++] = k->keys.p[i];
    }
    k->keys.len = n;
}

/* Whether pods on the node count for a spread constraint. */
static bool is_eligible(const struct tterm *x, struct hard_keys *k, const struct snap_node *n)
{
    if (!constraint_is_hard(x->constraint))
        return true;
    if (constraint_honours(x->constraint, "nodeAffinityPolicy", true) &&
        !node_is_wanted(n, x->model))
        return false;
    if (constraint_honours(x->constraint, "nodeTaintsPolicy", false) &&
        !node_tolerates(n, x->model))
        return false;
    read_hard_keys(x->model, k);
    for (size_t i = 0; i < k->keys.len; i++) {
        if (!j_has(jget(n->obj->labels, k->keys.p[i])))
            return false;
    }
    return true;
}

static struct tmask read_mask(struct tables *t, const struct tterm *x)
{
    struct hard_keys keys = {0};
    struct tmask m = {arena_array(&t->arena, uint8_t, t->snap.nodes.len + 1), true};
    for (size_t i = 0; i < t->snap.nodes.len; i++) {
        m.nodes[i] = is_eligible(x, &keys, &t->snap.nodes.p[i]);
        m.all = m.all && m.nodes[i];
    }
    vec_done(&keys.keys);
    return m;
}

static void place_mask(struct collector *c, struct tterm *x)
{
    jval constraint = x->constraint;
    struct tmask *m = &c->masks[constraint_is_hard(constraint)]
                               [constraint_honours(constraint, "nodeAffinityPolicy", true)]
                               [constraint_honours(constraint, "nodeTaintsPolicy", false)];
    if (!m->nodes)
        *m = read_mask(c->tables, x);
    x->mask = m->nodes;
    if (!m->all)
        core_mask_term(c->tables->core, x->term, x->mask);
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

static void place(struct collector *c, struct tterm *x)
{
    x->term = place_term(c->tables, x);
    if (x->kind == 's' && x->term != CORE_NONE)
        place_mask(c, x);
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
    const struct tmatch *last = NULL;
    bool speaks = false;
    for (int32_t i = first; i != CORE_NONE; i = t->terms.p[i].next) {
        const struct tterm *x = &t->terms.p[i];
        /* Affinities of one pod speak of the same. */
        if (x->matches != last)
            speaks = speaks_of(t, x, pod);
        last = x->matches;
        if (speaks)
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
    struct hard_keys keys = {0};
    bool differs = false;
    for (size_t i = 0; !differs && i < t->terms.len; i++) {
        const struct tterm *x = &t->terms.p[i];
        differs = x->mask && x->mask[node] != is_eligible(x, &keys, &t->snap.nodes.p[node]);
    }
    vec_done(&keys.keys);
    return differs;
}

/* ---- uses ---- */

struct user {
    const struct tables *tables;
    struct speech speech;
    struct term_use *use;
};

/* Whoever says too much is among those that are over, if it is any pod of the tables. */
static bool is_silence(const struct tables *t)
{
    return t->terms.len == 0 && list_is_empty(&t->over);
}

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
                             .required = constraint_is_hard(s->term)};
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
        use->alone =
            use->alone || (str_is(x->key, HOSTNAME) && speaks_of(u->tables, x, u->speech.pod));
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

static void use_saying(struct user *u, const struct saying *s)
{
    const struct tterm *x = find_term(u->tables, speech_term_id(&u->speech, s, speech_kind(s)));
    bool counted = x && x->term != CORE_NONE;
    bool is_wish = s->what == SAID_WISH || (s->what == SAID_SPREAD && !constraint_is_hard(s->term));
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
static void use_hold(struct user *u, const struct saying *s)
{
    const struct tterm *x = find_term(u->tables, speech_term_id(&u->speech, s, 'h'));
    if (x && x->term != CORE_NONE)
        ADD(&u->use->counts, x->term);
}

static void use_speech(struct user *u)
{
    const struct speech *sp = &u->speech;
    for (size_t i = 0; i < sp->sayings.len; i++)
        use_saying(u, &sp->sayings.p[i]);
    for (size_t i = 0; i < sp->sayings.len; i++) {
        if (sp->sayings.p[i].what == SAID_APART)
            use_hold(u, &sp->sayings.p[i]);
    }
}

_Static_assert(TERMS_POD_MAX == 256, "the reason says so");
#define TOO_MUCH                                                                             \
    "it says more than 256 things about other pods (affinity, spread, ports, volumes): one " \
    "pod may not say more"

void terms_use(struct tables *t, const struct obj *pod, struct term_use *ret)
{
    *ret = (struct term_use){.alone = false};
    struct user u = {.tables = t, .use = ret};
    if (is_silence(t))
        return;
    speech_hear(t, pod, &u.speech);
    if (speech_is_heard(&u.speech))
        use_speech(&u);
    if (speech_is_too_much(&u.speech))
        ret->refused = STR(TOO_MUCH);
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
    speech_done(&u.speech);
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
    if (is_silence(t))
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
