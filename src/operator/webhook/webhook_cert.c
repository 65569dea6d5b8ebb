/* The planner of the webhooks' certificate; see webhook_config.h. */
#include "base/b64.h"
#include "net/tls.h"
#include "operator/webhook/webhook_config.h"

/* What the certificate is for; another service or namespace needs another one. */
#define ANNOTATION_SAN "grove.io/certificate-names"
/* The bundle holds a new CA that has not signed the served certificate yet. */
#define ANNOTATION_PENDING "grove.io/certificate-authority-pending"

#define CA_LIFETIME (3650 * USEC_PER_DAY)
#define SERVER_LIFETIME (365 * USEC_PER_DAY)
/* Clocks of a cluster differ. */
#define SKEW (60 * USEC_PER_MIN)

enum { PEM_MAX = 1 << 20, STAGE = 0 };

/* ---- making ---- */

void webhook_certs_done(struct webhook_certs *c)
{
    strbuf_done(&c->ca);
    strbuf_done(&c->ca_key);
    strbuf_done(&c->cert);
    strbuf_done(&c->key);
}

int webhook_make_certs(void *ctx, usec now, str ca_pem, str ca_key_pem, const char *san,
                       struct webhook_certs *ret, struct err *err)
{
    struct pki_identity ca = {STRBUF_INIT(PEM_MAX), STRBUF_INIT(PEM_MAX)};
    struct pki_identity server = {0};
    static const char *const nobody[] = {NULL};
    int r = 0;
    (void)ctx;
    *ret = (struct webhook_certs){0};
    if (str_is_empty(ca_pem)) {
        r = pki_make_ca("Grove-CA", now - SKEW, CA_LIFETIME + SKEW, &ca, err);
    } else {
        strbuf_add_str(&ca.cert_pem, ca_pem);
        strbuf_add_str(&ca.key_pem, ca_key_pem);
    }
    if (r == 0 && san)
        r = pki_issue(&ca, "grove-operator", nobody, san, now - SKEW, SERVER_LIFETIME + SKEW,
                      &server, err);
    if (r == 0)
        *ret = (struct webhook_certs){ca.cert_pem, ca.key_pem, server.cert_pem, server.key_pem};
    else
        pki_identity_done(&ca);
    return r;
}

str webhook_san(struct arena *a, const struct webhook_service *s)
{
    return arena_printf(a,
                        "DNS:%.*s.%.*s.svc,DNS:%.*s,DNS:%.*s.%.*s,DNS:%.*s.%.*s.svc.cluster.local",
                        STR_ARG(s->name), STR_ARG(s->ns), STR_ARG(s->name), STR_ARG(s->name),
                        STR_ARG(s->ns), STR_ARG(s->name), STR_ARG(s->ns));
}

/* ---- reading ---- */

str webhook_secret_value(struct arena *a, const struct obj *secret, const char *key)
{
    struct strbuf b = STRBUF_INIT(PEM_MAX);
    str text = jstr(jget(jgetc(obj_root(secret), "data"), str_of(key)));
    str out =
        b64_decode(text, B64_STD | B64_NEWLINES, &b) ? arena_str(a, strbuf_str(&b)) : STR_NONE;
    strbuf_done(&b);
    return out;
}

static usec end_of(str pem)
{
    usec end;
    return !str_is_empty(pem) && pki_not_after(pem, &end, NULL) == 0 ? end : 0;
}

/* The first certificate of a bundle: the one that signs. */
static str first_of(str bundle)
{
    static const str end = STR_INIT("-----END CERTIFICATE-----");
    ptrdiff_t at = str_find(bundle, end);
    return at < 0 ? bundle : str_sub(bundle, 0, (size_t)at + end.len + 1);
}

struct state {
    str ca, ca_key, cert, key; /* of the Secret; ca is the whole bundle */
    usec ca_end, cert_end;
    bool pending, is_for_us;
};

static struct state read_state(struct arena *a, const struct obj *secret, str san)
{
    struct state s = {
        .ca = webhook_secret_value(a, secret, "ca.crt"),
        .ca_key = webhook_secret_value(a, secret, "ca.key"),
        .cert = webhook_secret_value(a, secret, "tls.crt"),
        .key = webhook_secret_value(a, secret, "tls.key"),
        .pending = str_is(obj_annotation(secret, STR(ANNOTATION_PENDING)), "true"),
        .is_for_us = str_eq(obj_annotation(secret, STR(ANNOTATION_SAN)), san),
    };
    s.ca_end = end_of(s.ca);
    s.cert_end = str_is_empty(s.key) ? 0 : end_of(s.cert);
    return s;
}

/* ---- writing the Secret ---- */

static void put_data(struct jw *w, const char *key, str pem)
{
    struct strbuf b = STRBUF_INIT(PEM_MAX * 2);
    if (str_is_empty(pem))
        return;
    b64_encode(pem, B64_STD, &b);
    jw_put_str(w, key, strbuf_str(&b));
    strbuf_done(&b);
}

static void put_null(struct jw *w, const char *key)
{
    jw_key(w, str_of(key));
    jw_null(w);
}

/* Whoever looks for what Grove made of sets goes by LABEL_MANAGED_BY: this belongs to no set.
 * Version 0.1.0 put it there. */
static bool has_old_labels(const struct obj *secret)
{
    return str_is(obj_label(secret, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE) &&
           str_is(obj_label(secret, STR(LABEL_COMPONENT)), "webhook");
}

static void put_labels(struct jw *w, const struct obj *old)
{
    jw_put_object(w, "labels");
    if (!old || has_old_labels(old)) {
        jw_put_cstr(w, LABEL_COMPONENT, "operator-webhook-server-secret");
        jw_put_cstr(w, LABEL_PART_OF, "grove");
    }
    if (old && has_old_labels(old))
        put_null(w, LABEL_MANAGED_BY);
    jw_end(w);
}

/* The Secret, or the merge patch of it; members that are empty stay as they are. */
static struct doc *secret_doc(const struct webhook_cert_options *o, const struct obj *old, str san,
                              const struct webhook_certs *c, str bundle, bool pending)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    if (!old) {
        jw_put_cstr(&w, "apiVersion", "v1");
        jw_put_cstr(&w, "kind", "Secret");
        jw_put_cstr(&w, "type", "kubernetes.io/tls");
    }
    jw_put_object(&w, "metadata");
    if (!old) {
        jw_put_str(&w, "name", o->secret);
        jw_put_str(&w, "namespace", o->service.ns);
    }
    put_labels(&w, old);
    jw_put_object(&w, "annotations");
    jw_put_str(&w, ANNOTATION_SAN, san);
    if (pending)
        jw_put_cstr(&w, ANNOTATION_PENDING, "true");
    else if (old)
        put_null(&w, ANNOTATION_PENDING);
    jw_end(&w);
    jw_end(&w);
    jw_put_object(&w, "data");
    put_data(&w, "ca.crt", bundle);
    put_data(&w, "ca.key", strbuf_str(&c->ca_key));
    put_data(&w, "tls.crt", strbuf_str(&c->cert));
    put_data(&w, "tls.key", strbuf_str(&c->key));
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- what to do ---- */

enum step {
    STEP_NONE,
    STEP_ALL,    /* nothing of use there: a CA and a certificate */
    STEP_CA,     /* a new CA beside the old one */
    STEP_SERVER, /* a certificate by the CA there is */
};

static bool all_carry(const struct world *w, str bundle_b64)
{
    for (size_t i = 0; i < WEBHOOK_COUNT; i++) {
        const struct obj *config =
            world_get(w, webhook_config_kind(i), STR_NONE, str_of(webhook_config_name(i)));
        if (!config)
            continue;
        for (struct jiter it = jiter(jgetc(obj_root(config), "webhooks")); jnext(&it);) {
            if (!str_eq(jstr(jpath(it.value, "clientConfig.caBundle")), bundle_b64))
                return false;
        }
    }
    return true;
}

static enum step next_step(const struct world *w, const struct obj *secret, const struct state *s,
                           const char **ret_why)
{
    usec now = w->now;
    if (!secret || s->ca_end <= now || s->cert_end <= now) {
        *ret_why = !secret ? "there is no certificate" : "there is no certificate of use";
        return STEP_ALL;
    }
    bool can_sign = !str_is_empty(s->ca_key);
    if (!s->is_for_us) {
        *ret_why = "the certificate is for other names";
        return can_sign ? STEP_SERVER : STEP_ALL;
    }
    str carried = jstr(jget(jgetc(obj_root(secret), "data"), STR("ca.crt")));
    if (s->pending) {
        *ret_why = "every configuration trusts the new CA";
        return all_carry(w, carried) ? STEP_SERVER : STEP_NONE;
    }
    if (s->ca_end - now < 2 * SERVER_LIFETIME) {
        *ret_why = "the CA ends";
        return STEP_CA;
    }
    *ret_why = "the certificate ends";
    if (s->cert_end - now >= SERVER_LIFETIME / 3)
        return STEP_NONE;
    return can_sign ? STEP_SERVER : STEP_CA;
}

static void plan_labels(const struct webhook_cert_options *o, const struct obj *secret,
                        const struct state *s, struct plan *p)
{
    const struct webhook_certs none = {0};
    if (!has_old_labels(secret))
        return;
    struct doc *d =
        secret_doc(o, secret, webhook_san(p->arena, &o->service), &none, STR_NONE, s->pending);
    plan_why(plan_merge_patch(p, STAGE, secret, STR_NONE, d, secret->rv), p,
             "its labels are those of a set's child");
}

static void plan_secret(const struct world *w, const struct webhook_cert_options *o,
                        const struct obj *secret, const struct state *s, struct plan *p)
{
    const char *why = "";
    enum step step = next_step(w, secret, s, &why);
    struct webhook_certs c;
    struct err err = ERR_INIT;
    if (step == STEP_NONE) {
        plan_labels(o, secret, s, p);
        return;
    }
    str san = webhook_san(p->arena, &o->service);
    bool keeps_ca = step == STEP_SERVER;
    if (o->make(o->ctx, w->now, keeps_ca ? first_of(s->ca) : STR_NONE,
                keeps_ca ? s->ca_key : STR_NONE, step == STEP_CA ? NULL : san.p, &c, &err) < 0) {
        plan_look_again(p, USEC_PER_MIN);
        return;
    }
    str bundle = strbuf_str(&c.ca);
    if (step == STEP_CA)
        bundle = arena_printf(p->arena, "%.*s%.*s", STR_ARG(bundle), STR_ARG(first_of(s->ca)));
    else if (step == STEP_SERVER)
        bundle = s->ca;
    struct doc *d = secret_doc(o, secret, san, &c, bundle, step == STEP_CA);
    struct plan_write *write =
        secret ? plan_merge_patch(p, STAGE, secret, STR_NONE, d, secret->rv)
               : plan_create(p, STAGE, &kind_secret, o->service.ns, o->secret, d);
    plan_why(write, p, "%s", why);
    webhook_certs_done(&c);
}

/* ---- bundles ---- */

static void patch_op(struct jw *w, const char *op, size_t i, const char *path, str value)
{
    jw_object(w);
    jw_put_cstr(w, "op", op);
    jw_key(w, STR("path"));
    jw_printf(w, "/webhooks/%zu/%s", i, path);
    jw_put_str(w, "value", value);
    jw_end(w);
}

static void plan_bundle(const struct obj *config, str bundle, struct plan *p)
{
    struct jw w;
    size_t n = 0;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(jgetc(obj_root(config), "webhooks")); jnext(&it);) {
        jval client = jgetc(it.value, "clientConfig");
        if (jtype(client) != J_OBJECT || str_eq(jstr(jgetc(client, "caBundle")), bundle))
            continue;
        patch_op(&w, "test", it.index, "name", jstr(jgetc(it.value, "name")));
        patch_op(&w, "add", it.index, "clientConfig/caBundle", bundle);
        n++;
    }
    jw_end(&w);
    if (n == 0) {
        jw_done(&w);
        return;
    }
    struct plan_write *write = plan_json_patch(p, STAGE, config, STR_NONE, jw_doc(&w));
    plan_why(write, p, "%zu webhooks do not trust our certificate", n);
}

void webhook_cert_plan(const struct world *w, const struct key *key, void *ctx, struct plan *p)
{
    const struct webhook_cert_options *o = ctx;
    (void)key;
    const struct obj *secret = world_get(w, &kind_secret, o->service.ns, o->secret);
    struct state s = {0};
    if (secret)
        s = read_state(p->arena, secret, webhook_san(p->arena, &o->service));
    plan_secret(w, o, secret, &s, p);
    if (!secret || s.ca_end <= w->now)
        return;
    /* What is stored is what is trusted: a Secret that this plan changes comes back as a change. */
    str bundle = jstr(jget(jgetc(obj_root(secret), "data"), STR("ca.crt")));
    for (size_t i = 0; i < WEBHOOK_COUNT; i++) {
        const struct obj *config =
            world_get(w, webhook_config_kind(i), STR_NONE, str_of(webhook_config_name(i)));
        if (config)
            plan_bundle(config, bundle, p);
    }
    if (s.cert_end > w->now)
        plan_look_again(
            p, MAX(USEC_PER_MIN,
                   MIN(s.cert_end - SERVER_LIFETIME / 3, s.ca_end - 2 * SERVER_LIFETIME) - w->now));
}

/* ---- as a controller ---- */

/* There is one thing to plan, whatever changed: one key, so that it is planned once at a time. */
static void enqueue(struct controller *c)
{
    controller_enqueue(c, &kind_secret, STR_NONE, STR("webhook-certificate"));
}

static void map_any(struct controller *c, const struct world *w, const struct obj *old,
                    const struct obj *new)
{
    (void)w;
    (void)old;
    (void)new;
    enqueue(c);
}

/* Each object by its name: that is all that the operator's role lets it see. */
struct controller *webhook_cert_add(struct runtime *r, struct api *api,
                                    struct webhook_cert_options *o)
{
    struct controller_def def = {
        .name = "webhook-certificate-controller", .plan = webhook_cert_plan, .ctx = o};
    struct controller *c = runtime_add(r, &def, api);
    controller_watch_named(c, &kind_secret, o->service.ns, o->secret, map_any);
    for (size_t i = 0; i < WEBHOOK_COUNT; i++)
        controller_watch_named(c, webhook_config_kind(i), STR_NONE, str_of(webhook_config_name(i)),
                               map_any);
    enqueue(c);
    return c;
}
