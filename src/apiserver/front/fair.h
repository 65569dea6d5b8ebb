/*
 * fair: whose turn it is. Work waits in one line for each user (a flow), first come first served
 * within it; between flows the one that has had the least is next. Pure: no loop, no clock, and the
 * order of a map never shows.
 *
 * Start-time fair queueing: each piece of work has a cost, and a virtual clock stands at the start
 * of the piece last taken. A flow's next piece starts where its last one ended, but never in the
 * past: who was away saves nothing up, and who comes anew is next or nearly so, however many pieces
 * others have waiting. Of two flows that both always have work neither gets ahead by more than the
 * cost of one piece of each.
 *
 * Some work goes on after its turn for several turns of the loop (a long list is read in steps). It
 * is heavy and needs a seat, which it keeps until it is given back: there are few, and one for each
 * flow, so that however many start such work, a turn of the loop stays short. A flow whose first
 * piece waits for a seat waits with all that is behind it.
 *
 * A flow lives while somebody has a reference: who has work waiting holds one.
 *
 * Example, all pieces of cost 10. User a sends 100 pieces at once; the clock is 0, and its pieces
 * start at 0, 10, 20, ... Three of them are taken; the clock is 20, the start of the third, and a's
 * next piece starts at 30. Now user b sends two pieces. The first starts at 20, where the clock is:
 *
 *   taken   b@20   a@30   b@30   a@40   a@50  ...
 *
 * (At 30 both are equal, and a has waited longer.) b waits for no more than one piece of a, however
 * many a has waiting. If b's pieces cost 40, b would be served at 20 and then at 60, with three of
 * a's in between: equal shares by cost, not by number.
 *
 * Invariants. The clock never goes back. A flow with work is in exactly one of ready and blocked.
 */
#ifndef APISERVER_FRONT_FAIR_H
#define APISERVER_FRONT_FAIR_H

#include "base/heap.h"
#include "base/list.h"
#include "base/map.h"

enum { FAIR_SEATS = 2, FAIR_SEATS_EACH = 1 };

struct fair {
    struct map flows;
    struct heap ready;   /* flows whose first piece may be taken */
    struct list blocked; /* flows whose first piece waits for a seat */
    uint64_t now;        /* virtual: start of the piece last taken */
    uint64_t order;
    size_t n_items;
    size_t n_seats; /* taken */
};

struct fair_flow {
    str name;
    size_t refs;
    struct heap_node node;
    struct list link; /* fair.blocked */
    struct list items;
    size_t n_items;
    uint64_t start; /* of its first piece, or where the next one would start */
    uint64_t order; /* among equals: who has waited longer */
    size_t n_seats;
    /* The owner's counts of what the user has open. */
    size_t n_calls, n_watches, n_connections;
    size_t held;         /* bytes */
    int64_t paid_off;    /* when long work of the user's will have been made up for; a time */
    bool overran;        /* some of that took longer than anybody thought */
    struct list resting; /* it is kept until then */
};

struct fair_item {
    struct list link;
    struct fair_flow *flow;
    uint32_t cost;
    bool needs_seat;
};

void fair_init(struct fair *f);
/* All flows must be gone. */
void fair_done(struct fair *f);
/* The flow of that name with one more reference. */
struct fair_flow *fair_flow_get(struct fair *f, str name);
void fair_flow_put(struct fair *f, struct fair_flow *w);

/* item->flow, cost and needs_seat are set; it must not be waiting. */
void fair_push(struct fair *f, struct fair_item *i);
/* The next piece, taken out, with its seat if it needs one; NULL: none may be taken now. */
struct fair_item *fair_pop(struct fair *f);
/* Taken back; does nothing when it does not wait. */
void fair_remove(struct fair *f, struct fair_item *i);
bool fair_is_waiting(const struct fair_item *i);
/* Something may be taken. */
bool fair_is_ready(const struct fair *f);
void fair_release_seat(struct fair *f, struct fair_flow *w);

#endif
