/*
 * Writes that somebody keeps undoing: a second operator, a tool that has its own idea of an object.
 * Whoever repairs at once what others change at once writes as fast as the server answers, for
 * ever.
 *
 * A plan writes only what differs. So when the same write of an object follows itself, with nothing
 * else of ours between, somebody has undone it. The first few times in quick succession it is done
 * at once; then after 1 s, 2 s, 4 s and so on up to 5 min, and that is told once as an event. When
 * it has lasted, or something else is to be written, all is forgotten.
 *
 * Times are left out of the comparison: a condition that is fought over has another one every time.
 * Left out altogether are pods, of which nothing is repaired and whose writes are the most, events,
 * which say again what is so again, and deletes.
 *
 * A table of DISPUTES_MAX places; an object that meets another's place takes it, which costs no
 * more than a few writes.
 */
#ifndef CLIENT_DISPUTES_H
#define CLIENT_DISPUTES_H

#include "client/cache.h"
#include "client/event.h"
#include "client/plan.h"

enum { DISPUTES_MAX = 4096, DISPUTES_FREE = 3 };
#define DISPUTES_BASE USEC_PER_SEC
#define DISPUTES_LONGEST (5 * USEC_PER_MIN)
/* One that follows itself after longer than this, and longer than twice what it had to wait, is no
 * quarrel. */
#define DISPUTES_QUICK (5 * USEC_PER_SEC)

struct dispute;

struct disputes {
    struct dispute *places; /* NULL: none yet */
};

void disputes_done(struct disputes *d);
/* The write was done, to the object of this UID. now: monotonic. */
void disputes_note(struct disputes *d, const struct plan_write *w, str uid, usec now);
/* When it may be sent; 0: now. The first time that it may not, an event says so on the object that
 * the cache has. */
usec disputes_hold(struct disputes *d, const struct plan_write *w, const struct cache *c,
                   struct recorder *r, usec now);

#endif
