/*
 * Which custom and external metrics there are, by name: those that are fed and those in annotations
 * of objects, counted as objects come and go. Discovery lists them.
 */
#ifndef APISERVER_METRICS_NAMES_H
#define APISERVER_METRICS_NAMES_H

#include "grove/metrics_feed.h"
#include "store/store.h"
#include "json/write.h"

struct metrics_names;
struct metrics_names *metrics_names_new(struct store *s, struct metrics_feed *feed);
void metrics_names_free(struct metrics_names *n);
void metrics_names_event(struct metrics_names *n, const struct store_event *e);

/* A metric there is. */
struct metrics_name {
    str resource; /* "pods"; empty: external */
    str metric;
    bool namespaced;
};
/* In order, METRICS_NAMES_MAX at most. Valid until something changes. */
const struct metrics_name *metrics_names_all(struct metrics_names *n, size_t *ret_n);
/* Changes with them. */
uint64_t metrics_names_version(const struct metrics_names *n);
/* Whether a group is told of by the names of its metrics, and how. n may be NULL: no names. */
bool metrics_names_are_of(str group);
/* Whether a group has anything to tell of. One that has not is served but not listed: clients keep
 * what they discovered, except of groups without resources, for which they ask every time. */
bool metrics_names_is_listed(struct metrics_names *n, const struct kind *first);
void metrics_names_put_list(struct jw *w, struct metrics_names *n, const struct kind *first);
void metrics_names_put_aggregated(struct jw *w, struct metrics_names *n, const struct kind *first);

#endif
