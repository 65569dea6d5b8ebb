/*
 * The Common Expression Language: what rules of definitions, admission policies and conditions of
 * webhooks are written in. An expression is compiled once into a tree and evaluated over JSON
 * documents; neither does anything else than that.
 *
 *   has(object.metadata.labels) && object.spec.containers.all(c, c.image.startsWith("ok/"))
 *
 * There is the language itself (null, bool, int, uint, double, string, bytes, lists, maps, types,
 * times and durations; its operators, macros and functions), optional values, and what Kubernetes
 * adds: functions of strings, lists and sets, quantities, URLs, addresses, named formats and the
 * authorizer. cel_table.c lists all functions; an expression that uses another does not compile.
 * Where it may say how something is to be changed, it makes objects (Object{spec:
 * Object.spec{...}}) and operations of JSON Patch (JSONPatch{op: "add", ...}); types are called
 * after where they are.
 *
 * A variable may have a schema (of a CustomResourceDefinition): then its fields are known and
 * anything else is refused when the expression is compiled, as is everything whose types are known
 * not to fit. Fields whose names are no identifiers are written as Kubernetes escapes them
 * (__dash__). Without a schema types are found out when the expression is evaluated.
 *
 * Bounded: an expression has so many bytes, nodes and levels; an evaluation costs at most what the
 * caller allows, in units of work that do not depend on the machine. As the language says, && and
 * || forget an error of one side when the other decides.
 */
#ifndef KUBE_CEL_CEL_H
#define KUBE_CEL_CEL_H

#include "json/doc.h"

enum {
    CEL_MAX_TEXT = 16 << 10,
    CEL_MAX_NODES = 4096,
    CEL_MAX_DEPTH = 64,
    CEL_MAX_VARS = 16,
    CEL_MAX_LAZY = 64,
};

struct cel; /* in the arena it was compiled into */

/* ---- compiling ---- */

struct cel_decl {
    const char *name;
    jval schema;      /* of its values; absent: nothing is known */
    bool is_whole;    /* the schema is of a whole object, which has a name and a kind too */
    bool is_optional; /* its value is an optional one: none when it is absent */
};

/* A field of the variable "variables": an expression that is evaluated when it is first needed. */
struct cel_lazy {
    str name;
    const struct cel *cel;
};

struct cel_scope {
    const struct cel_decl *vars; /* at most CEL_MAX_VARS */
    size_t n_vars;
    const struct cel_lazy *lazy; /* at most CEL_MAX_LAZY */
    size_t n_lazy;
    bool has_authorizer;
    bool has_patches; /* it may make Object and JSONPatch */
};

enum cel_want {
    CEL_WANT_BOOL,
    CEL_WANT_STRING,
    CEL_WANT_ANY,
    CEL_WANT_OBJECT,  /* Object */
    CEL_WANT_PATCHES, /* list(JSONPatch) */
};

/* NULL with the reason and where it is, in the words of the reference implementation. */
struct cel *cel_compile_in(struct arena *a, str text, const struct cel_scope *scope,
                           enum cel_want want, struct err *err);
/* Variables without schemas, and a bool. */
struct cel *cel_compile(struct arena *a, str text, const char *const *names, size_t n_names,
                        struct err *err);
/* Whether the i-th variable of its scope occurs in it. */
bool cel_uses(const struct cel *c, size_t i);
/* How deep loops over lists and maps without a known limit are nested in it. */
unsigned cel_unbounded_loops(const struct cel *c);

/* ---- evaluating ---- */

/* What the authorizer is asked. */
struct cel_access {
    str verb, group, resource, sub, ns, name;
    str path;            /* not empty: a path and no resource */
    str service_account; /* "ns/name" of somebody else than who makes the request */
};

struct cel_input {
    const jval *vars;            /* one for each of the scope; absent is an error when it is used */
    const struct cel_lazy *lazy; /* those of the scope */
    size_t n_lazy;
    uint64_t *cost; /* what is left; all expressions of a run draw on it */
    bool (*authorize)(void *ctx, const struct cel_access *x, str *ret_reason);
    struct cel_access request; /* authorizer.requestResource, without a verb */
    void *ctx;
};

/* Several expressions over the same variables: lazy ones are evaluated once. In the arena, as is
 * what evaluations make. */
struct cel_run;
struct cel_run *cel_run_new(struct arena *a, const struct cel_input *in);
/* ERR_INVALID: the expression failed; ERR_TOO_LARGE: it cost too much. */
int cel_run_bool(struct cel_run *r, const struct cel *c, bool *ret, struct err *err);
int cel_run_text(struct cel_run *r, const struct cel *c, str *ret, struct err *err);
/* The same where null is an answer, too: ret->p is NULL then. */
int cel_run_text_or_null(struct cel_run *r, const struct cel *c, str *ret, struct err *err);
/* An Object or a list of JSONPatch as a document, held by the arena. */
int cel_run_doc(struct cel_run *r, const struct cel *c, struct doc **ret, struct err *err);
/* One expression and nothing else. */
int cel_eval(const struct cel *c, struct arena *a, const jval *vars, uint64_t cost, bool *ret,
             struct err *err);

#endif
