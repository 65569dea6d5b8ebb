/*
 * Claims of pods, for volumes and for devices, as far as they decide where a pod may go:
 *
 *   a volume claim that is bound         the volume's node affinity and zone labels
 *   a device claim that is allocated     the node selector of the allocation; it has to be reserved
 *                                        for the pod already, or be nobody's business (see below)
 *   everything else                      refused, with the claim's name and the rule
 *
 * This scheduler neither chooses volumes nor allocates devices: a claim that waits for its first
 * consumer waits for somebody else. In the embedded control plane there is nobody else, and its
 * nodes give what is asked for: there, claims that nobody binds or allocates hold no pod back
 * (struct sched, unbound_ok).
 */
#ifndef SCHED_MODEL_CLAIMS_H
#define SCHED_MODEL_CLAIMS_H

#include "sched/model/tables.h"

/* Why no node will do, whatever it has; empty: the claims are judged. */
str claims_refusal(struct tables *t, const struct obj *pod, struct arena *a);
/* The node is one of those where the pod's volumes and devices are. */
bool claims_admit(struct tables *t, const struct obj *pod, const struct snap_node *n);
/* The part of a class's key. */
void claims_key(struct tables *t, const struct obj *pod, struct strbuf *out);
/* The pod's status names other claims than before. */
bool claims_differ(const struct obj *old, const struct obj *new);
/* The claim behind the volume, as "namespace/name", when only one pod may use it; else empty.
 * When it does not exist its coming is waited for. */
str claims_single(struct tables *t, const struct obj *pod, jval volume, struct arena *a);

/* Follows changes of claims and volumes; before the runtime starts. */
void claims_add_handlers(struct sched *s);

#endif
