/*
 * Deleting: at once, after a grace period, or when the last finalizer is gone. The rules are those
 * of kube-apiserver's registry store (BeforeDelete, deletionFinalizersForGarbageCollection, the pod
 * and namespace strategies), with one difference: what it does in two writes (mark, then remove) we
 * do in one.
 */
#include "apiserver/crd.h"
#include "apiserver/request.h"
#include "base/vec.h"
#include "json/edit.h"

#define FINALIZER_ORPHAN "orphan"
#define FINALIZER_FOREGROUND "foregroundDeletion"

/* What the client asked for, from the request or an eviction's body. */
struct delete_options {
    str uid;
    uint64_t rv;
    int64_t grace; /* -1: not given */
    enum api_propagation propagation;
    bool evicts;
};

static struct delete_options options_of(const struct api_request *r)
{
    return (struct delete_options){
        .uid = r->uid, .rv = r->rv, .grace = r->grace_seconds, .propagation = r->propagation};
}

/* ---- conditions ---- */

static void refuse_precondition(struct req *q, str why)
{
    struct status *s = status_new(
        &q->arena, 409, "Conflict", "Operation cannot be fulfilled on %s%s%s \"%.*s\": %.*s",
        q->kind->kind, *q->kind->group ? "." : "", q->kind->group, STR_ARG(q->name), STR_ARG(why));
    s->name = q->name;
    s->group = str_of(q->kind->group);
    s->kind = str_of(q->kind->kind);
    req_refuse(q, s);
}

static bool check_conditions(struct req *q, const struct delete_options *o)
{
    if (o->uid.len && !str_eq(o->uid, q->base->uid)) {
        refuse_precondition(
            q, arena_printf(&q->arena,
                            "the UID in the precondition (%.*s) does not match the UID in record "
                            "(%.*s). The object might have been deleted and then recreated",
                            STR_ARG(o->uid), STR_ARG(q->base->uid)));
        return false;
    }
    if (o->rv && o->rv != q->base->rv) {
        refuse_precondition(
            q, arena_printf(&q->arena,
                            "the ResourceVersion in the precondition (%llu) does not match the "
                            "ResourceVersion in record (%llu). The object might have been modified",
                            (unsigned long long)o->rv, (unsigned long long)q->base->rv));
        return false;
    }
    return true;
}

/* ---- the new version ---- */

struct marking {
    struct req *q;
    struct edit edit;
    bool has_finalizers;
};

/* A pod that is evicted says so for as long as it is there. */
static void mark_disrupted(struct marking *m)
{
    const struct req *q = m->q;
    struct jw w;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(jgetc(obj_status(q->base), "conditions")); jnext(&it);)
        if (!str_is(jstr(jgetc(it.value, "type")), "DisruptionTarget"))
            jw_val(&w, it.value);
    jw_object(&w);
    jw_put_cstr(&w, "type", "DisruptionTarget");
    jw_put_cstr(&w, "status", "True");
    jw_key(&w, STR("lastProbeTime"));
    jw_null(&w);
    jw_put_str(&w, "lastTransitionTime", time_text(&m->q->arena, loop_wall(q->server->loop)));
    jw_put_cstr(&w, "reason", "EvictionByEvictionAPI");
    jw_put_cstr(&w, "message", "Eviction API: evicting");
    jw_end(&w);
    jw_end(&w);
    edit_set_raw(&m->edit, STR("/status/conditions"), strbuf_str(&w.out));
    jw_done(&w);
}

static void mark_time(struct marking *m, usec at, int64_t grace)
{
    edit_set_str(&m->edit, STR("/metadata/deletionTimestamp"), time_text(&m->q->arena, at));
    if (grace >= 0)
        edit_set_int(&m->edit, STR("/metadata/deletionGracePeriodSeconds"), grace);
}

static void bump_generation(struct marking *m)
{
    const struct obj *base = m->q->base;
    if (base->generation > 0)
        edit_set_int(&m->edit, STR("/metadata/generation"), base->generation + 1);
}

/* The garbage collector's finalizers follow the policy asked for; without one they stay. */
static void mark_finalizers(struct marking *m, enum api_propagation p)
{
    const struct obj *base = m->q->base;
    bool had_orphan = obj_has_finalizer(base, STR(FINALIZER_ORPHAN));
    bool had_foreground = obj_has_finalizer(base, STR(FINALIZER_FOREGROUND));
    bool orphan = p == API_ORPHAN || (p == API_PROPAGATION_DEFAULT && had_orphan);
    bool foreground = p == API_FOREGROUND || (p == API_PROPAGATION_DEFAULT && had_foreground);
    struct jw w;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(jgetc(base->meta, "finalizers")); jnext(&it);) {
        str f = jstr(it.value);
        if (str_is(f, FINALIZER_ORPHAN) || str_is(f, FINALIZER_FOREGROUND))
            continue;
        jw_str(&w, f);
        m->has_finalizers = true;
    }
    if (orphan)
        jw_str(&w, STR(FINALIZER_ORPHAN));
    if (foreground)
        jw_str(&w, STR(FINALIZER_FOREGROUND));
    m->has_finalizers |= orphan || foreground;
    jw_end(&w);
    if (orphan != had_orphan || foreground != had_foreground) {
        if (m->has_finalizers)
            edit_set_raw(&m->edit, STR("/metadata/finalizers"), strbuf_str(&w.out));
        else
            edit_del(&m->edit, STR("/metadata/finalizers"));
    }
    jw_done(&w);
}

static void finish(struct marking *m, enum req_effect effect)
{
    struct req *q = m->q;
    if (effect == EFFECT_STORE && edit_is_empty(&m->edit))
        effect = EFFECT_NONE;
    struct doc *d = edit_apply(&m->edit, q->base->doc, NULL);
    BUG_ON(!d); /* all paths lead through metadata, which is an object */
    write_set_doc(q, d);
    q->effect = effect;
}

/* ---- pods ---- */

static bool pod_ends_at_once(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName"))) || str_is(phase, "Succeeded") ||
           str_is(phase, "Failed");
}

static int64_t pod_grace(const struct obj *pod, int64_t asked)
{
    int64_t grace = asked;
    if (grace < 0)
        grace = jint(jgetc(obj_spec(pod), "terminationGracePeriodSeconds"), 0);
    if (pod_ends_at_once(pod))
        return 0;
    return grace < 0 ? 1 : grace;
}

/* A pod that is being deleted: its grace period may only become shorter. Returns what is left of
 * it, or -1 when nothing changes. */
static int64_t shorten_grace(struct marking *m, int64_t asked)
{
    const struct obj *pod = m->q->base;
    int64_t had = jint(jgetc(pod->meta, "deletionGracePeriodSeconds"), 0);
    if (had == 0)
        return 0;
    if (asked < 0 || asked >= had)
        return -1;
    mark_time(m, obj_deleted_at(pod) - (had - asked) * USEC_PER_SEC, asked);
    return asked;
}

static void delete_pod(struct marking *m, const struct delete_options *o)
{
    struct req *q = m->q;
    int64_t grace;
    if (q->base->deleting) {
        grace = shorten_grace(m, o->grace);
        if (grace < 0) {
            finish(m, EFFECT_STORE);
            return;
        }
    } else {
        grace = pod_grace(q->base, o->grace);
        mark_time(m, loop_wall(q->server->loop) + grace * USEC_PER_SEC, grace);
        bump_generation(m);
    }
    mark_finalizers(m, o->propagation);
    finish(m, grace > 0 || m->has_finalizers ? EFFECT_STORE : EFFECT_REMOVE);
}

/* ---- namespaces ---- */

static bool is_protected_namespace(str name)
{
    static const char *const names[] = {"default", "kube-system", "kube-public"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(name, names[i]))
            return true;
    return false;
}

static void delete_namespace(struct marking *m, const struct delete_options *o)
{
    struct req *q = m->q;
    const struct obj *base = q->base;
    if (!base->deleting) {
        mark_time(m, loop_wall(q->server->loop), -1);
        edit_set_str(&m->edit, STR("/status/phase"), STR("Terminating"));
        mark_finalizers(m, o->propagation);
        finish(m, EFFECT_STORE);
        return;
    }
    bool held = jlen(jgetc(obj_spec(base), "finalizers")) || jlen(jgetc(base->meta, "finalizers"));
    finish(m, held ? EFFECT_NONE : EFFECT_REMOVE);
}

/* ---- everything else ---- */

static void delete_other(struct marking *m, const struct delete_options *o)
{
    struct req *q = m->q;
    mark_finalizers(m, o->propagation);
    if (m->has_finalizers && !q->base->deleting) {
        mark_time(m, loop_wall(q->server->loop), 0);
        bump_generation(m);
    }
    finish(m, m->has_finalizers ? EFFECT_STORE : EFFECT_REMOVE);
}

static void make_deleted(struct req *q, const struct delete_options *o)
{
    struct marking m = {.q = q};
    if (q->kind == &kind_namespace && is_protected_namespace(q->name)) {
        req_refuse(q, status_forbidden(&q->arena, q->kind, q->name,
                                       STR("this namespace may not be deleted")));
        return;
    }
    if (q->base && q->kind == &kind_crd && crd_grove_kind(obj_root(q->base))) {
        req_refuse(q, status_forbidden(&q->arena, q->kind, q->name,
                                       STR("the kind is built into this server, and so is its "
                                           "definition")));
        return;
    }
    if (!q->base) {
        req_refuse(q, status_not_found(&q->arena, q->kind, q->name));
        return;
    }
    if (!check_conditions(q, o))
        return;
    edit_init(&m.edit, &q->arena);
    if (o->evicts && !q->base->deleting && jtype(obj_status(q->base)) == J_OBJECT)
        mark_disrupted(&m);
    if (q->kind == &kind_pod)
        delete_pod(&m, o);
    else if (q->kind == &kind_namespace)
        delete_namespace(&m, o);
    else
        delete_other(&m, o);
    edit_done(&m.edit);
}

void make_delete(struct req *q)
{
    struct delete_options o = options_of(q->r);
    make_deleted(q, &o);
}

void make_eviction(struct req *q)
{
    jval opts = q->r->body ? jgetc(doc_root(q->r->body), "deleteOptions") : JVAL_ABSENT;
    struct delete_options o = {
        .uid = jstr(jpath(opts, "preconditions.uid")),
        .grace = jint(jgetc(opts, "gracePeriodSeconds"), -1),
        .propagation = API_PROPAGATION_DEFAULT,
        .evicts = true,
    };
    str rv = jstr(jpath(opts, "preconditions.resourceVersion"));
    if (rv.len && !str_to_uint(rv, &o.rv)) {
        req_refuse(
            q, status_bad_request(&q->arena,
                                  "deleteOptions.preconditions.resourceVersion must be a number"));
        return;
    }
    if (jlen(jgetc(opts, "dryRun")))
        q->dry_run = true;
    if (q->base && (!check_conditions(q, &o) || !evict_permit(q)))
        return;
    make_deleted(q, &o);
}

/* ---- answers ---- */

/* Kinds that show what they removed instead of a Status. */
static bool shows_removed(const struct kind *k)
{
    return k == &kind_pod || k == &kind_service || k == &kind_service_account;
}

/* What is left of it, in the version of the request; NULL: only a webhook could say. */
static struct obj *shown(struct req *q)
{
    if (!convert_needs_hook(q->result, q->r->kind))
        return q->result;
    struct obj *as = convert_now(q->server, q->result, q->r->kind);
    return as ? obj_hold(&q->arena, as) : NULL;
}

void answer_delete(struct req *q)
{
    bool shows = q->effect != EFFECT_REMOVE || shows_removed(q->kind);
    struct obj *o = shows ? shown(q) : NULL;
    if (o)
        req_reply_obj(q, 200, o);
    else
        req_reply_doc(q, 200,
                      doc_hold(&q->arena, status_success_doc(q->kind, q->name, q->base->uid)));
}

/* ---- updates that let go ---- */

bool delete_is_complete(const struct kind *k, const struct obj *base, const struct doc *d)
{
    if (!base->deleting || jint(jgetc(base->meta, "deletionGracePeriodSeconds"), 0) != 0)
        return false;
    if (k == &kind_namespace && jlen(jpath(doc_root(d), "spec.finalizers")))
        return false;
    return jlen(jpath(doc_root(d), "metadata.finalizers")) == 0;
}

/* ---- collections ---- */

/*
 * deletecollection is a list and one delete for each item, as a client of our own: a bounded number
 * per turn of the loop, answered when the last one is. An item that is gone meanwhile is nobody's
 * failure.
 */
struct collection {
    struct req *q;
    struct list parts; /* open requests of ours */
    size_t next;
    size_t open;
    struct api_request list;
    struct part *items;
    size_t n_items;
    VEC(struct obj *) shown;
    struct status *failed;
};

struct part {
    struct api_request r;
    struct collection *c;
    struct obj *obj; /* as it was listed */
};

#define PARTS_PER_TURN 200

static void collection_free(void *ctx)
{
    struct collection *c = ctx;
    while (!list_is_empty(&c->parts))
        request_abort(container_of(c->parts.next, struct req, peer));
    vec_done(&c->shown);
}

static void collection_end(struct collection *c)
{
    struct req *q = c->q;
    if (c->failed) {
        req_refuse(q, c->failed);
    } else {
        q->reply.code = 200;
        q->reply.rv = store_revision(q->server->store);
        q->reply.items = c->shown.p;
        q->reply.n_items = c->shown.len;
    }
    request_answer(q);
}

static void collection_step(struct collection *c);

static void copy_failure(struct collection *c, const struct api_reply *reply)
{
    if (c->failed)
        return;
    struct arena *a = &c->q->arena;
    const struct status *s = reply->status;
    c->failed = s ? status_new(a, s->code, s->reason, "%.*s", STR_ARG(s->message))
                  : status_internal(a, "the server is going away");
}

static void on_part_done(struct api_request *r, const struct api_reply *reply)
{
    struct part *p = container_of(r, struct part, r);
    struct collection *c = p->c;
    c->open--;
    if (reply->unknown_outcome)
        return;
    if (reply->status && reply->code != 404 && reply->code != 409)
        copy_failure(c, reply);
    else if (!reply->status)
        *vec_push(&c->shown) = reply->obj ? obj_hold(&c->q->arena, obj_ref(reply->obj)) : p->obj;
    if (c->open == 0 && (c->next == c->n_items || c->failed))
        collection_end(c);
}

static void send_part(struct collection *c, struct part *p)
{
    const struct api_request *r = c->q->r;
    p->c = c;
    p->r = (struct api_request){
        .verb = API_DELETE,
        .kind = c->q->kind,
        .ns = p->obj->ns,
        .name = p->obj->name,
        .uid = p->obj->uid,
        .grace_seconds = r->grace_seconds,
        .propagation = r->propagation,
        .dry_run = r->dry_run,
        .as_stored = true,
        .done = on_part_done,
    };
    c->open++;
    request_start(c->q->server, c->q->user, &p->r, &c->parts);
}

static void collection_task(struct loop_task *t)
{
    struct req *q = container_of(t, struct req, task);
    collection_step(q->state_of_verb);
}

static void collection_step(struct collection *c)
{
    struct req *q = c->q;
    size_t end = MIN(c->next + PARTS_PER_TURN, c->n_items);
    if (c->failed)
        return;
    while (c->next < end)
        send_part(c, &c->items[c->next++]);
    if (c->next < c->n_items) {
        loop_task_init(&q->task, collection_task);
        loop_defer(q->server->loop, LOOP_APPLY, &q->task);
    } else if (!c->n_items) {
        collection_end(c);
    }
}

static void on_listed(struct api_request *r, const struct api_reply *reply)
{
    struct collection *c = container_of(r, struct collection, list);
    if (reply->unknown_outcome)
        return;
    if (reply->status) {
        copy_failure(c, reply);
        collection_end(c);
        return;
    }
    struct arena *a = &c->q->arena;
    c->n_items = reply->n_items;
    c->items = arena_array(a, struct part, reply->n_items);
    for (size_t i = 0; i < reply->n_items; i++)
        c->items[i].obj = obj_hold(a, obj_ref(reply->items[i]));
    collection_step(c);
}

void delete_collection(struct req *q)
{
    struct collection *c = arena_new(&q->arena, struct collection);
    const struct api_request *r = q->r;
    c->q = q;
    list_init(&c->parts);
    q->state_of_verb = c;
    arena_hold(&q->arena, c, collection_free);
    c->list = (struct api_request){
        .verb = API_LIST,
        .kind = q->kind,
        .ns = r->ns,
        .label_selector = r->label_selector,
        .field_selector = r->field_selector,
        .as_stored = r->as_stored,
        .done = on_listed,
    };
    request_start(q->server, q->user, &c->list, &c->parts);
}
