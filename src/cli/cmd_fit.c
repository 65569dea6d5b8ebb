/*
 * `grove fit`: would this fit, before it is submitted. The manifests are admitted, defaulted, built
 * into gangs and placed by the very code that would do it, in a twin of the cluster.
 */
#include "base/map.h"
#include "cli/cmd_status.h"
#include "explain/documents/manifest.h"
#include "explain/documents/room.h"
#include "explain/documents/unfit.h"
#include "explain/twin/twin.h"
#include "grove/names.h"
#include "grove/snapshot.h"
#include "grove/types.h"
#include "json/edit.h"

enum { MAX_ADVICE = 4, MAX_SHOWN_NODES = 6, MAX_SHOWN_GANGS = 8, MAX_VARIANTS = 8 };
/* A try of a variant costs what the nodes and pods of the twin do: of large ones fewer are made. */
enum { MAX_TRIES = 40, WORK_TO_VARY = 60000 };

struct fit_args {
    struct view_args view;
    struct opt_list files;
};

/* ---- the document ---- */

struct where {
    str node;
    int64_t pods, devices;
};

/* Of extended resources: what has a vendor's name, "nvidia.com/gpu". */
static int64_t devices_of(const struct obj *pod, struct arena *a)
{
    struct snapshot s = {.arena = a, .n_resources = RES_FIRST_OTHER};
    struct demand d;
    int64_t sum = 0;
    str why;
    (void)snapshot_demand(&s, pod, &d, &why);
    for (size_t r = RES_FIRST_OTHER; r < s.n_resources; r++)
        sum += str_find_char(s.resources[r], '/') > 0 ? d.amount[r] : 0;
    snapshot_done(&s);
    return sum;
}

static int by_node(const void *a, const void *b)
{
    return str_cmp(((const struct where *)a)->node, ((const struct where *)b)->node);
}

static size_t find_places(const struct session_list *pods, struct arena *a, struct where **ret,
                          int64_t *ret_pods, int64_t *ret_waiting)
{
    struct where *list = arena_array(a, struct where, pods->n + 1);
    size_t n = 0;
    for (size_t i = 0; i < pods->n; i++) {
        str node = jstr(jgetc(obj_spec(pods->items[i]), "nodeName"));
        ++*ret_pods;
        if (str_is_empty(node)) {
            ++*ret_waiting;
            continue;
        }
        size_t k = 0;
        while (k < n && !str_eq(list[k].node, node))
            k++;
        if (k == n)
            list[n++].node = node;
        list[k].pods++;
        list[k].devices += devices_of(pods->items[i], a);
    }
    if (n > 1)
        qsort(list, n, sizeof(*list), by_node);
    *ret = list;
    return n;
}

static void put_where(struct jw *w, const struct where *places, size_t n)
{
    jw_put_array(w, "where");
    for (size_t i = 0; i < n; i++) {
        jw_object(w);
        jw_put_str(w, "node", places[i].node);
        jw_put_int(w, "pods", places[i].pods);
        if (places[i].devices > 0)
            jw_put_int(w, "devices", places[i].devices);
        jw_end(w);
    }
    jw_end(w);
}

/* Why it would wait, and what is equal for all that wait for the same. */
static str why_not(const struct picture *p, const struct session_list *pods, const struct obj *gang,
                   struct arena *a, str *ret_alike)
{
    jval c = condition_find(jgetc(obj_status(gang), "conditions"), STR("Unschedulable"));
    *ret_alike = STR_NONE;
    if (str_is(jstr(jgetc(c, "status")), "True") && j_has(jgetc(c, "message"))) {
        *ret_alike = unfit_key(unfit_facts(gang), a);
        return unfit_verdict(gang, a);
    }
    for (size_t i = 0; i < pods->n; i++) {
        str base = obj_label(pods->items[i], STR(LABEL_BASE_PODGANG));
        if (str_is_empty(base))
            continue;
        const struct obj *first = picture_find_labelled(p, PICTURE_GANGS, base);
        str why = arena_printf(a, "it comes after gang %.*s, which does not fit",
                               STR_ARG(first ? first->name : base));
        *ret_alike = why;
        return why;
    }
    return STR("no scheduler of this program serves its pods");
}

/* True when its minimum fits. */
static bool put_gang(struct jw *w, const struct picture *p, const struct session_list *its,
                     struct map *told, const struct obj *gang, struct arena *a)
{
    struct where *places;
    int64_t pods = 0, waiting = 0;
    size_t n = find_places(its, a, &places, &pods, &waiting);
    jval status = obj_status(gang);
    bool fits = gang_was_scheduled(gang);
    struct room r;
    str advice[MAX_ADVICE];
    jw_object(w);
    jw_put_str(w, "gang", gang->name);
    jw_put_bool(w, "fits", fits);
    jw_put_int(w, "pods", pods);
    jw_put_int(w, "waiting", waiting);
    if (j_has(jgetc(status, "placementScore")))
        jw_put(w, "placementScore", jgetc(status, "placementScore"));
    put_where(w, places, n);
    if (!fits) {
        str alike;
        jw_put_str(w, "why", why_not(p, its, gang, a, &alike));
        if (alike.len)
            jw_put_str(w, "alike", alike);
        if (j_has(unfit_facts(gang)))
            jw_put(w, "unschedulable", unfit_facts(gang));
        /* What helps one helps all that wait for the same: it is counted once. */
        bool known = alike.len && map_put(told, alike, told);
        size_t k =
            !known && room_of_gang(p, gang, a, &r) ? room_advice(&r, a, advice, MAX_ADVICE) : 0;
        jw_put_array(w, "unblock");
        for (size_t i = 0; i < k; i++)
            jw_str(w, advice[i]);
        jw_end(w);
    }
    jw_end(w);
    return fits;
}

/* What the set says itself when there are no gangs to judge. */
static str complaint(const struct picture *p, const struct obj *pcs, struct arena *a)
{
    struct findings f;
    findings_of_set(p, pcs, a, &f);
    str text = f.items.len ? f.items.p[0].verdict : STR("it has no gangs");
    findings_done(&f);
    return text;
}

/* Smaller ones that fit. */
struct variants {
    str texts[MAX_VARIANTS];
    size_t n;
};

struct tally {
    size_t gangs, fit;
    int64_t replicas;
};

static void put_set(struct jw *w, const struct picture *p, const struct obj *pcs, struct tally *n,
                    struct arena *a)
{
    str label = name_label(a, pcs->name);
    size_t before = n->gangs;
    struct pod_groups by_gang;
    struct map told = MAP_INIT;
    pod_groups_init(&by_gang, p, pod_gang_label, a);
    jw_object(w);
    jw_put_str(w, "name", pcs->name);
    jw_put_array(w, "gangs");
    struct session_list gangs = picture_counted(p, PICTURE_GANGS, a);
    for (size_t i = 0; i < gangs.n; i++) {
        const struct obj *gang = gangs.items[i];
        if (!is_of_set(gang, label))
            continue;
        struct session_list its = pod_groups_get(&by_gang, name_label(a, gang->name));
        n->gangs++;
        n->fit += put_gang(w, p, &its, &told, gang, a);
    }
    jw_end(w);
    pod_groups_done(&by_gang);
    map_done(&told);
    if (n->gangs == before && jint(jgetc(obj_spec(pcs), "replicas"), 0) > 0) {
        n->gangs++;
        jw_put_str(w, "why", complaint(p, pcs, a));
    }
    jw_end(w);
}

static struct doc *fit_build(const struct picture *p, const struct variants *v, struct arena *a)
{
    struct tally n = {0};
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "sets");
    for (size_t i = 0; i < p->parts[PICTURE_SETS].n; i++)
        put_set(&w, p, p->parts[PICTURE_SETS].items[i], &n, a);
    jw_end(&w);
    jw_put_array(&w, "variants");
    for (size_t i = 0; v && i < v->n; i++)
        jw_str(&w, v->texts[i]);
    jw_end(&w);
    bool fits = n.fit == n.gangs;
    jw_put_bool(&w, "fits", fits);
    jw_put_object(&w, "verdict");
    jw_put_cstr(&w, "state", fits ? "fits" : "does not fit");
    jw_put_str(&w, "text", arena_printf(a, "%zu of %zu gangs have room now", n.fit, n.gangs));
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- the text ---- */

static long long get(jval v, const char *key)
{
    return jint(jget(v, str_of(key)), 0);
}

static str places_text(jval where, bool wide, struct arena *a)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    size_t n = jlen(where), most = wide ? n : MIN(n, (size_t)MAX_SHOWN_NODES);
    for (size_t i = 0; i < most; i++) {
        jval v = jat(where, i);
        strbuf_printf(&b, "%s%.*s", i ? ", " : "", STR_ARG(jstr(jgetc(v, "node"))));
        if (get(v, "pods") > 1)
            strbuf_printf(&b, " ×%lld", get(v, "pods"));
    }
    if (n > most)
        strbuf_printf(&b, " and %zu more node%s", n - most, paint_plural((int64_t)(n - most)));
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

static void write_gang(jval gang, bool wide, struct arena *a, struct strbuf *out)
{
    bool fits = jbool(jgetc(gang, "fits"), false);
    strbuf_add_cstr(out, "  ");
    paint_add(out, PAINT_STRONG, jstr(jgetc(gang, "gang")));
    strbuf_add_cstr(out, "  ");
    paint_add(out, fits ? PAINT_GOOD : PAINT_WAIT, fits ? STR("fits") : STR("does not fit"));
    if (!fits) {
        strbuf_printf(out, ": %.*s\n", STR_ARG(jstr(jgetc(gang, "why"))));
        for (struct jiter it = jiter(jgetc(gang, "unblock")); jnext(&it);)
            strbuf_printf(out, "    - %.*s\n", STR_ARG(jstr(it.value)));
        return;
    }
    long long placed = get(gang, "pods") - get(gang, "waiting");
    strbuf_printf(out, "  %lld pod%s on %.*s", placed, paint_plural(placed),
                  STR_ARG(places_text(jgetc(gang, "where"), wide, a)));
    if (get(gang, "waiting") > 0)
        strbuf_printf(out, "; %lld pod%s beyond the minimum would wait", get(gang, "waiting"),
                      paint_plural(get(gang, "waiting")));
    strbuf_add_char(out, '\n');
}

/* Gangs that wait for the same: the first of them speaks for all. */
struct alike {
    size_t first, n;
};

static struct alike *find_alike(struct map *by_key, jval gang, size_t index, struct arena *a)
{
    str key = jstr(jgetc(gang, "alike"));
    struct alike *x = key.len ? map_get(by_key, key) : NULL;
    if (!x) {
        x = arena_array(a, struct alike, 1);
        x->first = index;
        if (key.len)
            (void)map_put(by_key, key, x);
    }
    return x;
}

static void write_others(const struct alike *x, struct strbuf *out)
{
    if (x->n > 1)
        strbuf_printf(out, "    and %zu more gang%s for the same reason (-o wide shows all)\n",
                      x->n - 1, paint_plural((int64_t)x->n - 1));
}

static bool is_fit(jval gang)
{
    return jbool(jgetc(gang, "fits"), false);
}

/* Of those that do not fit each reason once, then those that do. */
static void write_gangs(jval gangs, bool wide, struct arena *a, struct strbuf *out)
{
    size_t fit = 0, most = wide ? jlen(gangs) : (size_t)MAX_SHOWN_GANGS;
    struct map by_key = MAP_INIT;
    for (struct jiter it = jiter(gangs); jnext(&it);)
        find_alike(&by_key, it.value, it.index, a)->n++;
    for (struct jiter it = jiter(gangs); jnext(&it);) {
        const struct alike *x = find_alike(&by_key, it.value, it.index, a);
        if (is_fit(it.value) || (!wide && x->first != (size_t)it.index))
            continue;
        write_gang(it.value, wide, a, out);
        if (!wide)
            write_others(x, out);
    }
    for (struct jiter it = jiter(gangs); jnext(&it);) {
        if (is_fit(it.value) && fit++ < most)
            write_gang(it.value, wide, a, out);
    }
    map_done(&by_key);
    if (fit > most)
        strbuf_printf(out, "  and %zu more gang%s that fit%s (-o wide shows all)\n", fit - most,
                      paint_plural((int64_t)(fit - most)),
                      paint_verb((int64_t)(fit - most), "s", ""));
}

static void fit_write(jval doc, bool wide, struct arena *a, struct strbuf *out)
{
    status_write_verdict(jgetc(doc, "verdict"), out);
    for (struct jiter it = jiter(jgetc(doc, "sets")); jnext(&it);) {
        str why = jstr(jgetc(it.value, "why"));
        write_gangs(jgetc(it.value, "gangs"), wide, a, out);
        if (!str_is_empty(why))
            strbuf_printf(out, "  pcs/%.*s: %.*s\n", STR_ARG(jstr(jgetc(it.value, "name"))),
                          STR_ARG(why));
    }
    if (jlen(jgetc(doc, "variants")) > 0)
        strbuf_add_cstr(out, "  it would fit with:\n");
    for (struct jiter it = jiter(jgetc(doc, "variants")); jnext(&it);)
        strbuf_printf(out, "    - %.*s\n", STR_ARG(jstr(it.value)));
}

/* ---- the command ---- */

/* Whatever scheduler its pods name, the question is put to ours. */
static struct doc *for_our_scheduler(struct doc *d, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    for (struct jiter it = jiter(jpath(doc_root(d), "spec.template.cliques")); jnext(&it);) {
        if (j_has(jpath(it.value, "spec.podSpec.schedulerName")))
            edit_del(&e, arena_printf(&a, "/spec/template/cliques/%zu/spec/podSpec/schedulerName",
                                      (size_t)it.index));
    }
    struct doc *changed = edit_apply(&e, d, err);
    edit_done(&e);
    arena_done(&a);
    return changed;
}

static str namespace_in(const struct kind *k, jval root, str ns)
{
    str own = jstr(jpath(root, "metadata.namespace"));
    return !kind_is(k, KIND_NAMESPACED) ? STR_NONE : own.len ? own : ns;
}

/* The set is not in the twin; what else the file has (levels, priorities, pods) may be in the
 * cluster already, from the time before, and is in the twin then. */
static int create_one(struct twin *t, const struct kind *k, str ns, struct doc *d, struct err *err)
{
    jval root = doc_root(d);
    str name = jstr(jpath(root, "metadata.name")), where = namespace_in(k, root, ns);
    return k == &kind_pcs || str_is_empty(name) ? twin_create(t, k, where, d, true, err)
                                                : twin_apply(t, k, where, name, d, NULL, err);
}

static int create_all(struct twin *t, const doc_vec *docs, str ns, struct err *err)
{
    for (size_t i = 0; i < docs->len; i++) {
        jval root = doc_root(docs->p[i]);
        const struct kind *k = manifest_kind(root, err);
        if (!k)
            return err->code;
        struct doc *d = k == &kind_pcs ? for_our_scheduler(docs->p[i], err) : doc_ref(docs->p[i]);
        int r = d ? create_one(t, k, ns, d, err) : err->code;
        doc_unref(d);
        if (r)
            return r;
    }
    /* What the file itself says of its accounts was first. */
    for (size_t i = 0; i < docs->len; i++) {
        jval root = doc_root(docs->p[i]);
        if (manifest_kind(root, NULL) == &kind_pcs)
            twin_make_accounts(t, namespace_in(&kind_pcs, root, ns), root);
    }
    return 0;
}

/* The cluster as it was read, and what is asked of it. */
struct question {
    struct picture live;
    struct twin_settings settings;
    const doc_vec *docs;
    size_t subject; /* which of them is the set */
    str ns, name;
    size_t tries; /* of variants, that may still be made */
};

/* The set it is about: the first of the file. */
static bool read_subject(struct question *q)
{
    for (size_t i = 0; i < q->docs->len; i++) {
        jval root = doc_root(q->docs->p[i]);
        if (!str_is(jstr(jgetc(root, "kind")), "PodCliqueSet"))
            continue;
        str own = jstr(jpath(root, "metadata.namespace"));
        q->ns = own.len ? own : q->ns;
        q->name = jstr(jpath(root, "metadata.name"));
        q->subject = i;
        return true;
    }
    return false;
}

/* What keeps being tried, as a pod that the API server refuses. */
static int unsettled(struct twin *t, const struct question *q, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct picture p = {0};
    twin_picture(t, q->ns, PICTURE_OF_SETS, &p);
    const struct obj *pcs = picture_find(&p, PICTURE_SETS, q->name);
    str why = pcs ? complaint(&p, pcs, &a) : STR("the set is not there");
    int r = err_set(err, ERR_TIMEOUT, "the trial did not come to an end: %.*s", STR_ARG(why));
    arena_done(&a);
    return r;
}

/* A twin in which all of it was tried; NULL with the reason. */
static struct twin *ask(const struct question *q, const doc_vec *docs, struct err *err)
{
    struct twin *t = twin_new(&q->live, q->ns, q->name, err);
    if (!t)
        return NULL;
    twin_copy_settings(t, &q->settings);
    int r = create_all(t, docs, q->ns, err);
    if (r == 0 && !twin_settle(t))
        r = unsettled(t, q, err);
    if (r == 0)
        return t;
    twin_free(t);
    return NULL;
}

/* ---- variants ---- */

/* Something of the set that there could be less of. */
struct knob {
    const char *what;
    str name;
    str at; /* JSON pointer of what has replicas and minAvailable */
    int64_t replicas, min;
};

static struct doc *with_fewer(struct doc *d, const struct knob *k, int64_t n, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    edit_set_int(&e, arena_printf(&a, "%.*s/replicas", STR_ARG(k->at)), n);
    if (k->min > n)
        edit_set_int(&e, arena_printf(&a, "%.*s/minAvailable", STR_ARG(k->at)), n);
    struct doc *changed = edit_apply(&e, d, err);
    edit_done(&e);
    arena_done(&a);
    return changed;
}

static bool fits_with(struct question *q, const struct knob *k, int64_t n)
{
    struct err err = ERR_INIT;
    struct arena a = ARENA_INIT;
    struct picture after;
    doc_vec docs = {0};
    bool fits = false;
    for (size_t i = 0; i < q->docs->len; i++)
        *vec_push(&docs) =
            i == q->subject ? with_fewer(q->docs->p[i], k, n, &err) : doc_ref(q->docs->p[i]);
    q->tries--;
    struct twin *t = docs.len > q->subject && docs.p[q->subject] ? ask(q, &docs, &err) : NULL;
    if (t) {
        twin_picture(t, q->ns, PICTURE_EVERYTHING, &after);
        struct doc *d = fit_build(&after, NULL, &a);
        fits = jbool(jgetc(doc_root(d), "fits"), false);
        doc_unref(d);
    }
    twin_free(t);
    doc_vec_done(&docs);
    arena_done(&a);
    return fits;
}

/* The most that fits, by halves, as far as it was tried; 0: not even one. */
static int64_t find_most(struct question *q, const struct knob *k)
{
    int64_t lo = 0, hi = k->replicas;
    while (hi - lo > 1 && q->tries > 0) {
        int64_t mid = lo + (hi - lo) / 2;
        if (fits_with(q, k, mid))
            lo = mid;
        else
            hi = mid;
    }
    return lo;
}

static void try_knob(struct question *q, const struct knob *k, struct variants *v, struct arena *a)
{
    int64_t most = k->replicas > 1 && v->n < MAX_VARIANTS ? find_most(q, k) : 0;
    if (most == 0)
        return;
    str text = arena_printf(a, "%lld replica%s of %s %.*s instead of %lld", (long long)most,
                            paint_plural(most), k->what, STR_ARG(k->name), (long long)k->replicas);
    /* as it was tried */
    v->texts[v->n++] = k->min > most
                           ? arena_printf(a, "%.*s, and minAvailable %lld instead of %lld",
                                          STR_ARG(text), (long long)most, (long long)k->min)
                           : text;
}

static void find_variants(struct question *q, struct variants *v, struct arena *a)
{
    jval root = doc_root(q->docs->p[q->subject]);
    jval groups = jpath(root, "spec.template.podCliqueScalingGroups");
    jval template = jpath(root, "spec.template");
    try_knob(
        q,
        &(struct knob){"the set", q->name, STR("/spec"), jint(jpath(root, "spec.replicas"), 1), 0},
        v, a);
    for (struct jiter it = jiter(groups); jnext(&it);)
        try_knob(q,
                 &(struct knob){
                     "scaling group", jstr(jgetc(it.value, "name")),
                     arena_printf(a, "/spec/template/podCliqueScalingGroups/%zu", (size_t)it.index),
                     jint(jgetc(it.value, "replicas"), 1),
                     jint(jgetc(it.value, "minAvailable"), 1)},
                 v, a);
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);) {
        jval spec = jgetc(it.value, "spec");
        int64_t replicas = jint(jgetc(spec, "replicas"), 1);
        try_knob(
            q,
            &(struct knob){"clique", jstr(jgetc(it.value, "name")),
                           arena_printf(a, "/spec/template/cliques/%zu/spec", (size_t)it.index),
                           replicas, jint(jgetc(spec, "minAvailable"), 1)},
            v, a);
    }
}

/* ---- the answer ---- */

static int judge(struct session *s, const struct fit_args *a, const doc_vec *docs, bool *ret_fits,
                 struct err *err)
{
    struct question q = {.docs = docs, .ns = s->ns};
    struct picture after;
    struct variants variants = {0};
    if (!read_subject(&q))
        return err_set(err, ERR_INVALID, "%.*s describes no PodCliqueSet", STR_ARG(a->files.p[0]));
    int r = picture_read(s, PICTURE_CAPACITY, &q.live, err);
    r = r ? r : twin_check_size(&q.live, docs, err);
    if (r)
        return r;
    twin_read_settings(s, &q.settings);
    struct twin *t = ask(&q, docs, err);
    if (!t)
        return err->code;
    struct arena arena = ARENA_INIT;
    twin_picture(t, q.ns, PICTURE_EVERYTHING, &after);
    struct doc *d = fit_build(&after, NULL, &arena);
    *ret_fits = jbool(jgetc(doc_root(d), "fits"), false);
    if (!*ret_fits) {
        size_t size = after.parts[PICTURE_NODES].n + after.parts[PICTURE_ALL_PODS].n;
        q.tries = MIN((size_t)MAX_TRIES, WORK_TO_VARY / (size + 1));
        find_variants(&q, &variants, &arena);
        doc_unref(d);
        d = fit_build(&after, &variants, &arena);
    }
    view_print(doc_root(d), &a->view, fit_write, &arena);
    doc_unref(d);
    arena_done(&arena);
    twin_free(t);
    return 0;
}

static int run_fit(void *ctx, const void *opts, const struct command_call *call)
{
    const struct fit_args *a = opts;
    struct session s = {0};
    struct err err = ERR_INIT;
    doc_vec docs = {0};
    bool fits = false;
    (void)ctx;
    (void)call;
    int r = manifest_read_all(&a->files, &docs, &err);
    r = r ? r : session_open(&a->view.session, &s, &err);
    r = r ? r : judge(&s, a, &docs, &fits, &err);
    doc_vec_done(&docs);
    if (s.loop)
        session_close(&s);
    return r ? cli_fail(&err) : fits ? EXIT_OK : EXIT_NO;
}

static const struct opt fit_opts[] = {
    {.kind = OPT_K_LIST,
     .name = "filename",
     .letter = 'f',
     .metavar = "FILE",
     .help = "Manifests with a PodCliqueSet: a file, a directory of them, or - for standard input",
     .offset = offsetof(struct fit_args, files),
     .required = true},
    OPT_GROUP(NULL, view_options_once, offsetof(struct fit_args, view)),
    OPT_END,
};

const struct command cmd_fit = {
    .name = "fit",
    .summary = "Would it fit? Answers before anything is submitted",
    .description = "Tries the manifests on a simulated twin of the cluster, with its nodes and "
                   "what its pods use: they are admitted, turned into gangs and placed by the same "
                   "code that would do it for real. Says for each gang where it would go, or why "
                   "it would wait, what would help and which smaller variants would fit. Nothing "
                   "is written to the cluster. A running set of the same name is treated as gone. "
                   "Preemption is not considered. Exit code 0 when every gang fits, 1 when not.",
    .opts = fit_opts,
    .opts_size = sizeof(struct fit_args),
    .examples = "  $ grove fit -f my-set.yaml\n  $ grove fit -f my-set.yaml -o json",
    .run = run_fit,
};
