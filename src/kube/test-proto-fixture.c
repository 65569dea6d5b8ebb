/* See test-proto-fixture.h. */
#include "kube/test-proto-fixture.h"

#include "base/b64.h"
#include "base/timefmt.h"

#define BODY_MAX ((size_t)1 << 20)

void put_varint(struct strbuf *b, uint64_t v)
{
    for (; v > 0x7f; v >>= 7)
        strbuf_add_char(b, (char)(v | 0x80));
    strbuf_add_char(b, (char)v);
}

void put_int(struct strbuf *b, unsigned tag, int64_t v)
{
    put_varint(b, tag << 3);
    put_varint(b, (uint64_t)v);
}

void put_bytes(struct strbuf *b, unsigned tag, str s)
{
    put_varint(b, tag << 3 | 2);
    put_varint(b, s.len);
    strbuf_add_str(b, s);
}

void put_cstr(struct strbuf *b, unsigned tag, const char *s)
{
    put_bytes(b, tag, str_of(s));
}

void put_message(struct strbuf *b, unsigned tag, struct strbuf *message)
{
    put_bytes(b, tag, strbuf_str(message));
    strbuf_reset(message);
}

void put_envelope(struct strbuf *out, const char *api_version, const char *kind, str raw)
{
    struct strbuf meta = STRBUF_INIT(1000);

    strbuf_add(out, "k8s\0", 4);
    put_cstr(&meta, 1, api_version);
    put_cstr(&meta, 2, kind);
    put_message(out, 1, &meta);
    put_bytes(out, 2, raw);
    put_cstr(out, 3, "");
    put_cstr(out, 4, "");
    strbuf_done(&meta);
}

/* ---- by table ---- */

/* Types that are messages of their own on the wire and a scalar in JSON. */
static void put_special(struct strbuf *b, enum type_tag tag, jval v)
{
    usec t = 0;

    switch (tag) {
    case TYPE_TIME:
    case TYPE_MICRO_TIME:
        (void)time_parse_rfc3339(jstr(v), &t);
        put_int(b, 1, t / USEC_PER_SEC);
        put_int(b, 2, t % USEC_PER_SEC * NSEC_PER_USEC);
        break;
    case TYPE_QUANTITY:
        put_bytes(b, 1, jtype(v) == J_STRING ? jstr(v) : jtext(v));
        break;
    case TYPE_INT_OR_STRING:
        put_int(b, 1, jtype(v) == J_STRING);
        put_int(b, 2, jint(v, 0));
        put_bytes(b, 3, jstr(v));
        break;
    case TYPE_STRING_LIST:
        for (struct jiter it = jiter(v); jnext(&it);)
            put_bytes(b, 1, jstr(it.value));
        break;
    default:
        put_bytes(b, 1, jtext(v)); /* raw JSON */
        break;
    }
}

static void put_value(struct strbuf *b, const struct type *t, unsigned tag, jval v)
{
    struct strbuf m = STRBUF_INIT(BODY_MAX);

    switch (t->tag) {
    case TYPE_BOOL:
        put_int(b, tag, j_is_true(v));
        break;
    case TYPE_INT32:
    case TYPE_INT64:
        put_int(b, tag, jint(v, 0));
        break;
    case TYPE_STRING:
        put_bytes(b, tag, jstr(v));
        break;
    case TYPE_BYTES:
        BUG_ON(!b64_decode(jstr(v), B64_STD, &m));
        put_message(b, tag, &m);
        break;
    case TYPE_OBJECT:
        put_object(&m, t, v);
        put_message(b, tag, &m);
        break;
    default:
        put_special(&m, t->tag, v);
        put_message(b, tag, &m);
        break;
    }
    strbuf_done(&m);
}

static void put_field(struct strbuf *b, const struct field *f, jval v)
{
    struct strbuf entry = STRBUF_INIT(BODY_MAX);

    if (f->shape == FIELD_ONE)
        put_value(b, f->type, f->tag, v);
    for (struct jiter it = jiter(v); f->shape == FIELD_LIST && jnext(&it);)
        put_value(b, f->type, f->tag, it.value);
    for (struct jiter it = jiter(v); f->shape == FIELD_MAP && jnext(&it);) {
        put_bytes(&entry, 1, it.key);
        put_value(&entry, f->type, 2, it.value);
        put_message(b, f->tag, &entry);
    }
    strbuf_done(&entry);
}

/* Fields that are inlined from one message; parent 0: the object's own. */
static void put_part(struct strbuf *b, const struct type *t, unsigned parent, jval v)
{
    for (size_t i = 0; i < t->n_fields; i++) {
        jval member = jget(v, field_name(&t->fields[i]));
        if (t->fields[i].tag && t->fields[i].parent_tag == parent && j_has(member))
            put_field(b, &t->fields[i], member);
    }
}

void put_object(struct strbuf *b, const struct type *t, jval v)
{
    put_part(b, t, 0, v);
    for (unsigned outer = 1; outer < 16; outer++) {
        struct strbuf m = STRBUF_INIT(BODY_MAX), n = STRBUF_INIT(BODY_MAX);
        put_part(&m, t, outer, v);
        for (unsigned inner = 1; inner < 16; inner++) {
            put_part(&n, t, outer << 4 | inner, v);
            if (n.len)
                put_message(&m, inner, &n);
        }
        if (m.len)
            put_message(b, outer, &m);
        strbuf_done(&m);
        strbuf_done(&n);
    }
}
