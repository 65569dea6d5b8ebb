/*
 * xxHash, inlined: only the header is used, so nothing has to be linked. Kept in one place because
 * the header needs its switch before it and does not compile cleanly at our warning level.
 */
#ifndef BASE_XXH_H
#define BASE_XXH_H

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wsign-conversion"
#pragma GCC diagnostic ignored "-Wshadow"
#define XXH_INLINE_ALL
#include <xxhash.h>
#pragma GCC diagnostic pop

#endif
