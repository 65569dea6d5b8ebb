/* Horizontal autoscalers: one per replica of the set for each standalone clique with
 * autoScalingConfig and each scaling group with scaleConfig, named like its target. */
#ifndef OPERATOR_SET_HPA_H
#define OPERATOR_SET_HPA_H

#include "grove/make.h"

/* Makes those that are missing. */
void hpa_plan(const struct world *w, const struct obj *pcs, unsigned stage, struct plan *p);

/* Repairs an autoscaler of the set, or removes it when the set does not want it. */
void hpa_keep(const struct world *w, const struct obj *pcs, const struct obj *hpa, unsigned stage,
              struct plan *p);

#endif
