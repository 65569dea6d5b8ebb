/* The inside of the tables, shared by their files (tables.c: life; tables_class.c, tables_gangs.c,
 * tables_nodes.c, tables_pods.c: how each kind of change is folded). Nobody else includes this. */
#ifndef SCHED_MODEL_TABLES_IMPL_H
#define SCHED_MODEL_TABLES_IMPL_H

#include "sched/model/tables.h"

/* ---- classes ---- */

/* It asks for other things now, or may go elsewhere. */
bool class_differs(const struct obj *old, const struct obj *new);
bool class_admitted(struct tables *t, const struct obj *pod, const struct snap_node *n);
/* p->cls and p->refused. */
void pod_classify(struct tables *t, struct tpod *p);

/* ---- gangs ---- */

struct tgang *gang_ensure(struct tables *t, str key);
void gang_forget_if_empty(struct tables *t, struct tgang *g);
/* It may want pods again. */
void gang_open(struct tgang *g);
/* Its cliques, as its object says; and none. */
void cliques_read(struct tables *t, struct tgang *g);
void cliques_leave(struct tables *t, struct tgang *g);
void gang_set(struct tables *t, const struct obj *o);
/* Keys that replicas are spread over and no topology has get a tree of their own. */
bool gang_spreads_anew(const struct tables *t, const struct obj *gang, str *ret_key);
void gang_on_change(void *sched, const struct obj *old, const struct obj *new);

/* ---- nodes ---- */

void node_on_change(void *sched, const struct obj *old, const struct obj *new);
/* Every binding's levels from broad to narrow; the host is always there. The first serves gangs
 * that name none. */
void trees_add(struct tables *t, const struct world *w);

/* ---- pods ---- */

void pod_set(struct tables *t, const struct obj *o);
void pod_on_change(void *sched, const struct obj *old, const struct obj *new);

#endif
