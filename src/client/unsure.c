/* See unsure.h. Those whose time is over go when others come. */
#include "client/unsure.h"

#include "base/strbuf.h"

struct doubt {
    struct list link;
    usec until;
    size_t len;
    char key[];
};

/* Longer than any key of an API: kind, namespace and name. */
#define KEY_MAX 1024

static str key_of(struct strbuf *b, const struct kind *k, str ns, str name)
{
    strbuf_printf(b, "%u/%.*s/%.*s", (unsigned)kind_id(k), STR_ARG(ns), STR_ARG(name));
    return strbuf_str(b);
}

static void doubt_free(struct unsure *u, struct doubt *d)
{
    list_remove(&d->link);
    (void)map_del(&u->by_key, str_n(d->key, d->len));
    free(d);
}

static void drop_old(struct unsure *u, usec now)
{
    while (!list_is_empty(&u->all)) {
        struct doubt *d = list_entry(u->all.next, struct doubt, link);
        if (d->until > now && u->by_key.len < UNSURE_MAX)
            return;
        doubt_free(u, d);
    }
}

void unsure_init(struct unsure *u)
{
    *u = (struct unsure){0};
    list_init(&u->all);
}

void unsure_done(struct unsure *u)
{
    while (!list_is_empty(&u->all))
        doubt_free(u, list_entry(u->all.next, struct doubt, link));
    map_done(&u->by_key);
}

void unsure_add(struct unsure *u, const struct kind *k, str ns, str name, usec now)
{
    struct strbuf b = STRBUF_INIT(KEY_MAX);
    str key = key_of(&b, k, ns, name);
    struct doubt *old = map_get(&u->by_key, key);
    if (old)
        doubt_free(u, old);
    drop_old(u, now);
    struct doubt *d = xcalloc(1, sizeof(*d) + key.len);
    d->until = now + UNSURE_TIME;
    d->len = key.len;
    memcpy(d->key, key.p, key.len);
    list_push_back(&u->all, &d->link);
    (void)map_put(&u->by_key, str_n(d->key, d->len), d);
    strbuf_done(&b);
}

bool unsure_has(const struct unsure *u, const struct kind *k, str ns, str name, usec now)
{
    if (list_is_empty(&u->all))
        return false;
    struct strbuf b = STRBUF_INIT(KEY_MAX);
    const struct doubt *d = map_get(&u->by_key, key_of(&b, k, ns, name));
    strbuf_done(&b);
    return d && d->until > now;
}
