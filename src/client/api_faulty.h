/*
 * api_faulty: another api that misbehaves on purpose, for simulations and tests: what a network and
 * a busy API server do to a client, drawn from the loop's seeded randomness.
 *
 *   requests  delayed; lost on the way there; done but the answer lost; answered "unknown" and done
 *             later; refused with 409, 429, 500, 504
 *   watches   each stream lags by its own amount (its order is kept, so kinds overtake each other);
 *             ends, cleanly or not, with or without losing what was under way; 410; falls silent
 *
 * It wraps, it does not own: free it before what it wraps.
 */
#ifndef CLIENT_API_FAULTY_H
#define CLIENT_API_FAULTY_H

#include "client/api.h"
#include "loop/loop.h"

struct api_faulty_options {
    usec max_delay; /* of a request, and again of its answer; 0: none */
    usec max_lag;   /* of a watch event; 0: none */
    usec timeout;   /* how long a lost request takes to be noticed; 0: 1 s */

    /* percent of all requests */
    unsigned drop;    /* never arrives; unknown outcome */
    unsigned error;   /* 500, not done */
    unsigned gateway; /* 504, done or not */
    /* percent of writes */
    unsigned lost_reply; /* done; unknown outcome */
    unsigned late;       /* unknown outcome now, done later (up to `timeout` after it) */
    unsigned conflict;   /* 409, not done */
    unsigned throttle;   /* 429, not done */

    /* per thousand watch events */
    unsigned watch_end;
    unsigned watch_expired; /* 410 */
    unsigned watch_silent;  /* nothing comes any more; needs a stall timeout to recover */
    bool refuse_watch_list; /* 422 for send_initial */
};

struct api_faulty_stats {
    uint64_t requests;
    uint64_t request_faults;
    uint64_t watch_faults;
};

struct api *api_faulty_new(struct loop *l, struct api *inner, const struct api_faulty_options *o);
/* From now on; NULL: no faults, delays or lag. What is under way keeps its fate. */
void api_faulty_set(struct api *api, const struct api_faulty_options *o);
/* Every open watch ends now: with 410 when expired, else as a broken connection. */
void api_faulty_break_watches(struct api *api, bool expired);
struct api_faulty_stats api_faulty_stats(const struct api *api);

#endif
