/*
 * Conversion webhooks: services of the users that say how an object of a user-defined kind looks in
 * another version (spec.conversion.strategy: Webhook).
 *
 *   conversion_review   the question, and what an answer means                        (pure)
 *   conversions         who waits for which conversion, and what is known already
 *
 * A conversion is a number of documents that somebody wants in one version. It is sent in reviews
 * of a bounded size, one after the other. Each definition has a line of its own with a bounded
 * number of open calls, so that a webhook that hangs holds up nobody but those who need it, and
 * whoever needs several reviews goes to the end of the line after each. Nobody waits in a line
 * longer than a call may take.
 *
 * What was converted is remembered by UID, resourceVersion and version within a bounded amount of
 * memory, and forgotten when a definition changes. Those who want what somebody else has asked for
 * already wait for that answer; when it fails and others were in the same review, they ask
 * themselves, because one bad object fails all that are asked about with it.
 */
#ifndef APISERVER_CRD_CONVERSION_H
#define APISERVER_CRD_CONVERSION_H

#include "apiserver/admission/webhook.h"

/* ---- conversion_review.c ---- */

/* Of ConversionReview: the first one that both sides speak; empty: none. conversion: that of the
 * definition's spec. */
str conversion_review_version(jval conversion);

struct conversion_question {
    const struct kind *to;
    str uid;
    str version; /* of ConversionReview: "v1" or "v1beta1" */
    struct doc *const *docs;
    size_t n;
};

/* The ConversionReview as text, in the arena. */
str conversion_review(struct arena *a, const struct conversion_question *q);
/* The converted documents, in order and as new references; false: there are none, and ret_why is
 * what comes after "conversion webhook for GROUP/VERSION, Kind=KIND ". */
bool conversion_judge(struct arena *a, const struct conversion_question *q,
                      const struct hook_answer *answer, struct doc **ret, str *ret_why);

/* ---- conversion.c ---- */

struct conversions;
struct conversion;

struct conversions *conversions_new(struct apiserver *a);
/* Nobody may wait any more. Accepts NULL. */
void conversions_free(struct conversions *all);

struct conversion_item {
    /* in */
    struct doc *in; /* borrowed until the conversion ends */
    str uid;        /* with rv: what it is remembered by */
    uint64_t rv;    /* 0: it is not in the store */
    /* out */
    struct doc *out; /* the conversion's reference; NULL: it failed */
    /* private */
    struct conversion *of;
    struct list wait; /* for the answer that another conversion asked for */
    struct slot *slot;
    bool sent;
};

struct conversion {
    /* in */
    const struct kind *to;
    struct conversion_item *items;
    size_t n;
    struct arena *arena; /* of failed; outlives the conversion */
    void (*done)(struct conversion *c);
    void *ctx;
    /* out: NULL, or why not all of them could be converted */
    const struct status *failed;
    /* private */
    struct conversions *all;
    struct list link; /* in its line */
    struct line *line;
    struct arena call_arena;
    struct hook_call call;
    struct conversion_question question;
    struct conversion_item **asked; /* by the open call */
    struct loop_task task;
    struct loop_timer timer;
    bool is_open, is_calling;
};

/* One for n items, in the arena, which ends it. */
struct conversion *conversion_new(struct arena *a, const struct kind *to, size_t n);
/* stored: the object that the document is of, whose UID and version it is remembered by; NULL: it
 * is not in the store. Both must live as long as the arena. */
void conversion_add(struct conversion *c, struct doc *in, const struct obj *stored);
/* Converts all items that are not in the version already. True: that could be done at once, and
 * done is not called. False: done is called later, never from inside. The conversion and its items
 * stay where they are until conversion_end. */
bool conversion_start(struct conversions *all, struct conversion *c);
/* The same for those who want to be called in any case. */
void conversion_start_later(struct conversions *all, struct conversion *c);
/* Drops what it holds; when it is still waiting, nobody is called. Idempotent. */
void conversion_end(struct conversion *c);
/* What is known of this object in this version; NULL: nothing. A new reference. */
struct doc *conversion_known(struct conversions *all, const struct obj *o, const struct kind *to);

#endif
