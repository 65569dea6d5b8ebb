/*
 * What may change in a pod that exists: images, the deadline, more tolerations, fewer gates, and
 * for a pod that is still gated a narrower choice of nodes. Everything else is refused.
 *
 * The allowed fields are judged one by one and then made equal to the old ones in a copy; what
 * still differs was not allowed to change.
 */
#include "apiserver/admission/admit_impl.h"
#include "json/mtree.h"
#include "json/patch.h"

static void forbid(const struct admit *a, const char *field, str why)
{
    field_error_add(a->errors, FIELD_ERR_FORBIDDEN, str_of(field), STR_NONE, "%.*s", STR_ARG(why));
}

/* ---- the allowed changes ---- */

static void check_deadline(const struct admit *a, jval old, jval new)
{
    int64_t was, is;
    if (!jint_get(old, &was))
        return;
    if (!jint_get(new, &is))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.activeDeadlineSeconds"),
                        STR("null"), "must not update from a positive integer to nil value");
    else if (is > was)
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.activeDeadlineSeconds"), jtext(new),
                        "must be less than or equal to previous value");
}

/* The same toleration apart from its duration. */
static bool same_toleration(jval x, jval y)
{
    static const char *const keys[] = {"key", "operator", "value", "effect"};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (!str_eq(jstr(jget(x, str_of(keys[i]))), jstr(jget(y, str_of(keys[i])))))
            return false;
    return true;
}

static void check_tolerations(const struct admit *a, jval old, jval new)
{
    for (struct jiter it = jiter(old); jnext(&it);) {
        bool found = false;
        for (struct jiter n = jiter(new); !found && jnext(&n);)
            found = same_toleration(it.value, n.value);
        if (!found)
            forbid(a, "spec.tolerations",
                   STR("existing toleration can not be modified except its tolerationSeconds"));
    }
}

static bool has_gate(jval gates, str name)
{
    for (struct jiter it = jiter(gates); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return true;
    return false;
}

static void check_gates(const struct admit *a, jval old, jval new)
{
    for (struct jiter it = jiter(new); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (!has_gate(old, name))
            field_error_add(a->errors, FIELD_ERR_FORBIDDEN,
                            admit_path(a, "spec.schedulingGates[%zu].name", it.index), STR_NONE,
                            "only deletion is allowed, but found new scheduling gate '%.*s'",
                            STR_ARG(name));
    }
}

static void check_node_selector(const struct admit *a, jval old, jval new)
{
    CLEANUP(jlookup_done) struct jlookup in_new = jlookup(new);
    for (struct jiter it = jiter(old); jnext(&it);)
        if (!jequal(it.value, jlookup_get(&in_new, it.key))) {
            field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.nodeSelector"),
                            j_has(new) ? jtext(new) : STR("null"),
                            "only additions to spec.nodeSelector are allowed (no mutations or "
                            "deletions)");
            return;
        }
}

/* All requirements of the old list stand in front of the new one. */
static bool is_narrower(jval old, jval new)
{
    if (jlen(new) < jlen(old))
        return false;
    struct jiter o = jiter(old), n = jiter(new);
    while (jnext(&o) && jnext(&n))
        if (!jequal(o.value, n.value))
            return false;
    return true;
}

static void check_node_affinity(const struct admit *a, jval old, jval new)
{
    static const char path[] =
        "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";
    static const char terms[] =
        "affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms";
    jval was = jpath(old, terms), is = jpath(new, terms);
    if (!jlen(was))
        return;
    bool ok = jlen(was) == jlen(is);
    struct jiter o = jiter(was), n = jiter(is);
    while (ok && jnext(&o) && jnext(&n))
        ok = is_narrower(jgetc(o.value, "matchExpressions"), jgetc(n.value, "matchExpressions")) &&
             is_narrower(jgetc(o.value, "matchFields"), jgetc(n.value, "matchFields"));
    if (!ok)
        field_error_add(a->errors, FIELD_ERR_INVALID, str_of(path),
                        j_has(is) ? jtext(is) : STR("null"),
                        "only additions are allowed (no mutations or deletions)");
}

/* ---- the rest ---- */

static void take_old(struct arena *a, struct mnode *n, const char *key, jval old)
{
    jval v = jget(old, str_of(key));
    if (j_is_absent(v))
        (void)mnode_del(a, n, str_of(key));
    else
        mnode_set(a, n, str_of(key), mnode_leaf(a, v));
}

static void take_old_images(struct arena *a, struct mnode *spec, const char *list, jval old)
{
    struct mnode *containers = mnode_get(a, spec, str_of(list));
    for (struct jiter it = jiter(jget(old, str_of(list))); containers && jnext(&it);) {
        struct mnode *c = mnode_at(a, containers, it.index);
        if (c && mnode_type(c) == J_OBJECT)
            take_old(a, c, "image", it.value);
    }
}

static void take_old_affinity(struct arena *a, struct mnode *spec, jval old)
{
    struct mnode *affinity = mnode_get(a, spec, STR("affinity"));
    jval had = jgetc(old, "affinity");
    if (!affinity || mnode_type(affinity) != J_OBJECT) {
        take_old(a, spec, "affinity", old);
        return;
    }
    take_old(a, affinity, "nodeAffinity", had);
}

/* Empty objects and lists are as good as absent ones. */
static bool same_spec(jval x, jval y)
{
    if (jequal(x, y))
        return true;
    struct strbuf a = STRBUF_INIT(8 << 20), b = STRBUF_INIT(8 << 20);
    jcanonical(x, true, &a);
    jcanonical(y, true, &b);
    bool same = str_eq(strbuf_str(&a), strbuf_str(&b));
    strbuf_done(&a);
    strbuf_done(&b);
    return same;
}

/* Members that may change and were judged by themselves. */
static bool may_change(str key)
{
    return str_is(key, "schedulingGates") || str_is(key, "tolerations") ||
           str_is(key, "activeDeadlineSeconds");
}

/* All others have the same text, which is the usual case and needs no copy to be seen. */
static bool is_rest_untouched(jval old, jval new)
{
    size_t had = 0;
    for (struct jiter it = jiter(old); jnext(&it);)
        had += !may_change(it.key);
    for (struct jiter it = jiter(new); jnext(&it);) {
        if (may_change(it.key))
            continue;
        jval was = jget(old, it.key);
        if (!had-- || j_is_absent(was) || !str_eq(jtext(was), jtext(it.value)))
            return false;
    }
    return had == 0;
}

static void check_rest(const struct admit *a, jval old, jval new, bool gated)
{
    static const char text[] =
        "pod updates may not change fields other than `spec.containers[*].image`,"
        "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only "
        "additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be "
        "set to 1 if it was previously negative)";
    if (is_rest_untouched(old, new))
        return;
    struct mnode *spec = mnode_leaf(a->arena, new);
    take_old_images(a->arena, spec, "containers", old);
    take_old_images(a->arena, spec, "initContainers", old);
    take_old(a->arena, spec, "activeDeadlineSeconds", old);
    take_old(a->arena, spec, "tolerations", old);
    take_old(a->arena, spec, "schedulingGates", old);
    if (jint(jgetc(old, "terminationGracePeriodSeconds"), 0) < 0 &&
        jint(jgetc(new, "terminationGracePeriodSeconds"), 0) == 1)
        take_old(a->arena, spec, "terminationGracePeriodSeconds", old);
    if (gated) {
        take_old(a->arena, spec, "nodeSelector", old);
        take_old_affinity(a->arena, spec, old);
    }
    struct doc *d = doc_hold(a->arena, mnode_doc(spec, jtext(new).len, 0, NULL));
    if (d && same_spec(doc_root(d), old))
        return;
    struct strbuf diff = STRBUF_INIT(2048);
    if (d)
        json_diff_print(old, doc_root(d), &diff);
    forbid(a, "spec", admit_path(a, "%s\n%.*s", text, STR_ARG(strbuf_str(&diff))));
    strbuf_done(&diff);
}

static bool check_count(const struct admit *a, jval old, jval new, const char *list)
{
    if (jlen(jget(old, str_of(list))) == jlen(jget(new, str_of(list))))
        return true;
    forbid(a, admit_path(a, "spec.%s", list).p,
           STR("pod updates may not add or remove containers"));
    return false;
}

static bool is_changed(jval old, jval new, const char *member)
{
    return !jequal(jget(old, str_of(member)), jget(new, str_of(member)));
}

void pod_validate_update(const struct admit *a, jval spec)
{
    jval old = obj_spec(a->old);
    bool gated = jlen(jgetc(old, "schedulingGates")) > 0;
    if (jequal(old, spec))
        return;
    /* What was judged before is not judged again: a gate is lifted whatever the rules are by now.
     */
    if (is_changed(old, spec, "containers") || is_changed(old, spec, "initContainers"))
        pod_rules_containers(a->errors, spec, "spec");
    if (!check_count(a, old, spec, "containers") || !check_count(a, old, spec, "initContainers"))
        return;
    check_deadline(a, jgetc(old, "activeDeadlineSeconds"), jgetc(spec, "activeDeadlineSeconds"));
    check_tolerations(a, jgetc(old, "tolerations"), jgetc(spec, "tolerations"));
    check_gates(a, jgetc(old, "schedulingGates"), jgetc(spec, "schedulingGates"));
    if (gated) {
        check_node_selector(a, jgetc(old, "nodeSelector"), jgetc(spec, "nodeSelector"));
        check_node_affinity(a, old, spec);
    }
    check_rest(a, old, spec, gated);
}
