/*
 * A control plane under virtual time: the same assembly as `grove up`, memory store, no HTTP, no
 * threads; components reach the API through injected faults, and the invariants look at every
 * revision. A run is a function of its seed: same seed, same log, byte for byte.
 *
 * The log has a line per plan with writes and one per revision.
 *
 * Nothing here may be called from inside a callback of the loop: actions run the world until they
 * are answered.
 */
#ifndef SIM_SIM_H
#define SIM_SIM_H

#include "client/api_faulty.h"
#include "plane/plane.h"

struct sim;

struct sim_options {
    uint64_t seed;
    struct nodes_options nodes; /* count 0: all of it the defaults */
    bool split;                 /* one part per process of a cluster installation */
    struct api_faulty_options faults;
    usec gang_window; /* of the invariants; 0: their default */
};

/* What simulations run with unless they say otherwise: every component sees each kind with its own
 * delay, and requests take time. */
extern const struct api_faulty_options sim_default_faults;

struct sim *sim_new(const struct sim_options *o, struct err *err);
void sim_free(struct sim *s);

/* ---- users ---- */

/* Each returns when it is answered: 0 or the error (ERR_NOT_FOUND, ERR_CONFLICT, ERR_INVALID). */
int sim_apply(struct sim *s, jval object, struct err *err);
/* All documents of a YAML text. */
int sim_apply_yaml(struct sim *s, str yaml, struct err *err);
int sim_scale(struct sim *s, const struct kind *k, str ns, str name, int64_t replicas,
              struct err *err);
/* Merge patch. */
int sim_patch(struct sim *s, const struct kind *k, str ns, str name, str subresource, jval patch,
              struct err *err);
int sim_delete(struct sim *s, const struct kind *k, str ns, str name, struct err *err);
int sim_delete_so(struct sim *s, const struct kind *k, str ns, str name, enum api_propagation how,
                  int64_t grace_seconds, struct err *err);

/* ---- misfortune ---- */

void sim_set_faults(struct sim *s, const struct api_faulty_options *o);
const struct api_faulty_options *sim_faults(const struct sim *s);
/* Every watch of every component ends now; see api_faulty_break_watches. */
void sim_break_watches(struct sim *s, bool expired);
/* A part ("operator"; NULL: all) is killed; started again with nothing but what the API says. A
 * name that is not a part of this assembly means all of it. */
void sim_stop(struct sim *s, const char *part);
void sim_start(struct sim *s, const char *part);
/* Both. What it had sent is carried out before it is back: no process starts faster than a request
 * ends. (Writes that happen later than that are a fault of their own.) */
void sim_restart(struct sim *s, const char *part, usec down);
/* The wall clock of a part (NULL: of all) is set by so much; or runs so much faster from now on, in
 * millionths. A part has the clock of its machine, the first one that of the API server. */
void sim_set_clock(struct sim *s, const char *part, usec by);
void sim_set_drift(struct sim *s, const char *part, int64_t ppm);
/* What the clock of this part shows. */
usec sim_wall(const struct sim *s, const char *part);
/* The node stops: nothing it would write arrives, others see it and its pods not ready. */
int sim_fail_node(struct sim *s, str name, struct err *err);
int sim_recover_node(struct sim *s, str name, struct err *err);
bool sim_node_is_dead(const struct sim *s, str name);
/* As a node would report it: the containers have terminated with an exit code and the pod is not
 * ready; `finished`: they will not be started again and the pod has failed. */
int sim_crash_pod(struct sim *s, const struct obj *pod, bool finished, struct err *err);
/* They run again. */
int sim_heal_pod(struct sim *s, const struct obj *pod, struct err *err);

/* ---- time ---- */

/* False: the world did not come to the end of it (a livelock), or an invariant broke. */
bool sim_advance(struct sim *s, usec duration);
/* Runs until the controllers have had nothing to do and nothing has changed for a while, long
 * enough for anything that was delayed; false when that takes longer than `limit`. Then every key
 * is planned again and must give an empty plan (runtime_replan). */
bool sim_settle(struct sim *s, usec limit);
usec sim_now(const struct sim *s);

/* ---- looking ---- */

/* What broke first; code 0: nothing. */
const struct err *sim_failure(const struct sim *s);
/* Somebody who looks on finds something broken; may be called from inside callbacks. */
void sim_fail(struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct invariants *sim_invariants(struct sim *s);
struct store *sim_store(const struct sim *s);
struct plane *sim_plane(struct sim *s);
/* For what the scenario itself draws; independent of what the world draws. */
struct rng *sim_rng(struct sim *s);
/* For what befalls clocks: apart, so that it changes nothing else that is drawn. */
struct rng *sim_clock_rng(struct sim *s);
/* Told of every revision, after the invariants; before the first run of the loop or between. */
void sim_on_event(struct sim *s, void (*fn)(void *ctx, const struct store_event *e), void *ctx);
struct obj *sim_get(const struct sim *s, const struct kind *k, str ns, str name);
size_t sim_count(struct sim *s, const struct kind *k, bool (*matches)(const struct obj *o));
str sim_log(const struct sim *s);
/* Adds a line with the time in front. */
void sim_note(struct sim *s, const char *fmt, ...) PRINTF_LIKE(2, 3);

struct sim_stats {
    uint64_t revisions;
    uint64_t pods; /* created */
    uint64_t requests, request_faults, watch_faults;
};
struct sim_stats sim_stats(struct sim *s);

#endif
