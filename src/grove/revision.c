/*
 * Revisions; see revision.h. A stored one looks like this:
 *
 *   data:
 *     template:       what pods are made of, in the shape of spec.template
 *     generationHash: what status.currentGenerationHash calls it
 *     templateHashes: {clique: what the label grove.io/pod-template-hash calls it}
 *     otherHashes:    {clique: [more names of the same content, found at take-over]}
 *   revision: counts up
 *
 * The common case, nothing changed, compares values in place and allocates nothing; canonical text
 * is made only where that comparison fails.
 */
#include "grove/revision.h"

#include "base/hash.h"
#include "base/vec.h"
#include "grove/names.h"
#include "grove/revision_canon.h"
#include "grove/revision_live.h"
#include "grove/types.h"
#include "json/edit.h"
#include "json/patch.h"
#include "json/write.h"

enum {
    TEXT_MAX = 64 << 20,
    CAUSE_MAX = 256, /* of a cause that we wrote; it is a line in a table */
};

/* ---- content ---- */

static struct doc *without_priority(jval pod_spec)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    for (struct jiter it = jiter(pod_spec); jnext(&it);) {
        if (str_is(it.key, "priorityClassName"))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    jw_end(&w);
    return jw_doc(&w);
}

/* What one clique's pods are made from, as canonical text: labels, annotations and pod spec, with
 * the priority class of the set in place of the pod's own. */
static void add_content(struct strbuf *out, jval template, jval clique)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "annotations", jgetc(clique, "annotations"));
    jw_put(&w, "labels", jgetc(clique, "labels"));
    jw_put(&w, "priorityClassName", jgetc(template, "priorityClassName"));
    jw_end(&w);
    struct doc *d = jw_doc(&w), *spec = without_priority(jpath(clique, "spec.podSpec"));
    jcanonical(doc_root(d), true, out);
    canon_pod_spec(doc_root(spec), out);
    doc_unref(d);
    doc_unref(spec);
}

uint64_t grove_clique_hash(jval template, jval clique)
{
    struct strbuf buf = STRBUF_INIT(TEXT_MAX);
    add_content(&buf, template, clique);
    uint64_t h = hash_fnv1a64(strbuf_str(&buf));
    strbuf_done(&buf);
    return h;
}

static int cmp_names(const void *a, const void *b)
{
    return str_cmp(jstr(jgetc(*(const jval *)a, "name")), jstr(jgetc(*(const jval *)b, "name")));
}

/* In the order of their names: which order they are written in means nothing to pods. */
uint64_t grove_generation_hash(jval template)
{
    struct strbuf buf = STRBUF_INIT(TEXT_MAX);
    VEC(jval) cliques = {0};
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);)
        *vec_push(&cliques) = it.value;
    vec_sort(&cliques, cmp_names);
    for (size_t i = 0; i < cliques.len; i++)
        add_content(&buf, template, cliques.p[i]);
    uint64_t h = hash_fnv1a64(strbuf_str(&buf));
    vec_done(&cliques);
    strbuf_done(&buf);
    return h;
}

static bool both_absent_or_equal(jval a, jval b)
{
    return !j_has(a) || !j_has(b) ? j_has(a) == j_has(b) : jequal(a, b);
}

static bool same_clique(jval ta, jval a, jval tb, jval b)
{
    if (!str_eq(jstr(jgetc(a, "name")), jstr(jgetc(b, "name"))))
        return false;
    if (both_absent_or_equal(jgetc(ta, "priorityClassName"), jgetc(tb, "priorityClassName")) &&
        both_absent_or_equal(jgetc(a, "labels"), jgetc(b, "labels")) &&
        both_absent_or_equal(jgetc(a, "annotations"), jgetc(b, "annotations")) &&
        both_absent_or_equal(jpath(a, "spec.podSpec"), jpath(b, "spec.podSpec")))
        return true;
    struct strbuf ca = STRBUF_INIT(TEXT_MAX), cb = STRBUF_INIT(TEXT_MAX);
    add_content(&ca, ta, a);
    add_content(&cb, tb, b);
    bool same = str_eq(strbuf_str(&ca), strbuf_str(&cb));
    strbuf_done(&ca);
    strbuf_done(&cb);
    return same;
}

static jval clique_named(jval template, str name)
{
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* Usually they come in the same order. */
bool revision_same(jval ta, jval tb)
{
    jval a = jgetc(ta, "cliques"), b = jgetc(tb, "cliques");
    if (jlen(a) != jlen(b))
        return false;
    struct jiter ia = jiter(a), ib = jiter(b);
    while (jnext(&ia) && jnext(&ib)) {
        str name = jstr(jgetc(ia.value, "name"));
        bool here = str_eq(name, jstr(jgetc(ib.value, "name")));
        if (!same_clique(ta, ia.value, tb, here ? ib.value : clique_named(tb, name)))
            return false;
    }
    return true;
}

/* ---- reading stored ones ---- */

static jval template_of(const struct obj *pcs)
{
    return jpath(obj_root(pcs), "spec.template");
}

static jval data_of(const struct obj *revision, const char *path)
{
    return jpath(jgetc(obj_root(revision), "data"), path);
}

jval revision_template(const struct obj *revision)
{
    return data_of(revision, "template");
}

int64_t revision_number(const struct obj *revision)
{
    return jint(jgetc(obj_root(revision), "revision"), 0);
}

str revision_generation_hash(const struct obj *revision)
{
    return jstr(data_of(revision, "generationHash"));
}

str revision_clique_hash(const struct obj *revision, str clique)
{
    return jstr(jget(data_of(revision, "templateHashes"), clique));
}

bool revision_names(const struct obj *revision, str clique, str hash)
{
    if (str_is_empty(hash))
        return false;
    if (str_eq(revision_clique_hash(revision, clique), hash))
        return true;
    for (struct jiter it = jiter(jget(data_of(revision, "otherHashes"), clique)); jnext(&it);) {
        if (str_eq(jstr(it.value), hash))
            return true;
    }
    return false;
}

str revision_cause(const struct obj *revision)
{
    return obj_annotation(revision, STR(ANNOTATION_CHANGE_CAUSE));
}

const struct obj *revision_by_hash(struct obj *const *revisions, size_t n, str hash)
{
    for (size_t i = 0; i < n; i++) {
        if (!str_is_empty(hash) && str_eq(revision_generation_hash(revisions[i]), hash))
            return revisions[i];
    }
    return NULL;
}

/* The newest of those with the same content; there should be one. */
const struct obj *revision_current(const struct obj *pcs, struct obj *const *revisions, size_t n)
{
    const struct obj *found = NULL;
    for (size_t i = 0; i < n; i++) {
        const struct obj *r = revisions[i];
        if (found && revision_number(found) >= revision_number(r))
            continue;
        if (!r->deleting && revision_same(template_of(pcs), revision_template(r)))
            found = r;
    }
    return found;
}

static const struct obj *newest(const struct revision_input *in)
{
    const struct obj *best = NULL;
    for (size_t i = 0; i < in->n_revisions; i++) {
        if (!best || revision_number(in->revisions[i]) > revision_number(best))
            best = in->revisions[i];
    }
    return best;
}

/* ---- naming ---- */

struct naming {
    struct arena *arena;
    const struct revision_input *in;
    struct revision_decision *out;
    struct jw others; /* otherHashes */
    bool changed;     /* take-over: a clique with live objects has none that is current */
};

/* What a stored revision calls the same content of the same clique; empty when none has it. */
static str stored_hash(const struct naming *n, jval template, jval clique)
{
    str name = jstr(jgetc(clique, "name")), hash = STR_NONE;
    int64_t number = -1;
    for (size_t i = 0; i < n->in->n_revisions; i++) {
        const struct obj *r = n->in->revisions[i];
        jval stored = revision_template(r);
        if (revision_number(r) <= number)
            continue;
        for (struct jiter it = jiter(jgetc(stored, "cliques")); jnext(&it);) {
            if (same_clique(template, clique, stored, it.value)) {
                hash = revision_clique_hash(r, name);
                number = revision_number(r);
            }
        }
    }
    return hash;
}

/* Does the revision call any of its cliques so? */
static bool names_any(const struct obj *revision, str hash)
{
    for (struct jiter it = jiter(jgetc(revision_template(revision), "cliques")); jnext(&it);) {
        if (revision_names(revision, jstr(jgetc(it.value, "name")), hash))
            return true;
    }
    return false;
}

/* Content that nobody has stored gets a name that nobody has used for a clique (or, for a
 * generation). Not for another clique either: whoever adds up names of all cliques would not see
 * that two of them have changed places. */
static str fresh_hash(const struct naming *n, uint64_t hash, bool of_clique)
{
    for (;; hash++) {
        str text = hash_encode(n->arena, hash);
        bool used = false;
        for (size_t i = 0; i < n->in->n_revisions && !used; i++)
            used = of_clique ? names_any(n->in->revisions[i], text)
                             : str_eq(revision_generation_hash(n->in->revisions[i]), text);
        for (size_t i = 0; i < n->out->n_cliques && of_clique && n->in->n_revisions > 0; i++)
            used = used || str_eq(n->out->cliques[i].hash, text);
        if (!used)
            return text;
    }
}

/* Take-over: the name that live objects of that content carry. The first wins; others of the same
 * content are noted beside it. */
static str live_hash(struct naming *n, jval clique)
{
    str name = jstr(jgetc(clique, "name")), hash = STR_NONE;
    size_t seen = 0, others = 0;
    for (size_t i = 0; i < n->in->n_cliques; i++) {
        const struct obj *pclq = n->in->cliques[i];
        str own = obj_label(pclq, STR(LABEL_TEMPLATE_HASH));
        if (str_is_empty(own) || !live_is_clique(pclq, name))
            continue;
        seen++;
        if (!revision_is_live(clique, pclq) || str_eq(own, hash))
            continue;
        if (str_is_empty(hash)) {
            hash = own;
            continue;
        }
        if (!others++) {
            jw_key(&n->others, name);
            jw_array(&n->others);
        }
        jw_str(&n->others, own);
    }
    if (others)
        jw_end(&n->others);
    n->changed |= seen && str_is_empty(hash);
    return hash;
}

static void name_cliques(struct naming *n, jval template)
{
    struct revision_decision *d = n->out;
    d->cliques = arena_array(n->arena, struct revision_hash, jlen(jgetc(template, "cliques")) + 1);
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        str hash = n->in->n_revisions ? stored_hash(n, template, it.value) : live_hash(n, it.value);
        d->adopted |= !n->in->n_revisions && !str_is_empty(hash);
        if (str_is_empty(hash))
            hash = fresh_hash(n, grove_clique_hash(template, it.value), true);
        d->cliques[d->n_cliques++] = (struct revision_hash){name, arena_str(n->arena, hash)};
    }
}

/* A set that upstream's operator looked after keeps its generation hash while its children are what
 * the template says. */
static str name_generation(const struct naming *n, jval template)
{
    str carried = jstr(jpath(obj_root(n->in->pcs), "status.currentGenerationHash"));
    if (n->out->adopted && !n->changed && !str_is_empty(carried))
        return arena_str(n->arena, carried);
    return fresh_hash(n, grove_generation_hash(template), false);
}

/* ---- making one ---- */

static void write_template(struct jw *w, jval template)
{
    jw_put_object(w, "template");
    jw_put(w, "priorityClassName", jgetc(template, "priorityClassName"));
    jw_put_array(w, "cliques");
    for (struct jiter it = jiter(jgetc(template, "cliques")); jnext(&it);) {
        jw_object(w);
        jw_put(w, "name", jgetc(it.value, "name"));
        jw_put(w, "labels", jgetc(it.value, "labels"));
        jw_put(w, "annotations", jgetc(it.value, "annotations"));
        jw_put_object(w, "spec");
        jw_put(w, "podSpec", jpath(it.value, "spec.podSpec"));
        jw_end(w);
        jw_end(w);
    }
    jw_end(w);
    jw_end(w);
}

static struct doc *template_doc(jval template)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    write_template(&w, template);
    jw_end(&w);
    return jw_doc(&w);
}

/* The first differences from the one before, on one line. */
static str describe_change(struct arena *a, const struct obj *before, jval template)
{
    struct strbuf text = STRBUF_INIT(TEXT_MAX), line = STRBUF_INIT(2 * TEXT_MAX);
    struct doc *now = template_doc(template);
    json_diff_print(revision_template(before), jgetc(doc_root(now), "template"), &text);
    str lines = str_trim(strbuf_str(&text));
    while (lines.len > 0 && line.len <= CAUSE_MAX) {
        strbuf_add_cstr(&line, line.len ? "; " : "");
        strbuf_add_str(&line, str_cut(&lines, '\n'));
    }
    size_t n = MIN(line.len, (size_t)CAUSE_MAX);
    while (n > 0 && n < line.len && ((unsigned char)line.p[n] & 0xc0) == 0x80)
        n--; /* not through the middle of a character */
    str cause = arena_printf(a, "%.*s%s", STR_ARG(str_sub(strbuf_str(&line), 0, n)),
                             n < line.len ? "..." : "");
    doc_unref(now);
    strbuf_done(&text);
    strbuf_done(&line);
    return cause;
}

static str cause_of(const struct naming *n, jval template)
{
    str given = obj_annotation(n->in->pcs, STR(ANNOTATION_CHANGE_CAUSE));
    const struct obj *before = newest(n->in);
    if (!str_is_empty(given))
        return given;
    if (before)
        return describe_change(n->arena, before, template);
    return n->out->adopted ? STR("taken over as it was found") : STR_NONE;
}

static void write_meta(struct jw *w, const struct naming *n, jval template)
{
    const struct obj *pcs = n->in->pcs;
    str cause = cause_of(n, template), set = name_label(n->arena, pcs->name);
    jw_put_object(w, "metadata");
    jw_put_str(w, "name", n->out->name);
    jw_put_str(w, "namespace", pcs->ns);
    jw_put_object(w, "labels");
    jw_put_cstr(w, LABEL_MANAGED_BY, MANAGED_BY_GROVE);
    jw_put_str(w, LABEL_PART_OF, set);
    jw_put_cstr(w, LABEL_COMPONENT, "pcs-revision");
    jw_put_str(w, LABEL_PCS, set);
    if (str_is_label_value(n->out->hash)) /* what was taken over is anybody's text */
        jw_put_str(w, LABEL_GENERATION_HASH, n->out->hash);
    jw_end(w);
    if (!str_is_empty(cause)) {
        jw_put_object(w, "annotations");
        jw_put_str(w, ANNOTATION_CHANGE_CAUSE, cause);
        jw_end(w);
    }
    char version[128];
    jw_put_array(w, "ownerReferences");
    jw_object(w);
    jw_put_str(w, "apiVersion", kind_api_version(&kind_pcs, version, sizeof(version)));
    jw_put_cstr(w, "kind", kind_pcs.kind);
    jw_put_str(w, "name", pcs->name);
    jw_put_str(w, "uid", pcs->uid);
    jw_put_bool(w, "controller", true);
    jw_put_bool(w, "blockOwnerDeletion", true);
    jw_end(w);
    jw_end(w);
    jw_end(w);
}

static struct doc *build(const struct naming *n, jval template, jval others)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "apiVersion", "apps/v1");
    jw_put_cstr(&w, "kind", kind_controller_revision.kind);
    write_meta(&w, n, template);
    jw_put_object(&w, "data");
    write_template(&w, template);
    jw_put_str(&w, "generationHash", n->out->hash);
    jw_put_object(&w, "templateHashes");
    for (size_t i = 0; i < n->out->n_cliques; i++) {
        jw_key(&w, n->out->cliques[i].clique);
        jw_str(&w, n->out->cliques[i].hash);
    }
    jw_end(&w);
    if (jlen(others))
        jw_put(&w, "otherHashes", others);
    jw_end(&w);
    jw_put_int(&w, "revision", n->out->number);
    jw_end(&w);
    return jw_doc(&w);
}

static void decide_new(struct arena *a, const struct revision_input *in,
                       struct revision_decision *d)
{
    struct naming n = {.arena = a, .in = in, .out = d};
    jval template = template_of(in->pcs);
    jw_init(&n.others);
    jw_object(&n.others);
    name_cliques(&n, template);
    jw_end(&n.others);
    struct doc *others = jw_doc(&n.others);
    d->hash = name_generation(&n, template);
    const struct obj *before = newest(in);
    d->number = before ? revision_number(before) + 1 : 1;
    /* A set with an unfinished change when it was taken over is in the middle of an update too. */
    d->update = before || (d->adopted && n.changed);
    /* A generation hash that was taken over is anybody's text; a name is not. */
    str suffix =
        str_is_dns1123_label(d->hash) ? d->hash : hash_encode(a, grove_generation_hash(template));
    d->name = name_object(a, arena_printf(a, "%.*s-%.*s", STR_ARG(in->pcs->name), STR_ARG(suffix)));
    d->create = build(&n, template, doc_root(others));
    doc_unref(others);
}

/* ---- those that are stored ---- */

static struct doc *number_patch(int64_t number)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "revision", number);
    jw_end(&w);
    return jw_doc(&w);
}

static void decide_stored(struct arena *a, const struct revision_input *in,
                          struct revision_decision *d)
{
    const struct obj *last = newest(in);
    jval cliques = jgetc(template_of(in->pcs), "cliques");
    d->hash = revision_generation_hash(d->current);
    d->number = revision_number(d->current);
    d->cliques = arena_array(a, struct revision_hash, jlen(cliques) + 1);
    for (struct jiter it = jiter(cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        d->cliques[d->n_cliques++] =
            (struct revision_hash){name, revision_clique_hash(d->current, name)};
    }
    if (d->number >= revision_number(last))
        return;
    d->number = revision_number(last) + 1;
    d->renumber = d->current;
    d->patch = number_patch(d->number);
    d->update = true;
}

/* Does a child carry what this revision calls it, and the current one does not? */
static bool is_in_use(const struct revision_input *in, const struct revision_decision *d,
                      const struct obj *r)
{
    if (!in->in_use)
        return false;
    if (in->in_use(in->ctx, STR_NONE, revision_generation_hash(r)))
        return true;
    for (struct jiter it = jiter(data_of(r, "templateHashes")); jnext(&it);) {
        if (!str_eq(revision_hash(d, it.key), jstr(it.value)) &&
            in->in_use(in->ctx, it.key, jstr(it.value)))
            return true;
    }
    return false;
}

static int by_number_descending(const void *a, const void *b)
{
    const struct obj *const *ra = a, *const *rb = b;
    int64_t na = revision_number(*ra), nb = revision_number(*rb);
    return na != nb ? (na < nb ? 1 : -1) : str_cmp((*ra)->name, (*rb)->name);
}

/* Everything older than the newest `history_limit` beside the current one, oldest first. */
static void decide_removals(struct arena *a, const struct revision_input *in,
                            struct revision_decision *d)
{
    size_t n = 0;
    if (in->n_revisions <= in->history_limit)
        return;
    const struct obj **old = arena_array(a, const struct obj *, in->n_revisions);
    for (size_t i = 0; i < in->n_revisions; i++) {
        if (in->revisions[i] != d->current && !in->revisions[i]->deleting)
            old[n++] = in->revisions[i];
    }
    if (n <= in->history_limit)
        return;
    qsort(old, n, sizeof(*old), by_number_descending);
    d->remove = arena_array(a, const struct obj *, n);
    for (size_t i = n; i > in->history_limit; i--) {
        if (!is_in_use(in, d, old[i - 1]))
            d->remove[d->n_remove++] = old[i - 1];
    }
}

void revision_decide(struct arena *a, const struct revision_input *in,
                     struct revision_decision *ret)
{
    *ret = (struct revision_decision){0};
    ret->current = revision_current(in->pcs, in->revisions, in->n_revisions);
    if (ret->current)
        decide_stored(a, in, ret);
    else
        decide_new(a, in, ret);
    decide_removals(a, in, ret);
}

str revision_hash(const struct revision_decision *d, str clique)
{
    for (size_t i = 0; i < d->n_cliques; i++) {
        if (str_eq(d->cliques[i].clique, clique))
            return d->cliques[i].hash;
    }
    return STR_NONE;
}

/* ---- undo ---- */

static void put_back(struct edit *e, struct arena *a, size_t i, const char *member, jval v)
{
    str path = arena_printf(a, "/spec/template/cliques/%zu/%s", i, member);
    if (j_has(v))
        edit_set(e, path, v);
    else
        edit_del(e, path);
}

struct doc *revision_restore(const struct obj *pcs, const struct obj *revision, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    struct doc *out = NULL;
    jval now = template_of(pcs), then = revision_template(revision);
    edit_init(&e, &a);
    for (struct jiter it = jiter(jgetc(now, "cliques")); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        jval old = clique_named(then, name);
        if (j_is_absent(old)) {
            err_set(err, ERR_INVALID, "revision %lld has no clique \"%.*s\"",
                    (long long)revision_number(revision), STR_ARG(name));
            goto out;
        }
        put_back(&e, &a, it.index, "labels", jgetc(old, "labels"));
        put_back(&e, &a, it.index, "annotations", jgetc(old, "annotations"));
        put_back(&e, &a, it.index, "spec/podSpec", jpath(old, "spec.podSpec"));
    }
    if (jlen(jgetc(then, "cliques")) != jlen(jgetc(now, "cliques"))) {
        err_set(err, ERR_INVALID, "revision %lld has other cliques than the set",
                (long long)revision_number(revision));
        goto out;
    }
    jval priority = jgetc(then, "priorityClassName");
    if (j_has(priority))
        edit_set(&e, STR("/spec/template/priorityClassName"), priority);
    else
        edit_del(&e, STR("/spec/template/priorityClassName"));
    out = edit_apply(&e, pcs->doc, err);
out:
    edit_done(&e);
    arena_done(&a);
    return out;
}
