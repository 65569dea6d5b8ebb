/*
 * Reading: GET and LIST, from durable versions only.
 *
 * A list in pages is a list at the revision of its first page: later pages are read from the
 * store's history. The continue token is kube-apiserver's, base64url of
 *   {"v":"meta.k8s.io/v1","rv":230,"start":"/ch1\u0000"}
 * where start is the first key of the next page: the last name and a NUL, below its namespace when
 * the list spans namespaces. rv -1 means: go on with whatever is there now.
 *
 * A long list is read in steps, one per turn of the loop. It shows the state at the revision of its
 * first step: a later step reads from the store's history when something was written meanwhile. Its
 * items are references then; what is read in one step is borrowed until the client has been called,
 * since nothing durable changes in between.
 *
 * A read that asks for a version to come waits for it, a few seconds.
 */
#include "apiserver/crd/conversion.h"
#include "apiserver/request.h"
#include "base/b64.h"
#include "kube/selector.h"

#define TOKEN_MAX 4096
/* What one token may ask a page to begin with. */
#define LIMIT_MAX INT64_C(1000000000)
/* Objects looked at in one turn of the loop. */
#define STEP_OBJECTS 256
/* How long a version to come is waited for, as kube-apiserver does. */
#define FRESH_WAIT (3 * USEC_PER_SEC)

/* ---- get ---- */

struct status *status_version_too_large(struct arena *a, uint64_t asked, uint64_t current)
{
    struct status *s =
        status_new(a, 504, "Timeout", "Timeout: Too large resource version: %llu, current: %llu",
                   (unsigned long long)asked, (unsigned long long)current);
    status_add_cause(a, s, "ResourceVersionTooLarge", STR("Too large resource version"), STR_NONE);
    s->retry_after = 1;
    return s;
}

static void reply_get(struct req *q, struct obj *o)
{
    o = obj_hold(&q->arena, o);
    if (str_is(q->r->subresource, "scale"))
        req_reply_doc(q, 200, doc_hold(&q->arena, scale_doc(o)));
    else
        req_reply_obj(q, 200, o);
}

static void on_got(struct conversion *c)
{
    struct req *q = c->ctx;
    if (c->failed)
        req_refuse(q, c->failed);
    else
        reply_get(q, convert_finish(c->items[0].out, q->kind));
    request_answer(q);
}

/* False: it waits for a webhook. */
static bool read_get(struct req *q)
{
    const struct api_request *r = q->r;
    struct obj *o = store_get(q->server->store, q->kind, r->ns, r->name);
    if (!o) {
        req_refuse(q, status_not_found(&q->arena, q->kind, r->name));
        return true;
    }
    struct obj *as =
        r->as_stored ? convert_as_stored(o, q->kind) : convert_now(q->server, o, q->kind);
    if (as) {
        reply_get(q, as);
        return true;
    }
    struct conversion *c = conversion_new(&q->arena, q->kind, 1);
    o = obj_hold(&q->arena, obj_ref(o));
    conversion_add(c, o->doc, o);
    c->done = on_got;
    c->ctx = q;
    conversion_start_later(q->server->conversions, c);
    return false;
}

/* ---- continue tokens ---- */

struct position {
    int64_t rv; /* -1: whatever is current */
    str ns, name;
};

static bool spans_namespaces(const struct req *q)
{
    return kind_is(q->kind, KIND_NAMESPACED) && str_is_empty(q->r->ns);
}

static str token_encode(const struct req *q, struct arena *a, int64_t rv, str ns, str name)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "v", "meta.k8s.io/v1");
    jw_put_int(&w, "rv", rv);
    jw_key(&w, STR("start"));
    struct strbuf start = STRBUF_INIT(TOKEN_MAX);
    if (spans_namespaces(q))
        strbuf_add_str(&start, ns);
    if (rv >= 0 || spans_namespaces(q))
        strbuf_add_char(&start, '/');
    strbuf_add_str(&start, name);
    jw_str(&w, strbuf_str(&start));
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    struct strbuf b = STRBUF_INIT(TOKEN_MAX * 2);
    b64_encode(doc_text(d), B64_URL | B64_NO_PAD, &b);
    str token = arena_str(a, strbuf_str(&b));
    doc_unref(d);
    strbuf_done(&start);
    strbuf_done(&b);
    return token;
}

static void refuse_token(struct req *q, const char *why)
{
    req_refuse(q, status_bad_request(&q->arena,
                                     "invalid continue token: continue key is not "
                                     "valid: %s",
                                     why));
}

static bool token_decode(struct req *q, struct position *ret)
{
    struct strbuf b = STRBUF_INIT(TOKEN_MAX);
    struct err err = ERR_INIT;
    if (!b64_decode(q->r->continue_token, B64_URL | B64_NO_PAD, &b)) {
        strbuf_done(&b);
        refuse_token(q, "illegal base64 data");
        return false;
    }
    struct doc *d = doc_hold(&q->arena, doc_parse(strbuf_str(&b), NULL, &err));
    strbuf_done(&b);
    if (!d) {
        refuse_token(q, err.message);
        return false;
    }
    jval root = doc_root(d);
    str start = jstr(jgetc(root, "start"));
    ret->rv = jint(jgetc(root, "rv"), 0);
    if (!str_is(jstr(jgetc(root, "v")), "meta.k8s.io/v1") || ret->rv == 0 || ret->rv < -1 ||
        start.len == 0) {
        refuse_token(q, "it was not made by this server");
        return false;
    }
    ret->ns = q->r->ns;
    if (spans_namespaces(q))
        ret->ns = str_cut(&start, '/');
    else if (start.p[0] == '/')
        start = str_sub(start, 1, start.len);
    ret->name = start;
    return true;
}

/* ---- list ---- */

struct listing {
    struct req *q;
    struct selector *labels, *fields;
    bool selects;
    uint64_t rv;        /* of the state shown */
    struct position at; /* where the next step begins */
    int64_t limit;      /* 0: none */
    VEC(struct obj *) items;
    bool holds;                    /* the items are references */
    VEC(struct obj *) unconverted; /* references; of a kind that a webhook converts */
    int64_t remaining;             /* counted after the page is full */
    bool full;
    unsigned budget; /* objects left in this step */
    bool done;
};

static void listing_free(void *ctx)
{
    struct listing *l = ctx;
    for (size_t i = 0; l->holds && i < l->items.len; i++)
        obj_unref(l->items.p[i]);
    for (size_t i = 0; i < l->unconverted.len; i++)
        obj_unref(l->unconverted.p[i]);
    vec_done(&l->items);
    vec_done(&l->unconverted);
}

/* From here on things may change between steps. */
static void listing_hold(struct listing *l)
{
    for (size_t i = 0; !l->holds && i < l->items.len; i++)
        (void)obj_ref(l->items.p[i]);
    l->holds = true;
}

/* The key after this one: a NUL behind the name makes it the first. */
str key_after(struct arena *a, str name)
{
    char *next = arena_alloc(a, name.len + 1);
    memcpy(next, name.p, name.len);
    next[name.len] = 0;
    return str_n(next, name.len + 1);
}

static bool matches(const struct listing *l, const struct obj *o)
{
    if (!l->selects)
        return true;
    return label_selector_match(l->labels, o->labels) && field_selector_match(l->fields, o);
}

/* Selectors are about what is shown, so that objects are converted before they are selected. */
static bool converts(const struct listing *l)
{
    return kind_is(l->q->kind, KIND_HOOKED) && !l->q->r->as_stored;
}

static void list_add(struct listing *l, struct obj *o)
{
    struct req *q = l->q;
    if (l->full) {
        l->remaining++;
        return;
    }
    if (converts(l)) {
        *vec_push(&l->unconverted) = obj_ref(o);
        return;
    }
    if (o->kind != q->kind || kind_is(q->kind, KIND_DEFINED)) {
        struct obj *as = q->r->as_stored ? convert_as_stored(o, q->kind) : convert_obj(o, q->kind);
        if (as == o)
            obj_unref(as);
        else
            o = obj_hold(&q->arena, as);
    }
    if (!matches(l, o))
        return;
    *vec_push(&l->items) = l->holds ? obj_ref(o) : o;
    l->full = l->limit && (int64_t)l->items.len >= l->limit;
}

/* One object in key order; false: enough for this step. */
static bool list_step_add(struct listing *l, struct obj *o)
{
    list_add(l, o);
    if (--l->budget > 0)
        return true;
    l->at.ns = arena_str(&l->q->arena, o->ns);
    l->at.name = key_after(&l->q->arena, o->name);
    l->done = false;
    return false;
}

static bool list_add_past(void *ctx, struct obj *o)
{
    bool more = list_step_add(ctx, o);
    obj_unref(o);
    return more;
}

static bool parse_selectors(struct listing *l)
{
    struct req *q = l->q;
    struct err err = ERR_INIT;
    l->labels = label_selector_parse(&q->arena, q->r->label_selector, &err);
    if (l->labels)
        l->fields = field_selector_parse(&q->arena, q->kind, q->r->field_selector, &err);
    if (!l->labels || !l->fields) {
        req_refuse(q, status_bad_request(&q->arena, "%s", err.message));
        return false;
    }
    l->selects = !selector_is_everything(l->labels) || !selector_is_everything(l->fields);
    return true;
}

static void refuse_match(struct req *q, const char *why)
{
    field_error_add(&q->errors, FIELD_ERR_FORBIDDEN, STR("resourceVersionMatch"), STR_NONE, "%s",
                    why);
    req_refuse(q,
               status_invalid_named(&q->arena, "meta.k8s.io", "ListOptions", STR_NONE, &q->errors));
}

static bool check_versions(struct req *q)
{
    const struct api_request *r = q->r;
    if (r->rv_match != API_RV_UNSET && r->continue_token.len)
        refuse_match(q, "resourceVersionMatch is forbidden when continue is provided");
    else if (r->rv_match != API_RV_UNSET && !r->rv_given)
        refuse_match(q, "resourceVersionMatch is forbidden unless resourceVersion is provided");
    else if (r->rv_match == API_RV_EXACT && r->rv == 0)
        refuse_match(q, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
    else if (r->continue_token.len && r->rv_given && r->rv)
        req_refuse(
            q, status_bad_request(
                   &q->arena, "specifying resource version is not allowed when using continue"));
    return !req_is_refused(q);
}

static void refuse_expired(struct listing *l)
{
    struct req *q = l->q;
    struct status *s;
    if (!q->r->continue_token.len) {
        s = status_expired(&q->arena, "The resourceVersion for the provided list is too old.");
    } else {
        s = status_expired(
            &q->arena,
            "The provided continue parameter is too old to display a consistent list result. You "
            "can start a new list without the continue parameter, or use the continue token in "
            "this response to retrieve the remainder of the results. Continuing with the provided "
            "token results in an inconsistent list - objects that were created, modified, or "
            "deleted between the time the first chunk was returned and now may show up in the "
            "list.");
        s->continue_token = token_encode(q, &q->arena, -1, l->at.ns, l->at.name);
    }
    req_refuse(q, s);
}

static void list_current(struct listing *l)
{
    struct store *s = l->q->server->store;
    str ns = l->q->r->ns, name = field_selector_name(l->fields);
    if (name.len && (ns.len || !kind_is(l->q->kind, KIND_NAMESPACED))) {
        struct obj *o = store_get(s, l->q->kind, ns, name);
        if (o && !l->q->r->continue_token.len)
            list_add(l, o);
        return;
    }
    struct store_iter it = store_range(s, l->q->kind, ns, l->at.ns, l->at.name);
    for (struct obj *o; (o = store_next(&it)) && list_step_add(l, o);)
        ;
}

static void list_begin(struct listing *l);

static void list_past(struct listing *l)
{
    struct req *q = l->q;
    struct err err = ERR_INIT;
    bool begun = l->holds;
    listing_hold(l);
    int r = store_list_at_from(q->server->store, l->rv, q->kind, q->r->ns, l->at.ns, l->at.name,
                               list_add_past, l, &err);
    if (r == ERR_GONE && begun && !q->r->continue_token.len && q->r->rv_match != API_RV_EXACT) {
        /* So much was written that the past of this very list is gone: once more from now. */
        listing_free(l);
        list_begin(l);
    } else if (r == ERR_GONE) {
        refuse_expired(l);
    } else if (r == ERR_TIMEOUT) {
        req_refuse(q, status_version_too_large(&q->arena, l->rv, store_revision(q->server->store)));
    } else if (r < 0) {
        req_refuse(q, status_internal(&q->arena, "%s", err.message));
    }
}

static void add_continue(struct listing *l)
{
    struct req *q = l->q;
    const struct obj *last = *vec_last(&l->items);
    q->reply.continue_token =
        token_encode(q, &q->arena, (int64_t)l->rv, last->ns, key_after(&q->arena, last->name));
    if (!l->selects)
        q->reply.remaining = l->remaining;
}

/* Sets where and when it begins; again, when the past was lost on the way. */
static void list_begin(struct listing *l)
{
    struct req *q = l->q;
    const struct api_request *r = q->r;
    bool any_version = r->rv_given && r->rv == 0 && !r->continue_token.len;
    *l = (struct listing){.q = q, .labels = l->labels, .fields = l->fields, .selects = l->selects};
    l->limit = any_version ? 0 : MIN(MAX(r->limit, 0), LIMIT_MAX);
    l->rv = store_revision(q->server->store);
    if (r->continue_token.len) {
        if (token_decode(q, &l->at) && l->at.rv > 0)
            l->rv = (uint64_t)l->at.rv;
    } else if (r->rv_match == API_RV_EXACT) {
        l->rv = r->rv;
    }
}

static void list_end(struct listing *l)
{
    struct req *q = l->q;
    q->reply.code = 200;
    q->reply.rv = l->rv;
    if (l->full && l->remaining)
        add_continue(l);
    q->reply.items = l->items.p;
    q->reply.n_items = l->items.len;
}

/* What was converted, as far as there is room for it. */
static void list_take(struct listing *l, const struct conversion *c)
{
    for (size_t i = 0; i < c->n; i++) {
        struct obj *o = l->full ? NULL : convert_finish(c->items[i].out, l->q->kind);
        if (!o)
            l->remaining++;
        else if (matches(l, o))
            *vec_push(&l->items) = o;
        else
            obj_unref(o);
        l->full = l->limit && (int64_t)l->items.len >= l->limit;
        obj_unref(l->unconverted.p[i]);
    }
    l->unconverted.len = 0;
}

static void read_task(struct loop_task *t);

static void on_listed(struct conversion *c)
{
    struct listing *l = c->ctx;
    struct req *q = l->q;
    if (c->failed) {
        req_refuse(q, c->failed);
        request_answer(q);
        return;
    }
    list_take(l, c);
    conversion_end(c);
    if (l->done) {
        list_end(l);
        request_answer(q);
    } else {
        loop_defer(q->server->loop, LOOP_PUBLISH, &q->task);
    }
}

/* False: a webhook has been asked. */
static bool list_convert(struct listing *l)
{
    struct req *q = l->q;
    listing_hold(l);
    if (!l->unconverted.len)
        return true;
    struct conversion *c = conversion_new(&q->arena, q->kind, l->unconverted.len);
    for (size_t i = 0; i < l->unconverted.len; i++)
        conversion_add(c, l->unconverted.p[i]->doc, l->unconverted.p[i]);
    c->done = on_listed;
    c->ctx = l;
    if (!conversion_start(q->server->conversions, c))
        return false;
    list_take(l, c);
    conversion_end(c);
    return true;
}

/* No more than may be shown: each of them may have to be converted. */
static unsigned step_budget(const struct listing *l)
{
    int64_t room = l->limit - (int64_t)l->items.len;
    return converts(l) && l->limit && !l->full ? (unsigned)MIN(room, STEP_OBJECTS) : STEP_OBJECTS;
}

enum step { STEP_DONE, STEP_MORE, STEP_WAITS };

static enum step list_step(struct listing *l)
{
    l->done = true;
    l->budget = step_budget(l);
    if (l->rv == store_revision(l->q->server->store))
        list_current(l);
    else
        list_past(l);
    if (req_is_refused(l->q))
        return STEP_DONE;
    if (converts(l) && !list_convert(l))
        return STEP_WAITS;
    if (l->done)
        list_end(l);
    else
        listing_hold(l);
    return l->done ? STEP_DONE : STEP_MORE;
}

static enum step read_list(struct req *q)
{
    struct listing *l = q->state_of_verb;
    if (!l) {
        l = q->state_of_verb = arena_new(&q->arena, struct listing);
        l->q = q;
        arena_hold(&q->arena, l, listing_free);
        if (!parse_selectors(l))
            return STEP_DONE;
        list_begin(l);
    }
    return req_is_refused(q) ? STEP_DONE : list_step(l);
}

/* ---- both ---- */

static void on_too_late(struct loop_timer *t)
{
    struct req *q = container_of(t, struct req, timer);
    list_remove(&q->wait);
    req_refuse(q, status_version_too_large(&q->arena, q->r->rv, store_revision(q->server->store)));
    request_answer(q);
}

/* Continue tokens carry a version of their own, and with them none may be given. */
static bool waits_for_version(const struct req *q)
{
    return q->r->rv > store_revision(q->server->store) && !q->r->continue_token.len;
}

static void read_task(struct loop_task *t)
{
    struct req *q = container_of(t, struct req, task);
    enum step step = STEP_DONE;
    if (q->r->verb == API_LIST && !q->state_of_verb && !check_versions(q)) {
        /* refused, without waiting for anything */
    } else if (waits_for_version(q)) {
        q->wait_rv = q->r->rv;
        list_push_back(&q->server->waiting, &q->wait);
        loop_timer_init(q->server->loop, &q->timer, on_too_late);
        loop_timer_set(&q->timer, loop_now(q->server->loop) + FRESH_WAIT);
        return;
    } else if (q->r->verb == API_GET) {
        step = read_get(q) ? STEP_DONE : STEP_WAITS;
    } else {
        step = read_list(q);
    }
    if (step == STEP_DONE)
        request_answer(q);
    else if (step == STEP_MORE)
        loop_defer(q->server->loop, LOOP_PUBLISH, t);
}

void read_start(struct req *q)
{
    loop_task_init(&q->task, read_task);
    loop_defer(q->server->loop, LOOP_PUBLISH, &q->task);
}

void read_resume(struct req *q)
{
    loop_timer_cancel(&q->timer);
    read_start(q);
}
