/*
 * The world of the planners' tests; see test-world.h. What happens to a written object is the
 * least an API server does that planners can notice: schema defaults, UIDs, versions, generations,
 * conditional patches, finalizers, graceful deletion of pods on nodes, binding, and lists of
 * conditions merged by type under server-side apply.
 */
#include "grove/test-world.h"

#include "base/test.h"
#include "grove/admission.h"
#include "kube/schema.h"
#include "json/patch.h"
#include "json/yaml.h"

static const struct kind *const cached[] = {
    &kind_pcs,  &kind_pcsg, &kind_pclq,    &kind_pod_gang,        &kind_pod,
    &kind_node, &kind_role, &kind_service, &kind_service_account, &kind_role_binding,
};

struct test_world *tw_new(void)
{
    struct test_world *t = xnew(struct test_world);
    grove_kinds_init();
    t->loop = loop_new_virtual(1, TW_START);
    t->runtime = runtime_new(t->loop, NULL);
    for (size_t i = 0; i < ARRAY_LEN(cached); i++)
        (void)runtime_cache(t->runtime, cached[i]);
    t->world = (struct world){.now = TW_START, .runtime = t->runtime};
    t->text = STRBUF_INIT((size_t)64 << 20);
    plan_init(&t->plan, &t->arena);
    return t;
}

void tw_free(struct test_world *t)
{
    plan_done(&t->plan);
    arena_done(&t->arena);
    strbuf_done(&t->text);
    runtime_free(t->runtime);
    loop_free(t->loop);
    free(t);
}

usec tw_look_at(const struct test_world *t)
{
    return t->plan.look_again ? t->world.now + t->plan.look_again : 0;
}

/* ---- objects ---- */

static str ns_of(const struct kind *k)
{
    return kind_is(k, KIND_NAMESPACED) ? STR("default") : STR_NONE;
}

static struct cache *cache_of(struct test_world *t, const struct kind *k)
{
    struct cache *c = world_cache(&t->world, k);
    REQUIRE(c != NULL);
    return c;
}

static struct doc *must_doc(struct doc *d, const struct err *err)
{
    if (!d)
        test_note("%s", err->message);
    REQUIRE(d != NULL);
    return d;
}

static struct doc *edited(struct edit *e, struct doc *d)
{
    struct err err = ERR_INIT;
    struct doc *out = must_doc(edit_apply(e, d, &err), &err);
    doc_unref(d);
    return out;
}

/* As the server fills them in before it stores. Takes the document over. */
static struct doc *with_defaults(const struct kind *k, struct doc *d)
{
    struct doc *one = schema_default(k->type, d);
    doc_unref(d);
    struct doc *two = grove_default(k, one, STR("default"));
    doc_unref(one);
    return two;
}

static str rfc3339(struct arena *a, usec t)
{
    struct strbuf b = STRBUF_INIT(64);
    time_format_rfc3339(t, &b);
    str s = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}

static void set_if_absent(struct edit *e, jval root, const char *path, const char *pointer,
                          str value)
{
    if (!j_has(jpath(root, path)))
        edit_set_str(e, str_of(pointer), value);
}

/* Stores a version of the object; takes the document over. */
static void store(struct test_world *t, const struct kind *k, struct doc *d, const struct obj *old)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct edit e;
    d = with_defaults(k, d);
    jval root = doc_root(d);
    edit_init(&e, &a);
    edit_set_str(&e, STR("/metadata/resourceVersion"),
                 arena_printf(&a, "%llu", (unsigned long long)++t->rv));
    if (kind_is(k, KIND_NAMESPACED))
        set_if_absent(&e, root, "metadata.namespace", "/metadata/namespace", STR("default"));
    set_if_absent(&e, root, "metadata.uid", "/metadata/uid",
                  arena_printf(&a, "uid-%llu", (unsigned long long)++t->uids));
    set_if_absent(&e, root, "metadata.creationTimestamp", "/metadata/creationTimestamp",
                  rfc3339(&a, t->world.now));
    if (!old && !j_has(jpath(root, "metadata.generation")))
        edit_set_int(&e, STR("/metadata/generation"), 1);
    if (old && !jequal(jgetc(root, "spec"), obj_spec(old)))
        edit_set_int(&e, STR("/metadata/generation"), old->generation + 1);
    d = edited(&e, d);
    edit_done(&e);
    struct obj *o = obj_new(k, d, &err);
    if (!o)
        test_note("%s", err.message);
    REQUIRE(o != NULL);
    cache_observe(cache_of(t, k), o);
    obj_unref(o);
    arena_done(&a);
}

static void load_one(struct test_world *t, const struct doc *d)
{
    str group, version;
    jval root = doc_root(d);
    api_version_split(jstr(jgetc(root, "apiVersion")), &group, &version);
    const struct kind *k = kind_by_name(group, version, jstr(jgetc(root, "kind")));
    REQUIRE(k != NULL);
    str name = jstr(jpath(root, "metadata.name"));
    CHECK(cache_get(cache_of(t, k), ns_of(k), name) == NULL);
    store(t, k, doc_ref(d), NULL);
}

void tw_load(struct test_world *t, const char *yaml)
{
    struct err err = ERR_INIT;
    doc_vec docs = {0};
    if (yaml_parse(str_of(yaml), &docs, &err))
        test_note("%s", err.message);
    REQUIRE(err.code == 0 && docs.len > 0);
    for (size_t i = 0; i < docs.len; i++)
        load_one(t, docs.p[i]);
    doc_vec_done(&docs);
}

void tw_loadf(struct test_world *t, const char *fmt, ...)
{
    struct arena a = ARENA_INIT;
    va_list ap;
    va_start(ap, fmt);
    str text = arena_vprintf(&a, fmt, ap);
    va_end(ap);
    tw_load(t, text.p);
    arena_done(&a);
}

struct obj *tw_get(struct test_world *t, const struct kind *k, const char *name)
{
    return cache_get(cache_of(t, k), ns_of(k), str_of(name));
}

struct obj *tw_must(struct test_world *t, const struct kind *k, const char *name)
{
    struct obj *o = tw_get(t, k, name);
    if (!o)
        test_note("no %s %s", k->kind, name);
    REQUIRE(o != NULL);
    return o;
}

size_t tw_count(struct test_world *t, const struct kind *k)
{
    return cache_count(cache_of(t, k));
}

static void gone(struct test_world *t, const struct obj *o)
{
    struct obj *held = obj_ref(o);
    cache_observe_deleted(cache_of(t, o->kind), held->ns, held->name, held->uid);
    obj_unref(held);
}

static bool has_finalizers(const struct obj *o)
{
    return jlen(jgetc(o->meta, "finalizers")) > 0;
}

/* Stores a changed version; one that was only held by its finalizers goes when they are gone. */
static void change(struct test_world *t, const struct obj *old, struct doc *d)
{
    struct obj *held = obj_ref(old);
    store(t, held->kind, d, held);
    struct obj *o = cache_get(cache_of(t, held->kind), held->ns, held->name);
    if (o && o->deleting && has_finalizers(held) && !has_finalizers(o))
        gone(t, o);
    obj_unref(held);
}

static void merge(struct test_world *t, const struct obj *o, jval patch)
{
    struct err err = ERR_INIT;
    change(t, o, must_doc(json_merge_patch(obj_root(o), patch, &err), &err));
}

void tw_patch(struct test_world *t, const struct kind *k, const char *name, const char *yaml)
{
    struct err err = ERR_INIT;
    struct doc *patch = must_doc(yaml_parse_one(str_of(yaml), &err), &err);
    merge(t, tw_must(t, k, name), doc_root(patch));
    doc_unref(patch);
}

static void delete_object(struct test_world *t, const struct obj *o, int64_t grace)
{
    if (grace < 0)
        grace = o->kind == &kind_pod && !str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")))
                    ? jint(jgetc(obj_spec(o), "terminationGracePeriodSeconds"), 30)
                    : 0;
    if (!has_finalizers(o) && (grace == 0 || o->kind != &kind_pod)) {
        gone(t, o);
        return;
    }
    if (o->deleting)
        return;
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    edit_set_str(&e, STR("/metadata/deletionTimestamp"),
                 rfc3339(&a, t->world.now + grace * USEC_PER_SEC));
    edit_set_int(&e, STR("/metadata/deletionGracePeriodSeconds"), grace);
    change(t, o, edited(&e, doc_ref(o->doc)));
    edit_done(&e);
    arena_done(&a);
}

void tw_delete(struct test_world *t, const struct kind *k, const char *name)
{
    delete_object(t, tw_must(t, k, name), -1);
}

void tw_remove(struct test_world *t, const struct kind *k, const char *name)
{
    gone(t, tw_must(t, k, name));
}

static bool uid_exists(struct test_world *t, str uid)
{
    for (size_t i = 0; i < ARRAY_LEN(cached); i++) {
        struct obj *o;
        for (struct cache_iter it = cache_all(cache_of(t, cached[i]), STR_NONE);
             (o = cache_next(&it));) {
            if (str_eq(o->uid, uid))
                return true;
        }
    }
    return false;
}

static struct obj *find_orphan(struct test_world *t)
{
    for (size_t i = 0; i < ARRAY_LEN(cached); i++) {
        struct obj *o;
        for (struct cache_iter it = cache_all(cache_of(t, cached[i]), STR_NONE);
             (o = cache_next(&it));) {
            if (!o->deleting && !str_is_empty(o->owner_uid) && !uid_exists(t, o->owner_uid))
                return o;
        }
    }
    return NULL;
}

void tw_collect(struct test_world *t)
{
    struct obj *o;
    while ((o = find_orphan(t)))
        delete_object(t, o, -1);
}

str tw_json(const struct obj *o, const char *path)
{
    jval v = jpath(obj_root(o), path);
    return j_is_absent(v) ? STR("") : jtext(v);
}

/* ---- plans ---- */

struct plan *tw_plan(struct test_world *t, planner_fn *fn, void *ctx, const struct kind *k,
                     const char *name)
{
    struct key key = {k, ns_of(k), str_of(name)};
    plan_done(&t->plan);
    arena_clear(&t->arena);
    plan_init(&t->plan, &t->arena);
    fn(&t->world, &key, ctx, &t->plan);
    return &t->plan;
}

str tw_text(struct test_world *t)
{
    strbuf_reset(&t->text);
    plan_print(&t->plan, &t->text);
    return strbuf_str(&t->text);
}

str tw_writes(struct test_world *t)
{
    strbuf_reset(&t->text);
    for (size_t i = 0; i < t->plan.writes.len; i++) {
        plan_print_write(&t->plan.writes.p[i], &t->text);
        strbuf_add_char(&t->text, '\n');
    }
    return strbuf_str(&t->text);
}

const struct plan_write *tw_write(struct test_world *t, const struct kind *k, const char *name,
                                  const char *subresource)
{
    const struct plan_write *found = NULL;
    for (size_t i = 0; i < t->plan.writes.len; i++) {
        const struct plan_write *w = &t->plan.writes.p[i];
        if (w->kind != k || !str_is(w->name, name) || !str_is(w->subresource, subresource))
            continue;
        CHECK(found == NULL);
        found = w;
    }
    return found;
}

jval tw_body(struct test_world *t, const struct kind *k, const char *name, const char *subresource)
{
    const struct plan_write *w = tw_write(t, k, name, subresource);
    return w && w->body ? doc_root(w->body) : JVAL_ABSENT;
}

/* ---- carrying out ---- */

/* The conditions that are there, those of the patch put in by type. */
static void write_conditions(struct jw *w, jval old, jval patch)
{
    jw_put_array(w, "conditions");
    for (struct jiter it = jiter(old); jnext(&it);) {
        jval new = condition_find(patch, jstr(jgetc(it.value, "type")));
        jw_val(w, j_is_absent(new) ? it.value : new);
    }
    for (struct jiter it = jiter(patch); jnext(&it);) {
        if (j_is_absent(condition_find(old, jstr(jgetc(it.value, "type")))))
            jw_val(w, it.value);
    }
    jw_end(w);
}

static void apply_status(struct test_world *t, const struct obj *o, jval body)
{
    struct jw w;
    jval status = jgetc(body, "status");
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "status");
    for (struct jiter it = jiter(status); jnext(&it);) {
        if (str_is(it.key, "conditions"))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    write_conditions(&w, jgetc(obj_status(o), "conditions"), jgetc(status, "conditions"));
    jw_end(&w);
    jw_end(&w);
    struct doc *patch = jw_doc(&w);
    merge(t, o, doc_root(patch));
    doc_unref(patch);
}

static void bind_pod(struct test_world *t, const struct obj *pod, jval binding)
{
    struct arena a = ARENA_INIT;
    str text = arena_printf(&a,
                            "{\"spec\":{\"nodeName\":\"%.*s\"},\"status\":{\"conditions\":[{"
                            "\"type\":\"PodScheduled\",\"status\":\"True\","
                            "\"lastTransitionTime\":\"%.*s\"}]}}",
                            STR_ARG(jstr(jpath(binding, "target.name"))),
                            STR_ARG(rfc3339(&a, t->world.now)));
    struct doc *patch = doc_parse(text, NULL, NULL);
    CHECK(str_eq(jstr(jpath(binding, "metadata.uid")), pod->uid));
    CHECK(str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName"))));
    merge(t, pod, doc_root(patch));
    doc_unref(patch);
    arena_done(&a);
}

static void json_patch_object(struct test_world *t, const struct obj *o, jval patch)
{
    struct err err = ERR_INIT;
    change(t, o, must_doc(json_patch(obj_root(o), patch, &err), &err));
}

static void carry_out_one(struct test_world *t, const struct plan_write *w)
{
    struct obj *o = cache_get(cache_of(t, w->kind), w->ns, w->name);
    if (w->op == PLAN_CREATE) {
        CHECK(o == NULL);
        CHECK(str_eq(jstr(jpath(doc_root(w->body), "metadata.name")), w->name));
        store(t, w->kind, doc_ref(w->body), NULL);
        return;
    }
    REQUIRE(o != NULL);
    if (!str_is_empty(w->uid))
        CHECK_STR(w->uid, o->uid);
    if (w->rv)
        CHECK_INT(w->rv, o->rv); /* a server would answer Conflict */
    if (w->op == PLAN_DELETE)
        delete_object(t, o, w->grace_seconds);
    else if (w->op == PLAN_SUB_CREATE && str_is(w->subresource, "binding"))
        bind_pod(t, o, doc_root(w->body));
    else if (w->op == PLAN_PATCH && w->patch == API_PATCH_APPLY)
        apply_status(t, o, doc_root(w->body));
    else if (w->op == PLAN_PATCH && w->patch == API_PATCH_MERGE)
        merge(t, o, doc_root(w->body));
    else if (w->op == PLAN_PATCH && w->patch == API_PATCH_JSON)
        json_patch_object(t, o, doc_root(w->body));
    else
        CHECK(!"a write this world does not know");
}

void tw_carry_out(struct test_world *t)
{
    unsigned last = 0;
    for (size_t i = 0; i < t->plan.writes.len; i++)
        last = MAX(last, t->plan.writes.p[i].stage);
    for (unsigned stage = 0; stage <= last; stage++) {
        for (size_t i = 0; i < t->plan.writes.len; i++) {
            if (t->plan.writes.p[i].stage == stage)
                carry_out_one(t, &t->plan.writes.p[i]);
        }
    }
}
