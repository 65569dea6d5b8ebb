/*
 * The server's life: it stands between the store and everybody else. Events of the store go to the
 * watches, then to whoever waits for a version to become durable.
 *
 * Bootstrapping creates what every cluster has through the ordinary verbs; what is there already is
 * left alone.
 */
#include "apiserver/access/node_rights.h"
#include "apiserver/access/rbac.h"
#include "apiserver/access/rbac_boot.h"
#include "apiserver/admission/quota.h"
#include "apiserver/admission/webhook.h"
#include "apiserver/crd.h"
#include "apiserver/crd/conversion.h"
#include "apiserver/crd/crd_boot.h"
#include "apiserver/metrics_names.h"
#include "apiserver/request.h"

static const str masters = STR_INIT("system:masters");
const struct user server_user = {
    .name = STR_INIT("system:apiserver"), .groups = &masters, .n_groups = 1};

static void on_event(struct store_sub *sub, const struct store_event *e)
{
    struct apiserver *a = container_of(sub, struct apiserver, sub);
    if (e->type != STORE_ADDED)
        admit_freed(&a->pools, e->prev);
    if (e->type == STORE_MODIFIED)
        admit_taken(&a->pools, e->obj);
    if (e->type == STORE_DELETED)
        metrics_feed_forget(a->feed, e->obj->uid);
    metrics_names_event(a->metric_names, e);
    rbac_event(a->rbac, e);
    nodes_event(a->nodes, e);
    hooks_event(a->hooks, e);
    quotas_event(a->quotas, e);
    hub_event(a->hub, e);
}

static void on_batch(struct store_sub *sub)
{
    requests_on_batch(container_of(sub, struct apiserver, sub));
}

struct apiserver *apiserver_new(struct loop *l, struct store *s)
{
    struct apiserver *a = xnew(struct apiserver);
    a->loop = l;
    a->store = s;
    a->grove = &grove_default_context;
    list_init(&a->open);
    list_init(&a->waiting);
    list_init(&a->commits);
    a->hub = hub_new(a);
    a->rbac = rbac_new(s);
    a->nodes = nodes_new(s);
    a->hooks = hooks_new(a);
    a->conversions = conversions_new(a);
    a->quotas = quotas_new(a);
    a->sub = (struct store_sub){.on_event = on_event, .on_batch = on_batch};
    store_subscribe(s, &a->sub);
    a->crds = crds_new(a);
    a->feed = metrics_feed_new(l);
    a->metric_names = metrics_names_new(s, a->feed); /* when all kinds are known */
    return a;
}

void apiserver_free(struct apiserver *a)
{
    if (!a)
        return;
    while (!list_is_empty(&a->open))
        request_abort(container_of(a->open.next, struct req, link));
    commits_detach(a);
    crds_free(a->crds);
    hub_free(a->hub);
    rbac_free(a->rbac);
    nodes_free(a->nodes);
    hooks_free(a->hooks);
    conversions_free(a->conversions);
    quotas_free(a->quotas);
    store_unsubscribe(&a->sub);
    metrics_names_free(a->metric_names);
    metrics_feed_free(a->feed);
    free(a);
}

void apiserver_send(struct apiserver *a, const struct user *user, struct api_request *r)
{
    request_start(a, user, r, NULL);
}

void apiserver_watch(struct apiserver *a, const struct user *user, struct api_watch *w)
{
    hub_watch(a->hub, user, w, NULL);
}

void apiserver_watch_stop(struct apiserver *a, struct api_watch *w)
{
    hub_stop(a->hub, w);
}

void apiserver_set_suspend(struct apiserver *a, suspend_fn *fn, void *ctx)
{
    a->suspend = fn;
    a->suspend_ctx = ctx;
}

struct store *apiserver_store(struct apiserver *a)
{
    return a->store;
}

struct loop *apiserver_loop(struct apiserver *a)
{
    return a->loop;
}

struct metrics_feed *apiserver_feed(struct apiserver *a)
{
    return a->feed;
}

struct metrics_names *apiserver_metric_names(struct apiserver *a)
{
    return a->metric_names;
}

/* ---- what every cluster has ---- */

#define NAMESPACE(n)                                                                           \
    {                                                                                          \
        &kind_namespace, "",                                                                   \
            "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"" n "\"}}" \
    }

#define PRIORITY_CLASS(n, value, text)                                                           \
    {                                                                                            \
        &kind_priority_class, "",                                                                \
            "{\"apiVersion\":\"scheduling.k8s.io/v1\",\"kind\":\"PriorityClass\",\"metadata\":{" \
            "\"name\":\"" n "\"},\"value\":" value ",\"description\":\"" text "\"}"              \
    }

/* In order: a namespace before what is in it. */
static const struct {
    const struct kind *kind;
    const char *ns, *body;
} boot_objects[] = {
    NAMESPACE("default"),
    NAMESPACE("kube-system"),
    NAMESPACE("kube-public"),
    NAMESPACE("kube-node-lease"),
    NAMESPACE("grove-system"),
    {&kind_service, "default",
     "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{\"name\":\"kubernetes\","
     "\"labels\":{\"component\":\"apiserver\",\"provider\":\"kubernetes\"}},"
     "\"spec\":{\"clusterIP\":\"10.96.0.1\",\"type\":\"ClusterIP\","
     "\"ports\":[{\"name\":\"https\",\"protocol\":\"TCP\",\"port\":443,\"targetPort\":6443}]}}"},
    {&kind_service_cidr, "",
     "{\"apiVersion\":\"networking.k8s.io/v1\",\"kind\":\"ServiceCIDR\",\"metadata\":{\"name\":"
     "\"kubernetes\"},\"spec\":{\"cidrs\":[\"10.96.0.0/16\"]}}"},
    PRIORITY_CLASS("system-node-critical", "2000001000",
                   "Used for system critical pods that must not be moved from their current node."),
    PRIORITY_CLASS("system-cluster-critical", "2000000000",
                   "Used for system critical pods that must run in the cluster, but can be moved "
                   "to another node if necessary."),
};

struct boot {
    struct apiserver *server;
    void (*ready)(void *ctx, const struct err *err);
    void *ctx;
    size_t next;
    struct api_request r;
    struct doc *body;
};

static void boot_next(struct boot *b);

static void boot_end(struct boot *b, const struct err *err)
{
    b->server->booting = false;
    b->ready(b->ctx, err);
    doc_unref(b->body);
    free(b);
}

static void on_booted(struct api_request *r, const struct api_reply *reply)
{
    struct boot *b = container_of(r, struct boot, r);
    struct err err = ERR_INIT;
    if (reply->code == 201 || reply->code == 409) {
        boot_next(b);
        return;
    }
    (void)err_set(&err, ERR_INTERNAL, "cannot create what every cluster has: %.*s",
                  reply->status ? (int)reply->status->message.len : 0,
                  reply->status ? reply->status->message.p : "");
    boot_end(b, &err);
}

/* The next object that a store which was used before does not have yet. */
static bool boot_find(struct boot *b)
{
    for (; b->next < ARRAY_LEN(boot_objects); b->next++) {
        doc_unref(b->body);
        b->body = doc_parse(str_of(boot_objects[b->next].body), NULL, NULL);
        BUG_ON(!b->body);
        if (!store_get(b->server->store, boot_objects[b->next].kind,
                       str_of(boot_objects[b->next].ns),
                       jstr(jpath(doc_root(b->body), "metadata.name"))))
            return true;
    }
    return false;
}

static void on_roles(void *ctx, const struct err *err)
{
    boot_end(ctx, err);
}

static void boot_next(struct boot *b)
{
    if (!boot_find(b)) {
        rbac_boot(b->server, on_roles, b);
        return;
    }
    size_t i = b->next++;
    b->r = (struct api_request){
        .verb = API_CREATE,
        .kind = boot_objects[i].kind,
        .ns = str_of(boot_objects[i].ns),
        .body = b->body,
        .field_manager = STR("kube-apiserver"),
        .done = on_booted,
    };
    apiserver_send(b->server, &server_user, &b->r);
}

void apiserver_bootstrap(struct apiserver *a, void (*ready)(void *ctx, const struct err *err),
                         void *ctx)
{
    struct boot *b = xnew(struct boot);
    *b = (struct boot){.server = a, .ready = ready, .ctx = ctx};
    a->booting = true;
    boot_next(b);
}

void apiserver_write_definitions(struct apiserver *a,
                                 void (*done)(void *ctx, const struct err *err), void *ctx)
{
    crd_boot(a, done, ctx);
}

void apiserver_set_token_volumes(struct apiserver *a, bool on)
{
    a->token_volumes = on;
}

void apiserver_set_grove_context(struct apiserver *a, const struct grove_context *context)
{
    a->grove = context;
}
