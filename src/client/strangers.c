/* A bounded list of objects with an age; see strangers.h. */
#include "client/strangers.h"

struct stranger {
    struct list link;
    struct obj *obj;
    usec at;
};

static struct stranger *find(const struct strangers *s, str ns, str name)
{
    list_foreach (it, &s->all) {
        struct stranger *x = list_entry(it, struct stranger, link);
        if (str_eq(x->obj->name, name) && str_eq(x->obj->ns, ns))
            return x;
    }
    return NULL;
}

static struct obj *release(struct strangers *s, struct stranger *x)
{
    struct obj *o = x->obj;
    list_remove(&x->link);
    s->n--;
    free(x);
    return o;
}

void strangers_init(struct strangers *s)
{
    list_init(&s->all);
    s->n = 0;
}

void strangers_done(struct strangers *s)
{
    while (!list_is_empty(&s->all))
        obj_unref(release(s, list_entry(s->all.next, struct stranger, link)));
}

struct obj *strangers_put(struct strangers *s, struct obj *o, usec now)
{
    struct obj *went = strangers_take(s, o->ns, o->name);
    if (s->n >= STRANGERS_MAX)
        went = release(s, list_entry(s->all.next, struct stranger, link));
    struct stranger *x = xnew(struct stranger);
    x->obj = o;
    x->at = now;
    list_push_back(&s->all, &x->link);
    s->n++;
    return went;
}

struct obj *strangers_take(struct strangers *s, str ns, str name)
{
    struct stranger *x = find(s, ns, name);
    return x ? release(s, x) : NULL;
}

struct obj *strangers_get(const struct strangers *s, str ns, str name, usec now)
{
    const struct stranger *x = find(s, ns, name);
    return x && x->at + STRANGER_TIME > now ? x->obj : NULL;
}
