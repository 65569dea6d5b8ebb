/*
 * What a pod with startup dependencies waits for, as pure functions over pods; shared by the init
 * container (initc.h) and by whoever plays a node.
 *
 * A pod that has to wait carries an init container of the name INITC_NAME with one argument per
 * clique it waits for:
 *
 *     --podcliques=<name of the PodClique>:<pods that must be ready>
 *
 * It may start when each of these cliques has that many ready pods at one moment. A pod belongs to
 * a clique when its label grove.io/podclique says so, exactly; one that is being deleted does not
 * count any more. Its gang is no matter: the name of a PodClique says which replica of which set it
 * belongs to, parents may be in another gang of that, and pods may move from gang to gang.
 */
#ifndef GROVE_WAIT_H
#define GROVE_WAIT_H

#include "base/arena.h"
#include "base/err.h"
#include "kube/object.h"

#define INITC_NAME "grove-initc"
#define INITC_FLAG "--podcliques="

struct wait_parent {
    str clique;
    str label; /* its name as a label value, which may be shorter */
    int64_t need;
    int64_t ready; /* the caller's, when it counts */
};

/* "name:number"; the slices live in the arena. */
int wait_parse(str text, struct arena *a, struct wait_parent *ret, struct err *err);
/* What the pod's init container waits for; 0: nothing. Arguments that make no sense are left out:
 * the container itself complains about them. */
size_t wait_of_pod(const struct obj *pod, struct arena *a, struct wait_parent **ret);

/* One of the pods that count: ready, staying, and of this clique. */
bool wait_is_ready(const struct obj *pod);
bool wait_is_of(const struct wait_parent *parent, const struct obj *pod);
/* Each has as many as it needs. */
bool wait_is_over(const struct wait_parent *parents, size_t n);

#endif
