/*
 * Subresources that reach into a container or node. They are passed on to the node's own server
 * (kubelet.h); here is where there, and for which container. Simulated nodes have none: there is no
 * output to show and nothing to connect to, and clients are told so in the way the real server
 * tells them that a node cannot be reached.
 *
 *   pods/p/log?container=c&follow=true          /containerLogs/ns/p/c?follow=true
 *   pods/p/exec?command=ls&stdout=true          /exec/ns/p/c?command=ls&output=1
 *   pods/p/attach?stdin=true                    /attach/ns/p/c?input=1
 *   pods/p/portforward?ports=80                 /portForward/ns/p?port=80
 *   nodes/n/proxy/stats/summary                 /stats/summary
 *   pods/http:p:8080/proxy/a                    /a at port 8080 of the pod
 */
#include "apiserver/front/front_impl.h"
#include "client/wire.h"

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

/* ---- which container ---- */

static void list_names(struct strbuf *b, jval containers)
{
    for (struct jiter it = jiter(containers); jnext(&it);)
        strbuf_printf(b, "%s%.*s", it.index ? " " : "", STR_ARG(jstr(jgetc(it.value, "name"))));
}

/* The one that is named, or the only one; empty: the call is refused. */
static str choose_container(struct call *c, const struct obj *pod)
{
    str name = query_of(c, "container");
    jval containers = jgetc(obj_spec(pod), "containers");
    if (name.len && is_container(pod, name))
        return name;
    if (!name.len && jlen(containers) == 1)
        return jstr(jgetc(jat(containers, 0), "name"));
    struct strbuf b = STRBUF_INIT(16 << 10);
    if (name.len) {
        strbuf_printf(&b, "container %.*s is not valid for pod %.*s", STR_ARG(name),
                      STR_ARG(pod->name));
    } else {
        strbuf_printf(&b, "a container name must be specified for pod %.*s, choose one of: [",
                      STR_ARG(pod->name));
        list_names(&b, containers);
        strbuf_add_char(&b, ']');
        if (jlen(jgetc(obj_spec(pod), "initContainers"))) {
            strbuf_add_cstr(&b, " or one of the init containers: [");
            list_names(&b, jgetc(obj_spec(pod), "initContainers"));
            strbuf_add_char(&b, ']');
        }
    }
    call_reply_status(c, status_bad_request(&c->arena, "%.*s", STR_ARG(strbuf_str(&b))));
    strbuf_done(&b);
    return STR_NONE;
}

/* ---- what is asked there ---- */

/* Options by subresource: what they are called there; flags are sent as 1 when they are set. */
static const struct {
    const char *sub, *name, *there;
    bool is_flag;
} passed[] = {
    {"log", "follow", "follow", false},
    {"log", "previous", "previous", false},
    {"log", "timestamps", "timestamps", false},
    {"log", "sinceSeconds", "sinceSeconds", false},
    {"log", "sinceTime", "sinceTime", false},
    {"log", "tailLines", "tailLines", false},
    {"log", "limitBytes", "limitBytes", false},
    {"log", "stream", "stream", false},
    {"exec", "command", "command", false},
    {"exec", "stdin", "input", true},
    {"exec", "stdout", "output", true},
    {"exec", "stderr", "error", true},
    {"exec", "tty", "tty", true},
    {"attach", "stdin", "input", true},
    {"attach", "stdout", "output", true},
    {"attach", "stderr", "error", true},
    {"attach", "tty", "tty", true},
    {"portforward", "ports", "port", false},
};

static bool is_set(str flag)
{
    return !str_is(flag, "false") && !str_is(flag, "0") && !str_is(flag, "False");
}

/* One option as it was sent, under the name it has there. */
static void pass_option(struct strbuf *b, str sub, str key, str value, char *between)
{
    for (size_t i = 0; i < ARRAY_LEN(passed); i++) {
        if (!str_is(sub, passed[i].sub) || !str_is(key, passed[i].name) ||
            (passed[i].is_flag && !is_set(value)))
            continue;
        strbuf_printf(b, "%c%s=%.*s", *between, passed[i].there,
                      STR_ARG(passed[i].is_flag ? STR("1") : value));
        *between = '&';
    }
}

/* Empty: it is longer than any command. */
static str pod_target(struct call *c, const struct obj *pod, const char *there, str container)
{
    struct strbuf b = STRBUF_INIT(128 << 10);
    char between = '?';
    strbuf_printf(&b, "/%s/", there);
    wire_add_escaped(&b, pod->ns);
    strbuf_add_char(&b, '/');
    wire_add_escaped(&b, pod->name);
    if (container.len) {
        strbuf_add_char(&b, '/');
        wire_add_escaped(&b, container);
    }
    for (str rest = c->x->query; rest.len;) {
        str value = str_cut(&rest, '&'), key = str_cut(&value, '=');
        pass_option(&b, c->route.request->subresource, key, value, &between);
    }
    str target = b.overflow ? STR_NONE : arena_str(&c->arena, strbuf_str(&b));
    strbuf_done(&b);
    return target;
}

static const struct {
    const char *sub, *there;
    bool has_container;
    enum kubelet_reply reply;
} ways[] = {
    {"log", "containerLogs", true, KUBELET_TEXT},
    {"exec", "exec", true, KUBELET_UPGRADE},
    {"attach", "attach", true, KUBELET_UPGRADE},
    {"portforward", "portForward", false, KUBELET_UPGRADE},
};

/* To connect by GET, as WebSockets do, is to run something all the same. */
static bool may_connect(struct call *c)
{
    struct access x = access_to(STR("create"), &kind_pod, c->route.request->ns,
                                c->route.request->name, c->route.request->subresource);
    struct status *why = authorize_status(c->front->server, &c->arena, &c->who.user, &x);
    if (why)
        call_reply_status(c, why);
    return !why;
}

static void pass_pod(struct call *c, const struct obj *pod, const struct obj *node)
{
    str sub = c->route.request->subresource;
    size_t i = 0;
    while (i < ARRAY_LEN(ways) && !str_is(sub, ways[i].sub))
        i++;
    BUG_ON(i == ARRAY_LEN(ways)); /* "proxy" is not the node's */
    bool upgrades = ways[i].reply == KUBELET_UPGRADE;
    if (upgrades && !http_can_upgrade(c->x)) {
        call_reply_status(c, status_bad_request(&c->arena, "Upgrade request required"));
        return;
    }
    if (upgrades && !may_connect(c))
        return;
    str container = ways[i].has_container ? choose_container(c, pod) : STR_NONE;
    if (ways[i].has_container && !container.len)
        return;
    str target = pod_target(c, pod, ways[i].there, container);
    bool lasts = upgrades || (query_of(c, "follow").len && is_set(query_of(c, "follow")));
    if (target.len)
        kubelet_pass(c, node, target, ways[i].reply, lasts);
    else
        call_reply_status(c, status_bad_request(&c->arena, "the command is too long"));
}

/* ---- who answers ---- */

/* NULL: nobody, it is simulated. */
static const struct obj *real_node(struct call *c, str name)
{
    const struct obj *node =
        store_get(apiserver_store(c->front->server), &kind_node, STR_NONE, name);
    return node && !str_is(obj_label(node, STR("type")), "simulated") ? node : NULL;
}

static void serve_pod(struct call *c, const struct obj *pod)
{
    const struct api_request *q = c->route.request;
    bool log = str_is(q->subresource, "log");
    const struct obj *node = real_node(c, jstr(jgetc(obj_spec(pod), "nodeName")));
    if (node) {
        pass_pod(c, pod, node);
    } else if (!str_is_empty(jstr(jpath(obj_root(pod), "spec.nodeName")))) {
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

/* ---- somebody else's paths ---- */

/* What comes after so many segments of the path, and the query. */
static str target_after(struct call *c, int segments)
{
    str path = c->x->path;
    size_t at = 0;
    for (int n = 0; at < path.len; at++)
        if (path.p[at] == '/' && n++ == segments)
            break;
    str rest = str_sub(path, at, path.len);
    return arena_printf(&c->arena, "%s%.*s%s%.*s", rest.len ? "" : "/", STR_ARG(rest),
                        c->x->query.len ? "?" : "", STR_ARG(c->x->query));
}

/* "NAME", "NAME:PORT" or "SCHEME:NAME:PORT"; false: none of these. */
static bool split_name(str text, str *ret_name, bool *ret_tls, uint64_t *ret_port)
{
    str rest = text, first = str_cut(&rest, ':'), second = str_cut(&rest, ':');
    bool has_scheme = rest.p != NULL;
    str port = has_scheme ? rest : second;
    *ret_name = has_scheme ? second : first;
    *ret_tls = has_scheme && str_is(first, "https");
    *ret_port = 0;
    if (has_scheme && !*ret_tls && !str_is(first, "http") && first.len)
        return false;
    return !port.len || (str_to_uint(port, ret_port) && *ret_port > 0 && *ret_port <= UINT16_MAX);
}

/* The first port that a container of it has, as kube-apiserver takes it. */
static uint64_t first_port(const struct obj *pod)
{
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "containers")); jnext(&it);) {
        int64_t port = jint(jgetc(jat(jgetc(it.value, "ports"), 0), "containerPort"), 0);
        if (port > 0)
            return (uint64_t)port;
    }
    return 80;
}

static void serve_pod_proxy(struct call *c)
{
    enum { SEGMENTS = 7 };
    const struct api_request *q = c->route.request;
    uint64_t port;
    bool tls;
    str name;
    if (!split_name(q->name, &name, &tls, &port)) {
        call_reply_status(
            c, status_bad_request(&c->arena, "invalid pod request \"%.*s\"", STR_ARG(q->name)));
        return;
    }
    const struct obj *pod = store_get(apiserver_store(c->front->server), &kind_pod, q->ns, name);
    if (!pod)
        call_reply_status(c, status_not_found(&c->arena, &kind_pod, name));
    else if (real_node(c, jstr(jgetc(obj_spec(pod), "nodeName"))))
        pod_pass(c, pod, (int)(port ? port : first_port(pod)), tls, target_after(c, SEGMENTS));
    else
        serve_pod(c, pod);
}

static void pass_node(struct call *c, const struct obj *node)
{
    enum { SEGMENTS = 5 };
    kubelet_pass(c, node, target_after(c, SEGMENTS), KUBELET_AS_IT_IS, true);
}

bool connect_serve(struct call *c)
{
    const struct api_request *q = c->route.request;
    if (!is_connection(q))
        return false;
    if (q->kind == &kind_pod && str_is(q->subresource, "proxy")) {
        serve_pod_proxy(c);
        return true;
    }
    const struct obj *o = store_get(apiserver_store(c->front->server), q->kind, q->ns, q->name);
    if (!o)
        call_reply_status(c, status_not_found(&c->arena, q->kind, q->name));
    else if (q->kind == &kind_pod)
        serve_pod(c, o);
    else if (q->kind == &kind_node && real_node(c, o->name))
        pass_node(c, o);
    else
        call_reply_status(c,
                          status_new(&c->arena, 503, "ServiceUnavailable",
                                     q->kind == &kind_node
                                         ? "%s %.*s is simulated: there is nothing to connect to"
                                         : "requests to a %s are not passed on: ask its pods, or "
                                           "forward a port of %.*s with kubectl port-forward",
                                     q->kind->singular, STR_ARG(q->name)));
    return true;
}
