/* What befalls nodes and pods: written through the API, as a node would write it or a user who
 * wants to see it. */
#include "sim/sim_impl.h"

#include "node/machine/life.h"
#include "json/write.h"

/* ---- status ---- */

/* The conditions with some of them given another status; others stay. */
static void put_conditions(struct jw *w, jval old, const char *const *types, size_t n,
                           const char *status, str now)
{
    jw_put_array(w, "conditions");
    for (struct jiter it = jiter(old); jnext(&it);) {
        bool ours = false;
        for (size_t i = 0; i < n; i++)
            ours = ours || str_is(jstr(jgetc(it.value, "type")), types[i]);
        if (!ours)
            jw_val(w, it.value);
    }
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_put_str(w, "lastTransitionTime", now);
        jw_put_cstr(w, "reason", "Simulated");
        jw_put_cstr(w, "status", status);
        jw_put_cstr(w, "type", types[i]);
        jw_end(w);
    }
    jw_end(w);
}

static const char *const pod_types[] = {"Ready", "ContainersReady"};

static int patch_status(struct sim *s, const struct obj *o, struct jw *w, struct err *err)
{
    jw_end(w);
    jw_end(w);
    struct doc *patch = jw_doc(w);
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_MERGE,
                            .kind = o->kind,
                            .ns = o->ns,
                            .name = o->name,
                            .subresource = STR("status"),
                            .body = patch,
                            .field_manager = STR("misfortune")};
    struct obj *hold = obj_ref(o);
    int r = sim_call(s, &q, err);
    obj_unref(hold);
    doc_unref(patch);
    return r;
}

static void status_begin(struct sim *s, struct jw *w, struct strbuf *now)
{
    time_format_rfc3339(sim_wall(s, "nodes"), now);
    jw_init(w);
    jw_object(w);
    jw_put_object(w, "status");
}

/* ---- pods ---- */

static void put_terminated(struct jw *w, const char *key, str now)
{
    jw_put_object(w, key);
    jw_put_object(w, "terminated");
    jw_put_int(w, "exitCode", 1);
    jw_put_str(w, "finishedAt", now);
    jw_put_cstr(w, "reason", "Error");
    jw_end(w);
    jw_end(w);
}

static void put_state(struct jw *w, bool running, bool finished, str now)
{
    if (finished) {
        put_terminated(w, "state", now);
        return;
    }
    jw_put_object(w, "state");
    jw_put_object(w, running ? "running" : "waiting");
    if (running)
        jw_put_str(w, "startedAt", now);
    else
        jw_put_cstr(w, "reason", "CrashLoopBackOff");
    jw_end(w);
    jw_end(w);
    put_terminated(w, "lastState", now);
}

static int set_containers(struct sim *s, const struct obj *pod, bool running, bool finished,
                          struct err *err)
{
    struct strbuf now = STRBUF_INIT(64);
    struct jw w;
    struct arena a = ARENA_INIT;
    str ns = arena_str(&a, pod->ns), name = arena_str(&a, pod->name); /* the pod may change */
    jval status = obj_status(pod);
    status_begin(s, &w, &now);
    put_conditions(&w, jgetc(status, "conditions"), pod_types, ARRAY_LEN(pod_types),
                   running ? "True" : "False", strbuf_str(&now));
    jw_put_array(&w, "containerStatuses");
    for (struct jiter it = jiter(jgetc(status, "containerStatuses")); jnext(&it);) {
        jw_object(&w);
        jw_put(&w, "image", jgetc(it.value, "image"));
        jw_put_cstr(&w, "imageID", "");
        jw_put(&w, "name", jgetc(it.value, "name"));
        jw_put_bool(&w, "ready", running);
        jw_put_bool(&w, "started", running);
        jw_put_int(&w, "restartCount", jint(jgetc(it.value, "restartCount"), 0) + 1);
        put_state(&w, running, finished, strbuf_str(&now));
        jw_end(&w);
    }
    jw_end(&w);
    jw_put_cstr(&w, "phase", finished ? "Failed" : "Running");
    int r = patch_status(s, pod, &w, err);
    /* A node knows how its own containers are before any watch tells it. */
    struct obj *changed = sim_get(s, &kind_pod, ns, name);
    if (changed)
        plane_observe(s->plane, "nodes", changed);
    arena_done(&a);
    strbuf_done(&now);
    return r;
}

int sim_crash_pod(struct sim *s, const struct obj *pod, bool finished, struct err *err)
{
    sim_note(s, "crash pod %.*s%s", STR_ARG(pod->name), finished ? " for good" : "");
    return set_containers(s, pod, false, finished, err);
}

int sim_heal_pod(struct sim *s, const struct obj *pod, struct err *err)
{
    sim_note(s, "heal pod %.*s", STR_ARG(pod->name));
    return set_containers(s, pod, true, false, err);
}

/* ---- nodes ---- */

/* The node's own planner does the rest, as it does for users who annotate a node. */
#define FAILED LIFE_PREFIX "failed"

bool sim_node_is_dead(const struct sim *s, str name)
{
    const struct obj *node = sim_get(s, &kind_node, STR_NONE, name);
    return node && str_is(obj_annotation(node, STR(FAILED)), "true");
}

static int set_failed(struct sim *s, str name, bool failed, struct err *err)
{
    struct doc *patch =
        doc_parse(failed ? STR("{\"metadata\":{\"annotations\":{\"" FAILED "\":\"true\"}}}")
                         : STR("{\"metadata\":{\"annotations\":{\"" FAILED "\":null}}}"),
                  NULL, err);
    int r = sim_patch(s, &kind_node, STR_NONE, name, STR_NONE, doc_root(patch), err);
    doc_unref(patch);
    return r;
}

int sim_fail_node(struct sim *s, str name, struct err *err)
{
    if (sim_node_is_dead(s, name))
        return 0;
    sim_note(s, "node %.*s fails", STR_ARG(name));
    return set_failed(s, name, true, err);
}

int sim_recover_node(struct sim *s, str name, struct err *err)
{
    if (!sim_node_is_dead(s, name))
        return 0;
    sim_note(s, "node %.*s recovers", STR_ARG(name));
    return set_failed(s, name, false, err);
}
