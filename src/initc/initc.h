/*
 * initc: waits until the pods that a pod starts after are ready, then ends; the program of the init
 * container grove-initc. Its arguments, and what counts, are in wait.h.
 *
 * One list of the parents' pods and one watch of them, nothing polls: a gang of n pods costs each
 * waiting pod the events of its parents only. An API server that does not answer is tried again
 * with a growing pause; there is no time-out, as the pod has nothing better to do.
 */
#ifndef INITC_INITC_H
#define INITC_INITC_H

#include "client/api.h"
#include "grove/wait.h"
#include "loop/loop.h"

struct initc;

struct initc_options {
    str ns;
    struct wait_parent *parents;
    size_t n_parents;
    /* Told once, when all of them have what they need. */
    void (*done)(void *ctx);
    void *ctx;
};

/* Begins at once; the parents (their counts are kept up to date) and slices must outlive it. Lines
 * in the log say what it waits for. */
struct initc *initc_new(struct loop *l, struct api *api, const struct initc_options *o);
void initc_free(struct initc *c);

#endif
