/*
 * What the tests of conversion webhooks share: a kind with two versions that have other names and
 * shapes for the same, v1alpha1 {replicas, image: "repo:tag"} and, stored, v1beta1 {size, image:
 * {repo, tag}}, and a webhook that converts between them.
 */
#ifndef APISERVER_CRD_TEST_CONVERSION_FIXTURE_H
#define APISERVER_CRD_TEST_CONVERSION_FIXTURE_H

#include "apiserver/admission/webhook/test-webhook-fixture.h"
#include "apiserver/crd.h"

#define GROUP "example.org"
#define ALPHA GROUP "/v1alpha1"
#define BETA GROUP "/v1beta1"

#define SCHEMA_ALPHA                                                                           \
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'replicas':{"        \
    "'type':'integer'},'image':{'type':'string'},'mode':{'type':'string','default':'fast'}}}," \
    "'status':{'type':'object','properties':{'ready':{'type':'integer'}}}}}"
#define SCHEMA_BETA                                                                             \
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'size':{"             \
    "'type':'integer'},'image':{'type':'object','properties':{'repo':{'type':'string'},'tag':{" \
    "'type':'string'}}},'mode':{'type':'string'}}},'status':{'type':'object','properties':{"    \
    "'readySize':{'type':'integer'}}}}}"
#define SCALE(spec, status)                                                     \
    "'subresources':{'status':{},'scale':{'specReplicasPath':'.spec." spec "'," \
    "'statusReplicasPath':'.status." status "'}}"
#define V_ALPHA(served, storage)                                                      \
    "{'name':'v1alpha1','served':" served ",'storage':" storage                       \
    ",'schema':{'openAPIV3Schema':" SCHEMA_ALPHA "},'selectableFields':[{'jsonPath':" \
    "'.spec.replicas'}]," SCALE("replicas", "ready") "}"
#define V_BETA(served, storage)                                \
    "{'name':'v1beta1','served':" served ",'storage':" storage \
    ",'schema':{'openAPIV3Schema':" SCHEMA_BETA "}," SCALE("size", "readySize") "}"
#define CRD(versions, conversion)                                                            \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{" \
    "'name':'gadgets." GROUP "'},'spec':{'group':'" GROUP "','scope':'Namespaced','names':{" \
    "'plural':'gadgets','kind':'Gadget'},'versions':[" versions "],'conversion':" conversion "}}"
#define WEBHOOK                                                                           \
    "{'strategy':'Webhook','webhook':{'conversionReviewVersions':['v1'],'clientConfig':{" \
    "'url':'https://%s/convert','caBundle':'%s'}}}"

void gadget_convert(struct hook_world *world, jval review, struct strbuf *out);
extern const struct hook_script gadget_converts;

const struct kind *gadget_kind(const char *version);
#define alpha_kind gadget_kind("v1alpha1")
#define beta_kind gadget_kind("v1beta1")

/* With the definition, and nothing asked yet. */
void gadget_world_init(struct hook_world *w);
void gadget_define(struct hook_world *w, const char *crd);
/* spec.conversion of the definition. */
str gadget_webhook(struct hook_world *w);
/* Until what follows from a write of the definition is done. */
void gadget_settle(struct hook_world *w);
int gadget_patch_definition(struct hook_world *w, const char *json);

int gadget_get(struct hook_world *w, const struct kind *k, const char *name);
int gadget_list(struct hook_world *w, const struct kind *k, struct api_request r);
/* api: ALPHA or BETA. */
int gadget_make(struct hook_world *w, const char *api, const char *name, const char *spec);
/* What is in the store. */
const struct obj *gadget_stored(struct hook_world *w, const char *name);

/* A watch of the older version: "+a=1 ~a=2 -a=2 *". */
struct gadget_watch {
    struct hook_world *w;
    struct api_watch watch;
    struct strbuf text;
    size_t n, enough;
    bool ended;
    int code;
    str why;
};

void gadget_watch_begin(struct hook_world *w, struct gadget_watch *s, struct api_watch how);
/* Until it has seen so much, or ended. */
void gadget_watch_until(struct gadget_watch *s, size_t enough);
void gadget_watch_done(struct hook_world *w, struct gadget_watch *s);

#define CHECK_FIELD(w, path, want)                       \
    do {                                                 \
        if (!CHECK_CSTR(field(&(w)->f, (path)), (want))) \
            test_note("%.*s", STR_ARG((w)->f.message));  \
    } while (0)

#endif
