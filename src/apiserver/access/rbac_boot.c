/*
 * The roles and bindings every server has (grove/rbac_rules.h), at start: what is missing is
 * created, what is there gets back the rules, subjects and labels it lacks. An object whose
 * annotation says autoupdate "false" is its owner's. Extra rules and subjects stay.
 */
#include "apiserver/access/rbac_boot.h"

#include "apiserver/access/rbac.h"
#include "apiserver/boot_writes.h"
#include "apiserver/request.h"
#include "grove/rbac_rules.h"
#include "json/edit.h"

/* ---- what there is to do ---- */

static void add_labels(struct arena *a, struct edit *e, const struct obj *have, jval labels)
{
    for (struct jiter it = jiter(labels); jnext(&it);)
        if (!str_eq(obj_label(have, it.key), jstr(it.value)))
            edit_set(e, edit_path(a, STR("metadata"), STR("labels"), it.key), it.value);
}

static bool has_equal(jval list, jval item)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (jequal(it.value, item))
            return true;
    return false;
}

static bool is_covered(struct arena *a, jval have, jval rule)
{
    struct policy_rules one = {0}, held = policy_rules_read(a, have), missing;
    struct jw w;
    jw_init(&w);
    jw_array(&w);
    jw_val(&w, rule);
    jw_end(&w);
    one = policy_rules_read(a, doc_root(doc_hold(a, jw_doc(&w))));
    return policy_rules_missing(a, held, one, &missing) && !missing.n;
}

/* The list of what is there, and at its end what it lacks; NULL: it lacks nothing. */
static struct doc *completed(struct arena *a, jval have, jval want, bool rules)
{
    struct jw w;
    bool changed = false;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(have); jnext(&it);)
        jw_val(&w, it.value);
    for (struct jiter it = jiter(want); jnext(&it);) {
        if (rules ? is_covered(a, have, it.value) : has_equal(have, it.value))
            continue;
        jw_val(&w, it.value);
        changed = true;
    }
    jw_end(&w);
    if (changed)
        return doc_hold(a, jw_doc(&w));
    jw_done(&w);
    return NULL;
}

struct doc *rbac_boot_reconcile(const struct obj *have, const struct doc *want)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    struct doc *out = NULL;
    bool role = have->kind == &kind_role || have->kind == &kind_cluster_role;
    const char *key = role ? "rules" : "subjects";
    jval root = doc_root(want);
    edit_init(&e, &a);
    bool owned = str_is(obj_annotation(have, STR(RBAC_AUTOUPDATE)), "false");
    /* The rules of a role made of others follow them. */
    bool follows = j_has(jgetc(obj_root(have), "aggregationRule"));
    struct doc *list = owned || follows ? NULL
                                        : completed(&a, jget(obj_root(have), str_of(key)),
                                                    jget(root, str_of(key)), role);
    if (list)
        edit_set(&e, role ? STR("/rules") : STR("/subjects"), doc_root(list));
    if (!owned)
        add_labels(&a, &e, have, jpath(root, "metadata.labels"));
    if (e.items.len)
        out = edit_apply(&e, have->doc, NULL);
    edit_done(&e);
    arena_done(&a);
    return out;
}

/* ---- doing it ---- */

/* Takes the wanted document over. */
static void boot_object(struct apiserver *a, struct boot_writes *b, const struct kind *k,
                        struct doc *want)
{
    jval meta = jgetc(doc_root(want), "metadata");
    str ns = jstr(jgetc(meta, "namespace")), name = jstr(jgetc(meta, "name"));
    const struct obj *have = store_get(a->store, k, ns, name);
    struct api_request r = {.verb = have ? API_UPDATE : API_CREATE,
                            .kind = k,
                            .ns = ns,
                            .name = have ? name : STR_NONE,
                            .body = have ? rbac_boot_reconcile(have, want) : doc_ref(want)};
    if (have) /* there are roles of an earlier start: it can do without new ones */
        boot_writes_are_optional(b);
    if (r.body)
        boot_writes_send(b, r, want);
    doc_unref(want);
}

void rbac_boot(struct apiserver *a, void (*done)(void *ctx, const struct err *err), void *ctx)
{
    struct boot_writes *b = boot_writes_new(a, "a default role", done, ctx);
    const struct rbac_role *r;
    for (size_t i = 0; (r = rbac_role_at(i)); i++) {
        boot_object(a, b, rbac_role_kind(r), rbac_role_doc(r, NULL));
        if (rbac_binding_kind(r))
            boot_object(a, b, rbac_binding_kind(r), rbac_binding_doc(r, NULL));
    }
    boot_writes_end(b);
}
