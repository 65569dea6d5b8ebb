/*
 * Objects that a filtered cache does not select and that were met under a name we wanted: one whose
 * label somebody took away, or somebody else's. They are in no list and no index, no watch tells
 * what becomes of them, but the name is taken: who asks for it by name gets what was there, for a
 * minute. Then the next create is answered AlreadyExists and they are met again, or it succeeds.
 *
 * At most STRANGERS_MAX, the oldest go first.
 */
#ifndef CLIENT_STRANGERS_H
#define CLIENT_STRANGERS_H

#include "base/list.h"
#include "kube/object.h"
#include "loop/loop.h"

enum { STRANGERS_MAX = 256 };
#define STRANGER_TIME USEC_PER_MIN

struct strangers {
    struct list all; /* by age; so few, and so seldom any, that they are looked through */
    size_t n;
};

void strangers_init(struct strangers *s);
void strangers_done(struct strangers *s);
/* Takes the reference. Returns what went for it, NULL: nothing; the caller's to let go. */
struct obj *strangers_put(struct strangers *s, struct obj *o, usec now);
/* Out of it, or NULL; the caller's to let go. */
struct obj *strangers_take(struct strangers *s, str ns, str name);
struct obj *strangers_get(const struct strangers *s, str ns, str name, usec now);

#endif
