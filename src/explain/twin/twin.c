/* See twin.h. */
#include "explain/twin/twin.h"

#include "base/vec.h"
#include "explain/documents/findings.h"
#include "explain/documents/manifest.h"
#include "grove/names.h"
#include "grove/snapshot.h"
#include "grove/types.h"
#include "plane/plane.h"
#include "store/store.h"
#include "json/edit.h"

#define SLICE (20 * USEC_PER_MSEC)
#define QUIET (2 * USEC_PER_SEC)
#define CATCH_UP USEC_PER_SEC
#define NODES_EVERY (500 * USEC_PER_MSEC)
#define LIMIT (30 * USEC_PER_MIN)
enum { MAX_ITERATIONS = 10 * 1000 * 1000, BATCH = 500, ALWAYS_TRIED = 1000 };

struct twin {
    struct loop *loop;
    struct plane *plane;
    usec began, nodes_due;
    struct arena own;
    struct obj *answer;      /* to the last write */
    VEC(struct obj *) shown; /* what the last picture holds */
    struct news {
        struct arena arena;
        VEC(struct twin_change) changes;
        VEC(struct twin_word) words;
        struct map places; /* in the changes, by uid: from 1 */
    } news, told, due;     /* due: pods that nodes have not looked at since they changed */
    struct store_sub sub;
    str watched; /* namespace; empty: none */
    bool ready;
    struct err failure;
    size_t open;
    int error; /* of the first write that failed */
    struct err *err;
};

/* ---- writes ---- */

static void on_done(struct api_request *q, const struct api_reply *reply)
{
    struct twin *t = q->ctx;
    t->open--;
    if (reply->obj) {
        obj_unref(t->answer);
        t->answer = obj_ref(reply->obj);
    }
    if (reply->status && !t->error)
        t->error = err_set(t->err, reply->status->code == 404 ? ERR_NOT_FOUND : ERR_INVALID, "%.*s",
                           STR_ARG(reply->status->message));
}

static void send(struct twin *t, struct api_request *q)
{
    q->done = on_done;
    q->ctx = t;
    t->open++;
    api_send(plane_admin(t->plane), q);
}

static int wait_for_answers(struct twin *t)
{
    while (t->open > 0 &&
           loop_run_until(t->loop, loop_now(t->loop) + USEC_PER_MSEC, MAX_ITERATIONS))
        ;
    BUG_ON(t->open > 0); /* the requests are the caller's */
    return t->error;
}

int twin_create(struct twin *t, const struct kind *k, str ns, struct doc *d, bool strict,
                struct err *err)
{
    struct api_request q = {
        .verb = API_CREATE, .kind = k, .ns = ns, .body = d, .field_manager = STR("grove")};
    q.field_validation = strict ? API_VALIDATE_STRICT : q.field_validation;
    t->error = 0;
    t->err = err;
    send(t, &q);
    return wait_for_answers(t);
}

int twin_apply(struct twin *t, const struct kind *k, str ns, str name, struct doc *d,
               struct obj **ret, struct err *err)
{
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_APPLY,
                            .kind = k,
                            .ns = ns,
                            .name = name,
                            .body = d,
                            .field_manager = STR("grove"),
                            .field_validation = API_VALIDATE_STRICT,
                            .force = true};
    t->error = 0;
    t->err = err;
    send(t, &q);
    int r = wait_for_answers(t);
    if (r == 0 && ret)
        *ret = obj_ref(t->answer);
    return r;
}

static struct doc *make_bare(const struct kind *k, str name)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", k->kind);
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", name);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* One that is there already is as good. */
static void make_sure_of(struct twin *t, const struct kind *k, str ns, str name)
{
    struct err ignored = ERR_INIT;
    struct doc *d = make_bare(k, name);
    (void)twin_create(t, k, ns, d, false, &ignored);
    doc_unref(d);
}

void twin_make_accounts(struct twin *t, str ns, jval pcs)
{
    for (struct jiter it = jiter(jpath(pcs, "spec.template.cliques")); jnext(&it);) {
        str name = jstr(jpath(it.value, "spec.podSpec.serviceAccountName"));
        if (name.len)
            make_sure_of(t, &kind_service_account, ns, name);
    }
}

/* ---- what is taken over ---- */

static void put_fields(struct jw *w, jval from, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        jval v = jget(from, str_of(names[i]));
        if (j_has(v))
            jw_put(w, names[i], v);
    }
}

static void put_containers(struct jw *w, const char *key, jval containers)
{
    static const char *const fields[] = {"name",  "image",         "resources",
                                         "ports", "restartPolicy", NULL};
    if (jlen(containers) == 0)
        return;
    jw_put_array(w, key);
    for (struct jiter it = jiter(containers); jnext(&it);) {
        jw_object(w);
        put_fields(w, it.value, fields);
        jw_end(w);
    }
    jw_end(w);
}

static void put_meta(struct jw *w, const struct obj *o, bool all_labels)
{
    jw_put_object(w, "metadata");
    jw_put_str(w, "name", o->name);
    if (!str_is_empty(o->ns))
        jw_put_str(w, "namespace", o->ns);
    jw_put_object(w, "labels");
    /* A pod that says it is of a gang would be looked for there. */
    for (struct jiter it = jiter(o->labels); jnext(&it);) {
        if (all_labels || str_find(it.key, STR("grove.io/")) < 0) {
            jw_key(w, it.key);
            jw_val(w, it.value);
        }
    }
    jw_end(w);
    jw_end(w);
}

static struct doc *make_pod(const struct obj *pod)
{
    static const char *const fields[] = {"nodeName",     "affinity",  "topologySpreadConstraints",
                                         "overhead",     "resources", "hostNetwork",
                                         "nodeSelector", NULL};
    jval spec = obj_spec(pod);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Pod");
    put_meta(&w, pod, false);
    jw_put_object(&w, "spec");
    put_fields(&w, spec, fields);
    put_containers(&w, "initContainers", jgetc(spec, "initContainers"));
    put_containers(&w, "containers", jgetc(spec, "containers"));
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *make_node(const struct obj *node, bool status)
{
    static const char *const spec_fields[] = {"taints", "unschedulable", "podCIDR", NULL};
    static const char *const status_fields[] = {"capacity", "allocatable", "conditions", NULL};
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "Node");
    put_meta(&w, node, true);
    jw_put_object(&w, status ? "status" : "spec");
    put_fields(&w, status ? obj_status(node) : obj_spec(node),
               status ? status_fields : spec_fields);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* Sends up to BATCH of them at a time. */
struct batch {
    struct twin *twin;
    struct api_request requests[BATCH];
    size_t n;
};

static void batch_flush(struct batch *b)
{
    (void)wait_for_answers(b->twin);
    for (size_t i = 0; i < b->n; i++)
        doc_unref(b->requests[i].body);
    b->n = 0;
}

static void batch_add(struct batch *b, const struct api_request *q)
{
    if (b->n == BATCH)
        batch_flush(b);
    b->requests[b->n] = *q;
    send(b->twin, &b->requests[b->n++]);
}

static void load_nodes(struct batch *b, const struct picture *p)
{
    const struct session_list *nodes = &p->parts[PICTURE_NODES];
    for (size_t i = 0; i < nodes->n; i++)
        batch_add(b, &(struct api_request){.verb = API_CREATE,
                                           .kind = &kind_node,
                                           .body = make_node(nodes->items[i], false)});
    batch_flush(b);
    for (size_t i = 0; i < nodes->n; i++)
        batch_add(b, &(struct api_request){.verb = API_PATCH,
                                           .patch = API_PATCH_MERGE,
                                           .kind = &kind_node,
                                           .name = nodes->items[i]->name,
                                           .subresource = STR("status"),
                                           .body = make_node(nodes->items[i], true)});
    batch_flush(b);
}

static bool is_finished(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return str_is(phase, "Succeeded") || str_is(phase, "Failed") ||
           str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName")));
}

static void load_pods(struct batch *b, const struct picture *p, str ns, str without)
{
    const struct session_list *pods = &p->parts[PICTURE_ALL_PODS];
    str label = name_label(&b->twin->own, without), last = STR_NONE;
    /* In the order of their namespaces, so each is made once. */
    for (size_t i = 0; i < pods->n; i++) {
        if (!str_eq(pods->items[i]->ns, last))
            batch_add(
                b, &(struct api_request){.verb = API_CREATE,
                                         .kind = &kind_namespace,
                                         .body = make_bare(&kind_namespace, pods->items[i]->ns)});
        last = pods->items[i]->ns;
    }
    batch_flush(b);
    /* A namespace that is there already is as good. */
    b->twin->error = 0;
    for (size_t i = 0; i < pods->n; i++) {
        const struct obj *o = pods->items[i];
        if (is_finished(o) ||
            (str_eq(o->ns, ns) && str_eq(obj_label(o, STR(LABEL_PART_OF)), label)))
            continue;
        batch_add(b, &(struct api_request){
                         .verb = API_CREATE, .kind = &kind_pod, .ns = o->ns, .body = make_pod(o)});
    }
    batch_flush(b);
}

static int load(struct twin *t, const struct picture *p, str ns, str without, struct err *err)
{
    struct batch *b = xnew(struct batch);
    b->twin = t;
    t->error = 0;
    t->err = err;
    load_nodes(b, p);
    int r = t->error;
    make_sure_of(t, &kind_namespace, STR_NONE, ns);
    t->error = 0;
    t->err = err;
    load_pods(b, p, ns, without);
    r = r ? r : t->error;
    free(b);
    return r;
}

/* ---- settings ---- */

static const struct kind *const setting_kinds[TWIN_SETTINGS] = {&kind_ctb, &kind_priority_class};

void twin_read_settings(struct session *s, struct twin_settings *ret)
{
    for (size_t i = 0; i < TWIN_SETTINGS; i++) {
        struct err ignored = ERR_INIT;
        if (session_list(s, setting_kinds[i], STR_NONE, STR_NONE, &ret->lists[i], &ignored))
            ret->lists[i] = (struct session_list){0};
    }
}

void twin_copy_settings(struct twin *t, const struct twin_settings *settings)
{
    for (size_t i = 0; i < TWIN_SETTINGS; i++) {
        for (size_t k = 0; k < settings->lists[i].n; k++) {
            struct err ignored = ERR_INIT;
            struct doc *d = manifest_strip(settings->lists[i].items[k]);
            (void)twin_create(t, setting_kinds[i], STR_NONE, d, false, &ignored);
            doc_unref(d);
        }
    }
}

/* ---- adopting ---- */

/* Puts objects into the store as they are: what a server would add is there already. */
struct adoption {
    struct twin *twin;
    struct store *store;
    size_t open;
    struct err *err;
    int error;
};

struct adopted {
    struct store_write write;
    struct adoption *of;
};

static void on_stored(struct store_write *w, const struct err *err)
{
    struct adopted *x = container_of(w, struct adopted, write);
    x->of->open--;
    if (err && !x->of->error) {
        *x->of->err = *err;
        x->of->error = err->code;
    }
    obj_unref(w->obj);
    free(x);
}

/* Lists of some servers leave out what kind their items are of. */
static struct obj *stamp(const struct obj *o, uint64_t revision, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    char version[128];
    edit_init(&e, &a);
    edit_set_str(&e, STR("/apiVersion"), kind_api_version(o->kind, version, sizeof(version)));
    edit_set_str(&e, STR("/kind"), str_of(o->kind->kind));
    edit_set_str(&e, STR("/metadata/resourceVersion"),
                 arena_printf(&a, "%llu", (unsigned long long)revision));
    struct doc *d = edit_apply(&e, o->doc, err);
    edit_done(&e);
    arena_done(&a);
    return d ? obj_new(o->kind, d, err) : NULL;
}

static void adopt_one(struct adoption *a, const struct obj *o)
{
    if (a->error)
        return;
    struct obj *copy = stamp(o, store_next_revision(a->store), a->err);
    if (!copy) {
        a->error = a->err->code;
        return;
    }
    struct adopted *x = xnew(struct adopted);
    x->of = a;
    x->write = (struct store_write){
        .kind = o->kind, .ns = o->ns, .name = copy->name, .obj = copy, .done = on_stored};
    a->open++;
    if (store_apply(a->store, &x->write, a->err)) {
        a->open--;
        a->error = a->err->code;
        obj_unref(copy);
        free(x);
    }
}

/* Owners first. Controllers stand still meanwhile, lest they miss what is not there yet. */
int twin_adopt(struct twin *t, const struct picture *p, const struct obj *pcs, struct err *err)
{
    static const enum picture_part parts[] = {PICTURE_REVISIONS, PICTURE_GROUPS, PICTURE_CLIQUES,
                                              PICTURE_MAPS,      PICTURE_GANGS,  PICTURE_PODS};
    struct adoption a = {.twin = t, .store = apiserver_store(plane_server(t->plane)), .err = err};
    str label = name_label(&t->own, pcs->name);
    for (size_t i = 0; i < plane_parts(t->plane); i++)
        plane_stop(t->plane, i);
    adopt_one(&a, pcs);
    for (size_t k = 0; k < ARRAY_LEN(parts); k++) {
        for (size_t i = 0; i < p->parts[parts[k]].n; i++) {
            if (is_of_set(p->parts[parts[k]].items[i], label))
                adopt_one(&a, p->parts[parts[k]].items[i]);
        }
    }
    while (a.open > 0 && loop_run_until(t->loop, loop_now(t->loop) + USEC_PER_MSEC, MAX_ITERATIONS))
        ;
    BUG_ON(a.open > 0); /* they point to what is ours */
    for (size_t i = 0; i < plane_parts(t->plane); i++)
        plane_start(t->plane, i);
    if (!a.error && !loop_run_until(t->loop, loop_now(t->loop) + CATCH_UP, MAX_ITERATIONS))
        return err_set(err, ERR_TIMEOUT, "the twin did not come to rest");
    return a.error;
}

/* ---- what changed ---- */

static void news_clear(struct news *n)
{
    for (size_t i = 0; i < n->changes.len; i++)
        obj_unref(n->changes.p[i].obj);
    vec_done(&n->changes);
    vec_done(&n->words);
    map_done(&n->places);
    arena_done(&n->arena);
    *n = (struct news){.arena = ARENA_INIT};
}

static void news_add(struct news *n, struct obj *o, bool gone)
{
    size_t place = (size_t)(uintptr_t)map_get(&n->places, o->uid);
    struct twin_change *c = place ? &n->changes.p[place - 1] : vec_push(&n->changes);
    struct obj *before = place ? c->obj : NULL;
    *c = (struct twin_change){obj_ref(o), gone};
    (void)map_put(&n->places, o->uid, (void *)(uintptr_t)(place ? place : n->changes.len));
    obj_unref(before);
}

/* ---- nodes ---- */

static struct doc *make_ready(const struct obj *pod, usec now)
{
    static const char *const conditions[] = {"Initialized", "ContainersReady", "Ready",
                                             "PodScheduled"};
    struct strbuf time = STRBUF_INIT(64);
    struct jw w;
    time_format_rfc3339(now, &time);
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "status");
    jw_put_cstr(&w, "phase", "Running");
    jw_put_str(&w, "startTime", strbuf_str(&time));
    jw_put_array(&w, "conditions");
    for (size_t i = 0; i < ARRAY_LEN(conditions); i++) {
        jw_object(&w);
        jw_put_cstr(&w, "type", conditions[i]);
        jw_put_cstr(&w, "status", "True");
        jw_put_str(&w, "lastTransitionTime", strbuf_str(&time));
        jw_end(&w);
    }
    jw_end(&w);
    jw_put_array(&w, "containerStatuses");
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "containers")); jnext(&it);) {
        jw_object(&w);
        jw_put(&w, "name", jgetc(it.value, "name"));
        jw_put(&w, "image", jgetc(it.value, "image"));
        jw_put_cstr(&w, "imageID", "");
        jw_put_bool(&w, "ready", true);
        jw_put_bool(&w, "started", true);
        jw_put_int(&w, "restartCount", 0);
        jw_put_object(&w, "state");
        jw_put_object(&w, "running");
        jw_put_str(&w, "startedAt", strbuf_str(&time));
        jw_end(&w);
        jw_end(&w);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    strbuf_done(&time);
    return jw_doc(&w);
}

/* Pods in trouble when they were adopted stay in it. */
static void serve_pod(struct batch *b, struct obj *pod)
{
    bool bound = !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName")));
    if (pod->deleting && bound)
        batch_add(b, &(struct api_request){.verb = API_DELETE,
                                           .kind = &kind_pod,
                                           .ns = pod->ns,
                                           .name = pod->name,
                                           .uid = pod->uid,
                                           .grace_seconds = 0});
    else if (str_is(pod_state(pod), "Starting"))
        batch_add(b, &(struct api_request){.verb = API_PATCH,
                                           .patch = API_PATCH_MERGE,
                                           .kind = &kind_pod,
                                           .ns = pod->ns,
                                           .name = pod->name,
                                           .subresource = STR("status"),
                                           .body = make_ready(pod, loop_wall(b->twin->loop))});
}

/* Of all that Grove made; other pods only hold their room. */
static void serve_pods(struct twin *t)
{
    struct err ignored = ERR_INIT;
    struct news due = t->due;
    struct batch *b = xnew(struct batch);
    t->due = (struct news){.arena = ARENA_INIT};
    b->twin = t;
    t->err = &ignored;
    t->error = 0;
    for (size_t i = 0; i < due.changes.len; i++) {
        if (!due.changes.p[i].gone)
            serve_pod(b, due.changes.p[i].obj);
    }
    batch_flush(b);
    /* Once more, unless they have changed meanwhile. */
    for (size_t i = 0; t->error && i < due.changes.len; i++) {
        if (!map_has(&t->due.places, due.changes.p[i].obj->uid))
            news_add(&t->due, due.changes.p[i].obj, due.changes.p[i].gone);
    }
    t->error = 0;
    free(b);
    news_clear(&due);
}

bool twin_run(struct twin *t, usec time)
{
    usec end = loop_now(t->loop) + time;
    while (loop_now(t->loop) < end) {
        usec until = MIN(end, MAX(t->nodes_due, loop_now(t->loop) + 1));
        if (!loop_run_until(t->loop, until, MAX_ITERATIONS))
            return false;
        if (loop_now(t->loop) < t->nodes_due)
            continue;
        serve_pods(t);
        t->nodes_due = loop_now(t->loop) + NODES_EVERY;
    }
    return true;
}

uint64_t twin_revision(const struct twin *t)
{
    return store_next_revision(apiserver_store(plane_server(t->plane)));
}

usec twin_time(const struct twin *t)
{
    return loop_now(t->loop) - t->began;
}

/* ---- news ---- */

static bool is_watched(const struct kind *k)
{
    return k == &kind_pcs || k == &kind_pcsg || k == &kind_pclq || k == &kind_pod ||
           k == &kind_pod_gang || k == &kind_pod_gang_map;
}

static void on_event(struct store_sub *sub, const struct store_event *e)
{
    struct twin *t = container_of(sub, struct twin, sub);
    if (e->obj->kind == &kind_pod &&
        str_is(obj_label(e->obj, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE))
        news_add(&t->due, e->obj, e->type == STORE_DELETED);
    if (is_watched(e->obj->kind) && str_eq(e->obj->ns, t->watched))
        news_add(&t->news, e->obj, e->type == STORE_DELETED);
}

/* "... PodGangMap NS/NAME (WORDS) ...", see runtime_set_journal. */
static void on_journal(void *ctx, str line)
{
    static const str kind = {" PodGangMap ", 12};
    struct twin *t = ctx;
    ptrdiff_t at = str_find(line, kind);
    if (at < 0 || str_is_empty(t->watched))
        return;
    str rest = str_sub(line, (size_t)at + kind.len, line.len), path = str_cut(&rest, ' ');
    (void)str_cut(&path, '/');
    (void)str_cut(&rest, '(');
    *vec_push(&t->news.words) = (struct twin_word){arena_str(&t->news.arena, path),
                                                   arena_str(&t->news.arena, str_cut(&rest, ')'))};
}

void twin_watch(struct twin *t, str ns)
{
    static const enum picture_part parts[] = {PICTURE_SETS, PICTURE_GROUPS, PICTURE_CLIQUES,
                                              PICTURE_PODS, PICTURE_GANGS,  PICTURE_MAPS};
    struct store *store = apiserver_store(plane_server(t->plane));
    t->watched = arena_str(&t->own, ns);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        struct obj *o;
        struct store_iter it = store_range(store, picture_kind(parts[i]), ns, STR_NONE, STR_NONE);
        while ((o = store_next(&it)))
            news_add(&t->news, o, false);
    }
}

struct twin_news twin_news(struct twin *t)
{
    news_clear(&t->told);
    t->told = t->news;
    t->news = (struct news){.arena = ARENA_INIT};
    return (struct twin_news){t->told.changes.p, t->told.changes.len, t->told.words.p,
                              t->told.words.len};
}

/* ---- life cycle ---- */

static void on_ready(void *ctx, const struct err *err)
{
    struct twin *t = ctx;
    t->ready = true;
    if (err)
        t->failure = *err;
}

/* ---- size ---- */

/* Counts stop here, so that products of three of them are numbers still. */
static int64_t capped(int64_t n)
{
    return MIN(MAX(n, 0), INT32_MAX);
}

static int64_t replicas_of(jval v)
{
    return capped(jint(jgetc(v, "replicas"), 1));
}

/* How often each replica of the set has the clique: once, or with each replica of its group. */
static int64_t times_of(jval template, str clique)
{
    for (struct jiter it = jiter(jgetc(template, "podCliqueScalingGroups")); jnext(&it);) {
        for (struct jiter name = jiter(jgetc(it.value, "cliqueNames")); jnext(&name);) {
            if (str_eq(jstr(name.value), clique))
                return replicas_of(it.value);
        }
    }
    return 1;
}

static int64_t pods_of_set(jval spec)
{
    jval template = jgetc(spec, "template");
    int64_t pods = 0;
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);)
        pods = capped(pods + replicas_of(jgetc(it.value, "spec")) *
                                 times_of(template, jstr(jgetc(it.value, "name"))));
    return capped(pods * replicas_of(spec));
}

static int64_t pods_of_nodes(const struct session_list *nodes)
{
    struct arena a = ARENA_INIT;
    struct snapshot snap = {.arena = &a,
                            .resources = {STR("cpu"), STR("memory"), STR("pods")},
                            .n_resources = RES_FIRST_OTHER};
    int64_t pods = 0;
    for (size_t i = 0; i < nodes->n; i++) {
        struct snap_node n;
        snapshot_read_node(&snap, nodes->items[i], &n);
        pods = capped(pods + capped(n.total[RES_PODS]));
    }
    arena_done(&a);
    return pods;
}

int twin_check_size(const struct picture *p, const doc_vec *docs, struct err *err)
{
    int64_t pods = 0, most = pods_of_nodes(&p->parts[PICTURE_NODES]);
    for (size_t i = 0; i < docs->len; i++) {
        jval root = doc_root(docs->p[i]);
        if (str_is(jstr(jgetc(root, "kind")), "PodCliqueSet"))
            pods = capped(pods + pods_of_set(jgetc(root, "spec")));
    }
    if (pods <= MAX(most, ALWAYS_TRIED))
        return 0;
    return err_set(err, ERR_INVALID,
                   "%s%lld pods are asked for, and the nodes hold at most %lld: ask for fewer",
                   pods == INT32_MAX ? "more than " : "", (long long)pods, (long long)most);
}

struct twin *twin_new(const struct picture *p, str ns, str without, struct err *err)
{
    struct twin *t = xnew(struct twin);
    struct plane_options po = {.nodes = nodes_defaults,
                               .without = STR("nodes,endpoint-controller"),
                               .journal = on_journal,
                               .journal_ctx = t};
    arena_init(&t->own);
    t->loop = loop_new_virtual(1, p->now);
    t->plane = plane_new(t->loop, &po, on_ready, t, err);
    while (t->plane && !t->ready &&
           loop_run_until(t->loop, loop_now(t->loop) + USEC_PER_MSEC, MAX_ITERATIONS))
        ;
    if (t->plane && t->failure.code)
        *err = t->failure;
    t->began = loop_now(t->loop);
    if (t->plane && t->ready) {
        t->sub.on_event = on_event;
        store_subscribe(apiserver_store(plane_server(t->plane)), &t->sub);
    }
    if (t->plane && t->ready && !t->failure.code && load(t, p, ns, without, err) == 0)
        return t;
    twin_free(t);
    return NULL;
}

static void drop_picture(struct twin *t)
{
    for (size_t i = 0; i < t->shown.len; i++)
        obj_unref(t->shown.p[i]);
    vec_clear(&t->shown);
}

void twin_free(struct twin *t)
{
    if (!t)
        return;
    drop_picture(t);
    vec_done(&t->shown);
    if (t->sub.on_event)
        store_unsubscribe(&t->sub);
    news_clear(&t->news);
    news_clear(&t->told);
    news_clear(&t->due);
    obj_unref(t->answer);
    arena_done(&t->own);
    plane_free(t->plane);
    loop_free(t->loop);
    free(t);
}

bool twin_settle(struct twin *t)
{
    struct store *store = apiserver_store(plane_server(t->plane));
    usec quiet_since = loop_now(t->loop), end = quiet_since + LIMIT;
    uint64_t seen = 0;
    while (loop_now(t->loop) < end) {
        if (!loop_run_until(t->loop, loop_now(t->loop) + SLICE, MAX_ITERATIONS))
            return false;
        uint64_t revision = store_next_revision(store);
        if (revision != seen || !plane_is_idle(t->plane))
            quiet_since = loop_now(t->loop);
        seen = revision;
        if (loop_now(t->loop) - quiet_since >= QUIET)
            return true;
    }
    return false;
}

void twin_picture(struct twin *t, str ns, unsigned parts, struct picture *ret)
{
    struct store *store = apiserver_store(plane_server(t->plane));
    size_t ends[PICTURE_PARTS] = {0}, begin = 0;
    drop_picture(t);
    *ret = (struct picture){.ns = ns, .now = loop_wall(t->loop)};
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        bool all = i == PICTURE_NODES || i == PICTURE_ALL_PODS;
        struct obj *o;
        struct store_iter it =
            store_range(store, picture_kind(i), all ? STR_NONE : ns, STR_NONE, STR_NONE);
        while ((parts >> i & 1) && (o = store_next(&it)))
            *vec_push(&t->shown) = obj_ref(o);
        ends[i] = t->shown.len;
    }
    for (unsigned i = 0; i < PICTURE_PARTS; begin = ends[i++])
        ret->parts[i] = (struct session_list){t->shown.p + begin, ends[i] - begin, 0};
}
