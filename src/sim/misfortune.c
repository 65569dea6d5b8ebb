/* What befalls nodes and pods, written through the API as a node, or those who watch over nodes,
 * would write it. */
#include "sim/sim_impl.h"

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
    time_format_rfc3339(loop_wall(s->loop), now);
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

static int set_node(struct sim *s, str name, const char *status, struct err *err)
{
    static const char *const types[] = {"Ready"};
    const struct obj *node = sim_get(s, &kind_node, STR_NONE, name);
    struct strbuf now = STRBUF_INIT(64);
    struct jw w;
    if (!node)
        return err_set(err, ERR_NOT_FOUND, "there is no node %.*s", STR_ARG(name));
    status_begin(s, &w, &now);
    put_conditions(&w, jgetc(obj_status(node), "conditions"), types, 1, status, strbuf_str(&now));
    int r = patch_status(s, node, &w, err);
    strbuf_done(&now);
    return r;
}

static int set_ready(struct sim *s, const struct obj *pod, bool ready, struct err *err)
{
    struct strbuf now = STRBUF_INIT(64);
    struct jw w;
    status_begin(s, &w, &now);
    put_conditions(&w, jgetc(obj_status(pod), "conditions"), pod_types, ARRAY_LEN(pod_types),
                   ready ? "True" : "False", strbuf_str(&now));
    int r = patch_status(s, pod, &w, err);
    strbuf_done(&now);
    return r;
}

/* Running pods of the node; the store changes while they are written to, so they are taken first.
 */
static int set_pods(struct sim *s, str node, bool ready, struct err *err)
{
    VEC(struct obj *) pods = {0};
    struct obj *o;
    int r = 0;
    struct store_iter it = store_range(sim_store(s), &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    while ((o = store_next(&it))) {
        if (str_eq(jstr(jgetc(obj_spec(o), "nodeName")), node) &&
            str_is(jstr(jgetc(obj_status(o), "phase")), "Running"))
            *vec_push(&pods) = obj_ref(o);
    }
    for (size_t i = 0; i < pods.len; i++) {
        if (r == 0)
            r = set_ready(s, pods.p[i], ready, err);
        /* It may go meanwhile. */
        r = r == ERR_NOT_FOUND ? 0 : r;
        obj_unref(pods.p[i]);
    }
    vec_done(&pods);
    return r;
}

bool sim_node_is_dead(const struct sim *s, str name)
{
    return map_has(&s->dead, name);
}

int sim_fail_node(struct sim *s, str name, struct err *err)
{
    if (sim_node_is_dead(s, name))
        return 0;
    sim_note(s, "node %.*s fails", STR_ARG(name));
    char *copy = str_dup(name);
    str key = str_of(copy);
    (void)map_put(&s->dead, key, copy);
    int r = set_node(s, key, "Unknown", err);
    return r ? r : set_pods(s, key, false, err);
}

int sim_recover_node(struct sim *s, str name, struct err *err)
{
    char *key = map_del(&s->dead, name);
    if (!key)
        return 0;
    sim_note(s, "node %s recovers", key);
    /* The change makes the node look at itself and all of its pods. */
    int r = set_node(s, str_of(key), "False", err);
    if (r == 0)
        r = set_pods(s, str_of(key), true, err);
    free(key);
    return r;
}
