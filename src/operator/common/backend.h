/*
 * Backends: the schedulers a cluster may use instead of ours, as one table. A backend says what its
 * pods carry, which object it wants for each PodGang, and which wishes of a gang it cannot keep.
 *
 *   configuration name   pods                          per PodGang
 *   default-scheduler    schedulerName                 nothing
 *   grove-scheduler      schedulerName                 nothing: it reads the PodGang itself
 *   kai-scheduler        + two annotations, a label    PodGroup scheduling.run.ai/v2alpha2
 *   volcano              + two annotations             PodGroup scheduling.volcano.sh/v1beta1
 *   lpx-scheduler        schedulerName                 nothing
 *
 * Which of them an installation uses is said to each runtime before it starts. The embedded control
 * plane uses all with its own scheduler behind every name, and makes no PodGroups.
 *
 * backend_plan is the planner of PodGroups: one for each gang, repaired when it drifts, gone with
 * its gang. Their kinds belong to other projects: they are not registered unless
 * a backend that needs them is in use, so the embedded server never serves them. Their caches stand
 * beside the runtime's: a kind that is not installed is told on the gangs that need it, and holds
 * up nobody else.
 */
#ifndef OPERATOR_COMMON_BACKEND_H
#define OPERATOR_COMMON_BACKEND_H

#include "grove/make.h"

/* Wishes of a gang. */
enum {
    WISH_PACK = 1 << 0,   /* topology constraints of the gang, its groups or its cliques */
    WISH_SPREAD = 1 << 1, /* replicas of the set keep apart */
};

struct backend;

/* A PodGroup in the making: the gang, its set, and what is there (NULL: nothing). */
struct backend_work {
    const struct backend *backend;
    const struct obj *pcs;
    const struct obj *gang;
    const struct obj *existing;
    struct arena *arena;
    str lost; /* set by the writer: a wish that does not fit into the object; empty: none */
};

struct backend {
    const char *name;  /* of the profile, and spec.schedulerName */
    const char *alias; /* short form, accepted in configurations */
    unsigned keeps;    /* wishes */
    void (*prepare)(str gang, str clique, struct labels *labels, struct labels *annotations);
    const struct kind *kind; /* of its PodGroups; NULL: it wants none */
    /* The PodGroup a gang should have, or NULL with *ret_why. */
    struct doc *(*make)(struct backend_work *b, str *ret_why);
    const char *failed;     /* event reason when that cannot be made */
    const char *annotation; /* KEY of an annotation "true" on the gang itself; NULL: none */
};

enum { BACKEND_DEFAULT, BACKEND_GROVE, BACKEND_KAI, BACKEND_VOLCANO, BACKEND_LPX, N_BACKENDS };
extern const struct backend backends[N_BACKENDS];
/* By name or alias; NULL: none. */
const struct backend *backend_find(str name);

extern const struct kind kind_kai_pod_group, kind_volcano_pod_group, kind_kai_topology;

/* ---- what the installation uses ---- */

struct backend_choice {
    unsigned enabled; /* bits 1 << BACKEND_x */
    const struct backend *dflt;
};
/* What the planners of a runtime go by; unless it is called they use all, and the default scheduler
 * by default. */
void backend_use(struct runtime *r, unsigned enabled, const struct backend *dflt);
/* Registers the kinds that these need. */
void backend_register_kinds(unsigned enabled);
bool backend_is_used(const struct world *w, const struct backend *b);
/* That of the set: what the first clique that names one names when it is in use, else the default.
 */
const struct backend *backend_of_set(const struct world *w, const struct obj *pcs);

/* ---- pods ---- */

/* Puts on a pod of the clique what its backend reads. */
void backend_prepare(struct arena *a, const struct world *w, const struct obj *pcs,
                     const struct obj *pclq, struct labels *labels, struct labels *annotations);
/* Writes schedulerName where the pod spec has none and the API's own default is not meant. */
void backend_write_scheduler(struct jw *w, const struct world *world, jval pod_spec);

/* ---- PodGroups ---- */

struct backend_env;
struct backend_groups {
    struct cache *cache; /* NULL: not in use */
    bool known;          /* the cluster serves the kind: the cache has been filled */
    struct backend_env *env;
};
struct backend_env { /* ctx of the planner */
    struct backend_groups groups[N_BACKENDS];
    usec started; /* steady time */
    struct cache *gangs;
    struct controller *controller;
    /* KAI's topologies, for bindings */
    struct backend_groups topologies;
    struct cache *bindings;
    struct controller *topology_controller;
    bool embedded; /* our scheduler is behind every name and reads bindings itself */
};
/* PodGroups by gang, and topologies by ClusterTopologyBinding. */
planner_fn backend_plan, backend_topology_plan;
/* How long a kind may be unknown after start before that is told: caches fill first. */
#define BACKEND_MISSING_AFTER (10 * USEC_PER_SEC)
/* Adds both with their caches, for the backends in use. Call before the runtime starts; free it
 * when the runtime plans no more and its loop and API are still there. */
struct backend_env *backend_add(struct runtime *r, struct api *api);
void backend_env_free(struct backend_env *e);
/* Where the embedded control plane is all there is: what bindings say of themselves, and no more.
 */
void backend_add_embedded(struct runtime *r, struct api *api);

/* ---- inside ---- */

void backend_topology_add(struct backend_env *e, struct runtime *r, struct api *api);
struct doc *kai_make(struct backend_work *b, str *ret_why);
struct doc *volcano_make(struct backend_work *b, str *ret_why);

#endif
