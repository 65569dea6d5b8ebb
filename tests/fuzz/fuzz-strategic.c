/*
 * Strategic merge patches from any bytes: the first line is the object, the rest the patch, both
 * for a Pod. The result, like the object itself, must survive everything a server does with it:
 * pruning leaves nothing unknown, defaults and pruning a second time change nothing, and an empty
 * patch changes nothing.
 */
#include "fuzz.h"
#include "kube/schema.h"

static void never(void *ctx, const char *what, str path)
{
    BUG("a pruned document has a field its table does not name");
}

static void check_document(struct doc *d)
{
    const struct type *t = kind_pod.type;
    struct arena a = ARENA_INIT;
    struct field_errors errors;

    field_errors_init(&errors, &a);
    schema_validate(t, doc_root(d), STR(""), &errors);
    (void)field_errors_text(&a, &errors);
    field_errors_done(&errors);
    struct doc *pruned = schema_prune(t, d), *again = schema_prune(t, pruned);
    schema_unknown(t, doc_root(pruned), never, NULL);
    BUG_ON(again != pruned);
    struct doc *full = schema_default(t, pruned), *twice = schema_default(t, full);
    BUG_ON(twice != full);
    BUG_ON(!str_is_utf8(doc_text(full)));
    doc_unref(pruned);
    doc_unref(again);
    doc_unref(full);
    doc_unref(twice);
    arena_done(&a);
}

static void check_merge(struct doc *target, struct doc *patch)
{
    struct err err = ERR_INIT;
    struct doc *out =
        schema_strategic_merge(kind_pod.type, doc_root(target), doc_root(patch), &err);

    BUG_ON(!out && (err.code >= 0 || !err.message[0]));
    if (out)
        check_document(out);
    doc_unref(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct json_limits limits = {.allow_duplicate_keys = true};
    str rest = str_n((const char *)data, size), line = str_cut(&rest, '\n');

    kinds_init();
    struct doc *target = doc_parse(line, &limits, NULL), *patch = doc_parse(rest, &limits, NULL);
    struct doc *nothing = doc_parse(STR("{}"), NULL, NULL);
    if (target) {
        check_document(target);
        struct doc *same =
            schema_strategic_merge(kind_pod.type, doc_root(target), doc_root(nothing), NULL);
        BUG_ON(jtype(doc_root(target)) == J_OBJECT && !jequal(doc_root(same), doc_root(target)));
        doc_unref(same);
    }
    if (target && patch)
        check_merge(target, patch);
    doc_unref(target);
    doc_unref(patch);
    doc_unref(nothing);
    return 0;
}
