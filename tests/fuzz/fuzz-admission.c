/* Admission of arbitrary JSON: schema, defaults, validation of creates and updates, revisions, and
 * the webhooks' own reading of it. Nothing crashes, defaults of defaults change nothing, an error
 * always has a path, and what is said can be written as text. */
#include "fuzz.h"
#include "grove/admission.h"
#include "grove/types.h"
#include "kube/schema.h"
#include "operator/webhook/grove_webhook.h"

static const struct obj *find_set(void *ctx, str ns, str name)
{
    return NULL;
}

static void check_said(struct arena *a, const struct field_errors *errors)
{
    for (size_t i = 0; i < errors->items.len; i++)
        BUG_ON(str_is_empty(errors->items.p[i].field));
    BUG_ON(errors->items.len && str_is_empty(field_errors_text(a, errors)));
}

static void validate(const struct kind *k, const struct doc *old, const struct doc *new)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    field_errors_init(&errors, &a);
    grove_validate(k, old, new, &errors);
    check_said(&a, &errors);
    field_errors_done(&errors);
    arena_done(&a);
}

static void revise(struct doc *d)
{
    struct arena a = ARENA_INIT;
    struct obj *pcs = obj_new(&kind_pcs, doc_ref(d), NULL);
    if (pcs) {
        struct revision_input in = {.pcs = pcs, .cliques = &pcs, .n_cliques = 1};
        struct revision_decision decision;
        revision_decide(&a, &in, &decision);
        BUG_ON(!decision.create || str_is_empty(decision.hash));
        BUG_ON(!revision_same(jpath(obj_root(pcs), "spec.template"),
                              jpath(doc_root(decision.create), "data.template")));
        doc_unref(decision.create);
        obj_unref(pcs);
    }
    arena_done(&a);
}

static void review(str body)
{
    static const char *const paths[] = {
        "/webhooks/default-podcliqueset", "/webhooks/validate-podcliqueset",
        "/webhooks/validate-clustertopology", "/webhooks/authorizer-webhook"};
    const struct webhook_rules rules = {.context = &grove_default_context, .find_set = find_set};
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        struct arena a = ARENA_INIT;
        struct webhook_reply reply;
        webhook_answer(&rules, &a, STR("POST"), str_of(paths[i]), STR("application/json"), body,
                       &reply);
        BUG_ON(reply.code != 200 && reply.code != 400);
        BUG_ON(str_is_empty(reply.body));
        arena_done(&a);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 1 << 18)
        return 0;
    grove_kinds_init();
    str text = str_n((const char *)data, size);
    review(text);
    struct doc *raw = doc_parse(text, NULL, NULL);
    if (!raw)
        return 0;
    struct doc *filled = schema_default(kind_pcs.type, raw);
    struct doc *once = grove_default(&kind_pcs, filled, STR("ml"));
    struct doc *twice = grove_default(&kind_pcs, once, STR("ml"));
    BUG_ON(!jequal(doc_root(once), doc_root(twice)));
    validate(&kind_pcs, NULL, once);
    validate(&kind_pcs, NULL, raw);
    validate(&kind_pcs, raw, once);
    validate(&kind_pcs, once, raw);
    validate(&kind_ctb, NULL, raw);
    revise(once);
    doc_unref(twice);
    doc_unref(once);
    doc_unref(filled);
    doc_unref(raw);
    return 0;
}
