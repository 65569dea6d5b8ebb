/*
 * From a request line to what is asked: kind, namespace, name, subresource, verb and options; and
 * how the answer should look. Pure parsing: nothing is looked up but tables.
 */
#ifndef APISERVER_ROUTE_H
#define APISERVER_ROUTE_H

#include "apiserver/front.h"

enum route_format { FORMAT_OBJECT, FORMAT_TABLE, FORMAT_PARTIAL };

struct route {
    const struct kind *kind;
    bool is_watch;
    enum route_format format;
    bool yaml; /* the answer as YAML */
    enum table_include include;
    struct api_request request; /* everything but body and done */
    struct api_watch watch;     /* when is_watch */
};

/* What a path names. */
enum route_result {
    ROUTE_RESOURCE, /* *ret is filled */
    ROUTE_NOT_API,  /* no path of an API group: plain 404 */
    ROUTE_FAILED,   /* *ret_status says why */
};

enum route_result route_parse(const struct http_exchange *x, struct arena *a, struct route *ret,
                              struct status **ret_status);
/* The request body as a document, by its content type. NULL with *ret_status on failure. */
struct doc *route_body(const struct http_exchange *x, const struct route *r, struct arena *a,
                       struct status **ret_status);
/* Reads DeleteOptions into the request. */
struct status *route_delete_options(struct route *r, jval options, struct arena *a);

#endif
