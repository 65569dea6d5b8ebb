/* See test-toy.h. */
#include "client/test-toy.h"

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

void toy_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    struct toy *t = ctx;
    t->plans++;
    struct obj *parent = world_get(w, key->kind, key->ns, key->name);
    if (!parent || !str_is(obj_label(parent, STR("role")), "parent") || parent->deleting)
        return;
    int64_t want = 0, have = 0;
    str_to_int(jstr(jpath(obj_root(parent), "data.children")), &want);
    for (int64_t i = 0; i < want; i++) {
        str name = child_name(p->arena, parent, i);
        if (!world_get(w, CM, parent->ns, name))
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
        if (t->verify)
            plan_verify_absent(d, CM, parent->ns, str_of(t->verify), STR_NONE);
    }
    plan_count(t, parent, have, p);
    if (t->event)
        plan_event(p, parent, false, STR("Planned"), "%d children", (int)want);
    if (t->look_after)
        plan_look_again(p, w->now + t->look_after);
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
