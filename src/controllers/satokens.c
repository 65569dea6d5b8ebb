/*
 * Tokens in Secrets: a Secret of type kubernetes.io/service-account-token that names a service
 * account gets that account's token, the root CA and the namespace, and goes when the account does.
 * This is the old way to a token that does not end; TokenRequest is the new one.
 *
 * The claims of such a token depend on the objects alone; only the signature differs from plan to
 * plan, and a Secret that has a token is left alone.
 */
#include "base/b64.h"
#include "controllers/controllers.h"
#include "json/write.h"

#define TYPE "kubernetes.io/service-account-token"
#define NAME_KEY "kubernetes.io/service-account.name"
#define UID_KEY "kubernetes.io/service-account.uid"

/* The account a Secret asks a token of; empty: it is no such Secret. */
static str account_of(const struct obj *secret)
{
    return str_is(jstr(jgetc(obj_root(secret), "type")), TYPE)
               ? obj_annotation(secret, STR(NAME_KEY))
               : STR_NONE;
}

static str encoded(struct arena *a, str s)
{
    struct strbuf b = STRBUF_INIT(256 << 10);
    b64_encode(s, B64_STD, &b);
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static void put_data(struct jw *w, jval data, const char *key, str want)
{
    if (!str_eq(jstr(jget(data, str_of(key))), want))
        jw_put_str(w, key, want);
}

static str make_token(const struct satokens_options *o, const struct obj *secret,
                      const struct obj *account, struct arena *a)
{
    struct token_claims c = {.ns = account->ns,
                             .name = account->name,
                             .uid = account->uid,
                             .bound_name = secret->name,
                             .legacy = true};
    return encoded(a, token_sign(o->key, &c, NULL, 0, a));
}

static void plan_fill(const struct satokens_options *o, const struct obj *secret,
                      const struct obj *account, struct plan *p)
{
    struct jw w;
    jval data = jgetc(obj_root(secret), "data");
    str ca = encoded(p->arena, o->ca_pem), ns = encoded(p->arena, secret->ns);
    str has_uid = obj_annotation(secret, STR(UID_KEY));
    jw_init(&w);
    jw_object(&w);
    if (str_is_empty(has_uid)) {
        jw_put_object(&w, "metadata");
        jw_put_object(&w, "annotations");
        jw_put_str(&w, UID_KEY, account->uid);
        jw_end(&w);
        jw_end(&w);
    }
    jw_put_object(&w, "data");
    put_data(&w, data, "ca.crt", ca);
    put_data(&w, data, "namespace", ns);
    if (str_is_empty(jstr(jgetc(data, "token"))))
        jw_put_str(&w, "token", make_token(o, secret, account, p->arena));
    jw_end(&w);
    jw_end(&w);
    struct doc *patch = jw_doc(&w);
    if (jlen(jgetc(doc_root(patch), "data")) == 0 && !str_is_empty(has_uid))
        doc_unref(patch);
    else
        plan_why(plan_merge_patch(p, 0, secret, STR_NONE, patch, secret->rv), p,
                 "service account %.*s asks for a token", STR_ARG(account->name));
}

static void satokens_plan(const struct world *w, const struct key *key, void *ctx,
                          struct plan *ret_plan)
{
    const struct obj *secret = world_get(w, &kind_secret, key->ns, key->name);
    str name = secret ? account_of(secret) : STR_NONE;
    if (str_is_empty(name) || secret->deleting)
        return;
    const struct obj *account = world_get(w, &kind_service_account, key->ns, name);
    str uid = obj_annotation(secret, STR(UID_KEY));
    if (account && (str_is_empty(uid) || str_eq(uid, account->uid))) {
        plan_fill(ctx, secret, account, ret_plan);
        return;
    }
    struct plan_write *d = plan_delete(ret_plan, 0, secret);
    plan_why(d, ret_plan, "service account %.*s is gone", STR_ARG(name));
    if (!account)
        plan_verify_absent(d, &kind_service_account, secret->ns, name, STR_NONE);
}

static void map_account(struct controller *c, const struct world *w, const struct obj *old,
                        const struct obj *new)
{
    const struct obj *account = new ? new : old;
    /* Only its coming and going matters. */
    if (!account || (old && new))
        return;
    struct cache_iter it = cache_all(world_cache(w, &kind_secret), account->ns);
    for (const struct obj *o; (o = cache_next(&it));)
        if (str_eq(account_of(o), account->name))
            controller_enqueue(c, &kind_secret, o->ns, o->name);
}

void satokens_ca_changed(struct controller *c)
{
    struct cache_iter it = cache_all(runtime_cache(controller_runtime(c), &kind_secret), STR_NONE);
    for (const struct obj *o; (o = cache_next(&it));)
        if (account_of(o).len)
            controller_enqueue(c, &kind_secret, o->ns, o->name);
}

struct controller *satokens_add(struct runtime *r, struct api *api,
                                const struct satokens_options *o)
{
    static const struct controller_watch watches[] = {
        {&kind_secret, map_self},
        {&kind_service_account, map_account},
    };
    struct controller_def def = {
        .name = "tokens-controller",
        .plan = satokens_plan,
        .ctx = (void *)o,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    return runtime_add(r, &def, api);
}
