/*
 * The life of a request: authorized, handed to its verb, answered once. Writes wait here for the
 * disk.
 *
 * Invariants
 *  1. A request is on server->open from start to answer, and answered exactly once, never from
 *     inside request_start().
 *  2. A commit is owned by the store until its done is called and freed there; the request it
 *     belongs to may be gone by then (the server was freed).
 *  3. Nobody is told about a version that is not durable: a write that changes nothing waits until
 *     the version it confirms is.
 */
#include "apiserver/request.h"

struct commit {
    struct store_write w;
    struct apiserver *server; /* NULL: it was freed meanwhile */
    struct req *q;            /* NULL: nobody waits for it any more */
    struct list link;         /* server->commits */
};

/* ---- states ---- */

void req_move(struct req *q, enum req_state to)
{
    static const unsigned allowed[] = {
        [REQ_NEW] = 1 << REQ_DECODE | 1 << REQ_ANSWER,
        [REQ_DECODE] = 1 << REQ_MUTATE | 1 << REQ_CHECK | 1 << REQ_ASKED | 1 << REQ_CONVERTING |
                       1 << REQ_ANSWER,
        [REQ_CONVERTING] = 1 << REQ_DECODE | 1 << REQ_MUTATE | 1 << REQ_CHECK | 1 << REQ_ANSWER,
        [REQ_MUTATE] = 1 << REQ_VALIDATE | 1 << REQ_ASKED | 1 << REQ_CONVERTING | 1 << REQ_ANSWER,
        [REQ_ASKED] = 1 << REQ_DECODE | 1 << REQ_VALIDATE | 1 << REQ_ANSWER,
        [REQ_VALIDATE] = 1 << REQ_SUSPENDED | 1 << REQ_CHECK | 1 << REQ_ANSWER,
        [REQ_SUSPENDED] = 1 << REQ_CHECK | 1 << REQ_ANSWER,
        [REQ_CHECK] = 1 << REQ_DECODE | 1 << REQ_CONVERTING | 1 << REQ_APPLY | 1 << REQ_WAIT |
                      1 << REQ_ANSWER,
        [REQ_APPLY] = 1 << REQ_WAIT | 1 << REQ_ANSWER,
        [REQ_WAIT] = 1 << REQ_ANSWER,
        [REQ_ANSWER] = 0,
    };
    BUG_ON(!(allowed[q->state] & 1u << to));
    q->state = to;
}

/* ---- answers ---- */

void req_refuse(struct req *q, const struct status *why)
{
    if (req_is_refused(q))
        return;
    q->reply.status = why;
    q->reply.code = why->code;
    q->reply.obj = NULL;
    q->reply.doc = NULL;
    if (q->state != REQ_ANSWER)
        req_move(q, REQ_ANSWER);
}

bool req_is_refused(const struct req *q)
{
    return q->reply.status != NULL;
}

void req_reply_obj(struct req *q, int code, struct obj *o)
{
    q->reply.code = code;
    q->reply.obj = o;
}

void req_reply_doc(struct req *q, int code, struct doc *d)
{
    q->reply.code = code;
    q->reply.doc = d;
}

struct status *status_forbidden(struct arena *a, const struct kind *k, str name, str why)
{
    struct status *s =
        str_is_empty(name)
            ? status_new(a, 403, "Forbidden", "%s%s%s is forbidden: %.*s", k->plural,
                         *k->group ? "." : "", k->group, STR_ARG(why))
            : status_new(a, 403, "Forbidden", "%s%s%s \"%.*s\" is forbidden: %.*s", k->plural,
                         *k->group ? "." : "", k->group, STR_ARG(name), STR_ARG(why));
    s->name = name;
    s->group = str_of(k->group);
    s->kind = str_of(k->plural);
    return s;
}

static void req_free(struct req *q)
{
    loop_task_cancel(&q->task);
    loop_timer_cancel(&q->timer);
    list_remove(&q->link);
    list_remove(&q->wait);
    list_remove(&q->peer);
    if (q->commit)
        q->commit->q = NULL;
    field_errors_done(&q->errors);
    edit_done(&q->owners);
    doc_unref(q->doc);
    arena_done(&q->arena);
    free(q);
}

void request_answer(struct req *q)
{
    if (q->state != REQ_ANSWER)
        req_move(q, REQ_ANSWER);
    q->reply.warnings = q->errors.warnings.p;
    q->reply.n_warnings = q->errors.warnings.len;
    /* The client may free the server's other requests, but not this one. */
    list_remove(&q->link);
    list_remove(&q->wait);
    list_remove(&q->peer);
    q->r->impl = NULL;
    q->r->done(q->r, &q->reply);
    req_free(q);
}

void request_abort(struct req *q)
{
    q->state = REQ_ANSWER;
    q->reply = (struct api_reply){.unknown_outcome = true, .remaining = -1};
    request_answer(q);
}

static void answer_task(struct loop_task *t)
{
    request_answer(container_of(t, struct req, task));
}

void request_answer_later(struct req *q)
{
    loop_task_init(&q->task, answer_task);
    loop_defer(q->server->loop, LOOP_PUBLISH, &q->task);
}

/* ---- durability ---- */

static struct status *store_failure(struct req *q, const struct err *err)
{
    if (err->code == ERR_NO_SPACE)
        return status_new(&q->arena, 507, status_reason_of_code(507), "%s", err->message);
    return status_new(&q->arena, 500, "InternalError", "Internal error occurred: %s", err->message);
}

void requests_on_batch(struct apiserver *a)
{
    uint64_t rv = store_revision(a->store);
    list_foreach (it, &a->waiting) {
        struct req *q = container_of(it, struct req, wait);
        if (q->wait_rv > rv)
            continue;
        list_remove(&q->wait);
        if (q->state == REQ_NEW)
            read_resume(q);
        else
            request_answer_later(q);
    }
}

static void fail_waiting(struct apiserver *a, const struct err *err)
{
    list_foreach (it, &a->waiting) {
        struct req *q = container_of(it, struct req, wait);
        list_remove(&q->wait);
        req_refuse(q, store_failure(q, err));
        request_answer_later(q);
    }
}

static void on_durable(struct store_write *w, const struct err *err)
{
    struct commit *c = container_of(w, struct commit, w);
    struct req *q = c->q;
    if (err && c->server)
        fail_waiting(c->server, err);
    list_remove(&c->link);
    obj_unref(c->w.obj);
    free(c);
    if (!q)
        return;
    q->commit = NULL;
    if (err)
        req_refuse(q, store_failure(q, err));
    request_answer(q);
}

void commits_detach(struct apiserver *a)
{
    list_foreach (it, &a->commits) {
        struct commit *c = container_of(it, struct commit, link);
        list_remove(&c->link);
        c->server = NULL;
    }
}

void request_commit(struct req *q, struct obj *o, bool delete)
{
    struct apiserver *a = q->server;
    struct commit *c = xnew(struct commit);
    struct err err = ERR_INIT;
    c->server = a;
    c->q = q;
    c->w = (struct store_write){
        .kind = q->kind,
        .ns = o->ns,
        .name = o->name,
        .obj = obj_ref(o),
        .delete = delete,
        .done = on_durable,
    };
    if (store_apply(a->store, &c->w, &err) < 0) {
        obj_unref(c->w.obj);
        free(c);
        req_refuse(q, store_failure(q, &err));
        return;
    }
    if (!delete)
        admit_taken(&a->pools, o);
    list_push_back(&a->commits, &c->link);
    q->commit = c;
    req_move(q, REQ_WAIT);
}

/* ---- start ---- */

static const char *verb_name(enum api_verb v)
{
    static const char *const names[] = {
        [API_GET] = "get",
        [API_LIST] = "list",
        [API_CREATE] = "create",
        [API_UPDATE] = "update",
        [API_PATCH] = "patch",
        [API_DELETE] = "delete",
        [API_DELETE_COLLECTION] = "deletecollection",
    };
    return names[v];
}

static unsigned verb_bit(enum api_verb v)
{
    static const unsigned bits[] = {
        [API_GET] = VERB_GET,
        [API_LIST] = VERB_LIST,
        [API_CREATE] = VERB_CREATE,
        [API_UPDATE] = VERB_UPDATE,
        [API_PATCH] = VERB_PATCH,
        [API_DELETE] = VERB_DELETE,
        [API_DELETE_COLLECTION] = VERB_DELETE_COLLECTION,
    };
    return bits[v];
}

static const struct subresource *find_subresource(const struct kind *k, str name)
{
    for (size_t i = 0; i < k->n_subresources; i++)
        if (str_is(name, k->subresources[i].name))
            return &k->subresources[i];
    return NULL;
}

static bool has_subresource(const struct kind *k, str name)
{
    if (str_is(name, "status"))
        return kind_is(k, KIND_STATUS);
    if (str_is(name, "scale"))
        return kind_is(k, KIND_SCALE);
    return find_subresource(k, name) != NULL;
}

struct status *no_such_resource(struct arena *a)
{
    struct status *s =
        status_new(a, 404, "NotFound", "the server could not find the requested resource");
    s->empty_details = true;
    return s;
}

/* "metadata.name=x" and nothing else. */
static str selected_name(str field_selector)
{
    str value = field_selector, key = str_cut(&value, '=');
    if (!str_is(key, "metadata.name") || str_find_char(value, ',') >= 0)
        return STR_NONE;
    return str_starts(value, STR("=")) ? str_sub(value, 1, value.len) : value;
}

struct access request_access(const struct api_request *r)
{
    bool many = r->verb == API_LIST || r->verb == API_DELETE_COLLECTION;
    str name = many ? selected_name(r->field_selector) : r->name;
    struct access x = access_to(str_of(verb_name(r->verb)), r->kind, r->ns, name, r->subresource);
    x.fields = many ? r->field_selector : STR_NONE;
    return x;
}

struct access watch_access(const struct api_watch *w)
{
    struct access x =
        access_to(STR("watch"), w->kind, w->ns, selected_name(w->field_selector), STR_NONE);
    x.fields = w->field_selector;
    return x;
}

static bool check_authorized(struct req *q)
{
    struct access x = request_access(q->r);
    const struct status *why = authorize_status(q->server, &q->arena, q->user, &x);
    if (why)
        req_refuse(q, why);
    return !why;
}

/* Subresources that show the object itself, or (scale) a view of it. */
static bool is_readable(str subresource)
{
    static const char *const names[] = {"",       "status",  "scale", "ephemeralcontainers",
                                        "resize", "approval"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(subresource, names[i]))
            return true;
    return false;
}

static void dispatch(struct req *q)
{
    const struct api_request *r = q->r;
    const struct write_ops *ops = write_ops_find(r->verb, r->subresource);
    if (r->subresource.len && !has_subresource(q->kind, r->subresource)) {
        req_refuse(q, no_such_resource(&q->arena));
    } else if (r->subresource.len ? r->verb == API_LIST || r->verb == API_DELETE_COLLECTION
                                  : !(q->kind->verbs & verb_bit(r->verb))) {
        req_refuse(q, status_method_not_allowed(&q->arena));
    } else if (!check_authorized(q)) {
        /* refused */
    } else if ((r->verb == API_GET && is_readable(r->subresource)) || r->verb == API_LIST) {
        read_start(q);
        return;
    } else if (r->verb == API_DELETE_COLLECTION) {
        delete_collection(q);
        return;
    } else if (ops) {
        write_start(q, ops);
        return;
    } else {
        req_refuse(q, status_method_not_allowed(&q->arena));
    }
    request_answer_later(q);
}

void request_start(struct apiserver *a, const struct user *user, struct api_request *r,
                   struct list *peers)
{
    struct req *q = xnew(struct req);
    q->server = a;
    q->r = r;
    q->user = user;
    q->kind = r->kind;
    q->local = peers != NULL;
    q->reply.remaining = -1;
    arena_init(&q->arena);
    field_errors_init(&q->errors, &q->arena);
    list_init(&q->link);
    list_init(&q->wait);
    list_init(&q->peer);
    loop_timer_init(a->loop, &q->timer, NULL);
    list_push_back(&a->open, &q->link);
    if (peers)
        list_push_back(peers, &q->peer);
    r->impl = q;
    dispatch(q);
}
