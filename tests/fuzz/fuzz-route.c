/*
 * Requests from any bytes: the first line is method and target, then header lines up to an empty
 * one, the rest is the body. Whatever it is, it names a resource, a review, nothing, or is refused
 * with a Status that has a code and a message; and so is its body.
 */
#include "apiserver/access/review.h"
#include "apiserver/front/route.h"
#include "fuzz.h"
#include "grove/types.h"

enum { MAX_HEADERS = 16 };

static str cut_line(str *rest)
{
    str line = str_cut(rest, '\n');
    return line.len && line.p[line.len - 1] == '\r' ? str_sub(line, 0, line.len - 1) : line;
}

static void check_status(const struct status *s)
{
    BUG_ON(!s || s->code < 400 || s->code > 599 || !s->message.len);
    struct doc *d = status_doc(s);
    BUG_ON(!d);
    doc_unref(d);
}

static void check_route(const struct route *r)
{
    BUG_ON(!r->kind || !r->verb || r->request->kind != r->kind);
    BUG_ON(r->is_watch && (r->watch.kind != r->kind || r->watch.timeout < 0));
    BUG_ON(kind_is(r->kind, KIND_NAMESPACED) && r->request->name.len && !r->request->ns.len);
}

static void read_body(const struct http_exchange *x, struct route *r, struct arena *a)
{
    struct status *why = NULL;
    struct doc *d = route_body(x, r, a, &why);
    if (!d) {
        check_status(why);
        return;
    }
    why = route_delete_options(r, doc_root(d), a);
    if (why)
        check_status(why);
    doc_unref(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str rest = str_n((const char *)data, size), line = cut_line(&rest);
    struct http_header headers[MAX_HEADERS];
    struct http_peer peer = {0};
    struct http_exchange x = {.method = str_cut(&line, ' '), .headers = headers, .peer = &peer};
    struct arena a;
    struct route r;
    struct status *why = NULL;

    grove_kinds_init();
    x.query = line;
    x.path = str_cut(&x.query, '?');
    for (str h = cut_line(&rest); h.len; h = cut_line(&rest)) {
        str value = h, name = str_cut(&value, ':');
        if (x.n_headers < MAX_HEADERS)
            headers[x.n_headers++] = (struct http_header){name, str_trim(value)};
    }
    x.body = rest;
    arena_init(&a);
    switch (route_parse(&x, &a, &r, &why)) {
    case ROUTE_RESOURCE:
        check_route(&r);
        read_body(&x, &r, &a);
        break;
    case ROUTE_REVIEW:
        BUG_ON(!r.review);
        read_body(&x, &r, &a);
        break;
    case ROUTE_FAILED:
        check_status(why);
        break;
    case ROUTE_NOT_API:
        break;
    }
    arena_done(&a);
    return 0;
}
