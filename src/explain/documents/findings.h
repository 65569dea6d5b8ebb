/*
 * What is not as it should be with a set, and why: pure functions of a picture. The texts come from
 * what the components wrote (conditions of gangs, cliques and sets, lastErrors, pods' states and
 * gates, events); nothing is guessed that they did not say. Worst first.
 */
#ifndef EXPLAIN_DOCUMENTS_FINDINGS_H
#define EXPLAIN_DOCUMENTS_FINDINGS_H

#include "base/vec.h"
#include "explain/documents/picture.h"

/* In the order they are told. */
enum finding_state {
    FINDING_GOING,    /* being deleted */
    FINDING_FAILED,   /* a component could not do something */
    FINDING_STUCK,    /* an update that has not moved for too long */
    FINDING_DEGRADED, /* it was there and is not now */
    FINDING_WAITING,
    FINDING_STARTING,
    FINDING_UPDATING,
    FINDING_PAUSED,
    FINDING_REFUSED,   /* a disruption that the budget did not allow */
    FINDING_LINGERING, /* what should be gone */
};
extern const char *const finding_states[];

struct finding {
    enum finding_state state;
    unsigned order;          /* within the state: what causes others comes first */
    const struct obj *about; /* a gang, a clique, a pod or the set */
    str gang;                /* it concerns; empty: all */
    str clique;              /* it concerns; empty: all */
    str alike;               /* equal for findings that say the same of others; may be empty */
    str verdict;             /* one sentence */
    str constraint;          /* what stands in the way, in more words; may be empty */
    bool unfit;              /* a gang that finds no room */
    VEC(str) unblock;
};

struct findings {
    struct arena *arena;
    VEC(struct finding) items;
};

/* Texts live in the arena and in the picture. */
void findings_of_set(const struct picture *p, const struct obj *pcs, struct arena *a,
                     struct findings *ret);
void findings_done(struct findings *f);
/* What comes before anything about a set; empty when its server takes writes. */
str findings_of_server(const struct picture *p);
/* Among those that are chosen (NULL: all) one speaks for all that say the same. False when another
 * has spoken for it; else how many it speaks for besides itself. */
bool findings_speaks(const struct findings *f, const bool *chosen, size_t i, size_t *ret_more);
/* Its verdict, and that of so many others. */
str findings_text(struct arena *a, const struct finding *x, size_t more);

/* "kind/name" as people write it: "pcs/llm", "podgang/llm-0". */
const char *findings_kind(const struct kind *k);
str findings_reference(struct arena *a, const struct obj *o);
/* The state of a pod in one word. */
str pod_state(const struct obj *pod);

/* Numbers of a set's pods. */
struct pod_count {
    int64_t wanted, exist, gated, bound, ready;
};
struct pod_count count_pods(const struct picture *p, str set);
bool is_of_set(const struct obj *o, str set);
/* What the set's template calls one of its own children: "engine" of "llm-0-engine". */
str template_of_child(const struct obj *child, const struct obj *pcs);

#endif
