/* Builders shared by the planners; see make.h. */
#include "grove/make.h"

#include "json/patch.h"

/* ---- labels ---- */

void labels_init(struct labels *l, struct arena *a)
{
    *l = (struct labels){.arena = a};
}

void labels_put(struct labels *l, str key, str value)
{
    for (size_t i = 0; i < l->n; i++) {
        if (str_eq(l->items[i].key, key)) {
            l->items[i].value = value;
            return;
        }
    }
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        struct label *items = arena_array(l->arena, struct label, cap);
        if (l->n)
            memcpy(items, l->items, l->n * sizeof(*items));
        l->items = items;
        l->cap = cap;
    }
    l->items[l->n++] = (struct label){key, value};
}

void labels_set(struct labels *l, const char *key, str value)
{
    labels_put(l, str_of(key), value);
}

void labels_set_int(struct labels *l, const char *key, int64_t value)
{
    labels_put(l, str_of(key), arena_int(l->arena, value));
}

void labels_set_full_name(struct labels *annotations, str name, str full)
{
    if (!str_eq(name, full))
        labels_set(annotations, ANNOTATION_FULL_NAME, full);
}

void labels_add_all(struct labels *l, jval map)
{
    for (struct jiter it = jiter(map); jnext(&it);)
        labels_put(l, it.key, jstr(it.value));
}

void labels_common(struct labels *l, str pcs, const char *component)
{
    labels_set(l, LABEL_MANAGED_BY, STR(MANAGED_BY_GROVE));
    labels_set(l, LABEL_PART_OF, name_label(l->arena, pcs));
    labels_set(l, LABEL_PCS, name_label(l->arena, pcs));
    if (component)
        labels_set(l, LABEL_COMPONENT, str_of(component));
}

static int label_cmp(const void *a, const void *b)
{
    return str_cmp(((const struct label *)a)->key, ((const struct label *)b)->key);
}

static struct label *labels_sorted(const struct labels *l)
{
    struct label *items = arena_array(l->arena, struct label, l->n + 1);
    if (l->n) {
        memcpy(items, l->items, l->n * sizeof(*items));
        qsort(items, l->n, sizeof(*items), label_cmp);
    }
    return items;
}

void labels_write(struct jw *w, const char *key, const struct labels *l)
{
    if (l->n == 0)
        return;
    struct label *items = labels_sorted(l);
    jw_put_object(w, key);
    for (size_t i = 0; i < l->n; i++) {
        jw_key(w, items[i].key);
        jw_str(w, items[i].value);
    }
    jw_end(w);
}

str labels_selector(struct labels *l)
{
    struct label *items = labels_sorted(l);
    struct strbuf b = STRBUF_INIT(64 << 10);
    for (size_t i = 0; i < l->n; i++) {
        if (i)
            strbuf_add_char(&b, ',');
        strbuf_add_str(&b, items[i].key);
        strbuf_add_char(&b, '=');
        strbuf_add_str(&b, items[i].value);
    }
    str text = arena_str(l->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

/* ---- objects ---- */

static void write_owner(struct jw *w, const struct obj *owner)
{
    char version[128];
    jw_put_array(w, "ownerReferences");
    jw_object(w);
    jw_put_str(w, "apiVersion", kind_api_version(owner->kind, version, sizeof(version)));
    jw_put_bool(w, "blockOwnerDeletion", true);
    jw_put_bool(w, "controller", true);
    jw_put_cstr(w, "kind", owner->kind->kind);
    jw_put_str(w, "name", owner->name);
    jw_put_str(w, "uid", owner->uid);
    jw_end(w);
    jw_end(w);
}

void make_begin(struct jw *w, const struct make_meta *m)
{
    char version[128];
    jw_init(w);
    jw_object(w);
    jw_put_str(w, "apiVersion", kind_api_version(m->kind, version, sizeof(version)));
    jw_put_cstr(w, "kind", m->kind->kind);
    jw_put_object(w, "metadata");
    jw_put_str(w, "name", m->name);
    if (!str_is_empty(m->ns))
        jw_put_str(w, "namespace", m->ns);
    if (m->labels)
        labels_write(w, "labels", m->labels);
    if (m->annotations)
        labels_write(w, "annotations", m->annotations);
    if (m->owner)
        write_owner(w, m->owner);
    if (m->finalizer) {
        jw_put_array(w, "finalizers");
        jw_str(w, str_of(m->finalizer));
        jw_end(w);
    }
    jw_end(w);
}

struct doc *make_end(struct jw *w)
{
    jw_end(w);
    return jw_doc(w);
}

/* Nobody else adds to these: what a template no longer says must go from its pods' spec, and one
 * more label in a selector would select nothing. */
static bool is_whole(str key)
{
    return str_is(key, "podSpec") || str_is(key, "selector");
}

static bool has_element(jval list, jval element)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (jequal(it.value, element))
            return true;
    }
    return false;
}

/* Others may own it as well: theirs stay, and ours is put beside them. False: it is there. */
static bool write_owners(struct jw *w, str key, jval desired, jval actual)
{
    bool all = true;
    for (struct jiter it = jiter(desired); jnext(&it);)
        all = all && has_element(actual, it.value);
    if (all)
        return false;
    jw_key(w, key);
    jw_array(w);
    for (struct jiter it = jiter(actual); jnext(&it);) {
        bool ours = false;
        for (struct jiter d = jiter(desired); jnext(&d);)
            ours |= str_eq(jstr(jgetc(d.value, "uid")), jstr(jgetc(it.value, "uid")));
        if (!ours)
            jw_val(w, it.value);
    }
    for (struct jiter it = jiter(desired); jnext(&it);)
        jw_val(w, it.value);
    jw_end(w);
    return true;
}

/* Members of desired that actual lacks or has otherwise; true when there were any. */
static bool write_missing(struct jw *w, jval desired, jval actual)
{
    bool any = false;
    for (struct jiter it = jiter(desired); jnext(&it);) {
        jval there = jget(actual, it.key);
        if (jequal(it.value, there))
            continue;
        if (str_is(it.key, "ownerReferences") && jtype(there) == J_ARRAY) {
            any |= write_owners(w, it.key, it.value, there);
            continue;
        }
        if (jtype(it.value) == J_OBJECT && jtype(there) == J_OBJECT) {
            struct doc *inner = is_whole(it.key) ? json_diff_merge(there, it.value)
                                                 : make_drift_patch(it.value, there);
            if (!inner)
                continue;
            jw_key(w, it.key);
            jw_val(w, doc_root(inner));
            doc_unref(inner);
        } else {
            jw_key(w, it.key);
            jw_val(w, it.value);
        }
        any = true;
    }
    return any;
}

struct doc *make_drift_patch(jval desired, jval actual)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    bool any = write_missing(&w, desired, actual);
    if (!any) {
        jw_done(&w);
        return NULL;
    }
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- labels and annotations of others ---- */

/* Grove's own that tell what the object says now. */
static bool is_telling(str key)
{
    return str_is(key, ANNOTATION_TOPOLOGY) || str_is(key, ANNOTATION_REPLICA_SPREAD) ||
           str_is(key, ANNOTATION_SCALED_PODS) || str_is(key, ANNOTATION_MIRRORED);
}

str make_mirrored(struct arena *a, str text, const char *field, str key)
{
    return arena_cat(a, text, text.len ? STR(" ") : STR_NONE, str_of(field), STR("/"), key);
}

/* "labels/team annotations/example.com/note" */
static bool is_listed(str text, str field, str key)
{
    while (text.len > 0) {
        ptrdiff_t space = str_find_char(text, ' ');
        size_t end = space < 0 ? text.len : (size_t)space;
        str one = str_sub(text, 0, end);
        if (one.len == field.len + 1 + key.len && str_starts(one, field) && str_ends(one, key) &&
            one.p[field.len] == '/')
            return true;
        text = str_sub(text, MIN(end + 1, text.len), text.len);
    }
    return false;
}

/* What somebody else wrote stays: a key goes when it is ours, or was taken over from what a user
 * says no more. */
static void drop_surplus(struct edit *e, const char *field, jval desired, const struct obj *actual,
                         jval there)
{
    str mirrored = obj_annotation(actual, STR(ANNOTATION_MIRRORED));
    for (struct jiter it = jiter(there); jnext(&it);) {
        if (j_is_absent(jget(desired, it.key)) &&
            (is_telling(it.key) || is_listed(mirrored, str_of(field), it.key)))
            edit_set_raw(e, edit_path(e->arena, STR("metadata"), str_of(field), it.key),
                         STR("null"));
    }
}

/* The patch that makes the child what it should be; NULL when it is. */
static struct doc *child_patch(struct arena *a, const struct obj *existing, jval desired)
{
    struct doc *patch = make_drift_patch(desired, obj_root(existing));
    if (!kind_is(existing->kind, KIND_CUSTOM))
        return patch;
    struct edit e;
    edit_init(&e, a);
    drop_surplus(&e, "labels", jpath(desired, "metadata.labels"), existing, existing->labels);
    drop_surplus(&e, "annotations", jpath(desired, "metadata.annotations"), existing,
                 existing->annotations);
    if (!edit_is_empty(&e)) {
        struct doc *both = edit_apply(&e, patch, NULL);
        doc_unref(patch);
        patch = both;
    }
    edit_done(&e);
    return patch;
}

/* Names are not unique across sets, and what a predecessor of the same name left may still be
 * going. Taking over either would steal pods. */
static bool is_foreign(struct plan *p, const struct world *w, const struct obj *owner,
                       const struct obj *existing)
{
    if (str_is_empty(existing->owner_uid) || str_eq(existing->owner_uid, owner->uid))
        return false;
    jval ref = obj_controller_ref(existing);
    str kind = jstr(jgetc(ref, "kind")), name = jstr(jgetc(ref, "name"));
    if (!str_is(kind, owner->kind->kind) || !str_eq(name, owner->name)) {
        plan_event(p, owner, true, STR("NameTaken"), "%s %.*s belongs to %.*s %.*s",
                   existing->kind->kind, STR_ARG(existing->name), STR_ARG(kind), STR_ARG(name));
        plan_look_again(p, 30 * USEC_PER_SEC);
    }
    return true;
}

bool make_is_child(const struct obj *o, const struct obj *owner)
{
    return o && str_eq(o->owner_uid, owner->uid);
}

/* What a patch changes, as people name it: "spec.podSpec, metadata.labels". */
static str changed_fields(struct arena *a, jval patch)
{
    str text = STR_NONE;
    for (struct jiter part = jiter(patch); jnext(&part);) {
        for (struct jiter it = jiter(part.value); jnext(&it);)
            text = arena_printf(a, "%.*s%s%.*s.%.*s", STR_ARG(text), text.len ? ", " : "",
                                STR_ARG(part.key), STR_ARG(it.key));
    }
    return text;
}

/* A child without an owner may have been let go on purpose: an owner that is deleted without its
 * children is marked so first, then they lose their reference. So whoever would take one over makes
 * sure that the owner is still the one it saw, by a write that changes nothing and fails when it is
 * not. What comes in later stages is then left out. */
static void check_owner(struct plan *p, unsigned stage, const struct obj *owner)
{
    for (size_t i = 0; i < p->writes.len; i++) {
        const struct plan_write *w = &p->writes.p[i];
        if (w->kind == owner->kind && str_eq(w->name, owner->name) && w->rv && w->stage <= stage)
            return;
    }
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "uid", owner->uid);
    jw_end(&w);
    jw_end(&w);
    plan_why(plan_merge_patch(p, stage, owner, STR_NONE, jw_doc(&w), owner->rv), p,
             "is it still there, to be given a child that has no owner?");
}

enum make_result make_ensure(struct plan *p, unsigned stage, const struct world *w,
                             const struct obj *owner, const struct obj *existing,
                             const struct kind *k, str name, struct doc *desired)
{
    if (!existing) {
        plan_why(plan_create(p, stage, k, owner->ns, name, desired), p, "%s %.*s wants it",
                 owner->kind->kind, STR_ARG(owner->name));
        return MAKE_CREATED;
    }
    struct doc *patch = NULL;
    bool foreign = is_foreign(p, w, owner, existing);
    if (!existing->deleting && !foreign)
        patch = child_patch(p->arena, existing, doc_root(desired));
    doc_unref(desired);
    if (!patch)
        return foreign ? MAKE_FOREIGN : MAKE_NOTHING;
    str fields = changed_fields(p->arena, doc_root(patch));
    if (str_is_empty(existing->owner_uid))
        check_owner(p, stage++, owner);
    plan_why(plan_merge_patch(p, stage, existing, STR_NONE, patch, 0), p,
             "%.*s: not as %s %.*s says", STR_ARG(fields), owner->kind->kind, STR_ARG(owner->name));
    return MAKE_PATCHED;
}

static const char *op_word(enum plan_op op)
{
    return op == PLAN_CREATE ? "created" : op == PLAN_DELETE ? "deleted" : "changed";
}

static str wanted_of(struct arena *a, const struct obj *owner)
{
    long long n = (long long)jint(jgetc(obj_spec(owner), "replicas"), 0);
    return arena_printf(a, "%lld replica%s %s wanted", n, n == 1 ? "" : "s", n == 1 ? "is" : "are");
}

void make_event(struct plan *p, size_t from, const struct obj *about, enum plan_op op,
                const struct kind *k, const char *reason)
{
    enum { SHOWN = 5 };
    size_t n = 0;
    str names = STR_NONE, why = STR_NONE;
    for (size_t i = from; i < p->writes.len; i++) {
        const struct plan_write *w = &p->writes.p[i];
        if (w->op != op || w->kind != k || w->subresource.len > 0)
            continue;
        if (n == 0)
            why = op == PLAN_CREATE ? wanted_of(p->arena, about) : w->why;
        if (n++ < SHOWN)
            names = arena_printf(p->arena, "%.*s%s%.*s", STR_ARG(names), n > 1 ? ", " : "",
                                 STR_ARG(w->name));
    }
    if (n > 0)
        plan_event(p, about, false, str_of(reason), "%s %zu %s%s: %.*s%s; %.*s", op_word(op), n,
                   k->kind, n > 1 ? "s" : "", STR_ARG(names), n > SHOWN ? ", ..." : "",
                   STR_ARG(why));
}

void make_scaled_event(struct plan *p, const struct obj *o, int64_t replicas, const char *reason)
{
    jval status = obj_status(o);
    int64_t was = jint(jgetc(status, "replicas"), 0);
    if (was == replicas || !j_has(jgetc(status, "observedGeneration")))
        return;
    plan_event(p, o, false, str_of(reason), "scaled %s from %lld to %lld replicas",
               was < replicas ? "out" : "in", (long long)was, (long long)replicas);
}

bool make_finalizer(struct plan *p, unsigned stage, const struct obj *o, str finalizer, bool there)
{
    if (obj_has_finalizer(o, finalizer) == there)
        return false;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "metadata");
    jw_put_array(&w, "finalizers");
    for (struct jiter it = jiter(jgetc(o->meta, "finalizers")); jnext(&it);) {
        if (!str_eq(jstr(it.value), finalizer))
            jw_val(&w, it.value);
    }
    if (there)
        jw_str(&w, finalizer);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    struct plan_write *write = plan_merge_patch(p, stage, o, STR_NONE, jw_doc(&w), o->rv);
    plan_why(write, p, "%s finalizer %.*s", there ? "add" : "release", STR_ARG(finalizer));
    return true;
}

/* ---- status ---- */

/* Definitions allow 32768 characters. Whatever names or errors it quotes, a message that is longer
 * would keep the whole status from being written. */
#define MESSAGE_MAX 4096

static str cut_message(str s)
{
    size_t n = MIN(s.len, (size_t)MESSAGE_MAX);
    while (n < s.len && n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--; /* not inside a character */
    return str_sub(s, 0, n);
}

/* One that says what it said is copied as it stands. */
static void write_condition(struct jw *w, const struct condition *c, jval old, usec now)
{
    str message = cut_message(c->message);
    bool same = str_is(jstr(jgetc(old, "status")), c->status);
    if (same && str_is(jstr(jgetc(old, "reason")), c->reason) &&
        str_eq(jstr(jgetc(old, "message")), message)) {
        jw_val(w, old);
        return;
    }
    jw_object(w);
    if (same)
        jw_put(w, "lastTransitionTime", jgetc(old, "lastTransitionTime"));
    else
        jw_put_time(w, "lastTransitionTime", now);
    jw_put_str(w, "message", message);
    jw_put_cstr(w, "reason", c->reason);
    jw_put_cstr(w, "status", c->status);
    jw_put_cstr(w, "type", c->type);
    jw_end(w);
}

static const struct condition *find_type(const struct condition *set, size_t n, str type)
{
    for (size_t i = 0; i < n; i++) {
        if (str_is(type, set[i].type))
            return &set[i];
    }
    return NULL;
}

void make_conditions(struct jw *w, jval old, const struct condition *set, size_t n, usec now)
{
    jw_put_array(w, "conditions");
    for (struct jiter it = jiter(old); jnext(&it);) {
        const struct condition *c = find_type(set, n, jstr(jgetc(it.value, "type")));
        if (c && c->status)
            write_condition(w, c, it.value, now);
        else if (!c)
            jw_val(w, it.value);
    }
    for (size_t i = 0; i < n; i++) {
        if (set[i].status && j_is_absent(condition_find(old, str_of(set[i].type))))
            write_condition(w, &set[i], JVAL_ABSENT, now);
    }
    jw_end(w);
}

static bool same_but_message(jval old, jval new)
{
    for (struct jiter it = jiter(new); jnext(&it);) {
        jval c = condition_find(old, jstr(jgetc(it.value, "type")));
        if (!jequal(jgetc(c, "status"), jgetc(it.value, "status")) ||
            !jequal(jgetc(c, "reason"), jgetc(it.value, "reason")))
            return false;
    }
    return true;
}

bool make_is_counts_only(jval old, jval new)
{
    for (struct jiter it = jiter(new); jnext(&it);) {
        jval there = jget(old, it.key);
        if (str_is(it.key, "conditions")) {
            if (!same_but_message(there, it.value))
                return false;
        } else if (!jequal(there, it.value) &&
                   (jtype(there) != J_INT || str_is(it.key, "observedGeneration"))) {
            return false;
        }
    }
    return true;
}

struct plan_write *make_status(struct plan *p, unsigned stage, const struct obj *o,
                               struct doc *status)
{
    struct doc *patch = make_drift_patch(doc_root(status), obj_status(o));
    bool counts_only = make_is_counts_only(obj_status(o), doc_root(status));
    doc_unref(status);
    if (!patch)
        return NULL;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "status", doc_root(patch));
    jw_end(&w);
    struct plan_write *write = plan_merge_patch(p, stage, o, STR("status"), jw_doc(&w), o->rv);
    write->counts_only = counts_only;
    doc_unref(patch);
    return write;
}

/* ---- relations ---- */

static const struct kind *const owner_kinds[] = {&kind_pcs, &kind_pcsg, &kind_pclq};

struct obj *owner_pcs(const struct world *w, const struct obj *o)
{
    /* By the owner references, which carry whole names; a label value may have been shortened. What
     * a predecessor of the same name left behind is not ours. At most pod, clique, group, set. */
    for (size_t depth = 0; o && o->kind != &kind_pcs; depth++) {
        jval ref = obj_controller_ref(o);
        const struct obj *owner = NULL;
        for (size_t i = 0; i < ARRAY_LEN(owner_kinds) && depth < ARRAY_LEN(owner_kinds); i++) {
            if (str_is(jstr(jgetc(ref, "kind")), owner_kinds[i]->kind))
                owner = world_get(w, owner_kinds[i], o->ns, jstr(jgetc(ref, "name")));
        }
        o = owner && str_eq(owner->uid, jstr(jgetc(ref, "uid"))) ? owner : NULL;
    }
    return (struct obj *)o;
}

struct obj *labelled_obj(const struct world *w, const struct kind *k, str ns, str label)
{
    struct obj *found = str_is_empty(label) ? NULL : world_get(w, k, ns, label), *o;
    if (found || !name_may_be_shortened(label))
        return found;
    for (struct cache_iter it = cache_all(world_cache(w, k), ns); !found && (o = cache_next(&it));)
        found = name_has_label(o->name, label) ? o : NULL;
    return found;
}

int64_t label_index(const struct obj *o, str key)
{
    int64_t index;
    return str_to_int(obj_label(o, key), &index) && index >= 0 ? index : -1;
}
