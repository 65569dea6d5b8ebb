/* Counted by UID, since two plans may intend the same delete: the first component named is the one
 * it is listed under. The maps are never iterated for anything that matters, so their order is
 * nobody's. */
#include "client/intent.h"

static str copy(char **at, str s)
{
    char *p = *at;
    if (s.len)
        memcpy(p, s.p, s.len);
    *at += s.len;
    return str_n(p, s.len);
}

static struct intent_component *component_ensure(struct intents *is, str uid)
{
    struct intent_component *c = map_get(&is->by_component, uid);
    if (c)
        return c;
    c = xcalloc(1, sizeof(*c) + uid.len);
    c->uid_len = uid.len;
    memcpy(c->uid, uid.p, uid.len);
    list_init(&c->intents);
    map_put(&is->by_component, str_n(c->uid, c->uid_len), c);
    return c;
}

static void component_join(struct intents *is, struct intent *i, str uid)
{
    if (i->component || !uid.len)
        return;
    i->component = component_ensure(is, uid);
    list_push_back(&i->component->intents, &i->link);
}

static void component_leave(struct intents *is, struct intent *i)
{
    struct intent_component *c = i->component;
    if (!c)
        return;
    list_remove(&i->link);
    if (!list_is_empty(&c->intents))
        return;
    map_del(&is->by_component, str_n(c->uid, c->uid_len));
    free(c);
}

static struct intent *intent_new(const struct kind *k, str ns, str name, str uid)
{
    struct intent *i = xcalloc(1, sizeof(*i) + ns.len + name.len + uid.len);
    char *at = i->text;
    i->kind = k;
    i->ns = copy(&at, ns);
    i->name = copy(&at, name);
    i->uid = copy(&at, uid);
    list_init(&i->link);
    return i;
}

void intents_book(struct intents *is, const struct kind *k, str ns, str name, str uid,
                  str component)
{
    struct intent *i = map_get(&is->by_uid, uid);
    if (!i) {
        i = intent_new(k, ns, name, uid);
        map_put(&is->by_uid, i->uid, i);
    }
    i->count++;
    component_join(is, i, component);
}

void intents_release(struct intents *is, str uid)
{
    struct intent *i = map_get(&is->by_uid, uid);
    BUG_ON(!i);
    if (--i->count)
        return;
    map_del(&is->by_uid, uid);
    component_leave(is, i);
    free(i);
}

const struct intent *intents_find(const struct intents *is, str uid)
{
    return map_get(&is->by_uid, uid);
}

const struct intent_component *intents_of(const struct intents *is, str component)
{
    return map_get(&is->by_component, component);
}

static void free_values(struct map *m)
{
    void *value;
    str key;
    for (size_t it = 0; map_next(m, &it, &key, &value);)
        free(value);
    map_done(m);
}

void intents_done(struct intents *is)
{
    free_values(&is->by_uid);
    free_values(&is->by_component);
}
