/*
 * The HTTP face of the server: paths to requests, bodies to documents (JSON, YAML, protobuf),
 * replies to bytes (objects, lists, tables, partial metadata, watch streams), discovery, OpenAPI,
 * health, version. Everything that is only about how it looks on the wire lives here.
 */
#ifndef APISERVER_FRONT_FRONT_H
#define APISERVER_FRONT_FRONT_H

#include "apiserver/server.h"
#include "net/http.h"
#include "net/tls.h"

struct front;

/* What clients may have open. A member that is 0 has its default. Users in system:masters and
 * questions about the server's health are not limited, except by the number of connections. */
struct front_limits {
    size_t connections;      /* of all, 10,000 */
    size_t user_connections; /* of one user, a quarter of all */
    size_t user_requests;    /* of one user: waiting, being served, being sent. 1,000 */
    size_t user_watches;     /* of one user, 2,000 */
    size_t memory;           /* what requests, answers and watches hold, all together. 1 GiB */
    usec request_timeout;    /* until an answer begins, watches apart. 60 s */
};

struct front_options {
    const char *listen;
    struct tls_server *tls;
    str admin_token; /* accepted as bearer token of user admin, group system:masters */
    const struct journal *journal; /* of decisions, for /debug/journal; NULL: none is kept */
    str sa_key; /* PEM of token_key_make(): signs service account tokens. Empty: one that is
                   gone with the process, and its tokens with it */
    struct front_limits limits;
};

struct front *front_new(struct apiserver *a, const struct front_options *o, struct err *err);
const char *front_address(const struct front *f);
/* What is shown to the servers of nodes, and what theirs are checked with; see kubelet.h. */
int front_set_kubelet_client(struct front *f, str ca_pem, str cert_pem, str key_pem,
                             struct err *err);
void front_set_ready(struct front *f, bool ready); /* /readyz */
void front_shutdown(struct front *f, usec grace, void (*done)(void *ctx), void *ctx);
void front_free(struct front *f);

/* ---- table.c: objects as kubectl's tables; pure ---- */

enum table_include { TABLE_INCLUDE_METADATA, TABLE_INCLUDE_NONE, TABLE_INCLUDE_OBJECT };
/* "columnDefinitions":[...] */
void table_columns(struct jw *w, const struct kind *k);
/* One row: {"cells":[...],"object":...} */
void table_row(struct jw *w, const struct obj *o, enum table_include include, usec now);

/* ---- discovery.c, openapi.c: documents made from the tables ---- */

/* One that is made once and kept: take a reference to the document when it is to outlive the call.
 */
struct page {
    struct doc *doc;
    uint64_t kinds; /* version of the registry when it was made */
    char hash[65];  /* SHA-256 of its text, upper-case hexadecimal */
};
/* Takes over the document. */
void page_set(struct page *p, struct doc *d);
/* Made, and no kind was registered since. */
bool page_is_fresh(const struct page *p);

/* Those of one server, made when they are asked for. Zeros to begin with. */
struct discovery_pages {
    struct page groups, core;
    uint64_t names; /* version of the names of metrics that the groups have */
};
void discovery_pages_done(struct discovery_pages *d);
/* /api, /apis as APIGroupDiscoveryList. names: of the server's metrics, or NULL. */
const struct page *discovery_aggregated(struct discovery_pages *d, bool core,
                                        struct metrics_names *names);
struct doc *discovery_legacy_versions(str address); /* /api; address: where this server is */
struct doc *discovery_legacy_groups(struct metrics_names *names); /* /apis */
struct doc *discovery_legacy_group(str group);                    /* NULL: no such group */
struct doc *discovery_legacy_resources(str group, str version, struct metrics_names *names);
const struct page *openapi_v3_index(void);
const struct page *openapi_v3(str group, str version); /* NULL: none */
const struct page *openapi_v2(void);
/* The same in protobuf. */
void openapi_v2_proto(jval root, struct strbuf *ret);

#endif
