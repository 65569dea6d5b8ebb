/*
 * Questions that are asked by POST and answered without storing anything: who am I, may I, is this
 * token good; and TokenRequest, which answers with a token. Authorization is asked where everybody
 * asks: authorize().
 */
#ifndef APISERVER_ACCESS_REVIEW_H
#define APISERVER_ACCESS_REVIEW_H

#include "apiserver/access/authn.h"
#include "json/write.h"

struct review_call {
    struct authn *authn;
    const struct identity *who;
    jval body;
    str ns;   /* of the path */
    str name; /* TokenRequest: the service account */
    struct arena *arena;
};

struct review {
    const char *group, *version, *kind, *plural, *singular;
    bool namespaced;
    /* Writes the members after spec; NULL, or why not. */
    struct status *(*answer)(struct review_call *c, struct jw *w);
};

/* NULL when unknown. */
const struct review *review_find(str group, str version, str plural);
bool review_is_group(str group, str version);
/* All of them, for discovery; NULL after the last. */
const struct review *review_at(size_t i);

/* The answer, or NULL with *ret_why. */
struct doc *review_answer(const struct review *r, struct review_call *c, struct status **ret_why);
/* POST serviceaccounts/NAME/token. */
struct doc *token_request(struct review_call *c, struct status **ret_why);

#endif
