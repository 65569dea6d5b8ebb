/* See gate.h. A request passes as it is; one that is swallowed is answered in the next turn with
 * what stands in the store. */
#include "sim/gate.h"

struct gate {
    struct api api;
    struct loop *loop;
    struct api *inner;
    const struct store *store;
    const struct map *dead;
    struct list swallowed; /* api_request.link */
    struct loop_task task;
};

static struct gate *gate_of(struct api *api)
{
    return container_of(api, struct gate, api);
}

static bool is_dead(const struct gate *g, const struct api_request *r)
{
    if (r->kind == &kind_node)
        return map_has(g->dead, r->name);
    if (r->kind != &kind_pod)
        return false;
    const struct obj *pod = store_newest(g->store, &kind_pod, r->ns, r->name);
    return pod && map_has(g->dead, jstr(jgetc(obj_spec(pod), "nodeName")));
}

static void answer(struct gate *g, struct api_request *r)
{
    struct api_reply reply = {.code = 200, .remaining = -1};
    reply.obj = store_get(g->store, r->kind, r->ns, r->name);
    r->done(r, &reply);
}

static void answer_all(struct loop_task *t)
{
    struct gate *g = container_of(t, struct gate, task);
    struct list *it;
    while ((it = list_pop_front(&g->swallowed)))
        answer(g, container_of(it, struct api_request, link));
}

static void gate_send(struct api *api, struct api_request *r)
{
    struct gate *g = gate_of(api);
    if (r->verb == API_GET || r->verb == API_LIST || !is_dead(g, r)) {
        api_send(g->inner, r);
        return;
    }
    list_push_back(&g->swallowed, &r->link);
    loop_defer(g->loop, LOOP_PUBLISH, &g->task);
}

static void gate_watch(struct api *api, struct api_watch *w)
{
    api_watch(gate_of(api)->inner, w);
}

static void gate_watch_stop(struct api *api, struct api_watch *w)
{
    api_watch_stop(gate_of(api)->inner, w);
}

static void gate_free(struct api *api)
{
    struct gate *g = gate_of(api);
    struct list *it;
    while ((it = list_pop_front(&g->swallowed))) {
        struct api_request *r = container_of(it, struct api_request, link);
        r->done(r, &(struct api_reply){.unknown_outcome = true, .remaining = -1});
    }
    loop_task_cancel(&g->task);
    free(g);
}

static const struct api_ops gate_ops = {
    .send = gate_send,
    .watch = gate_watch,
    .watch_stop = gate_watch_stop,
    .free = gate_free,
};

struct api *gate_new(struct loop *l, struct api *inner, const struct store *store,
                     const struct map *dead)
{
    struct gate *g = xnew(struct gate);
    *g = (struct gate){.api = {&gate_ops}, .loop = l, .inner = inner, .store = store, .dead = dead};
    list_init(&g->swallowed);
    loop_task_init(&g->task, answer_all);
    return &g->api;
}
