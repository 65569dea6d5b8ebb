/* A pod from its clique, and what a pod's state means to Grove. */
#ifndef OPERATOR_POD_H
#define OPERATOR_POD_H

#include "operator/make.h"

struct doc *pod_make(struct arena *a, const struct obj *pcs, const struct obj *pclq, int64_t index,
                     str name);

bool pod_is_ready(const struct obj *pod);
bool pod_is_scheduled(const struct obj *pod);
/* Still carries Grove's gate. */
bool pod_is_gated(const struct obj *pod);
/* Succeeded or Failed: it will never run again. */
bool pod_is_finished(const struct obj *pod);
/* From its label; -1 when it has none. */
int64_t pod_index(const struct obj *pod);

#endif
