/* Long lists, compressed as they are made; see squeeze.h. */
#include <zlib.h>

#include "apiserver/front/squeeze.h"

enum { LEVEL = 1, WINDOW_BITS = 15 + 16 /* gzip */, MEMORY_LEVEL = 8 };
enum { MAX_AT_ONCE = 32, OUT_PIECE = 16 << 10 };
/* A step may be one object more than SQUEEZE_STEP, and does not grow by being compressed. */
#define OUT_MAX ((size_t)64 << 20)

struct squeeze {
    z_stream z;
    size_t *n_open; /* the server's */
};

struct squeeze *squeeze_new(size_t *n_open)
{
    if (*n_open >= MAX_AT_ONCE)
        return NULL;
    struct squeeze *s = xnew(struct squeeze);
    BUG_ON(deflateInit2(&s->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) !=
           Z_OK);
    s->n_open = n_open;
    ++*n_open;
    return s;
}

void squeeze_free(struct squeeze *s)
{
    if (!s)
        return;
    --*s->n_open;
    (void)deflateEnd(&s->z);
    free(s);
}

static void deflate_text(struct squeeze *s, str text, int flush, struct strbuf *out)
{
    z_stream *z = &s->z;
    int r;
    z->next_in = (Bytef *)(uintptr_t)text.p;
    z->avail_in = (uInt)text.len;
    do {
        z->next_out = (Bytef *)strbuf_reserve(out, OUT_PIECE);
        BUG_ON(!z->next_out);
        z->avail_out = OUT_PIECE;
        r = deflate(z, flush);
        BUG_ON(r == Z_STREAM_ERROR);
        strbuf_commit(out, OUT_PIECE - z->avail_out);
    } while (z->avail_in || !z->avail_out || (flush == Z_FINISH && r != Z_STREAM_END));
}

struct http_slice squeeze_add(struct squeeze *s, const struct http_slice *slices, size_t n,
                              bool last)
{
    struct strbuf out = STRBUF_INIT(OUT_MAX);
    size_t len;
    for (size_t i = 0; i < n; i++) {
        if (slices[i].data.len)
            deflate_text(s, slices[i].data, Z_NO_FLUSH, &out);
        if (slices[i].owner && slices[i].drop)
            slices[i].drop(slices[i].owner);
    }
    if (last)
        deflate_text(s, STR_NONE, Z_FINISH, &out);
    char *text = strbuf_detach(&out, &len);
    return (struct http_slice){str_n(text, len), text, free};
}
