/*
 * The roles and bindings every server has (grove/rbac_rules.h), at start: what is missing is
 * created, what is there gets back the rules, subjects and labels it lacks. An object whose
 * annotation says autoupdate "false" is its owner's. Extra rules and subjects stay.
 *
 * All writes are sent at once: on a disk they are one commit.
 */
#include "apiserver/rbac_boot.h"

#include "apiserver/rbac.h"
#include "apiserver/request.h"
#include "base/log.h"
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

struct boot {
    struct apiserver *server;
    void (*done)(void *ctx, const struct err *err);
    void *ctx;
    size_t pending;
    bool is_later; /* there are roles of an earlier start: it can do without new ones */
    struct err err;
    struct loop_task nothing_to_do;
};

struct boot_write {
    struct boot *boot;
    struct api_request r;
    struct doc *doc;
};

static void boot_end(struct boot *b)
{
    b->done(b->ctx, b->err.code ? &b->err : NULL);
    free(b);
}

static void on_nothing_to_do(struct loop_task *t)
{
    boot_end(container_of(t, struct boot, nothing_to_do));
}

static void on_written(struct api_request *r, const struct api_reply *reply)
{
    struct boot_write *w = container_of(r, struct boot_write, r);
    struct boot *b = w->boot;
    if (reply->code == 507 && b->is_later)
        log_warn("a default role is not written, because the store is full; it will be at the "
                 "next start that finds room",
                 LOG_S("name", jstr(jpath(doc_root(w->doc), "metadata.name"))));
    else if (reply->code != 201 && reply->code != 200 && reply->code != 409 && !b->err.code)
        (void)err_set(&b->err, ERR_INTERNAL, "cannot write the default roles: %.*s",
                      reply->status ? (int)reply->status->message.len : 0,
                      reply->status ? reply->status->message.p : "");
    doc_unref(w->doc);
    free(w);
    if (--b->pending == 0)
        boot_end(b);
}

static void boot_write(struct boot *b, const struct kind *k, const struct obj *have,
                       struct doc *want)
{
    static const str masters = STR_INIT("system:masters");
    static const struct user self = {STR_INIT("system:apiserver"), &masters, 1};
    struct boot_write *w = xnew(struct boot_write);
    jval meta = jgetc(doc_root(want), "metadata");
    w->boot = b;
    w->doc = want;
    w->r = (struct api_request){.verb = have ? API_UPDATE : API_CREATE,
                                .kind = k,
                                .ns = jstr(jgetc(meta, "namespace")),
                                .name = have ? jstr(jgetc(meta, "name")) : STR_NONE,
                                .body = want,
                                .field_manager = STR("kube-apiserver"),
                                .done = on_written};
    b->pending++;
    apiserver_send(b->server, &self, &w->r);
}

/* Takes the wanted document over. */
static void boot_object(struct boot *b, const struct kind *k, struct doc *want)
{
    jval meta = jgetc(doc_root(want), "metadata");
    const struct obj *have =
        store_get(b->server->store, k, jstr(jgetc(meta, "namespace")), jstr(jgetc(meta, "name")));
    b->is_later |= have != NULL;
    struct doc *more = have ? rbac_boot_reconcile(have, want) : doc_ref(want);
    doc_unref(want);
    if (more)
        boot_write(b, k, have, more);
}

void rbac_boot(struct apiserver *a, void (*done)(void *ctx, const struct err *err), void *ctx)
{
    struct boot *b = xnew(struct boot);
    *b = (struct boot){.server = a, .done = done, .ctx = ctx, .err = ERR_INIT};
    loop_task_init(&b->nothing_to_do, on_nothing_to_do);
    const struct rbac_role *r;
    for (size_t i = 0; (r = rbac_role_at(i)); i++) {
        boot_object(b, rbac_role_kind(r), rbac_role_doc(r, NULL));
        if (rbac_binding_kind(r))
            boot_object(b, rbac_binding_kind(r), rbac_binding_doc(r, NULL));
    }
    if (b->pending == 0)
        loop_defer(a->loop, LOOP_PUBLISH, &b->nothing_to_do);
}
