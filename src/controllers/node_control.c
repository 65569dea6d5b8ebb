/* What the planners of node_control.h share; see node_control_impl.h. */
#include "controllers/node_control_impl.h"

#include "grove/pod.h"

str node_readiness(const struct obj *node)
{
    jval c = condition_find(jgetc(obj_status(node), "conditions"), STR("Ready"));
    return jstr(jgetc(c, "status"));
}

bool node_is_ready(const struct obj *node)
{
    return str_is(node_readiness(node), "True");
}

const char *node_lost_taint(const struct obj *node)
{
    str readiness = node_readiness(node);
    if (str_is(readiness, "False"))
        return TAINT_NOT_READY;
    return str_is(readiness, "Unknown") ? TAINT_UNREACHABLE : NULL;
}

/* ---- taints ---- */

jval node_taints(const struct obj *node)
{
    return jgetc(obj_spec(node), "taints");
}

bool taint_is(jval taint, const char *key, const char *effect)
{
    return str_is(jstr(jgetc(taint, "key")), key) && str_is(jstr(jgetc(taint, "effect")), effect);
}

jval node_taint(const struct obj *node, const char *key, const char *effect)
{
    for (struct jiter it = jiter(node_taints(node)); jnext(&it);) {
        if (taint_is(it.value, key, effect))
            return it.value;
    }
    return (jval){0};
}

void taint_put(struct jw *w, const char *key, const char *effect, usec now)
{
    jw_object(w);
    jw_put_cstr(w, "effect", effect);
    jw_put_cstr(w, "key", key);
    jw_put_time(w, "timeAdded", now);
    jw_end(w);
}

bool taint_since(const struct world *w, const struct obj *node, jval taint, usec *ret)
{
    usec wall;
    if (!time_parse_rfc3339(jstr(jgetc(taint, "timeAdded")), &wall))
        return false;
    *ret = world_moment_in(w, node, wall);
    return true;
}

void taints_begin(struct jw *w)
{
    jw_init(w);
    jw_object(w);
    jw_put_object(w, "spec");
    jw_put_array(w, "taints");
}

struct plan_write *taints_end(struct jw *w, struct plan *p, const struct obj *node)
{
    jw_end(w);
    jw_end(w);
    jw_end(w);
    return plan_merge_patch(p, 0, node, STR_NONE, jw_doc(w), node->rv);
}

/* ---- pods ---- */

const struct obj *world_node_of(const struct world *w, const struct obj *pod)
{
    str name = jstr(jgetc(obj_spec(pod), "nodeName"));
    return name.len ? world_get(w, &kind_node, STR_NONE, name) : NULL;
}

void node_control_add(struct runtime *r, struct api *api, const struct node_control_options *o)
{
    cache_add_index(runtime_cache(r, &kind_pod), pod_index_by_node);
    node_lifecycle_add(r, api, o);
    node_zones_add(r, api);
    taint_eviction_add(r, api);
    pod_gc_add(r, api);
}
