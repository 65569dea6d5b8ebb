/*
 * Queues as an administrator writes them: the ConfigMap grove-queues in grove-system, whose member
 * queues.yaml lists them (docs/guide/queues.md):
 *
 *   queues:
 *   - {name: research, weight: 2, quota: {nvidia.com/gpu: 16}, limit: {nvidia.com/gpu: 64}}
 *   - {name: research-llm, parent: research, priority: 10}
 *   - {name: serving, cells: [{level: kubernetes.io/rack, count: 2}], minRuntime: 10m}
 *
 * Nothing is half believed: a list with a mistake is refused whole, and the one before stays.
 */
#ifndef SCHED_MODEL_QUOTA_CONFIG_H
#define SCHED_MODEL_QUOTA_CONFIG_H

#include "base/timefmt.h"
#include "sched/model/queues.h"
#include "json/doc.h"

#define QUOTA_NAMESPACE "grove-system"
#define QUOTA_NAME "grove-queues"
#define QUOTA_MEMBER "queues.yaml"

enum { QUOTA_CELLS_MAX = 4 };

struct quota_amount {
    str resource;
    int64_t amount; /* cpu in thousandths */
};

typedef VEC(struct quota_amount) quota_amounts;

struct quota_queue {
    str name;
    int32_t parent; /* comes before it; -1: none */
    bool inner;     /* has queues below it */
    int64_t weight, priority;
    usec min_runtime; /* nobody of it must make room before; 0: as above it */
    quota_amounts quota, limit;
    struct quota_cell {
        str level; /* label key */
        int64_t count;
    } cells[QUOTA_CELLS_MAX];
    size_t n_cells;
};

struct quota_config {
    struct doc *doc; /* the names are its */
    VEC(struct quota_queue) list;
};

/* Parents come before children in the list, otherwise as written. "default" is always there. */
struct quota_config *quota_config_new(str yaml, struct err *err);
void quota_config_free(struct quota_config *c);
/* -1: there is none of that name. */
int32_t quota_config_find(const struct quota_config *c, str name);

#endif
