/*
 * doc: an immutable, reference-counted JSON document: its text, byte for byte as it came, and a
 * flat index over it (the tape). Parse once, share everywhere: store, watch cache, informers,
 * scheduler and a response in flight all hold the same document. The count is atomic; documents
 * are the only thing that crosses threads.
 *
 * jval: a value inside a document, by value (16 bytes). It does not hold a reference: whoever keeps
 * a jval or a slice from it keeps the document. A jval may be absent; every reader accepts that and
 * answers "absent", so that jget(jget(v, "spec"), "replicas") needs no checks between.
 * Absent, null, 0 and false are four different things.
 *
 * Tape: 8-byte nodes in document order.
 *   scalar         tag:4 len:28 offset:32           span of the source text (numbers keep theirs)
 *   string         as scalar, without the quotes;   a key is a string node before its value
 *   escaped string two nodes: the raw span, then offset:32 len:32 of the unescaped bytes, which
 *                  live behind the text
 *   object, array  two nodes: tag:4 count:28 offset:32, then end:32 (index after the last
 *                  descendant) textlen:32
 * Limits: text below 256 MiB, depth and size by json_limits.
 */
#ifndef JSON_DOC_H
#define JSON_DOC_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"
#include "base/strbuf.h"

struct doc;

typedef struct jval {
    const struct doc *doc; /* NULL: absent */
    uint32_t at;           /* tape index */
} jval;

#define JVAL_ABSENT ((jval){NULL, 0})

enum jtype { J_ABSENT, J_NULL, J_FALSE, J_TRUE, J_INT, J_REAL, J_STRING, J_ARRAY, J_OBJECT };

struct json_limits {
    size_t max_bytes;          /* 0: 64 MiB */
    size_t max_depth;          /* 0: 256; at most 4096 */
    bool allow_duplicate_keys; /* the last one wins for readers; the text keeps both */
};

/* ---- life cycle ---- */

/* Copies the text. Errors name what is wrong and the byte offset. limits may be NULL. */
struct doc *doc_parse(str text, const struct json_limits *limits, struct err *err);
/* As doc_parse, taking over a malloc'ed buffer (freed on error too). */
struct doc *doc_parse_owned(char *text, size_t len, const struct json_limits *limits,
                            struct err *err);
struct doc *doc_ref(const struct doc *d);
/* Accepts NULL. */
void doc_unref(const struct doc *d);
DEFINE_CLEANUP(struct doc *, doc_unref)
/* Gives the caller's reference to the arena, which drops it when it is cleared. Returns d; accepts
 * NULL, so that doc_hold(a, doc_parse(...)) is one line. */
struct doc *doc_hold(struct arena *a, struct doc *d);

jval doc_root(const struct doc *d);
/* The whole text; valid while referenced. */
str doc_text(const struct doc *d);
/* Bytes of heap this document takes. */
size_t doc_memory(const struct doc *d);
/* False: there is no null in it. */
static inline bool doc_may_have_null(const struct doc *d);
/* The same of a list or an object in it. */
bool jmay_have_null(jval v);
/* Path of the first duplicate key ("spec.replicas"), when parsed with allow_duplicate_keys. */
bool doc_duplicate_key(const struct doc *d, struct strbuf *ret_path);

/* ---- reading ---- */

static inline enum jtype jtype(jval v);
static inline bool j_is_absent(jval v)
{
    return v.doc == NULL;
}
static inline bool j_is_null(jval v);
/* Neither absent nor null. */
static inline bool j_has(jval v);
/* Source bytes of the value, quotes included. */
str jtext(jval v);
/* Unescaped string; STR_NONE for any other type. */
static inline str jstr(jval v);
/* Value or the fallback when the type does not fit. Integers written as 2.0 or 1e3 count. */
bool jbool(jval v, bool otherwise);
int64_t jint(jval v, int64_t otherwise);
/* False when not a number that fits int64 exactly. */
bool jint_get(jval v, int64_t *ret);
double jreal(jval v, double otherwise);
/* An array or an object. */
static inline bool j_is_container(jval v);
/* Elements of an array or members of an object; 0 otherwise. */
static inline size_t jlen(jval v);
static inline bool j_is_true(jval v);

/* Member of an object; absent otherwise. */
jval jget(jval object, str key);
#define jgetc(v, lit) jget((v), STR(lit))
/* Nested members: jpath(v, "spec.template.cliques"); keys without dots or indices only. */
jval jpath(jval v, const char *path);
/* i-th element; O(i). */
jval jat(jval array, size_t i);
/* RFC 6901 pointer. */
jval jpointer(jval v, str pointer);

/* for (struct jiter it = jiter(v); jnext(&it);) it.key (objects), it.value */
struct jiter {
    const struct doc *doc;
    uint32_t at, end;
    bool is_object;
    str key;
    jval value;
    size_t index;
};
static inline struct jiter jiter(jval v);
static inline bool jnext(struct jiter *it);

/* Members in bytewise order of their keys; free() it. NULL when there are none. */
struct jmember {
    str key;
    jval value;
};
struct jmember *jmembers_sorted(jval object, size_t *ret_n);

/* Members that are asked for one after the other, as when two objects are compared: in step while
 * they come in the same order, else in a sorted copy, so that the cost stays near the size. */
struct jlookup {
    jval object;
    struct jiter next;
    bool in_step;
    struct jmember *sorted; /* NULL: not needed so far */
    size_t n;
};
struct jlookup jlookup(jval object);
jval jlookup_get(struct jlookup *l, str key);
void jlookup_done(struct jlookup *l);

/* Same JSON value: members in any order, numbers by value, escapes resolved. */
bool jequal(jval a, jval b);
/* Canonical form for hashing: sorted keys, no spaces, minimal escapes, canonical numbers. With
 * drop_empty also leaves out members that are null, an empty object or an empty array (as if
 * absent); elements of arrays stay. */
void jcanonical(jval v, bool drop_empty, struct strbuf *out);

/* ---- the inside: here so that the readers below can be inlined; nobody else looks at it ---- */

/* The tag of a node is its enum jtype up to J_STRING. All others have the bit TAPE_ODD set, so that
 * a member whose key and value are both plain is passed over by one test:
 *   TAPE_ARRAY, TAPE_OBJECT
 *   TAPE_ESC       a string whose text contains escapes: the next node says where the unescaped
 *                  bytes are
 *   TAPE_DEAD,     a key that a later one of the same object repeats (only with
 *   TAPE_DEAD_ESC  allow_duplicate_keys): it never matches and iteration passes over it */
enum tape_tag {
    TAPE_ESC_BIT = 2,
    TAPE_ODD = 8,
    TAPE_ARRAY = TAPE_ODD,
    TAPE_OBJECT = TAPE_ODD + 1,
    TAPE_ESC = TAPE_ODD + TAPE_ESC_BIT,
    TAPE_DEAD = TAPE_ODD + 4,
    TAPE_DEAD_ESC = TAPE_DEAD + TAPE_ESC_BIT,
};
_Static_assert((int)J_STRING < (int)TAPE_ODD, "plain tags have the bit clear");

struct doc {
    _Atomic uint32_t refs;
    uint32_t len;      /* bytes of text */
    uint32_t nodes;    /* of the tape */
    uint32_t side_len; /* bytes of unescaped strings */
    uint32_t dup;      /* tape index of the first repeated key; 0: none */
    uint32_t depth;    /* levels of containers */
    bool null;         /* one of the documents it was made of has a null */
    const char *text;  /* in room[], as all three; text and tape of large documents are not */
    const char *side;
    uint64_t *tape;
    _Alignas(uint64_t) char room[];
};

static inline bool doc_may_have_null(const struct doc *d)
{
    return d->null;
}

static inline unsigned node_tag(uint64_t node)
{
    return (unsigned)(node & 15);
}

static inline uint32_t node_len(uint64_t node)
{
    return (uint32_t)node >> 4;
}

static inline uint32_t node_off(uint64_t node)
{
    return (uint32_t)(node >> 32);
}

static inline bool node_is_container(uint64_t node)
{
    return (node & 14) == TAPE_ARRAY;
}

/* Nodes of a key or scalar: two for the escaped tags, else one. */
static inline uint32_t node_width(uint64_t node)
{
    unsigned tag = node_tag(node);
    return 1 + (tag >> 3 & tag >> 1 & 1);
}

/* Index after the value at `at`. */
static inline uint32_t tape_next(const uint64_t *tape, uint32_t at)
{
    uint64_t node = tape[at];
    if (LIKELY(!(node & TAPE_ODD)))
        return at + 1;
    return node_is_container(node) ? (uint32_t)tape[at + 1] : at + node_width(node);
}

/* Type of a value by its tag. */
extern const uint8_t tape_types[16];

static inline enum jtype jtype(jval v)
{
    return v.doc ? (enum jtype)tape_types[node_tag(v.doc->tape[v.at])] : J_ABSENT;
}

static inline bool j_is_null(jval v)
{
    return v.doc && node_tag(v.doc->tape[v.at]) == J_NULL;
}

static inline bool j_has(jval v)
{
    return v.doc && node_tag(v.doc->tape[v.at]) != J_NULL;
}

static inline bool j_is_true(jval v)
{
    return v.doc && node_tag(v.doc->tape[v.at]) == J_TRUE;
}

static inline bool j_is_container(jval v)
{
    return v.doc && node_is_container(v.doc->tape[v.at]);
}

static inline size_t jlen(jval v)
{
    if (!v.doc)
        return 0;
    uint64_t node = v.doc->tape[v.at];
    return node_is_container(node) ? node_len(node) : 0;
}

/* jstr() of what is no plain string. */
str jstr_slow(jval v);

static inline str jstr(jval v)
{
    if (!v.doc)
        return STR_NONE;
    uint64_t node = v.doc->tape[v.at];
    if (LIKELY(node_tag(node) == J_STRING))
        return str_n(v.doc->text + node_off(node), node_len(node));
    return jstr_slow(v);
}

static inline struct jiter jiter(jval v)
{
    struct jiter it = {.index = SIZE_MAX};
    if (!v.doc)
        return it;
    uint64_t node = v.doc->tape[v.at];
    if (!node_is_container(node))
        return it;
    it.doc = v.doc;
    it.at = v.at + 2;
    it.end = (uint32_t)v.doc->tape[v.at + 1];
    it.is_object = node_tag(node) == TAPE_OBJECT;
    return it;
}

/* jnext() for members whose key is escaped or dead. */
bool jnext_slow(struct jiter *it);

static inline bool jnext(struct jiter *it)
{
    uint32_t at = it->at;
    if (at >= it->end)
        return false;
    const struct doc *d = it->doc;
    if (it->is_object) {
        uint64_t key = d->tape[at];
        if (UNLIKELY(key & TAPE_ODD))
            return jnext_slow(it);
        it->key = str_n(d->text + node_off(key), node_len(key));
        at++;
    }
    it->value = (jval){d, at};
    it->index++;
    it->at = tape_next(d->tape, at);
    return true;
}

#endif
