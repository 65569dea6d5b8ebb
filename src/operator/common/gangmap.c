/* See gangmap.h. */
#include "operator/common/gangmap.h"

#include "client/slots.h"
#include "grove/names.h"
#include "grove/types.h"

enum { MAX_ENTRIES = 100000 };

void gangmap_init(struct gangmap *m, struct arena *a, str base, size_t n_components)
{
    *m = (struct gangmap){.arena = a, .base = base, .n_components = n_components};
}

static void reserve(struct gangmap *m, size_t cap)
{
    struct gangmap_entry *entries = arena_array(m->arena, struct gangmap_entry, cap);
    if (m->n)
        memcpy(entries, m->entries, m->n * sizeof(*entries));
    m->entries = entries;
    m->cap = cap;
}

static struct gangmap_entry *add_entry(struct gangmap *m, struct gangmap_entry entry)
{
    m->index = NULL;
    if (m->n == m->cap)
        reserve(m, m->cap ? 2 * m->cap : 16);
    struct gangmap_entry *e = &m->entries[m->n++];
    *e = entry;
    e->parts = arena_array(m->arena, struct gangmap_part, m->n_components + 1);
    return e;
}

static struct gangmap_entry *add_named(struct gangmap *m, const struct gangmap_entry *like,
                                       str name)
{
    struct gangmap_entry e = *like;
    e.name = name;
    e.anchor = e.role == GANG_ANCHOR;
    e.first = e.epoch <= m->names.first;
    return add_entry(m, e);
}

struct gangmap_entry *gangmap_add(struct gangmap *m, enum gang_role role, int64_t epoch, str hash,
                                  str part, int64_t index)
{
    struct gang_namer n = gang_namer(m->arena, m->base, &m->names, role, epoch, part, index >= 0);
    struct gangmap_entry like = {.role = role, .epoch = epoch, .hash = hash};
    return add_named(m, &like, gang_name(m->arena, &n, index));
}

/* Parts and indices of all entries are one block each: a map of thousands is copied often. */
static void copy_parts(struct gangmap *copy, size_t n_indices)
{
    size_t n = copy->n_components;
    struct gangmap_part *parts = arena_array(copy->arena, struct gangmap_part, copy->n * n + 1);
    int32_t *indices = arena_array(copy->arena, int32_t, n_indices + 1);
    for (size_t i = 0; i < copy->n; i++, parts += n) {
        memcpy(parts, copy->entries[i].parts, n * sizeof(*parts));
        copy->entries[i].parts = parts;
        for (size_t c = 0; c < n; c++) {
            struct gangmap_part *p = &parts[c];
            if (!p->indices)
                continue;
            memcpy(indices, p->indices, (size_t)p->n * sizeof(*indices));
            p->indices = indices;
            indices += p->n;
            if (p->index_state) {
                unsigned char *state = arena_array(copy->arena, unsigned char, p->n + 1);
                memcpy(state, p->index_state, (size_t)p->n);
                p->index_state = state;
            }
        }
    }
}

struct gangmap gangmap_copy(const struct gangmap *m)
{
    struct gangmap copy;
    size_t n_indices = 0;
    gangmap_init(&copy, m->arena, m->base, m->n_components);
    copy.names = m->names;
    copy.last = m->last;
    reserve(&copy, m->n + 16);
    if (m->n)
        memcpy(copy.entries, m->entries, m->n * sizeof(*m->entries));
    copy.n = m->n;
    for (size_t i = 0; i < m->n; i++) {
        if (m->index)
            copy.entries[i].origin = &m->entries[i];
        for (size_t c = 0; c < m->n_components; c++)
            n_indices += m->entries[i].parts[c].indices ? (size_t)m->entries[i].parts[c].n : 0;
    }
    copy_parts(&copy, n_indices);
    return copy;
}

struct gangmap gangmap_pick(const struct gangmap *m, const struct gangmap_entry *const *entries,
                            size_t n)
{
    struct gangmap few = *m;
    few.index = NULL;
    few.entries = arena_array(m->arena, struct gangmap_entry, n + 1);
    for (few.n = 0; few.n < n; few.n++)
        few.entries[few.n] = *entries[few.n];
    few.cap = n;
    return gangmap_copy(&few);
}

int64_t gangmap_units(const struct gangmap *m, size_t component, bool current)
{
    int64_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        n += !current || p->current ? p->n : 0;
    }
    return n;
}

void gangmap_add_index(struct gangmap *m, struct gangmap_part *part, int32_t index)
{
    int32_t *indices = arena_array(m->arena, int32_t, part->n + 1);
    size_t at = 0;
    while (at < (size_t)part->n && part->indices[at] < index) {
        indices[at] = part->indices[at];
        at++;
    }
    indices[at] = index;
    for (size_t i = at; i < (size_t)part->n; i++)
        indices[i + 1] = part->indices[i];
    part->indices = indices;
    part->index_state = NULL;
    part->n++;
}

int32_t gangmap_take_index(struct gangmap_part *part, size_t i)
{
    int32_t index = part->indices[i];
    size_t behind = (size_t)part->n - i - 1;
    memmove(&part->indices[i], &part->indices[i + 1], behind * sizeof(*part->indices));
    if (part->index_state)
        memmove(&part->index_state[i], &part->index_state[i + 1], behind);
    part->n--;
    return index;
}

bool gangmap_lists(jval names, str name)
{
    for (struct jiter it = jiter(names); jnext(&it);) {
        if (str_eq(jstr(it.value), name))
            return true;
    }
    return false;
}

bool gangmap_is_empty(const struct gangmap *m, const struct gangmap_entry *e)
{
    for (size_t c = 0; c < m->n_components; c++) {
        if (e->parts[c].n > 0)
            return false;
    }
    return true;
}

bool gangmap_is_current(const struct gangmap *m, const struct gangmap_entry *e)
{
    for (size_t c = 0; c < m->n_components; c++) {
        if (e->parts[c].n > 0 && !e->parts[c].current)
            return false;
    }
    return true;
}

void gangmap_drop_empty(struct gangmap *m)
{
    size_t n = 0;
    for (size_t i = 0; i < m->n; i++) {
        if (!gangmap_is_empty(m, &m->entries[i]))
            m->entries[n++] = m->entries[i];
    }
    m->n = n;
}

const struct gangmap_entry *gangmap_find(const struct gangmap *m, str name)
{
    if (m->index) {
        size_t place = (size_t)map_get(&m->index->by_name, name);
        return place ? &m->entries[place - 1] : NULL;
    }
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->entries[i].name, name))
            return &m->entries[i];
    }
    return NULL;
}

const struct gangmap_entry *gangmap_of_index(const struct gangmap *m, size_t component,
                                             int64_t index)
{
    if (m->index) {
        bool known = index >= 0 && index < m->index->tops[component];
        int32_t place = known ? m->index->places[component][index] : 0;
        return place ? &m->entries[place - 1] : NULL;
    }
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        for (int64_t k = 0; k < p->n && p->indices; k++) {
            if (p->indices[k] == index)
                return &m->entries[i];
        }
    }
    return NULL;
}

/* ---- index ---- */

static void index_component(struct gangmap *m, struct gangmap_index *x, size_t component)
{
    int64_t top = 0;
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        for (int64_t k = 0; p->indices && k < p->n; k++)
            top = MAX(top, p->indices[k] + 1);
    }
    x->tops[component] = top;
    x->places[component] = arena_array(m->arena, int32_t, top + 1);
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_part *p = &m->entries[i].parts[component];
        for (int64_t k = 0; p->indices && k < p->n; k++)
            x->places[component][p->indices[k]] = (int32_t)i + 1;
    }
}

void gangmap_index(struct gangmap *m, struct gangmap_index *ret)
{
    *ret = (struct gangmap_index){.by_name = MAP_INIT};
    ret->places = arena_array(m->arena, int32_t *, m->n_components + 1);
    ret->tops = arena_array(m->arena, int64_t, m->n_components + 1);
    for (size_t c = 0; c < m->n_components; c++)
        index_component(m, ret, c);
    for (size_t i = 0; i < m->n; i++)
        (void)map_put(&ret->by_name, m->entries[i].name, (void *)(i + 1));
    m->cap = m->n; /* what is added makes an array of its own */
    m->index = ret;
}

void gangmap_index_done(struct gangmap_index *index)
{
    map_done(&index->by_name);
}

/* ---- epochs ---- */

int64_t gangmap_next_epoch(const struct gangmap *m, int64_t now_usec)
{
    int64_t epoch = now_usec > INT64_MAX / 1000 ? INT64_MAX / 2 : now_usec * 1000;
    epoch = MAX(epoch, MAX(EPOCH_FIRST_TIME, m->last + 2));
    for (size_t i = 0; i < m->n; i++) {
        int64_t there = m->entries[i].epoch;
        epoch = there < INT64_MAX / 2 ? MAX(epoch, there + 2) : epoch;
    }
    return epoch;
}

/* ---- reading ---- */

static void read_indices(struct gangmap *m, struct gangmap_part *p, jval list, struct slots *seen)
{
    p->indices = arena_array(m->arena, int32_t, jlen(list) + 1);
    for (struct jiter it = jiter(list); jnext(&it);) {
        int64_t index = jint(it.value, -1);
        if (index < 0 || index >= SLOTS_MAX || slots_uses(seen, index))
            continue;
        slots_add(seen, index);
        p->indices[p->n++] = (int32_t)index;
    }
}

/* What one reading has. */
struct reader {
    struct gangmap *map;
    const struct gangmap_component *components;
    struct slots *seen; /* replicas, by component */
    struct gangmap_entry like;
    size_t units;    /* that were read of the entry: replicas, and cliques */
    int64_t highest; /* epoch that was read */
};

static void read_anchor(struct reader *r, const struct gang_entry *x)
{
    struct gangmap *m = r->map;
    struct gang_namer n =
        gang_namer(m->arena, m->base, &m->names, x->role, x->epoch, STR_NONE, false);
    struct gangmap_entry *e = add_named(m, &r->like, gang_name(m->arena, &n, -1));
    for (size_t k = 0; k < m->n_components; k++) {
        const struct gangmap_component *c = &r->components[k];
        struct gangmap_part *p = &e->parts[k];
        jval there = jget(c->is_group ? x->groups : x->cliques, c->name);
        if (c->is_group)
            read_indices(m, p, there, &r->seen[k]);
        else
            p->n = MAX(jint(there, 0), 0);
        r->units += c->is_group ? (size_t)p->n : p->n > 0;
    }
}

/* A gang for each. */
static void read_others(struct reader *r, const struct gang_entry *x)
{
    struct gangmap *m = r->map;
    for (size_t k = 0; k < m->n_components; k++) {
        const struct gangmap_component *c = &r->components[k];
        jval there = jget(c->is_group ? x->groups : x->cliques, c->name);
        struct gangmap_part p = {0};
        if (!j_has(there))
            continue;
        struct gang_namer n =
            gang_namer(m->arena, m->base, &m->names, x->role, x->epoch, c->name, c->is_group);
        if (c->is_group)
            read_indices(m, &p, there, &r->seen[k]);
        for (int64_t i = 0; i < p.n && m->n < MAX_ENTRIES; i++) {
            struct gangmap_entry *e = add_named(m, &r->like, gang_name(m->arena, &n, p.indices[i]));
            e->parts[k] = (struct gangmap_part){.n = 1, .indices = &p.indices[i]};
            r->units++;
        }
        if (!c->is_group && jint(there, 0) > 0) {
            add_named(m, &r->like, gang_name(m->arena, &n, -1))->parts[k].n = jint(there, 0);
            r->units++;
        }
    }
}

/* Most are of the version of the one before: they share its name. */
static str shared_hash(const struct gangmap *m, str hash)
{
    return m->n > 0 && str_eq(hash, m->entries[m->n - 1].hash) ? m->entries[m->n - 1].hash : hash;
}

/* They stand in order, as a rule: then nobody is looked for. */
static bool was_read(const struct reader *r, int64_t epoch)
{
    bool found = false;
    for (size_t i = 0; epoch <= r->highest && !found && i < r->map->n; i++)
        found = r->map->entries[i].epoch == epoch;
    return found;
}

static void read_entry(struct reader *r, jval entry)
{
    struct gangmap *m = r->map;
    struct gang_entry x;
    size_t from = m->n, units = 0;
    str epoch = jstr(jgetc(entry, "epoch"));
    if (!gang_entry_read(entry, m->base, &x) || (!str_is_empty(epoch) && was_read(r, x.epoch)))
        return;
    r->highest = MAX(r->highest, x.epoch);
    r->units = 0;
    r->like = (struct gangmap_entry){
        .role = x.role,
        .epoch = x.epoch,
        .hash = shared_hash(m, x.hash),
        .depends = MAX(epoch_read(jstr(jat(jgetc(entry, "dependsOn"), 0))), 0),
    };
    if (gang_is_one(&m->names, x.role, x.epoch))
        read_anchor(r, &x);
    else
        read_others(r, &x);
    for (struct jiter it = jiter(x.groups); jnext(&it);)
        units += jlen(it.value);
    if (r->units != units + jlen(x.cliques) || str_is_empty(epoch))
        return;
    for (size_t i = from; i < m->n; i++) {
        m->entries[i].source = entry;
        m->entries[i].source_n = m->n - from;
    }
}

void gangmap_read(struct gangmap *m, jval entries, const struct gangmap_component *c)
{
    struct reader r = {.map = m, .components = c};
    r.seen = xcalloc(m->n_components + 1, sizeof(*r.seen));
    if (m->n == 0)
        reserve(m, MIN(jlen(entries), (size_t)MAX_ENTRIES) + 1);
    for (struct jiter it = jiter(entries); m->n < MAX_ENTRIES && jnext(&it);)
        read_entry(&r, it.value);
    gangmap_drop_empty(m);
    for (size_t k = 0; k < m->n_components; k++)
        slots_done(&r.seen[k]);
    free(r.seen);
}

/* ---- writing ---- */

/* The gangs in the order of their epochs, and who of them are anchors. */
struct order {
    const struct gangmap *map;
    const struct gangmap_component *components;
    const struct gangmap_entry **gangs, **anchors;
    int64_t *ordinals; /* of anchors: how many of its version are older */
    size_t n_anchors;
};

static int cmp_gangs(const void *a, const void *b)
{
    const struct gangmap_entry *x = *(const struct gangmap_entry *const *)a;
    const struct gangmap_entry *y = *(const struct gangmap_entry *const *)b;
    if (x->epoch != y->epoch)
        return x->epoch < y->epoch ? -1 : 1;
    return (x > y) - (x < y);
}

static void put_in_order(struct order *o, const struct gangmap *m,
                         const struct gangmap_component *c)
{
    bool sorted = true;
    *o = (struct order){.map = m, .components = c};
    o->gangs = arena_array(m->arena, const struct gangmap_entry *, m->n + 1);
    o->anchors = arena_array(m->arena, const struct gangmap_entry *, m->n + 1);
    for (size_t i = 0; i < m->n; i++) {
        o->gangs[i] = &m->entries[i];
        sorted = sorted && (i == 0 || o->gangs[i]->epoch >= o->gangs[i - 1]->epoch);
    }
    if (!sorted)
        qsort(o->gangs, m->n, sizeof(*o->gangs), cmp_gangs);
    o->ordinals = arena_array(m->arena, int64_t, m->n + 1);
    for (size_t i = 0; i < m->n; i++) {
        if (!o->gangs[i]->anchor)
            continue;
        size_t same = o->n_anchors; /* mostly the one before */
        while (same > 0 && !str_eq(o->anchors[same - 1]->hash, o->gangs[i]->hash))
            same--;
        o->ordinals[o->n_anchors] = same ? o->ordinals[same - 1] + 1 : 0;
        o->anchors[o->n_anchors++] = o->gangs[i];
    }
}

/* The first anchor that is not older than that. */
static size_t find_anchor(const struct order *o, int64_t epoch)
{
    size_t from = 0, to = o->n_anchors;
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (o->anchors[middle]->epoch < epoch)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Gangs from the i-th on that make one entry. */
static size_t count_run(const struct order *o, size_t i)
{
    size_t n = 1;
    while (i + n < o->map->n && o->gangs[i + n]->epoch == o->gangs[i]->epoch)
        n++;
    return n;
}

/* The epoch of the anchor that others wait for: the one they waited for, else the newest of their
 * version, else the newest of all; 0: there is none. */
static int64_t depends_on(const struct order *o, const struct gangmap_entry *e)
{
    size_t at = find_anchor(o, e->depends);
    if (at < o->n_anchors && o->anchors[at]->epoch == e->depends)
        return e->depends;
    for (size_t i = o->n_anchors; i > 0; i--) {
        if (str_eq(o->anchors[i - 1]->hash, e->hash))
            return o->anchors[i - 1]->epoch;
    }
    return o->n_anchors > 0 ? o->anchors[o->n_anchors - 1]->epoch : 0;
}

static int cmp_numbers(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

static void write_indices(struct jw *w, const struct order *o, size_t i, size_t n, size_t component)
{
    VEC(int32_t) all = {0};
    for (size_t g = i; g < i + n; g++) {
        const struct gangmap_part *p = &o->gangs[g]->parts[component];
        for (int64_t k = 0; k < p->n; k++)
            *vec_push(&all) = p->indices[k];
    }
    vec_sort(&all, cmp_numbers);
    jw_array(w);
    for (size_t k = 0; k < all.len; k++)
        jw_int(w, all.p[k]);
    jw_end(w);
    vec_done(&all);
}

static void write_parts(struct jw *w, const struct order *o, size_t i, size_t n, bool groups)
{
    bool any = false;
    for (size_t k = 0; k < o->map->n_components; k++) {
        int64_t units = 0;
        for (size_t g = i; g < i + n && o->components[k].is_group == groups; g++)
            units += o->gangs[g]->parts[k].n;
        if (units == 0)
            continue;
        if (!any)
            jw_put_object(w, groups ? "pcsgReplicaIndices" : "podCliques");
        any = true;
        jw_key(w, o->components[k].name);
        if (groups)
            write_indices(w, o, i, n, k);
        else
            jw_int(w, units);
    }
    if (any)
        jw_end(w);
}

static void write_entry(struct jw *w, const struct order *o, size_t i, size_t n)
{
    const struct gangmap_entry *e = o->gangs[i];
    struct arena *a = o->map->arena;
    int64_t depends = e->anchor ? 0 : depends_on(o, e);
    jw_object(w);
    if (e->anchor)
        jw_put_int(w, "anchorIndex", o->ordinals[find_anchor(o, e->epoch)]);
    if (depends > 0) {
        jw_put_array(w, "dependsOn");
        jw_str(w, arena_int(a, depends));
        jw_end(w);
    }
    jw_put_str(w, "epoch", arena_int(a, e->epoch));
    write_parts(w, o, i, n, true);
    jw_put_str(w, "podCliqueSetGenerationHash", e->hash);
    write_parts(w, o, i, n, false);
    jw_put_cstr(w, "role", gang_role_name(e->role));
    jw_end(w);
}

void gangmap_write(struct jw *w, const struct gangmap *m, const struct gangmap_component *c,
                   int64_t pcs_index)
{
    struct order o;
    put_in_order(&o, m, c);
    jw_object(w);
    jw_put_array(w, "entries");
    for (size_t i = 0, n; i < m->n; i += n) {
        n = count_run(&o, i);
        write_entry(w, &o, i, n);
    }
    jw_end(w);
    jw_put_int(w, "podCliqueSetReplicaIndex", pcs_index);
    jw_end(w);
}

static bool is_as_read(const struct gangmap *m, const struct gangmap_entry *e)
{
    const struct gangmap_entry *from = e->origin;
    if (!from || j_is_absent(from->source) || !str_eq(e->hash, from->hash))
        return false;
    for (size_t k = 0; k < m->n_components; k++) {
        const struct gangmap_part *p = &e->parts[k], *was = &from->parts[k];
        size_t bytes = p->indices ? (size_t)p->n * sizeof(*p->indices) : 0;
        if (p->n != was->n || (bytes > 0 && memcmp(p->indices, was->indices, bytes) != 0))
            return false;
    }
    return true;
}

/* All its gangs are there and what they were, and what follows from others. */
static bool run_is_as_read(const struct order *o, size_t i, size_t n)
{
    const struct gangmap_entry *e = o->gangs[i];
    if (!e->origin || e->origin->source_n != n)
        return false;
    for (size_t g = i; g < i + n; g++) {
        if (!is_as_read(o->map, o->gangs[g]))
            return false;
    }
    if (e->anchor)
        return jint(jgetc(e->origin->source, "anchorIndex"), -1) ==
               o->ordinals[find_anchor(o, e->epoch)];
    return depends_on(o, e) == e->depends;
}

void gangmap_splice(struct splice *s, const struct gangmap *m, const struct gangmap_component *c,
                    int64_t pcs_index)
{
    struct order o;
    struct jw w;
    size_t written = 0;
    put_in_order(&o, m, c);
    splice_key(s, STR("entries"), true);
    uint32_t list = splice_open(s, false);
    for (size_t i = 0, n; i < m->n; i += n, written++) {
        n = count_run(&o, i);
        if (run_is_as_read(&o, i, n)) {
            splice_item(s, o.gangs[i]->origin->source, written == 0);
            continue;
        }
        jw_init(&w);
        write_entry(&w, &o, i, n);
        splice_item(s, doc_root(doc_hold(m->arena, jw_doc(&w))), written == 0);
    }
    splice_close(s, list, written);
    jw_init(&w);
    jw_int(&w, pcs_index);
    splice_member(s, STR("podCliqueSetReplicaIndex"), doc_root(doc_hold(m->arena, jw_doc(&w))),
                  false);
}
