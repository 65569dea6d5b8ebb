/*
 * From a request line to what is asked: kind, namespace, name, subresource, verb and options; and
 * how the answer should look. Pure parsing: nothing is looked up but tables, and whatever a client
 * sends ends in one of the results below.
 *
 *   route.c    path and method          options.c  query parameters and DeleteOptions
 *   media.c    Accept, Content-Type and the body
 */
#ifndef APISERVER_FRONT_ROUTE_H
#define APISERVER_FRONT_ROUTE_H

#include "apiserver/front/front.h"

enum route_format { FORMAT_OBJECT, FORMAT_TABLE, FORMAT_PARTIAL };

struct review;

struct route {
    const struct kind *kind;
    const struct review *review; /* instead of a kind: a question (review.h) */
    const char *verb;            /* as authorization names it, "watch" too; NULL: not known */
    bool is_watch;
    enum route_format format;
    bool yaml; /* the answer as YAML */
    enum table_include include;
    struct api_request *request; /* everything but body and done; in the arena */
    struct api_watch watch;      /* when is_watch */
};

/* What a path names. */
enum route_result {
    ROUTE_RESOURCE, /* *ret is filled */
    ROUTE_REVIEW,   /* a POST of ret->review in ret->request.ns */
    ROUTE_NOT_API,  /* no path of an API group: plain 404 */
    ROUTE_FAILED,   /* *ret_status says why; what is known so far is in *ret */
};

enum route_result route_parse(const struct http_exchange *x, struct arena *a, struct route *ret,
                              struct status **ret_status);
/* The request body as a document, by its content type. NULL with *ret_status on failure. */
struct doc *route_body(const struct http_exchange *x, const struct route *r, struct arena *a,
                       struct status **ret_status);
/* Reads DeleteOptions into the request; they take the place of those in the query. */
struct status *route_delete_options(struct route *r, jval options, struct arena *a);

/* ---- between the files of the parser ---- */

struct status *options_parse(struct route *r, const struct http_exchange *x, struct arena *a);
struct status *media_accept(struct route *r, str accept, struct arena *a);
struct status *media_patch_type(struct route *r, str content_type, struct arena *a);
/* "the server could not find the requested resource" */
struct status *route_no_such_resource(struct arena *a);

#endif
