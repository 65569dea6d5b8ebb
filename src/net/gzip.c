/* Compression of replies in steps; see gzip.h. */
#include <zlib.h>

#include "net/gzip.h"
#include "net/outq.h"

/* STEP bytes take about 2 ms. The output of one step is at most a little more than its input. */
enum { STEP = 256 << 10, PIECES = 256, OUT_PIECE = 16 << 10, OUT_MAX = 2 * STEP };
enum { LEVEL = 1, WINDOW_BITS = 15 + 16 /* gzip */, MEMORY_LEVEL = 8 };

struct gzip_job {
    struct list link;
    struct exchange *e;
    struct outq in;
    z_stream z;
};

/* ---- which replies ---- */

/* "gzip", "gzip;q=0.5", but not "gzip;q=0". */
bool http_accepts_gzip(const struct http_exchange *x)
{
    str accepted = http_header_get(x, STR("accept-encoding"));
    while (accepted.p && !str_is(x->method, "HEAD")) {
        str parameters = str_trim(str_cut(&accepted, ','));
        str coding = str_trim(str_cut(&parameters, ';'));
        if (!str_is(coding, "gzip"))
            continue;
        str weight = str_trim(parameters);
        if (!str_starts(weight, STR("q=")))
            return true;
        for (size_t i = 2; i < weight.len; i++)
            if (weight.p[i] >= '1' && weight.p[i] <= '9')
                return true;
        return false;
    }
    return false;
}

bool gzip_suits(const struct exchange *e, const struct http_header *headers, size_t n,
                uint64_t length)
{
    return e->gzip_pool && length >= GZIP_MIN && e->gzip_pool->n_jobs < GZIP_MAX_JOBS &&
           http_accepts_gzip(&e->x) && !http_header_find(headers, n, STR("content-encoding")).p;
}

/* ---- steps ---- */

/* Compresses what is in z.next_in; with Z_FINISH to the end. */
static void deflate_all(struct gzip_job *job, struct strbuf *out, int flush)
{
    z_stream *z = &job->z;
    int r;
    do {
        z->next_out = (Bytef *)strbuf_reserve(out, OUT_PIECE);
        BUG_ON(!z->next_out);
        z->avail_out = OUT_PIECE;
        r = deflate(z, flush);
        BUG_ON(r == Z_STREAM_ERROR);
        strbuf_commit(out, OUT_PIECE - z->avail_out);
    } while (z->avail_in || !z->avail_out || (flush == Z_FINISH && r != Z_STREAM_END));
}

/* A piece of the input; true when that was the last. */
static bool compress_step(struct gzip_job *job, struct strbuf *out)
{
    struct iovec iov[PIECES];
    int n = outq_peek(&job->in, iov, PIECES, STEP);
    size_t left = STEP, used = 0;
    for (int i = 0; i < n && left; i++) {
        size_t len = MIN(iov[i].iov_len, left);
        job->z.next_in = iov[i].iov_base;
        job->z.avail_in = (uInt)len;
        deflate_all(job, out, Z_NO_FLUSH);
        used += len;
        left -= len;
    }
    outq_consume(&job->in, used);
    if (job->in.bytes)
        return false;
    job->z.avail_in = 0;
    deflate_all(job, out, Z_FINISH);
    return true;
}

static void step(struct gzip_pool *p, struct gzip_job *job)
{
    struct exchange *e = job->e;
    struct strbuf out = STRBUF_INIT(OUT_MAX);
    bool is_last = compress_step(job, &out);
    size_t len;
    char *text = strbuf_detach(&out, &len);
    if (is_last)
        gzip_cancel(e);
    e->ops->data(e, &(struct http_slice){str_n(text, len), text, free}, 1);
    if (is_last)
        e->ops->end(e);
    else if (!e->is_dead && e->ops->pending(e) < p->low_water)
        list_push_back(&p->jobs, &job->link);
}

static void on_task(struct loop_task *t)
{
    struct gzip_pool *p = container_of(t, struct gzip_pool, task);
    struct list *first = list_pop_front(&p->jobs);
    if (first)
        step(p, list_entry(first, struct gzip_job, link));
    if (!list_is_empty(&p->jobs))
        loop_defer(p->loop, LOOP_PUBLISH, &p->task);
}

/* ---- jobs ---- */

void gzip_start(struct exchange *e, const struct http_slice *slices, size_t n)
{
    struct gzip_job *job = e->gzip = xnew(struct gzip_job);
    job->e = e;
    for (size_t i = 0; i < n; i++)
        outq_add(&job->in, &slices[i]);
    BUG_ON(deflateInit2(&job->z, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
                        Z_DEFAULT_STRATEGY) != Z_OK);
    e->gzip_pool->n_jobs++;
    list_init(&job->link);
    gzip_resume(e);
}

void gzip_resume(struct exchange *e)
{
    struct gzip_pool *p = e->gzip_pool;
    if (list_is_linked(&e->gzip->link))
        return;
    list_push_back(&p->jobs, &e->gzip->link);
    loop_defer(p->loop, LOOP_PUBLISH, &p->task);
}

void gzip_cancel(struct exchange *e)
{
    struct gzip_job *job = TAKE_PTR(e->gzip);
    if (!job)
        return;
    e->gzip_pool->n_jobs--;
    list_remove(&job->link);
    (void)deflateEnd(&job->z);
    outq_done(&job->in);
    free(job);
}

void gzip_pool_init(struct gzip_pool *p, struct loop *l, size_t low_water)
{
    *p = (struct gzip_pool){.loop = l, .low_water = low_water};
    loop_task_init(&p->task, on_task);
    list_init(&p->jobs);
}

void gzip_pool_done(struct gzip_pool *p)
{
    loop_task_cancel(&p->task);
}
