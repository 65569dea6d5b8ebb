/*
 * lease: leader election by a coordination.k8s.io/v1 Lease, with the records and rules of
 * client-go, so that any two processes that know either may compete for one.
 *
 * Why no two act at a time, without a shared clock:
 *  1. We hold the lease from a write that the server confirmed, until `renew_deadline` after that
 *     write was *sent*. Each renewal moves the end. At the end we have lost it, for good.
 *  2. Others take it when they have seen the same record for the duration it names, on their own
 *     monotonic clock, counted from when they first saw it: later than when it was sent.
 *  3. The duration is longer than the renew deadline. The difference is what clocks may differ by
 *     and how long a write may linger on its way (see api_fenced).
 *  4. A machine that sleeps does not count the time; others do. So what we hold ends by boot time,
 *     which goes on meanwhile, and after such a gap the lease is read before anything is written.
 * No wall clock is asked; the times in the record are for people.
 * A write that is under way longer than that arrives after the next leader began. Nothing can
 * prevent it; the next leader's plans must bear it (names are functions of the world, deletes carry
 * their UID).
 *
 * Runs on the loop. Give it an api of its own: a renewal must not wait behind a large list.
 */
#ifndef CLIENT_ELECTION_H
#define CLIENT_ELECTION_H

#include "client/api.h"
#include "loop/loop.h"

struct lease;

struct lease_options {
    str ns, name;
    str identity;        /* unique to this process, not only to the machine */
    usec duration;       /* 0: 15 s */
    usec renew_deadline; /* 0: 10 s */
    usec retry;          /* between tries and between renewals; 0: 2 s */

    /* A text that the holder keeps on the Lease, as this annotation; empty: none. Given when it is
     * written, and told, before that and before on_lead, what the holder before us kept. */
    str note;
    void (*read_note)(void *ctx, str text);
    void (*write_note)(void *ctx, struct strbuf *out);

    void (*on_lead)(void *ctx);
    /* Last call. The process should end; it may not act any more and does not try again. */
    void (*on_lost)(void *ctx, const char *why);
    void *ctx;
};

/* Begins to compete at once. Options are copied. */
struct lease *lease_new(struct loop *l, struct api *api, const struct lease_options *o);
/* Lets it run out. */
void lease_free(struct lease *l);
/* Gives it up so that the next one need not wait, for at most 2 s; then calls done. No other call
 * comes after this one. */
void lease_release(struct lease *l, void (*done)(void *ctx), void *ctx);

bool lease_is_held(const struct lease *l);
/* Monotonic: until when it is held if nothing more is heard; 0 when it is not. */
usec lease_deadline(const struct lease *l);

/*
 * api_fenced: another api that sends writes only while the lease is held, and gives them up at its
 * deadline (api_request.deadline) should they still wait to be sent then. Others are answered 403.
 * Reads and watches pass. It wraps, it does not own: what has passed is the wrapped one's, and the
 * lease must outlive it.
 */
struct api *api_fenced_new(struct loop *l, struct api *inner, const struct lease *lease);

#endif
