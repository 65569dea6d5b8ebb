/*
 * Kinds that users define. A CustomResourceDefinition that the server accepts makes its kind
 * served at once; its status says so a moment later. One that is deleted first takes its objects
 * along (the finalizer below holds it meanwhile), then the kind is gone.
 *
 * The store is the truth: definitions found there when the server starts are served before
 * anything else runs. The registry of kinds belongs to the process, so there is one server with
 * definitions at a time; when it is freed its kinds retire.
 *
 * Grove's own kinds are built in: a definition that takes one of their names is refused, and those
 * that the server writes itself (crd_boot.h) are there to be read. One of another built-in kind (an
 * Ingress) is stored and called established; the program's table stays in charge.
 */
#ifndef APISERVER_CRD_H
#define APISERVER_CRD_H

#include "apiserver/admit.h"
#include "apiserver/server.h"
#include "base/vec.h"

#define CRD_FINALIZER "customresourcecleanup.apiextensions.k8s.io"
/* What to do when there are KINDS_MAX kinds. */
#define CRD_NO_ROOM \
    "delete definitions that nobody needs, then restart the server, which gives their places back"

struct crds;

struct crds *crds_new(struct apiserver *a);
/* After the server's open requests were answered. Accepts NULL. */
void crds_free(struct crds *c);

/* What the rules and the schema of a kind say of a candidate. first: of the errors, those found by
 * its table begin there; of them, those about values that were so before do not count. old: absent
 * when the object is new. */
void crds_check_values(const struct crds *c, const struct kind *k, jval object, jval old,
                       struct field_errors *errors, size_t first);

/* ---- rules of kinds (crd_rules.c) ---- */

struct kind_rules;

struct crd_rules {
    VEC(struct kind_rules *) kinds; /* those that have some */
};

void crd_rules_put(struct crd_rules *all, const struct kind *k, jval schema);
void crd_rules_drop(struct crd_rules *all, const struct kind *k);
void crd_rules_done(struct crd_rules *all);
void crd_rules_check(const struct crd_rules *all, const struct kind *k, jval object, jval old,
                     struct field_errors *errors, size_t first);

/* ---- admission (crd_admit.c, crd_schema.c) ---- */

void crd_default(const struct admit *a, jval root, struct edit *e);
void crd_mutate(const struct admit *a, jval root, struct edit *e);
void crd_validate(const struct admit *a, jval root);
/* The rules of structural schemas; path: of the schema. What its patterns cost is added to
 * *pattern_work, and limited for all of a definition together. */
void crd_validate_schema(const struct admit *a, jval schema, str path, uint64_t *pattern_work);

/* ---- what a definition means (crd_kind.c); pure ---- */

/* The kind of a version, its parts in the arena. names: those accepted. */
struct kind crd_kind(struct arena *a, jval crd, jval version, jval names);
/* True when the program has a table of its own for the kind. */
bool crd_is_builtin(jval crd);
/* The kind of Grove's that this would be a definition of; NULL: none. */
const struct kind *crd_grove_kind(jval crd);
/* The kind of Grove's in this group that has the word as its kind or list kind, or else as its
 * plural, singular or short name; NULL: none. */
const struct kind *crd_grove_kind_named(str group, str word, bool as_kind);
jval crd_storage_version(jval crd);

/* What stands in the way of a definition's names, by those of others that are in use. */
struct crd_names {
    const char *reason; /* "ShortNamesConflict"; NULL: nothing */
    str message;
    bool plural, singular, kind, list_kind; /* accepted */
    bool no_room;                           /* the server cannot serve another kind */
    jval taken[16];                         /* short names that are not */
    size_t n_taken;
};
/* others: the definitions that are served, NULL-terminated. Texts in the arena. */
struct crd_names crd_accept_names(struct arena *a, const struct obj *crd,
                                  const struct obj *const *others);
/* spec.names, the accepted ones only. */
void crd_put_names(struct jw *w, jval names, const struct crd_names *n);
/* The status a definition ought to have; established: its names were accepted once. now: for
 * conditions that change. */
struct doc *crd_status(const struct obj *crd, const struct crd_names *n, bool established,
                       bool terminating, str now);

#endif
