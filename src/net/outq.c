/* The write queue; see outq.h. Entries are a vector with a moving front: the written part is closed
 * up when it is at least half, and an idle connection keeps no memory. */
#include "net/outq.h"
#include "net/exchange.h"

enum { KEEP_ENTRIES = 16 };

static struct outq_entry *push(struct outq *q, size_t len)
{
    struct outq_entry *e = vec_push(&q->entries);
    *e = (struct outq_entry){.len = len};
    q->bytes += len;
    return e;
}

void outq_add_copy(struct outq *q, str s)
{
    if (!s.len)
        return;
    struct outq_entry *last = q->entries.len > q->first ? vec_last(&q->entries) : NULL;
    if (last && last->is_small && s.len <= OUTQ_SMALL - last->len) {
        memcpy(last->small + last->len, s.p, s.len);
        last->len += s.len;
        q->bytes += s.len;
        return;
    }
    struct outq_entry *e = push(q, s.len);
    if (s.len <= OUTQ_SMALL) {
        e->is_small = true;
        memcpy(e->small, s.p, s.len);
        return;
    }
    char *copy = xmalloc(s.len);
    memcpy(copy, s.p, s.len);
    e->p = e->owner = copy;
    e->drop = free;
}

void outq_add(struct outq *q, const struct http_slice *slice)
{
    if (!slice->owner) {
        outq_add_copy(q, slice->data);
    } else if (!slice->data.len) {
        http_slice_drop(slice);
    } else {
        struct outq_entry *e = push(q, slice->data.len);
        e->p = slice->data.p;
        e->owner = slice->owner;
        e->drop = slice->drop;
    }
}

void outq_add_strbuf(struct outq *q, struct strbuf *b)
{
    size_t len;
    char *p = strbuf_detach(b, &len);
    outq_add(q, &(struct http_slice){.data = str_n(p, len), .owner = p, .drop = free});
}

int outq_peek(const struct outq *q, struct iovec *iov, int max, size_t want)
{
    int n = 0;
    size_t skip = q->sent;
    for (size_t i = q->first; i < q->entries.len && n < max && want; i++, n++) {
        const struct outq_entry *e = &q->entries.p[i];
        const char *p = e->is_small ? e->small : e->p;
        iov[n] = (struct iovec){(char *)p + skip, e->len - skip};
        want -= MIN(want, e->len - skip);
        skip = 0;
    }
    return n;
}

static void drop_first(struct outq *q)
{
    struct outq_entry *e = &q->entries.p[q->first++];
    if (!e->is_small && e->owner && e->drop)
        e->drop(e->owner);
    q->sent = 0;
}

/* Entries without bytes hold an owner for the pieces before them. */
static void drop_empty(struct outq *q)
{
    while (q->first < q->entries.len && !q->entries.p[q->first].len)
        drop_first(q);
}

static void close_up(struct outq *q)
{
    if (q->first == q->entries.len) {
        vec_clear(&q->entries);
        q->first = 0;
        if (q->entries.cap > KEEP_ENTRIES)
            vec_done(&q->entries);
    } else if (q->first * 2 >= q->entries.len) {
        size_t rest = q->entries.len - q->first;
        memmove(q->entries.p, q->entries.p + q->first, rest * sizeof(*q->entries.p));
        q->entries.len = rest;
        q->first = 0;
    }
}

void outq_consume(struct outq *q, size_t n)
{
    BUG_ON(n > q->bytes);
    q->bytes -= n;
    while (n) {
        size_t left = q->entries.p[q->first].len - q->sent;
        if (n < left) {
            q->sent += n;
            break;
        }
        n -= left;
        drop_first(q);
    }
    drop_empty(q);
    close_up(q);
}

static void push_piece(struct outq *q, const struct outq_entry *e, size_t at, size_t len,
                       bool is_last)
{
    if (e->is_small) {
        outq_add_copy(q, str_n(e->small + at, len));
        return;
    }
    struct outq_entry *piece = push(q, len);
    piece->p = e->p + at;
    piece->owner = e->owner;
    piece->drop = is_last ? e->drop : NULL;
}

void outq_move(struct outq *from, struct outq *to, size_t n)
{
    BUG_ON(n > from->bytes);
    from->bytes -= n;
    while (n) {
        const struct outq_entry *e = &from->entries.p[from->first];
        size_t len = MIN(n, e->len - from->sent);
        bool is_last = from->sent + len == e->len;
        push_piece(to, e, from->sent, len, is_last);
        n -= len;
        from->sent += len;
        if (is_last) {
            from->first++;
            from->sent = 0;
        }
    }
    close_up(from);
}

void outq_abandon(struct outq *from, struct outq *to)
{
    if (from->sent && to->entries.len > to->first) {
        const struct outq_entry *e = &from->entries.p[from->first++];
        from->sent = 0;
        if (!e->is_small)
            push_piece(to, e, 0, 0, true);
    }
    outq_clear(from);
}

void outq_clear(struct outq *q)
{
    while (q->first < q->entries.len)
        drop_first(q);
    q->bytes = 0;
    close_up(q);
}

void outq_done(struct outq *q)
{
    outq_clear(q);
    vec_done(&q->entries);
}
