/*
 * JSON: any bytes are read or refused with an offset. What was read keeps its text, prints and
 * reads back the same in every form, and takes edits whose spliced result equals a parse of it.
 */
#include "fuzz.h"
#include "json/doc.h"
#include "json/edit.h"
#include "json/patch.h"
#include "json/write.h"

static struct doc *parse(str text, bool duplicates)
{
    struct json_limits limits = {.allow_duplicate_keys = duplicates};
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, &limits, &err);
    BUG_ON(!d && (err.code >= 0 || !strstr(err.message, "offset")));
    return d;
}

/* The text reads as the same value. */
static void check_same(jval v, str text)
{
    struct doc *d = parse(text, false);
    BUG_ON(!d || !jequal(v, doc_root(d)) || !jequal(doc_root(d), v));
    doc_unref(d);
}

/* Every reader on every value; the sizes of members add up. */
static size_t walk(jval v)
{
    int64_t i;
    str text = jtext(v);
    size_t n = 0;
    BUG_ON(text.len == 0 || j_is_absent(v));
    (void)jint_get(v, &i);
    (void)jreal(v, 0);
    (void)jstr(v);
    for (struct jiter it = jiter(v); jnext(&it); n++) {
        BUG_ON(jtext(it.value).p < text.p);
        BUG_ON(jtext(it.value).p + jtext(it.value).len > text.p + text.len);
        if (it.is_object && n < 100)
            BUG_ON(jget(v, it.key).at != it.value.at);
        else if (n < 100)
            BUG_ON(jat(v, n).at != it.value.at);
        walk(it.value);
    }
    BUG_ON(n != jlen(v));
    return n;
}

static void check_forms(jval v)
{
    struct strbuf out = STRBUF_INIT(64 << 20), again = STRBUF_INIT(64 << 20);
    json_pretty(v, 0, &out);
    check_same(v, strbuf_str(&out));
    strbuf_reset(&out);
    json_pretty(v, 2, &out);
    check_same(v, strbuf_str(&out));
    strbuf_reset(&out);
    jcanonical(v, false, &out);
    check_same(v, strbuf_str(&out));
    struct doc *d = parse(strbuf_str(&out), false);
    jcanonical(doc_root(d), false, &again);
    BUG_ON(!str_eq(strbuf_str(&out), strbuf_str(&again)));
    doc_unref(d);
    strbuf_done(&out);
    strbuf_done(&again);
}

/* Sets a new member and deletes the first one, when it is an object; the patches say the same. */
static void check_edits(struct doc *d)
{
    jval root = doc_root(d);
    if (jtype(root) != J_OBJECT)
        return;
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    struct jiter it = jiter(root);
    if (jnext(&it))
        edit_del(&e, edit_path(&a, it.key));
    if (jnext(&it))
        edit_set_str(&e, edit_path(&a, it.key), it.key);
    edit_set(&e, STR("/added/\n/x"), root);
    struct doc *edited = edit_apply(&e, d, NULL);
    struct doc *patch = edit_as_json_patch(&e, d, NULL);
    if (edited) {
        walk(doc_root(edited));
        check_same(doc_root(edited), doc_text(edited));
        struct doc *patched = patch ? json_patch(root, doc_root(patch), NULL) : NULL;
        BUG_ON(patched && !jequal(doc_root(patched), doc_root(edited)));
        doc_unref(patched);
    }
    doc_unref(patch);
    doc_unref(edited);
    doc_unref(edit_as_merge_patch(&e, d, NULL));
    edit_done(&e);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = str_n((const char *)data, size);
    struct doc *strict = parse(text, false), *d = parse(text, true);
    BUG_ON(strict && !d);
    BUG_ON(d && (strict != NULL) == doc_duplicate_key(d, NULL));
    if (d) {
        BUG_ON(!str_eq(doc_text(d), text));
        walk(doc_root(d));
        check_forms(doc_root(d));
        check_edits(d);
    }
    doc_unref(strict);
    doc_unref(d);
    return 0;
}
