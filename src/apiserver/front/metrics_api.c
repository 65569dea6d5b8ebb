/* See metrics_api.h. Parsing a path, then one writer per shape of answer. */
#include "apiserver/front/metrics_api.h"

#include "apiserver/front/front_impl.h"
#include "base/map.h"
#include "base/vec.h"
#include "grove/metrics_source.h"
#include "kube/selector.h"

/* ---- paths ---- */

enum { MAX_SEGMENTS = 6 };

/* The rest of a path, decoded; 0 when there are too many segments or one is empty or malformed. */
static size_t split_path(str rest, struct arena *a, str ret[MAX_SEGMENTS])
{
    size_t n = 0;
    while (rest.p) {
        str one = str_cut(&rest, '/');
        if (n == MAX_SEGMENTS || !http_unescape(one, false, a, &ret[n]) || ret[n].len == 0)
            return 0;
        n++;
    }
    return n;
}

static const struct kind *find_resource(str group, str version, str plural)
{
    const struct kind *k;
    for (size_t i = 0; (k = metrics_api_kind(i)); i++) {
        if (str_is(group, k->group) && str_is(version, k->version) &&
            (plural.len == 0 || str_is(plural, k->plural)))
            return k;
    }
    return NULL;
}

/* "podcliques.grove.io" or "pods": a kind that is served, of any version. */
static const struct kind *find_measured(str resource)
{
    str group = resource, plural = str_cut(&group, '.');
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (!kind_is(k, KIND_RETIRED) && str_is(plural, k->plural) && str_is(group, k->group))
            return k;
    }
    return NULL;
}

static void parse_resource(str group, str version, const str *s, size_t n, struct metrics_path *ret)
{
    if (n >= 3 && str_is(s[0], "namespaces")) {
        ret->ns = s[1];
        s += 2;
        n -= 2;
    }
    bool pods = n > 0 && str_is(s[0], "pods");
    if (n == 0 || n > 2 || (!pods && ret->ns.len > 0))
        return;
    ret->kind = find_resource(group, version, s[0]);
    ret->of = pods ? &kind_pod : &kind_node;
    ret->is_list = n == 1;
    ret->name = n == 2 ? s[1] : STR_NONE;
    if (pods && n == 2 && ret->ns.len == 0)
        ret->kind = NULL;
}

static void parse_custom(str group, str version, const str *s, size_t n, struct metrics_path *ret)
{
    bool in_namespace = n >= 4 && str_is(s[0], "namespaces");
    if (in_namespace && n == 4 && str_is(s[2], "metrics")) {
        ret->of = &kind_namespace;
        ret->resource = STR("namespaces");
        ret->name = s[1];
        ret->metric = s[3];
    } else if (in_namespace && n == 5) {
        ret->of = find_measured(s[2]);
        ret->resource = s[2];
        ret->ns = s[1];
        ret->name = s[3];
        ret->metric = s[4];
    } else if (n == 3) {
        ret->of = find_measured(s[0]);
        ret->resource = s[0];
        ret->name = s[1];
        ret->metric = s[2];
    }
    ret->is_list = str_is(ret->name, "*");
    if (ret->of && kind_is(ret->of, KIND_NAMESPACED) == (ret->ns.len > 0))
        ret->kind = find_resource(group, version, STR_NONE);
}

static void parse_external(str group, str version, const str *s, size_t n, struct metrics_path *ret)
{
    if (n != 3 || !str_is(s[0], "namespaces"))
        return;
    ret->kind = find_resource(group, version, STR_NONE);
    ret->ns = s[1];
    ret->metric = s[2];
    ret->is_list = true;
}

static const struct {
    const char *group;
    void (*parse)(str group, str version, const str *s, size_t n, struct metrics_path *ret);
} groups[] = {
    {"metrics.k8s.io", parse_resource},
    {"custom.metrics.k8s.io", parse_custom},
    {"external.metrics.k8s.io", parse_external},
};

bool metrics_api_parse(str path, struct arena *a, struct metrics_path *ret)
{
    str segments[MAX_SEGMENTS];
    *ret = (struct metrics_path){0};
    if (!str_starts(path, STR("/apis/")))
        return false;
    str rest = str_sub(path, 6, path.len), group = str_cut(&rest, '/');
    str version = str_cut(&rest, '/');
    if (rest.len == 0 || !find_resource(group, version, STR_NONE))
        return false;
    size_t n = split_path(rest, a, segments);
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        if (str_is(group, groups[i].group))
            groups[i].parse(group, version, segments, n, ret);
    }
    return true;
}

/* ---- the store as a source ---- */

struct source {
    const struct store *store;
    struct arena *arena;
    bool counted;
    struct map ready; /* owner UID to int64_t */
    struct metrics_memo memo;
    struct metrics_reader reader;
};

static struct obj *source_get(void *ctx, const struct kind *k, str ns, str name)
{
    const struct source *s = ctx;
    return store_get(s->store, k, ns, name);
}

/* Ready pods of all owners, in one pass, when the first is asked for. */
static void count_ready(struct source *s)
{
    struct obj *pod;
    struct store_iter it = store_range(s->store, &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    s->counted = true;
    while ((pod = store_next(&it))) {
        const struct obj *o = metrics_pod_is_ready(pod) ? metrics_owner(&s->reader, pod) : NULL;
        for (unsigned depth = 0; o && depth < 4; depth++, o = metrics_owner(&s->reader, o)) {
            int64_t *n = map_get(&s->ready, o->uid);
            if (!n) {
                n = arena_new(s->arena, int64_t);
                (void)map_put(&s->ready, o->uid, n);
            }
            ++*n;
        }
    }
}

static int64_t source_ready_pods(void *ctx, const struct obj *owner)
{
    struct source *s = ctx;
    if (!s->counted)
        count_ready(s);
    const int64_t *n = map_get(&s->ready, owner->uid);
    return n ? *n : 0;
}

/* ---- writing ---- */

/* One answer on its way. */
struct answer {
    const struct metrics_path *path;
    struct source source;
    struct arena *arena;
    str now;
    const struct selector *labels, *fields;
    struct jw w;
};

/* Those that nodes measure. */
enum { N_RESOURCES = 2 };

struct usage {
    struct quantity q[N_RESOURCES];
};

static void put_quantity(struct jw *w, const char *key, const struct quantity *q)
{
    struct strbuf b = STRBUF_INIT(64);
    quantity_write(q, &b);
    jw_put_str(w, key, strbuf_str(&b));
    strbuf_done(&b);
}

static void put_usage(struct jw *w, const struct usage *u)
{
    jw_put_object(w, "usage");
    for (size_t i = 0; i < N_RESOURCES; i++)
        put_quantity(w, metrics_measured[i], &u->q[i]);
    jw_end(w);
}

/* What a pod uses. */
static struct usage usage_of(struct answer *a, const struct obj *pod)
{
    struct usage u = {{{0, QUANTITY_DECIMAL_SI}, {0, QUANTITY_BINARY_SI}}};
    for (size_t i = 0; i < N_RESOURCES; i++)
        (void)metrics_of_pod(&a->source.reader, pod, METRICS_RESOURCE, str_of(metrics_measured[i]),
                             &u.q[i]);
    return u;
}

static void put_type(struct jw *w, const struct kind *k, const char *suffix)
{
    char version[128];
    jw_key(w, STR("kind"));
    jw_printf(w, "%s%s", k->kind, suffix);
    jw_put_str(w, "apiVersion", kind_api_version(k, version, sizeof(version)));
}

/* Opens an object about o, up to its window. */
static void put_head(struct answer *a, const struct obj *o)
{
    jw_object(&a->w);
    put_type(&a->w, a->path->kind, "");
    jw_put_object(&a->w, "metadata");
    jw_put_str(&a->w, "name", o->name);
    if (o->ns.len > 0)
        jw_put_str(&a->w, "namespace", o->ns);
    jw_put_str(&a->w, "creationTimestamp", a->now);
    jw_put(&a->w, "labels", o->labels);
    jw_end(&a->w);
    jw_put_str(&a->w, "timestamp", a->now);
    jw_key(&a->w, STR("window"));
    jw_printf(&a->w, "%llds", (long long)(METRICS_WINDOW / USEC_PER_SEC));
}

static void put_pod(struct answer *a, const struct obj *pod)
{
    struct usage all = usage_of(a, pod);
    jval containers = jgetc(obj_spec(pod), "containers");
    put_head(a, pod);
    jw_put_array(&a->w, "containers");
    for (struct jiter it = jiter(containers); jnext(&it);) {
        struct usage part;
        for (size_t i = 0; i < N_RESOURCES; i++)
            part.q[i] = metrics_container_share(&all.q[i], it.index, jlen(containers));
        jw_object(&a->w);
        jw_put_str(&a->w, "name", jstr(jgetc(it.value, "name")));
        put_usage(&a->w, &part);
        jw_end(&a->w);
    }
    jw_end(&a->w);
    jw_end(&a->w);
}

/* What runs on each node, in one pass over the pods. */
static void sum_nodes(struct answer *a, struct map *ret)
{
    struct obj *pod;
    struct store_iter it = store_range(a->source.store, &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    while ((pod = store_next(&it))) {
        str node = jstr(jgetc(obj_spec(pod), "nodeName"));
        if (node.len == 0 || !metrics_pod_runs(pod))
            continue;
        struct usage u = usage_of(a, pod), *sum = map_get(ret, node);
        if (!sum) {
            sum = arena_new(a->arena, struct usage);
            (void)map_put(ret, node, sum);
        }
        for (size_t i = 0; i < N_RESOURCES; i++)
            (void)!quantity_add(&sum->q[i], &u.q[i]);
    }
}

static void put_node(struct answer *a, const struct obj *node, const struct map *sums)
{
    static const struct usage none = {{{0, QUANTITY_DECIMAL_SI}, {0, QUANTITY_BINARY_SI}}};
    const struct usage *u = map_get(sums, node->name);
    put_head(a, node);
    put_usage(&a->w, u ? u : &none);
    jw_end(&a->w);
}

static bool is_selected(const struct answer *a, const struct obj *o)
{
    return (!a->labels || label_selector_match(a->labels, o->labels)) &&
           (!a->fields || field_selector_match(a->fields, o));
}

static void put_list_head(struct answer *a, const char *suffix)
{
    jw_object(&a->w);
    put_type(&a->w, a->path->kind, suffix);
    jw_put_object(&a->w, "metadata");
    jw_end(&a->w);
    jw_put_array(&a->w, "items");
}

static void put_list_end(struct answer *a)
{
    jw_end(&a->w);
    jw_end(&a->w);
}

/* ---- metrics.k8s.io ---- */

static void put_measured(struct answer *a, const struct obj *o, const struct map *sums)
{
    if (o->kind == &kind_pod)
        put_pod(a, o);
    else
        put_node(a, o, sums);
}

static struct status *answer_resource(struct answer *a)
{
    const struct metrics_path *p = a->path;
    struct map sums = MAP_INIT;
    struct obj *o;
    struct status *why = NULL;
    if (p->of == &kind_node)
        sum_nodes(a, &sums);
    if (p->is_list) {
        struct store_iter it = store_range(a->source.store, p->of, p->ns, STR_NONE, STR_NONE);
        put_list_head(a, "List");
        while ((o = store_next(&it))) {
            if ((o->kind != &kind_pod || metrics_pod_runs(o)) && is_selected(a, o))
                put_measured(a, o, &sums);
        }
        put_list_end(a);
    } else {
        o = store_get(a->source.store, p->of, p->ns, p->name);
        if (o && (o->kind != &kind_pod || metrics_pod_runs(o)))
            put_measured(a, o, &sums);
        else
            why = status_not_found(a->arena, p->kind, p->name);
    }
    map_done(&sums);
    return why;
}

/* ---- custom.metrics.k8s.io ---- */

static void put_metric_name(struct answer *a)
{
    if (str_is(str_of(a->path->kind->version), "v1beta1")) {
        jw_put_str(&a->w, "metricName", a->path->metric);
        return;
    }
    jw_put_object(&a->w, "metric");
    jw_put_str(&a->w, "name", a->path->metric);
    jw_end(&a->w);
}

/* at: when it was fed; 0: it is measured over the window that ends now. */
static void put_sample(struct answer *a, const struct quantity *value, usec at)
{
    jw_put_str(&a->w, "timestamp", at ? time_text(a->arena, at) : a->now);
    if (!at)
        jw_put_int(&a->w, "windowSeconds", METRICS_WINDOW / USEC_PER_SEC);
    put_quantity(&a->w, "value", value);
}

/* False when it has no such metric. */
static bool put_value(struct answer *a, const struct obj *o)
{
    struct quantity q;
    char version[128];
    str metric = a->path->metric;
    const struct metrics_reader *r = &a->source.reader;
    const struct metrics_sample *fed = metrics_fed(r, a->path->of, o->ns, o->name, metric);
    bool has = a->path->of == &kind_pod
                   ? metrics_of_pod(r, o, METRICS_CUSTOM, metric, &q)
                   : metrics_of_object(r, o, a->path->of, o->ns, o->name, metric, &q);
    if (!has)
        return false;
    jw_object(&a->w);
    jw_put_object(&a->w, "describedObject");
    jw_put_cstr(&a->w, "kind", o->kind->kind);
    if (o->ns.len > 0)
        jw_put_str(&a->w, "namespace", o->ns);
    jw_put_str(&a->w, "name", o->name);
    jw_put_str(&a->w, "apiVersion", kind_api_version(o->kind, version, sizeof(version)));
    jw_end(&a->w);
    put_metric_name(a);
    put_sample(a, &q, fed ? fed->at : 0);
    jw_end(&a->w);
    return true;
}

static struct status *answer_custom(struct answer *a)
{
    const struct metrics_path *p = a->path;
    struct obj *o;
    put_list_head(a, "");
    if (p->is_list) {
        struct store_iter it = store_range(a->source.store, p->of, p->ns, STR_NONE, STR_NONE);
        while ((o = store_next(&it))) {
            if (is_selected(a, o))
                (void)put_value(a, o);
        }
    } else {
        o = store_get(a->source.store, p->of, p->ns, p->name);
        if (!o || !put_value(a, o))
            return status_new(a->arena, 404, "NotFound",
                              "the server could not find the metric %.*s for %s %.*s",
                              STR_ARG(p->metric), p->of->plural, STR_ARG(p->name));
    }
    put_list_end(a);
    return NULL;
}

/* ---- external.metrics.k8s.io ---- */

static struct status *answer_external(struct answer *a)
{
    const struct metrics_path *p = a->path;
    struct metrics_external x = metrics_external(&a->source.reader, p->ns, p->metric);
    struct metrics_series series;
    put_list_head(a, "");
    while (metrics_external_next(&x, &series)) {
        struct doc *labels = doc_hold(a->arena, metrics_series_labels(&series));
        if (a->labels && !label_selector_match(a->labels, doc_root(labels)))
            continue;
        jw_object(&a->w);
        jw_put_str(&a->w, "metricName", p->metric);
        jw_put(&a->w, "metricLabels", doc_root(labels));
        put_sample(a, &series.value, series.at);
        jw_end(&a->w);
    }
    put_list_end(a);
    return NULL;
}

/* ---- answering ---- */

static struct status *parse_selectors(struct answer *a, const struct metrics_query *q)
{
    struct err err = ERR_INIT;
    bool external = !a->path->of;
    if (q->label_selector.len > 0)
        a->labels = label_selector_parse(a->arena, q->label_selector, &err);
    if (!err.code && q->field_selector.len > 0 && !external)
        a->fields = field_selector_parse(a->arena, a->path->of, q->field_selector, &err);
    return err.code ? status_bad_request(a->arena, "%s", err.message) : NULL;
}

static struct status *answer_path(struct answer *a)
{
    if (!a->path->of)
        return answer_external(a);
    return a->path->metric.len > 0 ? answer_custom(a) : answer_resource(a);
}

struct doc *metrics_api_answer(const struct metrics_path *p, const struct metrics_query *q,
                               const struct metrics_figures *f, struct arena *arena,
                               struct status **ret_why)
{
    struct answer a = {.path = p, .arena = arena, .now = time_text(arena, f->now)};
    a.source = (struct source){.store = f->store, .arena = arena};
    a.source.reader =
        (struct metrics_reader){&a.source, source_get, source_ready_pods, &a.source.memo, f->feed};
    *ret_why = p->kind ? parse_selectors(&a, q) : route_no_such_resource(arena);
    if (*ret_why)
        return NULL;
    jw_init(&a.w);
    *ret_why = answer_path(&a);
    map_done(&a.source.ready);
    if (*ret_why) {
        jw_done(&a.w);
        return NULL;
    }
    return jw_doc(&a.w);
}

/* ---- serving ---- */

static const struct {
    const char *method, *verb;
} methods[] = {{"GET", "get"}, {"PUT", "update"}, {"DELETE", "delete"}};

/* What a method asks for; NULL: none of these. A list is only where a path names no object. */
static const char *verb_of(const struct metrics_path *p, str method)
{
    bool lists = p->is_list && !(p->of && p->metric.len > 0);
    for (size_t i = 0; i < ARRAY_LEN(methods); i++) {
        if (str_is(method, methods[i].method))
            return i == 0 && lists ? "list" : methods[i].verb;
    }
    return NULL;
}

/* As authorization sees it, which knows nothing of metrics: they are resources and subresources. */
static struct access access_of(const struct metrics_path *p, const char *verb)
{
    struct access x = access_to(str_of(verb), p->kind, p->ns, p->name, STR_NONE);
    if (!p->metric.len)
        return x;
    x.resource = p->of ? p->resource : p->metric;
    x.sub = p->of ? p->metric : STR_NONE;
    x.ns = p->of == &kind_namespace ? p->name : p->ns;
    x.name = p->of ? p->name : STR_NONE;
    return x;
}

/* Whether the user may; paths that name nothing are asked about as paths. */
static struct status *check_access(struct call *c, const struct metrics_path *p, const char *verb)
{
    struct access x = {.verb = STR("get"), .path = c->x->path};
    if (p->kind)
        x = access_of(p, verb);
    return authorize_status(c->front->server, &c->arena, &c->who.user, &x);
}

static struct doc *serve_verb(struct call *c, const struct metrics_path *p, struct status **ret_why)
{
    struct apiserver *s = c->front->server;
    struct metrics_query q = {0};
    struct metrics_figures f = {apiserver_store(s), apiserver_feed(s),
                                loop_wall(apiserver_loop(s))};
    (void)http_query_get(&c->arena, c->x->query, STR("labelSelector"), &q.label_selector);
    (void)http_query_get(&c->arena, c->x->query, STR("fieldSelector"), &q.field_selector);
    if (str_is(c->x->method, "GET"))
        return metrics_api_answer(p, &q, &f, &c->arena, ret_why);
    *ret_why = str_is(c->x->method, "PUT") ? metrics_api_put(p, &q, &f, c->x->body, &c->arena)
                                           : metrics_api_delete(p, &q, &f, &c->arena);
    return *ret_why ? NULL : status_success_doc(p->kind, p->metric, STR_NONE);
}

bool metrics_api_serve(struct call *c)
{
    struct metrics_path p;
    struct doc *d = NULL;
    if (!metrics_api_parse(c->x->path, &c->arena, &p))
        return false;
    const char *verb = verb_of(&p, c->x->method);
    c->route.kind = p.kind;
    c->route.verb = p.kind ? verb : NULL;
    struct status *why = check_access(c, &p, verb ? verb : "get");
    if (!why && !verb)
        why = status_method_not_allowed(&c->arena);
    if (!why)
        d = serve_verb(c, &p, &why);
    if (d)
        call_reply_doc(c, 200, d);
    else
        call_reply_status(c, why);
    return true;
}
