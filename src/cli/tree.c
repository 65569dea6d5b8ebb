/*
 * `grove tree`: a set as it is built: replicas, scaling groups, cliques, pods and where they run.
 * Made from four lists read once, joined by owner.
 */
#include "cli/tree.h"
#include "cli/cli.h"
#include "cli/session.h"
#include "grove/types.h"

struct tree {
    struct session *session;
    struct session_list groups, cliques, pods;
    struct strbuf *out;
};

static str label(const struct obj *o, const char *key)
{
    return obj_label(o, str_of(key));
}

static int64_t status_int(const struct obj *o, const char *field)
{
    return jint(jget(obj_status(o), str_of(field)), 0);
}

static int64_t spec_int(const struct obj *o, const char *field)
{
    return jint(jget(obj_spec(o), str_of(field)), 0);
}

/* Branches: what stands before a line depends on whether the levels above go on below it. */
struct branch {
    const struct branch *up;
    bool last;
};

static void put_indent(struct strbuf *out, const struct branch *b)
{
    if (!b)
        return;
    put_indent(out, b->up);
    strbuf_add_cstr(out, b->last ? "   " : "│  ");
}

static void put_line(struct tree *t, const struct branch *b)
{
    put_indent(t->out, b->up);
    strbuf_add_cstr(t->out, b->last ? "└─ " : "├─ ");
}

static str pod_state(const struct obj *pod)
{
    jval status = obj_status(pod);
    if (pod->deleting)
        return STR("Terminating");
    if (jlen(jgetc(obj_spec(pod), "schedulingGates")) > 0)
        return STR("Gated");
    if (condition_is_true(jgetc(status, "conditions"), STR("Ready")))
        return STR("Ready");
    return jstr(jgetc(status, "phase"));
}

static void put_pod(struct tree *t, const struct obj *pod, const struct branch *b)
{
    str node = jstr(jgetc(obj_spec(pod), "nodeName"));
    put_line(t, b);
    strbuf_printf(t->out, "%.*s  %.*s  %.*s\n", STR_ARG(pod->name), STR_ARG(pod_state(pod)),
                  STR_ARG(str_is_empty(node) ? STR("-") : node));
}

static size_t count_owned(const struct session_list *l, str owner, str index_label, str index)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++)
        n += str_eq(l->items[i]->owner_uid, owner) &&
             (str_is_empty(index_label) || str_eq(obj_label(l->items[i], index_label), index));
    return n;
}

static void put_clique(struct tree *t, const struct obj *clique, const struct branch *b)
{
    size_t n = count_owned(&t->pods, clique->uid, STR_NONE, STR_NONE), seen = 0;
    put_line(t, b);
    strbuf_printf(
        t->out, "PodClique %.*s  %lld/%lld ready  min %lld  gang %.*s\n", STR_ARG(clique->name),
        (long long)status_int(clique, "readyReplicas"), (long long)spec_int(clique, "replicas"),
        (long long)spec_int(clique, "minAvailable"), STR_ARG(label(clique, LABEL_PODGANG)));
    for (size_t i = 0; i < t->pods.n; i++) {
        if (str_eq(t->pods.items[i]->owner_uid, clique->uid))
            put_pod(t, t->pods.items[i], &(struct branch){b, ++seen == n});
    }
}

static void put_group(struct tree *t, const struct obj *group, const struct branch *b)
{
    size_t n = count_owned(&t->cliques, group->uid, STR_NONE, STR_NONE), seen = 0;
    put_line(t, b);
    strbuf_printf(t->out, "PodCliqueScalingGroup %.*s  %lld/%lld available  min %lld\n",
                  STR_ARG(group->name), (long long)status_int(group, "availableReplicas"),
                  (long long)spec_int(group, "replicas"),
                  (long long)spec_int(group, "minAvailable"));
    for (size_t i = 0; i < t->cliques.n; i++) {
        if (str_eq(t->cliques.items[i]->owner_uid, group->uid))
            put_clique(t, t->cliques.items[i], &(struct branch){b, ++seen == n});
    }
}

static void put_replica(struct tree *t, const struct obj *pcs, int64_t i, const struct branch *b)
{
    str index = arena_printf(&t->session->arena, "%lld", (long long)i);
    str key = STR(LABEL_PCS_INDEX);
    size_t n = count_owned(&t->cliques, pcs->uid, key, index) +
               count_owned(&t->groups, pcs->uid, key, index);
    size_t seen = 0;
    put_line(t, b);
    strbuf_printf(t->out, "replica %lld\n", (long long)i);
    for (size_t k = 0; k < t->cliques.n; k++) {
        const struct obj *o = t->cliques.items[k];
        if (str_eq(o->owner_uid, pcs->uid) && str_eq(obj_label(o, key), index))
            put_clique(t, o, &(struct branch){b, ++seen == n});
    }
    for (size_t k = 0; k < t->groups.n; k++) {
        const struct obj *o = t->groups.items[k];
        if (str_eq(o->owner_uid, pcs->uid) && str_eq(obj_label(o, key), index))
            put_group(t, o, &(struct branch){b, ++seen == n});
    }
}

static void put_set(struct tree *t, const struct obj *pcs)
{
    int64_t replicas = spec_int(pcs, "replicas");
    strbuf_printf(t->out, "PodCliqueSet %.*s  %lld/%lld available\n", STR_ARG(pcs->name),
                  (long long)status_int(pcs, "availableReplicas"), (long long)replicas);
    for (int64_t i = 0; i < replicas; i++)
        put_replica(t, pcs, i, &(struct branch){NULL, i == replicas - 1});
}

int tree_write(struct session *s, str name, struct strbuf *out, struct err *err)
{
    struct tree t = {.session = s, .out = out};
    struct session_list sets = {0};
    struct obj *one = NULL;
    int r = str_is_empty(name) ? session_list(s, &kind_pcs, s->ns, STR_NONE, &sets, err)
                               : session_get(s, &kind_pcs, s->ns, name, &one, err);
    str ours = STR(LABEL_MANAGED_BY "=" MANAGED_BY_GROVE);
    r = r ? r : session_list(s, &kind_pcsg, s->ns, ours, &t.groups, err);
    r = r ? r : session_list(s, &kind_pclq, s->ns, ours, &t.cliques, err);
    r = r ? r : session_list(s, &kind_pod, s->ns, ours, &t.pods, err);
    if (r)
        return r;
    if (one)
        put_set(&t, one);
    for (size_t i = 0; i < sets.n; i++)
        put_set(&t, sets.items[i]);
    return 0;
}

struct tree_args {
    struct session_opts session;
};

static int run_tree(void *ctx, const void *opts, const struct command_call *call)
{
    const struct tree_args *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    struct strbuf out = STRBUF_INIT(256 << 20);
    str name = call->args_len ? call->args[0] : STR_NONE;
    (void)ctx;
    if (str_starts(name, STR("pcs/")))
        name = str_sub(name, 4, name.len);
    int r = session_open(&a->session, &s, &err);
    r = r ? r : tree_write(&s, name, &out, &err);
    if (r == 0 && out.len == 0)
        fprintf(stderr, "No PodCliqueSets in namespace %.*s.\n", STR_ARG(s.ns));
    fwrite(out.p ? out.p : "", 1, out.len, stdout);
    strbuf_done(&out);
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : EXIT_OK;
}

static const struct opt tree_opts[] = {
    OPT_GROUP("Connection", session_options, offsetof(struct tree_args, session)),
    OPT_END,
};

const struct command cmd_tree = {
    .name = "tree",
    .summary = "Show sets, scaling groups, cliques, pods and nodes as a tree",
    .usage = "[NAME]",
    .max_args = 1,
    .opts = tree_opts,
    .opts_size = sizeof(struct tree_args),
    .examples = "  $ grove tree\n  $ grove tree my-set",
    .run = run_tree,
};
