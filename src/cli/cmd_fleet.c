/*
 * `grove fleet`: the nodes and who holds their devices, rack by rack. The document is what the page
 * draws (explain/documents/fleet.h).
 */
#include "cli/set_view.h"
#include "explain/documents/fleet.h"

static struct doc *build(const struct picture *p, const struct view_target *t, struct arena *a,
                         struct err *err)
{
    (void)t;
    (void)err;
    return fleet_build(p, a);
}

struct rack {
    str zone, block, rack;
    long long nodes, away, devices, used, reserved;
};

static long long get(jval v, const char *key)
{
    return jint(jget(v, str_of(key)), 0);
}

static bool is_in(const struct rack *r, jval node)
{
    return str_eq(r->zone, jstr(jgetc(node, "zone"))) &&
           str_eq(r->block, jstr(jgetc(node, "block"))) &&
           str_eq(r->rack, jstr(jgetc(node, "rack")));
}

static int by_place(const void *x, const void *y)
{
    const struct rack *a = x, *b = y;
    int c = str_cmp_counted(a->zone, b->zone);
    c = c ? c : str_cmp_counted(a->block, b->block);
    return c ? c : str_cmp_counted(a->rack, b->rack);
}

/* Nodes of a rack mostly stand together. */
static size_t add_up(jval nodes, struct rack *racks)
{
    size_t n = 0;
    struct rack *r = NULL;
    for (struct jiter it = jiter(nodes); jnext(&it);) {
        for (size_t i = 0; i < n && !(r && is_in(r, it.value)); i++)
            r = &racks[i];
        if (!r || !is_in(r, it.value)) {
            r = &racks[n++];
            *r = (struct rack){.zone = jstr(jgetc(it.value, "zone")),
                               .block = jstr(jgetc(it.value, "block")),
                               .rack = jstr(jgetc(it.value, "rack"))};
        }
        bool open =
            jbool(jgetc(it.value, "ready"), false) && !jbool(jgetc(it.value, "cordoned"), false);
        r->nodes++;
        r->away += !open;
        r->devices += get(it.value, "devices");
        r->used += get(it.value, "used");
        r->reserved += get(it.value, "reserved");
    }
    qsort(racks, n, sizeof(*racks), by_place);
    return n;
}

static str or_dash(str s)
{
    return s.len ? s : STR("-");
}

static void write_fleet(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    static const char *const headings[] = {"ZONE",    "BLOCK", "RACK",     "NODES",
                                           "DEVICES", "USED",  "RESERVED", "NOT OPEN"};
    jval nodes = jgetc(doc, "nodes");
    struct rack *racks = arena_array(a, struct rack, jlen(nodes) + 1);
    size_t n = add_up(nodes, racks);
    struct grid g;
    (void)wide;
    if (n == 0) {
        strbuf_add_cstr(out, "The cluster has no nodes.\n");
        return;
    }
    grid_init(&g, a, ARRAY_LEN(headings));
    for (size_t i = 0; i < ARRAY_LEN(headings); i++)
        grid_add(&g, PAINT_DIM, str_of(headings[i]));
    for (size_t i = 0; i < n; i++) {
        const struct rack *r = &racks[i];
        grid_add(&g, PAINT_PLAIN, or_dash(r->zone));
        grid_add(&g, PAINT_PLAIN, or_dash(r->block));
        grid_add(&g, PAINT_PLAIN, or_dash(r->rack));
        grid_printf(&g, PAINT_PLAIN, "%lld", r->nodes);
        grid_printf(&g, PAINT_PLAIN, "%lld", r->devices);
        grid_printf(&g, PAINT_PLAIN, "%lld", r->used);
        grid_printf(&g, PAINT_PLAIN, "%lld", r->reserved);
        grid_printf(&g, r->away ? PAINT_BAD : PAINT_PLAIN, "%lld", r->away);
    }
    grid_write(&g, out);
}

static int run_fleet(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view view = {.mask = PICTURE_CAPACITY,
                                     .optional = 1U << PICTURE_GANGS,
                                     .build = build,
                                     .write = write_fleet};
    struct view_target t = {0};
    (void)ctx;
    (void)call;
    return view_run(&view, opts, &t);
}

const struct command cmd_fleet = {
    .name = "fleet",
    .summary = "The nodes of the cluster and who holds their devices",
    .description = "Rack by rack: nodes, devices (GPUs), how many are used or reserved for "
                   "replacements, and nodes that are cordoned or not ready. -o json has each node "
                   "with its pods and their gangs; the page (grove ui) draws it.",
    .opts = view_options,
    .opts_size = sizeof(struct view_args),
    .examples = "  $ grove fleet\n  $ grove fleet --watch\n  $ grove fleet -o json",
    .run = run_fleet,
};
