/* Bootstrap tokens whose time is over are deleted, by the wall clock, as they end for those who
 * bring them (apiserver/access/bootstrap_token.c). */
#include "base/b64.h"
#include "controllers/controllers.h"

#define TYPE "bootstrap.kubernetes.io/token"

/* 0: it does not end. */
static usec end_of(const struct obj *secret)
{
    struct strbuf b = STRBUF_INIT(64);
    usec at = 0;
    if (b64_decode(jstr(jpath(obj_root(secret), "data.expiration")), B64_STD, &b))
        (void)time_parse_rfc3339(strbuf_str(&b), &at);
    strbuf_done(&b);
    return at;
}

static void bootstrap_tokens_plan(const struct world *w, const struct key *key, void *ctx,
                                  struct plan *ret_plan)
{
    const struct obj *secret = world_get(w, &kind_secret, key->ns, key->name);
    (void)ctx;
    usec end = secret && !secret->deleting ? end_of(secret) : 0;
    if (!end)
        return;
    if (end > w->now) {
        plan_look_again(ret_plan, end - w->now);
        return;
    }
    struct plan_write *d = plan_delete(ret_plan, 0, secret);
    d->rv = secret->rv;
    plan_why(d, ret_plan, "the time of the bootstrap token is over");
}

static void map_token(struct controller *c, const struct world *w, const struct obj *old,
                      const struct obj *new)
{
    (void)w;
    (void)old;
    if (new &&str_is(new->ns, "kube-system") && str_is(jstr(jgetc(obj_root(new), "type")), TYPE))
        controller_enqueue(c, &kind_secret, new->ns, new->name);
}

void bootstrap_tokens_add(struct runtime *r, struct api *api)
{
    static const struct controller_watch watches[] = {{&kind_secret, map_token}};
    struct controller_def def = {
        .name = "token-cleaner",
        .plan = bootstrap_tokens_plan,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    (void)runtime_add(r, &def, api);
}
