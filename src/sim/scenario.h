/*
 * Scenarios: what befalls a simulated world and what must come of it, as a YAML file.
 *
 *   about: one sentence
 *   waits-for: what            what must be built or mended before it can hold; not run by tests
 *   cluster: {nodes: 20, profile: h100, tainted: false, start: 300ms, stop: 200ms}
 *   processes: one | split       who shares caches: all (as `grove up`), or one process per
 *                                component; by default odd seeds are split
 *   seeds: 4                     how many to run with
 *   limit: 10m                   virtual time a settle or await may take
 *   faults: {lag: 300ms, delay: 20ms, timeout: 1s, refuse-watch-list: false,
 *            drop, error, gateway, lost-reply, late, conflict, throttle: percent of requests,
 *            watch-end, watch-expired, watch-silent: per thousand events}    or: none
 *   invariants: {without: [NAME], gang-window: 60s}
 *   never: [WATCH]
 *   steps: [STEP]
 *
 * STEP is a map of one member:
 *   apply: OBJECT or [OBJECT]; apply-file: PATH (beside the scenario)
 *   refused: {apply: OBJECT, saying: TEXT or [TEXT]} (the server does not take it, and says so)
 *   scale: {pcs/NAME: 3}; patch: {object: WHICH, merge: {...}, subresource: status}
 *   change: {SET: {CLIQUE: 2}} (image busybox:2 in the first container of its template)
 *   metrics: {pcs/NAME: {load.cpu: 10, metric.q: null}} (said, or no more, see metrics_source.h)
 *   feed: {metric: q, value: 40, for: 10m, of: WHICH} (each of them; without `of` an external
 * metric of namespace default, with labels: queue=a,zone=z), see metrics_feed.h delete: WHICH
 * (orphan: true: what it owns stays; grace: 0: by force); heal: WHICH crash: WHICH (failed: true:
 * for good) cordon, uncordon, fail, recover: NODES stop, start, restart: all | api | operator |
 * scheduler | nodes (all, where they are one process) clock: {process: all | api | operator |
 * scheduler | nodes, step: 1h, or drift: 200ppm} its wall clock is set by so much (-5s: back), or
 * runs so much faster from now on; api has the clock by which objects are created break-watches:
 * broken | expired faults: as above, from now on advance: 5s, or 0s..5s (drawn), or {revisions: 3},
 * or {revisions: seed} (as many as the number of the seed: with each seed what follows comes one
 * revision later) settle: {}, or {limit: 5m, check: false} until nothing happens any more; then
 * everything must be as the sets say (oracle.h), and faults other than delay and lag are over
 *   expect: EXPECTATION or a list
 *   await: the same, or {until: ..., within: 30s}
 *   quiet: 30s    nothing may be written for so long
 *   remember: {as: NAME, kind: ...}
 *   never: WATCH; forget: {}     from now on; no longer
 *   repeat: {times: 3, steps: [STEP]}
 *   random: {ops: 30, wait: 0s..2s, sets: [OBJECT], of: [OP], most: 3, clocks: true}, see random.c
 *
 * WHICH    pcs/NAME, or a query (query.h) with first: N or any: N (drawn)
 * NODES    a name, a list of names, a number (the first so many), all, or {of: query of pods}
 * WATCH    a query with over: N, or with under: N (once that many have been reached); judged at
 *          every revision
 * EXPECTATION  a query with is, min or max (default: min 1); distinct: PATH (all values differ);
 *          kept: NAME or fresh: NAME (of those remembered, or not of those);
 *          placed: {LABEL: N} (the pods sit on nodes with N different values of the label; a text:
 *          with this value; null: without it), with each: LABEL or a list (judged for the pods of
 *          each value of these labels of theirs, not for all of them together);
 *          {order: [query with nth: N, ...]} (in this order did the N-th object come to match);
 *          {converged: true} (oracle.h)
 *
 * A failing run says which step, what was expected and what was there, and the command that repeats
 * it.
 */
#ifndef SIM_SCENARIO_H
#define SIM_SCENARIO_H

#include "sim/sim.h"

struct scenario;

struct scenario *scenario_load(const char *path, struct err *err);
/* The same from text; the path gives its name, and where the files it names are. */
struct scenario *scenario_parse(const char *path, str yaml, struct err *err);
void scenario_free(struct scenario *s);
/* The file's name without the extension. */
const char *scenario_name(const struct scenario *s);
const char *scenario_path(const struct scenario *s);
unsigned scenario_seeds(const struct scenario *s);
/* NULL: nothing. */
const char *scenario_waits_for(const struct scenario *s);

struct scenario_result {
    struct err err; /* code 0: it held */
    struct sim_stats stats;
    usec time;         /* virtual */
    struct strbuf log; /* the caller frees it */
};

/* 0 or the error, which is also in the result. */
int scenario_run(const struct scenario *s, uint64_t seed, struct scenario_result *ret);

#endif
