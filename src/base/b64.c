/*
 * Three bytes become four characters. Both directions reserve room for the whole result first and
 * commit at the end, so a wrong text leaves the buffer as it was.
 */
#include "base/b64.h"

static const char std_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char url_alphabet[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void b64_encode(str in, unsigned flags, struct strbuf *b)
{
    const char *alphabet = flags & B64_URL ? url_alphabet : std_alphabet;
    const unsigned char *p = (const unsigned char *)in.p;
    /* Rounded up to whole groups; what is not padded is simply not committed. */
    char *out = strbuf_reserve(b, in.len / 3 * 4 + (in.len % 3 ? 4 : 0));
    size_t n = 0;
    if (!out)
        return;
    for (size_t i = 0; i < in.len; i += 3) {
        size_t left = MIN(in.len - i, (size_t)3);
        unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0u);
        for (size_t k = 0; k < 4; k++) {
            if (k <= left)
                out[n++] = alphabet[v >> (18 - 6 * k) & 63];
            else if (!(flags & B64_NO_PAD))
                out[n++] = '=';
        }
    }
    strbuf_commit(b, n);
}

/* Value of a character, or -1. */
static int b64_value(char c, unsigned flags)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == (flags & B64_URL ? '-' : '+'))
        return 62;
    return c == (flags & B64_URL ? '_' : '/') ? 63 : -1;
}

static bool is_skipped(char c, unsigned flags)
{
    return (flags & B64_NEWLINES) && (c == '\r' || c == '\n');
}

/* Only padding, as much as the last group of `chars` characters needs, may follow. */
static bool is_good_end(str rest, size_t chars, unsigned flags)
{
    size_t pads = 0;
    for (size_t i = 0; i < rest.len; i++) {
        if (is_skipped(rest.p[i], flags))
            continue;
        if (rest.p[i] != '=')
            return false;
        pads++;
    }
    size_t want = flags & B64_NO_PAD ? 0 : (4 - chars % 4) % 4;
    return chars % 4 != 1 && pads == want;
}

bool b64_decode(str in, unsigned flags, struct strbuf *b)
{
    unsigned char *out = (unsigned char *)strbuf_reserve(b, in.len / 4 * 3 + 3);
    unsigned acc = 0;
    size_t chars = 0, n = 0, i;
    if (!out)
        return false;
    for (i = 0; i < in.len && in.p[i] != '='; i++) {
        if (is_skipped(in.p[i], flags))
            continue;
        int v = b64_value(in.p[i], flags);
        if (v < 0)
            return false;
        acc = acc << 6 | (unsigned)v;
        chars++;
        if (chars % 4 == 1)
            continue;
        unsigned spare = 6 - 2 * (unsigned)((chars - 1) % 4); /* bits left for the next byte */
        out[n++] = (unsigned char)(acc >> spare);
        acc &= (1u << spare) - 1;
    }
    if (!is_good_end(str_sub(in, i, in.len), chars, flags) || acc != 0)
        return false;
    strbuf_commit(b, n);
    return true;
}
