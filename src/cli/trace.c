/* See trace.h. */
#include "cli/trace.h"

#include "cli/findings.h"
#include "grove/names.h"
#include "grove/types.h"

enum { MAX_STEPS = 10000 };

/* Pictures come by the thousand and most of what is in one was in the one before: what is read off
 * an object is kept, and read again only when its resourceVersion is another. */

struct seen_unit {
    size_t component;
    int64_t members, good;
};

struct seen_clique {
    uint64_t rv, sample;
    bool of_set;
    size_t component;
    int64_t replica, index, min, ready;
    struct seen_unit *unit; /* of a group: which of its replicas */
};

struct seen_pod {
    uint64_t rv, sample;
    bool of_set, deleting, is_ready, holds, is_bound; /* as it is now */
    struct demand demand;
    struct seen_clique *clique; /* NULL: not of this set */
    bool entered;               /* the rest is known */
    size_t component;
    int64_t replica, index;
    size_t step; /* that made it; SIZE_MAX: it was there */
    bool taken, ready, bound, gone;
};

struct sample {
    const struct picture *picture;
    const struct obj *pcs;
    struct arena *arena;
    struct seen_pod **pods; /* as in the picture */
    int64_t *ready;
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
    map_done(&t->pods);
    map_done(&t->cliques);
    map_done(&t->units);
    map_done(&t->gangs);
    map_done(&t->told);
    drop_maps(&t->maps);
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

static void record_take(struct trace *t, struct seen_pod *pod)
{
    pod->taken = true;
    struct trace_step *s = open_step(t);
    for (size_t i = 0; i < s->takes.len; i++) {
        struct trace_take *x = &s->takes.p[i];
        if (x->component == pod->component && x->replica == pod->replica &&
            x->index == pod->index) {
            x->pods++;
            return;
        }
    }
    *vec_push(&s->takes) = (struct trace_take){pod->component, pod->replica, pod->index, 1};
}

/* ---- one picture ---- */

static int64_t label_number(const struct obj *o, const char *label, int64_t otherwise)
{
    int64_t n;
    return str_to_int(obj_label(o, str_of(label)), &n) ? n : otherwise;
}

static const struct obj *find_group(const struct sample *s, str uid)
{
    const struct session_list *groups = &s->picture->parts[PICTURE_GROUPS];
    for (size_t i = 0; i < groups->n; i++) {
        if (str_eq(groups->items[i]->uid, uid))
            return groups->items[i];
    }
    return NULL;
}

static struct seen_unit *find_unit(struct trace *t, const struct obj *group, int64_t index)
{
    str key = arena_printf(t->arena, "%.*s/%lld", STR_ARG(group->uid), (long long)index);
    struct seen_unit *u = map_get(&t->units, key);
    if (!u) {
        u = arena_new(t->arena, struct seen_unit);
        (void)map_put(&t->units, key, u);
    }
    return u;
}

static void read_member(struct trace *t, const struct sample *s, const struct obj *clique,
                        struct seen_clique *c)
{
    const struct obj *group = find_group(s, clique->owner_uid);
    if (!group)
        return;
    c->index = label_number(clique, LABEL_PCSG_INDEX, 0);
    c->component = find_component(t, true, template_of_child(group, s->pcs));
    c->unit = find_unit(t, group, c->index);
    c->unit->component = c->component;
    c->unit->members = (int64_t)jlen(jgetc(obj_spec(group), "cliqueNames"));
}

static void read_clique(struct trace *t, const struct sample *s, const struct obj *o,
                        struct seen_clique *c)
{
    *c = (struct seen_clique){.rv = o->rv, .component = SIZE_MAX, .index = -1};
    c->of_set = is_of_set(o, t->label);
    if (!c->of_set)
        return;
    c->replica = label_number(o, LABEL_PCS_INDEX, 0);
    c->min = jint(jgetc(obj_spec(o), "minAvailable"), 1);
    if (str_eq(o->owner_uid, s->pcs->uid))
        c->component = find_component(t, false, template_of_child(o, s->pcs));
    else
        read_member(t, s, o, c);
}

static void read_cliques(struct trace *t, struct sample *s)
{
    const struct session_list *cliques = &s->picture->parts[PICTURE_CLIQUES];
    for (size_t i = 0; i < cliques->n; i++) {
        const struct obj *o = cliques->items[i];
        struct seen_clique *c = map_get(&t->cliques, o->uid);
        if (!c) {
            c = arena_new(t->arena, struct seen_clique);
            (void)map_put(&t->cliques, arena_str(t->arena, o->uid), c);
        }
        if (c->rv != o->rv)
            read_clique(t, s, o, c);
        c->ready = 0;
        c->sample = t->samples + 1;
        if (c->unit)
            c->unit->good = 0;
    }
}

static void add_demand(struct trace *t, const struct demand *d, struct demand *sum)
{
    for (size_t r = 0; r < t->resources.n_resources; r++)
        sum->amount[r] += d->amount[r];
}

static void read_pod(struct trace *t, const struct obj *o, struct seen_pod *pod)
{
    str why;
    pod->rv = o->rv;
    pod->of_set = is_of_set(o, t->label);
    if (!pod->of_set)
        return;
    pod->deleting = o->deleting;
    pod->is_ready = !o->deleting && str_is(pod_state(o), "Ready");
    pod->is_bound = !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
    pod->holds = pod_holds_node(o);
    pod->clique = map_get(&t->cliques, o->owner_uid);
    (void)snapshot_demand(&t->resources, o, &pod->demand, &why);
}

/* Finds the pods of the picture among those seen. */
static void find_pods(struct trace *t, struct sample *s)
{
    const struct session_list *pods = &s->picture->parts[PICTURE_PODS];
    s->pods = arena_array(s->arena, struct seen_pod *, pods->n + 1);
    for (size_t i = 0; i < pods->n; i++) {
        const struct obj *o = pods->items[i];
        struct seen_pod *pod = map_get(&t->pods, o->uid);
        if (!pod) {
            pod = arena_new(t->arena, struct seen_pod);
            (void)map_put(&t->pods, arena_str(t->arena, o->uid), pod);
        }
        if (pod->rv != o->rv)
            read_pod(t, o, pod);
        s->pods[i] = pod;
    }
}

/* The clique it is of, when that is there. */
static struct seen_clique *clique_of(const struct trace *t, const struct seen_pod *pod)
{
    return pod->clique && pod->clique->of_set && pod->clique->sample == t->samples + 1 ? pod->clique
                                                                                       : NULL;
}

/* Where the pod stands among those seen; true: it is new. */
static bool enter_pod(const struct trace *t, struct seen_pod *pod)
{
    const struct seen_clique *c = clique_of(t, pod);
    if (pod->entered)
        return false;
    pod->entered = true;
    pod->component = c ? c->component : SIZE_MAX;
    pod->replica = c ? c->replica : 0;
    pod->index = c ? c->index : -1;
    pod->step = SIZE_MAX;
    return true;
}

/* What became ready first, for it says whether what is taken begins a step. */
static void read_readiness(struct trace *t, struct sample *s)
{
    for (size_t i = 0; i < s->picture->parts[PICTURE_PODS].n; i++) {
        const struct seen_pod *pod = s->pods[i];
        struct seen_clique *c = clique_of(t, pod);
        if (!pod->of_set)
            continue;
        if (pod->entered && pod->is_ready && !pod->ready && pod->step != SIZE_MAX)
            t->moved = true;
        if (c)
            c->ready += pod->is_ready;
    }
}

/* Pods that were gone before anybody saw them going. */
static void find_gone(struct trace *t)
{
    str name;
    void *value;
    for (size_t it = 0; map_next(&t->pods, &it, &name, &value);) {
        struct seen_pod *pod = value;
        if (!pod->entered || pod->gone || pod->sample == t->samples)
            continue;
        pod->gone = true;
        if (!pod->taken)
            record_take(t, pod);
    }
}

/* What is taken, before what is made: that is made for the step which the taking began. */
static void read_takes(struct trace *t, struct sample *s)
{
    for (size_t i = 0; i < s->picture->parts[PICTURE_PODS].n; i++) {
        struct seen_pod *pod = s->pods[i];
        if (!pod->entered)
            continue;
        pod->sample = t->samples;
        if (pod->deleting && !pod->taken)
            record_take(t, pod);
    }
    find_gone(t);
}

static void read_pods(struct trace *t, struct sample *s)
{
    struct demand held = {0};
    for (size_t i = 0; i < s->picture->parts[PICTURE_PODS].n; i++) {
        struct seen_pod *pod = s->pods[i];
        if (!pod->of_set)
            continue;
        bool new = enter_pod(t, pod);
        if (pod->holds)
            add_demand(t, &pod->demand, &held);
        if (new && t->samples > 0 && !pod->deleting) {
            struct trace_step *step = present_step(t);
            step->made++;
            pod->step = t->steps.len - 1;
            add_demand(t, &pod->demand, &step->need);
        }
        pod->taken = pod->taken || pod->deleting;
        pod->ready = pod->is_ready;
        pod->bound = pod->bound || pod->is_bound;
        pod->sample = t->samples;
    }
    if (t->samples == 0)
        t->held = held;
    for (size_t r = 0; r < t->resources.n_resources; r++)
        t->peak.amount[r] = MAX(t->peak.amount[r], held.amount[r]);
}

static void count_units(struct trace *t, struct sample *s)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&t->cliques, &it, &key, &value);) {
        struct seen_clique *c = value;
        if (!c->of_set || c->sample != t->samples + 1)
            continue;
        if (c->unit)
            c->unit->good += c->ready >= c->min;
        else if (c->component != SIZE_MAX)
            s->ready[c->component] += c->ready;
    }
    for (size_t it = 0; map_next(&t->units, &it, &key, &value);) {
        struct seen_unit *u = value;
        if (u->component != SIZE_MAX)
            s->ready[u->component] += u->good > 0 && u->good >= u->members;
        u->good = 0;
    }
}

static void count_ready(struct trace *t, struct sample *s)
{
    count_units(t, s);
    struct trace_step *step = t->steps.len > 0 ? vec_last(&t->steps) : NULL;
    for (size_t i = 0; i < t->n_components; i++) {
        if (t->samples == 0)
            t->before[i] = t->low[i] = s->ready[i];
        t->low[i] = MIN(t->low[i], s->ready[i]);
        if (step)
            step->low[i] = MIN(step->low[i], s->ready[i]);
        t->after[i] = s->ready[i];
    }
}

/* ---- gangs ---- */

static jval entry_named(const struct obj *map, str name)
{
    for (struct jiter it = jiter(map ? jgetc(obj_spec(map), "entries") : JVAL_ABSENT);
         jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* Before what is taken for it is looked at: a change of the map begins a step. */
static void read_maps(struct trace *t, const struct sample *s)
{
    const struct session_list *maps = &s->picture->parts[PICTURE_MAPS];
    for (size_t i = 0; i < maps->n; i++) {
        struct obj *o = maps->items[i], *old;
        old = map_get(&t->maps, o->name);
        if ((old && old->rv == o->rv) || !is_of_set(o, t->label))
            continue;
        if (old && jequal(jgetc(obj_spec(old), "entries"), jgetc(obj_spec(o), "entries")))
            continue;
        struct trace_step *step = t->samples > 0 ? open_step(t) : NULL;
        for (struct jiter it = jiter(jgetc(obj_spec(o), "entries")); step && jnext(&it);) {
            if (!jequal(entry_named(old, jstr(jgetc(it.value, "name"))), it.value))
                *vec_push(&step->entries) = arena_str(t->arena, jtext(it.value));
        }
        (void)map_put(&t->maps, arena_str(t->arena, o->name), obj_ref(o));
        obj_unref(old);
    }
}

struct seen_gang {
    str name;
    uint64_t sample;
    bool gone;
};

static int by_text(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static void read_gangs(struct trace *t, const struct sample *s)
{
    const struct session_list *gangs = &s->picture->parts[PICTURE_GANGS];
    str key;
    void *value;
    for (size_t i = 0; i < gangs->n; i++) {
        struct seen_gang *g = map_get(&t->gangs, gangs->items[i]->name);
        if (!g && !is_of_set(gangs->items[i], t->label))
            continue;
        if (!g) {
            g = arena_new(t->arena, struct seen_gang);
            g->name = arena_str(t->arena, gangs->items[i]->name);
            (void)map_put(&t->gangs, g->name, g);
            if (t->samples > 0)
                *vec_push(&present_step(t)->gangs_made) = g->name;
        }
        g->sample = t->samples;
    }
    for (size_t it = 0; map_next(&t->gangs, &it, &key, &value);) {
        struct seen_gang *g = value;
        if (g->gone || g->sample == t->samples)
            continue;
        g->gone = true;
        *vec_push(&present_step(t)->gangs_gone) = g->name;
    }
}

/* What the planner of coherent updates calls its steps. */
static void read_titles(struct trace *t, const struct sample *s)
{
    const struct session_list *events = &s->picture->parts[PICTURE_EVENTS];
    uint64_t known = t->events_rv;
    for (size_t i = 0; i < events->n; i++) {
        const struct obj *o = events->items[i];
        t->events_rv = MAX(t->events_rv, o->rv);
        if (o->rv <= known || !str_is(jstr(jgetc(obj_root(o), "reason")), "CoherentUpdateStep") ||
            !str_eq(jstr(jpath(obj_root(o), "involvedObject.name")), t->set) ||
            map_has(&t->told, o->name))
            continue;
        (void)map_put(&t->told, arena_str(t->arena, o->name), t);
        if (t->samples > 0 && t->steps.len > 0 && str_is_empty(vec_last(&t->steps)->title))
            vec_last(&t->steps)->title = arena_str(t->arena, jstr(jgetc(obj_root(o), "message")));
    }
}

void trace_add(struct trace *t, const struct picture *p)
{
    struct arena a = ARENA_INIT;
    struct sample s = {.picture = p, .arena = &a, .pcs = picture_find(p, PICTURE_SETS, t->set)};
    s.ready = arena_array(&a, int64_t, t->n_components + 1);
    if (s.pcs) {
        read_cliques(t, &s);
        find_pods(t, &s);
        read_readiness(t, &s);
        read_maps(t, &s);
        read_takes(t, &s);
        read_pods(t, &s);
        read_gangs(t, &s);
        read_titles(t, &s);
    }
    count_ready(t, &s);
    t->samples++;
    arena_done(&a);
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
        if (pod->entered && pod->step != SIZE_MAX && !pod->bound && !pod->taken)
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
