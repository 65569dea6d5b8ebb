/*
 * CertificateSigningRequests: approved and signed by the rules of kube-controller-manager, and
 * cleared away when they are old.
 *
 *   signer kubernetes.io/                 approved by itself                       signed
 *   kube-apiserver-client-kubelet         for groups bound to the role             yes
 *                                         ...:nodeclient (bootstrap tokens), and
 *                                         ...:selfnodeclient when the name is
 *                                         the requester's own (nodes)
 *   kubelet-serving                       for a node, when every name and address  yes
 *                                         is one its Node object tells, no other
 *                                         Node's and not the API server's
 *   kube-apiserver-client                 never                                    once approved
 *   anything else                         never                                    never
 *
 * kube-controller-manager leaves approval of serving certificates to the administrator. We approve
 * them where the names are beyond doubt, because the alternative that people use is to check no
 * certificate at all. A node writes the addresses of its Node itself, and clients of the API server
 * trust the same CA: a node that told the server's name would otherwise get a certificate to pass
 * for the server.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <strings.h>

#include "base/b64.h"
#include "controllers/controllers.h"

#define CLIENT "kubernetes.io/kube-apiserver-client"
#define KUBELET_CLIENT "kubernetes.io/kube-apiserver-client-kubelet"
#define KUBELET_SERVING "kubernetes.io/kubelet-serving"
#define ROLE "system:certificates.k8s.io:certificatesigningrequests:"
#define NODE "system:node:"
#define LIFETIME (365 * USEC_PER_DAY)
/* How long a request stays that was answered, and one that was not. */
#define ANSWERED_STAYS USEC_PER_HOUR
#define PENDING_STAYS USEC_PER_DAY

enum { REQUEST_MAX = 64 << 10 };

struct request {
    const struct world *world;
    const struct obj *csr;
    jval spec;
    str signer;
    str pem;
    struct pki_request asked;
    unsigned usages;
    const struct certificates_options *options;
    struct plan *plan;
};

/* ---- what is asked for ---- */

static bool has_word(jval list, const char *word)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (str_is(jstr(it.value), word))
            return true;
    return false;
}

/* The usages, or 0 when there are others than these. */
static unsigned read_usages(jval list)
{
    static const struct {
        const char *word;
        unsigned bit;
    } known[] = {
        {"client auth", PKI_CLIENT_AUTH},
        {"server auth", PKI_SERVER_AUTH},
        {"key encipherment", PKI_KEY_ENCIPHERMENT},
        {"digital signature", 8},
    };
    unsigned bits = 0;
    size_t n = 0;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (has_word(list, known[i].word)) {
            bits |= known[i].bit;
            n++;
        }
    return n == jlen(list) ? bits : 0;
}

static int read_request(struct request *r, struct err *err)
{
    struct strbuf b = STRBUF_INIT(REQUEST_MAX);
    int code = ERR_INVALID;
    if (b64_decode(jstr(jgetc(r->spec, "request")), B64_STD, &b)) {
        r->pem = arena_str(r->plan->arena, strbuf_str(&b));
        code = pki_read_request(r->pem, r->plan->arena, &r->asked, err);
    } else {
        (void)err_set(err, ERR_INVALID, "spec.request is no base64");
    }
    strbuf_done(&b);
    r->usages = read_usages(jgetc(r->spec, "usages"));
    return code;
}

/* NULL, or why this signer does not sign such a request, whoever approved it. */
static const char *node_fault(const struct request *r)
{
    if (r->asked.n_organizations != 1 || !str_is(r->asked.organizations[0], "system:nodes"))
        return "the organization in the subject must be system:nodes";
    if (!str_starts(r->asked.common_name, STR(NODE)) ||
        r->asked.common_name.len == sizeof(NODE) - 1)
        return "the common name must be system:node:NAME";
    return NULL;
}

static const char *signer_fault(const struct request *r)
{
    bool client = r->usages & PKI_CLIENT_AUTH, server = r->usages & PKI_SERVER_AUTH;
    bool names = r->asked.n_dns || r->asked.n_ips || r->asked.has_other_names;
    const char *fault = str_is(r->signer, CLIENT) ? NULL : node_fault(r);
    if (fault)
        return fault;
    if (!str_is(r->signer, KUBELET_SERVING) && (!client || server))
        return "usages must be client auth, with digital signature and key encipherment allowed";
    if (str_is(r->signer, KUBELET_CLIENT) && names)
        return "a client certificate of a node has no subject alternative names";
    if (!str_is(r->signer, KUBELET_SERVING))
        return NULL;
    if (!server || client)
        return "usages must be server auth, with digital signature and key encipherment allowed";
    if (!r->asked.n_dns && !r->asked.n_ips)
        return "at least one DNS name or IP address is needed";
    return r->asked.has_other_names ? "only DNS names and IP addresses are signed" : NULL;
}

/* ---- approval ---- */

/* A ClusterRoleBinding gives whoever asked the role ...:WHAT. */
static bool holds_role(const struct request *r, const char *what)
{
    struct cache_iter it = cache_all(world_cache(r->world, &kind_cluster_role_binding), STR_NONE);
    str user = jstr(jgetc(r->spec, "username")), name;
    for (const struct obj *b; (b = cache_next(&it));) {
        name = jstr(jpath(obj_root(b), "roleRef.name"));
        if (!str_starts(name, STR(ROLE)) ||
            !str_is(str_sub(name, sizeof(ROLE) - 1, name.len), what))
            continue;
        for (struct jiter s = jiter(jgetc(obj_root(b), "subjects")); jnext(&s);) {
            str kind = jstr(jgetc(s.value, "kind")), who = jstr(jgetc(s.value, "name"));
            char copy[256];
            (void)snprintf(copy, sizeof(copy), "%.*s", STR_ARG(who));
            if ((str_is(kind, "Group") && has_word(jgetc(r->spec, "groups"), copy)) ||
                (str_is(kind, "User") && str_eq(who, user)))
                return true;
        }
    }
    return false;
}

/* An address in the form of IPv6; false: it is none. */
static bool read_ip(str text, struct in6_addr *ret)
{
    char copy[INET6_ADDRSTRLEN];
    if (text.len >= sizeof(copy))
        return false;
    (void)snprintf(copy, sizeof(copy), "%.*s", STR_ARG(text));
    *ret = (struct in6_addr){.s6_addr = {[10] = 0xff, [11] = 0xff}};
    return inet_pton(AF_INET, copy, &ret->s6_addr[12]) == 1 || inet_pton(AF_INET6, copy, ret) == 1;
}

static bool is_same_address(str a, str b)
{
    struct in6_addr x, y;
    return read_ip(a, &x) && read_ip(b, &y) && memcmp(&x, &y, sizeof(x)) == 0;
}

static bool is_same_name(str a, str b)
{
    return a.len == b.len && strncasecmp(a.p, b.p, a.len) == 0;
}

/* It tells this address, or name, of itself. */
static bool tells(const struct obj *node, str text, bool is_ip)
{
    if (!is_ip && is_same_name(node->name, text))
        return true;
    for (struct jiter it = jiter(jgetc(obj_status(node), "addresses")); jnext(&it);) {
        str address = jstr(jgetc(it.value, "address"));
        bool ip = str_ends(jstr(jgetc(it.value, "type")), STR("IP"));
        if (ip == is_ip && (ip ? is_same_address(address, text) : is_same_name(address, text)))
            return true;
    }
    return false;
}

/* Names that Services have: a webhook may be asked under one. */
static bool is_of_service(str name)
{
    return str_ends(name, STR(".svc")) || str_ends(name, STR(".cluster.local"));
}

/* Of one machine and no other: no name of a Service, that stands for several or looks like an
 * address, no loopback, and no address of IPv4 in the clothes of IPv6. */
static bool is_plain(str text, bool is_ip)
{
    struct in6_addr ip;
    bool reads = read_ip(text, &ip);
    if (!is_ip)
        return str_is_dns1123_subdomain(text) && !reads && !is_of_service(text) &&
               !is_same_name(text, STR("localhost"));
    bool is_v4 = reads && str_find_char(text, ':') < 0;
    return reads && !IN6_IS_ADDR_LOOPBACK(&ip) && !IN6_IS_ADDR_UNSPECIFIED(&ip) &&
           (is_v4 ? ip.s6_addr[12] != 127 && ip.s6_addr[12] != 0
                  : !IN6_IS_ADDR_V4MAPPED(&ip) && !IN6_IS_ADDR_V4COMPAT(&ip));
}

/* That node's, and nobody else's: no other node's and not ours. */
static bool is_its_own(const struct request *r, const struct obj *node, str text, bool is_ip)
{
    const struct certificates_options *options = r->options;
    if (!tells(node, text, is_ip) || !is_plain(text, is_ip) || !options->is_server ||
        options->is_server(options->ctx, text, is_ip))
        return false;
    struct cache_iter it = cache_all(world_cache(r->world, &kind_node), STR_NONE);
    for (const struct obj *o; (o = cache_next(&it));)
        if (o != node && tells(o, text, is_ip))
            return false;
    return true;
}

static bool may_serve(const struct request *r)
{
    str user = jstr(jgetc(r->spec, "username"));
    str name = str_sub(user, sizeof(NODE) - 1, user.len);
    const struct obj *node = world_get(r->world, &kind_node, STR_NONE, name);
    if (!str_eq(user, r->asked.common_name) ||
        !has_word(jgetc(r->spec, "groups"), "system:nodes") || !node)
        return false;
    for (size_t i = 0; i < r->asked.n_dns; i++)
        if (!is_its_own(r, node, r->asked.dns[i], false))
            return false;
    for (size_t i = 0; i < r->asked.n_ips; i++)
        if (!is_its_own(r, node, r->asked.ips[i], true))
            return false;
    return true;
}

/* Why it is approved; NULL: that is not for us to say. */
static const char *approval(const struct request *r)
{
    str user = jstr(jgetc(r->spec, "username"));
    if (signer_fault(r))
        return NULL;
    if (str_is(r->signer, KUBELET_SERVING))
        return may_serve(r) ? "Auto approving kubelet serving certificate: its names are those of "
                              "the node that asks"
                            : NULL;
    if (!str_is(r->signer, KUBELET_CLIENT))
        return NULL;
    if (str_eq(user, r->asked.common_name) && holds_role(r, "selfnodeclient"))
        return "Auto approving self kubelet client certificate after SubjectAccessReview.";
    return holds_role(r, "nodeclient")
               ? "Auto approving kubelet client certificate after SubjectAccessReview."
               : NULL;
}

/* ---- writes ---- */

static void put_condition(struct jw *w, jval conditions, const char *type, const char *reason,
                          const char *message)
{
    jw_put_array(w, "conditions");
    for (struct jiter it = jiter(conditions); jnext(&it);)
        jw_val(w, it.value);
    jw_object(w);
    jw_put_cstr(w, "type", type);
    jw_put_cstr(w, "status", "True");
    jw_put_cstr(w, "reason", reason);
    jw_put_cstr(w, "message", message);
    jw_end(w);
    jw_end(w);
}

static void write_condition(struct request *r, const char *sub, const char *type,
                            const char *reason, const char *message)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "status");
    put_condition(&w, jgetc(obj_status(r->csr), "conditions"), type, reason, message);
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_merge_patch(r->plan, 0, r->csr, str_of(sub), jw_doc(&w), r->csr->rv), r->plan,
             "%s", message);
}

static void write_certificate(struct request *r)
{
    int64_t seconds = jint(jgetc(r->spec, "expirationSeconds"), LIFETIME / USEC_PER_SEC);
    usec lifetime = MIN(LIFETIME, MAX(seconds, 600) * USEC_PER_SEC);
    struct strbuf pem = {0}, text = STRBUF_INIT(REQUEST_MAX);
    struct err err = ERR_INIT;
    struct jw w;
    if (pki_sign_request(r->options->ca, r->pem, r->usages, r->world->now, lifetime, &pem, &err)) {
        write_condition(r, "status", "Failed", "SignerValidationFailure", err.message);
        strbuf_done(&text);
        return;
    }
    b64_encode(strbuf_str(&pem), B64_STD, &text);
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "status");
    jw_put_str(&w, "certificate", strbuf_str(&text));
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_merge_patch(r->plan, 0, r->csr, STR("status"), jw_doc(&w), r->csr->rv), r->plan,
             "it is approved");
    strbuf_done(&pem);
    strbuf_done(&text);
}

static bool is_ours(str signer)
{
    return str_is(signer, CLIENT) || str_is(signer, KUBELET_CLIENT) ||
           str_is(signer, KUBELET_SERVING);
}

static bool has_condition(const struct obj *csr, const char *type)
{
    return j_has(condition_find(jgetc(obj_status(csr), "conditions"), str_of(type)));
}

/* Old ones go, whoever signs them. */
static bool is_over(const struct request *r)
{
    bool answered = has_condition(r->csr, "Denied") || has_condition(r->csr, "Failed") ||
                    has_condition(r->csr, "Approved");
    usec stays = answered ? ANSWERED_STAYS : PENDING_STAYS;
    if (!world_has_passed(r->world, world_created(r->world, r->csr), stays, r->plan))
        return false;
    plan_why(plan_delete(r->plan, 0, r->csr), r->plan,
             answered ? "it was answered over an hour ago" : "nobody approved it within a day");
    return true;
}

static void certificates_plan(const struct world *w, const struct key *key, void *ctx,
                              struct plan *ret_plan)
{
    const struct obj *csr = world_get(w, &kind_signing_request, STR_NONE, key->name);
    struct err err = ERR_INIT;
    if (!csr || csr->deleting)
        return;
    struct request r = {.world = w,
                        .csr = csr,
                        .spec = obj_spec(csr),
                        .signer = jstr(jgetc(obj_spec(csr), "signerName")),
                        .options = ctx,
                        .plan = ret_plan};
    bool done = has_condition(csr, "Denied") || has_condition(csr, "Failed") ||
                jstr(jgetc(obj_status(csr), "certificate")).len;
    if (is_over(&r) || done || !is_ours(r.signer))
        return;
    int fault = read_request(&r, &err);
    if (!has_condition(csr, "Approved")) {
        const char *why = fault ? NULL : approval(&r);
        if (why)
            write_condition(&r, "approval", "Approved", "AutoApproved", why);
        return;
    }
    const char *refused = fault ? err.message : signer_fault(&r);
    if (refused)
        write_condition(&r, "status", "Failed", "SignerValidationFailure", refused);
    else
        write_certificate(&r);
}

/* ---- wake-ups ---- */

static void enqueue_pending(struct controller *c, const struct world *w, str user)
{
    struct cache_iter it = cache_all(world_cache(w, &kind_signing_request), STR_NONE);
    for (const struct obj *o; (o = cache_next(&it));)
        if (!has_condition(o, "Approved") && !has_condition(o, "Denied") &&
            (!user.len || str_eq(jstr(jgetc(obj_spec(o), "username")), user)))
            controller_enqueue(c, &kind_signing_request, STR_NONE, o->name);
}

/* A node's serving certificate waits for its addresses. */
static void map_node(struct controller *c, const struct world *w, const struct obj *old,
                     const struct obj *new)
{
    if (!new || !cache_count(world_cache(w, &kind_signing_request)) ||
        (old && jequal(jgetc(obj_status(old), "addresses"), jgetc(obj_status(new), "addresses"))))
        return;
    struct arena a = ARENA_INIT;
    enqueue_pending(c, w, arena_cat(&a, STR(NODE), new->name));
    arena_done(&a);
}

static void map_binding(struct controller *c, const struct world *w, const struct obj *old,
                        const struct obj *new)
{
    (void)old;
    if (new &&str_starts(jstr(jpath(obj_root(new), "roleRef.name")), STR(ROLE)))
        enqueue_pending(c, w, STR_NONE);
}

void certificates_add(struct runtime *r, struct api *api, const struct certificates_options *o)
{
    static const struct controller_watch watches[] = {
        {&kind_signing_request, map_self},
        {&kind_node, map_node},
        {&kind_cluster_role_binding, map_binding},
    };
    struct controller_def def = {
        .name = "certificate-controller",
        .plan = certificates_plan,
        .ctx = (void *)o,
        .watches = watches,
        .n_watches = ARRAY_LEN(watches),
    };
    (void)runtime_add(r, &def, api);
}
