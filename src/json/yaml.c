/*
 * YAML in: libyaml's events are written straight out as JSON text, which becomes the document. No
 * tree is built, so memory stays proportional to the text whatever the nesting or aliasing:
 *
 *   - an anchor remembers which bytes of the output its node became; an alias copies them. The
 *     copies are counted, which stops "billion laughs" input;
 *   - a merge key's value is written, cut out again and parsed; its members follow when the mapping
 *     ends, those that are not there already (what a mapping says itself wins, as YAML has it);
 *   - duplicate keys are found through one hash set per document, keyed by mapping and key.
 *
 * Open collections are a vector, not the C stack. Scalars follow json/yaml_scalar.h. Keys that are
 * not strings become strings, as in kubectl (1: -> "1":, y: -> "true":).
 */
#include "json/yaml.h"

#include "base/b64.h"
#include "base/map.h"
#include "json/libyaml.h"
#include "json/write.h"
#include "json/yaml_scalar.h"

#define YAML_MAX_INPUT ((size_t)64 << 20)
#define YAML_MAX_OUTPUT ((size_t)255 << 20)
#define YAML_MAX_DEPTH 256
#define YAML_MAX_TAG_LINES 1000
#define YAML_TAG_PREFIX "tag:yaml.org,2002:"

struct anchor {
    str name;
    str text;     /* the node's JSON, or p == NULL: bytes [start, end) of the output */
    size_t start; /* of the output */
    size_t end;   /* 0 while the node is open */
    unsigned height;
};

struct frame {
    bool is_map;
    bool has_key;  /* the next node is a value */
    bool is_merge; /* ... of a merge key */
    uint64_t id;
    size_t count;
    size_t start;
    unsigned height;          /* levels below this one */
    size_t anchor;            /* index + 1 */
    VEC(struct doc *) merges; /* held by the arena */
};

struct reader {
    yaml_parser_t parser;
    struct strbuf out;
    struct strbuf scratch;
    struct arena arena;        /* of one document */
    struct map keys;           /* frame id + key */
    struct map anchor_by_name; /* index + 1 */
    VEC(struct anchor) anchors;
    VEC(struct frame) frames;
    uint64_t next_id;
    size_t expanded;
    size_t max_expanded;
    size_t max_docs;   /* it ends with the last of these */
    size_t max_events; /* an error above */
    yaml_mark_t mark;  /* of the current event */
    struct err *err;
};

/* At the start of the current event; fmt is a literal. */
#define fail(r, code, fmt, ...)                                                 \
    err_set((r)->err, (code), "line %zu, column %zu: " fmt, (r)->mark.line + 1, \
            (r)->mark.column + 1 __VA_OPT__(, ) __VA_ARGS__)

/* Input quoted in a message. */
#define SHORT(s) (int)MIN((s).len, (size_t)100), (s).p

static struct frame *top(struct reader *r)
{
    return r->frames.len ? vec_last(&r->frames) : NULL;
}

/* ---- anchors ---- */

static size_t anchor_begin(struct reader *r, const unsigned char *name)
{
    if (!name)
        return 0;
    struct anchor *a = vec_push(&r->anchors);
    *a = (struct anchor){.name = arena_str(&r->arena, str_of((const char *)name)),
                         .start = r->out.len};
    map_put(&r->anchor_by_name, a->name, (void *)(uintptr_t)r->anchors.len);
    return r->anchors.len;
}

static void anchor_end(struct reader *r, size_t anchor, unsigned height)
{
    if (!anchor)
        return;
    r->anchors.p[anchor - 1].end = r->out.len;
    r->anchors.p[anchor - 1].height = height;
}

static str anchor_text(const struct reader *r, const struct anchor *a)
{
    return a->text.p ? a->text : str_n(r->out.p + a->start, a->end - a->start);
}

static int expand(struct reader *r, size_t bytes)
{
    r->expanded += bytes;
    if (r->expanded > r->max_expanded)
        return fail(r, ERR_TOO_LARGE, "aliases expand to too much text");
    return 0;
}

/* ---- mappings ---- */

/* False when the mapping has the key already. */
static bool key_claim(struct reader *r, uint64_t id, str key)
{
    char *p = arena_alloc(&r->arena, sizeof(id) + key.len);
    memcpy(p, &id, sizeof(id));
    if (key.len)
        memcpy(p + sizeof(id), key.p, key.len);
    str full = str_n(p, sizeof(id) + key.len);
    if (map_has(&r->keys, full))
        return false;
    map_put(&r->keys, full, r);
    return true;
}

static int key_write(struct reader *r, str key)
{
    struct frame *f = top(r);
    if (!key_claim(r, f->id, key))
        return fail(r, ERR_INVALID, "key \"%.*s\" already set in map", SHORT(key));
    if (f->count++)
        strbuf_add_char(&r->out, ',');
    json_quote(&r->out, key);
    strbuf_add_char(&r->out, ':');
    f->has_key = true;
    return 0;
}

static void merge_members(struct reader *r, struct frame *f, jval from)
{
    for (struct jiter it = jiter(from); jnext(&it);) {
        if (!key_claim(r, f->id, it.key))
            continue;
        if (f->count++)
            strbuf_add_char(&r->out, ',');
        json_quote(&r->out, it.key);
        strbuf_add_char(&r->out, ':');
        strbuf_add_str(&r->out, jtext(it.value));
    }
}

static void merge_all(struct reader *r, struct frame *f)
{
    for (size_t i = 0; i < f->merges.len; i++) {
        jval from = doc_root(f->merges.p[i]);
        if (jtype(from) == J_OBJECT)
            merge_members(r, f, from);
        for (struct jiter it = jiter(jtype(from) == J_ARRAY ? from : JVAL_ABSENT); jnext(&it);)
            merge_members(r, f, it.value);
    }
}

static bool is_mergeable(jval v)
{
    if (jtype(v) == J_OBJECT)
        return true;
    if (jtype(v) != J_ARRAY)
        return false;
    for (struct jiter it = jiter(v); jnext(&it);)
        if (jtype(it.value) != J_OBJECT)
            return false;
    return true;
}

/* Takes the value just written out of the output again; it is merged when the mapping ends. */
static int merge_cut(struct reader *r, struct frame *f, size_t start)
{
    str text = str_n(r->out.p + start, r->out.len - start);
    int rc = expand(r, text.len);
    if (rc)
        return rc;
    struct doc *d = doc_parse(text, NULL, r->err);
    if (!d)
        return err_wrap(r->err, "line %zu, column %zu", r->mark.line + 1, r->mark.column + 1);
    doc_hold(&r->arena, d);
    if (!is_mergeable(doc_root(d)))
        return fail(r, ERR_INVALID, "map merge requires map or sequence of maps as the value");
    for (size_t i = r->anchors.len; i-- > 0 && r->anchors.p[i].start >= start;) {
        struct anchor *a = &r->anchors.p[i];
        if (!a->text.p)
            a->text = str_sub(doc_text(d), a->start - start, a->end - start);
    }
    r->out.p[r->out.len = start] = 0;
    *vec_push(&f->merges) = d;
    f->is_merge = false;
    return 0;
}

/* ---- nodes ---- */

static bool at_key(struct reader *r)
{
    struct frame *f = top(r);
    return f && f->is_map && !f->has_key;
}

static void value_begin(struct reader *r)
{
    struct frame *f = top(r);
    if (f && !f->is_map && f->count++)
        strbuf_add_char(&r->out, ',');
}

static int value_end(struct reader *r, size_t start, unsigned height)
{
    struct frame *f = top(r);
    if (!f)
        return 0;
    f->height = MAX(f->height, height + 1);
    if (!f->is_map)
        return 0;
    f->has_key = false;
    return f->is_merge ? merge_cut(r, f, start) : 0;
}

/* What a scalar event means. text: the string, or the JSON text of anything else. */
struct scalar {
    enum yaml_scalar means;
    str text;
};

static str scalar_json(const struct reader *r, enum yaml_scalar means)
{
    switch (means) {
    case YAML_NULL:
        return STR("null");
    case YAML_TRUE:
        return STR("true");
    case YAML_FALSE:
        return STR("false");
    default:
        return strbuf_str(&r->scratch);
    }
}

static const struct tag {
    const char *name;
    unsigned allowed; /* bits of enum yaml_scalar */
} tags[] = {
    {YAML_TAG_PREFIX "int", 1u << YAML_INT},
    {YAML_TAG_PREFIX "float", 1u << YAML_INT | 1u << YAML_FLOAT | 1u << YAML_NOT_FINITE},
    {YAML_TAG_PREFIX "bool", 1u << YAML_TRUE | 1u << YAML_FALSE},
    {YAML_TAG_PREFIX "null", 1u << YAML_NULL},
    {YAML_TAG_PREFIX "merge", 1u << YAML_MERGE},
};

/* A tag that we do not know, like !!str, makes a string. */
static const struct tag *tag_find(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(tags); i++)
        if (str_is(name, tags[i].name))
            return &tags[i];
    return NULL;
}

static int scalar_resolve(struct reader *r, const yaml_event_t *e, struct scalar *ret)
{
    str name = str_of((const char *)e->data.scalar.tag);
    const struct tag *tag = tag_find(name);
    *ret = (struct scalar){
        .means = YAML_STR,
        .text = str_n((const char *)e->data.scalar.value, e->data.scalar.length),
    };
    strbuf_reset(&r->scratch);
    if (tag || (name.len == 0 && e->data.scalar.style == YAML_PLAIN_SCALAR_STYLE))
        ret->means = yaml_resolve(ret->text, &r->scratch);
    if (tag && !(tag->allowed & 1u << ret->means))
        return fail(r, ERR_INVALID, "cannot decode `%.*s` as a !!%s", SHORT(ret->text),
                    tag->name + sizeof(YAML_TAG_PREFIX) - 1);
    if (ret->means == YAML_NOT_FINITE)
        return fail(r, ERR_INVALID, "infinity and NaN have no JSON form");
    if (str_is(name, YAML_TAG_PREFIX "binary")) {
        if (!b64_decode(ret->text, B64_NEWLINES, &r->scratch))
            return fail(r, ERR_INVALID, "!!binary value contains invalid base64 data");
        ret->text = strbuf_str(&r->scratch);
    }
    if (ret->means != YAML_STR && ret->means != YAML_MERGE)
        ret->text = scalar_json(r, ret->means);
    return 0;
}

static void scalar_write(const struct scalar *s, struct strbuf *out)
{
    if (s->means == YAML_STR || s->means == YAML_MERGE)
        json_quote(out, s->text);
    else
        strbuf_add_str(out, s->text);
}

static int on_key(struct reader *r, const yaml_event_t *e, const struct scalar *s)
{
    struct frame *f = top(r);
    if (s->means == YAML_MERGE) {
        f->has_key = f->is_merge = true;
        return 0;
    }
    if (s->means == YAML_NULL)
        return fail(r, ERR_INVALID, "null cannot be a mapping key");
    size_t anchor = anchor_begin(r, e->data.scalar.anchor);
    if (anchor) {
        /* Later aliases mean the scalar, not the string it becomes as a key. */
        struct strbuf json = STRBUF_INIT(YAML_MAX_OUTPUT);
        scalar_write(s, &json);
        r->anchors.p[anchor - 1].text = arena_str(&r->arena, strbuf_str(&json));
        strbuf_done(&json);
        anchor_end(r, anchor, 0);
    }
    return key_write(r, s->text);
}

static int on_scalar(struct reader *r, const yaml_event_t *e)
{
    struct scalar s;
    int rc = scalar_resolve(r, e, &s);
    if (rc)
        return rc;
    if (at_key(r))
        return on_key(r, e, &s);
    value_begin(r);
    size_t start = r->out.len;
    size_t anchor = anchor_begin(r, e->data.scalar.anchor);
    scalar_write(&s, &r->out);
    anchor_end(r, anchor, 0);
    return value_end(r, start, 0);
}

static int on_alias_key(struct reader *r, str text)
{
    if (text.p[0] == '{' || text.p[0] == '[')
        return fail(r, ERR_INVALID, "a mapping key must be a scalar");
    if (str_eq(text, STR("null")))
        return fail(r, ERR_INVALID, "null cannot be a mapping key");
    if (text.p[0] != '"')
        return key_write(r, arena_str(&r->arena, text));
    struct doc *d = doc_parse(text, NULL, NULL);
    BUG_ON(!d);
    return key_write(r, jstr(doc_root(doc_hold(&r->arena, d))));
}

static int on_alias(struct reader *r, const yaml_event_t *e)
{
    str name = str_of((const char *)e->data.alias.anchor);
    size_t index = (size_t)(uintptr_t)map_get(&r->anchor_by_name, name);
    if (!index)
        return fail(r, ERR_INVALID, "unknown anchor '%.*s' referenced", SHORT(name));
    const struct anchor *a = &r->anchors.p[index - 1];
    if (!a->end)
        return fail(r, ERR_INVALID, "anchor '%.*s' value contains itself", SHORT(name));
    str text = anchor_text(r, a);
    int rc = expand(r, text.len);
    if (rc)
        return rc;
    if (at_key(r))
        return on_alias_key(r, text);
    if (r->frames.len + a->height > YAML_MAX_DEPTH)
        return fail(r, ERR_TOO_LARGE, "nested deeper than %d levels", YAML_MAX_DEPTH);
    value_begin(r);
    size_t start = r->out.len;
    unsigned height = a->height;
    /* The text lies in the very buffer that grows. */
    char *room = strbuf_reserve(&r->out, text.len);
    if (room) {
        memcpy(room, anchor_text(r, a).p, text.len);
        strbuf_commit(&r->out, text.len);
    }
    return value_end(r, start, height);
}

static int on_start(struct reader *r, bool is_map, const unsigned char *anchor)
{
    if (at_key(r))
        return fail(r, ERR_INVALID, "a mapping key must be a scalar");
    if (r->frames.len >= YAML_MAX_DEPTH)
        return fail(r, ERR_TOO_LARGE, "nested deeper than %d levels", YAML_MAX_DEPTH);
    value_begin(r);
    struct frame *f = vec_push(&r->frames);
    *f = (struct frame){.is_map = is_map, .id = r->next_id++, .start = r->out.len};
    f->anchor = anchor_begin(r, anchor);
    strbuf_add_char(&r->out, is_map ? '{' : '[');
    return 0;
}

static int on_end(struct reader *r)
{
    struct frame f = vec_pop(&r->frames);
    merge_all(r, &f);
    vec_done(&f.merges);
    strbuf_add_char(&r->out, f.is_map ? '}' : ']');
    anchor_end(r, f.anchor, f.height + 1);
    return value_end(r, f.start, f.height + 1);
}

/* ---- documents ---- */

static void document_reset(struct reader *r)
{
    while (r->frames.len) {
        struct frame f = vec_pop(&r->frames);
        vec_done(&f.merges);
    }
    map_done(&r->keys);
    map_done(&r->anchor_by_name);
    r->keys = r->anchor_by_name = MAP_INIT;
    vec_clear(&r->anchors);
    arena_clear(&r->arena);
    strbuf_reset(&r->out);
}

static int document_end(struct reader *r, doc_vec *docs)
{
    if (r->out.overflow)
        return fail(r, ERR_TOO_LARGE, "the document is too large");
    if (!str_eq(strbuf_str(&r->out), STR("null")) && r->out.len > 0) {
        size_t len;
        char *text = strbuf_detach(&r->out, &len);
        struct json_limits limits = {.max_bytes = YAML_MAX_OUTPUT};
        struct doc *d = doc_parse_owned(text, len, &limits, r->err);
        if (!d)
            return err_wrap(r->err, "line %zu, column %zu", r->mark.line + 1, r->mark.column + 1);
        *vec_push(docs) = d;
    }
    document_reset(r);
    return 0;
}

static int on_event(struct reader *r, const yaml_event_t *e, doc_vec *docs)
{
    r->mark = e->start_mark;
    switch (e->type) {
    case YAML_SCALAR_EVENT:
        return on_scalar(r, e);
    case YAML_ALIAS_EVENT:
        return on_alias(r, e);
    case YAML_MAPPING_START_EVENT:
        return on_start(r, true, e->data.mapping_start.anchor);
    case YAML_SEQUENCE_START_EVENT:
        return on_start(r, false, e->data.sequence_start.anchor);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        return on_end(r);
    case YAML_DOCUMENT_END_EVENT:
        return document_end(r, docs);
    default:
        return 0;
    }
}

static int fail_syntax(struct reader *r)
{
    const yaml_parser_t *p = &r->parser;
    if (p->error == YAML_MEMORY_ERROR)
        BUG("out of memory");
    const char *what = p->problem ? p->problem : "not YAML";
    if (p->error == YAML_READER_ERROR)
        return err_set(r->err, ERR_INVALID, "offset %zu: %s", p->problem_offset, what);
    r->mark = p->problem_mark;
    return fail(r, ERR_INVALID, "%s", what);
}

static int read_stream(struct reader *r, doc_vec *docs)
{
    for (size_t n = 0;; n++) {
        yaml_event_t e;
        if (!yaml_parser_parse(&r->parser, &e))
            return fail_syntax(r);
        bool done = e.type == YAML_STREAM_END_EVENT || docs->len >= r->max_docs;
        if (n >= r->max_events) {
            yaml_event_delete(&e);
            return fail(r, ERR_TOO_LARGE, "more than %zu values: write it as JSON", n);
        }
        int rc = on_event(r, &e, docs);
        yaml_event_delete(&e);
        if (rc || done)
            return rc;
    }
}

/* JSON is almost YAML; what libyaml refuses (surrogate pairs, long keys, tabs) the JSON parser
 * takes. Anything it refuses gets the YAML reader's message. */
static bool read_json(str text, doc_vec *docs)
{
    str t = str_trim(text);
    if (t.len == 0 || (t.p[0] != '{' && t.p[0] != '['))
        return false;
    struct doc *d = doc_parse(text, NULL, NULL);
    if (d)
        *vec_push(docs) = d;
    return d != NULL;
}

/* libyaml compares each %TAG directive with all before it. */
static bool has_too_many_tag_lines(str text)
{
    size_t n = 0;
    for (str rest = text; rest.p && n <= YAML_MAX_TAG_LINES;)
        n += str_starts(str_cut(&rest, '\n'), STR("%TAG"));
    return n > YAML_MAX_TAG_LINES;
}

static int parse(str text, size_t max_docs, size_t max_events, doc_vec *ret_docs, struct err *err)
{
    *ret_docs = (doc_vec){0};
    if (text.len > YAML_MAX_INPUT)
        return err_set(err, ERR_TOO_LARGE, "input is larger than %zu bytes", YAML_MAX_INPUT);
    if (!str_is_utf8(text))
        return err_set(err, ERR_INVALID, "input is not UTF-8");
    if (str_starts(text, STR("\xef\xbb\xbf")))
        text = str_sub(text, 3, text.len);
    if (read_json(text, ret_docs))
        return 0;
    if (has_too_many_tag_lines(text))
        return err_set(err, ERR_TOO_LARGE, "more than %d %%TAG directives", YAML_MAX_TAG_LINES);

    struct reader r = {.out = STRBUF_INIT(YAML_MAX_OUTPUT),
                       .scratch = STRBUF_INIT(YAML_MAX_INPUT + 64),
                       .max_expanded = MAX(text.len * 10, (size_t)1 << 20),
                       .max_docs = max_docs,
                       .max_events = max_events,
                       .err = err};
    if (!yaml_parser_initialize(&r.parser))
        BUG("out of memory");
    yaml_parser_set_input_string(&r.parser, (const unsigned char *)(text.p ? text.p : ""),
                                 text.len);
    yaml_parser_set_encoding(&r.parser, YAML_UTF8_ENCODING);
    int rc = read_stream(&r, ret_docs);
    yaml_parser_delete(&r.parser);
    document_reset(&r);
    arena_done(&r.arena);
    vec_done(&r.anchors);
    vec_done(&r.frames);
    strbuf_done(&r.out);
    strbuf_done(&r.scratch);
    if (rc)
        doc_vec_done(ret_docs);
    return rc;
}

int yaml_parse(str text, doc_vec *ret_docs, struct err *err)
{
    return parse(text, SIZE_MAX, SIZE_MAX, ret_docs, err);
}

struct doc *yaml_parse_bounded(str text, size_t max_values, struct err *err)
{
    doc_vec docs;
    if (parse(text, 2, max_values, &docs, err))
        return NULL;
    struct doc *d = NULL;
    if (docs.len == 1)
        d = doc_ref(docs.p[0]);
    else
        err_set(err, ERR_INVALID, "expected one document, found %zu", docs.len);
    doc_vec_done(&docs);
    return d;
}

struct doc *yaml_parse_one(str text, struct err *err)
{
    return yaml_parse_bounded(text, SIZE_MAX, err);
}

void doc_vec_done(doc_vec *docs)
{
    for (size_t i = 0; i < docs->len; i++)
        doc_unref(docs->p[i]);
    vec_done(docs);
}
