/* See test-toy.h. */
#include "client/test-toy.h"

#include "base/log.h"

#define START (1767225600 * USEC_PER_SEC)
#define CM (&kind_config_map)

static struct doc *child_doc(const struct obj *parent, str name)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "ConfigMap");
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", name);
    jw_put_str(&w, "namespace", parent->ns);
    jw_put_array(&w, "ownerReferences");
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "v1");
    jw_put_cstr(&w, "kind", "ConfigMap");
    jw_put_str(&w, "name", parent->name);
    jw_put_str(&w, "uid", parent->uid);
    jw_put_bool(&w, "controller", true);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static str child_name(struct arena *a, const struct obj *parent, int64_t i)
{
    return arena_printf(a, "%.*s-%.*s-%d", STR_ARG(parent->name), STR_ARG(parent->uid), (int)i);
}

static void plan_count(const struct toy *t, const struct obj *parent, int64_t have, struct plan *p)
{
    str want = arena_printf(p->arena, "%d", (int)have);
    if (str_eq(obj_annotation(parent, STR("toy/children")), want))
        return;
    str text = arena_printf(
        p->arena, "{\"metadata\":{\"annotations\":{\"toy/children\":\"%.*s\"}}}", STR_ARG(want));
    struct plan_write *w =
        plan_merge_patch(p, 9, parent, STR_NONE, doc_parse(text, NULL, NULL), parent->rv);
    w->counts_only = t->counts_only;
}

/* What it is told, for tests to look at. */
static void note_failure(struct toy *t, const struct world *w, const struct key *key)
{
    const struct failures *f = world_last_failure(w, key);
    t->failures = f ? f->n : 0;
    if (!f)
        return;
    t->failure = f->items[0];
    t->failure.ns = t->failure.name = t->failure.reason = t->failure.message = STR_NONE;
    snprintf(t->message, sizeof(t->message), "%.*s %.*s", STR_ARG(f->items[0].name),
             STR_ARG(f->items[0].reason));
}

void toy_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct toy *t = ctx;
    t->plans++;
    struct obj *parent = world_get(w, key->kind, key->ns, key->name);
    if (!parent || !str_is(obj_label(parent, STR("role")), "parent") || parent->deleting)
        return;
    note_failure(t, w, key);
    t->unsure = 0;
    int64_t want = 0, have = 0;
    str_to_int(jstr(jpath(obj_root(parent), "data.children")), &want);
    for (int64_t i = 0; i < want; i++) {
        str name = child_name(p->arena, parent, i);
        bool there = world_get(w, CM, parent->ns, name);
        t->unsure += !there && world_is_unsure(w, CM, parent->ns, name);
        if (!there)
            plan_create(p, 0, CM, parent->ns, name, child_doc(parent, name));
    }
    struct obj *child;
    for (struct cache_iter it = world_owned(w, CM, parent->uid); (child = cache_next(&it));) {
        str suffix =
            str_sub(child->name, (size_t)str_rfind_char(child->name, '-') + 1, child->name.len);
        int64_t i = 0;
        have++;
        if (child->deleting || (str_to_int(suffix, &i) && i < want))
            continue;
        struct plan_write *d = plan_delete(p, 1, child);
        d->component_uid = parent->uid;
        d->user_scale_in = t->user_scale_in;
        d->not_serving = t->not_serving;
        if (t->verify)
            plan_verify_absent(d, CM, parent->ns, str_of(t->verify), STR_NONE);
    }
    plan_count(t, parent, have, p);
    if (t->warn && t->failures)
        plan_event(p, parent, true, STR("WriteFailed"), "code %d", t->failure.code);
    if (t->event)
        plan_event(p, parent, false, STR("Planned"), "%d children", (int)want);
    if (t->look_after)
        plan_look_again(p, t->look_after);
}

static const struct controller_watch watches[] = {
    {&kind_config_map, map_self},
    {&kind_config_map, map_controller_owner},
};

struct controller_def toy_def(struct toy *t, unsigned max_in_flight)
{
    return (struct controller_def){
        .name = "toy",
        .plan = toy_plan,
        .ctx = t,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
        .max_in_flight = max_in_flight,
        .min_interval = t->min_interval,
    };
}

void toy_put_parent(struct api *fake, const char *name, int children)
{
    char text[512];
    snprintf(
        text, sizeof(text),
        "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"ns\",\"labels\":{\"role\":\"parent\"}},"
        "\"data\":{\"children\":\"%d\"}}",
        name, children);
    api_fake_put(fake, CM, text);
}

const char *toy_count_written(struct api *fake, const char *name)
{
    static char buf[32];
    struct obj *o = api_fake_get(fake, CM, "ns", name);
    str s = o ? obj_annotation(o, STR("toy/children")) : STR_NONE;
    snprintf(buf, sizeof(buf), "%.*s", STR_ARG(s));
    return buf;
}

unsigned toy_times_created(struct api *fake, const char *parent, int i)
{
    char name[64];
    struct obj *o = api_fake_get(fake, CM, "ns", parent);
    snprintf(name, sizeof(name), "%s-%.*s-%d", parent, STR_ARG(o->uid), i);
    return api_fake_times_created(fake, CM, "ns", name);
}

/* ---- the ring ---- */

static void on_journal(void *ctx, str line)
{
    struct toy_rig *r = ctx;
    strbuf_add_str(&r->journal, line);
    strbuf_add_char(&r->journal, '\n');
}

void toy_rig_start(struct toy_rig *r, unsigned max_in_flight)
{
    struct controller_def def = toy_def(&r->toy, max_in_flight);
    r->runtime = runtime_new(r->loop, r->api);
    r->controller = runtime_add(r->runtime, &def, r->api);
    runtime_set_journal(r->runtime, on_journal, r);
    runtime_start(r->runtime);
}

void toy_rig_init(struct toy_rig *r, uint64_t seed, const struct api_faulty_options *o)
{
    kinds_init();
    log_set_level(LOG_LEVEL_OFF);
    *r = (struct toy_rig){.loop = loop_new_virtual(seed, START), .journal = STRBUF_INIT(1 << 24)};
    r->fake = api_fake_new(r->loop, USEC_PER_MSEC);
    r->api = api_faulty_new(r->loop, r->fake, o);
}

void toy_rig_done(struct toy_rig *r)
{
    runtime_free(r->runtime);
    api_free(r->api);
    api_free(r->fake);
    loop_free(r->loop);
    strbuf_done(&r->journal);
}

void toy_run_for(struct toy_rig *r, usec by)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + by, 10000000));
}
