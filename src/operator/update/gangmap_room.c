/* See gangmap_room.h. */
#include "operator/update/gangmap_room.h"

#include "grove/pod.h"
#include "operator/common/revisions.h"
#include "operator/common/rollup.h"
#include "operator/common/tally.h"
#include "operator/update/gate.h"

/* ---- who is aside ---- */

static jval read_aside(const struct gangmap_view *v)
{
    str text = v->obj ? obj_annotation(v->obj, STR(ANNOTATION_ASIDE)) : STR_NONE;
    struct doc *d = str_is_empty(text) ? NULL : doc_hold(v->arena, doc_parse(text, NULL, NULL));
    return d ? doc_root(d) : JVAL_ABSENT;
}

/* Version 0.1.0 listed gangs. */
static bool is_listed(jval aside, const struct gangmap_entry *e)
{
    for (struct jiter it = jiter(jgetc(aside, "epochs")); jnext(&it);) {
        if (epoch_read(jstr(it.value)) == e->epoch)
            return true;
    }
    return gangmap_lists(jgetc(aside, "podGangs"), e->name);
}

void gangmap_mark_aside(struct gangmap_view *v, str hash)
{
    jval aside = read_aside(v);
    for (size_t c = 0; c < v->map.n_components; c++)
        v->components[c].aside = 0;
    if (!j_has(aside) || !str_eq(jstr(jgetc(aside, "hash")), hash))
        return;
    gangmap_own(v);
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_entry *e = &v->map.entries[i];
        e->aside = !e->anchor && str_eq(e->hash, hash) && is_listed(aside, e);
        for (size_t c = 0; e->aside && c < v->map.n_components; c++)
            v->components[c].aside += e->parts[c].n;
    }
}

bool gangmap_is_aside(const struct gangmap_view *v, str gang)
{
    const struct gangmap_entry *e = gangmap_find(&v->map, gang);
    return e && is_listed(read_aside(v), e);
}

void gangmap_write_aside(const struct gangmap_view *v, const struct gangmap *next, str hash,
                         struct jw *w)
{
    struct jw list;
    size_t n = 0;
    jw_init(&list);
    jw_object(&list);
    jw_put_str(&list, "hash", hash);
    jw_put_array(&list, "epochs");
    for (size_t i = 0; i < next->n; i++) {
        bool again = i > 0 && next->entries[i - 1].epoch == next->entries[i].epoch;
        if (!next->entries[i].aside || again)
            continue;
        jw_str(&list, arena_int(v->arena, next->entries[i].epoch));
        n++;
    }
    jw_end(&list);
    jw_end(&list);
    if (n > 0) {
        jw_put_str(w, ANNOTATION_ASIDE, strbuf_str(&list.out));
    } else if (!str_is_empty(obj_annotation(v->obj, STR(ANNOTATION_ASIDE)))) {
        jw_key(w, STR(ANNOTATION_ASIDE));
        jw_null(w);
    }
    jw_done(&list);
}

/* ---- who has no room ---- */

/* A pod that may be let go is within this time. */
#define LET_GO USEC_PER_SEC

/* One that is going needs no room. */
enum place { GOING, PLACED, COMING, NOWHERE };

/* held: an update before has set it aside, and it waits for the end. */
static enum place place_of(struct gangmap_view *v, const struct obj *pclq, const struct obj *pod,
                           bool held)
{
    if (pod->deleting || pod_is_finished(pod) || world_is_intended(v->world, pod->uid))
        return GOING;
    if (pod_is_scheduled(pod))
        return PLACED;
    if (!held && gate_waits_for_pod(v->world, pclq, pod))
        return COMING; /* until that has stopped, which is news */
    usec until = pod_awaited_until(v->world, pod), now = world_steady(v->world);
    if (until <= now && !held && gate_opens(v->world, v->arena, v->pcs, pclq, pod))
        until = now + LET_GO;
    if (until <= now || held)
        return NOWHERE;
    v->until = v->until == 0 ? until : MIN(v->until, until);
    return COMING;
}

const struct gangmap *gangmap_as_before(const struct gangmap_view *v)
{
    str hash = jstr(jgetc(obj_status(v->pcs), "lastCompleteGenerationHash"));
    const struct obj *revision = revisions_by_hash(v->world, v->pcs, v->arena, hash);
    struct gangmap_view *was = arena_new(v->arena, struct gangmap_view);
    *was = *v;
    was->map = gangmap_copy(&v->map);
    for (size_t i = 0; !revision && i < was->map.n; i++) {
        for (size_t c = 0; c < was->map.n_components; c++)
            was->map.entries[i].parts[c].current = false;
    }
    if (revision)
        gangmap_mark_current(was, revision);
    return &was->map;
}

/* What may have had none before the update: what is of the version that was complete then, and what
 * an update that did not come to its end has set aside. All else was taken from its place. The map
 * as that version sees it is made when somebody asks, which is seldom. */
struct before {
    jval aside;
    const struct gangmap *map;
};

static bool was_before(const struct gangmap_view *v, size_t entry, size_t c, struct before *b)
{
    if (!b->map)
        b->map = gangmap_as_before(v);
    return b->map->entries[entry].parts[c].current || is_listed(b->aside, &v->map.entries[entry]);
}

/* The pods of one part, by place. There may be more than the part holds, when it was scaled in and
 * they have not gone yet: those that are nowhere go first. */
struct seats {
    struct gangmap_entry *entry;
    int64_t at[NOWHERE + 1];
};

static void count_seats(struct gangmap_component *k, struct gangmap_part *p, const struct seats *s)
{
    int64_t left = MAX(p->n - s->at[PLACED], 0);
    int64_t coming = MIN(s->at[COMING], left);
    p->pods_roomless = MIN(s->at[NOWHERE], left - coming);
    k->coming += coming;
    k->roomless += p->pods_roomless;
}

static void mark_pods(struct gangmap_view *v, size_t c, struct before *b)
{
    struct gangmap_component *k = &v->components[c];
    str name = name_pclq(v->arena, v->pcs->name, v->replica, k->name);
    const struct obj *pclq = world_get(v->world, &kind_pclq, v->pcs->ns, name);
    const struct tally *t = tally_of(v->world, pclq ? pclq->uid : STR_NONE);
    struct map by_label = MAP_INIT;
    size_t n = 0;
    if (!pclq || t->scheduled >= t->active)
        return;
    struct seats *seats = arena_array(v->arena, struct seats, v->map.n + 1);
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_entry *e = &v->map.entries[i];
        if (e->parts[c].n == 0 || e->parts[c].current || !was_before(v, i, c, b))
            continue;
        seats[n].entry = e;
        (void)map_put(&by_label, name_label(v->arena, e->name), &seats[n++]);
    }
    struct cache_iter it = world_owned(v->world, &kind_pod, pclq->uid);
    for (struct obj *pod; n > 0 && (pod = cache_next(&it));) {
        struct seats *s = map_get(&by_label, obj_label(pod, STR(LABEL_PODGANG)));
        if (s)
            s->at[place_of(v, pclq, pod, is_listed(b->aside, s->entry))]++;
    }
    for (size_t i = 0; i < n; i++)
        count_seats(k, &seats[i].entry->parts[c], &seats[i]);
    map_done(&by_label);
}

/* Where the pods of a copy are: where the best of them is. Without pods it needs no room. */
static enum place place_of_copy(struct gangmap_view *v, str pcsg, jval cliques, int64_t index,
                                bool held)
{
    enum place best = NOWHERE;
    bool any = false;
    for (struct jiter it = jiter(cliques); jnext(&it);) {
        str name = name_member_pclq(v->arena, pcsg, index, jstr(it.value));
        const struct obj *pclq = world_get(v->world, &kind_pclq, v->pcs->ns, name);
        struct cache_iter pods = world_owned(v->world, &kind_pod, pclq ? pclq->uid : STR_NONE);
        for (struct obj *pod; pclq && (pod = cache_next(&pods));) {
            enum place at = place_of(v, pclq, pod, held);
            best = MIN(best, at);
            any = true;
        }
    }
    return any ? best : GOING;
}

/* Of most copies the numbers tell that they are on nodes. */
static void mark_copies(struct gangmap_view *v, size_t c, struct before *b)
{
    struct gangmap_component *k = &v->components[c];
    struct group_view g;
    str pcsg = name_pcsg(v->arena, v->pcs->name, v->replica, k->name);
    const struct obj *o = world_get(v->world, &kind_pcsg, v->pcs->ns, pcsg);
    if (!o || !pcs_find_group(&v->set, k->name, &g))
        return;
    const struct rollup *r = rollup_of(v->world, &kind_pclq, o->uid);
    for (size_t i = 0; i < v->map.n; i++) {
        struct gangmap_part *p = &v->map.entries[i].parts[c];
        for (int64_t n = 0; !p->current && n < p->n; n++) {
            if (rollup_at(r, p->indices[n]).scheduled >= jlen(g.clique_names) ||
                !was_before(v, i, c, b))
                continue;
            bool held = is_listed(b->aside, &v->map.entries[i]);
            enum place at = place_of_copy(v, pcsg, g.clique_names, p->indices[n], held);
            k->coming += at == COMING;
            if (at != NOWHERE)
                continue;
            if (!p->index_state)
                p->index_state = arena_array(v->arena, unsigned char, p->n + 1);
            p->index_state[n] |= GANGMAP_ROOMLESS;
            k->roomless++;
        }
    }
}

static void unmark(struct gangmap_view *v, size_t c)
{
    v->components[c].roomless = v->components[c].coming = 0;
    for (size_t i = 0; i < v->map.n; i++) {
        v->map.entries[i].parts[c].pods_roomless = 0;
        v->map.entries[i].parts[c].index_state = NULL;
    }
}

void gangmap_mark_room(struct gangmap_view *v)
{
    struct before b = {.aside = read_aside(v)};
    v->until = 0;
    for (size_t c = 0; c < v->map.n_components; c++) {
        struct gangmap_component *k = &v->components[c];
        unmark(v, c);
        if (k->is_group)
            mark_copies(v, c, &b);
        else
            mark_pods(v, c, &b);
        /* The minimum itself has no room: there is nothing better to make it of. */
        int64_t held = gangmap_units(&v->map, c, false) - k->surged;
        if (held - k->aside - k->roomless - k->coming < MAX(k->min_available, 1))
            unmark(v, c);
    }
}
