/*
 * Documents against their tables, the parts that change or list fields: unknown and duplicate
 * fields, pruning, defaults. (Validation: validate.c. Strategic merge: strategic.c.)
 *
 * Pruning and defaulting work in two passes. The first walks the document beside its table and
 * notes what must change, in document order; usually that is nothing, and the document itself is
 * the answer. The second builds the new document by splicing: containers without a change are
 * copied as blocks.
 */
#include "kube/schema.h"

#include "base/map.h"
#include "kube/path.h"
#include "json/splice.h"

/* Strict decoding reports no more than this. What would grow by more changes than MAX_CHANGES, or
 * by more bytes than any object may have, is left as it is: a body of a million empty containers.
 * There are more changes than a body can have unknown fields. */
#define MAX_REPORTS 100
#define MAX_CHANGES 700000
#define MAX_ADDED ((size_t)8 << 20)
#define MAX_DEFAULTS 4096
/* Defaults that bring objects whose fields have defaults in turn. */
#define MAX_DEFAULT_DEPTH 32

/* ---- walking ---- */

/* Types with something inside to look at. */
static bool has_inside(const struct type *t)
{
    return t->tag == TYPE_OBJECT || t->tag == TYPE_NESTED;
}

/* What a member of an object is, by the table: the field, or nothing for unknown ones. */
static const struct field *member_field(const struct type *t, str key)
{
    return t->tag == TYPE_OBJECT ? type_field(t, key) : NULL;
}

/* ---- unknown and duplicate fields ---- */

struct unknown {
    void (*report)(void *ctx, const char *what, str path);
    void *ctx;
    const struct path *at; /* where the walk stands */
    size_t n_reports;
    bool has_duplicates;
    struct arena arena; /* names of duplicates */
};

static void unknown_walk(struct unknown *u, const struct type *t, jval v);

static void unknown_report(struct unknown *u, const char *what)
{
    struct strbuf path = STRBUF_INIT(SIZE_MAX / 2);

    if (u->n_reports++ >= MAX_REPORTS)
        return;
    path_write(u->at, &path);
    u->report(u->ctx, what, strbuf_str(&path));
    strbuf_done(&path);
}

static void unknown_list(struct unknown *u, const struct type *t, jval v)
{
    if (jtype(v) != J_ARRAY)
        return;
    for (struct jiter it = jiter(v); jnext(&it) && u->n_reports < MAX_REPORTS;) {
        struct path step = {.up = u->at, .index = it.index};
        u->at = &step;
        unknown_walk(u, t, it.value);
        u->at = step.up;
    }
}

static void unknown_member(struct unknown *u, const struct field *f, jval v);

/* Names in the text between two members that count: those of members a later one repeats, which
 * readers pass over. The text starts behind a value or the opening brace and ends before the value
 * of a member that counts, so it becomes an object by closing it. */
static void shadowed_names(struct unknown *u, str gap, struct map *ret)
{
    static const struct json_limits limits = {
        .max_bytes = SIZE_MAX, .max_depth = 4096, .allow_duplicate_keys = true};
    struct strbuf text = STRBUF_INIT(SIZE_MAX / 2), first = STRBUF_INIT(SIZE_MAX / 2);

    gap = str_trim(gap);
    if (gap.len && (gap.p[0] == ',' || gap.p[0] == '{'))
        gap = str_sub(gap, 1, gap.len);
    strbuf_add_char(&text, '{');
    strbuf_add_str(&text, gap);
    strbuf_add_cstr(&text, "0}");
    struct doc *d = doc_parse(strbuf_str(&text), &limits, NULL);
    BUG_ON(!d);
    doc_hold(&u->arena, d);
    size_t members = jlen(doc_root(d));
    for (struct jiter it = jiter(doc_root(d)); jnext(&it);)
        if (it.index + 1 < members)
            map_put(ret, it.key, u);
    if (doc_duplicate_key(d, &first))
        map_put(ret, arena_str(&u->arena, strbuf_str(&first)), u);
    strbuf_done(&first);
    strbuf_done(&text);
}

static void find_shadowed(struct unknown *u, jval object, struct map *ret)
{
    const char *from = jtext(object).p;

    for (struct jiter it = jiter(object); jnext(&it);) {
        str value = jtext(it.value);
        shadowed_names(u, str_n(from, (size_t)(value.p - from)), ret);
        from = value.p + value.len;
    }
}

/* Members of an object or a map; t is the object's type or the type of the map's values. */
static void unknown_members(struct unknown *u, const struct type *t, bool is_map, jval v)
{
    struct map shadowed = MAP_INIT;

    if (jtype(v) != J_OBJECT)
        return;
    if (u->has_duplicates)
        find_shadowed(u, v, &shadowed);
    for (struct jiter it = jiter(v); jnext(&it) && u->n_reports < MAX_REPORTS;) {
        struct path step = {.up = u->at, .key = it.key};
        u->at = &step;
        const struct field *f = is_map ? NULL : member_field(t, it.key);
        if (map_has(&shadowed, it.key))
            unknown_report(u, "duplicate field");
        if (is_map)
            unknown_walk(u, t, it.value);
        else if (f)
            unknown_member(u, f, it.value);
        else if (!t->preserve_unknown)
            unknown_report(u, "unknown field");
        u->at = step.up;
    }
    map_done(&shadowed);
}

static void unknown_member(struct unknown *u, const struct field *f, jval v)
{
    if (f->shape == FIELD_LIST)
        unknown_list(u, f->type, v);
    else if (f->shape == FIELD_MAP)
        unknown_members(u, f->type, true, v);
    else
        unknown_walk(u, f->type, v);
}

static void unknown_walk(struct unknown *u, const struct type *t, jval v)
{
    if (t->tag == TYPE_OBJECT)
        unknown_members(u, t, false, v);
    else if (t->tag == TYPE_NESTED)
        unknown_member(u, t->fields, v);
}

void schema_unknown(const struct type *t, jval v,
                    void (*report)(void *ctx, const char *what, str path), void *ctx)
{
    struct unknown u = {
        .report = report, .ctx = ctx, .has_duplicates = v.doc && doc_duplicate_key(v.doc, NULL)};

    arena_init(&u.arena);
    unknown_walk(&u, t, v);
    arena_done(&u.arena);
}

/* ---- changes ---- */

/* Places are told apart by their offset in the text. */
struct change {
    enum { CHANGE_DROP, CHANGE_REPLACE, CHANGE_ADD } op;
    size_t at;                 /* DROP, REPLACE: start of the value; ADD: end of the object */
    const struct field *field; /* ADD: which */
    const char *value;         /* REPLACE, ADD: by what */
};

struct changes {
    const struct doc *doc;
    VEC(struct change) items;
    size_t next;
    size_t added; /* bytes, of defaults */
    bool rebuild; /* write every container anew, which leaves repeated members out */
    bool builtin; /* defaults of the built-in kinds count */
    bool nulls;   /* there may be some */
    bool overflow;
    bool nested;  /* a default brought an object, whose own defaults are still to come */
    bool unknown; /* there are fields the table does not name */
};

static size_t start_of(const struct doc *d, jval v)
{
    return (size_t)(jtext(v).p - doc_text(d).p);
}

static size_t end_of(const struct doc *d, jval v)
{
    return start_of(d, v) + jtext(v).len;
}

static void change_add(struct changes *c, int op, size_t at, const struct field *f,
                       const char *value)
{
    if (c->items.len >= MAX_CHANGES || c->added > MAX_ADDED) {
        c->overflow = true;
        return;
    }
    *vec_push(&c->items) = (struct change){.op = op, .at = at, .field = f, .value = value};
}

/* Parsed defaults (and what null is read as), by their text. Our own tables have some hundred;
 * those of kinds that users define come and go, so the cache is emptied when it is full. The loop
 * thread's. */
static jval default_value(const char *json)
{
    static struct map cache;
    str text = str_of(json);
    struct doc *d = map_get(&cache, text);

    if (d)
        return doc_root(d);
    if (cache.len >= MAX_DEFAULTS) {
        str key;
        void *value;
        for (size_t it = 0; map_next(&cache, &it, &key, &value);)
            doc_unref(value);
        map_done(&cache);
    }
    d = doc_parse(text, NULL, NULL);
    BUG_ON(!d);
    map_put(&cache, doc_text(d), d);
    return doc_root(d);
}

/* True when the next change is inside or at the end of v. */
static bool change_is_in(const struct changes *c, jval v)
{
    return c->rebuild || (c->next < c->items.len && c->items.p[c->next].at <= end_of(c->doc, v));
}

static void emit(struct changes *c, struct splice *s, jval v);

/* A value that is written anew rather than copied. */
static bool is_rewritten(const struct changes *c, jval v)
{
    enum jtype type = jtype(v);
    return (type == J_OBJECT || type == J_ARRAY) && change_is_in(c, v);
}

static void emit_member(struct changes *c, struct splice *s, const struct jiter *it, size_t *count)
{
    struct change *ch = c->next < c->items.len ? &c->items.p[c->next] : NULL;
    bool here = ch && ch->op != CHANGE_ADD && ch->at == start_of(c->doc, it->value);
    bool first = *count == 0;
    jval v = it->value;

    if (here)
        c->next++;
    if (here && ch->op == CHANGE_DROP)
        return;
    (*count)++;
    if (here)
        v = default_value(ch->value);
    if (here || !is_rewritten(c, v)) {
        if (it->is_object)
            splice_member(s, it->key, v, first);
        else
            splice_item(s, v, first);
        return;
    }
    if (it->is_object)
        splice_key(s, it->key, first);
    else
        splice_comma(s, first);
    emit(c, s, v);
}

static void emit(struct changes *c, struct splice *s, jval v)
{
    if (!is_rewritten(c, v)) {
        splice_value(s, v);
        return;
    }
    bool is_object = jtype(v) == J_OBJECT;
    uint32_t mark = splice_open(s, is_object);
    size_t count = 0, end = end_of(c->doc, v);
    for (struct jiter it = jiter(v); jnext(&it);)
        emit_member(c, s, &it, &count);
    for (; c->next < c->items.len; c->next++) {
        const struct change *ch = &c->items.p[c->next];
        if (ch->op != CHANGE_ADD || ch->at != end)
            break;
        splice_key(s, field_name(ch->field), count++ == 0);
        splice_value(s, default_value(ch->value));
    }
    splice_close(s, mark, count);
}

static struct doc *changes_apply(struct changes *c, struct doc *d)
{
    struct doc *out = NULL;

    if ((c->items.len || c->rebuild) && !c->overflow) {
        struct splice s;
        splice_init(&s, doc_text(d).len + c->items.len * 32, 0);
        emit(c, &s, doc_root(d));
        out = splice_doc(&s, NULL);
    }
    vec_done(&c->items);
    return out ? out : doc_ref(d);
}

/* ---- pruning ---- */

static void prune_walk(struct changes *c, const struct type *t, jval v);

static void prune_values(struct changes *c, const struct field *f, jval v)
{
    if (f->shape == FIELD_ONE) {
        prune_walk(c, f->type, v);
    } else if (has_inside(f->type) && jlen(v) > 0) {
        for (struct jiter it = jiter(v); jnext(&it);)
            prune_walk(c, f->type, it.value);
    }
}

static void prune_walk(struct changes *c, const struct type *t, jval v)
{
    if (t->tag == TYPE_NESTED)
        prune_values(c, t->fields, v);
    if (t->tag != TYPE_OBJECT || jtype(v) != J_OBJECT)
        return;
    for (struct jiter it = jiter(v); jnext(&it);) {
        const struct field *f = member_field(t, it.key);
        if (f)
            prune_values(c, f, it.value);
        else if (!t->preserve_unknown)
            change_add(c, CHANGE_DROP, start_of(c->doc, it.value), NULL, NULL);
    }
}

struct doc *schema_prune(const struct type *t, struct doc *d)
{
    struct changes c = {.doc = d, .rebuild = doc_duplicate_key(d, NULL)};

    prune_walk(&c, t, doc_root(d));
    return changes_apply(&c, d);
}

/* ---- defaults ---- */

static bool default_applies(const struct changes *c, const struct field *f)
{
    return f->dflt && (c->builtin || !(f->flags & FIELD_BUILTIN_DEFAULT));
}

static void note_default(struct changes *c, int op, size_t at, const struct field *f)
{
    c->added += field_name(f).len + strlen(f->dflt);
    change_add(c, op, at, f, f->dflt);
    if (f->dflt[0] == '{' && f->dflt[1] != '}')
        c->nested = true;
}

/* ---- nulls ---- */

/*
 * Null is no value but where a schema says so. What kube-apiserver makes of it depends on who reads
 * it. A Go type takes it for absent, and as an item of a list or a value of a map for the zero
 * value of its type. Schemas of custom resources drop members and values of maps; an item of a list
 * stays and is refused by validation. Metadata is read into its Go type in both.
 */

/* NULL: it stays null, as times do that Go writes out as null, and whatever has no type. */
static const char *zero_value(const struct type *t)
{
    static const char *const zeros[] = {
        [TYPE_OBJECT] = "{}",       [TYPE_STRING] = "\"\"",     [TYPE_INT32] = "0",
        [TYPE_INT64] = "0",         [TYPE_BOOL] = "false",      [TYPE_DOUBLE] = "0",
        [TYPE_BYTES] = "\"\"",      [TYPE_DURATION] = "\"0s\"", [TYPE_QUANTITY] = "\"0\"",
        [TYPE_INT_OR_STRING] = "0", [TYPE_TIME] = NULL,         [TYPE_MICRO_TIME] = NULL,
        [TYPE_RAW] = NULL,          [TYPE_STRING_LIST] = NULL,  [TYPE_NESTED] = NULL,
    };
    return t->or_other ? NULL : zeros[t->tag];
}

/* It is read into a Go type. */
static bool is_go(const struct changes *c, const struct field *f)
{
    const struct type *meta = &type_object_meta;
    return c->builtin || (f >= meta->fields && f < meta->fields + meta->n_fields);
}

static void null_member(struct changes *c, const struct field *f, jval v)
{
    bool stays = is_go(c, f) && f->shape == FIELD_ONE && !zero_value(f->type);
    if (f->flags & FIELD_NULLABLE)
        return;
    if (default_applies(c, f))
        note_default(c, CHANGE_REPLACE, start_of(c->doc, v), f);
    else if (!stays)
        change_add(c, CHANGE_DROP, start_of(c->doc, v), NULL, NULL);
}

/* An item of a list or a value of a map. */
static void null_item(struct changes *c, const struct field *f, jval v)
{
    const char *zero = is_go(c, f) ? zero_value(f->type) : NULL;
    bool drops = !is_go(c, f) && f->shape == FIELD_MAP &&
                 !j_is_true(jpath(f->schema, "additionalProperties.nullable"));
    if (zero) {
        change_add(c, CHANGE_REPLACE, start_of(c->doc, v), NULL, zero);
        c->nested |= f->type->tag == TYPE_OBJECT;
    } else if (drops) {
        change_add(c, CHANGE_DROP, start_of(c->doc, v), NULL, NULL);
    }
}

/* ---- both ---- */

/* Of a value that is there. */
static inline bool is_null(jval v)
{
    return node_tag(v.doc->tape[v.at]) == J_NULL;
}

static void default_walk(struct changes *c, const struct type *t, jval v);

static void default_values(struct changes *c, const struct field *f, jval v)
{
    if (f->shape == FIELD_ONE) {
        default_walk(c, f->type, v);
        return;
    }
    bool inside = has_inside(f->type);
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (UNLIKELY(is_null(it.value)))
            null_item(c, f, it.value);
        else if (inside)
            default_walk(c, f->type, it.value);
    }
}

static void default_walk(struct changes *c, const struct type *t, jval v)
{
    struct field_set seen = {0};

    if (t->tag == TYPE_NESTED)
        default_values(c, t->fields, v);
    if (t->tag != TYPE_OBJECT || jtype(v) != J_OBJECT || c->overflow)
        return;
    for (struct jiter it = jiter(v); jnext(&it);) {
        const struct field *f = type_field(t, it.key);
        if (UNLIKELY(!f)) {
            c->unknown |= !t->preserve_unknown;
            continue;
        }
        field_set_add(&seen, t, f);
        if (UNLIKELY(is_null(it.value)))
            null_member(c, f, it.value);
        else if (has_inside(f->type) ||
                 (UNLIKELY(c->nulls) && f->shape != FIELD_ONE && jmay_have_null(it.value)))
            default_values(c, f, it.value);
    }
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct field *f = &t->fields[i];
        if (f->dflt && default_applies(c, f) && !field_set_has(&seen, t, i, v))
            note_default(c, CHANGE_ADD, end_of(c->doc, v), f);
    }
}

/* A default may bring an object with fields that have defaults, which the next pass finds. */
static struct doc *default_passes(const struct type *t, struct doc *d, bool refuse_unknown,
                                  bool *ret_too_large)
{
    bool builtin = !type_is_custom(t), again = true;
    struct doc *out = doc_ref(d);

    for (int i = 0; again && i < MAX_DEFAULT_DEPTH; i++) {
        struct changes c = {.doc = out, .builtin = builtin, .nulls = doc_may_have_null(out)};
        default_walk(&c, t, doc_root(out));
        if (c.unknown && refuse_unknown) {
            vec_done(&c.items);
            doc_unref(out);
            return NULL;
        }
        again = c.nested && !c.overflow;
        *ret_too_large |= c.overflow;
        struct doc *next = changes_apply(&c, out);
        doc_unref(out);
        out = next;
    }
    return out;
}

struct doc *schema_default(const struct type *t, struct doc *d)
{
    bool too_large = false;
    return default_passes(t, d, false, &too_large);
}

struct doc *schema_default_bounded(const struct type *t, struct doc *d)
{
    bool too_large = false;
    struct doc *out = default_passes(t, d, false, &too_large);

    if (too_large) {
        doc_unref(out);
        return NULL;
    }
    return out;
}

struct doc *schema_default_known(const struct type *t, struct doc *d)
{
    bool too_large = false;
    struct doc *out = doc_duplicate_key(d, NULL) ? NULL : default_passes(t, d, true, &too_large);

    if (out && too_large) {
        doc_unref(out);
        return NULL;
    }
    return out;
}
