/*
 * Documents: life cycle and reading. See doc.h for the contract and tape.h for the inside.
 *
 * A document is one block: this struct, then the tape, the text, its padding and the side area. A
 * large text handed over by its owner stays where it is, and so does its tape.
 */
#include "json/tape.h"

#include <stdatomic.h>

#include "base/vec.h"

/* ---- life cycle ---- */

static struct doc *doc_new(size_t room, size_t len, size_t nodes, size_t side)
{
    struct doc *d = xmalloc(sizeof(*d) + room);
    *d = (struct doc){
        .refs = 1, .len = (uint32_t)len, .nodes = (uint32_t)nodes, .side_len = (uint32_t)side};
    return d;
}

struct doc *doc_assemble(str text, const uint64_t *tape, size_t nodes, str side)
{
    size_t tape_size = nodes * sizeof(*tape);
    struct doc *d = doc_new(tape_size + text.len + TEXT_PAD + side.len, text.len, nodes, side.len);
    char *at = d->room;
    d->tape = memcpy(at, tape, tape_size);
    at += tape_size;
    d->text = memcpy(at, text.p, text.len);
    at += text.len;
    memset(at, 0, TEXT_PAD);
    at += TEXT_PAD;
    d->side = side.len ? memcpy(at, side.p, side.len) : NULL;
    return d;
}

struct doc *doc_adopt(char *text, size_t len, uint64_t *tape, size_t nodes, str side)
{
    struct doc *d = doc_new(side.len, len, nodes, side.len);
    d->text = text;
    d->tape = xrealloc(tape, nodes * sizeof(*tape));
    d->side = side.len ? memcpy(d->room, side.p, side.len) : NULL;
    return d;
}

/* It was adopted, in three blocks. */
static bool is_apart(const struct doc *d)
{
    return (const char *)d->tape != d->room;
}

struct doc *doc_ref(const struct doc *d)
{
    struct doc *shared = (struct doc *)(uintptr_t)d;
    if (shared)
        atomic_fetch_add_explicit(&shared->refs, 1, memory_order_relaxed);
    return shared;
}

void doc_unref(const struct doc *d)
{
    struct doc *shared = (struct doc *)(uintptr_t)d;
    if (!shared || atomic_fetch_sub_explicit(&shared->refs, 1, memory_order_acq_rel) != 1)
        return;
    if (is_apart(shared)) {
        free((char *)(uintptr_t)shared->text);
        free(shared->tape);
    }
    free(shared);
}

static void drop_doc(void *d)
{
    doc_unref(d);
}

struct doc *doc_hold(struct arena *a, struct doc *d)
{
    return d ? arena_hold(a, d, drop_doc) : NULL;
}

jval doc_root(const struct doc *d)
{
    return (jval){d, 0};
}

str doc_text(const struct doc *d)
{
    return d ? str_n(d->text, d->len) : STR_NONE;
}

size_t doc_memory(const struct doc *d)
{
    return d ? sizeof(*d) + d->len + TEXT_PAD + d->side_len + d->nodes * sizeof(uint64_t) : 0;
}

bool jmay_have_null(jval v)
{
    const uint64_t *at = v.doc->tape + v.at, *end = v.doc->tape + tape_next(v.doc->tape, v.at);
    /* What stands beside a container or an escaped string may look like one. */
    while (at < end)
        if (node_tag(*at++) == J_NULL)
            return true;
    return false;
}

/* ---- types and scalars ---- */

const uint8_t tape_types[16] = {J_ABSENT,
                                J_NULL,
                                J_FALSE,
                                J_TRUE,
                                J_INT,
                                J_REAL,
                                J_STRING,
                                [TAPE_ARRAY] = J_ARRAY,
                                [TAPE_OBJECT] = J_OBJECT,
                                [TAPE_ESC] = J_STRING};

str jtext(jval v)
{
    if (!v.doc)
        return STR_NONE;
    uint64_t node = v.doc->tape[v.at];
    const char *p = v.doc->text + node_off(node);
    switch (node_tag(node)) {
    case TAPE_OBJECT:
    case TAPE_ARRAY:
        return str_n(p, (size_t)(v.doc->tape[v.at + 1] >> 32));
    case J_STRING:
    case TAPE_ESC:
        return str_n(p - 1, node_len(node) + (size_t)2);
    default:
        return str_n(p, node_len(node));
    }
}

str jstr_slow(jval v)
{
    return node_tag(v.doc->tape[v.at]) == TAPE_ESC ? tape_str(v.doc, v.at) : STR_NONE;
}

bool jbool(jval v, bool otherwise)
{
    enum jtype t = jtype(v);
    return t == J_TRUE || (t != J_FALSE && otherwise);
}

bool jint_get(jval v, int64_t *ret)
{
    switch (jtype(v)) {
    case J_INT:
        if (str_to_int(jtext(v), ret))
            return true;
        return decimal_to_int(decimal_of(jtext(v)), ret);
    case J_REAL:
        return decimal_to_int(decimal_of(jtext(v)), ret);
    default:
        return false;
    }
}

int64_t jint(jval v, int64_t otherwise)
{
    int64_t i;
    return jint_get(v, &i) ? i : otherwise;
}

double jreal(jval v, double otherwise)
{
    enum jtype t = jtype(v);
    /* A number is always followed by something that is not part of one, if only the padding. */
    return t == J_INT || t == J_REAL ? strtod(jtext(v).p, NULL) : otherwise;
}

/* ---- navigation ---- */

static inline uint64_t load64(const char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint32_t load32(const char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

static inline uint16_t load16(const char *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof(v));
    return v;
}

/* memcmp() == 0 for up to 16 bytes, in words that may overlap. */
static inline bool short_equal(const char *a, const char *b, size_t n)
{
    if (n >= 8)
        return load64(a) == load64(b) && load64(a + n - 8) == load64(b + n - 8);
    if (n >= 4)
        return load32(a) == load32(b) && load32(a + n - 4) == load32(b + n - 4);
    if (n >= 2)
        return load16(a) == load16(b) && load16(a + n - 2) == load16(b + n - 2);
    return n == 0 || *a == *b;
}

/* memcmp() == 0 of more than 16 bytes: long keys, those of labels, begin alike or end alike, but
 * seldom both. */
static inline bool long_equal(const char *a, const char *b, size_t n)
{
    return load64(a + n - 8) == load64(b + n - 8) && load64(a) == load64(b) &&
           memcmp(a + 8, b + 8, n - 16) == 0;
}

/* jget() in objects that have escaped or dead keys. */
static __attribute__((noinline)) jval get_slow(jval object, str key)
{
    for (struct jiter it = jiter(object); jnext(&it);)
        if (it.key.len == key.len && (key.len > 16 ? long_equal(it.key.p, key.p, key.len)
                                                   : short_equal(it.key.p, key.p, key.len)))
            return it.value;
    return JVAL_ABSENT;
}

/* The member after this plain key. */
static inline const uint64_t *next_member(const uint64_t *tape, const uint64_t *t)
{
    uint64_t node = t[1];
    if (LIKELY(!(node & TAPE_ODD)))
        return t + 2;
    return UNLIKELY(node & TAPE_ESC_BIT) ? t + 3 : tape + (uint32_t)t[2];
}

/* jget() for keys of more than 16 bytes: labels and annotations, mostly. */
static __attribute__((noinline)) jval get_long(jval object, str key)
{
    const struct doc *d = object.doc;
    const uint64_t *tape = d->tape, *t = tape + object.at + 2;
    const uint64_t *end = tape + (uint32_t)t[-1];
    uint32_t plain = (uint32_t)node_make(J_STRING, key.len, 0);
    for (; t < end; t = next_member(tape, t)) {
        uint64_t node = *t;
        if ((uint32_t)node == plain) {
            if (long_equal(d->text + node_off(node), key.p, key.len))
                return (jval){d, (uint32_t)(t + 1 - tape)};
        } else if (UNLIKELY(node & TAPE_ODD)) {
            return get_slow(object, key);
        }
    }
    return JVAL_ABSENT;
}

/* The hottest function of all. A key is compared only when half its node, tag and length together,
 * is that of the one sought; nothing here needs a call, and so no register is saved. */
jval jget(jval object, str key)
{
    const struct doc *d = object.doc;
    if (!d || node_tag(d->tape[object.at]) != TAPE_OBJECT)
        return JVAL_ABSENT;
    if (key.len > 16)
        return get_long(object, key);
    const uint64_t *tape = d->tape, *t = tape + object.at + 2;
    const uint64_t *end = tape + (uint32_t)t[-1];
    uint32_t plain = (uint32_t)node_make(J_STRING, key.len, 0);
    for (; t < end; t = next_member(tape, t)) {
        uint64_t node = *t;
        if ((uint32_t)node == plain) {
            if (short_equal(d->text + node_off(node), key.p, key.len))
                return (jval){d, (uint32_t)(t + 1 - tape)};
        } else if (UNLIKELY(node & TAPE_ODD)) {
            return get_slow(object, key);
        }
    }
    return JVAL_ABSENT;
}

jval jpath(jval v, const char *path)
{
    str rest = str_of(path);
    while (rest.p && v.doc)
        v = jget(v, str_cut(&rest, '.'));
    return v;
}

jval jat(jval array, size_t i)
{
    if (jtype(array) != J_ARRAY || i >= jlen(array))
        return JVAL_ABSENT;
    uint32_t at = array.at + 2;
    while (i--)
        at = tape_next(array.doc->tape, at);
    return (jval){array.doc, at};
}

bool pointer_index(str token, size_t *ret)
{
    uint64_t i;
    if ((token.len > 1 && token.p[0] == '0') || !str_to_uint(token, &i))
        return false;
    *ret = (size_t)i;
    return true;
}

size_t pointer_unescape(str token, char *out)
{
    size_t n = 0;
    for (size_t i = 0; i < token.len; i++) {
        char c = token.p[i], next = i + 1 < token.len ? token.p[i + 1] : '\0';
        if (c == '~' && (next == '0' || next == '1')) {
            c = next == '0' ? '~' : '/';
            i++;
        }
        out[n++] = c;
    }
    return n;
}

static jval get_pointer_token(jval object, str token)
{
    if (str_find_char(token, '~') < 0)
        return jget(object, token);
    char *key = xmalloc(token.len);
    jval v = jget(object, str_n(key, pointer_unescape(token, key)));
    free(key);
    return v;
}

jval jpointer(jval v, str pointer)
{
    if (pointer.len == 0)
        return v;
    if (pointer.p[0] != '/')
        return JVAL_ABSENT;
    str rest = str_sub(pointer, 1, pointer.len);
    do {
        str token = str_cut(&rest, '/');
        size_t i;
        if (jtype(v) == J_ARRAY)
            v = pointer_index(token, &i) ? jat(v, i) : JVAL_ABSENT;
        else
            v = get_pointer_token(v, token);
    } while (rest.p && v.doc);
    return v;
}

bool jnext_slow(struct jiter *it)
{
    while (it->at < it->end) {
        const uint64_t *tape = it->doc->tape;
        uint32_t key = it->at, value = key + node_width(tape[key]);
        it->at = tape_next(tape, value);
        if (node_tag(tape[key]) >= TAPE_DEAD)
            continue;
        it->key = tape_str(it->doc, key);
        it->value = (jval){it->doc, value};
        it->index++;
        return true;
    }
    return false;
}

/* ---- paths for messages ---- */

static void add_step(struct strbuf *out, bool is_object, str key, size_t index)
{
    if (!is_object) {
        strbuf_printf(out, "[%zu]", index);
        return;
    }
    if (out->len)
        strbuf_add_char(out, '.');
    strbuf_add_str(out, key);
}

void doc_path_of(const struct doc *d, uint32_t target, struct strbuf *out)
{
    uint32_t at = 0;
    while (at < target && node_is_container(d->tape[at])) {
        bool is_object = node_tag(d->tape[at]) == TAPE_OBJECT;
        uint32_t end = (uint32_t)d->tape[at + 1], member = at + 2, value = member;
        size_t index = 0;
        for (; member < end; index++) {
            value = member + (is_object ? node_width(d->tape[member]) : 0);
            uint32_t next = tape_next(d->tape, value);
            if (target < next)
                break;
            member = next;
        }
        BUG_ON(member >= end);
        add_step(out, is_object, is_object ? tape_str(d, member) : STR_NONE, index);
        at = value;
    }
}

bool doc_duplicate_key(const struct doc *d, struct strbuf *ret_path)
{
    if (!d || d->dup == 0)
        return false;
    if (ret_path)
        doc_path_of(d, d->dup, ret_path);
    return true;
}
