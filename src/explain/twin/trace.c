/* See trace.h. */
#include "explain/twin/trace.h"

#include "explain/documents/findings.h"
#include "grove/gangs.h"
#include "grove/names.h"
#include "grove/types.h"

enum { MAX_STEPS = 10000 };

struct seen_clique;

struct seen_unit {
    size_t component;
    int64_t members, good;
    bool counted;                /* among those that are ready */
    struct seen_clique *cliques; /* all that were ever seen, the last one first */
};

struct seen_clique {
    bool of_set, present, good; /* good: counted with its unit */
    str name;                   /* of a member: in the template */
    struct seen_clique *next;   /* of its unit */
    size_t component;
    int64_t replica, index, min, ready;
    int64_t pods;           /* that are there, without those that are going */
    int64_t counted;        /* pods, where they are units */
    struct seen_unit *unit; /* of a group: which of its replicas */
};

struct seen_pod {
    bool of_set, deleting, is_ready, holds, is_bound; /* as it is now */
    bool counted;                                     /* with its clique, as ready */
    bool stays;                                       /* counted with its clique, as there */
    struct demand demand;
    struct seen_clique *clique; /* NULL: not of this set */
    bool entered;               /* the rest is known */
    size_t component;
    int64_t replica, index;
    size_t step; /* that made it; SIZE_MAX: it was there */
    bool taken, ready, bound, gone;
    bool given_up; /* it was made, never had a node, and went */
};

struct seen_group {
    size_t component;
    int64_t members;
};

/* ---- components ---- */

static bool is_member(jval groups, str clique)
{
    for (struct jiter it = jiter(groups); jnext(&it);) {
        for (struct jiter c = jiter(jgetc(it.value, "cliqueNames")); jnext(&c);) {
            if (str_eq(jstr(c.value), clique))
                return true;
        }
    }
    return false;
}

void trace_init(struct trace *t, struct arena *a, const struct obj *pcs)
{
    struct pcs_view set;
    pcs_view(pcs, &set);
    *t = (struct trace){.arena = a, .set = arena_str(a, pcs->name)};
    t->label = name_label(a, t->set);
    t->resources = (struct snapshot){.arena = a,
                                     .resources = {STR("cpu"), STR("memory"), STR("pods")},
                                     .n_resources = RES_FIRST_OTHER};
    t->components =
        arena_array(a, struct trace_component, jlen(set.cliques) + jlen(set.scaling_groups) + 1);
    for (struct jiter it = jiter(set.cliques); jnext(&it);) {
        struct clique_view c;
        clique_view(it.value, &c);
        if (!is_member(set.scaling_groups, c.name))
            t->components[t->n_components++] =
                (struct trace_component){arena_str(a, c.name), false, c.replicas};
    }
    for (struct jiter it = jiter(set.scaling_groups); jnext(&it);) {
        struct group_view g;
        group_view(it.value, &g);
        t->components[t->n_components++] =
            (struct trace_component){arena_str(a, g.name), true, g.replicas};
    }
    t->before = arena_array(a, int64_t, t->n_components + 1);
    t->low = arena_array(a, int64_t, t->n_components + 1);
    t->after = arena_array(a, int64_t, t->n_components + 1);
    t->ready = arena_array(a, int64_t, t->n_components + 1);
}

static void drop_maps(struct map *m)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(m, &it, &key, &value);)
        obj_unref(value);
    map_done(m);
}

void trace_done(struct trace *t)
{
    for (size_t i = 0; i < t->steps.len; i++) {
        struct trace_step *s = &t->steps.p[i];
        vec_done(&s->takes);
        vec_done(&s->gangs_made);
        vec_done(&s->gangs_gone);
        vec_done(&s->entries);
    }
    vec_done(&t->steps);
    map_done(&t->groups);
    map_done(&t->cliques);
    map_done(&t->units);
    map_done(&t->pods);
    map_done(&t->gangs);
    map_done(&t->said);
    drop_maps(&t->maps);
    obj_unref(t->pcs);
}

/* SIZE_MAX: none. */
static size_t find_component(const struct trace *t, bool group, str name)
{
    for (size_t i = 0; i < t->n_components; i++) {
        if (t->components[i].group == group && str_eq(t->components[i].name, name))
            return i;
    }
    return SIZE_MAX;
}

/* ---- steps ---- */

static struct trace_step *open_step(struct trace *t)
{
    if (t->steps.len == MAX_STEPS || (t->steps.len > 0 && !t->moved))
        return vec_last(&t->steps);
    struct trace_step *s = vec_push(&t->steps);
    *s = (struct trace_step){.low = arena_array(t->arena, int64_t, t->n_components + 1)};
    for (size_t i = 0; i < t->n_components; i++)
        s->low[i] = INT64_MAX;
    t->moved = false;
    return s;
}

static struct trace_step *present_step(struct trace *t)
{
    return t->steps.len > 0 ? vec_last(&t->steps) : open_step(t);
}

static int by_clique(const void *a, const void *b)
{
    const struct trace_part *x = a, *y = b;
    return str_cmp(x->clique, y->clique);
}

/* Which cliques the replica of a group has now, and how many pods of each. */
static void note_parts(struct trace *t, const struct seen_unit *u, struct trace_take *x)
{
    size_t n = 0;
    for (const struct seen_clique *c = u->cliques; c; c = c->next)
        n += c->pods > 0;
    x->parts = arena_array(t->arena, struct trace_part, n + 1);
    for (const struct seen_clique *c = u->cliques; c; c = c->next) {
        if (c->pods > 0)
            x->parts[x->n_parts++] = (struct trace_part){.clique = c->name, .had = c->pods};
    }
    if (n > 1)
        qsort(x->parts, n, sizeof(*x->parts), by_clique);
}

/* What this step takes of the pod's clique, or of the replica of the group that it is in. */
static struct trace_take *take_of(struct trace *t, struct trace_step *s, const struct seen_pod *pod)
{
    for (size_t i = 0; i < s->takes.len; i++) {
        struct trace_take *x = &s->takes.p[i];
        if (x->component == pod->component && x->replica == pod->replica && x->index == pod->index)
            return x;
    }
    struct trace_take *x = vec_push(&s->takes);
    *x = (struct trace_take){pod->component, pod->replica, pod->index, 0, NULL, 0};
    if (pod->clique && pod->clique->unit)
        note_parts(t, pod->clique->unit, x);
    return x;
}

/* It is going: its clique has it no more. */
static void pod_leaves(struct seen_pod *pod)
{
    if (pod->stays)
        pod->clique->pods--;
    pod->stays = false;
}

static void record_take(struct trace *t, struct seen_pod *pod)
{
    pod->taken = true;
    struct trace_take *x = take_of(t, open_step(t), pod);
    x->pods++;
    for (size_t i = 0; i < x->n_parts; i++)
        x->parts[i].taken += str_eq(x->parts[i].clique, pod->clique->name);
    pod_leaves(pod);
}

/* ---- who is ready ---- */

/* What depends on it has changed: the numbers follow. */
static void unit_update(struct trace *t, struct seen_unit *u)
{
    bool good = u->good > 0 && u->good >= u->members;
    if (u->component != SIZE_MAX)
        t->ready[u->component] += (int64_t)good - (int64_t)u->counted;
    u->counted = good;
}

static void clique_update(struct trace *t, struct seen_clique *c)
{
    bool counts = c->of_set && c->present, good = counts && c->unit && c->ready >= c->min;
    int64_t pods = counts && !c->unit ? c->ready : 0;
    if (c->unit && good != c->good) {
        c->unit->good += good ? 1 : -1;
        unit_update(t, c->unit);
    }
    if (c->component != SIZE_MAX)
        t->ready[c->component] += pods - c->counted;
    c->good = good;
    c->counted = pods;
}

static void add_demand(const struct trace *t, const struct demand *d, int64_t sign,
                       struct demand *sum)
{
    for (size_t r = 0; r < t->resources.n_resources; r++)
        sum->amount[r] += sign * d->amount[r];
}

static void pod_update(struct trace *t, struct seen_pod *pod)
{
    bool ready = pod->is_ready && !pod->gone;
    if (!pod->clique || ready == pod->counted)
        return;
    pod->clique->ready += ready ? 1 : -1;
    pod->counted = ready;
    clique_update(t, pod->clique);
}

/* ---- what is read off objects ---- */

static int64_t label_number(const struct obj *o, const char *label, int64_t otherwise)
{
    int64_t n;
    return str_to_int(obj_label(o, str_of(label)), &n) ? n : otherwise;
}

/* What is kept for an object of that key; new ones are zeros. */
static void *keep(struct trace *t, struct map *m, str key, size_t size)
{
    void *v = map_get(m, key);
    if (!v) {
        v = memset(arena_alloc(t->arena, size), 0, size);
        (void)map_put(m, arena_str(t->arena, key), v);
    }
    return v;
}

static void read_group(struct trace *t, const struct twin_change *change)
{
    struct seen_group *g = keep(t, &t->groups, change->obj->uid, sizeof(*g));
    g->component = find_component(t, true, template_of_child(change->obj, t->pcs));
    g->members = (int64_t)jlen(jgetc(obj_spec(change->obj), "cliqueNames"));
}

static void read_member(struct trace *t, const struct obj *clique, struct seen_clique *c)
{
    const struct seen_group *g = map_get(&t->groups, clique->owner_uid);
    if (!g)
        return;
    c->index = label_number(clique, LABEL_PCSG_INDEX, 0);
    c->component = g->component;
    str key = arena_printf(t->arena, "%.*s/%lld", STR_ARG(clique->owner_uid), (long long)c->index);
    c->unit = keep(t, &t->units, key, sizeof(*c->unit));
    c->unit->component = g->component;
    c->unit->members = g->members;
    /* GROUP-NUMBER-CLIQUE */
    str rest = template_of_child(clique, t->pcs);
    size_t skip = g->component == SIZE_MAX ? 0 : t->components[g->component].name.len + 1;
    rest = str_sub(rest, MIN(skip, rest.len), rest.len);
    (void)str_cut(&rest, '-');
    c->name = arena_str(t->arena, rest);
    c->next = c->unit->cliques;
    c->unit->cliques = c;
}

/* Whose it is does not change, its minimum and whether it is there do. */
static void read_clique(struct trace *t, const struct twin_change *change)
{
    const struct obj *o = change->obj;
    bool new = !map_has(&t->cliques, o->uid);
    struct seen_clique *c = keep(t, &t->cliques, o->uid, sizeof(*c));
    if (new) {
        c->component = SIZE_MAX;
        c->index = -1;
        c->of_set = is_of_set(o, t->label);
        c->replica = label_number(o, LABEL_PCS_INDEX, 0);
        if (c->of_set && str_eq(o->owner_uid, t->pcs->uid))
            c->component = find_component(t, false, template_of_child(o, t->pcs));
        else if (c->of_set)
            read_member(t, o, c);
    }
    c->present = !change->gone;
    c->min = jint(jgetc(obj_spec(o), "minAvailable"), 1);
    clique_update(t, c);
}

static void read_pod(struct trace *t, const struct twin_change *change)
{
    const struct obj *o = change->obj;
    struct seen_pod *pod = map_get(&t->pods, o->uid);
    str why;
    if (change->gone && !pod)
        return;
    pod = keep(t, &t->pods, o->uid, sizeof(*pod));
    if (pod->holds)
        add_demand(t, &pod->demand, -1, &t->holds);
    pod->holds = false;
    pod->of_set = is_of_set(o, t->label);
    pod->gone = change->gone;
    if (!pod->of_set)
        return;
    pod->deleting = o->deleting;
    pod->is_ready = !o->deleting && str_is(pod_state(o), "Ready");
    pod->is_bound = !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
    pod->holds = !pod->gone && pod_holds_node(o);
    pod->clique = pod->clique ? pod->clique : map_get(&t->cliques, o->owner_uid);
    (void)snapshot_demand(&t->resources, o, &pod->demand, &why);
    if (pod->holds)
        add_demand(t, &pod->demand, 1, &t->holds);
    /* What became ready first, for it says whether what is taken begins a step. */
    if (pod->entered && pod->is_ready && !pod->ready && pod->step != SIZE_MAX)
        t->moved = true;
    /* So does that something was tried in vain. */
    if (pod->entered && !pod->taken && pod->step != SIZE_MAX && !pod->bound && !pod->is_bound &&
        (pod->deleting || pod->gone))
        t->moved = pod->given_up = pod->taken = true;
    if (pod->given_up)
        pod_leaves(pod);
    pod_update(t, pod);
}

/* What is taken, before what is made: that is made for the step which the taking began. */
static void read_take(struct trace *t, struct seen_pod *pod)
{
    if (pod->entered && !pod->taken && (pod->deleting || pod->gone))
        record_take(t, pod);
}

/* Where the pod stands among those seen. */
static void enter_pod(struct trace *t, struct seen_pod *pod)
{
    const struct seen_clique *c = pod->clique;
    c = c && c->of_set && c->present ? c : NULL;
    pod->entered = true;
    pod->component = c ? c->component : SIZE_MAX;
    pod->replica = c ? c->replica : 0;
    pod->index = c ? c->index : -1;
    pod->step = SIZE_MAX;
    pod->stays = c && !pod->deleting;
    if (pod->stays)
        pod->clique->pods++;
    if (!t->begun || pod->deleting)
        return;
    struct trace_step *step = present_step(t);
    step->made++;
    pod->step = t->steps.len - 1;
    add_demand(t, &pod->demand, 1, &step->need);
}

static void read_made(struct trace *t, struct seen_pod *pod)
{
    if (!pod->of_set)
        return;
    if (!pod->entered)
        enter_pod(t, pod);
    pod->taken = pod->taken || pod->deleting;
    pod->ready = pod->is_ready;
    pod->bound = pod->bound || pod->is_bound;
}

/* ---- gangs ---- */

/* Gangs that are new in a map or not as they were. */
static void read_entries(struct trace *t, struct trace_step *step, const struct obj *old,
                         const struct obj *o)
{
    struct map before = MAP_INIT;
    struct arena a = ARENA_INIT;
    for (struct jiter it = jiter(gang_list(&a, old)); jnext(&it);) {
        jval *v = arena_new(&a, jval);
        *v = it.value;
        (void)map_put(&before, jstr(jgetc(it.value, "name")), v);
    }
    for (struct jiter it = jiter(gang_list(&a, o)); jnext(&it);) {
        const jval *v = map_get(&before, jstr(jgetc(it.value, "name")));
        if (!v || !jequal(*v, it.value))
            *vec_push(&step->entries) = arena_str(t->arena, jtext(it.value));
    }
    map_done(&before);
    arena_done(&a);
}

/* What the planner of coherent updates calls its step. */
static void name_step(struct trace *t, struct trace_step *step, const struct obj *map)
{
    const str *said = map_del(&t->said, map->name);
    if (said && str_is_empty(step->title))
        step->title =
            arena_printf(t->arena, "replica %lld, %.*s",
                         (long long)label_number(map, LABEL_PCS_INDEX, 0), STR_ARG(*said));
}

/* Before what is taken for it is looked at: a change of the map begins a step. */
static void read_map(struct trace *t, const struct twin_change *change)
{
    struct obj *o = change->obj, *old = map_get(&t->maps, o->name);
    if (change->gone || !is_of_set(o, t->label))
        return;
    if (old && jequal(jgetc(obj_spec(old), "entries"), jgetc(obj_spec(o), "entries")))
        return;
    if (t->begun) {
        struct trace_step *step = open_step(t);
        read_entries(t, step, old, o);
        name_step(t, step, o);
    }
    (void)map_put(&t->maps, arena_str(t->arena, o->name), obj_ref(o));
    obj_unref(old);
}

struct seen_gang {
    str name;
    bool entered, gone;
};

static void read_gang(struct trace *t, const struct twin_change *change)
{
    if (!is_of_set(change->obj, t->label) ||
        (change->gone && !map_has(&t->gangs, change->obj->name)))
        return;
    struct seen_gang *g = keep(t, &t->gangs, change->obj->name, sizeof(*g));
    if (!g->entered)
        g->name = arena_str(t->arena, change->obj->name);
    if (t->begun && !change->gone && (!g->entered || g->gone))
        *vec_push(&present_step(t)->gangs_made) = g->name;
    g->entered = true;
    if (change->gone && !g->gone)
        *vec_push(&present_step(t)->gangs_gone) = g->name;
    g->gone = change->gone;
}

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

/* ---- news ---- */

static void hear(struct trace *t, const struct twin_news *news)
{
    for (size_t i = 0; i < news->n_words; i++) {
        if (!str_starts(news->words[i].text, STR("sub-step ")))
            continue;
        str *text = arena_new(t->arena, str);
        *text = arena_str(t->arena, news->words[i].text);
        (void)map_put(&t->said, arena_str(t->arena, news->words[i].map), text);
    }
    for (size_t i = 0; i < news->n; i++) {
        struct obj *o = news->changes[i].obj;
        if (o->kind != &kind_pcs || !str_eq(o->name, t->set) || news->changes[i].gone)
            continue;
        obj_unref(t->pcs);
        t->pcs = obj_ref(o);
    }
}

static void each(struct trace *t, const struct twin_news *news, const struct kind *k,
                 void (*read)(struct trace *t, const struct twin_change *change))
{
    for (size_t i = 0; i < news->n; i++) {
        if (news->changes[i].obj->kind == k)
            read(t, &news->changes[i]);
    }
}

static void each_pod(struct trace *t, const struct twin_news *news,
                     void (*read)(struct trace *t, struct seen_pod *pod))
{
    for (size_t i = 0; i < news->n; i++) {
        const struct obj *o = news->changes[i].obj;
        struct seen_pod *pod = o->kind == &kind_pod ? map_get(&t->pods, o->uid) : NULL;
        if (pod)
            read(t, pod);
    }
}

static void count_ready(struct trace *t)
{
    struct trace_step *step = t->steps.len > 0 ? vec_last(&t->steps) : NULL;
    for (size_t i = 0; i < t->n_components; i++) {
        if (!t->begun)
            t->before[i] = t->low[i] = t->ready[i];
        t->low[i] = MIN(t->low[i], t->ready[i]);
        if (step)
            step->low[i] = MIN(step->low[i], t->ready[i]);
        t->after[i] = t->ready[i];
    }
    if (!t->begun)
        t->held = t->holds;
    for (size_t r = 0; r < t->resources.n_resources; r++)
        t->peak.amount[r] = MAX(t->peak.amount[r], t->holds.amount[r]);
}

void trace_add(struct trace *t, const struct twin_news *news)
{
    hear(t, news);
    if (t->pcs) {
        each(t, news, &kind_pcsg, read_group);
        each(t, news, &kind_pclq, read_clique);
        each(t, news, &kind_pod, read_pod);
        each(t, news, &kind_pod_gang_map, read_map);
        each_pod(t, news, read_take);
        each_pod(t, news, read_made);
        each(t, news, &kind_pod_gang, read_gang);
    }
    count_ready(t);
    t->begun = true;
}

static int by_place(const void *a, const void *b)
{
    const struct trace_take *x = a, *y = b;
    if (x->replica != y->replica)
        return x->replica < y->replica ? -1 : 1;
    if (x->component != y->component)
        return x->component < y->component ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

void trace_end(struct trace *t)
{
    size_t kept = 0;
    str name;
    void *value;
    for (size_t it = 0; map_next(&t->pods, &it, &name, &value);) {
        const struct seen_pod *pod = value;
        if (pod->entered && pod->step != SIZE_MAX && !pod->bound && (pod->given_up || !pod->taken))
            t->steps.p[pod->step].waiting++;
    }
    for (size_t i = 0; i < t->steps.len; i++) {
        struct trace_step *s = &t->steps.p[i];
        vec_sort(&s->takes, by_place);
        vec_sort(&s->gangs_made, by_text);
        vec_sort(&s->gangs_gone, by_text);
        if (s->takes.len + s->gangs_made.len + s->gangs_gone.len + (size_t)s->made > 0) {
            struct trace_step moved = *s;
            *s = (struct trace_step){0};
            t->steps.p[kept++] = moved;
        } else {
            vec_done(&s->entries);
        }
    }
    t->steps.len = kept;
}
