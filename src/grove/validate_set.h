/* Inside admission: one check of one PodCliqueSet, and the helpers its rule files share. The
 * numbers in comments (G21, U4, ...) are those of docs/compat.md. */
#ifndef GROVE_VALIDATE_SET_H
#define GROVE_VALIDATE_SET_H

#include "base/map.h"
#include "grove/admission.h"
#include "grove/types.h"
#include "json/write.h"

struct check {
    struct field_errors *errors;
    struct arena *arena;
    const struct grove_context *context;
    jval root; /* the new object */
    jval old;  /* absent on create */
    struct pcs_view set;
    /* A manifest may have ten thousand cliques: names are looked up, never searched. */
    struct map clique_index; /* name -> number + 1 */
    struct map group_index;  /* name -> number + 1 */
    struct map member_index; /* clique name -> number + 1 of its group */
    jval *cliques, *groups;
    /* the same of the old object */
    struct map old_clique_index, old_group_index;
    jval *old_cliques, *old_groups;
};

/* Absent when there is none. */
jval check_clique(const struct check *c, str name);
jval check_group(const struct check *c, str name);
jval check_group_of(const struct check *c, str clique);
jval check_old_clique(const struct check *c, str name);
jval check_old_group(const struct check *c, str name);
/* Is it among the enabled ones? */
/* "router, prefill, decode": what there is, for who named something else. */
str check_clique_names(struct check *c, jval cliques);
bool check_scheduler_known(const struct check *c, str name);

/* A path in the arena. */
str check_path(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The same as JSON text, for the value of an error. */
str check_quoted(struct check *c, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* The error's value is the JSON text of v, "" when it is absent. */
void check_invalid(struct check *c, str path, jval v, const char *fmt, ...) PRINTF_LIKE(4, 5);
void check_required(struct check *c, str path, const char *fmt, ...) PRINTF_LIKE(3, 4);
void check_forbidden(struct check *c, str path, const char *fmt, ...) PRINTF_LIKE(3, 4);
void check_duplicate(struct check *c, str path, jval v);
void check_not_found(struct check *c, str path, jval v, const char *what);

/* Effective topology domains: pack.required, else the older packDomain. */
jval topology_required(jval constraint);
jval topology_preferred(jval constraint);

/* The rule files. */
void validate_cliques(struct check *c);  /* cliques, pods, startup order */
void validate_groups(struct check *c);   /* scaling groups, autoscaling, names */
void validate_sharing(struct check *c);  /* resource claim templates and sharing */
void validate_topology(struct check *c); /* constraints against their binding; create only */
void validate_mnnvl(struct check *c);
void validate_backend(struct check *c); /* what the named scheduler asks */
void validate_rolling_update(struct check *c);
void check_older_spellings(struct check *c);
void validate_update(struct check *c);  /* what may not change */
void validate_binding(struct check *c); /* ClusterTopologyBinding */

#endif
