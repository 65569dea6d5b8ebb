/*
 * Subresources that are no part of the object of their own: scale, binding, finalize. (status is an
 * ordinary write with another isolation, meta.c; eviction is a delete, delete.c.)
 */
#include "apiserver/request.h"
#include "kube/schema.h"
#include "kube/selector.h"
#include "json/edit.h"

/* Of bodies that are of a kind of their own. */
static struct body_kind kind_of_body(const struct req *q, jval body)
{
    bool evicts = str_is(str_of(q->ops->body_kind), "Eviction");
    bool old = evicts && str_is(jstr(jgetc(body, "apiVersion")), "policy/v1beta1");
    const char *group = evicts ? "policy" : "";
    return (struct body_kind){group, old ? "v1beta1" : "v1", q->ops->body_kind,
                              body_type(str_of(group), STR("v1"), str_of(q->ops->body_kind))};
}

/* It is what its reader takes it for. */
static bool check_types(struct req *q, jval body)
{
    struct body_kind k = kind_of_body(q, body);
    struct field_errors errors;
    if (!check_body(q, &k, body))
        return false;
    field_errors_init(&errors, &q->arena);
    schema_validate(k.type, body, STR_NONE, &errors);
    str why = type_error_text(&q->arena, &k, body, &errors);
    field_errors_done(&errors);
    if (why.len)
        req_refuse(q, undecodable_status(q, &k, q->r->body, why));
    return !why.len;
}

bool check_subject(struct req *q)
{
    jval body = q->r->body ? doc_root(q->r->body) : JVAL_ABSENT, meta = jgetc(body, "metadata");
    str name = jstr(jgetc(meta, "name"));
    if (!q->ops->body_kind)
        return true;
    if (!check_types(q, body) || !check_namespace_match(q, meta))
        return false;
    if (str_is_empty(name) || str_eq(name, q->name))
        return true;
    req_refuse(q, status_bad_request(&q->arena, "name in URL does not match name in %s object",
                                     q->ops->body_kind));
    return false;
}

/* ---- scale ---- */

/* ".spec.replicas" → value */
static jval at_path(jval root, const char *path)
{
    return path ? jpath(root, path + 1) : JVAL_ABSENT;
}

/* ".spec.replicas" → "/spec/replicas" */
static str pointer_of(struct arena *a, const char *path)
{
    str copy = arena_str(a, str_of(path));
    for (char *p = (char *)copy.p; *p; p++)
        if (*p == '.')
            *p = '/';
    return copy;
}

/* A ReplicationController's labels as a label selector; any other is one already. */
static jval as_label_selector(struct arena *a, const struct kind *k, jval selector)
{
    struct jw w;
    if (k != &kind_replication_controller)
        return selector;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "matchLabels", selector);
    jw_end(&w);
    return doc_root(doc_hold(a, jw_doc(&w)));
}

/* Built-in kinds keep a label selector, custom resources its text. */
static void put_selector(struct jw *w, const struct kind *k, jval selector)
{
    if (jtype(selector) != J_OBJECT) {
        if (jstr(selector).len)
            jw_put(w, "selector", selector);
        return;
    }
    struct arena a = ARENA_INIT;
    struct strbuf text = STRBUF_INIT(1 << 16);
    struct selector *s = label_selector_from(&a, as_label_selector(&a, k, selector), NULL);
    if (s)
        label_selector_print(s, &text);
    if (text.len)
        jw_put_str(w, "selector", strbuf_str(&text));
    strbuf_done(&text);
    arena_done(&a);
}

struct doc *scale_doc(const struct obj *o)
{
    static const char *const meta[] = {"name", "namespace", "uid", "resourceVersion",
                                       "creationTimestamp"};
    const struct kind *k = o->kind;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "Scale");
    jw_put_cstr(&w, "apiVersion", "autoscaling/v1");
    jw_put_object(&w, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(meta); i++)
        jw_put(&w, meta[i], jget(o->meta, str_of(meta[i])));
    jw_end(&w);
    jw_put_object(&w, "spec");
    jw_put_int(&w, "replicas", jint(at_path(obj_root(o), k->scale_spec_path), 0));
    jw_end(&w);
    jw_put_object(&w, "status");
    jw_put_int(&w, "replicas", jint(at_path(obj_root(o), k->scale_status_path), 0));
    put_selector(&w, k, at_path(obj_root(o), k->scale_selector_path));
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct body_kind scale_kind(void)
{
    static const struct type *type; /* tables do not move */
    if (!type)
        type = body_type(STR("autoscaling"), STR("v1"), STR("Scale"));
    return (struct body_kind){"autoscaling", "v1", "Scale", type};
}

/* The Scale the client wants; NULL: refused. Held by the arena. */
static struct doc *wanted_scale(struct req *q)
{
    struct body_kind k = scale_kind();
    if (q->r->verb == API_UPDATE) {
        jval body = q->r->body ? doc_root(q->r->body) : JVAL_ABSENT;
        jval meta = jgetc(body, "metadata");
        bool ok =
            check_body(q, &k, body) && check_name_match(q, meta) && check_namespace_match(q, meta);
        return ok ? q->r->body : NULL;
    }
    if (q->r->patch == API_PATCH_APPLY) {
        req_refuse(q, status_unsupported_media_type(
                          &q->arena, "application/json-patch+json, application/merge-patch+json"));
        return NULL;
    }
    struct doc *now = doc_hold(&q->arena, scale_doc(q->base));
    struct doc *d = patch_check_options(q) ? patch_apply(q, k.type, doc_root(now)) : NULL;
    if (!d || !check_body(q, &k, doc_root(doc_hold(&q->arena, d))))
        return NULL;
    jval meta = jgetc(doc_root(d), "metadata");
    /* A name that is missing is left to validation. */
    bool named = jstr(jgetc(meta, "name")).len > 0;
    return (!named || check_name_match(q, meta)) && check_namespace_match(q, meta) ? d : NULL;
}

/* What Go's decoder and the validation of Scales say. */
static bool check_scale(struct req *q, const struct doc *want, int64_t *ret)
{
    struct body_kind k = scale_kind();
    jval root = doc_root(want);
    schema_validate(k.type, root, STR_NONE, &q->errors);
    str why = type_error_text(&q->arena, &k, root, &q->errors);
    if (why.len) {
        req_refuse(q, undecodable_status(q, &k, want, why));
        return false;
    }
    if (!jstr(jpath(root, "metadata.name")).len)
        field_error_add(&q->errors, FIELD_ERR_REQUIRED, STR("metadata.name"), STR_NONE,
                        "name or generateName is required");
    *ret = jint(jpath(root, "spec.replicas"), 0);
    if (*ret < 0)
        field_error_add(&q->errors, FIELD_ERR_INVALID, STR("spec.replicas"),
                        jtext(jpath(root, "spec.replicas")), "must be greater than or equal to 0");
    if (q->errors.items.len)
        req_refuse(q, status_invalid_named(&q->arena, "autoscaling", "Scale",
                                           jstr(jpath(root, "metadata.name")), &q->errors));
    return !req_is_refused(q);
}

const struct status *scale_take(struct req *q, jval scale)
{
    struct edit e;
    int64_t replicas = jint(jpath(scale, "spec.replicas"), 0);
    edit_init(&e, &q->arena);
    edit_set_int(&e, pointer_of(&q->arena, q->kind->scale_spec_path), replicas);
    struct doc *d = edit_apply(&e, q->doc, NULL);
    edit_done(&e);
    if (!d)
        return status_internal(&q->arena, "the object has no place for replicas");
    write_set_doc(q, d);
    return NULL;
}

void make_scale(struct req *q)
{
    if (!q->base) {
        req_refuse(q, status_not_found(&q->arena, q->kind, q->name));
        return;
    }
    struct doc *want = wanted_scale(q);
    if (!want)
        return;
    uint64_t rv;
    int64_t replicas;
    if (!check_scale(q, want, &replicas))
        return;
    jval meta = jgetc(doc_root(want), "metadata");
    if (!meta_version(meta, &rv) || (rv && rv != q->base->rv)) {
        req_refuse(q, status_conflict(&q->arena, q->kind, q->name, NULL));
        return;
    }
    struct edit e;
    edit_init(&e, &q->arena);
    edit_set_int(&e, pointer_of(&q->arena, q->kind->scale_spec_path), replicas);
    struct doc *d = edit_apply(&e, q->base->doc, NULL);
    edit_done(&e);
    if (d)
        write_set_doc(q, d);
    else
        req_refuse(q, status_internal(&q->arena, "the object has no place for replicas"));
}

void answer_scale(struct req *q)
{
    req_reply_doc(q, 200, doc_hold(&q->arena, scale_doc(q->result)));
}

/* ---- binding ---- */

static void refuse_binding(struct req *q, str why)
{
    struct status *s = status_new(&q->arena, 409, "Conflict",
                                  "Operation cannot be fulfilled on pods/binding \"%.*s\": %.*s",
                                  STR_ARG(q->name), STR_ARG(why));
    s->name = q->name;
    s->kind = STR("pods/binding");
    req_refuse(q, s);
}

static bool check_binding(struct req *q, jval body)
{
    const struct obj *pod = q->base;
    str bound = jstr(jgetc(obj_spec(pod), "nodeName"));
    str target = jstr(jpath(body, "target.name")), kind = jstr(jpath(body, "target.kind"));
    str uid = jstr(jpath(body, "metadata.uid"));
    str version = jstr(jpath(body, "metadata.resourceVersion"));
    str now = arena_printf(&q->arena, "%llu", (unsigned long long)pod->rv);
    if (str_is_empty(target) || (kind.len && !str_is(kind, "Node"))) {
        bool missing = str_is_empty(target);
        field_error_add(&q->errors, missing ? FIELD_ERR_REQUIRED : FIELD_ERR_NOT_SUPPORTED,
                        missing ? STR("target.name") : STR("target.kind"),
                        missing ? STR_NONE : jtext(jpath(body, "target.kind")), "%s",
                        missing ? "" : "supported values: \"Node\", \"<empty>\"");
        req_refuse(q, status_invalid_named(&q->arena, "", "Binding", q->name, &q->errors));
    } else if (uid.len && !str_eq(uid, pod->uid)) {
        refuse_binding(q, arena_printf(&q->arena,
                                       "Precondition failed: UID in precondition: %.*s, UID in "
                                       "object meta: %.*s",
                                       STR_ARG(uid), STR_ARG(pod->uid)));
    } else if (version.len && !str_eq(version, now)) {
        refuse_binding(q, arena_printf(&q->arena,
                                       "Precondition failed: ResourceVersion in precondition: "
                                       "%.*s, ResourceVersion in object meta: %.*s",
                                       STR_ARG(version), STR_ARG(now)));
    } else if (pod->deleting) {
        refuse_binding(q, arena_printf(&q->arena,
                                       "pod %.*s is being deleted, cannot be assigned to a host",
                                       STR_ARG(q->name)));
    } else if (bound.len) {
        refuse_binding(q, arena_printf(&q->arena, "pod %.*s is already assigned to node \"%.*s\"",
                                       STR_ARG(q->name), STR_ARG(bound)));
    } else if (jlen(jgetc(obj_spec(pod), "schedulingGates"))) {
        refuse_binding(q, arena_printf(&q->arena, "pod %.*s has non-empty .spec.schedulingGates",
                                       STR_ARG(q->name)));
    }
    return !req_is_refused(q);
}

static void set_scheduled(struct req *q, struct edit *e)
{
    struct jw w;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(jgetc(obj_status(q->base), "conditions")); jnext(&it);)
        if (!str_is(jstr(jgetc(it.value, "type")), "PodScheduled"))
            jw_val(&w, it.value);
    jw_object(&w);
    jw_put_cstr(&w, "type", "PodScheduled");
    jw_put_cstr(&w, "status", "True");
    jw_key(&w, STR("lastProbeTime"));
    jw_null(&w);
    jw_put_str(&w, "lastTransitionTime", time_text(&q->arena, loop_wall(q->server->loop)));
    jw_end(&w);
    jw_end(&w);
    edit_set_raw(e, STR("/status/conditions"), strbuf_str(&w.out));
    jw_done(&w);
}

void make_binding(struct req *q)
{
    jval body = q->r->body ? doc_root(q->r->body) : JVAL_ABSENT;
    if (!q->base) {
        req_refuse(q, status_not_found(&q->arena, q->kind, q->name));
        return;
    }
    if (!check_binding(q, body))
        return;
    struct edit e;
    edit_init(&e, &q->arena);
    edit_set(&e, STR("/spec/nodeName"), jpath(body, "target.name"));
    for (struct jiter it = jiter(jpath(body, "metadata.annotations")); jnext(&it);)
        if (jtype(it.value) == J_STRING)
            edit_set(&e, edit_path(&q->arena, STR("metadata"), STR("annotations"), it.key),
                     it.value);
    set_scheduled(q, &e);
    /* Usually nothing comes between now and the write. */
    q->stamped = q->dry_run ? 0 : store_next_revision(q->server->store);
    if (q->stamped)
        meta_stamp_update(q, &e, q->base->doc, q->stamped);
    struct doc *d = edit_apply(&e, q->base->doc, NULL);
    edit_done(&e);
    if (d)
        write_set_doc(q, d);
    else
        req_refuse(q, status_internal(&q->arena, "the pod cannot be bound"));
}

void answer_created(struct req *q)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "Status");
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_object(&w, "metadata");
    jw_end(&w);
    jw_put_cstr(&w, "status", "Success");
    jw_put_int(&w, "code", 201);
    jw_end(&w);
    req_reply_doc(q, 201, doc_hold(&q->arena, jw_doc(&w)));
    /* On the wire it is the Status alone; a local client is spared the GET that would follow. */
    if (q->local)
        q->reply.obj = q->result;
}

/* ---- finalize (namespaces) ---- */

static bool namespace_is_empty(const struct req *q)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (!kind_is(k, KIND_NAMESPACED))
            continue;
        struct store_iter it = store_range(q->server->store, k, q->name, STR_NONE, STR_NONE);
        if (store_next(&it))
            return false;
    }
    return true;
}

/* Everybody may let go of a namespace at any time, as with the real server. Our own controller goes
 * by its caches and wants to be told when they are behind. */
static bool check_finalize(struct req *q, jval body)
{
    if (!check_preconditions(q, jgetc(body, "metadata")))
        return false;
    if (!q->local || namespace_is_empty(q))
        return true;
    req_refuse(q, status_conflict(&q->arena, q->kind, q->name,
                                  "there are still objects in the namespace"));
    return false;
}

void make_finalize(struct req *q)
{
    jval body = q->r->body ? doc_root(q->r->body) : JVAL_ABSENT;
    if (!check_own_body(q, body) || !check_name_match(q, jgetc(body, "metadata")))
        return;
    if (!q->base) {
        req_refuse(q, status_not_found(&q->arena, q->kind, q->name));
        return;
    }
    if (!check_finalize(q, body))
        return;
    struct edit e;
    jval finalizers = jpath(body, "spec.finalizers");
    edit_init(&e, &q->arena);
    if (jlen(finalizers))
        edit_set(&e, STR("/spec/finalizers"), finalizers);
    else
        edit_del(&e, STR("/spec/finalizers"));
    struct doc *d = edit_apply(&e, q->base->doc, NULL);
    edit_done(&e);
    if (!d) {
        req_refuse(q, status_internal(&q->arena, "the namespace cannot be finalized"));
        return;
    }
    write_set_doc(q, d);
    if (delete_is_complete(q->kind, q->base, d)) {
        q->effect = EFFECT_REMOVE;
        q->reply_old_version = true;
    }
}
