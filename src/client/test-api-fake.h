/*
 * api_fake: the smallest API that behaves like one, for tests of caches and controllers without an
 * API server. In memory, on any loop, correct: create, get, list in pages, merge and JSON patch,
 * update, delete with conditions, finalizers, watches with resume, bookmarks, 410 and watch-list.
 * It validates nothing and knows no kinds' rules. For faults wrap it in api_faulty.
 *
 * A request is carried out and answered `delay` (drawn up to it) after it was sent; a watch event
 * arrives likewise. The generation counts changes of spec and data.
 */
#ifndef CLIENT_TEST_API_FAKE_H
#define CLIENT_TEST_API_FAKE_H

#include "client/api.h"
#include "loop/loop.h"

struct api *api_fake_new(struct loop *l, usec max_delay);

/* ---- behind the API's back: at once, no request involved ---- */

/* Adds, or merges into what is there. Text of an object with metadata.name. */
void api_fake_put(struct api *api, const struct kind *k, const char *json);
void api_fake_remove(struct api *api, const struct kind *k, const char *ns, const char *name);
struct obj *api_fake_get(struct api *api, const struct kind *k, const char *ns, const char *name);
/* The first of that kind, NULL when there is none. */
struct obj *api_fake_any(struct api *api, const struct kind *k);
size_t api_fake_count(struct api *api, const struct kind *k);
uint64_t api_fake_rv(struct api *api);

/* ---- misbehaviour on demand ---- */

/* The next n requests with this verb are answered so and not carried out. A watch that begins with
 * what there is counts as a list. */
void api_fake_refuse(struct api *api, enum api_verb verb, unsigned n, int code);
/* Forgets the past: a watch that resumes at an older revision gets 410. */
void api_fake_compact(struct api *api);
/* Ends all watches, cleanly. */
void api_fake_end_watches(struct api *api);
/* A bookmark on every watch. */
void api_fake_bookmark(struct api *api);
/* watch-list is not known here. */
void api_fake_set_classic(struct api *api, bool classic);
/* While set, watches hold events back. */
void api_fake_hold_watches(struct api *api, bool hold);

/* ---- what happened ---- */

struct api_fake_stats {
    uint64_t sent[API_DELETE_COLLECTION + 1]; /* by verb, as they arrived */
    uint64_t created, exists, conflicts; /* creates that worked, 409 AlreadyExists, other 409 */
    unsigned in_flight, max_in_flight;   /* writes */
};
struct api_fake_stats api_fake_stats(struct api *api);
/* How often an object was created under this name. */
unsigned api_fake_times_created(struct api *api, const struct kind *k, const char *ns,
                                const char *name);
/* Told of each write as it arrives (before it is carried out); NULL: nobody. */
void api_fake_on_write(struct api *api, void (*fn)(void *ctx, const struct api_request *r),
                       void *ctx);

#endif
