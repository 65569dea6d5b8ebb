/*
 * Patches: which are allowed where, and the candidate they make. Server-side apply is managed.c's.
 */
#include "json/patch.h"

#include "apiserver/request.h"
#include "kube/schema.h"

static void refuse_options(struct req *q)
{
    req_refuse(
        q, status_invalid_named(&q->arena, "meta.k8s.io", "PatchOptions", STR_NONE, &q->errors));
}

static bool check_apply(struct req *q, jval config)
{
    const struct api_request *r = q->r;
    if (!r->field_manager.len) {
        field_error_add(&q->errors, FIELD_ERR_REQUIRED, STR("fieldManager"), STR_NONE,
                        "is required for apply patch");
        refuse_options(q);
        return false;
    }
    str kind = jstr(jgetc(config, "kind")), group, version;
    api_version_split(jstr(jgetc(config, "apiVersion")), &group, &version);
    if (!kind.len || !version.len) {
        req_refuse(q, status_bad_request(&q->arena, "invalid object type: %.*s/%.*s, Kind=%.*s",
                                         STR_ARG(group), STR_ARG(version), STR_ARG(kind)));
        return false;
    }
    if (jlen(jpath(config, "metadata.managedFields"))) {
        req_refuse(q, status_bad_request(&q->arena, "metadata.managedFields must be nil"));
        return false;
    }
    return true;
}

bool patch_check_options(struct req *q)
{
    const struct api_request *r = q->r;
    jval body = r->body ? doc_root(r->body) : JVAL_ABSENT;
    if (r->patch == API_PATCH_STRATEGIC && kind_is(q->kind, KIND_CUSTOM)) {
        req_refuse(q, status_unsupported_media_type(
                          &q->arena, "application/json-patch+json, application/merge-patch+json, "
                                     "application/apply-patch+yaml"));
        return false;
    }
    enum jtype want = r->patch == API_PATCH_JSON ? J_ARRAY : J_OBJECT;
    if (jtype(body) != want) {
        req_refuse(q, status_bad_request(&q->arena, "error decoding patch: %s expected",
                                         want == J_ARRAY ? "a list of operations" : "an object"));
        return false;
    }
    if (r->patch == API_PATCH_APPLY)
        return check_apply(q, body);
    if (r->force) {
        field_error_add(&q->errors, FIELD_ERR_FORBIDDEN, STR("force"), STR_NONE,
                        "may not be specified for non-apply patch");
        refuse_options(q);
        return false;
    }
    return true;
}

/* json/patch.c counts them as well; this is the answer for too many. */
#define OPERATIONS_MAX 10000

static void refuse_json_patch(struct req *q)
{
    size_t n = jlen(doc_root(q->r->body));
    if (n > OPERATIONS_MAX) {
        req_refuse(q, status_new(&q->arena, 413, "RequestEntityTooLarge",
                                 "Request entity too large: The allowed maximum operations in a "
                                 "JSON patch is %d, got %zu",
                                 OPERATIONS_MAX, n));
        return;
    }
    struct status *s = status_new(&q->arena, 422, "Invalid",
                                  "the server rejected our request due to an error in our request");
    s->empty_details = true;
    req_refuse(q, s);
}

/* To a client that writes operations a built-in kind always has a status, if an empty one; we store
 * none where there is nothing to say. */
static struct doc *patch_with_status(struct req *q, jval target, jval patch, struct err *err)
{
    struct edit e;
    if (kind_is(q->kind, KIND_CUSTOM) || !kind_is(q->kind, KIND_STATUS) || !q->base ||
        target.doc != q->base->doc || !j_is_absent(jgetc(target, "status")))
        return NULL;
    edit_init(&e, &q->arena);
    edit_set_raw(&e, STR("/status"), STR("{}"));
    struct doc *whole = edit_apply(&e, q->base->doc, NULL);
    edit_done(&e);
    struct doc *d = whole ? json_patch(doc_root(whole), patch, err) : NULL;
    doc_unref(whole);
    return d;
}

struct doc *patch_apply(struct req *q, const struct type *type, jval target)
{
    jval patch = doc_root(q->r->body);
    struct err err = ERR_INIT;
    struct doc *d = NULL;
    switch (q->r->patch) {
    case API_PATCH_JSON:
        d = json_patch(target, patch, &err);
        if (!d)
            d = patch_with_status(q, target, patch, &err);
        if (!d)
            refuse_json_patch(q);
        break;
    case API_PATCH_MERGE:
        d = json_merge_patch(target, patch, &err);
        break;
    case API_PATCH_STRATEGIC:
        d = schema_strategic_merge(type, target, patch, &err);
        break;
    case API_PATCH_APPLY:
        BUG("apply is not a patch of a value");
    }
    if (!d)
        req_refuse(q, status_bad_request(&q->arena, "%s", err.message));
    return d;
}
