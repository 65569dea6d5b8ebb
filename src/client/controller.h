/*
 * The runtime that drives every planner: caches -> queue -> planner -> executor -> API, one
 * direction. The same code in all three settings (embedded, cluster, simulated).
 *
 * Queue: client-go's dirty/processing sets. A key is planned by at most one plan at a time; a key
 * that becomes dirty while its plan runs is planned again at the end. If the key's own object
 * changes generation or gets a deletionTimestamp meanwhile, unsent writes are dropped, those in
 * flight are awaited and the key is planned anew. Failures back off per key (5 ms doubling to 30 s,
 * jitter); a key that backs off waits even when it becomes dirty, unless its own object changed so.
 * Due times are timers; nothing polls.
 *
 * Executor: sends the writes of a stage with bounded parallelism, creates ramping 1, 2, 4, ...
 * until the first refusal (403, 422, 429); every answer goes into the cache before the key is
 * looked at again. AlreadyExists, Conflict and NotFound mean the cache was behind: the object is
 * fetched live into the cache and the key planned anew. A write with unknown outcome is followed by
 * a live GET of its object before its key is planned again.
 */
#ifndef CLIENT_CONTROLLER_H
#define CLIENT_CONTROLLER_H

#include "client/cache.h"
#include "client/failure.h"
#include "client/plan.h"
#include "loop/clock.h"

struct runtime;
struct controller;

/* What a planner may see. It does not change during one call, but is not a consistent cut across
 * kinds. */
struct world {
    usec now; /* wall time: for what is written; how long ago something was is asked below */
    const struct clock *clock; /* NULL: a wall clock that nobody sets; for tests of planners */
    bool foreign_clocks;       /* see runtime_set_foreign_clocks */
    struct runtime *runtime;
    const struct failures *failed; /* of the key being planned; see world_last_failure */
};

/*
 * How long ago something was. Objects carry wall times, and wall clocks are set: what is decided
 * after a delay compares moments of steady time (loop/clock.h), which are not written anywhere.
 * Where a moment is not known exactly it is the latest it may have been: delays may become longer,
 * never shorter. (A plan says how long to wait, not until when.)
 */
usec world_steady(const struct world *w);
/* When a wall time was that this component has written, itself or before it was started anew. */
usec world_moment(const struct world *w, usec wall);
/* When a wall time was that the object carries and that somebody else wrote. Where that may have
 * been on another machine it is not before the object was first seen, and not after this version of
 * it was. */
usec world_moment_in(const struct world *w, const struct obj *o, usec wall);
/* When it was made, for delays that begin with that. */
usec world_created(const struct world *w, const struct obj *o);
/* The same, to compare with another moment: for an object that was there before us, what its time
 * of creation says. */
usec world_made(const struct world *w, const struct obj *o);
/* A wall time as today's clock would have shown it, for times that are not cut off and for those
 * that are written again. o: who carries it, where somebody else wrote it; NULL: this component. */
usec world_rebased(const struct world *w, const struct obj *o, usec wall);
/* The same of a time in whole seconds that came with the version of the object that we have: cut
 * off as it is, it was not after we saw that version. So it is exact, within the time that news
 * take, until something else of the object changes; then, and after a restart, it may be up to a
 * second late. */
usec world_rebased_seen(const struct world *w, const struct obj *o, usec wall);
/* When the object, and this version of it, came into our cache, as steady time; false: it is not
 * there, or nobody knows. Whatever its own times say. */
bool world_seen(const struct world *w, const struct obj *o, struct cache_seen *ret);
/* What our wall clock showed at a moment. */
usec world_shown(const struct world *w, usec moment);
/* Has the delay since a moment passed? Else the plan is to be looked at again when it has. A delay
 * of nothing has passed. */
bool world_has_passed(const struct world *w, usec moment, usec delay, struct plan *p);

/* NULL when the runtime has no cache of that kind (a bug of the caller). */
struct cache *world_cache(const struct world *w, const struct kind *k);
/* What runtime_configure was given under this tag; NULL: nothing. */
const void *world_config(const struct world *w, const void *tag);
struct obj *world_get(const struct world *w, const struct kind *k, str ns, str name);
/* Objects whose controller owner has this UID, in name order. */
struct cache_iter world_owned(const struct world *w, const struct kind *k, str owner_uid);
/* A delete of this UID is in an accepted plan and not yet seen in the cache. */
bool world_is_intended(const struct world *w, str uid);
/* How many serving units of a component are so: what accepted plans of any controller delete with
 * this component_uid (and without not_serving), and the cache does not show yet. O(those). */
size_t world_intended_count(const struct world *w, str component_uid);

/* A create of this name was sent, nobody said whether it was done, a live read said that it was
 * not, and yet it may still be (unsure.h): who still wants the object asks for it under this name.
 */
bool world_is_unsure(const struct world *w, const struct kind *k, str ns, str name);
/* Is there any such create? Cheap. */
bool world_has_unsure(const struct world *w);
/*
 * What the writes of a key failed with the last time, by this controller or, if they did not, by
 * another of the runtime; NULL when they did not, or with nothing worth telling: forbidden and
 * invalid count at once, a busy or silent server from the third time in a row on, a cache that was
 * behind never. For status.lastErrors and the warnings that go with it (operator/common/errors.h
 * turns it into both):
 *
 *  - A stage starts only when the one before succeeded, so a status that tells of a failure goes
 *    into the first stage; in the last it would wait for what fails.
 *  - When at last all writes succeed, the key is looked at once more without it, so the list of
 *    errors can be emptied. Other controllers that watch the key's kind with map_self are told of
 *    both, so one controller may report what another's writes came to.
 */
const struct failures *world_last_failure(const struct world *w, const struct key *key);

typedef void planner_fn(const struct world *w, const struct key *key, void *ctx,
                        struct plan *ret_plan);
/* Keys to look at because an object changed. */
typedef void map_fn(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new);

struct controller_watch {
    const struct kind *kind;
    map_fn *map;
};

struct controller_def {
    const char *name; /* in metrics and the journal: "podclique-controller" */
    /* Field manager and event source; NULL: the name. For the parts of one controller. */
    const char *source;
    planner_fn *plan;
    void *ctx;
    const struct controller_watch *watches;
    size_t n_watches;
    unsigned max_in_flight; /* writes; 0: 32 */
    /* A key that was idle is planned at once, and then at most once in this time, however many
     * changes come; the last one is always looked at. A change of generation or deletionTimestamp
     * of the key's own object does not wait. 0: no limit. */
    usec min_interval;
    /* For what only tells how things stand: as long as other controllers of the runtime have keys
     * to plan or writes in flight, a key waits for them, but no longer than this. Many changes then
     * make one write when much happens, and nothing waits when little does. 0: it does not wait. */
    usec patience;
    /* It takes samples at its own pace, by look_again: nothing that it samples wakes a key, and
     * runtime_replan leaves it out. */
    bool samples;
    /* For a controller of every kind there is: asked when it is added and whenever kinds came or
     * went (kinds.h), to controller_watch those that are new. */
    void (*on_kinds)(struct controller *c);
    void (*ctx_free)(void *ctx); /* with the controller; NULL: nothing to do */
    /* Does what a plan asks of others than the API (plan_act), or begins to. */
    void (*act)(void *ctx, const struct world *w, const struct key *key, const struct plan_act *a);
};

/* `api` is who the controller acts as; caches are shared by all controllers of a runtime and use
 * the runtime's own. */
struct runtime *runtime_new(struct loop *l, struct api *cache_api);
struct controller *runtime_add(struct runtime *r, const struct controller_def *def,
                               struct api *api);
/* The shared cache of a kind, made on first use; before runtime_start, or from on_kinds. */
struct cache *runtime_cache(struct runtime *r, const struct kind *k);
/* The same of a kind that a server may lack: while it does (cache_is_absent), nobody waits for it.
 */
struct cache *runtime_cache_optional(struct runtime *r, const struct kind *k);
/* A cache of one object alone (ns empty: of no namespace), for a process that is allowed to see
 * that object and not its kind: it asks for it by name, which resourceNames in a role allow. Who
 * asks the world for this name is answered from here. The same cache for the same name. */
struct cache *runtime_cache_named(struct runtime *r, const struct kind *k, str ns, str name);
/* The runtime's controllers see only those of the kind that have these labels (a selector that
 * stays): for a process that would otherwise hold what a whole cluster has. Before the first use of
 * the cache. */
void runtime_filter(struct runtime *r, const struct kind *k, str labels);
/* Controllers plan only after every cache is synced. */
void runtime_start(struct runtime *r);
/* Instead of planning: fills the caches, keeps them, and waits for runtime_lead. Before
 * runtime_start, or when the lease is given back: what is planned already goes on. */
void runtime_set_standby(struct runtime *r);
/* We are the leader now (election.h): every cache is read anew, consistently, so that the first
 * plan sees all that the leader before us did, and then controllers plan. */
void runtime_lead(struct runtime *r);
bool runtime_is_synced(const struct runtime *r);
/* Synced, nothing queued, nothing in flight, nothing waiting to be retried. Looks that a plan asked
 * for and that are not due yet do not count, nor does what watches have yet to bring. */
bool runtime_is_idle(const struct runtime *r);
/* Watches that show nothing for this long are reopened (0, the default: never); before the first
 * runtime_cache or runtime_add. For an API behind a network. */
void runtime_set_stall_timeout(struct runtime *r, usec timeout);
/* Forgets the folds of every cache (cache.h); they are made anew when asked for. */
void runtime_drop_folds(struct runtime *r);
/* Another clock than one of its own; it must outlive the runtime. Before runtime_start. */
void runtime_set_clock(struct runtime *r, struct clock *clock);
/* Wall times in objects may be those of other machines (world_moment_in). */
void runtime_set_foreign_clocks(struct runtime *r);
struct clock *runtime_clock(struct runtime *r);
/* For who asks the caches outside a plan. */
struct world runtime_world(struct runtime *r);
/* Simulations: does so at random, drawn from this seed and nothing else. */
void runtime_set_forgetful(struct runtime *r, uint64_t seed);
/* Simulations, at rest: begin makes every key that the watches of any object lead to dirty, as if
 * the object had just appeared; end it when the runtime is idle again. A plan that has something to
 * write then reads something that does not wake its key. */
void runtime_replan(struct runtime *r, bool begin);
/* Tests of planners: as if a create of this name might still happen (world_is_unsure). */
void runtime_note_unsure(struct runtime *r, const struct kind *k, str ns, str name);
/* The configuration of a component, for its planners: world_config finds a copy of the data under
 * the tag, which is an address of the component's own. A second call replaces the first. */
void runtime_configure(struct runtime *r, const void *tag, const void *data, size_t size);
/* The ledger's say (design: one availability ledger): asked at acceptance, for each write with a
 * component_uid in the order planned, whether it still fits; deletes accepted before, those of the
 * same plan included, are in the world (world_is_intended, world_intended_count). It is not asked
 * about writes marked user_scale_in or not_serving. False: *ret_reason says why in one sentence
 * with numbers; the write is left out, an event DisruptionRefused says so on the key's own object,
 * and the key is looked at when something changes or after a growing pause (100 ms to 10 s).
 * A refusal is not a failure: the rest of the plan is carried out. */
typedef bool ledger_fn(void *ctx, const struct world *w, const struct plan_write *write,
                       struct strbuf *ret_reason);
void runtime_set_ledger(struct runtime *r, ledger_fn *fn, void *ctx);
void runtime_free(struct runtime *r);

/* One object of a kind, seen through runtime_cache_named; before runtime_start. */
void controller_watch_named(struct controller *c, const struct kind *k, str ns, str name,
                            map_fn *map);
/* One more kind, before runtime_start or from on_kinds; the controller plans nothing while its
 * cache is being filled. The caches of kinds that are defined (KIND_DEFINED) stop when the kind is
 * retired and start anew when it comes back. */
void controller_watch(struct controller *c, const struct kind *k, map_fn *map);
struct runtime *controller_runtime(struct controller *c);
void *controller_ctx(const struct controller *c);
/* From map functions and set-up code. */
void controller_enqueue(struct controller *c, const struct kind *k, str ns, str name);
/* Maps that most controllers need. */
void map_self(struct controller *c, const struct world *w, const struct obj *old,
              const struct obj *new);
/* To the controller owner, as the owner reference names it; only owners of a kind that this
 * controller watches with map_self, when it watches any so. Old and new owner when that changed. */
void map_controller_owner(struct controller *c, const struct world *w, const struct obj *old,
                          const struct obj *new);

/* The same figures, by controller, are in /metrics of the process without further ado:
 * workqueue_{depth,adds_total,retries_total,queue_duration_seconds} and
 * grove_controller_{plans,writes,refusals}_total, label name. */
struct controller_stats {
    uint64_t plans;     /* planner calls */
    uint64_t writes;    /* sent */
    uint64_t failures;  /* plans that failed and were tried again */
    uint64_t refusals;  /* writes the ledger refused */
    size_t queued;      /* keys ready at present */
    unsigned in_flight; /* writes at present */
    unsigned window;    /* writes in flight it allows itself, adapted to 429s */
    usec wait_sum;      /* of all keys, from ready to planned */
    usec wait_max;
};
struct controller_stats controller_stats(const struct controller *c);
const char *controller_name(const struct controller *c);

/* One line per plan with writes and why; without a function they go to the log, at level debug:
 * "12.000345 podclique default/foo: create Pod default/foo-abc12 (2 of 5 pods exist)". */
void runtime_set_journal(struct runtime *r, void (*fn)(void *ctx, str line), void *ctx);
/* Decisions are also kept there, by object; it must outlive the runtime. NULL: nowhere. */
struct journal; /* journal.h */
void runtime_keep_journal(struct runtime *r, struct journal *j);
struct loop *runtime_loop(struct runtime *r);

#endif
