/*
 * Names of everything Grove makes, as functions of the world. Objects have their names in full, as
 * upstream has them. What Kubernetes limits to 63 characters (label values, host names, Service
 * names) is shortened in the middle with a stable hash; so is the name of a pod above 154 and that
 * of any other object above 253. Results live in the arena.
 *
 * The value of a label is therefore not a name: name_label makes it of one, name_has_label compares
 * the two, and no object is looked up by it otherwise.
 */
#ifndef GROVE_NAMES_H
#define GROVE_NAMES_H

#include "base/arena.h"

str name_base_gang(struct arena *a, str pcs, int64_t i); /* P-i */
/* The headless Service of a replica: P-i, as a DNS label that starts with a letter. */
str name_service(struct arena *a, str pcs, int64_t i);
str name_pcsg(struct arena *a, str pcs, int64_t i, str group);          /* P-i-G */
str name_pclq(struct arena *a, str pcs, int64_t i, str clique);         /* P-i-C */
str name_member_pclq(struct arena *a, str pcsg, int64_t g, str clique); /* P-i-G-g-C */
/* The gang of PCSG replica g: the base gang below min_available, else P-i-G-(g-M). */
str name_scaled_gang(struct arena *a, str pcsg, int64_t g, int64_t min_available);
/* The i for which OWNER-i-PART, or without a part OWNER-i, is this name; -1: there is none, or it
 * is above 63 and hidden: the name was shortened and PART has 100 characters or more. */
int64_t name_index(str name, str owner, str part);
str name_role(struct arena *a, str pcs); /* grove.io:pcs:P */
str name_initc_secret(struct arena *a, str pcs);
/* <PCLQ>-<5 characters of Kubernetes' suffix alphabet>, a function of (PCLQ uid, index, n). Names
 * of one clique differ when their (index, n) do, as long as index + n stays below 5,356; among
 * more, two are the same as seldom as two of Kubernetes' own. */
str name_pod(struct arena *a, str pclq, str pclq_uid, int64_t index, unsigned n);
/* The n of a name that name_pod made; false: it did not make it, or the numbers are too large. */
bool name_pod_number(str name, str pclq_uid, int64_t index, unsigned *ret_n);
str name_hostname(struct arena *a, str pclq, int64_t index); /* <PCLQ>-p, a DNS label */
/* Fits s into `max` bytes: as it is, or its beginning, an 8-character hash and its end. */
str name_fit(struct arena *a, str s, size_t max);
/* As the name of an object that is no pod. */
str name_object(struct arena *a, str s);
/* As a label value. */
str name_label(struct arena *a, str s);
/* Whether a label value stands for this name. */
bool name_has_label(str name, str label);
/* Whether it may stand for a longer one: it has what looks like the hash. False is certain. */
bool name_may_be_shortened(str label);

/* Template hash: FNV-1a 64 of canonical JSON, in decimal, through the safe alphabet. */
str hash_encode(struct arena *a, uint64_t hash);

#endif
