/*
 * See typed_merge.h. Everything here descends a document and the tables together. A slot is what
 * the tables say about one place: its type, whether it is a list or a map, whether it is atomic. A
 * place the tables do not name (below preserve_unknown) has no type; there objects are merged by
 * member and lists are atomic.
 *
 * Both sides of a comparison are brought into the order of field sets first (members by name, items
 * by their keys), then walked in step: O(n log n) for any list, and the sets come out sorted.
 */
#include "kube/typed_merge.h"

#include "base/map.h"
#include "json/mtree.h"
#include "json/write.h"

#define MAX_KEYS 8
#define KEY_MAX_LEN (64 * 1024)
#define MAX_ERRORS 50
#define ERRORS_MAX_LEN (64 * 1024)

/* ---- slots ---- */

struct slot {
    const struct type *type; /* NULL: not in the tables */
    const char *keys;        /* of a list told apart by keys */
    uint8_t shape;           /* enum field_shape */
    uint8_t list;            /* enum field_list */
    bool atomic;
    bool atomic_items;
};

enum form { FORM_LEAF, FORM_MAP, FORM_LIST };

static struct slot slot_of_field(const struct field *f)
{
    bool atomic = f->flags & FIELD_MAP_ATOMIC;
    return (struct slot){
        .type = f->type,
        .keys = f->keys,
        .shape = f->shape,
        .list = f->list,
        .atomic = f->shape == FIELD_LIST ? f->list == LIST_ATOMIC : atomic,
        .atomic_items = f->shape == FIELD_LIST && atomic,
    };
}

/* A list or map inside another is a type with a field that says so. */
static struct slot slot_of_type(const struct type *t, bool atomic)
{
    if (t && t->tag == TYPE_NESTED)
        return slot_of_field(t->fields);
    return (struct slot){.type = t, .shape = FIELD_ONE, .atomic = atomic};
}

/* What the items of a list or the values of a map are. */
static struct slot slot_of_items(const struct slot *s)
{
    return slot_of_type(s->type, s->atomic_items);
}

/* The slot of a member; *ret_field is NULL when the tables do not name it. */
static struct slot slot_of_member(const struct slot *s, str name, const struct field **ret_field)
{
    *ret_field = NULL;
    if (!s->type || s->shape == FIELD_MAP)
        return slot_of_type(s->type, false);
    *ret_field = type_field(s->type, name);
    return *ret_field ? slot_of_field(*ret_field) : (struct slot){0};
}

/* Any JSON: one leaf in a built-in kind; without a type of its own in a custom resource. */
static bool slot_is_untyped(const struct slot *s, bool builtin)
{
    return !s->type || (s->type->tag == TYPE_RAW && s->shape == FIELD_ONE && !builtin);
}

static enum form slot_form(const struct slot *s, jval v, bool builtin)
{
    enum jtype t = jtype(v);
    if (slot_is_untyped(s, builtin))
        return t == J_OBJECT ? FORM_MAP : FORM_LEAF;
    if (s->atomic || (s->shape == FIELD_ONE && s->type->tag != TYPE_OBJECT))
        return FORM_LEAF;
    if (s->shape == FIELD_LIST)
        return t == J_ARRAY ? FORM_LIST : FORM_LEAF;
    return t == J_OBJECT ? FORM_MAP : FORM_LEAF;
}

static bool is_empty(jval v)
{
    enum jtype t = jtype(v);
    return t == J_ABSENT || t == J_NULL || ((t == J_OBJECT || t == J_ARRAY) && jlen(v) == 0);
}

/* ---- identity of list items ---- */

/* Text of a value as it stands in an element: canonical, and mostly that is its own text. */
static void add_value(struct strbuf *b, jval v)
{
    str text = jtext(v);
    enum jtype t = jtype(v);
    if (t == J_INT || (t == J_STRING && !memchr(text.p, '\\', text.len)))
        strbuf_add_str(b, text);
    else
        jcanonical(v, false, b);
}

struct list_keys {
    str names[MAX_KEYS]; /* sorted */
    str dflts[MAX_KEYS]; /* JSON text for an item that does not say */
    size_t n;
};

static void list_keys_init(struct list_keys *lk, const struct slot *s)
{
    str rest = str_of(s->keys);
    lk->n = 0;
    while (rest.len && lk->n < MAX_KEYS) {
        str name = str_cut(&rest, ',');
        size_t at = lk->n++;
        for (; at && str_cmp(name, lk->names[at - 1]) < 0; at--)
            lk->names[at] = lk->names[at - 1];
        lk->names[at] = name;
    }
    for (size_t i = 0; i < lk->n; i++) {
        const struct field *f = s->type ? type_field(s->type, lk->names[i]) : NULL;
        lk->dflts[i] = f ? str_of(f->dflt) : STR_NONE;
    }
}

/* {"containerPort":80,"protocol":"TCP"}; nothing when the item has none of the keys. */
static str item_keys(struct arena *a, const struct list_keys *lk, jval item, struct strbuf *b)
{
    strbuf_reset(b);
    for (size_t i = 0; i < lk->n; i++) {
        jval v = jget(item, lk->names[i]);
        if (j_is_absent(v) && !lk->dflts[i].len)
            continue;
        strbuf_add_cstr(b, b->len ? ",\"" : "{\"");
        strbuf_add_str(b, lk->names[i]);
        strbuf_add_cstr(b, "\":");
        if (j_is_absent(v))
            strbuf_add_str(b, lk->dflts[i]);
        else
            add_value(b, v);
    }
    if (b->len == 0 || b->overflow)
        return STR_NONE;
    strbuf_add_char(b, '}');
    return arena_str(a, strbuf_str(b));
}

static str item_value(struct arena *a, jval item, struct strbuf *b)
{
    enum jtype t = jtype(item);
    if (t == J_OBJECT || t == J_ARRAY)
        return STR_NONE;
    strbuf_reset(b);
    add_value(b, item);
    return b->overflow ? STR_NONE : arena_str(a, strbuf_str(b));
}

/* One member of an object or item of a list, with its name as an element. */
struct part {
    str name;
    jval value;
};

struct parts {
    struct part *p;
    size_t len;
    char tag;
};

/* Items in document order; those without identity have no name. */
static struct parts list_parts(struct arena *a, const struct slot *s, jval list)
{
    bool keyed = s->list == LIST_MAP;
    struct parts out = {.p = arena_array(a, struct part, jlen(list)), .tag = keyed ? 'k' : 'v'};
    struct strbuf b = STRBUF_INIT(KEY_MAX_LEN);
    struct list_keys lk;
    list_keys_init(&lk, s);
    for (struct jiter it = jiter(list); jnext(&it);) {
        str name = keyed ? item_keys(a, &lk, it.value, &b) : item_value(a, it.value, &b);
        out.p[out.len++] = (struct part){.name = name, .value = it.value};
    }
    strbuf_done(&b);
    return out;
}

static int cmp_parts(const void *x, const void *y)
{
    return str_cmp(((const struct part *)x)->name, ((const struct part *)y)->name);
}

static void parts_sort(struct parts *ps)
{
    size_t n = ps->len;
    if (n > 32) {
        qsort(ps->p, n, sizeof(*ps->p), cmp_parts);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        struct part x = ps->p[i];
        size_t j = i;
        for (; j && str_cmp(x.name, ps->p[j - 1].name) < 0; j--)
            ps->p[j] = ps->p[j - 1];
        ps->p[j] = x;
    }
}

static bool same_text(jval x, jval y)
{
    return !j_is_absent(x) && !j_is_absent(y) && str_eq(jtext(x), jtext(y));
}

/* Members or items in the order of their elements, without those that have no identity. */
static struct parts sorted_parts(struct arena *a, const struct slot *s, enum form form, jval v)
{
    struct parts out = {.tag = 'f'};
    if (form == FORM_LIST) {
        out = list_parts(a, s, v);
        size_t len = 0;
        for (size_t i = 0; i < out.len; i++)
            if (out.p[i].name.len)
                out.p[len++] = out.p[i];
        out.len = len;
    } else {
        out.p = arena_array(a, struct part, jlen(v));
        for (struct jiter it = jiter(v); jnext(&it);)
            out.p[out.len++] = (struct part){.name = it.key, .value = it.value};
    }
    parts_sort(&out);
    return out;
}

/* ---- comparison ---- */

struct compare {
    struct arena *a;
    bool builtin;
    str skip; /* only at the top */
};

/* One place on both sides. It may exist without being written: a Go struct that is no pointer. */
struct sides {
    jval before, after;
    bool was, is;
};

static const struct {
    const char *type, *field;
} struct_members[] = {
    {"Container", "resources"},
    {"ContainerStatus", "lastState"},
    {"ContainerStatus", "state"},
    {"DeploymentSpec", "strategy"},
    {"EphemeralContainer", "resources"},
    {"Event", "source"},
    {"EventsV1Event", "deprecatedSource"},
    {"NodeStatus", "daemonEndpoints"},
    {"NodeStatus", "nodeInfo"},
    {"ReplicaSetSpec", "template"},
    {"ServiceStatus", "loadBalancer"},
};

/* Whether Go writes this member of a built-in kind even when nobody set it. */
static bool always_exists(const struct type *t, const struct field *f)
{
    if (f->type->tag != TYPE_OBJECT && f->shape == FIELD_ONE)
        return false;
    if (f->flags & FIELD_REQUIRED)
        return true;
    if (f->shape != FIELD_ONE)
        return false;
    if (strcmp(f->name, "metadata") == 0 || strcmp(f->name, "spec") == 0 ||
        strcmp(f->name, "status") == 0)
        return true;
    for (size_t i = 0; i < ARRAY_LEN(struct_members); i++)
        if (strcmp(struct_members[i].field, f->name) == 0 &&
            strcmp(struct_members[i].type, t->name) == 0)
            return true;
    return false;
}

/* A value that Go does not tell from one that was never set. */
static bool is_go_zero(const struct field *f, jval v)
{
    enum jtype t = jtype(v);
    if (f->shape != FIELD_ONE || f->type->tag == TYPE_OBJECT || f->type->tag == TYPE_RAW)
        return false;
    if (t == J_NULL)
        return true;
    return !(f->flags & FIELD_POINTER) &&
           (t == J_FALSE || (t == J_STRING && jstr(v).len == 0) || (t == J_INT && jint(v, 1) == 0));
}

/* Kids of a node under construction; the room is taken when the first one comes. */
static void push_kid(struct arena *a, struct fieldset *s, const struct fieldset *kid, size_t room)
{
    if (fieldset_is_empty(kid))
        return;
    if (!s->kids)
        s->kids = arena_array(a, struct fieldset, room);
    s->kids[s->n_kids++] = *kid;
}

static void compare_value(struct compare *c, const struct slot *s, const struct sides *v,
                          struct typed_diff *out);

static void compare_leaf(const struct sides *v, struct typed_diff *out)
{
    if (!v->was)
        out->changed.member = true;
    else if (!v->is)
        out->removed.member = true;
    else if (j_is_absent(v->before) || j_is_absent(v->after))
        out->changed.member |= !is_empty(v->before) || !is_empty(v->after);
    else if (!jequal(v->before, v->after))
        out->changed.member = true;
}

/* How many parts from i on have the same name. */
static size_t same_from(const struct parts *ps, size_t i)
{
    size_t n = 0;
    while (i + n < ps->len && str_eq(ps->p[i].name, ps->p[i + n].name))
        n++;
    return n;
}

/* Items that cannot be told apart are one thing that changes as a whole; what one side has alone is
 * compared with nothing. */
static void compare_duplicates(struct compare *c, const struct slot *s, const struct part *before,
                               size_t n_before, const struct part *after, size_t n_after,
                               struct typed_diff *out)
{
    if (n_before > 1 && n_after > 1) {
        bool same = n_before == n_after;
        for (size_t i = 0; same && i < n_before; i++)
            same = jequal(before[i].value, after[i].value);
        out->changed.member = !same;
    } else if (n_before > 1) {
        if (n_after)
            compare_value(c, s, &(struct sides){.after = after->value, .is = true}, out);
        out->removed.member = !n_after;
    } else {
        if (n_before)
            compare_value(c, s, &(struct sides){.before = before->value, .was = true}, out);
        out->changed.member = true;
        out->removed.member = false;
    }
}

static void compare_part(struct compare *c, const struct slot *s, const struct sides *v,
                         const struct part *before, size_t n_before, const struct part *after,
                         size_t n_after, struct typed_diff *out)
{
    const struct field *f = NULL;
    str name = n_before ? before->name : after->name;
    struct slot item = s->shape == FIELD_LIST ? slot_of_items(s) : slot_of_member(s, name, &f);
    if (n_before > 1 || n_after > 1) {
        compare_duplicates(c, &item, before, n_before, after, n_after, out);
        return;
    }
    bool exists = f && c->builtin && (!n_before || !n_after) && always_exists(s->type, f);
    if (f && c->builtin && v->was && v->is && n_before + n_after == 1 &&
        is_go_zero(f, n_before ? before->value : after->value))
        return;
    struct sides child = {
        .before = n_before ? before->value : JVAL_ABSENT,
        .after = n_after ? after->value : JVAL_ABSENT,
        .was = n_before || (v->was && exists),
        .is = n_after || (v->is && exists),
    };
    compare_value(c, &item, &child, out);
}

static void compare_parts(struct compare *c, const struct slot *s, const struct sides *v,
                          const struct parts *before, const struct parts *after,
                          struct typed_diff *out)
{
    size_t room = before->len + after->len;
    char tag = after->len ? after->tag : before->tag;
    for (size_t i = 0, j = 0; i < before->len || j < after->len;) {
        int order = i == before->len  ? 1
                    : j == after->len ? -1
                                      : str_cmp(before->p[i].name, after->p[j].name);
        size_t n_before = order <= 0 ? same_from(before, i) : 0;
        size_t n_after = order >= 0 ? same_from(after, j) : 0;
        str name = order <= 0 ? before->p[i].name : after->p[j].name;
        struct typed_diff kid = {{.tag = tag, .name = name}, {.tag = tag, .name = name}};
        compare_part(c, s, v, before->p + i, n_before, after->p + j, n_after, &kid);
        push_kid(c->a, &out->changed, &kid.changed, room);
        push_kid(c->a, &out->removed, &kid.removed, room);
        i += n_before;
        j += n_after;
    }
}

/* The member after the one the iteration stands at has this key. */
static bool comes_next(struct jiter it, str key)
{
    return jnext(&it) && str_eq(it.key, key);
}

/* Members of both sides that differ. An edited object has most of them in the same order and with
 * the same text: those never get as far as being sorted. */
static void differing_members(struct arena *a, const struct sides *v, str skip,
                              struct parts *before, struct parts *after)
{
    struct jiter x = jiter(v->before), y = jiter(v->after);
    bool more_x = jnext(&x), more_y = jnext(&y);
    *before = (struct parts){.p = arena_array(a, struct part, jlen(v->before)), .tag = 'f'};
    *after = (struct parts){.p = arena_array(a, struct part, jlen(v->after)), .tag = 'f'};
    while (more_x || more_y) {
        bool same = more_x && more_y && str_eq(x.key, y.key);
        /* One that was taken out or put in does not move all that follow. */
        bool take_x = more_x && (same || !more_y || !comes_next(y, x.key));
        bool take_y = more_y && (same || !more_x || !comes_next(x, y.key));
        if (!take_x && !take_y)
            take_x = take_y = true;
        if (!same || !same_text(x.value, y.value)) {
            if (take_x && !str_eq(x.key, skip))
                before->p[before->len++] = (struct part){.name = x.key, .value = x.value};
            if (take_y && !str_eq(y.key, skip))
                after->p[after->len++] = (struct part){.name = y.key, .value = y.value};
        }
        more_x = take_x ? jnext(&x) : more_x;
        more_y = take_y ? jnext(&y) : more_y;
    }
    parts_sort(before);
    parts_sort(after);
}

/* What is on both sides, as far as it is of this form. */
static void compare_inside(struct compare *c, const struct slot *s, enum form form, str skip,
                           const struct sides *v, struct typed_diff *out)
{
    struct parts before, after;
    bool has_before = slot_form(s, v->before, c->builtin) == form;
    bool has_after = slot_form(s, v->after, c->builtin) == form;
    struct sides w = {has_before ? v->before : JVAL_ABSENT, has_after ? v->after : JVAL_ABSENT,
                      v->was, v->is};
    if (form == FORM_LIST) {
        before = sorted_parts(c->a, s, form, w.before);
        after = sorted_parts(c->a, s, form, w.after);
    } else {
        differing_members(c->a, &w, skip, &before, &after);
    }
    compare_parts(c, s, v, &before, &after, out);
}

static void compare_value(struct compare *c, const struct slot *s, const struct sides *v,
                          struct typed_diff *out)
{
    str skip = c->skip;
    c->skip = STR_NONE;
    if (same_text(v->before, v->after))
        return;
    enum form before = slot_form(s, v->before, c->builtin);
    enum form after = slot_form(s, v->after, c->builtin);
    enum form form = MAX(before, after);
    bool empty = is_empty(v->before) && is_empty(v->after);
    /* A side of another form (null apart) is a leaf that came or went as well. */
    if (form == FORM_LEAF || empty || (before != form && !is_empty(v->before)) ||
        (after != form && !is_empty(v->after)))
        compare_leaf(v, out);
    if (form == FORM_LEAF || empty)
        return;
    compare_inside(c, s, form, skip, v, out);
    if (!v->was)
        out->changed.member = true;
    else if (!v->is)
        out->removed.member = true;
}

struct typed_diff typed_compare(struct arena *a, const struct kind *k, jval before, jval after,
                                str skip)
{
    struct compare c = {.a = a, .builtin = !kind_is(k, KIND_CUSTOM), .skip = skip};
    struct slot s = slot_of_type(k->type, false);
    struct typed_diff out = {0};
    compare_value(&c, &s, &(struct sides){before, after, true, true}, &out);
    out.changed.member = out.removed.member = false;
    return out;
}

/* ---- the set of a configuration ---- */

static void collect_set(struct arena *a, const struct slot *s, jval v, bool builtin,
                        struct fieldset *out)
{
    enum form form = slot_form(s, v, builtin);
    if (form == FORM_LEAF) {
        /* Nothing in a list that could have items is nothing; null is told by the caller. */
        out->member =
            j_is_null(v) || slot_is_untyped(s, builtin) || s->atomic || s->shape == FIELD_ONE;
        return;
    }
    struct parts ps = sorted_parts(a, s, form, v);
    for (size_t i = 0; i < ps.len; i++) {
        const struct part *p = &ps.p[i];
        const struct field *f = NULL;
        struct slot item = form == FORM_LIST ? slot_of_items(s) : slot_of_member(s, p->name, &f);
        struct fieldset kid = {.tag = ps.tag, .name = p->name};
        collect_set(a, &item, p->value, builtin, &kid);
        if (!f || (is_empty(p->value) && jtype(p->value) != J_ARRAY))
            kid.member = true;
        push_kid(a, out, &kid, ps.len);
    }
}

struct fieldset typed_set(struct arena *a, const struct kind *k, jval config)
{
    struct slot s = slot_of_type(k->type, false);
    struct fieldset out = FIELDSET_EMPTY;
    collect_set(a, &s, config, !kind_is(k, KIND_CUSTOM), &out);
    out.member = false;
    return out;
}

/* ---- merge ---- */

struct merge {
    struct arena *a;
    bool builtin;
};

static struct mnode *merge_value(struct merge *m, const struct slot *s, jval live, jval config);

static struct mnode *merge_map(struct merge *m, const struct slot *s, jval live, jval config)
{
    struct mnode *out = mnode_leaf(m->a, live);
    for (struct jiter it = jiter(config); jnext(&it);) {
        const struct field *f;
        struct slot child = slot_of_member(s, it.key, &f);
        struct mnode *was = mnode_get(m->a, out, it.key);
        jval before = was ? mnode_value(was) : JVAL_ABSENT;
        mnode_set(m->a, out, it.key, merge_value(m, &child, before, it.value));
    }
    return out;
}

/* Items of one list by name. An item that occurs twice has no value to merge with. */
static void index_parts(struct map *index, struct parts *ps)
{
    for (size_t i = 0; i < ps->len; i++) {
        struct part *p = &ps->p[i];
        if (!p->name.len)
            continue;
        struct part *other = map_put(index, p->name, p);
        if (other)
            p->value = other->value = JVAL_ABSENT;
    }
}

struct list_merge {
    struct merge *m;
    struct slot item;
    struct map live, config;
    struct mnode *out;
};

static void merge_item(struct list_merge *l, const struct part *config)
{
    const struct part *live = map_get(&l->live, config->name);
    jval before = live ? live->value : JVAL_ABSENT;
    mnode_insert(l->m->a, l->out, mnode_len(l->out),
                 merge_value(l->m, &l->item, before, config->value));
}

/* The first item of the configuration from i on that is live too. */
static size_t next_shared(const struct list_merge *l, const struct parts *config, size_t i)
{
    while (i < config->len && !map_has(&l->live, config->p[i].name))
        i++;
    return i;
}

/* The configuration's items keep their order among themselves: a live item whose turn has not come
 * waits for it. Live items that the configuration does not have stay between them. `list` is the
 * live list as it is written. */
static void merge_items(struct list_merge *l, const struct parts *live, const struct parts *config,
                        jval list)
{
    size_t next = 0, shared = next_shared(l, config, 0);
    for (struct jiter it = jiter(list); jnext(&it);) {
        str name = live->p[it.index].name;
        const struct part *wanted = name.len ? map_get(&l->config, name) : NULL;
        if (!wanted)
            mnode_insert(l->m->a, l->out, mnode_len(l->out), mnode_leaf(l->m->a, it.value));
        if (!wanted || shared == config->len || wanted != &config->p[shared])
            continue;
        while (next <= shared)
            merge_item(l, &config->p[next++]);
        shared = next_shared(l, config, next);
    }
    while (next < config->len)
        merge_item(l, &config->p[next++]);
}

static struct mnode *merge_list(struct merge *m, const struct slot *s, jval live, jval config)
{
    struct parts before = list_parts(m->a, s, live), after = list_parts(m->a, s, config);
    struct list_merge l = {.m = m, .item = slot_of_items(s), .out = mnode_array(m->a)};
    index_parts(&l.live, &before);
    for (size_t i = 0; i < after.len; i++)
        if (after.p[i].name.len)
            map_put(&l.config, after.p[i].name, &after.p[i]);
    merge_items(&l, &before, &after, live);
    map_done(&l.live);
    map_done(&l.config);
    return l.out;
}

static struct mnode *merge_value(struct merge *m, const struct slot *s, jval live, jval config)
{
    enum form form = slot_form(s, config, m->builtin), before = slot_form(s, live, m->builtin);
    /* Null is an empty map or list where one is expected: it takes nothing away. */
    if (j_is_null(config) && before != FORM_LEAF && !is_empty(live))
        return mnode_leaf(m->a, live);
    if (form == FORM_LEAF || is_empty(live) || before != form)
        return mnode_leaf(m->a, config);
    return form == FORM_MAP ? merge_map(m, s, live, config) : merge_list(m, s, live, config);
}

struct doc *typed_merge(struct arena *a, const struct kind *k, jval live, jval config,
                        struct err *err)
{
    struct merge m = {.a = a, .builtin = !kind_is(k, KIND_CUSTOM)};
    struct slot s = slot_of_type(k->type, false);
    const struct mnode *out = merge_value(&m, &s, live, config);
    return mnode_doc(out, jtext(live).len + jtext(config).len, 0, err);
}

/* ---- what nobody wants any more ---- */

struct prune {
    struct arena *a;
    bool builtin;
};

/* A member the tables name counts as a member of a set that has anything below it. */
static bool is_in(const struct fieldset *kid, bool named)
{
    return kid && (kid->member || named);
}

static bool is_empty_list(const struct slot *s, jval v)
{
    return s->shape == FIELD_LIST && !s->atomic && is_empty(v);
}

static struct mnode *prune_value(struct prune *p, const struct slot *s, jval v,
                                 const struct fieldset *last, const struct fieldset *owned);

/* Returns whether the member changed. One that has nothing left goes too. */
static bool prune_member(struct prune *p, const struct slot *s, struct mnode *map,
                         const struct fieldset *last, const struct fieldset *owned)
{
    struct mnode *child = mnode_get(p->a, map, last->name);
    if (!child || last->tag != 'f')
        return false;
    const struct field *f;
    struct slot item = slot_of_member(s, last->name, &f);
    jval v = mnode_value(child);
    if (is_in(last, f) && !is_in(owned, f)) {
        if (is_empty_list(&item, v))
            return false;
        (void)mnode_del(p->a, map, last->name);
        return true;
    }
    struct mnode *left = prune_value(p, &item, v, last, owned);
    if (!left)
        return false;
    if (mnode_len(left) == 0)
        (void)mnode_del(p->a, map, last->name);
    else
        mnode_set(p->a, map, last->name, left);
    return true;
}

static struct mnode *prune_map(struct prune *p, const struct slot *s, jval v,
                               const struct fieldset *last, const struct fieldset *owned)
{
    struct mnode *out = mnode_leaf(p->a, v);
    bool changed = false;
    for (size_t i = 0; i < last->n_kids; i++) {
        const struct fieldset *kid = &last->kids[i];
        changed |= prune_member(p, s, out, kid, fieldset_find(owned, kid->tag, kid->name));
    }
    return changed ? out : NULL;
}

static struct mnode *prune_list(struct prune *p, const struct slot *s, jval v,
                                const struct fieldset *last, const struct fieldset *owned)
{
    struct parts ps = list_parts(p->a, s, v);
    struct slot item = slot_of_items(s);
    struct mnode *out = mnode_array(p->a);
    bool changed = false;
    for (size_t i = 0; i < ps.len; i++) {
        const struct fieldset *mine = fieldset_find(last, ps.tag, ps.p[i].name);
        const struct fieldset *theirs = fieldset_find(owned, ps.tag, ps.p[i].name);
        struct mnode *left = NULL;
        if (is_in(mine, false) && !is_in(theirs, false)) {
            changed = true;
            continue;
        }
        if (mine)
            left = prune_value(p, &item, ps.p[i].value, mine, theirs);
        changed |= left != NULL;
        mnode_insert(p->a, out, mnode_len(out), left ? left : mnode_leaf(p->a, ps.p[i].value));
    }
    return changed ? out : NULL;
}

/* NULL: nothing changed. owned may be NULL. */
static struct mnode *prune_value(struct prune *p, const struct slot *s, jval v,
                                 const struct fieldset *last, const struct fieldset *owned)
{
    enum form form = slot_form(s, v, p->builtin);
    if (form == FORM_LEAF || last->n_kids == 0)
        return NULL;
    return form == FORM_MAP ? prune_map(p, s, v, last, owned) : prune_list(p, s, v, last, owned);
}

struct doc *typed_prune(struct arena *a, const struct kind *k, struct doc *merged,
                        const struct fieldset *last, const struct fieldset *owned, struct err *err)
{
    struct prune p = {.a = a, .builtin = !kind_is(k, KIND_CUSTOM)};
    struct slot s = slot_of_type(k->type, false);
    const struct mnode *out = prune_value(&p, &s, doc_root(merged), last, owned);
    return out ? mnode_doc(out, doc_text(merged).len, 0, err) : doc_ref(merged);
}

/* ---- is it a configuration of this kind? ---- */

struct check {
    struct arena *a;
    bool quiet; /* counts what is wrong and does not say it */
    struct strbuf path, errors;
    size_t n;
};

static void check_error(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
static void check_error(struct check *c, const char *fmt, ...)
{
    if (c->n++ >= MAX_ERRORS || c->quiet)
        return;
    va_list ap;
    va_start(ap, fmt);
    if (c->errors.len)
        strbuf_add_cstr(&c->errors, "\n  ");
    strbuf_add_str(&c->errors, strbuf_str(&c->path));
    strbuf_add_cstr(&c->errors, ": ");
    strbuf_vprintf(&c->errors, fmt, ap);
    va_end(ap);
}

static void check_value(struct check *c, const struct slot *s, jval v);

static void check_at(struct check *c, const struct slot *s, jval v, char tag, str name)
{
    size_t len = c->path.len;
    if (!c->quiet)
        fieldset_add_element(&c->path, tag, name);
    check_value(c, s, v);
    c->path.len = len;
}

static void check_map(struct check *c, const struct slot *s, jval v)
{
    for (struct jiter it = jiter(v); jnext(&it);) {
        const struct field *f;
        struct slot child = slot_of_member(s, it.key, &f);
        if (f || s->shape == FIELD_MAP) {
            check_at(c, &child, it.value, 'f', it.key);
        } else if (!s->type->preserve_unknown) {
            size_t len = c->path.len;
            fieldset_add_element(&c->path, 'f', it.key);
            check_error(c, "field not declared in schema");
            c->path.len = len;
            return;
        }
    }
}

/* The keys of a list as Go prints them: ["containerPort" "protocol"]. */
static str quoted_keys(struct arena *a, const char *keys)
{
    struct strbuf b = STRBUF_INIT(KEY_MAX_LEN);
    for (str rest = str_of(keys); rest.len;) {
        strbuf_add_char(&b, b.len ? ' ' : '[');
        json_quote(&b, str_cut(&rest, ','));
    }
    strbuf_add_char(&b, ']');
    str out = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

static void check_no_identity(struct check *c, const struct slot *s, size_t i, jval item)
{
    enum jtype t = jtype(item);
    if (s->list == LIST_SET)
        check_error(c, "element %zu: associative list without keys has an element that's a %s type",
                    i, t == J_OBJECT ? "map" : "list");
    else if (t == J_NULL)
        check_error(c, "element %zu: associative list with keys may not have a null element", i);
    else if (t != J_OBJECT)
        check_error(c, "element %zu: associative list with keys may not have non-map elements", i);
    else
        check_error(c,
                    "element %zu: associative list with keys has an element that omits all key "
                    "fields %.*s (and doesn't have default values for any key fields)",
                    i, STR_ARG(quoted_keys(c->a, s->keys)));
}

static void check_list(struct check *c, const struct slot *s, jval v)
{
    struct slot item = slot_of_items(s);
    if (s->atomic) {
        for (struct jiter it = jiter(v); jnext(&it);)
            check_at(c, &item, it.value, 'i',
                     c->quiet ? STR_NONE : arena_printf(c->a, "%zu", it.index));
        return;
    }
    struct parts ps = list_parts(c->a, s, v);
    struct map seen = MAP_INIT;
    for (size_t i = 0; i < ps.len; i++) {
        const struct part *p = &ps.p[i];
        if (!p->name.len || (s->list == LIST_MAP && jtype(p->value) != J_OBJECT)) {
            check_no_identity(c, s, i, p->value);
            break;
        }
        if (map_put(&seen, p->name, (void *)p)) {
            struct strbuf key = STRBUF_INIT(KEY_MAX_LEN);
            fieldset_add_element(&key, ps.tag, p->name);
            check_error(c, "duplicate entries for key %.*s", STR_ARG(strbuf_str(&key)));
            strbuf_done(&key);
        }
        check_at(c, &item, p->value, ps.tag, p->name);
    }
    map_done(&seen);
}

/* A value as Go's %v prints it. */
static str shown(jval v)
{
    return jtype(v) == J_STRING ? jstr(v) : jtext(v);
}

static void check_scalar(struct check *c, const struct type *type, jval v)
{
    enum jtype t = jtype(v);
    switch (type->tag) {
    case TYPE_STRING:
    case TYPE_BYTES:
        if (t != J_STRING)
            check_error(c, "expected string, got &value.valueUnstructured{Value:%.*s}",
                        STR_ARG(jtext(v)));
        break;
    case TYPE_INT32:
    case TYPE_INT64:
    case TYPE_DOUBLE:
        if (t != J_INT && t != J_REAL)
            check_error(c, "expected numeric (int or float), got *value.valueUnstructured");
        break;
    case TYPE_BOOL:
        if (t != J_TRUE && t != J_FALSE)
            check_error(c, "expected boolean, got &{%.*s}", STR_ARG(shown(v)));
        break;
    case TYPE_TIME:
    case TYPE_MICRO_TIME:
    case TYPE_DURATION:
    case TYPE_QUANTITY:
    case TYPE_INT_OR_STRING:
        if (t == J_OBJECT || t == J_ARRAY)
            check_error(c, "expected any scalar, got &{%.*s}", STR_ARG(shown(v)));
        break;
    default:
        break;
    }
}

static void check_value(struct check *c, const struct slot *s, jval v)
{
    enum jtype t = jtype(v);
    if (t == J_NULL || !s->type || c->n >= MAX_ERRORS)
        return;
    if (s->shape == FIELD_LIST) {
        if (t == J_ARRAY)
            check_list(c, s, v);
        else
            check_error(c, "expected list, got &{%.*s}", STR_ARG(shown(v)));
    } else if (s->shape == FIELD_MAP || s->type->tag == TYPE_OBJECT) {
        if (t == J_OBJECT)
            check_map(c, s, v);
        else
            check_error(c, "expected map, got &{%.*s}", STR_ARG(shown(v)));
    } else {
        check_scalar(c, s->type, v);
    }
}

/* Where something is costs more than whether, and nearly always nothing is wrong. */
str typed_check(struct arena *a, const struct kind *k, jval config)
{
    struct check c = {
        .a = a,
        .quiet = true,
        .path = STRBUF_INIT(KEY_MAX_LEN),
        .errors = STRBUF_INIT(ERRORS_MAX_LEN),
    };
    struct slot s = slot_of_type(k->type, false);
    check_value(&c, &s, config);
    if (c.n) {
        c.quiet = false;
        c.n = 0;
        check_value(&c, &s, config);
    }
    str out = STR_NONE;
    if (c.n)
        out =
            arena_printf(a, "%s%.*s", c.n > 1 ? "errors:\n  " : "", STR_ARG(strbuf_str(&c.errors)));
    strbuf_done(&c.path);
    strbuf_done(&c.errors);
    return out;
}

/* ---- what would be replaced as a whole ---- */

static void list_atomics(struct check *c, const struct slot *s, jval v)
{
    bool is_map = jtype(v) == J_OBJECT && s->type &&
                  (s->shape == FIELD_MAP || (s->shape == FIELD_ONE && s->type->tag == TYPE_OBJECT));
    bool is_list = jtype(v) == J_ARRAY && s->type && s->shape == FIELD_LIST;
    size_t len = c->path.len;
    if ((is_map || is_list) && s->atomic && c->n++ < MAX_ERRORS)
        strbuf_printf(&c->errors, "%s%.*s", c->errors.len ? ", " : "",
                      STR_ARG(strbuf_str(&c->path)));
    for (struct jiter it = jiter(is_map || is_list ? v : JVAL_ABSENT); jnext(&it);) {
        const struct field *f = NULL;
        struct slot item = is_list ? slot_of_items(s) : slot_of_member(s, it.key, &f);
        if (is_map && !f)
            continue;
        if (is_list)
            strbuf_printf(&c->path, "[%zu]", it.index);
        else
            strbuf_printf(&c->path, ".%.*s", STR_ARG(it.key));
        list_atomics(c, &item, it.value);
        c->path.len = len;
    }
}

str typed_atomics(struct arena *a, const struct kind *k, jval config)
{
    struct check c = {
        .a = a,
        .path = STRBUF_INIT(KEY_MAX_LEN),
        .errors = STRBUF_INIT(ERRORS_MAX_LEN),
    };
    struct slot s = slot_of_type(k->type, false);
    list_atomics(&c, &s, config);
    str out = arena_str(a, strbuf_str(&c.errors));
    strbuf_done(&c.path);
    strbuf_done(&c.errors);
    return out;
}
