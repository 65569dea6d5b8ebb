/* UUIDs as text. The random bytes come from the caller (the loop owns randomness). */
#ifndef BASE_UUID_H
#define BASE_UUID_H

#include "base/str.h"

enum { UUID_SIZE = 16, UUID_TEXT_LEN = 36 };

/* Version 4, variant 1, lower case, NUL-terminated. */
void uuid_format_v4(const uint8_t random[UUID_SIZE], char ret[UUID_TEXT_LEN + 1]);
/* 8-4-4-4-12 hexadecimal digits of either case, any version. */
bool uuid_parse(str s, uint8_t ret[UUID_SIZE]);
bool uuid_is_valid(str s);

#endif
