/* Counted by UID, since two plans may intend the same delete; never iterated for anything that
 * matters, so the order of the map is nobody's. */
#include "client/intent.h"

static str copy(char **at, str s)
{
    char *p = *at;
    if (s.len)
        memcpy(p, s.p, s.len);
    *at += s.len;
    return str_n(p, s.len);
}

void intents_book(struct intents *is, const struct kind *k, str ns, str name, str uid)
{
    struct intent *i = map_get(&is->by_uid, uid);
    if (i) {
        i->count++;
        return;
    }
    i = xcalloc(1, sizeof(*i) + ns.len + name.len + uid.len);
    char *at = i->text;
    i->count = 1;
    i->kind = k;
    i->ns = copy(&at, ns);
    i->name = copy(&at, name);
    i->uid = copy(&at, uid);
    map_put(&is->by_uid, i->uid, i);
}

void intents_release(struct intents *is, str uid)
{
    struct intent *i = map_get(&is->by_uid, uid);
    BUG_ON(!i);
    if (--i->count)
        return;
    map_del(&is->by_uid, uid);
    free(i);
}

const struct intent *intents_find(const struct intents *is, str uid)
{
    return map_get(&is->by_uid, uid);
}

void intents_done(struct intents *is)
{
    void *value;
    str key;
    for (size_t it = 0; map_next(&is->by_uid, &it, &key, &value);)
        free(value);
    map_done(&is->by_uid);
}
