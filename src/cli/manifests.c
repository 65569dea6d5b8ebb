/*
 * `grove manifests`: what a cluster needs to know of Grove, as YAML for `kubectl apply`. The
 * definitions of Grove's kinds are written from the very tables the embedded server works with.
 */
#include "cli/cli.h"
#include "grove/types.h"
#include "kube/structural.h"
#include "json/yaml.h"

struct manifests_opts {
    bool crds;
};

static const struct opt manifests_options[] = {
    OPT_FLAG(struct manifests_opts, crds, 0, "crds", "The definitions of Grove's kinds"),
    OPT_END,
};

static const struct kind *const kinds[] = {
    &kind_pcs, &kind_pclq, &kind_pcsg, &kind_ctb, &kind_pod_gang_map, &kind_pod_gang,
};

static void write_crds(struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct doc *d = structural_crd(kinds[i]);
        strbuf_add_cstr(out, "---\n");
        yaml_write_short(doc_root(d), out);
        doc_unref(d);
    }
}

static int run_manifests(void *ctx, const void *opts, const struct command_call *call)
{
    const struct manifests_opts *o = opts;
    struct strbuf out CLEANUP(strbuf_done) = STRBUF_INIT(16 << 20);
    struct err err = ERR_INIT;
    (void)ctx;
    (void)call;
    if (!o->crds) {
        (void)err_set(&err, ERR_USAGE, "say which manifests: --crds");
        return cli_fail(&err);
    }
    write_crds(&out);
    return fwrite(out.p, 1, out.len, stdout) == out.len && fflush(stdout) == 0 ? EXIT_OK : EXIT_NO;
}

const struct command cmd_manifests = {
    .name = "manifests",
    .summary = "Print what a cluster needs to know of Grove, as YAML",
    .opts = manifests_options,
    .opts_size = sizeof(struct manifests_opts),
    .run = run_manifests,
};
