/* Inside the invariants: each check has its state and looks at every event. */
#ifndef SIM_INV_IMPL_H
#define SIM_INV_IMPL_H

#include "base/list.h"
#include "base/map.h"
#include "sim/invariants.h"

/* ---- helpers ---- */

/* A count by text. What is counted back to zero takes no memory. Returns the new count. */
int64_t counter_add(struct map *m, str key, int64_t delta);
int64_t counter_get(const struct map *m, str key);
void counters_done(struct map *m);

void inv_fail(struct invariants *v, const char *check, const char *fmt, ...) PRINTF_LIKE(3, 4);
/* Wall time as it would be if nobody had ever set the clock. */
usec inv_wall(const struct invariants *v);
/* By the same clock; 0: it is not, or was never seen. */
usec inv_made(const struct invariants *v, const struct obj *o);
usec inv_breached(const struct invariants *v, const struct obj *o); /* MinAvailableBreached */
usec inv_ready(const struct invariants *v, const struct obj *pod);  /* Ready, as it says now */
/* How old what a component knows may be. */
usec inv_lag(const struct invariants *v);
const struct store *inv_store(const struct invariants *v);
/* The object whose name this value of a label stands for, which may be longer. */
const struct obj *inv_labelled(const struct invariants *v, const struct kind *k, str ns, str label);
/* What the template calls a clique or group of the set that is of the map's replica; empty: it is
 * not. */
str inv_template_name(const struct invariants *v, const struct obj *map, const struct obj *o);

/* The object after the event; NULL when it is gone. */
static inline const struct obj *event_now(const struct store_event *e)
{
    return e->type == STORE_DELETED ? NULL : e->obj;
}

bool pod_has_finished(const struct obj *pod);
str pod_node(const struct obj *pod);

/* ---- times ---- */

struct inv_times {
    struct map made, asked, breached, ready, moved; /* uid -> when */
};

/* Before all checks. */
void times_learn(struct invariants *v, struct inv_times *t, const struct store_event *e);
void times_event(struct invariants *v, const struct inv_times *t, const struct store_event *e);
void times_done(struct inv_times *t);

/* ---- deletes ---- */

struct inv_deletes {
    struct map owners; /* uid -> struct inv_owner */
    struct map asked;  /* uids */
    struct map over;   /* uids of pods that have finished, whatever they say now */
};

void deletes_event(struct invariants *v, struct inv_deletes *d, const struct store_event *e);
void deletes_done(struct inv_deletes *d);
/* It goes for a reason that asks for no budget: a user's, its owner's, a lost node, a gang that
 * must make room or is recycled, fewer wanted. Told before `deletes` has seen it go. */
bool deletes_was_forced(const struct invariants *v, const struct obj *o);
bool deletes_is_forced(const struct invariants *v, const struct inv_deletes *d,
                       const struct obj *o);
/* The most replicas a live clique ever wanted, -1: not live. */
int64_t deletes_most_replicas(const struct inv_deletes *d, str pclq_uid);

/* ---- gangs ---- */

struct inv_gangs {
    usec window;
    struct map gangs;  /* "namespace/label" -> struct inv_gang */
    struct map bound;  /* "namespace/gang label/clique label" -> pods on nodes */
    struct map active; /* the same -> pods that are not going */
    struct list partial;
};

void gangs_init(struct inv_gangs *g, usec window);
void gangs_event(struct invariants *v, struct inv_gangs *g, const struct store_event *e);
void gangs_tick(struct invariants *v, struct inv_gangs *g);
void gangs_done(struct inv_gangs *g);

/* ---- versions ---- */

struct inv_versions {
    struct map pods;     /* "namespace/gang label/clique label=template hash" -> active pods */
    struct map versions; /* the same without the hash -> different hashes */
    struct map excused;  /* the same, or uid of a set -> until when it is not judged */
    usec disturbed;      /* when something last went wrong by itself, or was scaled */
    usec fewer_idle; /* when there was last one less that does not serve, and no update did it */
};

void versions_event(struct invariants *v, struct inv_versions *x, const struct store_event *e);
void versions_done(struct inv_versions *x);

/* ---- pods that follow each other ---- */

struct inv_pods {
    struct map places;  /* "namespace/clique label/index" -> struct place: who of it runs */
    struct map ended;   /* uids of pods that have finished, whatever a late word says of them */
    struct map lost;    /* node -> until when it was unreachable */
    struct map relaxed; /* clique -> until when it said TerminatingOrFailed */
    struct map excused; /* uids of pods let go for one of these reasons */
    struct map names;   /* "clique uid/name" -> struct name_fate */
    bool loses_answers; /* of writes: nobody says whether they were done */
    usec restarted;     /* when a component was last started anew; 0: never */
};

void running_event(struct invariants *v, struct inv_pods *p, const struct store_event *e);
void names_event(struct invariants *v, struct inv_pods *p, const struct store_event *e);
void pods_done(struct inv_pods *p);

/* ---- starts ---- */

struct inv_starts {
    struct map cliques; /* "namespace/clique label" -> struct start_clique: who is ready */
    struct map through; /* uids of pods that were let through */
    struct map shorts;  /* "Kind/namespace/name" -> when fewer than the minimum were last wanted */
};

void starts_event(struct invariants *v, struct inv_starts *x, const struct store_event *e);
void starts_done(struct inv_starts *x);

/* ---- rolls ---- */

struct inv_updates {
    struct map disturbed; /* uid of a set, group or clique -> until when it is not judged */
    struct map new_terms; /* uid of a set -> until when old ones may be believed */
};

void updates_event(struct invariants *v, struct inv_updates *u, const struct store_event *e);
void updates_done(struct inv_updates *u);
/* Units that a clique or group is to have above its number, as long as it is updated. */
int64_t surged_replicas(const struct obj *component);
/* What a map of gangs says that it holds of a component above its number. */
struct mapped_surge {
    int64_t replicas;
    char hash[64]; /* the version */
};
struct mapped_surge mapped_surge(const struct obj *map, str component);

/* ---- progress ---- */

void progress_event(struct invariants *v, const struct store_event *e);

#endif
