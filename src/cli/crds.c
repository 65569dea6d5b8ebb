/* See crds.h. */
#include "cli/crds.h"

#include "base/log.h"
#include "grove/types.h"
#include "kube/structural.h"

/* Who writes them; the name other Grove operators use, so that they agree on who owns a field. */
#define MANAGER "grove-crd-installer"

static const struct kind *const kinds[] = {
    &kind_pcs, &kind_pclq, &kind_pcsg, &kind_ctb, &kind_pod_gang_map, &kind_pod_gang,
};

struct doc *crds_at(size_t i)
{
    return i < ARRAY_LEN(kinds) ? structural_crd(kinds[i]) : NULL;
}

static int install_one(struct session *s, struct doc *crd, struct err *err)
{
    str name = jstr(jpath(doc_root(crd), "metadata.name"));
    struct api_request q = {.verb = API_PATCH,
                            .patch = API_PATCH_APPLY,
                            .kind = &kind_crd,
                            .name = name,
                            .body = crd,
                            .field_manager = STR(MANAGER),
                            .force = true};
    int code = 0, r = session_send(s, &q, NULL, &code, err);
    if (r == ERR_EXISTS) { /* `grove up` needs none */
        log_info("definition", LOG_S("name", name), LOG_C("is", "built into the server"));
        return 0;
    }
    if (r)
        return err_wrap(err, "%.*s", STR_ARG(name));
    log_info("definition", LOG_S("name", name),
             LOG_C("is", code == 201 ? "created" : "up to date"));
    return 0;
}

int crds_install(const struct session_opts *o, struct err *err)
{
    struct session s = {0};
    int r = session_open(o, &s, err);
    for (size_t i = 0; r == 0 && i < ARRAY_LEN(kinds); i++) {
        struct doc *crd = crds_at(i);
        r = install_one(&s, crd, err);
        doc_unref(crd);
    }
    if (s.loop)
        session_close(&s);
    return r;
}
