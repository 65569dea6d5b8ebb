/*
 * Requests for certificates: who asked is what the server knows of the user, not what the user
 * says; who approves writes conditions and nothing else; who signs writes everything of the status
 * but the approval. Signers and approvers need a right of their own on the signer's name.
 *
 * Nothing is signed here: that is a controller's work.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "apiserver/admission/admit_impl.h"
#include "apiserver/request.h"
#include "base/b64.h"
#include "json/write.h"

#define GROUP "certificates.k8s.io"
#define PEM_BEGIN "-----BEGIN CERTIFICATE REQUEST-----"
#define REQUEST_MAX ((size_t)1 << 20)

static void invalid(const struct admit *a, const char *path, jval v, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_INVALID, str_of(path), j_has(v) ? jtext(v) : STR("null"),
                    "%s", why);
}

/* ---- who asked ---- */

void signing_request_mutate(const struct admit *a, jval root, struct edit *e)
{
    struct jw w;
    (void)root;
    if (a->old) {
        /* What was asked for stays. */
        edit_set(e, STR("/spec"), obj_spec(a->old));
        return;
    }
    if (!a->user)
        return;
    jw_init(&w);
    jw_array(&w);
    for (size_t i = 0; i < a->user->n_groups; i++)
        jw_str(&w, a->user->groups[i]);
    jw_end(&w);
    edit_set_str(e, STR("/spec/username"), a->user->name);
    edit_set_raw(e, STR("/spec/groups"), strbuf_str(&w.out));
    edit_del(e, STR("/spec/uid"));
    edit_del(e, STR("/spec/extra"));
    jw_done(&w);
}

/* ---- what may be asked for ---- */

/* Nobody is asked for the password of a request that has one. */
static int no_password(char *buf, int size, int writing, void *ctx)
{
    (void)buf;
    (void)size;
    (void)writing;
    (void)ctx;
    return -1;
}

/* spec.request; NULL: it is none. To be freed. */
static X509_REQ *read_request(str base64)
{
    struct strbuf b = STRBUF_INIT(REQUEST_MAX);
    X509_REQ *request = NULL;
    if (b64_decode(base64, B64_STD, &b) && str_starts(strbuf_str(&b), STR(PEM_BEGIN))) {
        BIO *pem = BIO_new_mem_buf(b.p, (int)b.len);
        BUG_ON(!pem);
        request = PEM_read_bio_X509_REQ(pem, NULL, no_password, NULL);
        BIO_free(pem);
        ERR_clear_error();
    }
    strbuf_done(&b);
    return request;
}

static bool is_request(str base64)
{
    X509_REQ *request = read_request(base64);
    X509_REQ_free(request);
    return request != NULL;
}

static bool is_text(const ASN1_STRING *s, str want)
{
    unsigned char *text = NULL;
    int n = ASN1_STRING_to_UTF8(&text, s);
    bool same = n >= 0 && str_eq((str){(const char *)text, (size_t)n}, want);
    OPENSSL_free(text);
    return same;
}

/* The certificate would make its holder a member of this group. */
static bool asks_for_group(str base64, str group)
{
    X509_REQ *request = read_request(base64);
    const X509_NAME *name = request ? X509_REQ_get_subject_name(request) : NULL;
    bool found = false;
    for (int i = 0; name && !found && i < X509_NAME_entry_count(name); i++) {
        const X509_NAME_ENTRY *e = X509_NAME_get_entry(name, i);
        found = OBJ_obj2nid(X509_NAME_ENTRY_get_object(e)) == NID_organizationName &&
                is_text(X509_NAME_ENTRY_get_data(e), group);
    }
    X509_REQ_free(request);
    return found;
}

str signing_common_name(struct arena *a, str base64)
{
    X509_REQ *request = read_request(base64);
    const X509_NAME *name = request ? X509_REQ_get_subject_name(request) : NULL;
    int at = name ? X509_NAME_get_index_by_NID(name, NID_commonName, -1) : -1;
    bool two = at >= 0 && X509_NAME_get_index_by_NID(name, NID_commonName, at) >= 0;
    unsigned char *text = NULL;
    int n =
        at < 0 || two
            ? -1
            : ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at)));
    str ret = n > 0 ? arena_str(a, str_n((const char *)text, (size_t)n)) : STR_NONE;
    OPENSSL_free(text);
    X509_REQ_free(request);
    return ret;
}

static bool is_usage(str s)
{
    static const char *const usages[] = {"any",
                                         "cert sign",
                                         "client auth",
                                         "code signing",
                                         "content commitment",
                                         "crl sign",
                                         "data encipherment",
                                         "decipher only",
                                         "digital signature",
                                         "email protection",
                                         "encipher only",
                                         "ipsec end system",
                                         "ipsec tunnel",
                                         "ipsec user",
                                         "key agreement",
                                         "key encipherment",
                                         "microsoft sgc",
                                         "netscape sgc",
                                         "ocsp signing",
                                         "s/mime",
                                         "server auth",
                                         "signing",
                                         "timestamping"};
    for (size_t i = 0; i < ARRAY_LEN(usages); i++)
        if (str_is(s, usages[i]))
            return true;
    return false;
}

static void check_request(const struct admit *a, jval spec)
{
    jval usages = jgetc(spec, "usages"), lasts = jgetc(spec, "expirationSeconds");
    ptrdiff_t slash = str_find_char(jstr(jgetc(spec, "signerName")), '/');
    if (!is_request(jstr(jgetc(spec, "request"))))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.request"),
                        j_has(jgetc(spec, "request")) ? jtext(jgetc(spec, "request")) : STR("null"),
                        "PEM block type must be CERTIFICATE REQUEST");
    if (slash <= 0 || (size_t)slash + 1 == jstr(jgetc(spec, "signerName")).len)
        invalid(a, "spec.signerName", jgetc(spec, "signerName"),
                "must be a fully qualified domain and path of the form 'example.com/signer-name'");
    if (!jlen(usages))
        field_error_add(a->errors, FIELD_ERR_REQUIRED, STR("spec.usages"), STR_NONE, NULL);
    for (struct jiter it = jiter(usages); jnext(&it);)
        if (!is_usage(jstr(it.value)))
            field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED,
                            admit_path(a, "spec.usages[%zu]", it.index), jtext(it.value), NULL);
    if (j_has(lasts) && jint(lasts, 600) < 600)
        invalid(a, "spec.expirationSeconds", lasts,
                "may not specify a duration less than 600 seconds (10 minutes)");
}

static bool is_verdict(str type)
{
    return str_is(type, "Approved") || str_is(type, "Denied");
}

void signing_request_validate(const struct admit *a, jval root)
{
    jval conditions = jpath(root, "status.conditions");
    if (!a->old) {
        check_request(a, jgetc(root, "spec"));
        return;
    }
    for (struct jiter it = jiter(conditions); jnext(&it);) {
        str type = jstr(jgetc(it.value, "type"));
        bool final = is_verdict(type) || str_is(type, "Failed");
        if (!type.len)
            field_error_add(a->errors, FIELD_ERR_REQUIRED,
                            admit_path(a, "status.conditions[%zu].type", it.index), STR_NONE, NULL);
        if (final && !str_is(jstr(jgetc(it.value, "status")), "True"))
            field_error_add(a->errors, FIELD_ERR_NOT_SUPPORTED,
                            admit_path(a, "status.conditions[%zu].status", it.index),
                            jtext(jgetc(it.value, "status")), "supported values: \"True\"");
    }
    if (j_has(condition_find(conditions, STR("Approved"))) &&
        j_has(condition_find(conditions, STR("Denied"))))
        invalid(a, "status.conditions", conditions,
                "Approved and Denied conditions are mutually exclusive");
    for (struct jiter it = jiter(jgetc(obj_status(a->old), "conditions")); jnext(&it);) {
        str type = jstr(jgetc(it.value, "type"));
        if (is_verdict(type) && !j_has(condition_find(conditions, type)))
            field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("status.conditions"), STR_NONE,
                            "updates may not remove a condition of type \"%.*s\"", STR_ARG(type));
    }
}

/* ---- who writes what of the status ---- */

static bool same_verdict(jval was, jval is, str type)
{
    return j_has(condition_find(was, type)) == j_has(condition_find(is, type));
}

/* A condition, with the times it lacks: now, or those of the same one before. */
static void put_condition(struct jw *w, jval c, jval was, str now)
{
    static const char *const times[] = {"lastUpdateTime", "lastTransitionTime"};
    bool moved = !jequal(jgetc(was, "status"), jgetc(c, "status"));
    jw_object(w);
    for (struct jiter it = jiter(c); jnext(&it);)
        if (j_has(it.value)) {
            jw_key(w, it.key);
            jw_val(w, it.value);
        }
    for (size_t i = 0; i < ARRAY_LEN(times); i++) {
        jval before = jget(was, str_of(times[i]));
        if (j_has(jget(c, str_of(times[i]))))
            continue;
        if (j_has(before) && !moved)
            jw_put(w, times[i], before);
        else
            jw_put_str(w, times[i], now);
    }
    jw_end(w);
}

static void put_conditions(struct jw *w, jval was, jval is, bool approval, str now)
{
    /* Through /status no verdict is passed and none is lifted. */
    bool kept = approval ||
                (same_verdict(was, is, STR("Approved")) && same_verdict(was, is, STR("Denied")));
    jw_array(w);
    for (struct jiter it = jiter(kept ? is : was); jnext(&it);) {
        str type = jstr(jgetc(it.value, "type"));
        jval before = condition_find(was, type);
        if (!approval && is_verdict(type))
            jw_val(w, before);
        else
            put_condition(w, it.value, before, now);
    }
    jw_end(w);
}

struct doc *signing_isolate(const struct req *q, struct doc *d)
{
    bool approval = str_is(q->r->subresource, "approval");
    jval was = jgetc(obj_status(q->base), "conditions");
    jval is = jpath(doc_root(d), "status.conditions");
    struct arena a = ARENA_INIT;
    struct edit e;
    struct jw w;
    jw_init(&w);
    edit_init(&e, &a);
    put_conditions(&w, was, is, approval, time_text(&a, loop_wall(q->server->loop)));
    if (j_has(was) || j_has(is))
        edit_set_raw(&e, STR("/status/conditions"), strbuf_str(&w.out));
    if (approval && j_has(jgetc(obj_status(q->base), "certificate")))
        edit_set(&e, STR("/status/certificate"), jgetc(obj_status(q->base), "certificate"));
    else if (approval)
        edit_del(&e, STR("/status/certificate"));
    struct doc *out = edit_apply(&e, d, NULL);
    edit_done(&e);
    jw_done(&w);
    arena_done(&a);
    return out ? out : doc_ref(d); /* a status of the wrong type is refused later */
}

/* ---- who may ---- */

static bool may(struct req *q, str verb, str signer)
{
    ptrdiff_t slash = str_find_char(signer, '/');
    struct access x = {
        .verb = verb, .group = STR(GROUP), .resource = STR("signers"), .name = signer};
    if (authorize(q->server, q->user, &x))
        return true;
    x.name = arena_printf(&q->arena, "%.*s/*", STR_ARG(str_sub(signer, 0, MAX(slash, 0))));
    return authorize(q->server, q->user, &x);
}

/* Certificates of this signer are credentials here, and no group may do more than this one. */
static const struct status *check_requested_groups(struct req *q)
{
    static const char signer[] = "kubernetes.io/kube-apiserver-client";
    jval spec = jgetc(doc_root(q->doc), "spec");
    if (!str_is(jstr(jgetc(spec, "signerName")), signer) ||
        !asks_for_group(jstr(jgetc(spec, "request")), STR("system:masters")))
        return NULL;
    return status_forbidden(
        &q->arena, q->kind, q->name,
        arena_printf(&q->arena, "use of %s signer with system:masters group is not allowed",
                     signer));
}

/* The right that this write needs on the signer; empty: none. */
static str verb_needed(const struct req *q)
{
    static const char *const signed_fields[] = {"certificate", "conditions"};
    jval was = obj_status(q->base), is = jgetc(doc_root(q->doc), "status");
    if (str_is(q->r->subresource, "approval"))
        return STR("approve");
    for (size_t i = 0; str_is(q->r->subresource, "status") && i < ARRAY_LEN(signed_fields); i++)
        if (!jequal(jget(was, str_of(signed_fields[i])), jget(is, str_of(signed_fields[i]))))
            return STR("sign");
    return STR_NONE;
}

/* Whoever trusts a signer trusts what stands in its bundles. */
static const struct status *check_bundle(struct req *q)
{
    str signer = jstr(jpath(doc_root(q->doc), "spec.signerName"));
    bool same = q->base && jequal(obj_spec(q->base), jgetc(doc_root(q->doc), "spec"));
    if (same || !signer.len || may(q, STR("attest"), signer))
        return NULL;
    return status_forbidden(&q->arena, q->kind, q->name,
                            arena_printf(&q->arena,
                                         "user not permitted to attest for signerName \"%.*s\"",
                                         STR_ARG(signer)));
}

const struct status *signing_status(struct req *q)
{
    if (admit_kind(q->kind) == &kind_cluster_trust_bundle)
        return check_bundle(q);
    if (q->kind != &kind_signing_request)
        return NULL;
    if (!q->base)
        return check_requested_groups(q);
    str signer = jstr(jgetc(obj_spec(q->base), "signerName")), verb = verb_needed(q);
    if (!verb.len || may(q, verb, signer))
        return NULL;
    return status_forbidden(
        &q->arena, q->kind, q->name,
        arena_printf(&q->arena, "user not permitted to %.*s requests with signerName \"%.*s\"",
                     STR_ARG(verb), STR_ARG(signer)));
}
