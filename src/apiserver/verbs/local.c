/*
 * api_local: the server's own verbs behind the client interface. Same admission, authorization and
 * errors as over the wire; documents are shared and nothing is encoded.
 */
#include "apiserver/request.h"
#include "base/metric.h"

/* What comes over the wire is in apiserver_request_total. */
static struct metric requests =
    METRIC_COUNTER("grove_local_requests_total", "Requests of the components in this process.",
                   "verb", "resource", "subresource");

struct local {
    struct api api;
    struct apiserver *server;
    struct user user;
    char *name;
    struct list requests; /* struct req.peer */
    struct list watches;
    VEC(struct metric_series *) counts; /* by kind and counted_as(); NULL: not yet */
};

static struct local *local_of(struct api *api)
{
    return container_of(api, struct local, api);
}

static str verb_of(const struct api_request *r)
{
    static const char *const verbs[] = {
        [API_GET] = "GET",
        [API_LIST] = "LIST",
        [API_CREATE] = "POST",
        [API_UPDATE] = "PUT",
        [API_PATCH] = "PATCH",
        [API_DELETE] = "DELETE",
        [API_DELETE_COLLECTION] = "DELETECOLLECTION",
    };
    bool applies = r->verb == API_PATCH && r->patch == API_PATCH_APPLY;
    return applies ? STR("APPLY") : str_of(verbs[r->verb]);
}

enum { COUNTED = 2 * (API_DELETE_COLLECTION + 2) };

/* What is asked for all the time: objects and their status. */
static size_t counted_as(const struct api_request *r)
{
    bool applies = r->verb == API_PATCH && r->patch == API_PATCH_APPLY;
    size_t verb = applies ? API_DELETE_COLLECTION + 1 : (size_t)r->verb;
    return kind_id(r->kind) * COUNTED + 2 * verb + (r->subresource.len > 0);
}

static void count(struct local *l, const struct api_request *r)
{
    struct metric_series *s = NULL, **kept = NULL;
    if (r->subresource.len == 0 || str_is(r->subresource, "status")) {
        size_t at = counted_as(r);
        while (l->counts.len <= at)
            *vec_push(&l->counts) = NULL;
        kept = &l->counts.p[at];
        s = *kept;
    }
    if (!s)
        s = metric_with(&requests, verb_of(r), str_of(r->kind->plural), r->subresource);
    if (kept)
        *kept = s;
    metric_add(s, 1);
}

static void local_send(struct api *api, struct api_request *r)
{
    struct local *l = local_of(api);
    count(l, r);
    r->as_stored |= kind_is(r->kind, KIND_HOOKED);
    request_start(l->server, &l->user, r, &l->requests);
}

static void local_watch(struct api *api, struct api_watch *w)
{
    struct local *l = local_of(api);
    w->as_stored |= kind_is(w->kind, KIND_HOOKED);
    hub_watch(l->server->hub, &l->user, w, &l->watches);
}

static void local_watch_stop(struct api *api, struct api_watch *w)
{
    hub_stop(local_of(api)->server->hub, w);
}

static void local_free(struct api *api)
{
    struct local *l = local_of(api);
    while (!list_is_empty(&l->requests))
        request_abort(container_of(l->requests.next, struct req, peer));
    hub_stop_peers(&l->watches);
    vec_done(&l->counts);
    free(l->name);
    free(l);
}

static const struct api_ops local_ops = {
    .send = local_send,
    .watch = local_watch,
    .watch_stop = local_watch_stop,
    .free = local_free,
};

static const str account_groups[] = {STR_INIT("system:serviceaccounts"),
                                     STR_INIT("system:serviceaccounts:grove-system"),
                                     STR_INIT("system:authenticated")};
static const str admin_groups[] = {STR_INIT("system:masters"), STR_INIT("system:authenticated")};

struct api *apiserver_local(struct apiserver *a, const char *service_account)
{
    struct strbuf name = STRBUF_INIT(1024);
    struct local *l = xnew(struct local);
    l->api.ops = &local_ops;
    l->server = a;
    strbuf_add_cstr(&name, service_account ? "system:serviceaccount:grove-system:" : "admin");
    strbuf_add_cstr(&name, service_account ? service_account : "");
    l->name = strbuf_detach(&name, NULL);
    l->user = service_account ? (struct user){str_of(l->name), account_groups, 3}
                              : (struct user){str_of(l->name), admin_groups, 2};
    list_init(&l->requests);
    list_init(&l->watches);
    return &l->api;
}
