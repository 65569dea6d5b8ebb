/* See kept.h. The annotation is {"<clique>": {"replica": i, "replicas": n, "uid": "..."}}. */
#include "operator/common/kept.h"

#include "operator/common/clique.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/upkeep.h"

static struct doc *kept_doc(const struct obj *pcs)
{
    str text = obj_annotation(pcs, STR(ANNOTATION_KEPT));
    struct doc *d = str_is_empty(text) ? NULL : doc_parse(text, NULL, NULL);
    if (d && jtype(doc_root(d)) != J_OBJECT) {
        doc_unref(d);
        return NULL;
    }
    return d;
}

int64_t kept_replicas(const struct obj *pcs, str pclq, int64_t otherwise)
{
    struct doc *d = kept_doc(pcs);
    if (!d)
        return otherwise;
    int64_t n = jint(jgetc(jget(doc_root(d), pclq), "replicas"), otherwise);
    doc_unref(d);
    return n >= 0 && n <= INT32_MAX ? n : otherwise;
}

/* Patches the annotation; it goes when nothing is left in it. */
static void plan_annotation(const struct obj *pcs, str text, unsigned stage, struct plan *p,
                            const char *why)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_object(&w, "annotations");
    jw_key(&w, STR(ANNOTATION_KEPT));
    if (str_is_empty(text))
        jw_null(&w);
    else
        jw_str(&w, text);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_merge_patch(p, stage, pcs, STR_NONE, jw_doc(&w), pcs->rv), p, "%s", why);
}

static int64_t template_replicas(const struct obj *pcs, const struct obj *pclq, struct arena *a)
{
    struct pcs_view v;
    pcs_view(pcs, &v);
    jval owner = obj_controller_ref(pclq);
    bool member = str_is(jstr(jgetc(owner, "kind")), kind_pcsg.kind);
    for (struct jiter it = jiter(v.cliques); jnext(&it);) {
        struct clique_view c;
        clique_view(it.value, &c);
        str name = member
                       ? name_member_pclq(a, jstr(jgetc(owner, "name")),
                                          label_index(pclq, STR(LABEL_PCSG_INDEX)), c.name)
                       : name_pclq(a, pcs->name, label_index(pclq, STR(LABEL_PCS_INDEX)), c.name);
        if (str_eq(name, pclq->name))
            return c.replicas;
    }
    return -1;
}

static void write_entry(struct jw *w, const struct obj *pclq, int64_t replicas)
{
    jw_key(w, pclq->name);
    jw_object(w);
    jw_put_int(w, "replica", label_index(pclq, STR(LABEL_PCS_INDEX)));
    jw_put_int(w, "replicas", replicas);
    jw_put_str(w, "uid", pclq->uid);
    jw_end(w);
}

static const struct obj *find_clique(struct obj *const *cliques, size_t n, str name)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(cliques[i]->name, name))
            return cliques[i];
    }
    return NULL;
}

/* -1: nothing to remember, its template says the same. */
static int64_t own_replicas(const struct obj *pcs, const struct obj *pclq, struct arena *a)
{
    int64_t replicas = jint(jgetc(obj_spec(pclq), "replicas"), 0);
    return replicas == template_replicas(pcs, pclq, a) ? -1 : replicas;
}

bool kept_text(const struct obj *pcs, struct obj *const *cliques, size_t n, struct arena *a,
               str *ret)
{
    struct doc *old = kept_doc(pcs);
    struct jw w;
    size_t kept = 0;
    jw_init(&w);
    jw_object(&w);
    jval before = old ? doc_root(old) : JVAL_ABSENT;
    /* What is there stays where it is, so that the same numbers are no news. */
    for (struct jiter it = jiter(before); jnext(&it);) {
        const struct obj *clique = find_clique(cliques, n, it.key);
        int64_t replicas = clique ? own_replicas(pcs, clique, a) : -1;
        if (replicas >= 0) {
            write_entry(&w, clique, replicas);
            kept++;
        } else if (!clique) {
            jw_key(&w, it.key);
            jw_val(&w, it.value);
        }
    }
    for (size_t i = 0; i < n; i++) {
        int64_t replicas = own_replicas(pcs, cliques[i], a);
        if (replicas < 0 || j_has(jget(before, cliques[i]->name)))
            continue;
        write_entry(&w, cliques[i], replicas);
        kept++;
    }
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    bool news = kept > 0 && !str_eq(doc_text(d), obj_annotation(pcs, STR(ANNOTATION_KEPT)));
    if (news)
        *ret = arena_str(a, doc_text(d));
    doc_unref(d);
    doc_unref(old);
    return news;
}

/* The template has such a clique in this replica, and its group, if it is in one, such a copy. */
static bool has_place(const struct world *w, const struct obj *pcs, str name, int64_t replica,
                      struct arena *a)
{
    struct pcs_view v;
    struct group_view g;
    jval template = clique_template(a, pcs, replica, name);
    str clique = jstr(jgetc(template, "name"));
    pcs_view(pcs, &v);
    /* A name too long to be written out may tell neither clique nor number. */
    if (replica >= v.replicas || str_is_empty(clique) || !pcs_group_of(&v, clique, &g))
        return replica < v.replicas;
    str pcsg = name_pcsg(a, pcs->name, replica, g.name);
    const struct obj *o = world_get(w, &kind_pcsg, pcs->ns, pcsg);
    int64_t copy = name_index(name, pcsg, clique);
    return !o || copy < 0 || gangmap_wants(w, a, pcs, o, copy);
}

/* Another clique has taken its place, or there is no such place any more. */
static bool has_served(const struct world *w, const struct obj *pcs, str name, jval entry,
                       struct arena *a)
{
    const struct obj *o = world_get(w, &kind_pclq, pcs->ns, name);
    return !has_place(w, pcs, name, jint(jgetc(entry, "replica"), 0), a) ||
           (o && !str_eq(o->uid, jstr(jgetc(entry, "uid"))));
}

void kept_forget(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p)
{
    struct doc *old = kept_doc(pcs);
    if (!old)
        return;
    struct jw j;
    size_t left = 0, gone = 0;
    jw_init(&j);
    jw_object(&j);
    for (struct jiter it = jiter(doc_root(old)); jnext(&it);) {
        bool served = has_served(w, pcs, it.key, it.value, p->arena);
        gone += served;
        left += !served;
        if (served)
            continue;
        jw_key(&j, it.key);
        jw_val(&j, it.value);
    }
    jw_end(&j);
    struct doc *d = jw_doc(&j);
    if (gone > 0)
        plan_annotation(pcs, left ? arena_str(p->arena, doc_text(d)) : STR_NONE, stage, p,
                        "the cliques are there again with the numbers that were kept");
    doc_unref(d);
    doc_unref(old);
}

void kept_from_child(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    bool news = !old || !new || old->generation != new->generation;
    const struct obj *pcs = news ? owner_pcs(w, new ? new : old) : NULL;
    if (pcs && !str_is_empty(obj_annotation(pcs, STR(ANNOTATION_KEPT))))
        controller_enqueue(c, &kind_pcs, pcs->ns, pcs->name);
}
