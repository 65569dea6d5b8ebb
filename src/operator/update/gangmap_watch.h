/* Which change concerns maps of gangs, and whom a changed map concerns; for operator.c. */
#ifndef OPERATOR_UPDATE_GANGMAP_WATCH_H
#define OPERATOR_UPDATE_GANGMAP_WATCH_H

#include "client/controller.h"

/* To the maps' planner. */
map_fn gangmap_from_set, gangmap_from_component, gangmap_from_gang, gangmap_from_pod,
    gangmap_from_node, gangmap_from_revision;
/* From a map to gangs that changed, to standalone cliques, to members whose entry changed, to the
 * scaling groups of its replica. */
map_fn gangmap_to_gangs, gangmap_to_cliques, gangmap_to_members, gangmap_to_groups;
/* A group whose update begins to members that have pods of another template: what the update may
 * take was refused them until then. */
map_fn gangmap_pass_to_members;
/* A pod to the gang its label names, before and after; a gang that holds others back to those it
 * holds: only where a map rules. */
map_fn gangmap_pod_to_gang, gangmap_anchor_to_cliques;
/* A standalone clique that lost its minimum, or has it again, to the gangs its pods are in. */
map_fn gangmap_breach_to_gangs;

#endif
