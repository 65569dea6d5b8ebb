/* See crd_boot.h. */
#include "apiserver/crd/crd_boot.h"

#include "apiserver/boot_writes.h"
#include "apiserver/request.h"
#include "kube/structural.h"
#include "json/write.h"

/* A JSON patch that gives the stored one the spec of today; NULL: it has that. What the server adds
 * to a spec by itself is kept out of the comparison: every member that is wanted must be as wanted.
 * It is a patch because its status may be written at the same time, which is no conflict. */
static struct doc *patch_to(const struct obj *have, jval spec)
{
    struct jw w;
    bool any = false;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(spec); jnext(&it);) {
        if (str_is(it.key, "names") || jequal(jget(obj_spec(have), it.key), it.value))
            continue;
        any = true;
        jw_object(&w);
        jw_put_cstr(&w, "op", "add");
        jw_key(&w, STR("path"));
        jw_printf(&w, "/spec/%.*s", STR_ARG(it.key));
        jw_put(&w, "value", it.value);
        jw_end(&w);
    }
    jw_end(&w);
    struct doc *patch = any ? jw_doc(&w) : NULL;
    if (!any)
        jw_done(&w);
    return patch;
}

static void boot_kind(struct apiserver *a, struct boot_writes *b, const struct kind *k)
{
    struct doc *want = structural_crd(k);
    str name = jstr(jpath(doc_root(want), "metadata.name"));
    const struct obj *have = store_get(a->store, &kind_crd, STR_NONE, name);
    struct api_request r = {.verb = have ? API_PATCH : API_CREATE,
                            .kind = &kind_crd,
                            .name = have ? name : STR_NONE,
                            .patch = API_PATCH_JSON,
                            .body = have ? patch_to(have, jgetc(doc_root(want), "spec"))
                                         : doc_ref(want)};
    if (r.body)
        boot_writes_send(b, r, want);
    doc_unref(want);
}

void crd_boot(struct apiserver *a, void (*done)(void *ctx, const struct err *err), void *ctx)
{
    struct boot_writes *b = boot_writes_new(a, "the definition of a kind of Grove's", done, ctx);
    boot_writes_are_optional(b); /* the kinds are served without */
    for (size_t i = 0; i < kinds_count(); i++)
        if (kind_is(kinds_at(i), KIND_CUSTOM) && !kind_is(kinds_at(i), KIND_DEFINED))
            boot_kind(a, b, kinds_at(i));
    boot_writes_end(b);
}
