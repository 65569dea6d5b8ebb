/*
 * One record per Event, by name, in a list by last use; the longest unused is forgotten first.
 *
 *   record new ──► CREATE ──► known            known, minute over ──► PATCH count ──► known
 *                    │ 409                                               │ 404 (expired)
 *                    └──► GET ──► PATCH (count of the other + ours)      └──► CREATE
 *
 * Any other answer ends it: the record keeps what was not reported for the next time. But a warning
 * that met a server in trouble is sent again a few times: nobody may ever say it again.
 */
#include "client/event.h"

#include "base/map.h"
#include "json/write.h"

#define RECORDS_MAX 4096
#define SUBJECTS_MAX 4096
#define IN_FLIGHT_MAX 32
#define QUIET USEC_PER_MIN
/* Per object. client-go gives one back every five minutes, and its objects fall silent after 25
 * events, which is the beginning of a long update. */
#define BURST 25
#define REFILL (3 * USEC_PER_SEC)
#define MESSAGE_MAX 1024
#define NAME_MAX_LEN 253
#define TRIES 5
#define TRY_AGAIN (5 * USEC_PER_SEC)

struct record {
    struct list link;          /* by last use */
    struct list held;          /* of those to be sent later, or to be sent again */
    struct recorder *recorder; /* NULL: it is gone */
    char *key;                 /* "ns/name"; there are thousands, so no arena for it */
    str ns, name;              /* of the key */
    struct doc *template;      /* the Event without count and times; until it is sent */
    usec first, last;          /* wall */
    usec sent;                 /* monotonic, 0: never */
    int64_t count;             /* as the API has it, as far as we know */
    int64_t unsent;
    int64_t carried; /* of these by the request under way */
    bool busy, warning;
    unsigned failed; /* times in a row */
    struct doc *body;
    struct api_request req;
};

/* What one object's events have cost; whatever they say. */
struct subject {
    struct list link; /* by last use */
    unsigned spent;   /* writes, of BURST */
    usec since;       /* monotonic: one is given back each REFILL from here on */
    size_t len;
    char uid[];
};

struct recorder {
    struct loop *loop;
    struct api *api;
    const char *component;
    struct map by_name; /* "ns/name" → record */
    struct list records;
    struct map by_uid; /* → subject */
    struct list subjects;
    struct list held, failed;
    size_t n_held; /* in both */
    struct loop_timer again;
    bool holds;
    unsigned in_flight;
};

/* ---- documents ---- */

static void put_involved(struct jw *w, const struct obj *o)
{
    char version[256];
    jw_put_object(w, "involvedObject");
    jw_put_str(w, "apiVersion", kind_api_version(o->kind, version, sizeof(version)));
    jw_put_cstr(w, "kind", o->kind->kind);
    if (o->ns.len)
        jw_put_str(w, "namespace", o->ns);
    jw_put_str(w, "name", o->name);
    jw_put_str(w, "uid", o->uid);
    jw_end(w);
}

static struct doc *make_template(const struct record *e, const struct obj *about, bool warning,
                                 str reason, str message)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    put_involved(&w, about);
    jw_put_str(&w, "reason", reason);
    jw_put_str(&w, "message", str_sub(message, 0, MESSAGE_MAX));
    jw_put_cstr(&w, "type", warning ? "Warning" : "Normal");
    jw_put_object(&w, "source");
    jw_put_cstr(&w, "component", e->recorder->component);
    jw_end(&w);
    jw_put_cstr(&w, "reportingComponent", e->recorder->component);
    jw_put_cstr(&w, "reportingInstance", "");
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *make_event(const struct record *e)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Event");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", e->name);
    jw_put_str(&w, "namespace", e->ns);
    jw_end(&w);
    for (struct jiter it = jiter(doc_root(e->template)); jnext(&it);) {
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    jw_put_time(&w, "firstTimestamp", e->first);
    jw_put_time(&w, "lastTimestamp", e->last);
    jw_put_int(&w, "count", e->unsent);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *make_patch(const struct record *e)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_time(&w, "lastTimestamp", e->last);
    jw_put_int(&w, "count", e->count + e->unsent);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- records ---- */

static void record_free(struct record *e)
{
    doc_unref(e->body);
    doc_unref(e->template);
    free(e->key);
    free(e);
}

static void unhold(struct recorder *r, struct record *e)
{
    if (list_is_empty(&e->held))
        return;
    list_remove(&e->held);
    r->n_held--;
}

static void record_drop(struct recorder *r, struct record *e)
{
    unhold(r, e);
    map_del(&r->by_name, str_of(e->key));
    list_remove(&e->link);
    if (!e->busy) {
        record_free(e);
        return;
    }
    e->recorder = NULL; /* the answer frees it */
    r->in_flight--;
}

/* "ns/name" in one piece, so that its parts are slices of the map's key. */
static str event_key(struct arena *a, const struct obj *about, bool warning, str reason,
                     str message)
{
    uint64_t h = str_hash(about->uid, warning);
    h = str_hash(reason, h);
    h = str_hash(message, h);
    str ns = about->ns.len ? about->ns : STR("default");
    str base = str_sub(about->name, 0, NAME_MAX_LEN - 17);
    while (base.len && (base.p[base.len - 1] == '-' || base.p[base.len - 1] == '.'))
        base.len--; /* a cut name must still end in a letter or digit before the dot */
    return arena_printf(a, "%.*s/%.*s.%016llx", STR_ARG(ns), STR_ARG(base), (unsigned long long)h);
}

static struct record *record_get(struct recorder *r, const struct obj *about, bool warning,
                                 str reason, str message)
{
    struct arena a = ARENA_INIT;
    char *key = str_dup(event_key(&a, about, warning, reason, message));
    struct record *e = map_get(&r->by_name, str_of(key));
    arena_done(&a);
    if (e) {
        free(key);
        list_remove(&e->link);
        list_push_back(&r->records, &e->link);
        return e;
    }
    if (r->by_name.len >= RECORDS_MAX)
        record_drop(r, list_entry(r->records.next, struct record, link));
    e = xnew(struct record);
    e->key = key;
    e->recorder = r;
    size_t cut = (size_t)str_find_char(str_of(key), '/');
    e->ns = str_sub(str_of(key), 0, cut);
    e->name = str_sub(str_of(key), cut + 1, SIZE_MAX);
    e->warning = warning;
    map_put(&r->by_name, str_of(key), e);
    list_init(&e->held);
    list_push_back(&r->records, &e->link);
    return e;
}

/* ---- subjects ---- */

static void subject_drop(struct recorder *r, struct subject *s)
{
    map_del(&r->by_uid, str_n(s->uid, s->len));
    list_remove(&s->link);
    free(s);
}

static struct subject *subject_get(struct recorder *r, str uid)
{
    struct subject *s = map_get(&r->by_uid, uid);
    if (!s) {
        if (r->by_uid.len >= SUBJECTS_MAX)
            subject_drop(r, list_entry(r->subjects.next, struct subject, link));
        s = xcalloc(1, sizeof(*s) + uid.len);
        s->since = loop_now(r->loop);
        s->len = uid.len;
        if (uid.len)
            memcpy(s->uid, uid.p, uid.len);
        map_put(&r->by_uid, str_n(s->uid, s->len), s);
    }
    list_remove(&s->link);
    list_push_back(&r->subjects, &s->link);
    return s;
}

/* An object whose message changes with every plan must not fill the API with events. Warnings have
 * a budget of their own: what goes well must not hide what does not. */
static bool subject_spend(struct recorder *r, str uid, bool warning)
{
    struct arena a = ARENA_INIT;
    struct subject *s = subject_get(r, warning ? arena_printf(&a, "%.*s!", STR_ARG(uid)) : uid);
    arena_done(&a);
    usec back = (loop_now(r->loop) - s->since) / REFILL;
    s->since += back * REFILL;
    s->spent -= (unsigned)MIN(back, (usec)s->spent);
    if (s->spent >= BURST)
        return false;
    if (!s->spent)
        s->since = loop_now(r->loop);
    s->spent++;
    return true;
}

/* ---- requests ---- */

static void on_answer(struct api_request *req, const struct api_reply *reply);

static void send_request(struct record *e, enum api_verb verb, struct doc *body)
{
    struct recorder *r = e->recorder;
    doc_unref(e->body);
    e->body = body;
    e->req = (struct api_request){
        .verb = verb,
        .kind = &kind_event,
        .ns = e->ns,
        .name = e->name,
        .body = body,
        .patch = API_PATCH_MERGE,
        .field_manager = str_of(r->component),
        .field_validation = API_VALIDATE_IGNORE, /* nobody would hear of it */
        .done = on_answer,
    };
    e->carried = verb == API_GET ? 0 : e->unsent;
    e->busy = true;
    r->in_flight++;
    api_send(r->api, &e->req);
}

/* No answer, too many requests, or a server that fails: it may do better later. */
static bool is_trouble(const struct api_reply *reply)
{
    return reply->code < 100 || reply->code == 429 || reply->code >= 500;
}

static void try_again(struct recorder *r, struct record *e)
{
    if (!e->warning || ++e->failed >= TRIES)
        return;
    list_push_back(&r->failed, &e->held);
    r->n_held++;
    if (!loop_timer_is_set(&r->again))
        loop_timer_set(&r->again, loop_now(r->loop) + TRY_AGAIN);
}

static void on_again(struct loop_timer *t)
{
    struct recorder *r = container_of(t, struct recorder, again);
    while (!list_is_empty(&r->failed)) {
        struct record *e = list_entry(r->failed.next, struct record, held);
        list_remove(&e->held);
        list_push_back(&r->held, &e->held);
    }
    recorder_release(r);
}

static void on_success(struct record *e, const struct api_reply *reply)
{
    enum api_verb verb = e->req.verb;
    e->count = MAX(e->count, 1);
    if (reply->obj)
        e->count = jint(jgetc(obj_root(reply->obj), "count"), e->count);
    /* What is there after trouble is what we sent. */
    if (verb == API_GET && !e->failed) {
        send_request(e, API_PATCH, make_patch(e));
        return;
    }
    e->unsent -= verb == API_GET ? e->unsent : e->carried; /* more may have been said meanwhile */
    e->failed = 0;
    doc_unref(TAKE_PTR(e->body));
    if (!e->unsent)
        doc_unref(TAKE_PTR(e->template));
}

static void on_answer(struct api_request *req, const struct api_reply *reply)
{
    struct record *e = container_of(req, struct record, req);
    e->busy = false;
    if (!e->recorder) {
        record_free(e);
        return;
    }
    struct recorder *r = e->recorder;
    r->in_flight--;
    if (reply->code >= 200 && reply->code < 300)
        on_success(e, reply);
    else if (is_trouble(reply) || (reply->code == 404 && req->verb == API_GET))
        try_again(r, e);
    else if (reply->code == 409 && req->verb == API_CREATE)
        send_request(e, API_GET, NULL);
    else if (reply->code == 404 && req->verb == API_PATCH)
        send_request(e, API_CREATE, make_event(e));
    if (!r->holds)
        recorder_release(r);
}

void recorder_hold(struct recorder *r, bool on)
{
    r->holds = on;
}

void recorder_release(struct recorder *r)
{
    r->holds = false;
    while (r->in_flight < IN_FLIGHT_MAX && !list_is_empty(&r->held)) {
        struct record *e = list_entry(r->held.next, struct record, held);
        unhold(r, e);
        send_request(e, API_CREATE, make_event(e));
    }
}

void recorder_event(struct recorder *r, const struct obj *about, bool warning, str reason,
                    str message)
{
    usec now = loop_now(r->loop), wall = loop_wall(r->loop);
    struct record *e = record_get(r, about, warning, reason, message);
    if (!e->first)
        e->first = wall;
    e->last = wall;
    e->unsent++;
    bool quiet = e->sent && now - e->sent < QUIET;
    bool waits = e->busy || !list_is_empty(&e->held);
    if (waits || quiet || r->in_flight >= IN_FLIGHT_MAX || !subject_spend(r, about->uid, warning))
        return;
    e->sent = now;
    if (!e->template)
        e->template = make_template(e, about, warning, reason, message);
    if (e->count) {
        send_request(e, API_PATCH, make_patch(e));
    } else if (r->holds) {
        list_push_back(&r->held, &e->held);
        r->n_held++;
    } else {
        send_request(e, API_CREATE, make_event(e));
    }
}

size_t recorder_in_flight(const struct recorder *r)
{
    return r->in_flight + r->n_held;
}

/* ---- life cycle ---- */

struct recorder *recorder_new(struct loop *l, struct api *api, const char *component)
{
    struct recorder *r = xnew(struct recorder);
    r->loop = l;
    r->api = api;
    r->component = component;
    list_init(&r->records);
    list_init(&r->subjects);
    list_init(&r->held);
    list_init(&r->failed);
    loop_timer_init(l, &r->again, on_again);
    return r;
}

void recorder_free(struct recorder *r)
{
    if (!r)
        return;
    loop_timer_cancel(&r->again);
    while (!list_is_empty(&r->records))
        record_drop(r, list_entry(r->records.next, struct record, link));
    while (!list_is_empty(&r->subjects))
        subject_drop(r, list_entry(r->subjects.next, struct subject, link));
    map_done(&r->by_name);
    map_done(&r->by_uid);
    free(r);
}
