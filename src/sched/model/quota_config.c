/* See quota_config.h. */
#include "sched/model/quota_config.h"

#include "base/quantity.h"
#include "json/yaml.h"

/* ---- values ---- */

static int read_count(jval v, const char *what, int64_t least, int64_t *ret, struct err *err)
{
    if (j_is_absent(v))
        return 0;
    if (jtype(v) != J_INT || (*ret = jint(v, -1)) < least || *ret > 1000000)
        return err_set(err, ERR_INVALID, "%s: must be a whole number from %lld to 1000000", what,
                       (long long)least);
    return 0;
}

static int read_amount(str resource, jval v, int64_t *ret, struct err *err)
{
    struct quantity q;
    str text = jtype(v) == J_STRING ? jstr(v) : jtext(v);
    if (quantity_parse(text, &q, NULL) || quantity_sign(&q) < 0)
        return err_set(err, ERR_INVALID, "%.*s: %.*s is not an amount", STR_ARG(resource),
                       STR_ARG(text));
    *ret = str_is(resource, "cpu") ? quantity_milli(&q) : quantity_value(&q);
    return 0;
}

static int read_amounts(jval map, const char *what, quota_amounts *ret, struct err *err)
{
    if (j_is_absent(map))
        return 0;
    if (jtype(map) != J_OBJECT || jlen(map) > QUEUE_RES_MAX)
        return err_set(err, ERR_INVALID, "%s: must be a map of at most %d resources", what,
                       QUEUE_RES_MAX);
    for (struct jiter it = jiter(map); jnext(&it);) {
        struct quota_amount a = {it.key, 0};
        if (read_amount(it.key, it.value, &a.amount, err))
            return err_wrap(err, "%s", what);
        *vec_push(ret) = a;
    }
    return 0;
}

static int check_members(jval map, const char *const *known, size_t n, struct err *err)
{
    if (jtype(map) != J_OBJECT)
        return err_set(err, ERR_INVALID, "must be a map");
    for (struct jiter it = jiter(map); jnext(&it);) {
        bool good = false;
        for (size_t i = 0; i < n; i++)
            good = good || str_is(it.key, known[i]);
        if (!good)
            return err_set(err, ERR_INVALID, "unknown member %.*s", STR_ARG(it.key));
    }
    return 0;
}

static int read_cells(jval list, struct quota_queue *q, struct err *err)
{
    static const char *const known[] = {"level", "count"};
    if (jlen(list) > QUOTA_CELLS_MAX)
        return err_set(err, ERR_INVALID, "cells: at most %d", QUOTA_CELLS_MAX);
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct quota_cell *c = &q->cells[q->n_cells++];
        if (check_members(it.value, known, ARRAY_LEN(known), err) ||
            read_count(jgetc(it.value, "count"), "count", 1, &c->count, err))
            return err_wrap(err, "cells");
        c->level = jstr(jgetc(it.value, "level"));
        if (str_is_empty(c->level) || c->count == 0)
            return err_set(err, ERR_INVALID, "cells: level and count are needed");
    }
    return 0;
}

/* ---- queues ---- */

static int read_queue(jval v, struct quota_queue *q, struct err *err)
{
    static const char *const known[] = {"name",  "parent", "weight", "priority",
                                        "quota", "limit",  "cells",  "minRuntime"};
    str runtime = jstr(jgetc(v, "minRuntime"));
    *q = (struct quota_queue){.parent = -1, .weight = 1, .name = jstr(jgetc(v, "name"))};
    if (check_members(v, known, ARRAY_LEN(known), err) ||
        read_count(jgetc(v, "weight"), "weight", 1, &q->weight, err) ||
        read_count(jgetc(v, "priority"), "priority", 0, &q->priority, err) ||
        read_amounts(jgetc(v, "quota"), "quota", &q->quota, err) ||
        read_amounts(jgetc(v, "limit"), "limit", &q->limit, err) ||
        read_cells(jgetc(v, "cells"), q, err))
        return err->code;
    if (j_has(jgetc(v, "minRuntime")) &&
        (!duration_parse_usec(runtime, &q->min_runtime) || q->min_runtime < 0))
        return err_set(err, ERR_INVALID, "minRuntime: must be a duration such as 10m");
    return 0;
}

int32_t quota_config_find(const struct quota_config *c, str name)
{
    for (size_t i = 0; i < c->list.len; i++) {
        if (str_eq(c->list.p[i].name, name))
            return (int32_t)i;
    }
    return -1;
}

static void queue_done(struct quota_queue *q)
{
    vec_done(&q->quota);
    vec_done(&q->limit);
}

static int add_queue(struct quota_config *c, jval v, struct err *err)
{
    struct quota_queue q;
    str parent = jstr(jgetc(v, "parent"));
    int code = read_queue(v, &q, err);
    if (!code && str_is_empty(q.name))
        code = err_set(err, ERR_INVALID, "a name is needed");
    if (!code && quota_config_find(c, q.name) >= 0)
        code = err_set(err, ERR_INVALID, "there are two of this name");
    if (!code && !str_is_empty(parent)) {
        q.parent = quota_config_find(c, parent);
        if (q.parent < 0)
            code = err_set(err, ERR_INVALID, "its parent %.*s is not among the queues before it",
                           STR_ARG(parent));
    }
    if (code) {
        queue_done(&q);
        return err_wrap(err, "queue %.*s", STR_ARG(q.name));
    }
    if (q.parent >= 0)
        c->list.p[q.parent].inner = true;
    *vec_push(&c->list) = q;
    return 0;
}

static int read_list(struct quota_config *c, struct err *err)
{
    static const char *const known[] = {"queues"};
    jval list = jgetc(doc_root(c->doc), "queues");
    if (check_members(doc_root(c->doc), known, ARRAY_LEN(known), err))
        return err->code;
    if (jtype(list) != J_ARRAY || jlen(list) >= QUEUES_MAX)
        return err_set(err, ERR_INVALID, "queues: must be a list of less than %d", QUEUES_MAX);
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (add_queue(c, it.value, err))
            return err->code;
    }
    if (quota_config_find(c, STR("default")) < 0)
        *vec_push(&c->list) =
            (struct quota_queue){.name = STR("default"), .parent = -1, .weight = 1};
    return 0;
}

struct quota_config *quota_config_new(str yaml, struct err *err)
{
    struct quota_config *c = xnew(struct quota_config);
    c->doc = yaml_parse_one(yaml, err);
    if (c->doc && !read_list(c, err))
        return c;
    quota_config_free(c);
    return NULL;
}

void quota_config_free(struct quota_config *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->list.len; i++)
        queue_done(&c->list.p[i]);
    vec_done(&c->list);
    doc_unref(c->doc);
    free(c);
}
