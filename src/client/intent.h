/*
 * Deletes in accepted plans: from the moment a plan is accepted, before any other planner runs,
 * until its write was answered (and the answer is in the cache), failed or was dropped. Part of the
 * world: what is intended no longer counts as available (design: one availability ledger).
 */
#ifndef CLIENT_INTENT_H
#define CLIENT_INTENT_H

#include "base/map.h"
#include "kube/kinds.h"

struct intent {
    unsigned count; /* plans that delete it */
    const struct kind *kind;
    str ns, name, uid;
    char text[];
};

struct intents {
    struct map by_uid;
};

void intents_done(struct intents *is);
void intents_book(struct intents *is, const struct kind *k, str ns, str name, str uid);
void intents_release(struct intents *is, str uid);
/* NULL when nobody intends to delete it. */
const struct intent *intents_find(const struct intents *is, str uid);

#endif
