/*
 * See managed.h. The entries of metadata.managedFields are read into a list of managers, changed
 * there and written back in kube-apiserver's order. A manager's set is parsed only when the write
 * touches it; all others keep their text byte for byte, so a status patch never looks into who owns
 * the spec.
 *
 * The rules are those of kube-apiserver's chain of field managers, by their names there: decoding
 * from the live or the new object (decodeLiveOrNew), "before-first-apply" (skipNonApplied), at most
 * ten updaters (capManagers), system metadata belongs to nobody (stripMeta), kubectl's move from
 * client-side apply (lastApplied).
 */
#include "apiserver/verbs/managed.h"

#include "apiserver/verbs/managed_memo.h"
#include "kube/typed_merge.h"
#include "json/edit.h"
#include "json/mtree.h"
#include "json/splice.h"
#include "json/write.h"

#define MAX_UPDATERS 10
#define MAX_CAUSES 1000
#define TEXT_MAX ((size_t)16 << 20)
/* Levels of the list: with the object's own two they stay below what a document may have. */
#define LIST_DEPTH 250
#define LAST_APPLIED "kubectl.kubernetes.io/last-applied-configuration"

/* ---- managers ---- */

struct manager {
    jval entry; /* as it stands in the document; absent: a new one */
    str name, operation, api_version, subresource, time;
    str fields; /* FieldsV1 of the set, where known */
    struct fieldset set;
    bool parsed;  /* set is filled in */
    bool changed; /* set is not the entry's any more */
    bool stamped; /* time is not the entry's any more */
};

struct managers {
    struct arena *a;
    const struct kind *kind;
    VEC(struct manager) list;
    str api_version;
    str subresource;
    str now;
    char version_buf[256];
    /* Of managers that wrote in other versions; NULL: their fields are those of this one. */
    const struct managed_versions *versions;
    const struct doc *old; /* the object before, NULL: there was none */
    bool waits;            /* for a version that is not known yet */
};

static void managers_init(struct managers *m, struct arena *a, const struct kind *k,
                          str subresource, usec now)
{
    struct strbuf b = STRBUF_INIT(64);
    *m = (struct managers){.a = a, .kind = k, .subresource = subresource};
    m->api_version = kind_api_version(k, m->version_buf, sizeof(m->version_buf));
    time_format_rfc3339(now, &b);
    m->now = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
}

static void managers_done(struct managers *m)
{
    vec_done(&m->list);
}

/* Entries of the list as they are; false when one is malformed. Somebody else's list is read in
 * full, because it may be written in another form. */
static bool managers_load(struct managers *m, jval list, bool foreign)
{
    vec_clear(&m->list);
    for (struct jiter it = jiter(list); jnext(&it);) {
        struct manager x = {
            .entry = it.value,
            .name = jstr(jgetc(it.value, "manager")),
            .operation = jstr(jgetc(it.value, "operation")),
            .api_version = jstr(jgetc(it.value, "apiVersion")),
            .subresource = jstr(jgetc(it.value, "subresource")),
            .time = jstr(jgetc(it.value, "time")),
        };
        if (foreign) {
            bool known = str_is(x.operation, "Apply") || str_is(x.operation, "Update");
            jval fields = jgetc(it.value, "fieldsV1");
            if (!known || !x.api_version.len ||
                !str_is(jstr(jgetc(it.value, "fieldsType")), "FieldsV1"))
                return false;
            if (j_has(fields) && !fieldset_parse(m->a, fields, true, &x.set))
                return false;
            x.parsed = x.changed = true;
        }
        *vec_push(&m->list) = x;
    }
    return true;
}

static const struct fieldset *manager_set(struct managers *m, struct manager *x)
{
    if (!x->parsed) {
        jval fields = jgetc(x->entry, "fieldsV1");
        if (x->fields.len)
            fields = doc_root(doc_hold(m->a, doc_parse(x->fields, NULL, NULL)));
        /* What we wrote ourselves is well-formed; anything else owns nothing. */
        if (!fieldset_parse(m->a, fields, false, &x->set))
            x->set = FIELDSET_EMPTY;
        x->parsed = true;
    }
    return &x->set;
}

static bool manager_overlaps(const struct manager *x, const struct fieldset *s, struct arena *a)
{
    if (!x->parsed)
        return fieldset_overlaps(s, jgetc(x->entry, "fieldsV1"));
    struct fieldset both = fieldset_intersection(a, &x->set, s);
    return !fieldset_is_empty(&both);
}

static void manager_put(struct manager *x, struct fieldset set)
{
    x->set = set;
    x->parsed = x->changed = true;
}

/* An applier stays the same manager whatever version it applies. */
static struct manager *managers_find(struct managers *m, str name, str operation, str subresource)
{
    for (size_t i = 0; i < m->list.len; i++) {
        struct manager *x = &m->list.p[i];
        if (str_eq(x->name, name) && str_eq(x->operation, operation) &&
            str_eq(x->subresource, subresource) &&
            (str_is(operation, "Apply") || str_eq(x->api_version, m->api_version)))
            return x;
    }
    return NULL;
}

static struct manager *managers_need(struct managers *m, str name, str operation, str subresource)
{
    struct manager *x = managers_find(m, name, operation, subresource);
    if (x)
        return x;
    x = vec_push(&m->list);
    *x = (struct manager){.name = name,
                          .operation = operation,
                          .api_version = m->api_version,
                          .subresource = subresource,
                          .parsed = true,
                          .changed = true};
    return x;
}

static void manager_stamp(struct managers *m, struct manager *x)
{
    x->api_version = m->api_version;
    x->time = m->now;
    x->stamped = true;
}

/* Managers that own nothing disappear. */
static void managers_drop_empty(struct managers *m)
{
    size_t len = 0;
    for (size_t i = 0; i < m->list.len; i++) {
        const struct manager *x = &m->list.p[i];
        if (!x->parsed || x->fields.len || !fieldset_is_empty(&x->set))
            m->list.p[len++] = *x;
    }
    m->list.len = len;
}

/* ---- order and number of entries ---- */

static int64_t manager_seconds(const struct manager *x)
{
    usec t = 0;
    return x->time.len && time_parse_rfc3339(x->time, &t) ? t / USEC_PER_SEC : 0;
}

static int cmp_time_and_name(const struct manager *x, const struct manager *y)
{
    int64_t s = manager_seconds(x), t = manager_seconds(y);
    if (s != t)
        return s < t ? -1 : 1;
    return str_cmp(x->name, y->name);
}

static int cmp_managers(const void *p, const void *q)
{
    const struct manager *x = p, *y = q;
    int order = str_cmp(x->operation, y->operation);
    if (!order)
        order = cmp_time_and_name(x, y);
    if (!order)
        order = str_cmp(x->api_version, y->api_version);
    return order ? order : str_cmp(x->subresource, y->subresource);
}

/* What n of them own together. Halves are joined, so that each field is copied as often as there
 * are halvings: somebody may send thousands. */
static struct fieldset managers_union(struct managers *m, size_t first, size_t n)
{
    if (n == 1)
        return *manager_set(m, &m->list.p[first]);
    struct fieldset left = managers_union(m, first, n / 2);
    struct fieldset right = managers_union(m, first + n / 2, n - n / 2);
    return fieldset_union(m->a, &left, &right);
}

/* More than ten updaters: the oldest become one, "ancient-changes". The list is in order, so that
 * they are the first ones behind the appliers. */
static void managers_cap(struct managers *m)
{
    size_t first = 0;
    while (first < m->list.len && str_is(m->list.p[first].operation, "Apply"))
        first++;
    if (m->list.len - first <= MAX_UPDATERS)
        return;
    size_t merged = m->list.len - first - MAX_UPDATERS + 1;
    struct manager bucket = m->list.p[first + merged - 1];
    bucket.set = managers_union(m, first, merged);
    bucket.parsed = true;
    bucket.fields = STR_NONE;
    bucket.name = STR("ancient-changes");
    bucket.subresource = STR_NONE;
    bucket.changed = true;
    m->list.p[first] = bucket;
    memmove(&m->list.p[first + 1], &m->list.p[first + merged],
            (m->list.len - first - merged) * sizeof(*m->list.p));
    m->list.len -= merged - 1;
}

/* ---- writing ---- */

static void write_member(struct strbuf *b, const char *key, str value)
{
    strbuf_add_cstr(b, key);
    json_quote(b, value);
}

static void write_manager(const struct manager *x, struct strbuf *b)
{
    write_member(b, "{\"manager\":", x->name);
    write_member(b, ",\"operation\":", x->operation);
    write_member(b, ",\"apiVersion\":", x->api_version);
    if (x->time.len)
        write_member(b, ",\"time\":", x->time);
    strbuf_add_cstr(b, ",\"fieldsType\":\"FieldsV1\",\"fieldsV1\":");
    if (x->fields.len)
        strbuf_add_str(b, x->fields);
    else if (x->changed)
        fieldset_write(&x->set, b);
    else
        strbuf_add_str(b, jtext(jgetc(x->entry, "fieldsV1")));
    if (x->subresource.len)
        write_member(b, ",\"subresource\":", x->subresource);
    strbuf_add_char(b, '}');
}

/* A member of the list as a value: its own while it did not change. */
static jval manager_value(struct managers *m, const struct manager *x, struct strbuf *b)
{
    if (!x->changed && !x->stamped)
        return x->entry;
    strbuf_reset(b);
    write_manager(x, b);
    struct doc *d = b->overflow ? NULL : doc_hold(m->a, memo_doc(strbuf_str(b)));
    return d ? doc_root(d) : JVAL_ABSENT;
}

/* The list as a document; NULL when it is too deep, which leaves an object without owners. */
static struct doc *list_doc(const jval *list, size_t n, size_t hint)
{
    struct splice s;
    splice_init(&s, hint + 2, LIST_DEPTH);
    uint32_t array = splice_open(&s, false);
    for (size_t i = 0; i < n; i++) {
        splice_comma(&s, i == 0);
        splice_value(&s, list[i]);
    }
    splice_close(&s, array, n);
    return splice_doc(&s, NULL);
}

/* Whether the list is still the one that stands in d. */
static bool managers_unchanged(const struct managers *m, const struct doc *d)
{
    jval present = jpath(doc_root(d), "metadata.managedFields");
    if (m->list.len == 0)
        return j_is_absent(present);
    if (jlen(present) != m->list.len)
        return false;
    for (size_t i = 0; i < m->list.len; i++) {
        const struct manager *x = &m->list.p[i];
        if (x->changed || x->stamped || x->entry.doc != d || (i && x->entry.at < x[-1].entry.at))
            return false;
    }
    return true;
}

/* What of d has to change. The list is always the last member of the metadata. */
static void managers_edit(struct managers *m, const struct doc *d, struct edit *e)
{
    managers_drop_empty(m);
    vec_sort(&m->list, cmp_managers);
    managers_cap(m);
    if (managers_unchanged(m, d))
        return;
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    (void)strbuf_reserve(&b, 4096);
    jval *list = arena_array(m->a, jval, m->list.len);
    size_t n = 0, hint = 0;
    for (size_t i = 0; i < m->list.len; i++) {
        list[n] = manager_value(m, &m->list.p[i], &b);
        hint += jtext(list[n]).len + 1;
        n += !j_is_absent(list[n]);
    }
    struct doc *value = n ? list_doc(list, n, hint) : NULL;
    edit_del(e, STR("/metadata/managedFields"));
    if (value)
        edit_set_doc(e, STR("/metadata/managedFields"), value);
    strbuf_done(&b);
}

/* d with this changed; itself when it has no metadata to take it. */
static struct doc *edited(struct edit *e, struct doc *d)
{
    struct doc *out = edit_apply(e, d, NULL);
    edit_done(e);
    return out ? out : doc_ref(d);
}

/* ---- what belongs to nobody ---- */

static const str system_metadata[] = {
    STR_INIT("creationTimestamp"), STR_INIT("deletionGracePeriodSeconds"),
    STR_INIT("deletionTimestamp"), STR_INIT("generation"),
    STR_INIT("managedFields"),     STR_INIT("name"),
    STR_INIT("namespace"),         STR_INIT("resourceVersion"),
    STR_INIT("selfLink"),          STR_INIT("uid"),
};

static struct fieldset without_system(struct arena *a, const struct fieldset *s)
{
    struct fieldset meta[ARRAY_LEN(system_metadata)];
    for (size_t i = 0; i < ARRAY_LEN(meta); i++)
        meta[i] = (struct fieldset){.tag = 'f', .member = true, .name = system_metadata[i]};
    struct fieldset top[] = {
        {.tag = 'f', .member = true, .name = STR("apiVersion")},
        {.tag = 'f', .member = true, .name = STR("kind")},
        {.tag = 'f',
         .member = true,
         .name = STR("metadata"),
         .kids = meta,
         .n_kids = ARRAY_LEN(meta)},
    };
    struct fieldset strip = {.kids = top, .n_kids = ARRAY_LEN(top)};
    return fieldset_difference(a, s, &strip);
}

/* A kind with /status never owns status through the object itself: such writes are ignored. */
static str ignored_member(const struct kind *k, str subresource)
{
    return !subresource.len && kind_is(k, KIND_STATUS) ? STR("status") : STR_NONE;
}

/* ---- other versions ---- */

static bool is_of_other_version(const struct managers *m, const struct manager *x)
{
    return UNLIKELY(m->versions != NULL) && !str_eq(x->api_version, m->api_version);
}

static const struct doc *as_version(struct managers *m, const struct doc *d, str api_version,
                                    const struct kind **ret_kind)
{
    const struct doc *out = m->versions->as(m->versions->ctx, d, api_version, ret_kind);
    m->waits |= !out && *ret_kind;
    return out;
}

/* What a change is in the version of this manager; false: it is not known yet, or (its set becomes
 * empty) that version is gone. */
static bool version_diff(struct managers *m, struct manager *x, const struct doc *new,
                         struct typed_diff *ret)
{
    const struct kind *k = NULL;
    const struct doc *before = m->old ? as_version(m, m->old, x->api_version, &k) : NULL;
    const struct doc *after = as_version(m, new, x->api_version, &k);
    if (!k)
        manager_put(x, FIELDSET_EMPTY);
    if (!k || !after || (m->old && !before))
        return false;
    *ret = typed_compare(m->a, k, before ? doc_root(before) : JVAL_ABSENT, doc_root(after),
                         ignored_member(k, m->subresource));
    ret->changed = without_system(m->a, &ret->changed);
    return true;
}

/* What a manager of another version owns, in this one: what goes when it goes. */
static struct fieldset own_in_this_version(struct managers *m, struct manager *x)
{
    const struct kind *k = NULL;
    const struct doc *live = as_version(m, m->old, x->api_version, &k);
    if (!live)
        return FIELDSET_EMPTY;
    struct fieldset none = FIELDSET_EMPTY;
    struct doc *whole = doc_ref(live);
    struct doc *without =
        doc_hold(m->a, typed_prune(m->a, k, whole, manager_set(m, x), &none, NULL));
    doc_unref(whole);
    const struct kind *own = NULL;
    const struct doc *back = without ? as_version(m, without, m->api_version, &own) : NULL;
    if (!back)
        return FIELDSET_EMPTY;
    struct typed_diff diff =
        typed_compare(m->a, m->kind, doc_root(m->old), doc_root(back), STR_NONE);
    struct fieldset set = fieldset_union(m->a, &diff.removed, &diff.changed);
    return without_system(m->a, &set);
}

static struct fieldset set_in_this_version(struct managers *m, struct manager *x)
{
    return is_of_other_version(m, x) && m->old ? own_in_this_version(m, x) : *manager_set(m, x);
}

/* ---- update ---- */

/* Whoever else owns what was changed or removed loses it. The writer's own entry is not rewritten
 * when it has all of that already. */
static void managers_take(struct managers *m, const struct typed_diff *diff, const struct doc *new,
                          struct manager *own)
{
    struct fieldset touched = fieldset_union(m->a, &diff->changed, &diff->removed);
    for (size_t i = 0; i < m->list.len; i++) {
        struct manager *x = &m->list.p[i];
        struct fieldset taken = touched;
        struct typed_diff theirs;
        if (x != own && is_of_other_version(m, x)) {
            if (!version_diff(m, x, new, &theirs))
                continue;
            taken = fieldset_union(m->a, &theirs.changed, &theirs.removed);
        }
        if (x != own && manager_overlaps(x, &taken, m->a))
            manager_put(x, fieldset_difference(m->a, manager_set(m, x), &taken));
    }
}

/* Remembers what this manager owns. */
static void memo_fields_of(const struct manager *x, const struct memo_key *key)
{
    struct strbuf fields = STRBUF_INIT(TEXT_MAX);
    fieldset_write(&x->set, &fields);
    if (!fields.overflow)
        memo_put_fields(key, strbuf_str(&fields));
    strbuf_done(&fields);
}

/* Objects that own the same fields mostly change in the same ones. */
static void own_change(struct managers *m, struct manager *own, const struct typed_diff *diff,
                       jval fields)
{
    struct memo_key key;
    bool keep = !own->changed && memo_change(jtext(fields), &diff->changed, &diff->removed, &key);
    str known = keep ? memo_get_fields(m->a, &key) : STR_NONE;
    if (known.len) {
        own->fields = known;
        own->changed = true;
        return;
    }
    struct fieldset left = fieldset_difference(m->a, manager_set(m, own), &diff->removed);
    manager_put(own, fieldset_union(m->a, &left, &diff->changed));
    if (keep && !fieldset_is_empty(&own->set))
        memo_fields_of(own, &key);
}

static void own_update(struct managers *m, struct manager *own, const struct typed_diff *diff)
{
    jval fields = jgetc(own->entry, "fieldsV1");
    if (own->changed || !fieldset_is_within(&diff->changed, fields) ||
        fieldset_overlaps(&diff->removed, fields))
        own_change(m, own, diff, fields);
    if (!fieldset_is_empty(&diff->changed))
        manager_stamp(m, own);
}

static void managers_update(struct managers *m, jval before, const struct doc *new, str name)
{
    jval after = doc_root(new);
    struct typed_diff diff =
        typed_compare(m->a, m->kind, before, after, ignored_member(m->kind, m->subresource));
    diff.changed = without_system(m->a, &diff.changed);
    if (fieldset_is_empty(&diff.changed) && fieldset_is_empty(&diff.removed))
        return;
    struct manager *own = fieldset_is_empty(&diff.changed)
                              ? managers_find(m, name, STR("Update"), m->subresource)
                              : managers_need(m, name, STR("Update"), m->subresource);
    managers_take(m, &diff, new, own);
    if (own)
        own_update(m, own, &diff);
}

/* [] or [{}] from a client: forget who owned what. */
static bool is_reset(jval list)
{
    return jtype(list) == J_ARRAY &&
           (jlen(list) == 0 ||
            (jlen(list) == 1 && jtype(jat(list, 0)) == J_OBJECT && jlen(jat(list, 0)) == 0));
}

/* The entries to start from: the client's own list when it changed it, else the live ones. */
static void managers_load_update(struct managers *m, jval was, jval given)
{
    if (!m->subresource.len) {
        if (is_reset(given))
            return;
        bool edited = jlen(given) && !str_eq(jtext(was), jtext(given));
        if (edited && managers_load(m, given, true))
            return;
    }
    if (j_has(was) && str_eq(jtext(was), jtext(given)))
        was = given;
    managers_load(m, was, false);
}

/* A new object has one owner, and what it owns depends on the object's structure only. */
static void managers_create(struct managers *m, const struct doc *new, str name)
{
    struct memo_key key;
    bool keep =
        memo_structure(m->kind, doc_root(new), ignored_member(m->kind, m->subresource), &key);
    str fields = keep ? memo_get_fields(m->a, &key) : STR_NONE;
    if (fields.len) {
        struct manager *own = managers_need(m, name, STR("Update"), m->subresource);
        own->fields = fields;
        manager_stamp(m, own);
    } else {
        managers_update(m, JVAL_ABSENT, new, name);
        if (keep && m->list.len)
            memo_fields_of(&m->list.p[0], &key);
    }
}

bool managed_update_edit(const struct kind *k, const struct doc *old, const struct doc *new,
                         str manager, str subresource, usec now,
                         const struct managed_versions *versions, struct edit *e)
{
    struct arena a = ARENA_INIT;
    struct managers m;
    jval before = old ? doc_root(old) : JVAL_ABSENT, after = doc_root(new);
    managers_init(&m, &a, k, subresource, now);
    m.versions = versions;
    m.old = old;
    managers_load_update(&m, jpath(before, "metadata.managedFields"),
                         jpath(after, "metadata.managedFields"));
    /* An object whose owners were forgotten stays untracked until the next apply. */
    if (!old && m.list.len == 0)
        managers_create(&m, new, manager);
    else if (m.list.len)
        managers_update(&m, before, new, manager);
    if (!m.waits)
        managers_edit(&m, new, e);
    managers_done(&m);
    arena_done(&a);
    return !m.waits;
}

struct doc *managed_update(const struct kind *k, const struct doc *old, struct doc *new,
                           str manager, str subresource, usec now)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    (void)managed_update_edit(k, old, new, manager, subresource, now, NULL, &e);
    struct doc *out = edited(&e, new);
    arena_done(&a);
    return out;
}

/* ---- apply: conflicts ---- */

struct conflicts {
    struct arena *a;
    struct status *status;
    struct strbuf text; /* the lines of several conflicts */
    str who;            /* of the manager at hand */
    str first;          /* path of the first conflict */
    size_t n;
};

static void conflict_add(void *ctx, str path)
{
    struct conflicts *c = ctx;
    if (c->n++ >= MAX_CAUSES)
        return;
    str field = arena_str(c->a, path);
    if (!c->first.len)
        c->first = field;
    strbuf_printf(&c->text, "\n- %.*s", STR_ARG(path));
    status_add_cause(c->a, c->status, "FieldManagerConflict",
                     arena_printf(c->a, "conflict with %.*s", STR_ARG(c->who)), field);
}

/* "m1", "ctl" with subresource "status", "kubectl" using apps/v1 */
static str manager_shown(struct arena *a, const struct manager *x)
{
    struct strbuf b = STRBUF_INIT(4096);
    json_quote(&b, x->name);
    if (x->subresource.len)
        write_member(&b, " with subresource ", x->subresource);
    if (str_is(x->operation, "Update"))
        strbuf_printf(&b, " using %.*s", STR_ARG(x->api_version));
    str out = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

static int cmp_conflicting(const void *p, const void *q)
{
    const struct manager *x = *(const struct manager *const *)p;
    const struct manager *y = *(const struct manager *const *)q;
    int order = str_cmp(x->name, y->name);
    return order ? order : cmp_managers(x, y);
}

/* The 409 for these managers, whose sets are what they are in conflict about. */
static struct status *conflict_status(struct arena *a, struct manager **who, size_t n)
{
    struct conflicts c = {
        .a = a,
        .status = status_new(a, 409, "Conflict", "%s", ""),
        .text = STRBUF_INIT(TEXT_MAX),
    };
    qsort(who, n, sizeof(*who), cmp_conflicting);
    for (size_t i = 0; i < n; i++) {
        c.who = manager_shown(a, who[i]);
        strbuf_printf(&c.text, "%sconflicts with %.*s:", i ? "\n" : "", STR_ARG(c.who));
        fieldset_each_path(&who[i]->set, conflict_add, &c);
    }
    if (c.n == 1)
        c.status->message =
            arena_printf(a, "Apply failed with 1 conflict: conflict with %.*s: %.*s",
                         STR_ARG(c.who), STR_ARG(c.first));
    else
        c.status->message = arena_printf(a, "Apply failed with %zu conflicts: %.*s", c.n,
                                         STR_ARG(strbuf_str(&c.text)));
    strbuf_done(&c.text);
    return c.status;
}

/* What others own of `changed`, as managers with just that; `allowed` is not counted. */
static struct status *find_conflicts(struct managers *m, const struct manager *own,
                                     const struct doc *new, const struct fieldset *main_changed,
                                     const struct fieldset *allowed, struct arena *result)
{
    struct manager **who = arena_array(m->a, struct manager *, m->list.len);
    size_t n = 0;
    for (size_t i = 0; i < m->list.len; i++) {
        struct manager *x = &m->list.p[i];
        const struct fieldset *changed = main_changed;
        struct typed_diff theirs;
        if (x != own && is_of_other_version(m, x)) {
            if (!version_diff(m, x, new, &theirs))
                continue;
            changed = &theirs.changed;
        }
        if (x == own || !manager_overlaps(x, changed, m->a))
            continue;
        struct manager *c = arena_new(m->a, struct manager);
        *c = *x;
        c->set = fieldset_intersection(m->a, manager_set(m, x), changed);
        c->set = fieldset_difference(m->a, &c->set, allowed);
        if (!fieldset_is_empty(&c->set))
            who[n++] = c;
    }
    return n ? conflict_status(result, who, n) : NULL;
}

/* ---- apply: kubectl's move from client-side apply ---- */

static jval last_applied_of(jval object)
{
    return jget(jpath(object, "metadata.annotations"), STR(LAST_APPLIED));
}

/* What client-side apply wrote last and is still so: kubectl may take that over from anyone. */
static struct fieldset still_as_applied(struct managers *m, jval live)
{
    struct doc *last = doc_hold(m->a, doc_parse(jstr(last_applied_of(live)), NULL, NULL));
    jval root = last ? doc_root(last) : JVAL_ABSENT;
    if (!last || !str_eq(jstr(jgetc(root, "apiVersion")), m->api_version))
        return FIELDSET_EMPTY;
    struct fieldset set = typed_set(m->a, m->kind, root);
    struct typed_diff diff = typed_compare(m->a, m->kind, root, live, STR_NONE);
    set = fieldset_difference(m->a, &set, &diff.changed);
    return fieldset_difference(m->a, &set, &diff.removed);
}

/* The configuration as the annotation keeps it: without the annotation itself, keys sorted. */
static str as_last_applied(struct managers *m, jval config)
{
    struct mnode *root = mnode_leaf(m->a, config);
    struct mnode *meta = mnode_get(m->a, root, STR("metadata"));
    struct mnode *notes = meta ? mnode_get(m->a, meta, STR("annotations")) : NULL;
    if (notes)
        (void)mnode_del(m->a, notes, STR(LAST_APPLIED));
    struct doc *clean = doc_hold(m->a, mnode_doc(root, jtext(config).len, 0, NULL));
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    if (clean)
        jcanonical(doc_root(clean), false, &b);
    strbuf_add_char(&b, '\n');
    str out = clean && !b.overflow ? arena_str(m->a, strbuf_str(&b)) : STR_NONE;
    strbuf_done(&b);
    return out;
}

/* The annotation follows what kubectl applies on the server, so that both ways agree. Takes over d.
 */
static struct doc *sync_last_applied(struct managers *m, struct doc *d, jval config)
{
    str was = jstr(last_applied_of(doc_root(d)));
    str is = was.len ? as_last_applied(m, config) : STR_NONE;
    if (!is.len || str_eq(was, is))
        return d;
    struct edit e;
    edit_init(&e, m->a);
    edit_set_str(&e, edit_path(m->a, STR("metadata"), STR("annotations"), STR(LAST_APPLIED)), is);
    struct doc *out = edit_apply(&e, d, NULL);
    edit_done(&e);
    if (!out)
        return d;
    doc_unref(d);
    return out;
}

/* ---- apply ---- */

/* The part of a configuration that counts: of a status only the status, and never what the server
 * itself says in metadata. */
static struct doc *config_part(struct arena *a, const struct kind *k, jval config, str subresource)
{
    struct mnode *root = mnode_leaf(a, config), *meta = mnode_get(a, root, STR("metadata"));
    if (str_is(subresource, "status")) {
        struct mnode *status = mnode_get(a, root, STR("status"));
        root = mnode_object(a);
        if (status)
            mnode_set(a, root, STR("status"), status);
        return mnode_doc(root, jtext(config).len, 0, NULL);
    }
    if (kind_is(k, KIND_STATUS))
        (void)mnode_del(a, root, STR("status"));
    for (size_t i = 0; meta && i < ARRAY_LEN(system_metadata); i++)
        if (!str_is(system_metadata[i], "name") && !str_is(system_metadata[i], "namespace"))
            (void)mnode_del(a, meta, system_metadata[i]);
    return mnode_doc(root, jtext(config).len, 0, NULL);
}

static struct status *bad_config(struct arena *a, const struct kind *k, jval config, str why)
{
    jval meta = jgetc(config, "metadata");
    return status_internal(
        a, "failed to create typed patch object (%.*s/%.*s; %s/%s, Kind=%s): %.*s",
        STR_ARG(jstr(jgetc(meta, "namespace"))), STR_ARG(jstr(jgetc(meta, "name"))), k->group,
        k->version, k->kind, STR_ARG(why));
}

struct apply {
    struct managers m;
    const struct doc *live;
    jval before; /* root of live, or absent */
    jval config; /* as the client sent it */
    str manager;
    bool force;
    struct arena *result;
    struct edit *edit; /* of the result */
    struct status *status;
};

static struct fieldset union_with(struct managers *m, const struct fieldset *all, struct manager *x)
{
    struct fieldset set = set_in_this_version(m, x);
    return fieldset_union(m->a, all, &set);
}

/* Everything that somebody owns once the configuration has this set. The metadata itself is the
 * server's, whoever owns what is in it. */
static struct fieldset all_owned(struct managers *m, const struct manager *own,
                                 const struct fieldset *set)
{
    struct fieldset meta = {.tag = 'f', .member = true, .name = STR("metadata")};
    struct fieldset server = {.kids = &meta, .n_kids = 1};
    struct fieldset all = fieldset_union(m->a, set, &server);
    for (size_t i = 0; i < m->list.len; i++)
        if (&m->list.p[i] != own)
            all = union_with(m, &all, &m->list.p[i]);
    return all;
}

/* Live object and configuration merged, without what the manager applied before and nobody owns any
 * more. */
static struct doc *apply_config(struct apply *p, struct manager *own, jval part,
                                const struct fieldset *set, struct err *err)
{
    struct managers *m = &p->m;
    struct doc *merged = typed_merge(m->a, m->kind, p->before, part, err);
    struct fieldset last = own ? set_in_this_version(m, own) : FIELDSET_EMPTY;
    struct fieldset left = m->versions ? fieldset_difference(m->a, &last, set) : last;
    if (!merged || fieldset_is_empty(&left))
        return merged;
    struct fieldset owned = all_owned(m, own, set);
    struct doc *pruned = typed_prune(m->a, m->kind, merged, &last, &owned, err);
    doc_unref(merged);
    return pruned;
}

/* The others give up what changed; without force that is a conflict. */
static bool apply_take(struct apply *p, struct manager *own, const struct doc *result)
{
    struct managers *m = &p->m;
    struct typed_diff diff = typed_compare(m->a, m->kind, p->before, doc_root(result),
                                           ignored_member(m->kind, m->subresource));
    if (!p->force) {
        struct fieldset allowed = FIELDSET_EMPTY;
        if (str_is(p->manager, "kubectl") && p->live)
            allowed = still_as_applied(m, p->before);
        p->status = find_conflicts(m, own, result, &diff.changed, &allowed, p->result);
        if (m->waits)
            p->status = NULL;
        if (p->status || m->waits)
            return false;
    }
    managers_take(m, &diff, result, own);
    return !m->waits;
}

/* The new object, its managers as an edit; NULL and a status on conflict. Takes over result. */
static struct doc *apply_finish(struct apply *p, const struct fieldset *set, struct doc *result)
{
    struct managers *m = &p->m;
    bool same = p->live && jequal(p->before, doc_root(result));
    if (same) {
        doc_unref(result);
        result = doc_ref(p->live);
    }
    struct manager *own = managers_need(m, p->manager, STR("Apply"), m->subresource);
    if (!apply_take(p, own, result)) {
        doc_unref(result);
        return NULL;
    }
    if (!fieldset_equal(set, manager_set(m, own)) || is_of_other_version(m, own))
        manager_put(own, *set);
    if (!same || own->changed)
        manager_stamp(m, own);
    if (str_is(p->manager, "kubectl"))
        result = sync_last_applied(m, result, p->config);
    managers_edit(m, result, p->edit);
    return result;
}

/* An object that nobody tracked so far belongs to "before-first-apply". */
static void track_before_apply(struct apply *p)
{
    if (p->live && p->m.list.len == 0)
        managers_update(&p->m, JVAL_ABSENT, p->live, STR("before-first-apply"));
}

static struct doc *apply_run(struct apply *p)
{
    struct managers *m = &p->m;
    str wrong = typed_check(m->a, m->kind, p->config);
    struct doc *part =
        wrong.len ? NULL : doc_hold(m->a, config_part(m->a, m->kind, p->config, m->subresource));
    if (!part) {
        p->status = bad_config(p->result, m->kind, p->config,
                               wrong.len ? wrong : STR("the object is too large"));
        return NULL;
    }
    managers_load(m, jpath(p->before, "metadata.managedFields"), false);
    track_before_apply(p);
    struct fieldset set = typed_set(m->a, m->kind, doc_root(part));
    set = without_system(m->a, &set);
    struct err err = ERR_INIT;
    struct doc *result = apply_config(p, managers_find(m, p->manager, STR("Apply"), m->subresource),
                                      doc_root(part), &set, &err);
    if (!result) {
        p->status = bad_config(p->result, m->kind, p->config, str_of(err.message));
        return NULL;
    }
    if (m->waits) {
        doc_unref(result);
        return NULL;
    }
    return apply_finish(p, &set, result);
}

struct doc *managed_apply_edit(const struct kind *k, const struct doc *live, struct doc *config,
                               str manager, str subresource, bool force, usec now,
                               const struct managed_versions *versions, struct arena *a,
                               struct edit *e, struct status **ret_status)
{
    struct arena scratch = ARENA_INIT;
    struct apply p = {
        .live = live,
        .before = live ? doc_root(live) : JVAL_ABSENT,
        .config = doc_root(config),
        .manager = manager,
        .force = force,
        .result = a,
        .edit = e,
    };
    managers_init(&p.m, &scratch, k, subresource, now);
    p.m.versions = versions;
    p.m.old = live;
    struct doc *out = apply_run(&p);
    managers_done(&p.m);
    arena_done(&scratch);
    if (!out)
        *ret_status = p.status;
    return out;
}

struct doc *managed_apply(const struct kind *k, const struct doc *live, struct doc *config,
                          str manager, str subresource, bool force, usec now, struct arena *a,
                          struct status **ret_status)
{
    struct edit e;
    edit_init(&e, a);
    struct doc *d = managed_apply_edit(k, live, config, manager, subresource, force, now, NULL, a,
                                       &e, ret_status);
    if (!d) {
        edit_done(&e);
        return NULL;
    }
    struct doc *out = edited(&e, d);
    doc_unref(d);
    return out;
}
