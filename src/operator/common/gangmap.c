/* See gangmap.h. */
#include "operator/common/gangmap.h"

#include "client/slots.h"
#include "grove/names.h"
#include "grove/types.h"

/* A name's number is a time when it is at least this: replicas of groups, which older names end in,
 * are far fewer. */
#define FIRST_STAMP INT64_C(1000000000000)
/* Of a label, and of a time in nanoseconds. */
enum { LABEL_LEN = 63, STAMP_LEN = 19 };

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

struct gangmap_entry *gangmap_add(struct gangmap *m, str name, str hash, bool anchor)
{
    return add_entry(m, (struct gangmap_entry){.name = name,
                                               .hash = hash,
                                               .stamp = gangmap_stamp(m->base, name),
                                               .anchor = anchor});
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

/* ---- names ---- */

/* What comes before the time, so short that the whole fits into a label. */
static str stamped_base(struct arena *a, str base)
{
    return name_fit(a, base, LABEL_LEN - 1 - STAMP_LEN);
}

int64_t gangmap_stamp(str base, str name)
{
    int64_t stamp = name_index(name, base, STR_NONE);
    if (stamp < 0 && base.len > LABEL_LEN - 1 - STAMP_LEN) {
        struct arena a = ARENA_INIT;
        stamp = name_index(name, stamped_base(&a, base), STR_NONE);
        arena_done(&a);
    }
    return stamp < FIRST_STAMP ? -1 : stamp;
}

int64_t gangmap_next_stamp(const struct gangmap *m, int64_t now_usec)
{
    int64_t stamp = now_usec > INT64_MAX / 1000 ? INT64_MAX / 2 : now_usec * 1000;
    stamp = MAX(stamp, FIRST_STAMP);
    for (size_t i = 0; i < m->n; i++) {
        int64_t there = m->entries[i].stamp;
        stamp = there < INT64_MAX / 2 ? MAX(stamp, there + 2) : stamp;
    }
    return stamp;
}

str gangmap_name(struct arena *a, str base, int64_t stamp)
{
    return arena_printf(a, "%.*s-%lld", STR_ARG(stamped_base(a, base)), (long long)stamp);
}

/* ---- objects ---- */

static bool is_anchor(jval entry)
{
    return str_is(jstr(jget(jgetc(entry, "labels"), STR(LABEL_ANCHOR))), "true");
}

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

/* False: something was left out. */
static bool read_parts(struct gangmap *m, struct gangmap_entry *e, jval entry,
                       const struct gangmap_component *c, struct slots *seen)
{
    jval groups = jgetc(entry, "pcsgReplicaIndices"), cliques = jgetc(entry, "podCliques");
    size_t n_groups = 0, n_cliques = 0;
    bool whole = true;
    for (size_t k = 0; k < m->n_components; k++) {
        jval there = jget(c[k].is_group ? groups : cliques, c[k].name);
        struct gangmap_part *p = &e->parts[k];
        if (c[k].is_group)
            read_indices(m, p, there, &seen[k]);
        else
            p->n = MAX(jint(there, 0), 0);
        whole = whole && (!c[k].is_group || p->n == (int64_t)jlen(there));
        n_groups += c[k].is_group && p->n > 0;
        n_cliques += !c[k].is_group && p->n > 0;
    }
    return whole && n_groups == jlen(groups) && n_cliques == jlen(cliques);
}

void gangmap_read(struct gangmap *m, jval entries, const struct gangmap_component *c)
{
    struct map names = MAP_INIT;
    struct slots *seen = xcalloc(m->n_components + 1, sizeof(*seen));
    if (m->n == 0)
        reserve(m, MIN(jlen(entries), (size_t)MAX_ENTRIES) + 1);
    for (struct jiter it = jiter(entries); m->n < MAX_ENTRIES && jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (str_is_empty(name) || map_has(&names, name))
            continue;
        str hash = jstr(jgetc(it.value, "podCliqueSetGenerationHash"));
        /* Most are of the version of the one before: they share its name. */
        if (m->n > 0 && str_eq(hash, m->entries[m->n - 1].hash))
            hash = m->entries[m->n - 1].hash;
        struct gangmap_entry *e = gangmap_add(m, name, hash, is_anchor(it.value));
        (void)map_put(&names, name, m);
        if (read_parts(m, e, it.value, c, seen))
            e->source = it.value;
    }
    for (size_t k = 0; k < m->n_components; k++)
        slots_done(&seen[k]);
    free(seen);
    map_done(&names);
}

static void write_parts(struct jw *w, const struct gangmap *m, const struct gangmap_entry *e,
                        const struct gangmap_component *c, bool groups)
{
    bool any = false;
    for (size_t k = 0; k < m->n_components; k++) {
        const struct gangmap_part *p = &e->parts[k];
        if (p->n == 0 || c[k].is_group != groups)
            continue;
        if (!any)
            jw_put_object(w, groups ? "pcsgReplicaIndices" : "podCliques");
        any = true;
        jw_key(w, c[k].name);
        if (!groups) {
            jw_int(w, p->n);
            continue;
        }
        jw_array(w);
        for (int64_t i = 0; i < p->n; i++)
            jw_int(w, p->indices[i]);
        jw_end(w);
    }
    if (any)
        jw_end(w);
}

static void write_entry(struct jw *w, const struct gangmap *m, const struct gangmap_entry *e,
                        const struct gangmap_component *c, str pcs_index)
{
    jw_object(w);
    if (!e->anchor) {
        jw_put_object(w, "dependsOn");
        jw_put_object(w, "matchLabels");
        jw_put_cstr(w, LABEL_ANCHOR, "true");
        jw_end(w);
        jw_end(w);
    }
    jw_put_object(w, "labels");
    jw_put_str(w, LABEL_GENERATION_HASH, e->hash);
    jw_put_str(w, LABEL_PCS_INDEX, pcs_index);
    if (e->anchor)
        jw_put_cstr(w, LABEL_ANCHOR, "true");
    jw_end(w);
    jw_put_str(w, "name", e->name);
    write_parts(w, m, e, c, true);
    write_parts(w, m, e, c, false);
    jw_put_str(w, "podCliqueSetGenerationHash", e->hash);
    jw_end(w);
}

void gangmap_write(struct jw *w, const struct gangmap *m, const struct gangmap_component *c,
                   int64_t pcs_index)
{
    str index = arena_printf(m->arena, "%lld", (long long)pcs_index);
    jw_object(w);
    jw_put_array(w, "entries");
    for (size_t i = 0; i < m->n; i++)
        write_entry(w, m, &m->entries[i], c, index);
    jw_end(w);
    jw_put_int(w, "podCliqueSetReplicaIndex", pcs_index);
    jw_end(w);
}

static bool is_as_read(const struct gangmap *m, const struct gangmap_entry *e)
{
    const struct gangmap_entry *from = e->origin;
    if (!from || j_is_absent(from->source) || !str_eq(e->name, from->name) ||
        !str_eq(e->hash, from->hash) || e->anchor != from->anchor)
        return false;
    for (size_t k = 0; k < m->n_components; k++) {
        const struct gangmap_part *p = &e->parts[k], *was = &from->parts[k];
        size_t bytes = p->indices ? (size_t)p->n * sizeof(*p->indices) : 0;
        if (p->n != was->n || (bytes > 0 && memcmp(p->indices, was->indices, bytes) != 0))
            return false;
    }
    return true;
}

void gangmap_splice(struct splice *s, const struct gangmap *m, const struct gangmap_component *c,
                    int64_t pcs_index)
{
    str index = arena_printf(m->arena, "%lld", (long long)pcs_index);
    struct jw w;
    splice_key(s, STR("entries"), true);
    uint32_t list = splice_open(s, false);
    for (size_t i = 0; i < m->n; i++) {
        const struct gangmap_entry *e = &m->entries[i];
        if (is_as_read(m, e)) {
            splice_item(s, e->origin->source, i == 0);
            continue;
        }
        jw_init(&w);
        write_entry(&w, m, e, c, index);
        splice_item(s, doc_root(doc_hold(m->arena, jw_doc(&w))), i == 0);
    }
    splice_close(s, list, m->n);
    jw_init(&w);
    jw_int(&w, pcs_index);
    splice_member(s, STR("podCliqueSetReplicaIndex"), doc_root(doc_hold(m->arena, jw_doc(&w))),
                  false);
}
