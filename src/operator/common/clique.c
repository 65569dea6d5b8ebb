/* PodClique objects; see clique.h. */
#include "operator/common/clique.h"

#include "grove/admission.h"
#include "operator/common/gangmap_world.h"
#include "operator/common/mnnvl.h"
#include "operator/common/revisions.h"
#include "operator/common/startup.h"
#include "operator/common/update.h"

static bool is_member(const struct clique_place *c)
{
    return c->owner->kind == &kind_pcsg;
}

static str clique_name(struct arena *a, const struct clique_place *c)
{
    return is_member(c) ? name_member_pclq(a, c->owner->name, c->group_index, c->clique.name)
                        : name_pclq(a, c->pcs->name, c->pcs_index, c->clique.name);
}

struct clique_place clique_place(struct arena *a, const struct obj *pcs, const struct obj *owner,
                                 jval template)
{
    struct clique_place c = {.pcs = pcs, .owner = owner};
    clique_view(template, &c.clique);
    c.hash = hash_encode(a, grove_clique_hash(jpath(obj_root(pcs), "spec.template"), template));
    return c;
}

/* Where a map rules, the gang is that of the entry; others than anchors wait for the replica's
 * anchors, which its base name stands for. */
static void mapped_labels(struct arena *a, const struct clique_place *c, struct labels *l)
{
    if (!c->entry)
        return;
    labels_set(l, LABEL_PODGANG, name_label(a, c->entry->name));
    if (!c->entry->anchor)
        labels_set(l, LABEL_BASE_PODGANG,
                   name_label(a, name_base_gang(a, c->pcs->name, c->pcs_index)));
}

static void gang_labels(struct arena *a, const struct clique_place *c, struct labels *l)
{
    str base = name_base_gang(a, c->pcs->name, c->pcs_index);
    if (c->gangs) {
        mapped_labels(a, c, l);
        return;
    }
    labels_set(l, LABEL_PODGANG, name_label(a, base));
    if (is_member(c) && c->group_index >= c->group.min_available) {
        str gang = name_scaled_gang(a, c->owner->name, c->group_index, c->group.min_available);
        labels_set(l, LABEL_PODGANG, name_label(a, gang));
        labels_set(l, LABEL_BASE_PODGANG, name_label(a, base));
    }
}

static void clique_labels(struct arena *a, const struct clique_place *c, struct labels *l)
{
    str role = name_label(a, c->clique.role);
    labels_init(l, a);
    labels_add_all(l, c->clique.labels);
    labels_common(l, c->pcs->name, is_member(c) ? "pcsg-podclique" : "pcs-podclique");
    labels_set(l, LABEL_NAME, name_label(a, clique_name(a, c)));
    if (str_is_label_value(role)) /* any text is a role, not any text is a label */
        labels_set(l, LABEL_ROLE, role);
    labels_set_int(l, LABEL_PCS_INDEX, c->pcs_index);
    labels_set(l, LABEL_TEMPLATE_HASH, c->hash);
    gang_labels(a, c, l);
    if (!is_member(c))
        return;
    labels_set(l, LABEL_PCSG, name_label(a, c->owner->name));
    labels_set_int(l, LABEL_PCSG_INDEX, c->group_index);
}

/* Pods of one copy of the group, as the template has them. */
static int64_t group_pods(const struct clique_place *c)
{
    struct pcs_view pcs;
    struct clique_view clique;
    int64_t sum = 0;
    pcs_view(c->pcs, &pcs);
    for (struct jiter it = jiter(c->group.clique_names); jnext(&it);)
        sum += pcs_find_clique(&pcs, jstr(it.value), &clique) ? clique.replicas : 0;
    return sum;
}

static void write_pod_spec(struct jw *w, struct arena *a, const struct clique_place *c)
{
    if (!is_member(c)) {
        jw_put(w, "podSpec", c->clique.pod_spec);
        return;
    }
    /* A label holds only what fits into it. */
    bool fits = str_eq(name_label(a, c->owner->name), c->owner->name);
    const struct env env[] = {
        {"GROVE_PCSG_NAME", c->owner->name, fits ? LABEL_PCSG : NULL},
        {"GROVE_PCSG_TEMPLATE_NUM_PODS", arena_printf(a, "%lld", (long long)group_pods(c)), NULL},
        {"GROVE_PCSG_INDEX", STR_NONE, LABEL_PCSG_INDEX},
    };
    jw_put_object(w, "podSpec");
    for (struct jiter it = jiter(c->clique.pod_spec); jnext(&it);) {
        jw_key(w, it.key);
        if (str_is(it.key, "containers") || str_is(it.key, "initContainers"))
            make_containers(w, it.value, env, ARRAY_LEN(env));
        else
            jw_val(w, it.value);
    }
    jw_end(w);
}

/* With the claim of its ComputeDomain, where it has one. */
static void write_claimed_pod_spec(struct jw *w, struct arena *a, const struct clique_place *c)
{
    str domain = mnnvl_domain(a, c->pcs, c->pcs_index, c->clique.name);
    if (str_is_empty(domain)) {
        write_pod_spec(w, a, c);
        return;
    }
    struct jw plain;
    jw_init(&plain);
    jw_object(&plain);
    write_pod_spec(&plain, a, c);
    jw_end(&plain);
    struct doc *d = jw_doc(&plain);
    mnnvl_write_pod_spec(w, jgetc(doc_root(d), "podSpec"), domain);
    doc_unref(d);
}

static void write_starts_after(struct jw *w, struct arena *a, const struct clique_place *c)
{
    startup_names parents;
    if (c->entry)
        gangmap_parents(a, c->gangs, c->entry, c, &parents);
    else
        startup_parents(a, c, &parents);
    if (parents.len > 0) {
        jw_put_array(w, "startsAfter");
        for (size_t i = 0; i < parents.len; i++)
            jw_str(w, parents.p[i]);
        jw_end(w);
    }
    vec_done(&parents);
}

/* What the template does not say any more is said here, as fields that nobody names stay. */
static void write_replacement(struct jw *w, const struct clique_place *c,
                              const struct obj *existing)
{
    str policy = c->clique.replacement;
    if (str_is_empty(policy) && existing &&
        j_has(jgetc(obj_spec(existing), "podReplacementPolicy")))
        policy = STR("Failed");
    if (!str_is_empty(policy))
        jw_put_str(w, "podReplacementPolicy", policy);
}

static struct doc *make_clique(struct arena *a, const struct clique_place *c,
                               const struct obj *existing)
{
    struct labels l, annotations;
    clique_labels(a, c, &l);
    labels_init(&annotations, a);
    for (struct jiter it = jiter(c->clique.annotations); jnext(&it);) {
        if (!str_is(it.key, ANNOTATION_TOPOLOGY))
            labels_put(&annotations, it.key, jstr(it.value));
    }
    struct jw w;
    make_begin(&w, &(struct make_meta){&kind_pclq, c->pcs->ns, clique_name(a, c), &l, &annotations,
                                       c->owner, existing ? NULL : FINALIZER_PCLQ});
    jw_put_object(&w, "spec");
    jw_put_int(&w, "minAvailable", c->clique.min_available);
    write_claimed_pod_spec(&w, a, c);
    if (!existing)
        jw_put_int(&w, "replicas", c->clique.replicas);
    write_replacement(&w, c, existing);
    jw_put_str(&w, "roleName", c->clique.role);
    write_starts_after(&w, a, c);
    jw_end(&w);
    return make_end(&w);
}

static void drop_keys(struct edit *e, const char *field, jval before, jval desired, jval there)
{
    for (struct jiter it = jiter(before); jnext(&it);) {
        if (j_is_absent(jget(desired, it.key)) && !j_is_absent(jget(there, it.key)))
            edit_set_raw(e, edit_path(e->arena, STR("metadata"), str_of(field), it.key),
                         STR("null"));
    }
}

/* What is there is of another template: labels and annotations that this said and the new one does
 * not are to go, also those of names under which others write (make.c keeps those). Takes over the
 * document. */
static struct doc *without_former(const struct world *w, struct arena *a,
                                  const struct clique_place *c, const struct obj *there,
                                  struct doc *desired)
{
    str hash = obj_label(there, STR(LABEL_TEMPLATE_HASH));
    const struct obj *revision = str_is_empty(hash) || str_eq(hash, c->hash)
                                     ? NULL
                                     : revisions_naming(w, c->pcs, a, c->clique.name, hash);
    if (!revision)
        return desired;
    jval before = update_stored_clique(revision, c->clique.name), root = doc_root(desired);
    struct edit e;
    edit_init(&e, a);
    drop_keys(&e, "labels", jgetc(before, "labels"), jpath(root, "metadata.labels"), there->labels);
    drop_keys(&e, "annotations", jgetc(before, "annotations"), jpath(root, "metadata.annotations"),
              there->annotations);
    if (!edit_is_empty(&e)) {
        struct doc *d = edit_apply(&e, desired, NULL);
        doc_unref(desired);
        desired = d;
    }
    edit_done(&e);
    return desired;
}

/* Labels of Grove's own are kept by default: what the map takes from a clique goes by name. */
static void drop_gang_labels(const struct clique_place *c, const struct obj *there, unsigned stage,
                             struct plan *p)
{
    bool gang = !c->entry && !str_is_empty(obj_label(there, STR(LABEL_PODGANG)));
    bool base =
        (!c->entry || c->entry->anchor) && !str_is_empty(obj_label(there, STR(LABEL_BASE_PODGANG)));
    struct jw w;
    if (!c->gangs->obj || (!gang && !base))
        return;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_object(&w, "labels");
    if (gang) {
        jw_key(&w, STR(LABEL_PODGANG));
        jw_null(&w);
    }
    if (base) {
        jw_key(&w, STR(LABEL_BASE_PODGANG));
        jw_null(&w);
    }
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_merge_patch(p, stage, there, STR_NONE, jw_doc(&w), 0), p,
             "the map of gangs says otherwise");
}

void clique_ensure(const struct world *w, const struct clique_place *place, unsigned stage,
                   struct plan *p)
{
    struct clique_place fit = *place;
    str name = clique_name(p->arena, place);
    const struct obj *there = world_get(w, &kind_pclq, place->pcs->ns, name);
    if (!gangmap_fit_place(w, p->arena, &fit))
        return;
    struct doc *desired = make_clique(p->arena, &fit, there);
    if (there)
        desired = without_former(w, p->arena, &fit, there, desired);
    make_ensure(p, stage, w, place->owner, there, &kind_pclq, name, desired);
    if (fit.gangs && there && !there->deleting && make_is_child(there, place->owner))
        drop_gang_labels(&fit, there, stage, p);
}

const struct obj *clique_shape(struct arena *a, const struct clique_place *place, str uid)
{
    struct edit e;
    struct doc *d = make_clique(a, place, NULL);
    edit_init(&e, a);
    edit_set_str(&e, edit_path(a, STR("metadata"), STR("uid")), uid);
    struct doc *with_uid = edit_apply(&e, d, NULL);
    edit_done(&e);
    doc_unref(d);
    struct obj *o = obj_new(&kind_pclq, with_uid, NULL);
    return o ? obj_hold(a, o) : NULL;
}

/* Labels hold whole names, unless those are too long. */
static str mapped_gang(struct arena *a, const struct world *w, const struct obj *pcs,
                       int64_t replica, str label)
{
    struct gangmap_view v;
    if (!name_may_be_shortened(label) || !gangmap_view(&v, w, a, pcs, replica))
        return label;
    for (size_t i = 0; i < v.map.n; i++) {
        if (name_has_label(v.map.entries[i].name, label))
            return v.map.entries[i].name;
    }
    return label;
}

bool clique_is_mapped(const struct world *w, const struct obj *pclq)
{
    const struct obj *pcs = owner_pcs(w, pclq);
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    return pcs && replica >= 0 && gangmap_rules(w, pcs, replica);
}

str pod_gang(struct arena *a, const struct world *w, const struct obj *pod)
{
    const struct obj *pcs = owner_pcs(w, pod);
    str label = obj_label(pod, STR(LABEL_PODGANG));
    return pcs ? mapped_gang(a, w, pcs, label_index(pod, STR(LABEL_PCS_INDEX)), label) : label;
}

void cliques_by_gang(const struct obj *pclq, struct arena *a, str *keys, size_t max, size_t *n)
{
    str gang = obj_label(pclq, STR(LABEL_PODGANG));
    *n = 0;
    if (max > 0 && !str_is_empty(gang))
        keys[(*n)++] = arena_cat(a, pclq->ns, STR("/"), gang);
}

str clique_gang(struct arena *a, const struct world *w, const struct obj *pclq, str *ret_base)
{
    const struct obj *pcs = owner_pcs(w, pclq);
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    *ret_base = STR_NONE;
    if (!pcs || replica < 0)
        return STR_NONE;
    str base = name_base_gang(a, pcs->name, replica);
    jval owner = obj_controller_ref(pclq);
    bool member = str_is(jstr(jgetc(owner, "kind")), kind_pcsg.kind);
    if (gangmap_rules(w, pcs, replica)) {
        if (!str_is_empty(obj_label(pclq, STR(LABEL_BASE_PODGANG))))
            *ret_base = base;
        return member ? mapped_gang(a, w, pcs, replica, obj_label(pclq, STR(LABEL_PODGANG)))
                      : STR_NONE;
    }
    if (!member)
        return base;
    const struct obj *pcsg = world_get(w, &kind_pcsg, pclq->ns, jstr(jgetc(owner, "name")));
    int64_t index = label_index(pclq, STR(LABEL_PCSG_INDEX));
    if (!pcsg || index < 0)
        return STR_NONE;
    int64_t min = jint(jgetc(obj_spec(pcsg), "minAvailable"), 1);
    if (index < min)
        return base;
    *ret_base = base;
    return name_scaled_gang(a, pcsg->name, index, min);
}

bool clique_is_updated(const struct obj *pclq)
{
    jval status = obj_status(pclq);
    return str_eq(jstr(jgetc(status, "currentPodTemplateHash")),
                  obj_label(pclq, STR(LABEL_TEMPLATE_HASH))) &&
           jint(jgetc(status, "terminatingOutdatedReplicas"), 0) == 0 &&
           jint(jgetc(status, "updatedReplicas"), 0) >=
               MAX(component_needs(obj_spec(pclq)), jint(jgetc(status, "replicas"), 0));
}

int64_t component_needs(jval spec)
{
    int64_t replicas = MAX(jint(jgetc(spec, "replicas"), 0), 0);
    return MIN(jint(jgetc(spec, "minAvailable"), 1), replicas);
}

bool clique_is_updating(const struct obj *pclq)
{
    jval progress = jgetc(obj_status(pclq), "updateProgress");
    return jtype(progress) == J_OBJECT && str_is_empty(jstr(jgetc(progress, "updateEndedAt")));
}

jval clique_template(struct arena *a, const struct obj *pcs, int64_t pcs_index, str pclq)
{
    struct pcs_view view;
    struct group_view group;
    pcs_view(pcs, &view);
    for (struct jiter it = jiter(view.cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        bool is_it =
            pcs_group_of(&view, name, &group)
                ? name_index(pclq, name_pcsg(a, pcs->name, pcs_index, group.name), name) >= 0
                : str_eq(pclq, name_pclq(a, pcs->name, pcs_index, name));
        if (is_it)
            return it.value;
    }
    return JVAL_ABSENT;
}

void make_undeclared(const struct world *w, const struct obj *o, const char *where, struct plan *p,
                     unsigned stage)
{
    jval old = jgetc(obj_status(o), "conditions");
    struct condition c = {
        "Declared", "False", "NoPodCliqueSet",
        arena_printf(p->arena,
                     "it belongs to no PodCliqueSet, so nothing is made for it: declare it in %s "
                     "of a PodCliqueSet, which then makes its own",
                     where)};
    if (str_is(jstr(jgetc(condition_find(old, str_of(c.type)), "status")), c.status))
        return;
    struct jw j;
    jw_init(&j);
    jw_object(&j);
    jw_put_int(&j, "observedGeneration", o->generation);
    make_conditions(&j, old, &c, 1, w->now);
    jw_end(&j);
    make_status(p, stage, o, jw_doc(&j));
    plan_event(p, o, true, STR("NoPodCliqueSet"), "%.*s", STR_ARG(c.message));
}
