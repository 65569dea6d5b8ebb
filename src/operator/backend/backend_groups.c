/*
 * PodGroups of KAI and Volcano from a PodGang, field by field (sections 8.6 and 8.7 of the
 * contract). Pure: gang, set and what is there in, the object that should be out.
 *
 * What is there matters in three ways. Fields that the scheduler took over (KAI: queue and two
 * labels) keep their values. A field that is no longer wanted is written as null, because what is
 * sent is a merge patch. And a list that says all we want is taken as it is, with whatever defaults
 * the other project's schema put into it: otherwise both would write for ever.
 */
#include "grove/scheduler_queue.h"
#include "operator/common/backend.h"

#include "base/map.h"

#define KAI_NODE_POOL "kai.scheduler/node-pool"
#define KAI_TOPOLOGY "kai.scheduler/topology"

/* ---- kinds ---- */

/* Only what every object has: the rest is the other project's business and passes as it is. */
static const struct field group_fields[] = {
    {.name = "apiVersion", .type = &type_string},    {.name = "kind", .type = &type_string},
    {.name = "metadata", .type = &type_object_meta}, {.name = "spec", .type = &type_raw},
    {.name = "status", .type = &type_raw},
};
static const struct type type_kai_group = {.name = "KaiPodGroup",
                                           .tag = TYPE_OBJECT,
                                           .fields = group_fields,
                                           .n_fields = ARRAY_LEN(group_fields)};
static const struct type type_volcano_group = {.name = "VolcanoPodGroup",
                                               .tag = TYPE_OBJECT,
                                               .fields = group_fields,
                                               .n_fields = ARRAY_LEN(group_fields)};

#define POD_GROUP(group_, version_, type_, id_)                                              \
    {                                                                                        \
        .group = (group_), .version = (version_), .kind = "PodGroup", .plural = "podgroups", \
        .singular = "podgroup", .verbs = VERBS_ALL, .type = (type_), .id = (id_),            \
        .flags = KIND_NAMESPACED | KIND_STATUS | KIND_GENERATION | KIND_MUST_SEND_VERSION,   \
    }

static uint16_t kai_id, volcano_id;
const struct kind kind_kai_pod_group =
    POD_GROUP("scheduling.run.ai", "v2alpha2", &type_kai_group, &kai_id);
const struct kind kind_volcano_pod_group =
    POD_GROUP("scheduling.volcano.sh", "v1beta1", &type_volcano_group, &volcano_id);

/* ---- shared ---- */

/* Everything that `wanted` says is in `actual`; lists must be as long. */
static bool covers(jval actual, jval wanted)
{
    if (jequal(actual, wanted))
        return true;
    if (jtype(wanted) != jtype(actual) || (jtype(wanted) != J_OBJECT && jtype(wanted) != J_ARRAY))
        return false;
    if (jtype(wanted) == J_ARRAY && jlen(wanted) != jlen(actual))
        return false;
    bool list = jtype(wanted) == J_ARRAY;
    for (struct jiter it = jiter(wanted); jnext(&it);) {
        if (!covers(list ? jat(actual, it.index) : jget(actual, it.key), it.value))
            return false;
    }
    return true;
}

/* The list that was written, or the one that is there when that says as much. */
static void put_list(struct jw *w, const char *key, struct jw *list, jval existing)
{
    struct doc *d = jw_doc(list);
    jw_put(w, key, covers(existing, doc_root(d)) ? existing : doc_root(d));
    doc_unref(d);
}

/* The value; where there is none, whatever is there goes. */
static void put_or_drop(struct jw *w, const char *key, str value, jval existing)
{
    if (!str_is_empty(value))
        jw_put_str(w, key, value);
    else if (j_has(jget(existing, str_of(key)))) {
        jw_key(w, str_of(key));
        jw_null(w);
    }
}

static int64_t min_of(jval pod_group)
{
    return MAX(jint(jgetc(pod_group, "minReplicas"), 0), 0);
}

static int64_t min_sum(const struct obj *gang)
{
    int64_t sum = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(gang), "podgroups")); jnext(&it);)
        sum += MIN(min_of(it.value), INT32_MAX - sum);
    return sum;
}

static jval spec_of(const struct obj *existing)
{
    return existing ? obj_spec(existing) : JVAL_ABSENT;
}

/* ---- queues ---- */

/* Empty, with the reason, when the set and its cliques disagree. */
static str queue_of(struct backend_work *b, const char *key, bool by_label, str *ret_why)
{
    struct set_queue q = set_queue(obj_root(b->pcs), key, by_label);
    if (str_is_empty(q.other))
        return q.name;
    *ret_why = arena_printf(b->arena, "%s says both \"%.*s\" and \"%.*s\"; one queue is for all",
                            key, STR_ARG(q.name), STR_ARG(q.other));
    return STR_NONE;
}

/* ---- KAI ---- */

static str kai_topology(const struct obj *gang)
{
    str name = obj_annotation(gang, STR(ANNOTATION_TOPOLOGY));
    return str_is_empty(name) ? obj_annotation(gang, STR(KAI_TOPOLOGY)) : name;
}

static jval pack_of(jval constrained)
{
    return jpath(constrained, "topologyConstraint.packConstraint");
}

static bool is_packed(jval constrained)
{
    jval pack = pack_of(constrained);
    return j_has(jgetc(pack, "required")) || j_has(jgetc(pack, "preferred"));
}

static void kai_write_constraint(struct jw *w, const struct obj *gang, jval constrained,
                                 jval existing)
{
    bool packed = is_packed(constrained) && !str_is_empty(kai_topology(gang));
    jval pack = packed ? pack_of(constrained) : JVAL_ABSENT;
    jw_put_object(w, "topologyConstraint");
    put_or_drop(w, "preferredTopologyLevel", jstr(jgetc(pack, "preferred")), existing);
    put_or_drop(w, "requiredTopologyLevel", jstr(jgetc(pack, "required")), existing);
    put_or_drop(w, "topology", packed ? kai_topology(gang) : STR_NONE, existing);
    jw_end(w);
}

/* Levels are those of a topology; without its name they mean nothing. A preference of pack groups,
 * which need no binding, is let go and told; anything else is an error. */
static bool kai_has_names(struct backend_work *b, str *ret_why)
{
    jval spec = obj_spec(b->gang);
    bool must = is_packed(spec), may = false;
    if (!str_is_empty(kai_topology(b->gang)))
        return true;
    for (struct jiter it = jiter(jgetc(spec, "podgroups")); jnext(&it);)
        must |= is_packed(it.value);
    for (struct jiter it = jiter(jgetc(spec, "topologyConstraintGroupConfigs")); jnext(&it);) {
        must |= j_has(jgetc(pack_of(it.value), "required"));
        may |= is_packed(it.value);
    }
    if (must)
        *ret_why =
            STR("a topology constraint without a topology: neither annotation " ANNOTATION_TOPOLOGY
                " nor " KAI_TOPOLOGY " names one");
    else if (may)
        b->lost = STR("preferred packing of groups, which has no topology to refer to");
    return !must;
}

/* Which constraint group each pod group is under: the first that lists it. A tree has one parent.
 */
struct kai_tree {
    jval *configs;
    int64_t *children; /* of each */
    size_t n;
    struct map parent; /* pod group -> number of its constraint group + 1 */
};

static size_t kai_parent(const struct kai_tree *t, str pod_group)
{
    return (size_t)(uintptr_t)map_get(&t->parent, pod_group);
}

static void kai_tree_init(struct kai_tree *t, const struct backend_work *b)
{
    jval configs = jgetc(obj_spec(b->gang), "topologyConstraintGroupConfigs");
    size_t n = jlen(configs);
    *t = (struct kai_tree){.configs = arena_array(b->arena, jval, n + 1),
                           .children = arena_array(b->arena, int64_t, n + 1)};
    for (struct jiter it = jiter(configs); jnext(&it);) {
        t->configs[t->n] = it.value;
        t->children[t->n++] = 0;
        for (struct jiter name = jiter(jgetc(it.value, "podGroupNames")); jnext(&name);) {
            if (!kai_parent(t, jstr(name.value)))
                (void)map_put(&t->parent, jstr(name.value), (void *)(uintptr_t)t->n);
        }
    }
    for (struct jiter it = jiter(jgetc(obj_spec(b->gang), "podgroups")); jnext(&it);) {
        size_t parent = kai_parent(t, jstr(jgetc(it.value, "name")));
        if (parent)
            t->children[parent - 1]++;
    }
}

/* One that has lost all its pod groups to others would wait for them for ever. */
static void kai_write_parents(struct backend_work *b, const struct kai_tree *t, struct jw *w)
{
    for (size_t i = 0; i < t->n; i++) {
        jval config = t->configs[i];
        if (t->children[i] < (int64_t)jlen(jgetc(config, "podGroupNames")))
            b->lost = STR("groups that share cliques; a clique is packed with the first of them");
        if (t->children[i] == 0)
            continue;
        jw_object(w);
        jw_put_int(w, "minSubGroup", t->children[i]);
        jw_put_str(w, "name", jstr(jgetc(config, "name")));
        if (is_packed(config) && !str_is_empty(kai_topology(b->gang)))
            kai_write_constraint(w, b->gang, config, JVAL_ABSENT);
        jw_end(w);
    }
}

/* A name is a label of the pods as well, and as short. */
static void kai_write_sub_groups(struct backend_work *b, struct jw *w)
{
    struct kai_tree tree;
    struct jw list;
    kai_tree_init(&tree, b);
    jw_init(&list);
    jw_array(&list);
    kai_write_parents(b, &tree, &list);
    for (struct jiter it = jiter(jgetc(obj_spec(b->gang), "podgroups")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        size_t parent = kai_parent(&tree, name);
        jw_object(&list);
        jw_put_int(&list, "minMember", min_of(it.value));
        jw_put_str(&list, "name", name_label(b->arena, name));
        if (parent)
            jw_put_str(&list, "parent", jstr(jgetc(tree.configs[parent - 1], "name")));
        if (is_packed(it.value))
            kai_write_constraint(&list, b->gang, it.value, JVAL_ABSENT);
        jw_end(&list);
    }
    jw_end(&list);
    put_list(w, "subGroups", &list, jgetc(spec_of(b->existing), "subGroups"));
    map_done(&tree.parent);
}

/* Those that KAI has taken over keep the value they have. */
static void kai_labels(const struct backend_work *b, struct labels *l)
{
    static const char *const kept[] = {KAI_NODE_POOL, KAI_QUEUE};
    labels_init(l, b->arena);
    labels_add_all(l, b->gang->labels);
    for (size_t i = 0; b->existing && i < ARRAY_LEN(kept); i++) {
        str value = obj_label(b->existing, str_of(kept[i]));
        if (!str_is_empty(value))
            labels_set(l, kept[i], value);
    }
}

struct doc *kai_make(struct backend_work *b, str *ret_why)
{
    struct labels l, annotations;
    struct jw w;
    jval there = spec_of(b->existing);
    str queue = jstr(jgetc(there, "queue"));
    if (str_is_empty(queue))
        queue = queue_of(b, KAI_QUEUE, true, ret_why);
    if (str_is_empty(queue) && str_is_empty(*ret_why))
        *ret_why =
            STR("no queue: set the label or annotation " KAI_QUEUE " on the set or on its cliques");
    if (str_is_empty(queue) || !kai_has_names(b, ret_why))
        return NULL;
    kai_labels(b, &l);
    labels_init(&annotations, b->arena);
    labels_add_all(&annotations, b->gang->annotations);
    labels_set(&annotations, b->backend->annotation, STR("true"));
    make_begin(&w, &(struct make_meta){b->backend->kind, b->gang->ns, b->gang->name, &l,
                                       &annotations, b->gang, NULL});
    jw_put_object(&w, "spec");
    jw_put_int(&w, "minMember", MAX(min_sum(b->gang), 1));
    put_or_drop(&w, "priorityClassName", jstr(jgetc(obj_spec(b->gang), "priorityClassName")),
                there);
    jw_put_str(&w, "queue", queue);
    kai_write_sub_groups(b, &w);
    kai_write_constraint(&w, b->gang, obj_spec(b->gang), jgetc(there, "topologyConstraint"));
    jw_end(&w);
    return make_end(&w);
}

/* ---- Volcano ---- */

static void volcano_write_policy(const struct backend_work *b, struct jw *w)
{
    struct jw list;
    jw_init(&list);
    jw_array(&list);
    for (struct jiter it = jiter(jgetc(obj_spec(b->gang), "podgroups")); jnext(&it);) {
        str clique = name_label(b->arena, jstr(jgetc(it.value, "name")));
        jw_object(&list);
        jw_put_object(&list, "labelSelector");
        jw_put_object(&list, "matchLabels");
        jw_put_str(&list, LABEL_PCLQ, clique);
        jw_end(&list);
        jw_end(&list);
        jw_put_array(&list, "matchLabelKeys");
        jw_str(&list, STR(LABEL_PCLQ));
        jw_end(&list);
        jw_put_int(&list, "minSubGroups", 1);
        jw_put_str(&list, "name", clique);
        jw_put_int(&list, "subGroupSize", MAX(min_of(it.value), 1));
        jw_end(&list);
    }
    jw_end(&list);
    put_list(w, "subGroupPolicy", &list, jgetc(spec_of(b->existing), "subGroupPolicy"));
}

/* A gang that lets all its pods go for a moment keeps the constraint it had. */
static bool volcano_is_released(const struct backend_work *b)
{
    jval there = spec_of(b->existing);
    return min_sum(b->gang) == 0 && j_has(jgetc(there, "minMember")) &&
           j_has(jgetc(there, "subGroupPolicy"));
}

struct doc *volcano_make(struct backend_work *b, str *ret_why)
{
    struct labels l;
    struct jw w;
    str queue = queue_of(b, VOLCANO_QUEUE, false, ret_why);
    if (!str_is_empty(*ret_why))
        return NULL;
    labels_init(&l, b->arena);
    labels_add_all(&l, b->gang->labels);
    make_begin(&w, &(struct make_meta){b->backend->kind, b->gang->ns, b->gang->name, &l, NULL,
                                       b->gang, NULL});
    jw_put_object(&w, "spec");
    if (!volcano_is_released(b))
        jw_put_int(&w, "minMember", MAX(min_sum(b->gang), 1));
    put_or_drop(&w, "priorityClassName", jstr(jgetc(obj_spec(b->gang), "priorityClassName")),
                spec_of(b->existing));
    jw_put_str(&w, "queue", str_is_empty(queue) ? STR("default") : queue);
    if (!volcano_is_released(b))
        volcano_write_policy(b, &w);
    jw_end(&w);
    return make_end(&w);
}
