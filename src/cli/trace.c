/* See trace.h. */
#include "cli/trace.h"

#include "cli/findings.h"
#include "grove/names.h"
#include "grove/types.h"

enum { MAX_STEPS = 10000 };

struct seen_pod {
    size_t component;
    int64_t replica, index;
    size_t step; /* that made it; SIZE_MAX: it was there */
    uint64_t sample;
    bool taken, ready, bound, gone;
};

/* A clique while one picture is looked at. */
struct seen_clique {
    size_t component;
    int64_t replica, index, min, ready;
    str unit; /* of a group: which of its replicas */
};

struct seen_unit {
    size_t component;
    int64_t members, good;
};

struct sample {
    const struct picture *picture;
    const struct obj *pcs;
    struct arena *arena;
    struct map cliques, units; /* by uid; by group and index */
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

static void read_member(const struct trace *t, struct sample *s, const struct obj *clique,
                        struct seen_clique *c)
{
    const struct obj *group = find_group(s, clique->owner_uid);
    if (!group)
        return;
    c->index = label_number(clique, LABEL_PCSG_INDEX, 0);
    c->component = find_component(t, true, template_of_child(group, s->pcs));
    c->unit = arena_printf(s->arena, "%.*s/%lld", STR_ARG(group->uid), (long long)c->index);
    if (map_has(&s->units, c->unit))
        return;
    struct seen_unit *u = arena_new(s->arena, struct seen_unit);
    u->component = c->component;
    u->members = (int64_t)jlen(jgetc(obj_spec(group), "cliqueNames"));
    (void)map_put(&s->units, c->unit, u);
}

static void read_cliques(const struct trace *t, struct sample *s)
{
    const struct session_list *cliques = &s->picture->parts[PICTURE_CLIQUES];
    for (size_t i = 0; i < cliques->n; i++) {
        const struct obj *o = cliques->items[i];
        if (!is_of_set(o, t->label))
            continue;
        struct seen_clique *c = arena_new(s->arena, struct seen_clique);
        *c = (struct seen_clique){.component = SIZE_MAX, .index = -1};
        c->replica = label_number(o, LABEL_PCS_INDEX, 0);
        c->min = jint(jgetc(obj_spec(o), "minAvailable"), 1);
        if (str_eq(o->owner_uid, s->pcs->uid))
            c->component = find_component(t, false, template_of_child(o, s->pcs));
        else
            read_member(t, s, o, c);
        (void)map_put(&s->cliques, o->uid, c);
    }
}

static void add_demand(struct trace *t, const struct obj *pod, struct demand *sum)
{
    struct demand d;
    str why;
    (void)snapshot_demand(&t->resources, pod, &d, &why);
    for (size_t r = 0; r < t->resources.n_resources; r++)
        sum->amount[r] += d.amount[r];
}

/* Where the pod stands among those seen; new ones are entered. */
static struct seen_pod *enter_pod(struct trace *t, const struct obj *o, const struct seen_clique *c,
                                  bool *ret_new)
{
    struct seen_pod *pod = map_get(&t->pods, o->uid);
    *ret_new = !pod;
    if (pod)
        return pod;
    pod = arena_new(t->arena, struct seen_pod);
    *pod = (struct seen_pod){.component = c ? c->component : SIZE_MAX,
                             .replica = c ? c->replica : 0,
                             .index = c ? c->index : -1,
                             .step = SIZE_MAX};
    (void)map_put(&t->pods, arena_str(t->arena, o->uid), pod);
    return pod;
}

/* What became ready first, for it says whether what is taken begins a step. */
static void read_readiness(struct trace *t, struct sample *s)
{
    const struct session_list *pods = &s->picture->parts[PICTURE_PODS];
    for (size_t i = 0; i < pods->n; i++) {
        const struct obj *o = pods->items[i];
        struct seen_clique *c = map_get(&s->cliques, o->owner_uid);
        struct seen_pod *pod = map_get(&t->pods, o->uid);
        bool ready = !o->deleting && str_is(pod_state(o), "Ready");
        if (!is_of_set(o, t->label))
            continue;
        if (pod && ready && !pod->ready && pod->step != SIZE_MAX)
            t->moved = true;
        if (c)
            c->ready += ready;
    }
}

/* Pods that were gone before anybody saw them going. */
static void find_gone(struct trace *t)
{
    str name;
    void *value;
    for (size_t it = 0; map_next(&t->pods, &it, &name, &value);) {
        struct seen_pod *pod = value;
        if (pod->gone || pod->sample == t->samples)
            continue;
        pod->gone = true;
        if (!pod->taken)
            record_take(t, pod);
    }
}

/* What is taken, before what is made: that is made for the step which the taking began. */
static void read_takes(struct trace *t, struct sample *s)
{
    const struct session_list *pods = &s->picture->parts[PICTURE_PODS];
    for (size_t i = 0; i < pods->n; i++) {
        struct seen_pod *pod = map_get(&t->pods, pods->items[i]->uid);
        if (!pod)
            continue;
        pod->sample = t->samples;
        if (pods->items[i]->deleting && !pod->taken)
            record_take(t, pod);
    }
    find_gone(t);
}

static void read_pods(struct trace *t, struct sample *s)
{
    const struct session_list *pods = &s->picture->parts[PICTURE_PODS];
    struct demand held = {0};
    for (size_t i = 0; i < pods->n; i++) {
        const struct obj *o = pods->items[i];
        bool new;
        if (!is_of_set(o, t->label))
            continue;
        struct seen_pod *pod = enter_pod(t, o, map_get(&s->cliques, o->owner_uid), &new);
        if (pod_holds_node(o))
            add_demand(t, o, &held);
        if (new && t->samples > 0 && !o->deleting) {
            struct trace_step *step = present_step(t);
            step->made++;
            pod->step = t->steps.len - 1;
            add_demand(t, o, &step->need);
        }
        pod->taken = pod->taken || o->deleting;
        pod->ready = !o->deleting && str_is(pod_state(o), "Ready");
        pod->bound = pod->bound || !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")));
        pod->sample = t->samples;
    }
    if (t->samples == 0)
        t->held = held;
    for (size_t r = 0; r < t->resources.n_resources; r++)
        t->peak.amount[r] = MAX(t->peak.amount[r], held.amount[r]);
}

static void count_ready(struct trace *t, struct sample *s)
{
    str key;
    void *value;
    for (size_t it = 0; map_next(&s->cliques, &it, &key, &value);) {
        struct seen_clique *c = value;
        struct seen_unit *u = str_is_empty(c->unit) ? NULL : map_get(&s->units, c->unit);
        if (u)
            u->good += c->ready >= c->min;
        else if (c->component != SIZE_MAX)
            s->ready[c->component] += c->ready;
    }
    for (size_t it = 0; map_next(&s->units, &it, &key, &value);) {
        struct seen_unit *u = value;
        if (u->component != SIZE_MAX)
            s->ready[u->component] += u->good >= u->members;
    }
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
        if (!is_of_set(o, t->label))
            continue;
        old = map_get(&t->maps, o->name);
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
        if (!is_of_set(gangs->items[i], t->label))
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
    for (size_t i = 0; i < events->n; i++) {
        const struct obj *o = events->items[i];
        if (!str_is(jstr(jgetc(obj_root(o), "reason")), "CoherentUpdateStep") ||
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
        read_readiness(t, &s);
        read_maps(t, &s);
        read_takes(t, &s);
        read_pods(t, &s);
        read_gangs(t, &s);
        read_titles(t, &s);
    }
    count_ready(t, &s);
    t->samples++;
    map_done(&s.cliques);
    map_done(&s.units);
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
        if (pod->step != SIZE_MAX && !pod->bound && !pod->taken)
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
