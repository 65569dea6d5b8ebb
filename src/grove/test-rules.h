/* Tests of admission: a good set, merge patches of it, and what must be said of the result; the
 * cases are tables, one line per rule. */
#ifndef GROVE_TEST_RULES_H
#define GROVE_TEST_RULES_H

#include "base/test.h"
#include "grove/admission.h"
#include "grove/types.h"

struct rule_case {
    const char *rule;
    const char *patch;  /* of the good set, YAML; arrays replace */
    const char *want;   /* "path: Type[: value]" and "warning: start of text", one per line */
    const char *before; /* update: patch of the good set that makes the old object; NULL: none */
};

extern const char rules_good[]; /* the good set */
extern size_t rules_count;      /* cases run so far */
extern struct grove_context rules_context;

/* Fails the test when it cannot be parsed. */
struct doc *rules_yaml(const char *text);
/* As the server admits it: schema defaults, then ours. Takes over d. */
struct doc *rules_admitted(struct doc *d);
struct doc *rules_patched(const struct doc *base, const char *patch);
/* One line for each error and warning. */
void rules_describe(const struct field_errors *errors, struct strbuf *out);
void rules_run(const struct rule_case *cases, size_t n, bool update);
/* Levels of the binding "fab": zone, rack, host. */
jval rules_levels(void *ctx, str binding);

#define POD "podSpec: {containers: [{name: c, image: i}]}"
#define T "spec.template"

#define RUN(cases, update) rules_run(cases, ARRAY_LEN(cases), update)
/* The set's cliques replaced by these. */
#define CLIQUES(list) "{spec: {template: {podCliqueScalingGroups: null, cliques: [" list "]}}}"
#define GROUPS(list) "{spec: {template: {podCliqueScalingGroups: [" list "]}}}"
#define TEMPLATE(members) "{spec: {template: {" members "}}}"
/* One clique x with these members of its spec. */
#define X(spec) CLIQUES("{name: x, spec: {" spec "}}")
#define EXPLICIT "cliqueStartupType: CliqueStartupTypeExplicit, podCliqueScalingGroups: null, "
#define G T ".podCliqueScalingGroups"
#define TC(members) "topologyConstraint: {" members "}"
#define AT T ".topologyConstraint"
#define NV "grove.io/mnnvl-group"
#define FE "{name: fe, spec: {roleName: front, replicas: 3, minAvailable: 2, " POD "}}"
#define PL "{name: pl, spec: {replicas: 1, " POD "}}"
#define PW "{name: pw, spec: {replicas: 4, " POD "}}"
#define SET(list) TEMPLATE("cliques: [" list "]")

#endif
