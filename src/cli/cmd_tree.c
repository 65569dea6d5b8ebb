/*
 * `grove tree`: a set as it is built: replicas, scaling groups, cliques, pods and where they run.
 * Lists joined by owner become a nested document; the text is drawn from that.
 */
#include "cli/cmd_tree.h"
#include "cli/offer_names.h"

#include "explain/documents/findings.h"
#include "grove/types.h"

/* ---- the document ---- */

struct build {
    const struct picture *picture;
    struct jw *w;
    struct pod_groups by_owner;
    struct session_list cliques, groups;
    struct arena *arena;
};

static void put_number(struct jw *w, const char *key, jval from, const char *field)
{
    jw_put_int(w, key, jint(jget(from, str_of(field)), 0));
}

static void begin(struct build *b, const struct obj *o)
{
    jw_object(b->w);
    jw_put_cstr(b->w, "kind", o->kind->kind);
    jw_put_str(b->w, "name", o->name);
    if (o->deleting)
        jw_put_bool(b->w, "deleting", true);
}

static void put_pod(struct build *b, const struct obj *pod)
{
    str node = jstr(jgetc(obj_spec(pod), "nodeName"));
    begin(b, pod);
    jw_put_str(b->w, "state", pod_state(pod));
    if (!str_is_empty(node))
        jw_put_str(b->w, "node", node);
    jw_put_str(b->w, "gang", picture_gang_of(b->picture, pod));
    jw_end(b->w);
}

static void put_clique(struct build *b, const struct obj *clique)
{
    struct session_list pods = pod_groups_get(&b->by_owner, clique->uid);
    begin(b, clique);
    put_number(b->w, "ready", obj_status(clique), "readyReplicas");
    put_number(b->w, "desired", obj_spec(clique), "replicas");
    put_number(b->w, "minAvailable", obj_spec(clique), "minAvailable");
    jw_put_str(b->w, "gang", picture_gang_of(b->picture, clique));
    jw_put_array(b->w, "children");
    for (size_t i = 0; i < pods.n; i++)
        put_pod(b, pods.items[i]);
    jw_end(b->w);
    jw_end(b->w);
}

/* The cliques that an object made; index: of the set's replica, empty for all. */
static void put_cliques(struct build *b, str owner, str index)
{
    for (size_t i = 0; i < b->cliques.n; i++) {
        const struct obj *o = b->cliques.items[i];
        if (str_eq(o->owner_uid, owner) &&
            (str_is_empty(index) || str_eq(obj_label(o, STR(LABEL_PCS_INDEX)), index)))
            put_clique(b, o);
    }
}

static void put_group(struct build *b, const struct obj *group)
{
    begin(b, group);
    put_number(b->w, "available", obj_status(group), "availableReplicas");
    put_number(b->w, "desired", obj_spec(group), "replicas");
    put_number(b->w, "minAvailable", obj_spec(group), "minAvailable");
    jw_put_array(b->w, "children");
    put_cliques(b, group->uid, STR_NONE);
    jw_end(b->w);
    jw_end(b->w);
}

static void put_replica(struct build *b, const struct obj *pcs, int64_t i)
{
    const struct session_list *groups = &b->groups;
    str index = arena_printf(b->arena, "%lld", (long long)i);
    jw_object(b->w);
    jw_put_int(b->w, "replica", i);
    jw_put_array(b->w, "children");
    put_cliques(b, pcs->uid, index);
    for (size_t k = 0; k < groups->n; k++) {
        if (str_eq(groups->items[k]->owner_uid, pcs->uid) &&
            str_eq(obj_label(groups->items[k], STR(LABEL_PCS_INDEX)), index))
            put_group(b, groups->items[k]);
    }
    jw_end(b->w);
    jw_end(b->w);
}

/* Replicas there should be, and those beyond that are still going. */
static int64_t count_replicas(const struct build *b, const struct obj *pcs)
{
    int64_t n = jint(jgetc(obj_spec(pcs), "replicas"), 0), i;
    for (unsigned part = PICTURE_GROUPS; part <= PICTURE_CLIQUES; part++) {
        const struct session_list *l = &b->picture->parts[part];
        for (size_t k = 0; k < l->n; k++) {
            if (str_eq(l->items[k]->owner_uid, pcs->uid) &&
                str_to_int(obj_label(l->items[k], STR(LABEL_PCS_INDEX)), &i))
                n = MAX(n, i + 1);
        }
    }
    return n;
}

static bool has_replica(const struct build *b, const struct obj *pcs, int64_t i)
{
    int64_t k;
    if (i < jint(jgetc(obj_spec(pcs), "replicas"), 0))
        return true;
    for (unsigned part = PICTURE_GROUPS; part <= PICTURE_CLIQUES; part++) {
        const struct session_list *l = &b->picture->parts[part];
        for (size_t n = 0; n < l->n; n++) {
            if (str_eq(l->items[n]->owner_uid, pcs->uid) &&
                str_to_int(obj_label(l->items[n], STR(LABEL_PCS_INDEX)), &k) && k == i)
                return true;
        }
    }
    return false;
}

static void put_set(struct build *b, const struct obj *pcs)
{
    begin(b, pcs);
    put_number(b->w, "available", obj_status(pcs), "availableReplicas");
    put_number(b->w, "desired", obj_spec(pcs), "replicas");
    jw_put_str(b->w, "phase", jstr(jgetc(obj_status(pcs), "phase")));
    jw_put_array(b->w, "children");
    int64_t n = MIN(count_replicas(b, pcs), (int64_t)b->picture->parts[PICTURE_CLIQUES].n +
                                                jint(jgetc(obj_spec(pcs), "replicas"), 0));
    for (int64_t i = 0; i < n; i++) {
        if (has_replica(b, pcs, i))
            put_replica(b, pcs, i);
    }
    jw_end(b->w);
    jw_end(b->w);
}

struct doc *tree_build(const struct picture *p, const struct view_target *t, struct arena *a,
                       struct err *err)
{
    struct session_list sets;
    struct jw w;
    if (view_sets(p, t, &sets, a, err))
        return NULL;
    struct build b = {.picture = p, .w = &w, .arena = a};
    pod_groups_init(&b.by_owner, p, pod_owner_uid, a);
    b.cliques = picture_counted(p, PICTURE_CLIQUES, a);
    b.groups = picture_counted(p, PICTURE_GROUPS, a);
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "namespace", p->ns);
    jw_put_array(&w, "sets");
    for (size_t i = 0; i < sets.n; i++)
        put_set(&b, sets.items[i]);
    jw_end(&w);
    jw_end(&w);
    pod_groups_done(&b.by_owner);
    return jw_doc(&w);
}

/* ---- the text ---- */

/* Of many that are alike some are shown, and all that are not well, as far as one can read. */
enum { SHOWN_WELL = 6, SHOWN_ILL = 20 };

/* Branches: what stands before a line depends on whether the levels above go on below it. */
struct branch {
    const struct branch *up;
    bool last;
    jval parent;
};

static void put_indent(struct strbuf *out, const struct branch *b)
{
    if (!b)
        return;
    put_indent(out, b->up);
    strbuf_add_cstr(out, b->last ? "   " : "│  ");
}

static long long number(jval v, const char *key)
{
    return jint(jget(v, str_of(key)), 0);
}

static void put_share(struct strbuf *out, long long is, long long of, const char *word,
                      struct arena *a)
{
    paint_add(out, is >= of ? PAINT_GOOD : PAINT_WAIT,
              arena_printf(a, "%lld/%lld %s", is, of, word));
}

static void put_label(jval v, jval parent, struct arena *a, struct strbuf *out)
{
    str kind = jstr(jgetc(v, "kind")), name = jstr(jgetc(v, "name"));
    if (j_has(jgetc(v, "replica"))) {
        strbuf_printf(out, "replica %lld", number(v, "replica"));
        return;
    }
    if (str_is(kind, "Pod")) {
        str state = jstr(jgetc(v, "state")), node = jstr(jgetc(v, "node"));
        strbuf_printf(out, "%.*s  ", STR_ARG(name));
        paint_add(out, paint_of_state(state), state);
        strbuf_printf(out, "  %.*s", STR_ARG(str_is_empty(node) ? STR("-") : node));
        /* Where a map rules, the pods of a clique may be in several gangs. */
        if (str_is_empty(jstr(jgetc(parent, "gang"))))
            strbuf_printf(out, "  gang %.*s", STR_ARG(jstr(jgetc(v, "gang"))));
        return;
    }
    strbuf_printf(out, "%.*s ", STR_ARG(kind));
    paint_add(out, PAINT_STRONG, name);
    strbuf_add_cstr(out, "  ");
    bool clique = str_is(kind, "PodClique");
    put_share(out, number(v, clique ? "ready" : "available"), number(v, "desired"),
              clique ? "ready" : "available", a);
    if (j_has(jgetc(v, "minAvailable")))
        strbuf_printf(out, "  min %lld", number(v, "minAvailable"));
    if (clique && !str_is_empty(jstr(jgetc(v, "gang"))))
        strbuf_printf(out, "  gang %.*s", STR_ARG(jstr(jgetc(v, "gang"))));
    if (jbool(jgetc(v, "deleting"), false))
        paint_add(out, PAINT_DIM, STR("  Terminating"));
}

static bool is_well(jval v)
{
    if (str_is(jstr(jgetc(v, "kind")), "Pod"))
        return str_is(jstr(jgetc(v, "state")), "Ready");
    for (struct jiter it = jiter(jgetc(v, "children")); jnext(&it);) {
        if (!is_well(it.value))
            return false;
    }
    bool clique = str_is(jstr(jgetc(v, "kind")), "PodClique");
    return number(v, clique ? "ready" : "available") >= number(v, "desired");
}

/* What is left out of the children, and whether it is well. */
struct left {
    size_t n, ill;
};

/* Which of the children are shown; a few more than are shown of many are all shown. */
static struct left choose(jval children, bool wide, bool *ret_shown)
{
    size_t n = jlen(children), well = 0, ill = 0;
    struct left left = {0};
    for (struct jiter it = jiter(children); jnext(&it);) {
        bool is = is_well(it.value);
        ret_shown[it.index] =
            wide || n <= 2 * SHOWN_WELL || (is ? well++ < SHOWN_WELL : ill++ < SHOWN_ILL);
        left.n += !ret_shown[it.index];
        left.ill += !ret_shown[it.index] && !is;
    }
    return left;
}

static void put_left(struct left left, const struct branch *b, struct strbuf *out)
{
    put_indent(out, b);
    strbuf_printf(out, "└─ and %zu more, ", left.n);
    if (left.ill)
        strbuf_printf(out, "%zu of them not ready", left.ill);
    else
        strbuf_add_cstr(out, "all ready");
    strbuf_add_cstr(out, " (-o wide shows them)\n");
}

static void put_node(jval v, const struct branch *b, bool wide, struct arena *a, struct strbuf *out)
{
    jval children = jgetc(v, "children");
    bool *shown = arena_array(a, bool, jlen(children) + 1);
    struct left left = choose(children, wide, shown);
    if (b) {
        put_indent(out, b->up);
        strbuf_add_cstr(out, b->last ? "└─ " : "├─ ");
    }
    put_label(v, b ? b->parent : JVAL_ABSENT, a, out);
    strbuf_add_char(out, '\n');
    for (struct jiter it = jiter(children); jnext(&it);) {
        bool last = left.n == 0 && it.index + 1 == jlen(children);
        if (shown[it.index])
            put_node(it.value, &(struct branch){b, last, v}, wide, a, out);
    }
    if (left.n > 0)
        put_left(left, b, out);
}

void tree_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    jval sets = jgetc(doc, "sets");
    for (struct jiter it = jiter(sets); jnext(&it);)
        put_node(it.value, NULL, wide, a, out);
    if (jlen(sets) == 0)
        strbuf_printf(out, "No PodCliqueSets in namespace %.*s.\n",
                      STR_ARG(jstr(jgetc(doc, "namespace"))));
}

static int run_tree(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view view = {
        .mask = PICTURE_OF_SETS, .build = tree_build, .write = tree_write};
    struct view_target t;
    struct err err = ERR_INIT;
    (void)ctx;
    if (view_read_target(call, &kind_pcs, &t, &err))
        return cli_fail(&err);
    return view_run(&view, opts, &t);
}

const struct command cmd_tree = {
    .name = "tree",
    .summary = "Show sets, scaling groups, cliques, pods and nodes as a tree",
    .description = "For each clique, how many of its pods are ready, the minimum that is any use, "
                   "and the gang it is placed with; for each pod, its state and its node. When "
                   "many pods are healthy only some of them are shown; -o wide shows all.",
    .usage = "[pcs/NAME]",
    .max_args = 2,
    .opts = view_options_all,
    .opts_size = sizeof(struct view_args),
    .examples = "  $ grove tree\n  $ grove tree -A\n  $ grove tree pcs/my-set --watch\n"
                "  $ grove tree my-set -o json",
    .complete = names_of_sets,
    .run = run_tree,
};
