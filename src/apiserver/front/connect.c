/*
 * Subresources that would reach into a container or node. Nodes are simulated: there is no output
 * to show and nothing to connect to, and clients are told so in the way the real server tells them
 * that a node cannot be reached.
 */
#include "apiserver/front/front_impl.h"

static const struct {
    const struct kind *kind;
    const char *name;
} connections[] = {
    {&kind_pod, "attach"},      {&kind_pod, "exec"},  {&kind_pod, "log"},
    {&kind_pod, "portforward"}, {&kind_pod, "proxy"}, {&kind_service, "proxy"},
    {&kind_node, "proxy"},
};

static bool is_connection(const struct api_request *q)
{
    for (size_t i = 0; i < ARRAY_LEN(connections); i++)
        if (q->kind == connections[i].kind && str_is(q->subresource, connections[i].name))
            return true;
    return false;
}

/* ---- logs ---- */

static bool is_container(const struct obj *pod, str name)
{
    static const char *const lists[] = {"containers", "initContainers", "ephemeralContainers"};
    for (size_t i = 0; i < ARRAY_LEN(lists); i++)
        for (struct jiter it = jiter(jget(obj_spec(pod), str_of(lists[i]))); jnext(&it);)
            if (str_eq(jstr(jgetc(it.value, "name")), name))
                return true;
    return false;
}

static str query_of(struct call *c, const char *name)
{
    str v;
    return http_query_get(&c->arena, c->x->query, str_of(name), &v) ? v : STR_NONE;
}

/* One line, as of the pod's start; with the options that shape what is shown. */
static void serve_log(struct call *c, const struct obj *pod)
{
    str container = query_of(c, "container"), stamps = query_of(c, "timestamps");
    uint64_t lines = 1, bytes = UINT64_MAX;
    (void)str_to_uint(query_of(c, "tailLines"), &lines);
    (void)str_to_uint(query_of(c, "limitBytes"), &bytes);
    if (container.len && !is_container(pod, container)) {
        call_reply_status(c,
                          status_bad_request(&c->arena, "container %.*s is not valid for pod %.*s",
                                             STR_ARG(container), STR_ARG(pod->name)));
        return;
    }
    str text = STR("this pod runs on a simulated node and has no output\n");
    if (stamps.len && !str_is(stamps, "false") && !str_is(stamps, "0"))
        text = arena_printf(&c->arena, "%.*s %.*s",
                            STR_ARG(jstr(jgetc(obj_status(pod), "startTime"))), STR_ARG(text));
    call_reply_text(c, 200, lines ? str_sub(text, 0, MIN(bytes, text.len)) : STR(""));
}

static void serve_pod(struct call *c, const struct obj *pod)
{
    const struct api_request *q = c->route.request;
    bool log = str_is(q->subresource, "log");
    if (!str_is_empty(jstr(jpath(obj_root(pod), "spec.nodeName")))) {
        if (log)
            serve_log(c, pod);
        else
            call_reply_status(c, status_bad_request(&c->arena,
                                                    "pod %.*s runs on a simulated node: %.*s is "
                                                    "not possible there",
                                                    STR_ARG(q->name), STR_ARG(q->subresource)));
    } else if (log) {
        call_send(c, 204, NULL, 0, (struct http_slice){0});
    } else {
        call_reply_status(c, status_bad_request(&c->arena, "pod %.*s does not have a host assigned",
                                                STR_ARG(q->name)));
    }
}

bool connect_serve(struct call *c)
{
    const struct api_request *q = c->route.request;
    if (!is_connection(q))
        return false;
    const struct obj *o = store_get(apiserver_store(c->front->server), q->kind, q->ns, q->name);
    if (!o)
        call_reply_status(c, status_not_found(&c->arena, q->kind, q->name));
    else if (q->kind == &kind_pod)
        serve_pod(c, o);
    else
        call_reply_status(c, status_new(&c->arena, 503, "ServiceUnavailable",
                                        "%s %.*s is simulated: there is nothing to connect to",
                                        q->kind->singular, STR_ARG(q->name)));
    return true;
}
