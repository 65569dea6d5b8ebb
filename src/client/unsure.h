/*
 * Creates of which nobody knows what became: no answer came, and a live read then said that there
 * is no such object. A server that was slow may still carry them out. Part of the world: a planner
 * that wants such an object asks for it under the same name again, so that whichever create comes
 * second is answered AlreadyExists.
 *
 * Remembered for as long as an API server works at a request; at most UNSURE_MAX, the oldest go
 * first. A process that starts anew knows of none: what must never happen twice needs a second line
 * of defence (Grove's is the gate: of two pods with one index neither is let go).
 */
#ifndef CLIENT_UNSURE_H
#define CLIENT_UNSURE_H

#include "base/list.h"
#include "base/map.h"
#include "kube/tables/kinds.h"
#include "loop/loop.h"

enum { UNSURE_MAX = 4096 };
#define UNSURE_TIME USEC_PER_MIN

struct unsure {
    struct map by_key;
    struct list all; /* by age */
};

void unsure_init(struct unsure *u);
void unsure_done(struct unsure *u);
/* now: monotonic. */
void unsure_add(struct unsure *u, const struct kind *k, str ns, str name, usec now);
bool unsure_has(const struct unsure *u, const struct kind *k, str ns, str name, usec now);

#endif
