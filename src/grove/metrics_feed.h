/*
 * Metrics that somebody feeds (`grove metrics set`, or a PUT on the metrics APIs): the newest value
 * of each series. A series is about an object (a pod, or any other that is served), or it is
 * external: of a namespace, with labels.
 *
 * Values are measurements, not state: they are in memory only. A series goes when it is unset, when
 * its time is over, when its object is deleted, and when the process ends. An autoscaler that
 * misses a metric keeps the scale it has, so what is lost costs time and nothing else.
 *
 * Whoever reads needs no clock: what is in the feed is valid.
 */
#ifndef GROVE_METRICS_FEED_H
#define GROVE_METRICS_FEED_H

#include "base/err.h"
#include "base/heap.h"
#include "base/list.h"
#include "base/quantity.h"
#include "base/tree.h"
#include "loop/loop.h"

/* How long a value stays when nobody says otherwise, and at most. */
#define METRICS_TTL USEC_PER_HOUR
#define METRICS_TTL_MAX (7 * 24 * USEC_PER_HOUR)
enum {
    METRICS_NAME_MAX = 253,
    METRICS_LABELS_MAX = 1024, /* of an external series, as text */
    METRICS_NAMES_MAX = 1000,  /* different metrics; each is listed in discovery */
};
/* What all series may hold. */
#define METRICS_BYTES_MAX ((size_t)32 << 20)

struct metrics_feed;

/* Which series. */
struct metrics_id {
    str resource; /* "pods", "podcliques.grove.io"; empty: external */
    str metric;
    str ns;   /* empty: of an object that is in no namespace */
    str name; /* of the object; external: its labels, "queue=b,region=eu", in the order of keys */
};

struct metrics_sample {
    struct metrics_id id;
    struct quantity value;
    usec at; /* wall */
    /* the feed's own */
    usec until; /* monotonic */
    struct tree_node node;
    struct heap_node expiry;
    struct list link;
    struct fed_object *object;
    char key[];
};

struct metrics_feed *metrics_feed_new(struct loop *l);
void metrics_feed_free(struct metrics_feed *f);
/* Called after changes, once for those that came together, with the namespace they are about
 * (empty: several, or none). */
void metrics_feed_on_change(struct metrics_feed *f, void (*fn)(void *ctx, str ns), void *ctx);

/* A name that can stand in a path and in discovery. */
bool metrics_name_is_valid(str metric);
/* uid: of the object, or of the namespace of an external series; the series goes with it. Fails
 * with ERR_INVALID when the name or value is not acceptable, and with ERR_FORBIDDEN when there is
 * no room. */
int metrics_feed_set(struct metrics_feed *f, const struct metrics_id *id, str uid,
                     const struct quantity *value, usec ttl, struct err *err);
/* False when there is none. */
bool metrics_feed_unset(struct metrics_feed *f, const struct metrics_id *id);
/* The object is gone. */
void metrics_feed_forget(struct metrics_feed *f, str uid);

/* NULL when there is none; a feed that is NULL is empty. Valid until the next change. */
const struct metrics_sample *metrics_feed_get(const struct metrics_feed *f,
                                              const struct metrics_id *id);
/* The series of a resource and metric in a namespace, in order. */
const struct metrics_sample *metrics_feed_first(const struct metrics_feed *f, str resource,
                                                str metric, str ns);
const struct metrics_sample *metrics_feed_next(const struct metrics_sample *s);
/* The first series of each metric, by resource and name: begins with NULL. */
const struct metrics_sample *metrics_feed_next_name(const struct metrics_feed *f,
                                                    const struct metrics_sample *s);
/* Changes when a name comes or goes. */
uint64_t metrics_feed_names_version(const struct metrics_feed *f);

#endif
