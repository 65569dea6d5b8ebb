/*
 * The steps of a write (drawn in request.h): make the candidate, let admission change and judge it,
 * check that the ground has not moved, store it.
 *
 * Every step either moves the request to the next state or refuses it. write_run() goes from state
 * to state until the request waits for somebody: the disk, a suspension, or its answer.
 */
#include "apiserver/admission/quota.h"
#include "apiserver/admission/webhook.h"
#include "apiserver/crd.h"
#include "apiserver/request.h"
#include "apiserver/verbs/managed.h"
#include "kube/cel/cel_rules.h"
#include "kube/schema.h"
#include "kube/structural.h"

static const struct write_ops all_ops[] = {
    {API_CREATE, "", make_create, true, NULL},
    {API_UPDATE, "", make_update, true, NULL},
    {API_UPDATE, "status", make_update, true, NULL},
    {API_PATCH, "", make_patch, true, NULL},
    {API_PATCH, "status", make_patch, true, NULL},
    {API_DELETE, "", make_delete, false, answer_delete},
    {API_UPDATE, "scale", make_scale, true, answer_scale},
    {API_PATCH, "scale", make_scale, true, answer_scale},
    {API_UPDATE, "ephemeralcontainers", make_update, true, NULL},
    {API_PATCH, "ephemeralcontainers", make_patch, true, NULL},
    {API_UPDATE, "resize", make_update, true, NULL},
    {API_PATCH, "resize", make_patch, true, NULL},
    {API_UPDATE, "approval", make_update, true, NULL},
    {API_PATCH, "approval", make_patch, true, NULL},
    {API_CREATE, "binding", make_binding, false, answer_created, .body_kind = "Binding"},
    {API_CREATE, "eviction", make_eviction, false, answer_created, .body_kind = "Eviction"},
    {API_UPDATE, "finalize", make_finalize, false, NULL},
};

const struct write_ops *write_ops_find(enum api_verb verb, str subresource)
{
    for (size_t i = 0; i < ARRAY_LEN(all_ops); i++)
        if (all_ops[i].verb == verb && str_is(subresource, all_ops[i].subresource))
            return &all_ops[i];
    return NULL;
}

void write_set_doc(struct req *q, struct doc *d)
{
    doc_unref(q->doc);
    q->doc = d;
    q->stored = NULL;
}

/* ---- what the client sent ---- */

bool meta_version(jval meta, uint64_t *ret)
{
    str rv = jstr(jgetc(meta, "resourceVersion"));
    *ret = 0;
    return str_is_empty(rv) || str_to_uint(rv, ret);
}

static bool check_uid(struct req *q, jval meta)
{
    str uid = jstr(jgetc(meta, "uid"));
    if (str_is_empty(uid) || str_eq(uid, q->base->uid))
        return true;
    str why = arena_printf(
        &q->arena,
        "StorageError: invalid object, Code: 4, Key: /registry/%s%s%s/%.*s%s%.*s, "
        "ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: %.*s, "
        "UID in object meta: %.*s",
        q->kind->group, *q->kind->group ? "/" : "", q->kind->plural, STR_ARG(q->r->ns),
        q->r->ns.len ? "/" : "", STR_ARG(q->name), STR_ARG(uid), STR_ARG(q->base->uid));
    req_refuse(q, status_conflict(&q->arena, q->kind, q->name, why.p));
    return false;
}

/* The resource instead of the Kind in this one text is the API server's own slip. */
static void refuse_without_version(struct req *q)
{
    field_error_add(&q->errors, FIELD_ERR_INVALID, STR("metadata.resourceVersion"), STR("0"),
                    "must be specified for an update");
    req_refuse(
        q, status_invalid_named(&q->arena, q->kind->group, q->kind->plural, q->name, &q->errors));
}

bool check_preconditions(struct req *q, jval meta)
{
    uint64_t rv;
    if (!meta_version(meta, &rv)) {
        req_refuse(q, status_bad_request(&q->arena, "invalid resource version: \"%.*s\"",
                                         STR_ARG(jstr(jgetc(meta, "resourceVersion")))));
        return false;
    }
    if (!check_uid(q, meta))
        return false;
    if (!rv && q->r->verb == API_UPDATE && kind_is(q->kind, KIND_MUST_SEND_VERSION)) {
        refuse_without_version(q);
        return false;
    }
    if (rv && rv != q->base->rv) {
        req_refuse(q, status_conflict(&q->arena, q->kind, q->name, NULL));
        return false;
    }
    return true;
}

static void refuse_custom_kind(struct req *q, str api, str kind)
{
    const struct kind *k = q->kind;
    char buf[256];
    str want = kind_api_version(k, buf, sizeof(buf));
    if (!str_eq(api, want)) {
        req_refuse(q, status_bad_request(&q->arena,
                                         "the API version in the data (%.*s) does not match the "
                                         "expected API version (%.*s)",
                                         STR_ARG(api), STR_ARG(want)));
        return;
    }
    struct strbuf b = STRBUF_INIT(1024);
    json_quote(&b, kind);
    field_error_add(&q->errors, FIELD_ERR_INVALID, STR("kind"), strbuf_str(&b), "must be %s",
                    k->kind);
    strbuf_done(&b);
    req_refuse(q, status_invalid_named(&q->arena, k->group, arena_str(&q->arena, kind).p, q->name,
                                       &q->errors));
}

static void refuse_kind(struct req *q, const struct body_kind *k, str group, str version, str kind)
{
    str api = group.len ? arena_printf(&q->arena, "%.*s/%.*s", STR_ARG(group), STR_ARG(version))
                        : version;
    if (k->type == q->kind->type && kind_is(q->kind, KIND_CUSTOM)) {
        refuse_custom_kind(q, api, kind);
        return;
    }
    const struct kind *known = kind_by_name(group, version, kind);
    str why =
        known ? arena_printf(&q->arena, "converting (%s.%s) to (%s.%s): unknown conversion",
                             known->version, known->kind, *k->group ? k->group : "core", k->kind)
              : arena_printf(&q->arena,
                             "no kind \"%.*s\" is registered for version \"%.*s\" in scheme "
                             "\"pkg/api/legacyscheme/scheme.go:30\"",
                             STR_ARG(kind), STR_ARG(api));
    req_refuse(q, status_bad_request(&q->arena,
                                     "%.*s in version \"%.*s\" cannot be handled as a %s: %.*s",
                                     STR_ARG(kind), STR_ARG(version), k->kind, STR_ARG(why)));
}

/* As Go calls it. */
static const char *json_word(jval v)
{
    static const char *const words[] = {
        [J_ABSENT] = "null",   [J_NULL] = "null",   [J_FALSE] = "bool",
        [J_TRUE] = "bool",     [J_INT] = "number",  [J_REAL] = "number",
        [J_STRING] = "string", [J_ARRAY] = "array", [J_OBJECT] = "object",
    };
    return words[jtype(v)];
}

#define VERSION_AND_KIND                                                               \
    "value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; " \
    "Kind string \"json:\\\"kind,omitempty\\\"\" }"

/* It does not even say what it is. */
static void refuse_unrecognized(struct req *q, const struct body_kind *k, jval v, const char *into)
{
    enum { SHOWN = 30 };
    str body = q->r->body ? doc_text(q->r->body) : STR("");
    struct strbuf b = STRBUF_INIT(256);
    if (!body.len)
        strbuf_add_cstr(&b, "<empty>");
    for (size_t i = 0; i < MIN(body.len, SHOWN); i++)
        strbuf_printf(&b, body.p[0] == '{' ? "%c" : "%02x", (unsigned char)body.p[i]);
    if (body.len > SHOWN)
        strbuf_add_cstr(&b, " ...");
    req_refuse(q, status_bad_request(
                      &q->arena,
                      "the object provided is unrecognized (must be of type %s): couldn't get "
                      "version/kind; json parse error: json: cannot unmarshal %s into Go %s "
                      "(%.*s)",
                      k->kind, json_word(v), into, STR_ARG(strbuf_str(&b))));
    strbuf_done(&b);
}

/* Says what it is in strings, or not at all. */
static bool check_type_meta(struct req *q, const struct body_kind *k, jval body)
{
    jval version = jgetc(body, "apiVersion"), kind = jgetc(body, "kind");
    if (!q->r->body || jtype(body) == J_NULL)
        req_refuse(q, undecodable_status(q, k, NULL, STR("EOF")));
    else if (jtype(body) != J_OBJECT)
        refuse_unrecognized(q, k, body, VERSION_AND_KIND);
    else if (j_has(version) && jtype(version) != J_STRING)
        refuse_unrecognized(q, k, version, "struct field .apiVersion of type string");
    else if (j_has(kind) && jtype(kind) != J_STRING)
        refuse_unrecognized(q, k, kind, "struct field .kind of type string");
    return !req_is_refused(q);
}

/* What is read out of it before the tables see it, and replaced. */
static jval find_wrong_string(jval meta, const char **ret_key)
{
    static const char *const keys[] = {"name", "namespace",       "generateName",
                                       "uid",  "resourceVersion", "selfLink"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        jval v = jget(meta, str_of(keys[i]));
        *ret_key = keys[i];
        if (j_has(v) && jtype(v) != J_STRING)
            return v;
    }
    return JVAL_ABSENT;
}

static bool check_metadata(struct req *q, const struct body_kind *k, jval meta)
{
    const char *key;
    jval wrong = find_wrong_string(meta, &key);
    str why = STR_NONE;
    if (j_has(meta) && jtype(meta) != J_OBJECT)
        why = arena_printf(&q->arena,
                           "json: cannot unmarshal %s into Go struct field %s.metadata of type "
                           "v1.ObjectMeta",
                           json_word(meta), k->kind);
    else if (j_has(wrong))
        why = arena_printf(&q->arena,
                           "json: cannot unmarshal %s into Go struct field "
                           "ObjectMeta.metadata.%s of type string",
                           json_word(wrong), key);
    if (why.len)
        req_refuse(q, undecodable_status(q, k, q->doc, why));
    return !why.len;
}

bool check_body(struct req *q, const struct body_kind *k, jval body)
{
    if (!check_type_meta(q, k, body) || !check_metadata(q, k, jgetc(body, "metadata")))
        return false;
    str kind = jstr(jgetc(body, "kind")), group, version;
    api_version_split(jstr(jgetc(body, "apiVersion")), &group, &version);
    if (str_is_empty(kind))
        kind = str_of(k->kind);
    if (str_is_empty(version)) {
        group = str_of(k->group);
        version = str_of(k->version);
    }
    if (str_is(kind, k->kind) && str_is(group, k->group) && str_is(version, k->version))
        return true;
    refuse_kind(q, k, group, version, kind);
    return false;
}

bool check_own_body(struct req *q, jval body)
{
    struct body_kind k = body_kind_of(q->kind);
    return check_body(q, &k, body);
}

bool check_namespace_match(struct req *q, jval meta)
{
    str ns = jstr(jgetc(meta, "namespace"));
    if (str_is_empty(ns) || str_eq(ns, q->r->ns))
        return true;
    if (q->r->verb == API_CREATE)
        req_refuse(q, status_bad_request(&q->arena,
                                         "the namespace of the provided object does not match the "
                                         "namespace sent on the request"));
    else
        req_refuse(q, status_bad_request(&q->arena,
                                         "the namespace of the object (%.*s) does not match the "
                                         "namespace on the request (%.*s)",
                                         STR_ARG(ns), STR_ARG(q->r->ns)));
    return false;
}

bool check_name_match(struct req *q, jval meta)
{
    str name = jstr(jgetc(meta, "name"));
    if (str_eq(name, q->name))
        return true;
    if (str_is_empty(name))
        req_refuse(q, status_bad_request(&q->arena,
                                         "the name of the object (%.*s based on URL) was "
                                         "undeterminable: name must be provided",
                                         STR_ARG(q->name)));
    else
        req_refuse(q, status_bad_request(&q->arena,
                                         "the name of the object (%.*s) does not match the name on "
                                         "the URL (%.*s)",
                                         STR_ARG(name), STR_ARG(q->name)));
    return false;
}

/* ---- namespaces ---- */

static bool check_namespace(struct req *q)
{
    str ns = q->r->ns;
    if (!kind_is(q->kind, KIND_NAMESPACED))
        return true;
    const struct obj *o = store_newest(q->server->store, &kind_namespace, STR_NONE, ns);
    if (!o) {
        req_refuse(q, status_not_found(&q->arena, &kind_namespace, ns));
        return false;
    }
    if (!o->deleting)
        return true;
    struct status *s = status_forbidden(
        &q->arena, q->kind, q->name,
        arena_printf(&q->arena,
                     "unable to create new content in namespace %.*s because it is being "
                     "terminated",
                     STR_ARG(ns)));
    status_add_cause(&q->arena, s, "NamespaceTerminating",
                     arena_printf(&q->arena, "namespace %.*s is being terminated", STR_ARG(ns)),
                     STR("metadata.namespace"));
    req_refuse(q, s);
    return false;
}

/* ---- DECODE ---- */

/* Who may update or patch need not be allowed to create. */
static bool check_may_create(struct req *q)
{
    struct access x = access_to(STR("create"), q->kind, q->r->ns, STR_NONE, STR_NONE);
    x.name = q->name;
    const struct status *why =
        q->r->verb == API_CREATE ? NULL : authorize_status(q->server, &q->arena, q->user, &x);
    if (why)
        req_refuse(q, why);
    return !why;
}

/* Common to POST, PUT of what is not there and apply. */
static bool begin_create(struct req *q, jval meta)
{
    uint64_t rv;
    if (!check_may_create(q) || !check_namespace_match(q, meta) || !check_namespace(q))
        return false;
    if (!meta_version(meta, &rv) || rv) {
        req_refuse(q,
                   status_internal(&q->arena, "resourceVersion should not be set on objects to be "
                                              "created"));
        return false;
    }
    return true;
}

void make_create(struct req *q)
{
    jval body = q->r->body ? doc_root(q->r->body) : JVAL_ABSENT;
    jval meta = jgetc(body, "metadata");
    str name = jstr(jgetc(meta, "name")), prefix = jstr(jgetc(meta, "generateName"));
    q->base = NULL;
    q->name = name.len ? name : q->r->name;
    if (!check_own_body(q, body) || !begin_create(q, meta))
        return;
    if (!q->name.len && prefix.len)
        q->name = meta_generate_name(q, prefix);
    write_set_doc(q, doc_ref(q->r->body));
}

void make_update(struct req *q)
{
    jval body = q->r->body ? doc_root(q->r->body) : JVAL_ABSENT;
    jval meta = jgetc(body, "metadata");
    uint64_t rv;
    if (!check_own_body(q, body) || !check_name_match(q, meta) || !check_namespace_match(q, meta))
        return;
    if (!q->base) {
        bool creates = kind_is(q->kind, KIND_CREATE_ON_UPDATE) && !q->r->subresource.len;
        if (!creates || !meta_version(meta, &rv) || rv)
            req_refuse(q, status_not_found(&q->arena, q->kind, q->name));
        else if (begin_create(q, meta))
            write_set_doc(q, doc_ref(q->r->body));
        return;
    }
    if (check_preconditions(q, meta))
        write_set_doc(q, doc_ref(q->r->body));
}

static void make_apply(struct req *q)
{
    const struct api_request *r = q->r;
    jval config = doc_root(r->body), meta = jgetc(config, "metadata");
    if (!check_own_body(q, config) || !check_name_match(q, meta) || !check_namespace_match(q, meta))
        return;
    if (!q->base && r->subresource.len) {
        req_refuse(q, status_not_found(&q->arena, q->kind, q->name));
        return;
    }
    if (q->base ? !check_preconditions(q, meta) : !begin_create(q, meta))
        return;
    struct status *why = NULL;
    edit_done(&q->owners);
    edit_init(&q->owners, &q->arena);
    struct doc *d = managed_apply_edit(
        q->kind, q->base ? q->base->doc : NULL, r->body, r->field_manager, r->subresource, r->force,
        loop_wall(q->server->loop), write_versions(q), &q->arena, &q->owners, &why);
    if (d)
        write_set_doc(q, d);
    else if (why)
        req_refuse(q, why);
    else
        write_wait_for_version(q);
}

static struct admit admit_of(struct req *q, struct status **refused)
{
    return (struct admit){
        .kind = admit_kind(q->kind),
        .old = q->base,
        .ns = q->r->ns,
        .name = q->name,
        .subresource = q->r->subresource,
        .user = q->user,
        .store = q->server->store,
        .pools = &q->server->pools,
        .token_volumes = q->server->token_volumes,
        .grove = q->server->grove,
        .now = loop_wall(q->server->loop),
        .arena = &q->arena,
        .errors = &q->errors,
        .refused = refused,
    };
}

/* Before anything is made of it: a patch takes what it has to where it belongs, one by one. */
static bool is_too_much(struct req *q, struct doc *d)
{
    struct status *refused = NULL;
    struct admit a = admit_of(q, &refused);
    if (admit_is_too_much(&a, d))
        req_refuse(q, refused);
    return refused;
}

void make_patch(struct req *q)
{
    if (!patch_check_options(q) || is_too_much(q, q->r->body))
        return;
    if (q->r->patch == API_PATCH_APPLY) {
        make_apply(q);
        return;
    }
    if (!q->base) {
        req_refuse(q, status_not_found(&q->arena, q->kind, q->name));
        return;
    }
    struct doc *d = patch_apply(q, q->kind->type, obj_root(q->base));
    if (!d)
        return;
    write_set_doc(q, d);
    jval meta = jgetc(doc_root(d), "metadata");
    if (check_own_body(q, doc_root(d)) && check_name_match(q, meta) &&
        check_namespace_match(q, meta))
        (void)check_preconditions(q, meta);
}

/* Webhooks hear of a deletion, a binding or an eviction before anything is done about it, and again
 * when it is no longer the version they heard of. False: not now. */
static bool ask_first(struct req *q)
{
    if (!hooks_concern(q) || q->ops->admits || !q->base || q->asked_rv == q->base->rv)
        return true;
    if (q->asked_rv && ++q->tries >= WRITE_TRIES_MAX) {
        req_refuse(q, status_conflict(&q->arena, q->kind, q->name, NULL));
        return false;
    }
    enum hook_step step = hooks_ask(q, true);
    if (step == HOOKS_NOBODY)
        step = hooks_ask(q, false);
    if (step == HOOKS_WAITING)
        req_move(q, REQ_ASKED);
    return step == HOOKS_NOBODY;
}

/* Policies judge the same whenever it begins, and so does what nodes may not do. */
static bool judge_first(struct req *q)
{
    const struct status *denied = q->ops->admits || !q->base ? NULL : node_restriction_status(q);
    if (!denied && !q->ops->admits && q->base)
        denied = hooks_judge(q);
    if (denied)
        req_refuse(q, denied);
    return !denied;
}

static void step_decode(struct req *q)
{
    write_set_doc(q, NULL);
    q->effect = EFFECT_STORE;
    if (!write_find_base(q) || !check_subject(q) || !judge_first(q) || !ask_first(q))
        return;
    q->ops->make(q);
    if (q->state == REQ_DECODE)
        req_move(q, q->ops->admits ? REQ_MUTATE : REQ_CHECK);
}

/* ---- MUTATE ---- */

static bool is_status(const struct req *q)
{
    return str_is(q->r->subresource, "status");
}

static const struct field *status_field(const struct req *q)
{
    return is_status(q) && q->base ? type_field(q->kind->type, STR("status")) : NULL;
}

/* Some field below has a default. Types nest no deeper than documents do; what repeats itself is
 * taken for having one. */
static bool has_defaults(const struct type *t, unsigned depth)
{
    for (size_t i = 0; i < t->n_fields; i++)
        if (t->fields[i].dflt || !depth || has_defaults(t->fields[i].type, depth - 1))
            return true;
    return false;
}

/* What is in the store has its defaults: after a status write only those of the status can be
 * missing, and hardly any status has some. */
static bool needs_defaults(const struct req *q)
{
    static int8_t known[1024]; /* by kind: 0 not asked yet, 1 no, 2 yes; tables do not change */
    const struct field *status = status_field(q);
    size_t id = kind_id(q->kind);
    if (!status || id >= ARRAY_LEN(known) || kind_is(q->kind, KIND_DEFINED))
        return true;
    if (!known[id])
        known[id] = has_defaults(status->type, 16) ? 2 : 1;
    return known[id] == 2;
}

struct unknown_ctx {
    struct req *q;
    struct strbuf text; /* all of them, for strict decoding */
    str path;           /* of the part looked at */
    size_t n;
};

static void report_unknown(void *ctx, const char *what, str path)
{
    struct unknown_ctx *u = ctx;
    str text = arena_printf(&u->q->arena, "%s \"%.*s%s%.*s\"", what, STR_ARG(u->path),
                            u->path.len ? "." : "", STR_ARG(path));
    if (u->n++)
        strbuf_add_cstr(&u->text, ", ");
    strbuf_add_str(&u->text, text);
    if (u->q->r->field_validation == API_VALIDATE_WARN)
        field_warning_add(&u->q->errors, "%.*s", STR_ARG(text));
}

static void refuse_strict(struct req *q, str unknown)
{
    if (q->r->verb != API_PATCH) {
        req_refuse(q, status_bad_request(
                          &q->arena,
                          "%s in version \"%s\" cannot be handled as a %s: strict decoding error: "
                          "%.*s",
                          q->kind->kind, q->kind->version, q->kind->kind, STR_ARG(unknown)));
        return;
    }
    struct strbuf whole = STRBUF_INIT(WRITE_OBJECT_MAX * 2);
    json_quote(&whole, doc_text(q->doc));
    field_error_add(&q->errors, FIELD_ERR_INVALID, STR("patch"), strbuf_str(&whole),
                    "strict decoding error: %.*s", STR_ARG(unknown));
    strbuf_done(&whole);
    req_refuse(q, status_invalid_named(&q->arena, "", "", STR_NONE, &q->errors));
}

/* Unknown fields: reported as asked for, and dropped. */
static bool drop_unknown(struct req *q)
{
    struct unknown_ctx u = {.q = q, .text = STRBUF_INIT(1 << 20)};
    const struct field *status = status_field(q);
    /* A status write changes nothing else. */
    u.path = status ? STR("status") : STR_NONE;
    schema_unknown(status ? status->type : q->kind->type,
                   status ? jgetc(doc_root(q->doc), "status") : doc_root(q->doc), report_unknown,
                   &u);
    bool ok = !u.n || q->r->field_validation != API_VALIDATE_STRICT;
    if (!ok)
        refuse_strict(q, strbuf_str(&u.text));
    else if (u.n)
        write_set_doc(q, schema_prune(q->kind->type, q->doc));
    strbuf_done(&u.text);
    return ok;
}

/* Who changed what, judged before admission adds its own. An apply has its answer already. False: a
 * webhook has to be asked first. */
static bool track_managers(struct req *q, struct edit *e)
{
    const struct api_request *r = q->r;
    if (r->verb == API_PATCH && r->patch == API_PATCH_APPLY) {
        for (size_t i = 0; i < q->owners.items.len; i++)
            *vec_push(&e->items) = q->owners.items.p[i];
        return true;
    }
    str manager = r->field_manager.len ? r->field_manager : STR("unknown");
    return managed_update_edit(q->kind, q->base ? q->base->doc : NULL, q->doc, manager,
                               r->subresource, loop_wall(q->server->loop), write_versions(q), e);
}

/* Stamps, owners and what admission changes, in one go. Usually nothing comes between now and the
 * write, so the version is the one it will have; otherwise it is stamped again. (An update that
 * admission may change is stamped later: its generation depends on that. So is everything that
 * webhooks are asked about: to them a new object has neither UID nor version.) */
static bool mutate(struct req *q, const struct admit *a)
{
    struct edit e;
    bool asks = hooks_concern(q);
    edit_init(&e, &q->arena);
    q->stamped = 0;
    if (!q->base && !asks) {
        q->stamped = q->dry_run ? 0 : store_next_revision(q->server->store);
        meta_stamp_new(q, &e, q->stamped);
    } else if (!admit_mutates(a) && !q->dry_run && !asks) {
        q->stamped = store_next_revision(q->server->store);
        meta_stamp_update(q, &e, q->doc, q->stamped);
    }
    if (!track_managers(q, &e)) {
        edit_done(&e);
        return false;
    }
    write_set_doc(q, admit_mutate(a, q->doc, &e));
    return true;
}

const struct status *status_too_large(struct arena *a)
{
    return status_new(a, 413, "RequestEntityTooLarge", "Request entity too large: limit is %zu",
                      WRITE_OBJECT_MAX);
}

/* All fields are known and have their defaults, and nothing is in it that the client cannot write.
 * Hardly anybody sends fields we do not know: one walk sees to both. (Isolation takes things away
 * or replaces them by what is stored, so it does not matter that it comes after.) */
static bool complete(struct req *q)
{
    struct doc *d = status_field(q) ? NULL : schema_default_known(q->kind->type, q->doc);
    if (d) {
        write_set_doc(q, d);
        write_set_doc(q, meta_isolate(q, q->doc));
        return true;
    }
    if (!drop_unknown(q))
        return false;
    write_set_doc(q, meta_isolate(q, q->doc));
    if (!needs_defaults(q) && !(kind_is(q->kind, KIND_CUSTOM) && doc_may_have_null(q->doc)))
        return true;
    d = schema_default_bounded(q->kind->type, q->doc);
    if (!d) {
        req_refuse(q, status_too_large(&q->arena));
        return false;
    }
    write_set_doc(q, d);
    return true;
}

/* What admission says about the candidate once webhooks have changed it: once more the same. */
static bool mutate_again(struct req *q)
{
    struct status *refused = NULL;
    struct admit a = admit_of(q, &refused);
    struct edit e;
    edit_init(&e, &q->arena);
    write_set_doc(q, admit_default(&a, q->doc));
    write_set_doc(q, admit_mutate(&a, q->doc, &e));
    if (refused)
        req_refuse(q, refused);
    return !refused;
}

/* Asked about or not, a new object gets its stamps, and is then complete. */
static void end_mutation(struct req *q, bool changed)
{
    struct edit e;
    if (changed && !mutate_again(q))
        return;
    if (!q->base) {
        edit_init(&e, &q->arena);
        meta_stamp_new(q, &e, 0);
        struct doc *d = edit_apply(&e, q->doc, NULL);
        edit_done(&e);
        BUG_ON(!d); /* metadata is an object */
        write_set_doc(q, d);
    }
    req_move(q, REQ_VALIDATE);
}

static void ask_to_mutate(struct req *q)
{
    enum hook_step step = hooks_mutate(q);
    switch (step) {
    case HOOKS_NOBODY:
    case HOOKS_CHANGED:
        end_mutation(q, step == HOOKS_CHANGED);
        break;
    case HOOKS_WAITING:
        req_move(q, REQ_ASKED);
        break;
    case HOOKS_REFUSED:
        break;
    }
}

static void step_mutate(struct req *q)
{
    struct status *refused = NULL;
    struct admit a = admit_of(q, &refused);
    if (is_too_much(q, q->doc) || !complete(q))
        return;
    write_set_doc(q, admit_default(&a, q->doc));
    if (!mutate(q, &a)) {
        write_wait_for_version(q);
        return;
    }
    if (refused)
        req_refuse(q, refused);
    else if (!hooks_concern(q))
        req_move(q, REQ_VALIDATE);
    else
        ask_to_mutate(q);
}

/* ---- VALIDATE ---- */

/* Kinds of Grove are custom resources: as with those that users define, a limit that came later
 * does not lock up what is older. Errors are rare, so the schema is made for them. */
static void ratchet(struct req *q, size_t first)
{
    if (!q->base || q->errors.items.len == first || !kind_is(q->kind, KIND_CUSTOM))
        return;
    struct doc *crd = structural_crd(q->kind);
    jval version = jat(jpath(doc_root(crd), "spec.versions"), 0);
    cel_rules_ratchet(jpath(version, "schema.openAPIV3Schema"), doc_root(q->doc), obj_root(q->base),
                      &q->errors, first);
    doc_unref(crd);
}

/* A status write changes status and metadata only. (A user's schema may have rules for the whole.)
 */
static void validate_by_table(struct req *q)
{
    const struct type *t = q->kind->type;
    jval root = doc_root(q->doc);
    size_t first = q->errors.items.len;
    if (status_field(q) && !t->schema.doc) {
        schema_validate_member(t, root, STR("metadata"), &q->errors);
        schema_validate_member(t, root, STR("status"), &q->errors);
    } else {
        schema_validate(t, root, STR_NONE, &q->errors);
    }
    if (t->schema.doc)
        crds_check_values(q->server->crds, q->kind, root, q->base ? obj_root(q->base) : JVAL_ABSENT,
                          &q->errors, first);
    else
        ratchet(q, first);
}

static void ask_to_judge(struct req *q)
{
    const struct status *denied = hooks_judge(q);
    if (denied) {
        req_refuse(q, denied);
        return;
    }
    switch (hooks_validate(q)) {
    case HOOKS_NOBODY:
    case HOOKS_CHANGED: /* not by those that judge */
        req_move(q, REQ_CHECK);
        break;
    case HOOKS_WAITING:
        req_move(q, REQ_SUSPENDED);
        break;
    case HOOKS_REFUSED:
        break;
    }
}

/* What this user may not write, whatever it is worth in itself. */
static const struct status *check_user(struct req *q)
{
    static const struct status *(*const checks[])(struct req * q) = {
        node_restriction_status, escalation_status, signing_status, policy_access_status};
    const struct status *why = NULL;
    for (size_t i = 0; !why && i < ARRAY_LEN(checks); i++)
        why = checks[i](q);
    return why;
}

static void step_validate(struct req *q)
{
    struct status *refused = NULL;
    struct admit a = admit_of(q, &refused);
    meta_validate(q, q->doc);
    validate_by_table(q);
    admit_validate(&a, q->doc);
    const struct status *type_error =
        q->errors.items.len && !kind_is(q->kind, KIND_CUSTOM) ? type_error_status(q) : NULL;
    const struct status *forbidden = q->errors.items.len ? NULL : check_user(q);
    if (type_error)
        req_refuse(q, type_error);
    else if (refused)
        req_refuse(q, refused);
    else if (q->errors.items.len)
        req_refuse(q, status_invalid(&q->arena, q->kind, q->name, &q->errors));
    else if (forbidden)
        req_refuse(q, forbidden);
    else if (doc_text(q->doc).len > WRITE_OBJECT_MAX)
        req_refuse(q, status_too_large(&q->arena));
    else if (q->server->suspend && q->server->suspend(q->server->suspend_ctx, q))
        req_move(q, REQ_SUSPENDED);
    else
        ask_to_judge(q);
}

/* ---- CHECK ---- */

static bool is_still_newest(struct req *q)
{
    const struct obj *now = store_newest(q->server->store, q->kind, q->r->ns, q->name);
    if (!now || !q->base)
        return !now && !q->base;
    return now->rv == q->base->rv;
}

static void refuse_existing(struct req *q)
{
    const struct obj *o = store_newest(q->server->store, q->kind, q->r->ns, q->name);
    struct status *s = status_already_exists(&q->arena, q->kind, q->name);
    if (o && o->deleting)
        s->message = arena_printf(&q->arena, "object is being deleted: %.*s", STR_ARG(s->message));
    req_refuse(q, s);
}

static void start_over(struct req *q)
{
    if (q->r->verb == API_CREATE && !q->r->subresource.len)
        refuse_existing(q);
    else if (++q->tries >= WRITE_TRIES_MAX)
        req_refuse(q, status_conflict(&q->arena, q->kind, q->name, NULL));
    else
        req_move(q, REQ_DECODE);
}

/* Nothing to write. The version it confirms may still be on its way to the disk. */
static void settle_for_base(struct req *q)
{
    q->effect = EFFECT_NONE;
    q->result = q->base;
    const struct obj *durable = store_get(q->server->store, q->kind, q->r->ns, q->name);
    if (q->dry_run || (durable && durable->rv >= q->base->rv)) {
        req_move(q, REQ_ANSWER);
        return;
    }
    q->wait_rv = q->base->rv;
    list_push_back(&q->server->waiting, &q->wait);
    req_move(q, REQ_WAIT);
}

static void step_check(struct req *q)
{
    if (!is_still_newest(q)) {
        start_over(q);
        return;
    }
    /* Its definition went while somebody was asked. What is there already goes with it. */
    if (!q->base && kind_is(q->r->kind, KIND_RETIRED)) {
        req_refuse(q, no_such_resource(&q->arena));
        return;
    }
    if (q->base && q->effect == EFFECT_STORE && q->ops->admits &&
        delete_is_complete(q->kind, q->base, q->doc)) {
        q->effect = EFFECT_REMOVE;
        q->reply_old_version = true;
    }
    bool same = q->base && q->effect == EFFECT_STORE && !write_migrates(q) &&
                meta_same_object(q->base->doc, q->doc);
    if (same || q->effect == EFFECT_NONE)
        settle_for_base(q);
    else if (write_convert(q))
        req_move(q, REQ_APPLY);
}

/* ---- APPLY ---- */

static struct obj *make_obj(struct req *q, struct doc *d)
{
    struct obj *o = obj_new(q->kind, d, NULL);
    BUG_ON(!o); /* name and version were checked or set by us */
    return obj_hold(&q->arena, o);
}

/* The candidate as it is stored; a dry run shows the version that is there, if any. */
static struct doc *final_doc(struct req *q, uint64_t rv)
{
    return rv == q->stamped ? doc_ref(q->doc) : meta_stamp(q, q->doc, rv);
}

static void step_apply(struct req *q)
{
    uint64_t base_rv = q->base ? q->base->rv : 0;
    uint64_t rv = q->dry_run ? base_rv : store_next_revision(q->server->store);
    struct obj *o = make_obj(q, final_doc(q, rv));
    const struct status *over =
        quotas_exist(q->server->quotas) && q->effect == EFFECT_STORE ? quotas_take(q, o, rv) : NULL;
    if (over) {
        req_refuse(q, over);
        return;
    }
    q->result = o;
    if (q->stored)
        o = write_as_stored(q, o);
    if (q->reply_old_version)
        q->result = make_obj(q, final_doc(q, base_rv));
    write_set_doc(q, NULL);
    if (q->dry_run)
        req_move(q, REQ_ANSWER);
    else
        request_commit(q, o, q->effect == EFFECT_REMOVE);
}

/* ---- running ---- */

static void fill_answer(struct req *q)
{
    if (req_is_refused(q))
        return;
    if (q->r->as_stored && q->result && q->result->kind != q->r->kind)
        q->result = obj_hold(&q->arena, convert_as_stored(q->result, q->r->kind));
    if (q->ops->answer) {
        q->ops->answer(q);
        return;
    }
    if (!q->base)
        stored_warn(q->kind, &q->errors);
    req_reply_obj(q, q->base ? 200 : 201, q->result);
}

void write_run(struct req *q)
{
    for (;;) {
        switch (q->state) {
        case REQ_NEW:
            req_move(q, REQ_DECODE);
            break;
        case REQ_DECODE:
            step_decode(q);
            break;
        case REQ_MUTATE:
            step_mutate(q);
            break;
        case REQ_VALIDATE:
            step_validate(q);
            break;
        case REQ_CHECK:
            step_check(q);
            break;
        case REQ_APPLY:
            step_apply(q);
            break;
        case REQ_ASKED:
        case REQ_CONVERTING:
        case REQ_SUSPENDED:
            return;
        case REQ_WAIT:
            fill_answer(q);
            return;
        case REQ_ANSWER:
            fill_answer(q);
            request_answer_later(q);
            return;
        }
    }
}

void write_start(struct req *q, const struct write_ops *ops)
{
    q->ops = ops;
    q->dry_run = q->r->dry_run;
    q->name = q->r->name;
    write_run(q);
}

void write_resume(struct req *q)
{
    req_move(q, REQ_CHECK);
    write_run(q);
}

void write_mutated(struct req *q, bool changed)
{
    end_mutation(q, changed);
    write_run(q);
}

void write_asked(struct req *q, bool mutating)
{
    enum hook_step step = mutating ? hooks_ask(q, false) : HOOKS_NOBODY;
    if (step == HOOKS_WAITING)
        return;
    if (step == HOOKS_NOBODY) {
        q->asked_rv = q->base->rv;
        req_move(q, REQ_DECODE);
    }
    write_run(q);
}

void write_refuse(struct req *q, const struct status *why)
{
    req_refuse(q, why);
    write_run(q);
}

const struct status *write_take_patch(struct req *q, struct doc *d)
{
    if (str_is(q->r->subresource, "scale"))
        return scale_take(q, doc_root(d));
    struct doc *known = schema_default_known(q->kind->type, d);
    if (!known) {
        struct doc *pruned = schema_prune(q->kind->type, d);
        known = schema_default_bounded(q->kind->type, pruned);
        doc_unref(pruned);
    }
    if (!known)
        return status_too_large(&q->arena);
    write_set_doc(q, meta_isolate(q, known));
    doc_unref(known);
    return NULL;
}
