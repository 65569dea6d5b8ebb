/*
 * Protobuf request bodies to JSON. Clients of the Go library send built-in kinds in this form by
 * default and do not fall back, so it must be understood; answers are always JSON.
 *
 * A body is, byte by byte:
 *   6b 38 73 00                 "k8s\0"
 *   Unknown { typeMeta=1 { apiVersion=1, kind=2 }, raw=2, contentEncoding=3, contentType=4 }
 * and raw is the message of the kind, whose field numbers stand in its table. Some types have an
 * encoding of their own:
 *   Time, MicroTime   { seconds=1 int64, nanos=2 int32 }, empty: no time
 *   Quantity          { string=1 }
 *   IntOrString       { type=1 (0 number, 1 string), intVal=2, strVal=3 }
 *   Duration          { nanoseconds=1 int64 }
 *   raw JSON          { raw=1 bytes }
 *   maps              repeated { key=1, value=2 }
 *
 * Go writes every plain field, also when it is zero; a pointer only when it is set. So a zero is
 * left out unless the table marks the field as a pointer or as required. Messages are kept also
 * when they are empty: {} is what Go's JSON has there.
 *
 * Unknown fields are skipped. Everything else that does not fit is an error with its offset.
 * Recursion is bounded by the tables (no type contains itself) and by MAX_DEPTH.
 */
#include "base/b64.h"
#include "base/map.h"
#include "base/timefmt.h"
#include "base/vec.h"
#include "kube/schema.h"
#include "json/write.h"

#define MAGIC STR("k8s\0")
#define MAX_BODY ((size_t)16 << 20)
#define MAX_DEPTH 40
#define RAW_MAX_DEPTH 128
/* A tag of an inlined message fits in half of parent_tag. */
#define INLINED_MAX 15

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_BYTES = 2, WIRE_FIXED32 = 5 };

/* One field as it stands in a message. */
struct entry {
    unsigned tag;
    enum wire wire;
    uint64_t number; /* VARINT, FIXED64, FIXED32 */
    str bytes;       /* BYTES */
    const struct field *field;
};

typedef VEC(struct entry) entry_vec;

struct decoder {
    const char *base; /* of the whole body, for offsets */
    struct err *err;
    struct jw w;
    unsigned depth;
};

static int fail(struct decoder *d, const char *at, const char *what)
{
    return err_set(d->err, ERR_INVALID, "protobuf: %s at offset %zu", what, (size_t)(at - d->base));
}

/* ---- the wire ---- */

static int read_varint(struct decoder *d, str *in, uint64_t *ret)
{
    uint64_t v = 0;

    for (unsigned i = 0; i < 10; i++) {
        if (i >= in->len)
            return fail(d, in->p + in->len, "message ends inside a number");
        uint8_t byte = (uint8_t)in->p[i];
        if (i == 9 && byte > 1)
            break;
        v |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (!(byte & 0x80)) {
            *in = str_sub(*in, i + 1, in->len);
            *ret = v;
            return 0;
        }
    }
    return fail(d, in->p, "number too long");
}

static int read_fixed(struct decoder *d, str *in, size_t n, uint64_t *ret)
{
    uint64_t v = 0;

    if (in->len < n)
        return fail(d, in->p + in->len, "message ends inside a number");
    for (size_t i = n; i-- > 0;)
        v = v << 8 | (uint8_t)in->p[i];
    *in = str_sub(*in, n, in->len);
    *ret = v;
    return 0;
}

static int read_bytes(struct decoder *d, str *in, str *ret)
{
    uint64_t len;
    const char *at = in->p;

    if (read_varint(d, in, &len) < 0)
        return ERR_INVALID;
    if (len > in->len)
        return fail(d, at, "length goes beyond the end of the message");
    *ret = str_sub(*in, 0, (size_t)len);
    *in = str_sub(*in, (size_t)len, in->len);
    return 0;
}

/* Reads one field, whatever it is. */
static int read_entry(struct decoder *d, str *in, struct entry *ret)
{
    uint64_t key;
    const char *at = in->p;

    if (read_varint(d, in, &key) < 0)
        return ERR_INVALID;
    *ret =
        (struct entry){.tag = (unsigned)(key >> 3), .wire = (enum wire)(key & 7), .bytes = STR("")};
    if (key >> 3 == 0 || key >> 3 > (1 << 29) - 1)
        return fail(d, at, "field number out of range");
    switch (ret->wire) {
    case WIRE_VARINT:
        return read_varint(d, in, &ret->number);
    case WIRE_FIXED64:
        return read_fixed(d, in, 8, &ret->number);
    case WIRE_FIXED32:
        return read_fixed(d, in, 4, &ret->number);
    case WIRE_BYTES:
        return read_bytes(d, in, &ret->bytes);
    }
    return fail(d, at, "unknown wire type");
}

/* A message of few fields with fixed meaning: the last entry of each tag up to 4. */
static int read_small(struct decoder *d, str in, struct entry ret[5])
{
    for (size_t i = 0; i < 5; i++)
        ret[i] = (struct entry){.bytes = STR("")};
    while (in.len) {
        struct entry e;
        if (read_entry(d, &in, &e) < 0)
            return ERR_INVALID;
        if (e.tag < 5)
            ret[e.tag] = e;
    }
    return 0;
}

/* ---- messages by table ---- */

static const struct field *field_of_tag(const struct type *t, unsigned parent, unsigned tag)
{
    for (size_t i = 0; i < t->n_fields; i++)
        if (t->fields[i].tag == tag && t->fields[i].parent_tag == parent)
            return &t->fields[i];
    return NULL;
}

static bool is_inlined(const struct type *t, unsigned tag)
{
    for (size_t i = 0; i < t->n_fields; i++)
        if (t->fields[i].parent_tag == tag || t->fields[i].parent_tag >> 4 == tag)
            return true;
    return false;
}

/* Known fields of a message, those of inlined messages included (parent_tag in kinds.h). */
static int collect(struct decoder *d, const struct type *t, str in, unsigned parent, entry_vec *ret)
{
    while (in.len) {
        struct entry e;
        const char *at = in.p;
        if (read_entry(d, &in, &e) < 0)
            return ERR_INVALID;
        e.field = e.tag <= UINT16_MAX ? field_of_tag(t, parent, e.tag) : NULL;
        if (e.field) {
            *vec_push(ret) = e;
        } else if (parent <= INLINED_MAX && e.tag && e.tag <= INLINED_MAX &&
                   is_inlined(t, parent << 4 | e.tag)) {
            if (e.wire != WIRE_BYTES)
                return fail(d, at, "a number where a message is expected");
            if (collect(d, t, e.bytes, parent << 4 | e.tag, ret) < 0)
                return ERR_INVALID;
        }
    }
    return 0;
}

static int write_message(struct decoder *d, const struct type *t, str in);
static int write_value(struct decoder *d, const struct type *t, const struct entry *e);

static bool is_scalar_number(enum type_tag tag)
{
    return tag == TYPE_INT32 || tag == TYPE_INT64 || tag == TYPE_BOOL;
}

static enum wire wire_of(enum type_tag tag)
{
    if (is_scalar_number(tag))
        return WIRE_VARINT;
    return tag == TYPE_DOUBLE ? WIRE_FIXED64 : WIRE_BYTES;
}

static int wrong_wire(struct decoder *d, const struct entry *e)
{
    return err_set(d->err, ERR_INVALID, "protobuf: field %s has wire type %d", e->field->name,
                   (int)e->wire);
}

/* ---- types with an encoding of their own ---- */

static void write_time(struct decoder *d, const struct entry parts[5], bool micro)
{
    struct strbuf b = STRBUF_INIT(64);
    int64_t sec = (int64_t)parts[1].number, nsec = (int64_t)parts[2].number;
    const int64_t first = -62167219200, last = 253402300799; /* years 0 to 9999 */

    sec = MAX(first, MIN(sec, last));
    nsec = MAX((int64_t)0, MIN(nsec, NSEC_PER_SEC - 1));
    if (micro)
        time_format_micro(sec * USEC_PER_SEC + nsec / NSEC_PER_USEC, &b);
    else
        time_format_rfc3339(sec * USEC_PER_SEC, &b);
    jw_str(&d->w, strbuf_str(&b));
    strbuf_done(&b);
}

static void write_duration(struct decoder *d, int64_t nsec)
{
    struct strbuf b = STRBUF_INIT(64);

    duration_format(nsec, &b);
    jw_str(&d->w, strbuf_str(&b));
    strbuf_done(&b);
}

static void write_int_or_string(struct decoder *d, const struct entry parts[5])
{
    if (parts[1].number == 0)
        jw_int(&d->w, (int32_t)parts[2].number);
    else
        jw_str(&d->w, parts[3].bytes);
}

static int write_raw(struct decoder *d, str raw)
{
    static const struct json_limits limits = {.max_depth = RAW_MAX_DEPTH};
    struct err why = ERR_INIT;

    if (raw.len == 0) {
        jw_null(&d->w);
        return 0;
    }
    struct doc *doc = doc_parse(raw, &limits, &why);
    if (!doc)
        return err_set(d->err, ERR_INVALID, "protobuf: raw JSON at offset %zu: %s",
                       (size_t)(raw.p - d->base), why.message);
    jw_val(&d->w, doc_root(doc));
    doc_unref(doc);
    return 0;
}

static int write_string_list(struct decoder *d, str in)
{
    jw_array(&d->w);
    while (in.len) {
        struct entry e;
        if (read_entry(d, &in, &e) < 0)
            return ERR_INVALID;
        if (e.tag == 1 && e.wire == WIRE_BYTES)
            jw_str(&d->w, e.bytes);
    }
    jw_end(&d->w);
    return 0;
}

/* True for what Go's JSON leaves out: an empty time or raw value. */
static bool is_nothing(enum type_tag tag, const struct entry *e)
{
    return (tag == TYPE_TIME || tag == TYPE_MICRO_TIME || tag == TYPE_RAW) && e->bytes.len == 0;
}

static int write_wrapped(struct decoder *d, const struct type *t, const struct entry *e)
{
    struct entry parts[5];

    if (t->tag == TYPE_STRING_LIST)
        return write_string_list(d, e->bytes);
    if (read_small(d, e->bytes, parts) < 0)
        return ERR_INVALID;
    switch (t->tag) {
    case TYPE_TIME:
    case TYPE_MICRO_TIME:
        write_time(d, parts, t->tag == TYPE_MICRO_TIME);
        return 0;
    case TYPE_DURATION:
        write_duration(d, (int64_t)parts[1].number);
        return 0;
    case TYPE_QUANTITY:
        jw_str(&d->w, parts[1].bytes.len ? parts[1].bytes : STR("0"));
        return 0;
    case TYPE_INT_OR_STRING:
        write_int_or_string(d, parts);
        return 0;
    default:
        return write_raw(d, parts[1].bytes);
    }
}

static void write_bytes(struct decoder *d, str bytes)
{
    struct strbuf b = STRBUF_INIT(2 * MAX_BODY);

    b64_encode(bytes, B64_STD, &b);
    jw_str(&d->w, strbuf_str(&b));
    strbuf_done(&b);
}

/* ---- values ---- */

/* An object or something else in its place: {schema=1}, or {allows=1 bool, schema=2}. */
static int write_or_other(struct decoder *d, const struct type *t, const struct entry *e)
{
    struct entry parts[5];

    if (read_small(d, e->bytes, parts) < 0)
        return ERR_INVALID;
    bool first = parts[1].tag && parts[1].wire == WIRE_BYTES;
    if (!first && !(parts[2].tag && parts[2].wire == WIRE_BYTES)) {
        jw_bool(&d->w, parts[1].number != 0);
        return 0;
    }
    return write_message(d, t, parts[first ? 1 : 2].bytes);
}

static int write_value(struct decoder *d, const struct type *t, const struct entry *e)
{
    double real;

    if (e->wire != wire_of(t->tag))
        return wrong_wire(d, e);
    switch (t->tag) {
    case TYPE_OBJECT:
        return t->or_other ? write_or_other(d, t, e) : write_message(d, t, e->bytes);
    case TYPE_STRING:
        jw_str(&d->w, e->bytes);
        return 0;
    case TYPE_INT32:
        jw_int(&d->w, (int32_t)e->number);
        return 0;
    case TYPE_INT64:
        jw_int(&d->w, (int64_t)e->number);
        return 0;
    case TYPE_BOOL:
        jw_bool(&d->w, e->number != 0);
        return 0;
    case TYPE_DOUBLE:
        memcpy(&real, &e->number, sizeof(real));
        if (real != real || real > 1e308 || real < -1e308)
            return fail(d, d->base, "a number JSON cannot express");
        jw_real(&d->w, real);
        return 0;
    case TYPE_BYTES:
        write_bytes(d, e->bytes);
        return 0;
    default:
        return write_wrapped(d, t, e);
    }
}

/* Numbers of a list may come packed into one entry. */
static int write_packed(struct decoder *d, const struct field *f, const struct entry *e)
{
    str in = e->bytes;

    while (in.len) {
        struct entry one = {.wire = WIRE_VARINT, .field = f};
        if (read_varint(d, &in, &one.number) < 0 || write_value(d, f->type, &one) < 0)
            return ERR_INVALID;
    }
    return 0;
}

static int write_list(struct decoder *d, const struct field *f, const entry_vec *entries, size_t i)
{
    jw_array(&d->w);
    for (; i < entries->len; i++) {
        const struct entry *e = &entries->p[i];
        if (e->field != f)
            continue;
        bool packed = is_scalar_number(f->type->tag) && e->wire == WIRE_BYTES;
        if ((packed ? write_packed(d, f, e) : write_value(d, f->type, e)) < 0)
            return ERR_INVALID;
    }
    jw_end(&d->w);
    return 0;
}

/* One entry of a map: { key=1, value=2 }, an absent value is the zero of its type. */
static int write_map_entry(struct decoder *d, const struct field *f, const struct entry parts[5])
{
    struct entry value = parts[2];

    jw_key(&d->w, parts[1].bytes);
    value.field = f;
    if (value.tag == 0)
        value.wire = wire_of(f->type->tag);
    return write_value(d, f->type, &value);
}

/* When a key repeats the last one counts, as in a Go map. Keys are compared before they are
 * written: bytes that are not UTF-8 would all become the same replacement character there. */
static int write_map(struct decoder *d, const struct field *f, const entry_vec *entries,
                     size_t from)
{
    struct map last = MAP_INIT;
    struct entry parts[5];
    int rc = 0;

    for (size_t i = from; rc == 0 && i < entries->len; i++) {
        struct entry *e = &entries->p[i];
        if (e->field != f)
            continue;
        rc = e->wire == WIRE_BYTES ? read_small(d, e->bytes, parts) : wrong_wire(d, e);
        if (rc == 0 && !str_is_utf8(parts[1].bytes))
            rc = fail(d, parts[1].bytes.p, "a key that is not UTF-8");
        if (rc == 0)
            map_put(&last, parts[1].bytes, e);
    }
    jw_object(&d->w);
    for (size_t i = from; rc == 0 && i < entries->len; i++) {
        struct entry *e = &entries->p[i];
        if (e->field != f)
            continue;
        rc = read_small(d, e->bytes, parts);
        if (rc == 0 && map_get(&last, parts[1].bytes) == e)
            rc = write_map_entry(d, f, parts);
    }
    if (rc == 0)
        jw_end(&d->w);
    map_done(&last);
    return rc;
}

/* Zeros of plain Go fields are not written in JSON; those of pointers and required fields are. */
static bool is_left_out(const struct field *f, const struct entry *e)
{
    enum type_tag tag = f->type->tag;

    if (is_nothing(tag, e))
        return true;
    if (f->flags & (FIELD_REQUIRED | FIELD_POINTER))
        return false;
    if (tag == TYPE_STRING || tag == TYPE_BYTES)
        return e->bytes.len == 0;
    return tag != TYPE_OBJECT && e->wire != WIRE_BYTES && e->number == 0;
}

/* An IntOrString that is the number 0 is Go's zero value too. */
static bool is_zero_int_or_string(struct decoder *d, const struct field *f, const struct entry *e)
{
    struct entry parts[5];

    if (f->type->tag != TYPE_INT_OR_STRING || (f->flags & (FIELD_REQUIRED | FIELD_POINTER)) ||
        e->wire != WIRE_BYTES || read_small(d, e->bytes, parts) < 0)
        return false;
    return parts[1].number == 0 && parts[2].number == 0;
}

static int write_one(struct decoder *d, const struct field *f, const struct entry *e)
{
    if (is_left_out(f, e) || is_zero_int_or_string(d, f, e))
        return 0;
    jw_key(&d->w, str_of(f->name));
    return write_value(d, f->type, e);
}

static int write_field(struct decoder *d, const struct field *f, const entry_vec *entries)
{
    size_t first = entries->len, last = 0;

    for (size_t i = 0; i < entries->len; i++) {
        if (entries->p[i].field != f)
            continue;
        first = MIN(first, i);
        last = i;
    }
    if (first == entries->len)
        return 0;
    if (f->shape == FIELD_ONE)
        return write_one(d, f, &entries->p[last]);
    jw_key(&d->w, str_of(f->name));
    return f->shape == FIELD_LIST ? write_list(d, f, entries, first)
                                  : write_map(d, f, entries, first);
}

static int write_members(struct decoder *d, const struct type *t, str in)
{
    entry_vec entries = {0};
    int rc = collect(d, t, in, 0, &entries);

    for (size_t i = 0; rc == 0 && entries.len && i < t->n_fields; i++)
        if (t->fields[i].tag)
            rc = write_field(d, &t->fields[i], &entries);
    vec_done(&entries);
    return rc;
}

static int write_message(struct decoder *d, const struct type *t, str in)
{
    /* A message in a map or list is two levels of JSON. */
    if (d->depth >= MAX_DEPTH || d->w.depth + 4 >= JW_MAX_DEPTH)
        return fail(d, in.p ? in.p : d->base, "nested too deeply");
    d->depth++;
    jw_object(&d->w);
    int rc = write_members(d, t, in);
    if (rc == 0)
        jw_end(&d->w);
    d->depth--;
    return rc;
}

/* ---- the envelope ---- */

bool protobuf_is(str body)
{
    return str_starts(body, MAGIC);
}

static int check_plain(struct decoder *d, const struct entry *encoding, const struct entry *type)
{
    if (encoding->bytes.len)
        return err_set(d->err, ERR_UNSUPPORTED,
                       "protobuf: content encoding \"%.*s\" is not supported",
                       STR_ARG(encoding->bytes));
    if (type->bytes.len && !str_is(type->bytes, "application/vnd.kubernetes.protobuf"))
        return err_set(d->err, ERR_UNSUPPORTED, "protobuf: content type \"%.*s\" is not supported",
                       STR_ARG(type->bytes));
    return 0;
}

static int write_body(struct decoder *d, str api_version, str kind, str raw)
{
    str group, version;

    api_version_split(api_version, &group, &version);
    const struct type *t = body_type(group, version, kind);
    if (!t)
        return err_set(d->err, ERR_UNSUPPORTED,
                       "no kind \"%.*s\" is registered for version \"%.*s\"", STR_ARG(kind),
                       STR_ARG(api_version));
    jw_object(&d->w);
    jw_put_str(&d->w, "kind", kind);
    jw_put_str(&d->w, "apiVersion", api_version);
    int rc = write_members(d, t, raw);
    if (rc == 0)
        jw_end(&d->w);
    return rc;
}

struct doc *protobuf_decode(str body, struct err *err)
{
    struct decoder d = {.base = body.p, .err = err};
    struct entry envelope[5], meta[5];

    if (!protobuf_is(body)) {
        err_set(err, ERR_INVALID, "protobuf: body does not start with the magic bytes");
        return NULL;
    }
    if (body.len > MAX_BODY) {
        err_set(err, ERR_TOO_LARGE, "protobuf: body is larger than %zu bytes", MAX_BODY);
        return NULL;
    }
    if (read_small(&d, str_sub(body, MAGIC.len, body.len), envelope) < 0 ||
        check_plain(&d, &envelope[3], &envelope[4]) < 0 ||
        read_small(&d, envelope[1].bytes, meta) < 0)
        return NULL;
    jw_init(&d.w);
    if (write_body(&d, meta[1].bytes, meta[2].bytes, envelope[2].bytes) < 0) {
        jw_done(&d.w);
        return NULL;
    }
    return jw_doc(&d.w);
}
