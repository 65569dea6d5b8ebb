/*
 * Revisions (decision 5): what a PodCliqueSet's pods are made of, stored under a name. A
 * ControllerRevision holds the template as it was and the hashes that labels and status call it by.
 * Hashes are names, not proofs: whether two templates are the same is decided by their content, so
 * a Grove that hashes differently, or upstream's operator before us, never makes a pod roll.
 *
 * For the planner of sets, once per plan (world in, decision out):
 *
 *   struct revision_input in = {.pcs = pcs, .revisions = r, .n_revisions = n,   owned by the set
 *                               .cliques = c, .n_cliques = m,                   its PodCliques
 *                               .history_limit = REVISION_HISTORY_LIMIT, .in_use = f, .ctx = x};
 *   struct revision_decision d;
 *   revision_decide(a, &in, &d);
 *   if (d.create)   plan_create(p, stage, &kind_controller_revision, pcs->ns, d.name, d.create);
 *   if (d.renumber) plan_merge_patch(p, stage, d.renumber, STR_NONE, d.patch, d.renumber->rv);
 *   for each of d.remove  plan_delete(p, stage, d.remove[i]);
 *   d.hash                        is status.currentGenerationHash
 *   revision_hash(&d, clique)     is the label grove.io/pod-template-hash of that clique
 *   d.update                      this template is a new one: an update starts
 *
 * The revision goes into a stage before everything that carries its hashes: if its create fails,
 * nothing names what is not stored. Planners of groups and cliques do not decide; they ask
 * revision_current() and wait (do nothing) while it is NULL.
 *
 * Per clique a hash stays as long as its content does: a revision that changes one clique calls the
 * others what the revision before called them.
 *
 * Take-over. Objects of upstream's operator carry hashes and have no revision. The first decision
 * finds, clique by clique, live PodCliques whose pods are what the template says (what operators
 * put in themselves left aside) and stores a revision that calls the template by the hashes they
 * carry: nothing changes, nothing rolls. A clique none of whose live objects is current gets a hash
 * of ours: it was being changed anyway.
 *
 * Pure functions; results live in the arena, except documents, which the caller takes over.
 */
#ifndef GROVE_REVISION_H
#define GROVE_REVISION_H

#include "base/arena.h"
#include "kube/object.h"

enum { REVISION_HISTORY_LIMIT = 10 }; /* as many old ones are kept, like those of a Deployment */

struct revision_input {
    const struct obj *pcs;
    struct obj *const *revisions; /* ControllerRevisions that the set owns, in any order */
    size_t n_revisions;
    struct obj *const *cliques; /* its live PodCliques; read only while there is no revision */
    size_t n_cliques;
    size_t history_limit;
    /* Does a live child (PodClique, pod, gang map) carry this hash? The clique is empty for a
     * generation hash. Asked only about revisions beyond the limit. NULL: no child does. */
    bool (*in_use)(void *ctx, str clique, str hash);
    void *ctx;
};

struct revision_hash {
    str clique;
    str hash;
};

struct revision_decision {
    str hash;                      /* of the template as it is: the generation hash */
    struct revision_hash *cliques; /* in the order of the template */
    size_t n_cliques;
    const struct obj *current; /* the stored one; NULL: it is in `create` */
    int64_t number;
    struct doc *create; /* NULL: nothing to create */
    str name;           /* of `create` */
    /* An older revision the template has returned to, and the merge patch that makes it the newest;
     * NULL: none. */
    const struct obj *renumber;
    struct doc *patch;
    const struct obj **remove; /* beyond the limit, oldest first */
    size_t n_remove;
    bool update; /* there was another revision before */
    bool adopted;
};

void revision_decide(struct arena *a, const struct revision_input *in,
                     struct revision_decision *ret);
/* Empty when the template has no such clique. */
str revision_hash(const struct revision_decision *d, str clique);

/* ---- reading stored ones ---- */

/* The stored revision that says what the set's template says; NULL: not stored yet. */
const struct obj *revision_current(const struct obj *pcs, struct obj *const *revisions, size_t n);
/* The one that calls itself by this generation hash; NULL: none. */
const struct obj *revision_by_hash(struct obj *const *revisions, size_t n, str hash);
int64_t revision_number(const struct obj *revision);
str revision_generation_hash(const struct obj *revision);
/* What the revision calls a clique; empty when it has none of that name. */
str revision_clique_hash(const struct obj *revision, str clique);
/* Is a child with that label of this revision? Looks at the hash and at others that were found on
 * objects of the same content at take-over. */
bool revision_names(const struct obj *revision, str clique, str hash);
/* Why it was made: the annotation the user set, or what was different from the one before. */
str revision_cause(const struct obj *revision);
/* The stored template, in the shape of spec.template: priorityClassName and cliques with name,
 * labels, annotations and spec.podSpec. */
jval revision_template(const struct obj *revision);
/* The set with the stored template put back (undo); cliques by name, numbers stay as they are.
 * Fails when the revision has a clique that the set no longer has, or the other way round. */
struct doc *revision_restore(const struct obj *pcs, const struct obj *revision, struct err *err);

/* ---- parts, for tests and for `grove rollout` ---- */

/* Same pods: labels, annotations and pod spec of every clique by its name, and the set's priority
 * class. Arguments as spec.template; absent and empty are the same, and so are other words for the
 * same pod spec (revision_canon.c). */
bool revision_same(jval template_a, jval template_b);
/* Are the pods of this PodClique what the template's clique says? */
bool revision_is_live(jval clique, const struct obj *pclq);
/* Hash of one clique's pod template, and of all in the order of their names: names for new content.
 */
uint64_t grove_clique_hash(jval pcs_template, jval clique);
uint64_t grove_generation_hash(jval pcs_template);

#endif
