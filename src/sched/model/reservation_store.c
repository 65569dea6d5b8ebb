/*
 * Room that is kept, in the API: status.reservations of the PodGang, an entry for each pod that
 * left: which group's, where, until when, and what it held. A scheduler that starts, or counts its
 * tables anew, takes the room again before it places anything.
 *
 * The entry says what was held as requests, since the pod is gone: a pod with these requests and
 * nothing else stands for it. Nothing is believed that does not fit what is there: nodes, groups,
 * times and amounts come from an object that anybody may have written.
 */
#include "base/quantity.h"
#include "base/timefmt.h"
#include "grove/names.h"
#include "grove/types.h"
#include "sched/model/reservation.h"
#include "sched/model/tell.h"
#include "json/write.h"

enum { STORED_MAX = 64 };

/* ---- writing ---- */

static str group_of(const struct tgang *g, uint64_t pclq, struct arena *a)
{
    for (struct jiter it = jiter(jgetc(obj_spec(g->obj), "podgroups")); pclq && jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (lease_clique(name_label(a, name)) == pclq)
            return name;
    }
    return STR_NONE;
}

static void put_requests(struct jw *w, const struct tables *t, int32_t cls, struct arena *a)
{
    jw_put_object(w, "requests");
    for (size_t r = 0; r < t->snap.n_resources; r++) {
        int64_t amount = core_amount_of(t->core, cls, (int32_t)r);
        if (amount <= 0 || r == RES_PODS)
            continue;
        jw_key(w, t->snap.resources[r]);
        jw_str(w, arena_printf(a, "%lld%s", (long long)amount, r == RES_CPU ? "m" : ""));
    }
    jw_end(w);
}

/* It ends LEASE_TIME after it was kept, which is a time that the clock has shown; when it ends the
 * clock may have been set. */
static usec stored_until(const struct world *w, usec until)
{
    return world_shown(w, until - LEASE_TIME) + LEASE_TIME;
}

static usec restored_until(const struct world *w, usec stored)
{
    return world_rebased(w, NULL, stored - LEASE_TIME) + LEASE_TIME - w->now + world_steady(w);
}

static void put_lease(struct jw *w, const struct tables *t, const struct tlease *l,
                      const struct world *world, struct arena *a)
{
    struct strbuf until = STRBUF_INIT(64);
    str group = group_of(l->gang, l->pclq, a);
    time_format_rfc3339(stored_until(world, l->until), &until);
    jw_object(w);
    if (!str_is_empty(group))
        jw_put_str(w, "podGroup", group);
    jw_put_str(w, "node", t->snap.nodes.p[l->node].name);
    jw_put_str(w, "until", strbuf_str(&until));
    put_requests(w, t, l->cls, a);
    jw_end(w);
    strbuf_done(&until);
}

static usec age_of(const struct tlease *l, usec now)
{
    return l->until == 0 ? 0 : now - (l->until - LEASE_TIME);
}

/* As a document; a list without entries: nothing that is old enough. Sets when the next one will
 * be.
 */
static struct doc *list_kept(const struct tables *t, const struct tgang *g,
                             const struct world *world, struct plan *p)
{
    struct jw w;
    size_t n = 0;
    usec now = world_steady(world);
    jw_init(&w);
    jw_array(&w);
    for (size_t i = 0; i < t->leases.len && n < STORED_MAX; i++) {
        const struct tlease *l = &t->leases.p[i];
        if (l->gang != g)
            continue;
        usec age = age_of(l, now);
        if (age < LEASE_STORE_AFTER) {
            plan_look_again(p, LEASE_STORE_AFTER - age);
            continue;
        }
        put_lease(&w, t, l, world, p->arena);
        n++;
    }
    jw_end(&w);
    return jw_doc(&w);
}

/* An end that was read back from whole seconds may be a second off: that is no news. */
static bool is_same_end(jval a, jval b)
{
    usec x, y;
    return time_parse_rfc3339(jstr(a), &x) && time_parse_rfc3339(jstr(b), &y) &&
           MAX(x, y) - MIN(x, y) <= USEC_PER_SEC;
}

static bool is_stored(jval list, jval stored)
{
    static const char *const fields[] = {"podGroup", "node", "requests"};
    struct jiter a = jiter(list), b = jiter(stored);
    bool same = jlen(list) == jlen(stored);
    while (same && jnext(&a) && jnext(&b)) {
        same = is_same_end(jgetc(a.value, "until"), jgetc(b.value, "until"));
        for (size_t i = 0; same && i < ARRAY_LEN(fields); i++)
            same = jequal(jget(a.value, str_of(fields[i])), jget(b.value, str_of(fields[i])));
    }
    return same;
}

static void store_gang(struct tables *t, struct tgang *g, const struct world *w, struct plan *p)
{
    jval stored = jgetc(obj_status(g->obj), "reservations");
    struct doc *kept = list_kept(t, g, w, p);
    jval list = doc_root(kept);
    struct verdict v = {.score = -1, .kept_known = true, .kept = list};
    bool same = is_stored(list, stored);
    if (!same && tell_is_told(p, g->obj))
        plan_look_again(p, 0);
    else if (!same)
        tell_gang(p, w, g->obj, &v);
    doc_unref(kept);
}

void lease_store(struct tables *t, const struct world *w, struct plan *p)
{
    for (size_t i = 0; i < t->leases.len; i++) {
        struct tgang *g = t->leases.p[i].gang;
        if (list_is_empty(&g->stored))
            list_push_back(&t->stored, &g->stored);
    }
    for (struct list *it = t->stored.next, *next; it != &t->stored; it = next) {
        struct tgang *g = list_entry(it, struct tgang, stored);
        next = it->next;
        if (g->obj && !g->obj->deleting)
            store_gang(t, g, w, p);
        bool says = g->obj && jlen(jgetc(obj_status(g->obj), "reservations")) > 0;
        if (g->n_leases == 0 && !says)
            list_remove(&g->stored);
    }
}

/* ---- reading ---- */

static int32_t class_of(struct tables *t, jval requests)
{
    struct jw w;
    struct err err = ERR_INIT;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_cstr(&w, "name", "kept");
    jw_put_cstr(&w, "namespace", "default");
    jw_end(&w);
    jw_put_object(&w, "spec");
    jw_put_array(&w, "containers");
    jw_object(&w);
    jw_put_object(&w, "resources");
    if (jtype(requests) == J_OBJECT)
        jw_put(&w, "requests", requests);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    struct obj *pod = obj_new(&kind_pod, jw_doc(&w), &err);
    int32_t cls = pod ? tables_class_of(t, pod) : CORE_NONE;
    obj_unref(pod);
    return cls;
}

static void restore_one(struct tables *t, struct tgang *g, jval entry, const struct world *w)
{
    struct arena a = ARENA_INIT;
    str group = jstr(jgetc(entry, "podGroup"));
    struct tlease l = {.gang = g,
                       .node = tables_node(t, jstr(jgetc(entry, "node"))),
                       .pclq = str_is_empty(group) ? 0 : lease_clique(name_label(&a, group))};
    arena_done(&a);
    usec until, now = world_steady(w);
    if (!time_parse_rfc3339(jstr(jgetc(entry, "until")), &until))
        return;
    l.until = restored_until(w, until);
    if (l.until <= now || l.until > now + LEASE_TIME || l.node == CORE_NONE ||
        !t->snap.nodes.p[l.node].open || t->leases.len >= LEASES_MAX)
        return;
    l.cls = class_of(t, jgetc(entry, "requests"));
    if (l.cls != CORE_NONE && core_slots(t->core, l.cls, l.node) > 0)
        lease_add(t, &l);
}

void lease_restore(struct tables *t, const struct world *w)
{
    list_foreach (it, &t->stored) {
        struct tgang *g = list_entry(it, struct tgang, stored);
        size_t n = 0;
        if (!lease_is_for(g))
            continue;
        for (struct jiter k = jiter(jgetc(obj_status(g->obj), "reservations"));
             jnext(&k) && n < STORED_MAX; n++)
            restore_one(t, g, k.value, w);
    }
}
