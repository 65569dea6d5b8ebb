/*
 * Records: one version of one object as bytes.
 *
 *    0  version of the record, 1
 *    1  operation: 1 put, 2 delete
 *    2  0, 0
 *    4  length of the key, 4 bytes big-endian
 *    8  key: storage, NUL, namespace, NUL, name
 *       document: JSON text as on the wire (of a delete: the last state, or nothing)
 *       XXH3 (64 bits, big-endian) of all bytes before
 */
#include "base/xxh.h"
#include "store/internal.h"

#define RECORD_VERSION 1
#define RECORD_HEAD 8
#define RECORD_SUM 8

enum { OP_PUT = 1, OP_DELETE = 2 };

void put_be(void *to, uint64_t v, size_t n)
{
    uint8_t *p = to;
    for (size_t i = n; i-- > 0; v >>= 8)
        p[i] = (uint8_t)v;
}

uint64_t get_be(const void *from, size_t n)
{
    const uint8_t *p = from;
    uint64_t v = 0;
    for (size_t i = 0; i < n; i++)
        v = v << 8 | p[i];
    return v;
}

static size_t record_key_len(const struct record *r)
{
    return r->storage.len + 1 + r->ns.len + 1 + r->name.len;
}

size_t record_len(const struct record *r)
{
    return RECORD_HEAD + record_key_len(r) + r->doc.len + RECORD_SUM;
}

static uint8_t *put_str(uint8_t *p, str s)
{
    if (s.len)
        memcpy(p, s.p, s.len);
    return p + s.len;
}

void record_encode(const struct record *r, uint8_t *p)
{
    uint8_t *at = p + RECORD_HEAD;
    p[0] = RECORD_VERSION;
    p[1] = r->delete ? OP_DELETE : OP_PUT;
    p[2] = p[3] = 0;
    put_be(p + 4, record_key_len(r), 4);
    at = put_str(at, r->storage);
    *at++ = 0;
    at = put_str(at, r->ns);
    *at++ = 0;
    at = put_str(at, r->name);
    at = put_str(at, r->doc);
    put_be(at, XXH3_64bits(p, (size_t)(at - p)), RECORD_SUM);
}

static int record_split_key(struct record *r, struct err *err)
{
    str rest = r->key;
    r->storage = str_cut(&rest, '\0');
    bool has_ns = rest.p != NULL;
    r->ns = str_cut(&rest, '\0');
    r->name = rest;
    if (!has_ns || !rest.p || str_is_empty(r->storage) || str_find_char(rest, '\0') >= 0)
        return err_set(err, ERR_INVALID, "its key is malformed");
    return 0;
}

int record_decode(str key, str value, bool whole, struct record *ret, struct err *err)
{
    const uint8_t *p = (const uint8_t *)value.p;
    size_t len = value.len;
    *ret = (struct record){0};
    if (key.len != 8)
        return err_set(err, ERR_INVALID, "a revision has %zu bytes instead of 8", key.len);
    ret->revision = get_be(key.p, 8);
    if (len < RECORD_HEAD + RECORD_SUM)
        return err_set(err, ERR_INVALID, "it is too short");
    if (p[0] != RECORD_VERSION)
        return err_set(err, ERR_UNSUPPORTED, "its version %u is not known", p[0]);
    if (p[1] != OP_PUT && p[1] != OP_DELETE)
        return err_set(err, ERR_INVALID, "its operation %u is not known", p[1]);
    size_t body = len - RECORD_HEAD - RECORD_SUM, key_len = get_be(p + 4, 4);
    if (key_len > body)
        return err_set(err, ERR_INVALID, "its key is longer than the record");
    if (whole && XXH3_64bits(p, len - RECORD_SUM) != get_be(p + len - RECORD_SUM, RECORD_SUM))
        return err_set(err, ERR_INVALID, "its checksum is wrong");
    ret->delete = p[1] == OP_DELETE;
    ret->key = str_n((const char *)p + RECORD_HEAD, key_len);
    ret->doc = str_n(ret->key.p + key_len, body - key_len);
    return record_split_key(ret, err);
}
