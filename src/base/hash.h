/* Hashes with fixed outputs: what is stored or shown. Tables in memory use str_hash (seeded). */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include "base/strbuf.h"

enum { SHA256_SIZE = 32 };

uint32_t hash_fnv1a32(str s);
uint64_t hash_fnv1a64(str s);
/* CRC-32C (Castagnoli); start with 0, pass the result on for the next piece. */
uint32_t hash_crc32c(uint32_t crc, str s);
void hash_sha256(str s, uint8_t ret[SHA256_SIZE]);
/* Lower-case hexadecimal. */
void hash_add_hex(struct strbuf *b, const void *p, size_t n);
/* Kubernetes' rand.SafeEncodeString: each byte becomes one of the 27 letters and digits that
 * cannot spell a word or be mistaken for another. */
void hash_add_safe(struct strbuf *b, str s);
/* One character of that alphabet, for suffixes drawn from a number. */
char hash_safe_char(uint64_t n);
enum { HASH_SAFE_CHARS = 27 };

#endif
