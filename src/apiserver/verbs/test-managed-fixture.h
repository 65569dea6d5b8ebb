/*
 * What the tests of managedFields share: an object that is written step by step, by updates and by
 * applies, and its owners in one line each.
 *
 * Texts are JSON with ' for ", ` for \" (quotes inside a path element) and ^ for an apostrophe.
 */
#ifndef APISERVER_VERBS_TEST_MANAGED_FIXTURE_H
#define APISERVER_VERBS_TEST_MANAGED_FIXTURE_H

#include "apiserver/verbs/managed.h"
#include "base/test.h"

struct mf_world {
    struct arena a;
    const struct kind *kind;
    struct doc *live;
    struct status *status; /* of the last apply that failed */
    usec now;              /* one second later with each write */
};

#define MF_START ((usec)1794700800 * USEC_PER_SEC) /* 2026-11-15T00:00:00Z */

/* A custom resource with one field of each sort. */
extern const struct kind mf_kind;

struct mf_world mf_world(const struct kind *k);
void mf_done(struct mf_world *w);
str mf_plain(struct arena *a, const char *text);
struct doc *mf_json(struct mf_world *w, const char *text);
/* A create or an update with the whole object as it would be stored. */
struct doc *mf_write(struct mf_world *w, const char *manager, const char *subresource,
                     const char *text);
bool mf_apply_at(struct mf_world *w, const char *manager, const char *subresource, bool force,
                 const char *text);
bool mf_apply(struct mf_world *w, const char *manager, const char *text);
jval mf_entries(struct mf_world *w);
/* "m1 Apply" or "ctl Update status" */
jval mf_entry(struct mf_world *w, const char *who);
void mf_check_conflict(struct mf_world *w, const char *message);
void mf_check_cause(struct mf_world *w, size_t i, const char *message, const char *field);

#define CHECK_FIELDS(w, who, want) \
    CHECK_STR(jtext(jgetc(mf_entry((w), (who)), "fieldsV1")), mf_plain(&(w)->a, (want)))

#define CHECK_VALUE(w, path, want) \
    CHECK_STR(jtext(jpath(doc_root((w)->live), (path))), mf_plain(&(w)->a, (want)))

/* Objects that several tests write; the Deployment's spec is still open. */
#define MF_CM(data) \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c1'},'data':" data "}"

#define MF_DEPLOYMENT                                                                           \
    "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d1','labels':{'m':'1'}},"  \
    "'spec':{'selector':{'matchLabels':{'a':'b'}},'template':{'metadata':{'labels':{'a':'b'}}," \
    "'spec':{'containers':[{'name':'c','image':'a:1','env':[{'name':'X','value':'1'}]}]}}"

#endif
