/*
 * Patches: two JSON texts with a NUL between, a document and a patch. Both kinds of patch give a
 * document whose text and tape agree or say why not; the diff of any two objects, applied, gives
 * the second.
 */
#include "fuzz.h"
#include "json/patch.h"

static void check_result(struct doc *d, const struct err *err)
{
    BUG_ON(!d && !err->message[0]);
    if (!d)
        return;
    struct doc *again = doc_parse(doc_text(d), NULL, NULL);
    BUG_ON(!again || !jequal(doc_root(d), doc_root(again)));
    doc_unref(again);
}

static void check_diff(jval a, jval b)
{
    struct doc *patch = json_diff_merge(a, b);
    struct doc *there = json_merge_patch(a, doc_root(patch), NULL);
    BUG_ON(!there);
    /* Nulls are lost on the way, so compare what a second journey makes of it. */
    struct doc *none = json_diff_merge(doc_root(there), b);
    struct doc *same = json_merge_patch(doc_root(there), doc_root(none), NULL);
    BUG_ON(!same || !jequal(doc_root(same), doc_root(there)));
    struct strbuf lines = STRBUF_INIT(1 << 20);
    json_diff_print(a, b, &lines);
    BUG_ON(jequal(a, b) != (lines.len == 0 && !lines.overflow));
    strbuf_done(&lines);
    doc_unref(same);
    doc_unref(none);
    doc_unref(there);
    doc_unref(patch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str rest = str_n((const char *)data, size);
    str first = str_cut(&rest, '\0');
    struct doc *a = doc_parse(first, NULL, NULL), *b = doc_parse(rest, NULL, NULL);
    if (a && b) {
        struct err err = ERR_INIT;
        struct doc *merged = json_merge_patch(doc_root(a), doc_root(b), &err);
        check_result(merged, &err);
        doc_unref(merged);
        err = ERR_INIT;
        struct doc *patched = json_patch(doc_root(a), doc_root(b), &err);
        check_result(patched, &err);
        doc_unref(patched);
        if (jtype(doc_root(a)) == J_OBJECT && jtype(doc_root(b)) == J_OBJECT)
            check_diff(doc_root(a), doc_root(b));
    }
    doc_unref(a);
    doc_unref(b);
    return 0;
}
