/* Published algorithms; the tests hold their published check values. */
#include "base/hash.h"

#include <openssl/evp.h>

uint32_t hash_fnv1a32(str s)
{
    uint32_t h = 2166136261u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.p[i]) * 16777619u;
    return h;
}

uint64_t hash_fnv1a64(str s)
{
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < s.len; i++)
        h = (h ^ (unsigned char)s.p[i]) * 1099511628211u;
    return h;
}

uint32_t hash_crc32c(uint32_t crc, str s)
{
    /* Remainders of the reflected polynomial 0x82f63b78, four bits at a time. */
    static const uint32_t table[16] = {
        0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3,
        0x61c69362, 0x7198540d, 0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9,
        0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
    };
    crc = ~crc;
    for (size_t i = 0; i < s.len; i++) {
        crc ^= (unsigned char)s.p[i];
        crc = crc >> 4 ^ table[crc & 15];
        crc = crc >> 4 ^ table[crc & 15];
    }
    return ~crc;
}

void hash_sha256(str s, uint8_t ret[SHA256_SIZE])
{
    unsigned len = 0;
    if (EVP_Digest(s.p ? s.p : "", s.len, ret, &len, EVP_sha256(), NULL) != 1 || len != SHA256_SIZE)
        BUG("SHA-256 is not available");
}

void hash_add_hex(struct strbuf *b, const void *p, size_t n)
{
    const unsigned char *bytes = p;
    char *out = strbuf_reserve(b, n * 2);
    if (!out)
        return;
    for (size_t i = 0; i < n; i++) {
        out[i * 2] = "0123456789abcdef"[bytes[i] >> 4];
        out[i * 2 + 1] = "0123456789abcdef"[bytes[i] & 15];
    }
    strbuf_commit(b, n * 2);
}

char hash_safe_char(uint64_t n)
{
    return "bcdfghjklmnpqrstvwxz2456789"[n % HASH_SAFE_CHARS];
}

void hash_add_safe(struct strbuf *b, str s)
{
    char *out = strbuf_reserve(b, s.len);
    if (!out)
        return;
    for (size_t i = 0; i < s.len; i++)
        out[i] = hash_safe_char((unsigned char)s.p[i]);
    strbuf_commit(b, s.len);
}
