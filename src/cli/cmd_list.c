/* `grove list`: the control planes of this user's that run. */
#include "cli/cli.h"
#include "client/instance.h"
#include "explain/documents/paint.h"
#include "json/write.h"
#include "json/yaml.h"

struct list_args {
    int output;
};

enum { AS_TABLE, AS_JSON, AS_YAML };
static const char *const formats[] = {"table", "json", "yaml", NULL};

static void write_table(struct arena *a, const struct instance *list, size_t n, struct strbuf *out)
{
    static const char *const columns[] = {"NAME", "ADDRESS", "PID", "STATE", "KUBECONFIG"};
    struct grid g;
    grid_init(&g, a, ARRAY_LEN(columns));
    for (size_t i = 0; i < ARRAY_LEN(columns); i++)
        grid_add(&g, PAINT_PLAIN, str_of(columns[i]));
    for (size_t i = 0; i < n; i++) {
        grid_add(&g, PAINT_PLAIN, list[i].name);
        grid_printf(&g, PAINT_PLAIN, "https://%.*s", STR_ARG(list[i].address));
        grid_printf(&g, PAINT_PLAIN, "%lld", (long long)list[i].pid);
        grid_add(&g, PAINT_PLAIN, list[i].data.len ? list[i].data : STR("temporary"));
        grid_add(&g, PAINT_PLAIN, list[i].kubeconfig);
    }
    grid_write(&g, out);
}

static struct doc *as_document(const struct instance *list, size_t n)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "instances");
    for (size_t i = 0; i < n; i++) {
        jw_object(&w);
        jw_put_str(&w, "name", list[i].name);
        jw_put_str(&w, "address", list[i].address);
        jw_put_int(&w, "pid", list[i].pid);
        jw_put_bool(&w, "detached", list[i].detached);
        jw_put_str(&w, "data", list[i].data);
        jw_put_str(&w, "kubeconfig", list[i].kubeconfig);
        jw_end(&w);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static int run_list(void *ctx, const void *opts, const struct command_call *call)
{
    const struct list_args *args = opts;
    struct arena a = ARENA_INIT;
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct instance *list;
    (void)ctx;
    (void)call;
    size_t n = instance_list(&a, &list);
    if (args->output != AS_TABLE) {
        struct doc *d = as_document(list, n);
        if (args->output == AS_YAML)
            yaml_write(doc_root(d), false, &out);
        else
            strbuf_printf(&out, "%.*s\n", STR_ARG(jtext(doc_root(d))));
        doc_unref(d);
    } else if (n > 0) {
        write_table(&a, list, n, &out);
    } else {
        fputs("No control plane of yours runs; start one with `grove up --detach`.\n", stderr);
    }
    fwrite(out.p ? out.p : "", 1, out.len, stdout);
    strbuf_done(&out);
    arena_done(&a);
    return EXIT_OK;
}

static const struct opt list_opts[] = {
    OPT_CHOICE(struct list_args, output, 'o', "output", formats, "table", "Output format"),
    OPT_END,
};

const struct command cmd_list = {
    .name = "list",
    .summary = "Show the control planes that run",
    .description = "Those that this user started with grove up on this machine.",
    .opts = list_opts,
    .opts_size = sizeof(struct list_args),
    .examples = "  $ grove list\n  $ grove list -o json",
    .run = run_list,
};
