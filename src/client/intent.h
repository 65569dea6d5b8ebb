/*
 * Deletes in accepted plans: from the moment a plan is accepted, before any other planner runs,
 * until its write was answered (and the answer is in the cache), failed or was dropped. Part of the
 * world: what is intended no longer counts as available (design: one availability ledger).
 *
 * Those that take away a serving unit are also listed under their component.
 */
#ifndef CLIENT_INTENT_H
#define CLIENT_INTENT_H

#include "base/list.h"
#include "base/map.h"
#include "kube/tables/kinds.h"

struct intent {
    unsigned count;                     /* plans that delete it */
    struct list link;                   /* of its component, in the order booked */
    struct intent_component *component; /* NULL: not counted anywhere */
    const struct kind *kind;
    str ns, name, uid;
    char text[];
};

struct intent_component {
    struct list intents;
    size_t uid_len;
    char uid[];
};

struct intents {
    struct map by_uid;
    struct map by_component;
};

void intents_done(struct intents *is);
/* component: empty when it is not a serving unit of any. */
void intents_book(struct intents *is, const struct kind *k, str ns, str name, str uid,
                  str component);
void intents_release(struct intents *is, str uid);
/* NULL when nobody intends to delete it. */
const struct intent *intents_find(const struct intents *is, str uid);
/* NULL when there is none. */
const struct intent_component *intents_of(const struct intents *is, str component);

#endif
