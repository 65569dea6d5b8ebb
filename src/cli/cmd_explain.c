/*
 * `grove explain`: why something is as it is. The verdict first, then for each finding what stands
 * in the way, the places that come nearest, who holds what is lacking, and what would help.
 */
#include "cli/cmd_status.h"
#include "cli/offer_names.h"
#include "explain/documents/pod_trouble.h"
#include "explain/documents/room.h"
#include "explain/documents/set_status.h"
#include "explain/documents/unfit.h"
#include "grove/names.h"
#include "grove/types.h"

enum { MAX_TOLD = 8, MAX_ADVICE = 6, MAX_ROOMS = 3 };

/* ---- the document ---- */

/* What is explained, and what of the findings of its set concerns it. */
struct subject {
    const struct obj *obj, *pcs;
    str gang, clique, base; /* empty: any */
};

static const struct obj *set_of(const struct picture *p, const struct obj *o)
{
    for (size_t i = 0; i < p->parts[PICTURE_SETS].n; i++) {
        const struct obj *set = p->parts[PICTURE_SETS].items[i];
        if (o == set || name_has_label(set->name, obj_label(o, STR(LABEL_PCS))) ||
            name_has_label(set->name, obj_label(o, STR(LABEL_PART_OF))) ||
            str_eq(o->owner_uid, set->uid))
            return set;
    }
    return NULL;
}

/* Pods of no set are only among those that are read for the room they take. */
static bool is_lone_pod(const struct picture *p, const struct view_target *t)
{
    const struct session_list *pods = &p->parts[PICTURE_ALL_PODS];
    for (size_t i = 0; t->kind == &kind_pod && i < pods->n; i++) {
        if (str_eq(pods->items[i]->name, t->name) && str_eq(pods->items[i]->ns, p->ns))
            return true;
    }
    return false;
}

static int find_subject(const struct picture *p, const struct view_target *t, struct subject *ret,
                        struct err *err)
{
    *ret = (struct subject){.obj = view_find(p, t)};
    if (!ret->obj && !is_lone_pod(p, t)) {
        (void)view_not_found(p, t, err);
        return ERR_NOT_FOUND;
    }
    ret->pcs = ret->obj ? set_of(p, ret->obj) : NULL;
    if (!ret->pcs)
        return err_set(err, ERR_NOT_FOUND, "%s %.*s belongs to no PodCliqueSet of namespace %.*s",
                       t->kind->singular, STR_ARG(t->name), STR_ARG(p->ns));
    if (t->kind == &kind_pod_gang)
        ret->gang = ret->obj->name;
    if (t->kind == &kind_pclq || t->kind == &kind_pod) {
        const struct obj *base =
            picture_find_labelled(p, PICTURE_GANGS, obj_label(ret->obj, STR(LABEL_BASE_PODGANG)));
        const struct obj *clique =
            t->kind == &kind_pclq
                ? ret->obj
                : picture_find_labelled(p, PICTURE_CLIQUES, obj_label(ret->obj, STR(LABEL_PCLQ)));
        ret->gang = picture_gang_of(p, ret->obj);
        ret->base = base ? base->name : obj_label(ret->obj, STR(LABEL_BASE_PODGANG));
        ret->clique = clique ? clique->name : obj_label(ret->obj, STR(LABEL_PCLQ));
    }
    return 0;
}

/* A group waits with its own gangs and with the base gang, which is no group's. */
static bool concerns_group(const struct obj *group, const struct finding *f)
{
    str own = obj_label(f->about, STR(LABEL_PCSG));
    if (own.len > 0)
        return str_eq(own, obj_label(group, STR(LABEL_PCSG)));
    return f->about->kind == &kind_pod_gang && str_eq(obj_label(f->about, STR(LABEL_PCS_INDEX)),
                                                      obj_label(group, STR(LABEL_PCS_INDEX)));
}

/* A clique waits with its gang and with the base gang. */
static bool concerns(const struct subject *s, const struct finding *f)
{
    if (s->obj == s->pcs || f->about == s->pcs || f->about == s->obj)
        return true;
    if (s->obj->kind == &kind_pcsg)
        return concerns_group(s->obj, f);
    if (f->about->kind == &kind_pod_gang)
        return str_eq(f->gang, s->gang) || str_eq(f->gang, s->base);
    return str_is_empty(s->clique) ? str_eq(f->gang, s->gang) : str_eq(f->clique, s->clique);
}

static void put_texts(struct jw *w, const char *key, const str *texts, size_t n)
{
    if (n == 0)
        return;
    jw_put_array(w, key);
    for (size_t i = 0; i < n; i++)
        jw_str(w, texts[i]);
    jw_end(w);
}

/* The scheduler's own, where they are domains that have names; else what is counted here. */
static void put_candidates(struct jw *w, jval facts, const struct room *r)
{
    jval near = jgetc(facts, "candidates");
    bool named = j_has(jgetc(jat(near, 0), "domain"));
    jw_put_array(w, "candidates");
    for (struct jiter it = jiter(named ? near : JVAL_ABSENT); jnext(&it);) {
        jw_object(w);
        jw_put(w, "domain", jgetc(it.value, "domain"));
        jw_put(w, "nodes", jgetc(it.value, "nodes"));
        if (j_has(jgetc(it.value, "room"))) {
            jw_put(w, "fit", jgetc(it.value, "room"));
            jw_put(w, "need", jgetc(facts, "pods"));
        }
        jw_end(w);
    }
    for (size_t i = 0; !named && i < r->n_best && r->best[i].slots > 0; i++) {
        jw_object(w);
        jw_put_str(w, "domain", r->best[i].name);
        jw_put_int(w, "nodes", r->best[i].nodes);
        jw_put_int(w, "fit", r->best[i].slots);
        jw_put_int(w, "need", r->need);
        jw_end(w);
    }
    jw_end(w);
}

/* The name of a gang as it is called from here; empty when it is of the same set, which does not
 * compete with itself. */
static str rival_name(const struct picture *p, const struct obj *gang, str full)
{
    str name = full, ns = str_cut(&name, '/');
    if (!str_eq(ns, gang->ns))
        return full;
    const struct obj *other = picture_find(p, PICTURE_GANGS, name);
    return other && is_of_set(other, obj_label(gang, STR(LABEL_PART_OF))) ? STR_NONE : name;
}

/* Who has what is lacking, as the scheduler found it, or as it is counted here. */
static void put_holders(struct jw *w, const struct picture *p, const struct obj *gang,
                        const struct room *r)
{
    jval holders = jgetc(unfit_facts(gang), "holders");
    size_t n = 0;
    jw_put_array(w, "holders");
    for (struct jiter it = jiter(holders); jnext(&it);) {
        bool single = j_has(jgetc(it.value, "pod"));
        str name =
            rival_name(p, gang, jstr(single ? jgetc(it.value, "pod") : jgetc(it.value, "gang")));
        if (str_is_empty(name))
            continue;
        n++;
        jw_object(w);
        jw_put_str(w, single ? "pod" : "gang", name);
        if (!single)
            jw_put(w, "priority", jgetc(it.value, "priority"));
        jw_put(w, "amount", jgetc(it.value, "amount"));
        jw_end(w);
    }
    for (size_t i = 0; n == 0 && i < r->n_holders; i++) {
        jw_object(w);
        jw_put_str(w, "gang", r->holders[i].gang);
        jw_put_int(w, "amount", r->holders[i].amount);
        jw_end(w);
    }
    jw_end(w);
}

/* What the scheduler wrote counts; what it does not write (what one would have to free, add or
 * open) is counted where nodes and pods may be read. */
static void put_room(struct jw *w, const struct picture *p, const struct obj *gang, struct arena *a)
{
    struct room r = {0};
    str advice[MAX_ADVICE];
    jval facts = unfit_facts(gang);
    bool counted = p->parts[PICTURE_NODES].n > 0 && room_of_gang(p, gang, a, &r);
    if (j_has(facts))
        jw_put(w, "unschedulable", facts);
    if (unfit_is_wrong(facts) || (!counted && !j_has(facts)))
        return;
    str lacks = counted ? r.resource : jstr(jgetc(jat(jgetc(facts, "candidates"), 0), "resource"));
    jw_put_object(w, "room");
    if (counted) {
        jw_put_str(w, "role", r.role);
        jw_put_int(w, "need", r.need);
        jw_put_int(w, "fitInCluster", r.total);
        jw_put_int(w, "nodes", r.nodes);
        jw_put_int(w, "nodesThatRefuse", r.refused);
    }
    if (!str_is_empty(lacks))
        jw_put_str(w, "lacks", lacks);
    if (!str_is_empty(r.resource))
        jw_put_str(w, "each", room_amount(a, r.resource, r.each));
    if (!str_is_empty(r.level) || j_has(jgetc(facts, "level")))
        jw_put_str(w, "level", r.level.len ? r.level : jstr(jgetc(facts, "level")));
    put_candidates(w, facts, &r);
    put_holders(w, p, gang, &r);
    jw_end(w);
    if (counted)
        put_texts(w, "unblock", advice, room_advice(&r, a, advice, MAX_ADVICE));
}

static void put_finding(struct jw *w, const struct picture *p, const struct finding *f, size_t more,
                        size_t *rooms, struct arena *a)
{
    jw_object(w);
    jw_put_cstr(w, "state", finding_states[f->state]);
    jw_put_str(w, "object", findings_reference(a, f->about));
    jw_put_str(w, "text", findings_text(a, f, more));
    jw_put_int(w, "alike", (int64_t)more);
    if (!str_is_empty(f->constraint))
        jw_put_str(w, "constraint", f->constraint);
    bool room = f->unfit && (*rooms)++ < MAX_ROOMS;
    if (room)
        put_room(w, p, f->about, a);
    if (!room || f->unblock.len > 0) /* what is not a matter of room has advice of its own */
        put_texts(w, "unblock", f->unblock.p, f->unblock.len);
    jw_end(w);
}

static void put_pod_verdict(struct jw *w, const struct picture *p, const struct obj *pod,
                            struct arena *a)
{
    str node = jstr(jgetc(obj_spec(pod), "nodeName"));
    struct pod_warnings warnings;
    struct pod_trouble t;
    pod_warnings_init(&warnings, p);
    jw_put_object(w, "verdict");
    jw_put_str(w, "state", pod_state(pod));
    if (str_is_empty(node))
        jw_put_str(w, "text", STR("it is not on a node"));
    else if (pod_trouble_of(pod, &warnings, a, &t))
        jw_put_str(w, "text",
                   arena_printf(a, "on node %.*s: %.*s%s%.*s; %.*s", STR_ARG(node), STR_ARG(t.what),
                                t.said.len ? ": " : "", STR_ARG(t.said), STR_ARG(t.remedy)));
    else
        jw_put_str(w, "text", arena_printf(a, "on node %.*s", STR_ARG(node)));
    jw_end(w);
    pod_warnings_done(&warnings);
}

static const char *word_for(int64_t ready, int64_t least, int64_t wanted)
{
    return wanted == 0 ? "stopped" : ready >= least ? "available" : "starting";
}

static struct pod_count count_gang(const struct picture *p, const struct obj *gang)
{
    struct pod_count n = {0};
    for (size_t i = 0; i < p->parts[PICTURE_PODS].n; i++) {
        const struct obj *pod = p->parts[PICTURE_PODS].items[i];
        if (pod->deleting || !name_has_label(gang->name, obj_label(pod, STR(LABEL_PODGANG))))
            continue;
        n.exist++;
        n.ready += str_is(pod_state(pod), "Ready");
        n.bound += !str_is_empty(jstr(jgetc(obj_spec(pod), "nodeName")));
    }
    return n;
}

/* Of a clique, a group or a gang that nothing is wrong with: what there is of it. */
static void put_part_verdict(struct jw *w, const struct picture *p, const struct obj *o,
                             struct arena *a)
{
    bool gang = o->kind == &kind_pod_gang, group = o->kind == &kind_pcsg;
    struct pod_count n = count_gang(p, o);
    int64_t wanted = gang ? n.exist : jint(jgetc(obj_spec(o), "replicas"), 0);
    int64_t least = gang ? n.exist : jint(jgetc(obj_spec(o), "minAvailable"), 1);
    const char *field = group ? "availableReplicas" : "readyReplicas";
    int64_t ready = gang ? n.ready : jint(jget(obj_status(o), str_of(field)), 0);
    str more = gang ? arena_printf(a, "%lld on nodes", (long long)n.bound)
                    : arena_printf(a, "at least %lld must be", (long long)least);
    jw_put_object(w, "verdict");
    jw_put_cstr(w, "state", word_for(ready, least, wanted));
    jw_put_str(w, "text",
               arena_printf(a, "%lld of %lld %s, %.*s", (long long)ready, (long long)wanted,
                            group ? "replicas available" : "pods ready", STR_ARG(more)));
    jw_end(w);
}

static void put_verdict(struct jw *w, const struct picture *p, const struct subject *s,
                        const struct findings *f, const bool *chosen, struct arena *a)
{
    size_t more;
    for (size_t i = 0; i < f->items.len; i++) {
        const struct finding *x = &f->items.p[i];
        if (!chosen[i] || !findings_speaks(f, chosen, i, &more))
            continue;
        jw_put_object(w, "verdict");
        jw_put_cstr(w, "state", finding_states[x->state]);
        jw_put_str(w, "text", findings_text(a, x, more));
        jw_end(w);
        return;
    }
    if (s->obj->kind == &kind_pod) {
        put_pod_verdict(w, p, s->obj, a);
    } else if (s->obj == s->pcs) {
        set_status_put_verdict(w, p, s->pcs, f, a);
    } else {
        put_part_verdict(w, p, s->obj, a);
    }
}

static struct doc *explain_build(const struct picture *p, const struct view_target *t,
                                 struct arena *a, struct err *err)
{
    struct subject s;
    struct findings f;
    struct jw w;
    size_t rooms = 0, told = 0, left = 0, more;
    if (find_subject(p, t, &s, err))
        return NULL;
    findings_of_set(p, s.pcs, a, &f);
    bool *chosen = arena_array(a, bool, f.items.len + 1);
    for (size_t i = 0; i < f.items.len; i++)
        chosen[i] = concerns(&s, &f.items.p[i]);
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "object", findings_reference(a, s.obj));
    jw_put_str(&w, "set", s.pcs->name);
    put_verdict(&w, p, &s, &f, chosen, a);
    jw_put_array(&w, "findings");
    for (size_t i = 0; i < f.items.len; i++) {
        if (!chosen[i] || !findings_speaks(&f, chosen, i, &more))
            continue;
        if (told++ < MAX_TOLD)
            put_finding(&w, p, &f.items.p[i], more, &rooms, a);
        else
            left++;
    }
    jw_end(&w);
    jw_put_int(&w, "more", (int64_t)left);
    jw_end(&w);
    findings_done(&f);
    return jw_doc(&w);
}

/* ---- the text ---- */

static long long get(jval v, const char *key)
{
    return jint(jget(v, str_of(key)), 0);
}

/* together: each of its parts would fit. */
static void write_shortage(jval room, bool together, struct strbuf *out)
{
    str role = jstr(jgetc(room, "role")), lacks = jstr(jgetc(room, "lacks"));
    str level = jstr(jgetc(room, "level")), each = jstr(jgetc(room, "each"));
    bool alone = together && get(room, "fitInCluster") >= get(room, "need");
    strbuf_printf(out, "  short of room: %lld %.*s pod%s", get(room, "need"), STR_ARG(role),
                  paint_plural(get(room, "need")));
    if (!str_is_empty(each))
        strbuf_printf(out, " of %.*s %.*s each", STR_ARG(each), STR_ARG(lacks));
    if (!str_is_empty(level))
        strbuf_printf(out, " in one %.*s", STR_ARG(level));
    strbuf_printf(out, "; %lld %s in the cluster%s", get(room, "fitInCluster"),
                  paint_verb(get(room, "fitInCluster"), "fits", "fit"),
                  alone ? " by themselves, but not with the rest of the gang" : "");
    if (get(room, "nodesThatRefuse") > 0)
        strbuf_printf(out, ", %lld of %lld nodes do not admit %s", get(room, "nodesThatRefuse"),
                      get(room, "nodes"), paint_verb(get(room, "need"), "it", "them"));
    strbuf_add_char(out, '\n');
}

static void write_candidates(jval room, struct arena *a, struct strbuf *out)
{
    str level = jstr(jgetc(room, "level"));
    struct grid g;
    grid_init(&g, a, 3);
    g.indent = "    ";
    for (struct jiter it = jiter(jgetc(room, "candidates")); jnext(&it);) {
        grid_add(&g, PAINT_PLAIN, jstr(jgetc(it.value, "domain")));
        grid_printf(&g, PAINT_PLAIN, "%lld node%s", get(it.value, "nodes"),
                    paint_plural(get(it.value, "nodes")));
        if (j_has(jgetc(it.value, "fit")))
            grid_printf(&g, PAINT_PLAIN, "room for %lld of %lld", get(it.value, "fit"),
                        get(it.value, "need"));
        else
            grid_add(&g, PAINT_PLAIN, STR("room for its parts, not for all"));
    }
    if (g.n_cells)
        strbuf_printf(out, "  nearest %.*s:\n",
                      STR_ARG(str_is_empty(level) ? STR("nodes") : level));
    grid_write(&g, out);
}

static void write_holders(jval room, struct arena *a, struct strbuf *out)
{
    str lacks = jstr(jgetc(room, "lacks"));
    struct grid g;
    grid_init(&g, a, 3);
    g.indent = "    ";
    for (struct jiter it = jiter(jgetc(room, "holders")); jnext(&it);) {
        bool single = j_has(jgetc(it.value, "pod"));
        grid_printf(&g, PAINT_PLAIN, "%s %.*s", single ? "pod" : "gang",
                    STR_ARG(jstr(single ? jgetc(it.value, "pod") : jgetc(it.value, "gang"))));
        grid_add(&g, PAINT_PLAIN, room_amount(a, lacks, get(it.value, "amount")));
        if (j_has(jgetc(it.value, "priority")))
            grid_printf(&g, PAINT_PLAIN, "priority %lld", get(it.value, "priority"));
        else
            grid_add(&g, PAINT_PLAIN, STR_NONE);
    }
    if (g.n_cells)
        strbuf_printf(out, "  who holds %.*s:\n", STR_ARG(lacks));
    grid_write(&g, out);
}

static void write_room(jval room, bool together, struct arena *a, struct strbuf *out)
{
    if (j_has(jgetc(room, "role")))
        write_shortage(room, together, out);
    write_candidates(room, a, out);
    if (!str_is_empty(jstr(jgetc(room, "lacks"))))
        write_holders(room, a, out);
}

static void write_finding(jval f, struct arena *a, struct strbuf *out)
{
    str constraint = jstr(jgetc(f, "constraint")), text = jstr(jgetc(f, "text"));
    strbuf_add_char(out, '\n');
    paint_add(out, PAINT_STRONG, arena_printf(a, "%.*s ", STR_ARG(jstr(jgetc(f, "object")))));
    status_write_verdict(f, out);
    if (!str_is_empty(constraint) && !str_ends(text, constraint))
        strbuf_printf(out, "  constraint: %.*s\n", STR_ARG(constraint));
    if (j_has(jgetc(f, "room")))
        write_room(jgetc(f, "room"), j_has(jpath(f, "unschedulable.shortage")), a, out);
    if (jlen(jgetc(f, "unblock")) > 0)
        strbuf_add_cstr(out, "  what would help:\n");
    for (struct jiter it = jiter(jgetc(f, "unblock")); jnext(&it);)
        strbuf_printf(out, "    - %.*s\n", STR_ARG(jstr(it.value)));
}

static void explain_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    (void)wide;
    status_write_verdict(jgetc(doc, "verdict"), out);
    for (struct jiter it = jiter(jgetc(doc, "findings")); jnext(&it);)
        write_finding(it.value, a, out);
    if (get(doc, "more") > 0)
        strbuf_printf(out, "\nand %lld more of the same kind\n", get(doc, "more"));
}

static int run_explain(void *ctx, const void *opts, const struct command_call *call)
{
    static const struct view view = {.mask = PICTURE_WITH_REFUSALS | PICTURE_SERVER,
                                     .optional = PICTURE_CAPACITY,
                                     .build = explain_build,
                                     .write = explain_write};
    struct view_target t;
    struct err err = ERR_INIT;
    (void)ctx;
    if (view_read_target(call, &kind_pcs, &t, &err) || view_check_kind(&t, "explain", &err))
        return cli_fail(&err);
    return view_run(&view, opts, &t);
}

const struct command cmd_explain = {
    .name = "explain",
    .summary = "Why something waits, and what would help",
    .description = "The verdict first; then what stands in the way, the places that come nearest, "
                   "who holds what is missing, and what would unblock it. Reads what the "
                   "components have recorded: conditions of gangs, cliques and sets, gates, "
                   "startup order, errors and refused disruptions.",
    .usage = "KIND/NAME",
    .min_args = 1,
    .max_args = 2,
    .opts = view_options,
    .opts_size = sizeof(struct view_args),
    .examples = "  $ grove explain pcs/my-set\n  $ grove explain podgang/my-set-0\n"
                "  $ grove explain pod/my-set-0-decode-x7k2p -o json",
    .complete = names_of_objects,
    .run = run_explain,
};
