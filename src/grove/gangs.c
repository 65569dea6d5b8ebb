/* See gangs.h. */
#include "grove/gangs.h"

#include "base/map.h"
#include "grove/names.h"
#include "json/write.h"

/* Of a label, and of a time in nanoseconds. */
enum { LABEL_LEN = 63, EPOCH_LEN = 19, INDEX_LEN = 5 };
/* Of gangs of version 0.1.0 that were there before their map. */
enum { EPOCH_BASE = 1, EPOCH_SCALED };

static const char *const role_names[] = {
    [GANG_ANCHOR] = "Anchor", [GANG_TAIL] = "Tail", [GANG_SCALE_OUT] = "ScaleOut"};

const char *gang_role_name(enum gang_role role)
{
    return role_names[role];
}

bool gang_role_read(str text, enum gang_role *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(role_names); i++) {
        if (str_is(text, role_names[i])) {
            *ret = (enum gang_role)i;
            return true;
        }
    }
    return false;
}

int64_t epoch_read(str text)
{
    int64_t n;
    return str_to_int(text, &n) && n > 0 ? n : -1;
}

/* ---- names ---- */

static str fitted_base(struct arena *a, str base)
{
    return name_fit(a, base, LABEL_LEN - 1 - EPOCH_LEN);
}

static str numbered(struct arena *a, str base, const struct gang_names *n, int64_t epoch)
{
    return arena_cat(a, epoch <= n->whole ? base : fitted_base(a, base), STR("-"),
                     arena_int(a, epoch));
}

/* BASE-<epoch>-PART; set and group give way where it is too long for a label with its index. */
static str with_part(struct arena *a, str base, int64_t epoch, str part)
{
    size_t room = LABEL_LEN - EPOCH_LEN - INDEX_LEN - 3;
    if (base.len + part.len > room) {
        part = name_fit(a, part, MAX(room / 2, room - MIN(base.len, room)));
        base = name_fit(a, base, room - part.len);
    }
    return arena_cat(a, base, STR("-"), arena_int(a, epoch), STR("-"), part);
}

bool gang_is_one(const struct gang_names *n, enum gang_role role, int64_t epoch)
{
    return role == GANG_ANCHOR || (epoch > n->first && epoch <= n->numbered);
}

struct gang_namer gang_namer(struct arena *a, str base, const struct gang_names *n,
                             enum gang_role role, int64_t epoch, str part, bool is_group)
{
    struct gang_namer r = {0};
    jval min = jget(n->above, part);
    if (role == GANG_ANCHOR)
        r.name = epoch <= n->first ? base : numbered(a, base, n, epoch);
    else if (gang_is_one(n, role, epoch))
        r.name = numbered(a, base, n, epoch);
    else if (!is_group)
        r.name = with_part(a, base, epoch, part);
    else
        r.prefix = arena_cat(a, with_part(a, base, epoch, part), STR("-"));
    if (!str_is_empty(r.prefix) && epoch <= n->first && j_has(min)) {
        r.first = name_object(a, arena_cat(a, base, STR("-"), part));
        r.from = jint(min, 0);
    }
    return r;
}

str gang_name(struct arena *a, const struct gang_namer *n, int64_t index)
{
    if (!str_is_empty(n->name))
        return n->name;
    if (!str_is_empty(n->first) && index >= n->from)
        return name_scaled_gang(a, n->first, index, n->from);
    return arena_cat(a, n->prefix, arena_int(a, index));
}

/* ---- maps of version 0.1.0 ---- */

static bool was_anchor(jval entry)
{
    return str_is(jstr(jget(jgetc(entry, "labels"), STR(LABEL_ANCHOR))), "true");
}

int64_t epoch_of_name(str base, str name, bool *ret_whole)
{
    struct arena a = ARENA_INIT;
    int64_t epoch = name_index(name, base, STR_NONE);
    *ret_whole = epoch >= EPOCH_FIRST_TIME && name.len > LABEL_LEN;
    if (epoch < 0 && base.len > LABEL_LEN - 1 - EPOCH_LEN)
        epoch = name_index(name, fitted_base(&a, base), STR_NONE);
    arena_done(&a);
    return epoch < EPOCH_FIRST_TIME ? -1 : epoch;
}

/* What its gang is counted from: its replica of the group is known, and the number in its name. */
static void read_minimum(struct jw *above, struct arena *a, str base, jval entry, struct map *seen)
{
    struct jiter it = jiter(jgetc(entry, "pcsgReplicaIndices"));
    if (!jnext(&it) || map_has(seen, it.key))
        return;
    str group = name_object(a, arena_cat(a, base, STR("-"), it.key));
    int64_t number = name_index(jstr(jgetc(entry, "name")), group, STR_NONE);
    if (number < 0)
        return;
    (void)map_put(seen, it.key, seen);
    jw_key(above, it.key);
    jw_int(above, jint(jat(it.value, 0), 0) - number);
}

static struct gang_names names_of_old(struct arena *a, const struct obj *map)
{
    struct gang_names n = {0};
    struct map seen = MAP_INIT;
    struct jw above;
    jw_init(&above);
    jw_object(&above);
    for (struct jiter it = jiter(jgetc(obj_spec(map), "entries")); jnext(&it);) {
        bool whole;
        int64_t epoch = epoch_of_name(map->name, jstr(jgetc(it.value, "name")), &whole);
        if (epoch >= 0) {
            n.numbered = MAX(n.numbered, epoch);
            n.whole = whole ? MAX(n.whole, epoch) : n.whole;
            continue;
        }
        n.first = EPOCH_SCALED;
        if (!was_anchor(it.value))
            read_minimum(&above, a, map->name, it.value, &seen);
    }
    jw_end(&above);
    n.above = doc_root(doc_hold(a, jw_doc(&above)));
    map_done(&seen);
    return n;
}

bool gang_map_is_old(const struct obj *map)
{
    jval first = jat(jgetc(obj_spec(map), "entries"), 0);
    return j_has(jgetc(first, "name")) && !j_has(jgetc(first, "epoch"));
}

struct gang_names gang_names_read(struct arena *a, const struct obj *map)
{
    str text = obj_annotation(map, STR(ANNOTATION_GANG_NAMES));
    struct doc *d = str_is_empty(text) ? NULL : doc_hold(a, doc_parse(text, NULL, NULL));
    if (gang_map_is_old(map))
        return names_of_old(a, map);
    if (!d)
        return (struct gang_names){0};
    jval first = jgetc(doc_root(d), "first"), numbered = jgetc(doc_root(d), "numbered");
    return (struct gang_names){.first = MAX(epoch_read(jstr(jgetc(first, "through"))), 0),
                               .numbered = MAX(epoch_read(jstr(jgetc(numbered, "through"))), 0),
                               .whole = MAX(epoch_read(jstr(jgetc(numbered, "whole"))), 0),
                               .above = jgetc(first, "above")};
}

static void write_epoch(struct jw *w, const char *key, int64_t epoch)
{
    struct arena a = ARENA_INIT;
    if (epoch > 0)
        jw_put_str(w, key, arena_int(&a, epoch));
    arena_done(&a);
}

str gang_names_text(struct arena *a, const struct gang_names *n)
{
    struct jw w;
    if (n->first == 0 && n->numbered == 0)
        return STR_NONE;
    jw_init(&w);
    jw_object(&w);
    if (n->first > 0) {
        jw_put_object(&w, "first");
        jw_put(&w, "above", n->above);
        write_epoch(&w, "through", n->first);
        jw_end(&w);
    }
    if (n->numbered > 0) {
        jw_put_object(&w, "numbered");
        write_epoch(&w, "through", n->numbered);
        write_epoch(&w, "whole", n->whole);
        jw_end(&w);
    }
    jw_end(&w);
    str text = arena_str(a, strbuf_str(&w.out));
    jw_done(&w);
    return text;
}

/* ---- entries ---- */

bool gang_entry_read(jval entry, str base, struct gang_entry *ret)
{
    bool whole;
    *ret = (struct gang_entry){.hash = jstr(jgetc(entry, "podCliqueSetGenerationHash")),
                               .cliques = jgetc(entry, "podCliques"),
                               .groups = jgetc(entry, "pcsgReplicaIndices")};
    if (j_has(jgetc(entry, "epoch"))) {
        ret->epoch = epoch_read(jstr(jgetc(entry, "epoch")));
        return gang_role_read(jstr(jgetc(entry, "role")), &ret->role) && ret->epoch > 0;
    }
    str name = jstr(jgetc(entry, "name"));
    ret->role = was_anchor(entry) ? GANG_ANCHOR : GANG_TAIL;
    ret->epoch = epoch_of_name(base, name, &whole);
    if (ret->epoch < 0)
        ret->epoch = ret->role == GANG_ANCHOR ? EPOCH_BASE : EPOCH_SCALED;
    return !str_is_empty(name);
}

/* ---- the list ---- */

struct lister {
    struct jw w;
    struct arena *arena;
    str base;
    struct gang_names names;
    jval depends;
};

/* The beginning of a member, up to its share. */
static void open_gang(struct lister *l, const struct gang_entry *e, str name)
{
    jw_object(&l->w);
    jw_put_str(&l->w, "name", name);
    write_epoch(&l->w, "epoch", e->epoch);
    jw_put_cstr(&l->w, "role", gang_role_name(e->role));
    jw_put_str(&l->w, "podCliqueSetGenerationHash", e->hash);
    if (j_has(l->depends))
        jw_put(&l->w, "dependsOn", l->depends);
}

static str name_one(const struct lister *l, const struct gang_entry *e, str part, int64_t index)
{
    struct gang_namer n =
        gang_namer(l->arena, l->base, &l->names, e->role, e->epoch, part, index >= 0);
    return gang_name(l->arena, &n, index);
}

static void list_whole(struct lister *l, const struct gang_entry *e)
{
    if (jlen(e->cliques) + jlen(e->groups) == 0)
        return;
    open_gang(l, e, name_one(l, e, STR_NONE, -1));
    if (jlen(e->cliques) > 0)
        jw_put(&l->w, "podCliques", e->cliques);
    if (jlen(e->groups) > 0)
        jw_put(&l->w, "pcsgReplicaIndices", e->groups);
    jw_end(&l->w);
}

static void list_others(struct lister *l, const struct gang_entry *e)
{
    for (struct jiter it = jiter(e->cliques); jnext(&it);) {
        open_gang(l, e, name_one(l, e, it.key, -1));
        jw_put_object(&l->w, "podCliques");
        jw_key(&l->w, it.key);
        jw_val(&l->w, it.value);
        jw_end(&l->w);
        jw_end(&l->w);
    }
    for (struct jiter it = jiter(e->groups); jnext(&it);) {
        for (struct jiter k = jiter(it.value); jnext(&k);) {
            open_gang(l, e, name_one(l, e, it.key, jint(k.value, 0)));
            jw_put_object(&l->w, "pcsgReplicaIndices");
            jw_key(&l->w, it.key);
            jw_array(&l->w);
            jw_val(&l->w, k.value);
            jw_end(&l->w);
            jw_end(&l->w);
            jw_end(&l->w);
        }
    }
}

jval gang_list(struct arena *a, const struct obj *map)
{
    struct lister l = {.arena = a};
    if (!map)
        return JVAL_ABSENT;
    l.base = map->name;
    l.names = gang_names_read(a, map);
    jw_init(&l.w);
    jw_array(&l.w);
    for (struct jiter it = jiter(jgetc(obj_spec(map), "entries")); jnext(&it);) {
        struct gang_entry e;
        if (!gang_entry_read(it.value, map->name, &e))
            continue;
        l.depends = jgetc(it.value, "dependsOn");
        if (gang_is_one(&l.names, e.role, e.epoch))
            list_whole(&l, &e);
        else
            list_others(&l, &e);
    }
    jw_end(&l.w);
    return doc_root(doc_hold(a, jw_doc(&l.w)));
}
