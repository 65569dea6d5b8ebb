/* See disputes.h. */
#include "client/disputes.h"

#include "base/xxh.h"

struct dispute {
    uint64_t object; /* and what is done to it; 0: a free place */
    uint64_t body;
    usec last;      /* when it was done */
    uint32_t times; /* in a row */
    bool told;
};

/* ---- which write ---- */

/* A delete is of one object (its UID) and cannot be undone; whoever makes another of its name may
 * be a user who begins anew. */
static bool is_watched(const struct plan_write *w)
{
    return w->kind != &kind_pod && w->kind != &kind_event && w->op != PLAN_SUB_CREATE &&
           w->op != PLAN_DELETE;
}

static uint64_t hash_str(str s, uint64_t seed)
{
    return XXH3_64bits_withSeed(s.p, s.len, seed + s.len);
}

/* Another object of the name is another object: its UID counts, where there is one already. */
static uint64_t object_of(const struct plan_write *w, str uid)
{
    uint64_t h = hash_str(w->ns, kind_id(w->kind) * 8 + w->op);
    h = hash_str(w->subresource, hash_str(w->name, h));
    h = w->op == PLAN_CREATE ? h : hash_str(uid, h);
    return h ? h : 1;
}

/* 2026-01-01T00:00:00: `at` is its T. */
static bool is_time(str text, size_t at)
{
    static const char form[] = "dddd-dd-ddTdd:dd:dd";
    if (at < 10 || text.len - at < 9)
        return false;
    for (size_t i = 0; i < sizeof(form) - 1; i++) {
        char c = text.p[at - 10 + i];
        if (form[i] == 'd' ? c < '0' || c > '9' : c != form[i])
            return false;
    }
    return true;
}

static uint64_t hash_but_times(str text, uint64_t h)
{
    size_t from = 0;
    for (size_t at = 0; at < text.len; at++) {
        const char *t = memchr(text.p + at, 'T', text.len - at);
        if (!t)
            break;
        at = (size_t)(t - text.p);
        if (!is_time(text, at))
            continue;
        h = hash_str(str_sub(text, from, at - 10), h);
        from = at + 9;
    }
    return hash_str(str_sub(text, from, text.len), h);
}

/* Of the text without its times, and without the version that a patch is conditional on. */
static uint64_t body_of(const struct plan_write *w)
{
    str text = w->body ? jtext(doc_root(w->body)) : STR_NONE;
    str version =
        w->rv && w->body ? jtext(jpath(doc_root(w->body), "metadata.resourceVersion")) : STR_NONE;
    if (str_is_empty(version) || version.p < text.p || version.p > text.p + text.len)
        return hash_but_times(text, 0);
    size_t at = (size_t)(version.p - text.p);
    uint64_t h = hash_but_times(str_sub(text, 0, at), 0);
    return hash_but_times(str_sub(text, at + version.len, text.len), h);
}

/* ---- the table ---- */

static struct dispute *place_of(const struct disputes *d, uint64_t object)
{
    return &d->places[object % DISPUTES_MAX];
}

/* How long it waits after it was done so many times. */
static usec pause_of(uint32_t times)
{
    if (times < DISPUTES_FREE)
        return 0;
    return MIN(DISPUTES_BASE << MIN(times - DISPUTES_FREE, 20), DISPUTES_LONGEST);
}

static bool is_over(const struct dispute *x, usec now)
{
    return now - x->last > MAX(DISPUTES_QUICK, 2 * pause_of(x->times));
}

void disputes_done(struct disputes *d)
{
    free(d->places);
}

void disputes_note(struct disputes *d, const struct plan_write *w, str uid, usec now)
{
    if (!is_watched(w))
        return;
    if (!d->places)
        d->places = xcalloc(DISPUTES_MAX, sizeof(*d->places));
    uint64_t object = object_of(w, uid), body = body_of(w);
    struct dispute *x = place_of(d, object);
    if (x->object != object || x->body != body || is_over(x, now))
        *x = (struct dispute){.object = object, .body = body};
    x->times++;
    x->last = now;
}

static void tell(const struct dispute *x, const struct plan_write *w, const struct obj *about,
                 struct recorder *r)
{
    struct strbuf b = STRBUF_INIT(1024);
    strbuf_printf(&b,
                  "somebody undoes what the operator writes: done %u times, each time it was "
                  "changed back; from now on at growing intervals, up to %lld s",
                  x->times, (long long)(DISPUTES_LONGEST / USEC_PER_SEC));
    if (w->why.len)
        strbuf_printf(&b, " (%.*s)", STR_ARG(w->why));
    recorder_event(r, about, true, STR("RepairUndone"), strbuf_str(&b));
    strbuf_done(&b);
}

usec disputes_hold(struct disputes *d, const struct plan_write *w, const struct cache *c,
                   struct recorder *r, usec now)
{
    if (!d->places || !is_watched(w))
        return 0;
    const struct obj *about = c ? cache_get(c, w->ns, w->name) : NULL;
    uint64_t object = object_of(w, about ? about->uid : STR_NONE);
    struct dispute *x = place_of(d, object);
    usec due = x->last + pause_of(x->times);
    if (x->object != object || due <= now || is_over(x, now) || x->body != body_of(w))
        return 0;
    if (about && !x->told)
        tell(x, w, about, r);
    x->told = x->told || about;
    return due;
}
