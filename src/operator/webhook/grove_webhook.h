/*
 * Admission webhooks for a real cluster: an AdmissionReview in, an answer out, as pure functions.
 * The rules are those of the embedded server (grove/admission.h); this file speaks the protocol,
 * and holds the one rule that only a cluster needs: who may touch what the operator manages.
 *
 * Fail closed. A review that cannot be read is answered 400 with a text; one that can be read but
 * not judged is denied in an AdmissionReview whose message says why and what to do.
 *
 *   path                                judges
 *   /webhooks/default-podcliqueset      PodCliqueSet, mutating: a JSONPatch with the defaults
 *   /webhooks/validate-podcliqueset     PodCliqueSet
 *   /webhooks/validate-clustertopology  ClusterTopologyBinding
 *   /webhooks/authorizer-webhook        changes of managed children
 */
#ifndef OPERATOR_WEBHOOK_GROVE_WEBHOOK_H
#define OPERATOR_WEBHOOK_GROVE_WEBHOOK_H

#include "grove/admission.h"

/* A review holds an object twice (3 MiB each at most in an API server), and what is around them. */
enum { WEBHOOK_MAX_BODY = 8 << 20 };

struct webhook_rules {
    const struct grove_context *context;
    /* Can the world be asked yet? NULL: always. */
    bool (*is_ready)(void *ctx);
    /* NULL when there is none; valid during the call. */
    const struct obj *(*find_set)(void *ctx, str ns, str name);
    void *ctx;
    /* The authorizer's. Users are compared as whole strings. */
    str operator_user;
    const str *exempt;
    size_t n_exempt;
};

/* Who is exempt unless the configuration says otherwise: the controllers of Kubernetes and KAI that
 * have to touch what we manage. */
extern const str webhook_default_exempt[];
extern const size_t webhook_n_default_exempt;

struct webhook_reply {
    int code; /* HTTP */
    const char *content_type;
    str body; /* in the arena */
};

/* method and path as in the request, content_type its header. */
void webhook_answer(const struct webhook_rules *rules, struct arena *a, str method, str path,
                    str content_type, str body, struct webhook_reply *ret);

/* ---- inside ---- */

struct webhook_request {
    struct arena *arena;
    str uid, operation, ns, name, user, sub_resource;
    str group, resource;
    jval object, old_object;
};

struct webhook_verdict {
    bool allowed;
    int code;    /* of a denial */
    str message; /* of a denial */
    str patch;   /* JSON text, empty: none */
    str *warnings;
    size_t n_warnings;
};

void webhook_deny(struct webhook_verdict *v, struct arena *a, int code, const char *fmt, ...)
    PRINTF_LIKE(4, 5);
void webhook_authorize(const struct webhook_rules *rules, const struct webhook_request *q,
                       struct webhook_verdict *v);

#endif
