/*
 * A controller in one page: a ConfigMap labelled toy=parent with data.children = N gets N
 * ConfigMaps of its own, NAME-0 to NAME-(N-1); surplus ones go. Run it against any API server:
 *
 *   KUBECONFIG=... toy [--lease NAME]
 *
 * toy_plan() is all there is to say about the controller: a pure function from what is cached to
 * what is to be done. The rest is the same for every controller: whom to talk to and, with --lease,
 * that of several processes one acts at a time (client/host.h).
 */
#include "base/log.h"
#include "base/opt.h"
#include "client/host.h"

static struct doc *child_of(const struct obj *parent, str name)
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

static void toy_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct obj *parent = world_get(w, key->kind, key->ns, key->name), *child;
    int64_t want = 0, have = 0;
    if (!parent || parent->deleting || !str_is(obj_label(parent, STR("toy")), "parent"))
        return;
    (void)str_to_int(jstr(jpath(obj_root(parent), "data.children")), &want);
    for (struct cache_iter it = world_owned(w, key->kind, parent->uid);
         (child = cache_next(&it));) {
        str number = str_sub(child->name, parent->name.len + 1, child->name.len);
        int64_t i = -1;
        have++;
        if (!child->deleting && (!str_to_int(number, &i) || i >= want))
            plan_why(plan_delete(p, 1, child), p, "%lld children are wanted", (long long)want);
    }
    for (int64_t i = 0; i < want; i++) {
        str name = arena_printf(p->arena, "%.*s-%lld", STR_ARG(parent->name), (long long)i);
        if (!world_get(w, key->kind, parent->ns, name))
            plan_why(plan_create(p, 0, key->kind, parent->ns, name, child_of(parent, name)), p,
                     "%lld of %lld children exist", (long long)have, (long long)want);
    }
}

static const struct controller_watch watches[] = {
    {&kind_config_map, map_self},
    {&kind_config_map, map_controller_owner},
};
static const struct controller_def def = {
    .name = "toy", .plan = toy_plan, .watches = watches, .n_watches = ARRAY_LEN(watches)};

/* ---- the process ---- */

static void add(void *ctx, struct runtime *r, struct api *api)
{
    runtime_add(r, &def, api);
}

struct args {
    str lease;
    usec duration;
    bool faults;
};

static const struct opt opts[] = {
    OPT_STRING(struct args, lease, 0, "lease", "NAME", "Act only while holding this Lease"),
    OPT_DURATION(struct args, duration, 0, "lease-duration", "15s", "How long it lasts"),
    OPT_FLAG(struct args, faults, 0, "faults",
             "Spoil its connection, to see that it does not matter"),
    OPT_END,
};

/* Every kind of misfortune, to a few requests in a hundred and events in a thousand. */
static const struct api_faulty_options faults = {
    .max_delay = 5000,
    .max_lag = 100000,
    .timeout = 300000,
    .drop = 3,
    .error = 3,
    .gateway = 3,
    .lost_reply = 5,
    .late = 3,
    .conflict = 3,
    .throttle = 1,
    .watch_end = 2,
    .watch_expired = 1,
};

static int run(void *ctx, const void *o, const struct command_call *call)
{
    const struct args *args = o;
    struct err err = ERR_INIT;
    struct host_options ho = {.lease = args->lease,
                              .lease_duration = args->duration,
                              .faults = args->faults ? &faults : NULL,
                              .add = add};
    if (host_run(&ho, &err) == 0)
        return 0;
    log_error(err.message);
    return 1;
}

static const struct command toy = {
    .name = "toy",
    .summary = "Gives ConfigMaps children",
    .opts = opts,
    .opts_size = sizeof(struct args),
    .run = run,
};

int main(int argc, char **argv)
{
    kinds_init();
    return command_main(&toy, argc, argv, NULL);
}
