/*
 * A whole control plane in one process: store, API server, controllers, scheduler, simulated nodes,
 * on whatever loop it is given. `grove up` runs it on the real loop behind HTTPS, simulations on
 * the virtual one with nothing behind it; it is the same assembly.
 *
 * Controllers run in parts. A part has its own caches, queues and clients and can be stopped and
 * started again while the store and the API stay, as a process in a cluster can. Usually there is
 * one part, as in `grove up`; split, there is one per process of a cluster installation.
 */
#ifndef PLANE_PLANE_H
#define PLANE_PLANE_H

#include "apiserver/server.h"
#include "client/controller.h"
#include "node/sim/nodes.h"

struct plane;
struct agent;           /* node/agent/agent.h */
struct token_key;       /* kube/token.h */
struct operator_config; /* operator/common/config.h */

/* Wraps the API a component uses. Called with what it returned before (layer 0: the plain one)
 * until it returns NULL; the plane frees the wrappers, outermost first. */
typedef struct api *plane_wrap(void *ctx, struct api *api, const char *component, unsigned layer);

struct plane_options {
    const char *data_dir; /* NULL: memory only */
    size_t object_memory; /* limit for what the store holds; 0: none */
    struct nodes_options nodes;
    struct agent *agent; /* this machine as a node; NULL: it is none. Must outlive the plane */
    str ca_pem;          /* for the root CA ConfigMap of every namespace; may be empty */
    /* Signs certificates that are asked for; NULL: nothing is signed. Must outlive the plane. */
    const struct pki_identity *ca;
    /* The server's own names and addresses; see certificates_options. */
    bool (*is_server)(void *ctx, str name, bool is_ip);
    void *is_server_ctx;
    /* Signs what token Secrets hold; NULL: they stay empty. Must outlive the plane. */
    const struct token_key *token_key;
    /* Names of parts whose components are left out, because processes of their own do their work:
     * "operator,scheduler"; or of single components, by their accounts. */
    str without;
    /* The operator's configuration: what is admitted, which schedulers' objects are made; NULL:
     * everything is enabled, and nobody else's objects are made. Must outlive the plane. */
    const struct operator_config *config;
    str initc_image;    /* as operator_options has it; must outlive the plane */
    bool token_volumes; /* pods get a volume with a token; see apiserver_set_token_volumes */
    bool definitions;   /* those of Grove's kinds are written, for tools that read them */
    bool split;         /* parts "api", "operator", "scheduler", "nodes" instead of one, "all" */
    usec stall_timeout; /* of the caches' watches; 0: none, for an API that does not fall silent */
    plane_wrap *wrap;   /* fault injection; NULL: none */
    void *wrap_ctx;
    /* Every plan with writes, of all parts; see runtime_set_journal. */
    void (*journal)(void *ctx, str line);
    void *journal_ctx;
    struct journal *kept; /* decisions by object; see runtime_keep_journal. NULL: nowhere */
};

/* ready is called once, when what every cluster has exists and the controllers were started, or
 * with an error. */
struct plane *plane_new(struct loop *l, const struct plane_options *o,
                        void (*ready)(void *ctx, const struct err *err), void *ctx,
                        struct err *err);
void plane_free(struct plane *p);

struct apiserver *plane_server(struct plane *p);
/* An administrator's access. */
struct api *plane_admin(struct plane *p);

/* ---- parts; after ready ---- */

size_t plane_parts(const struct plane *p);
const char *plane_part_name(const struct plane *p, size_t part);
/* The first part's; NULL while it is stopped. */
struct runtime *plane_runtime(struct plane *p);
/* Another CA, in the place of that of the options; it must outlive the plane, or the next one. */
void plane_set_ca(struct plane *p, str ca_pem);
/* Where others find the API server, "10.0.0.7:6443": the endpoint of the Service kubernetes, when
 * that is no loopback address. */
void plane_set_advertised(struct plane *p, str address);
/* As if its process was killed: what it sent is carried out, what it knew is gone. Not from inside
 * a callback of the loop. */
void plane_stop(struct plane *p, size_t part);
/* With empty caches. Does nothing when it runs. */
void plane_start(struct plane *p, size_t part);
/* Its wall clock, as the part sees it: that of the first part is the API server's, too. The clock
 * is the machine's: it stays what it is when the part is stopped. */
usec plane_wall(const struct plane *p, size_t part);
/* Sets it by so much; for simulations. */
void plane_set_wall_by(struct plane *p, size_t part, usec by);
/* All parts run and are idle; see runtime_is_idle. */
bool plane_is_idle(const struct plane *p);
/* Of all parts, which run; see runtime_replan. */
void plane_replan(struct plane *p, bool begin);
/* The part of that name, or the only one, sees this version of an object at once, as if it had
 * written it. It has a cache of the kind. */
void plane_observe(struct plane *p, const char *part, struct obj *o);
/* Every wrapper there is at present. */
void plane_each_wrapper(struct plane *p,
                        void (*fn)(void *ctx, struct api *api, const char *component,
                                   unsigned layer),
                        void *ctx);

#endif
