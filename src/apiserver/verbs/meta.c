/*
 * Metadata: which of it the server owns, how it is stamped on a version, and the rules for what a
 * client writes there. Pure functions over documents, apart from the randomness of names and UIDs,
 * which comes from the loop.
 *
 * Candidates are changed through a tree (json/mtree.h): what is not touched is copied as it is.
 */
#include "apiserver/crd.h"
#include "apiserver/request.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/uuid.h"
#include "json/mtree.h"

#define NAME_MAX_LEN 253
#define LABEL_MAX_LEN 63
#define GENERATED_PREFIX_MAX 58
#define ANNOTATIONS_MAX ((size_t)256 << 10)

/* Fields a client cannot write. */
static const char *const server_fields[] = {
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "selfLink",
};

/* ---- changing documents ---- */

static struct mnode *member_object(struct arena *a, struct mnode *root, str key)
{
    struct mnode *m = mnode_get(a, root, key);
    if (m && mnode_type(m) == J_OBJECT)
        return m;
    m = mnode_object(a);
    mnode_set(a, root, key, m);
    return m;
}

/* Sets a member to a value of another document; absent and null remove it. */
static void put(struct arena *a, struct mnode *n, str key, jval v)
{
    if (j_has(v))
        mnode_set(a, n, key, mnode_leaf(a, v));
    else
        (void)mnode_del(a, n, key);
}

static struct doc *tree_doc(const struct mnode *root, const struct doc *like)
{
    struct doc *d = mnode_doc(root, doc_text(like).len + 512, 0, NULL);
    /* Members move between documents on one level and stored ones are limited (write_steps.c):
     * neither depth nor size can break what the parser allows. */
    BUG_ON(!d);
    return d;
}

struct doc *meta_set(struct doc *d, jval set)
{
    struct arena a = ARENA_INIT;
    struct mnode *root = mnode_leaf(&a, doc_root(d));
    struct mnode *meta = member_object(&a, root, STR("metadata"));
    for (struct jiter it = jiter(set); jnext(&it);)
        put(&a, meta, it.key, it.value);
    struct doc *out = tree_doc(root, d);
    arena_done(&a);
    return out;
}

/* ---- isolation ---- */

/* What the body says of kind and version is right or nothing at all. */
static void put_identity(const struct req *q, struct arena *a, jval sent, struct mnode *root,
                         struct mnode *meta)
{
    char buf[256];
    if (!jstr(jgetc(sent, "kind")).len)
        mnode_set(a, root, STR("kind"), mnode_str(a, str_of(q->kind->kind)));
    if (!jstr(jgetc(sent, "apiVersion")).len)
        mnode_set(a, root, STR("apiVersion"),
                  mnode_str(a, kind_api_version(q->kind, buf, sizeof(buf))));
    if (q->name.len)
        mnode_set(a, meta, STR("name"), mnode_str(a, q->name));
    if (kind_is(q->kind, KIND_NAMESPACED))
        mnode_set(a, meta, STR("namespace"), mnode_str(a, q->r->ns));
    else
        (void)mnode_del(a, meta, STR("namespace"));
}

/* Nodes are registered together with their state; every other kind starts without one. */
static bool creates_with_status(const struct kind *k)
{
    return !kind_is(k, KIND_STATUS) || k == &kind_node;
}

/* Says what it is: nothing is to be put in by put_identity. */
static bool has_identity(const struct req *q, jval root, jval meta)
{
    jval ns = jgetc(meta, "namespace");
    bool placed = kind_is(q->kind, KIND_NAMESPACED) ? str_eq(jstr(ns), q->r->ns) : j_is_absent(ns);
    return placed && jstr(jgetc(root, "kind")).len && jstr(jgetc(root, "apiVersion")).len &&
           str_eq(jstr(jgetc(meta, "name")), q->name);
}

/* Says all that it must and nothing that it may not. */
static bool is_isolated(const struct req *q, jval root)
{
    jval meta = jgetc(root, "metadata");
    if (jtype(meta) != J_OBJECT || !has_identity(q, root, meta))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(server_fields); i++)
        if (!j_is_absent(jget(meta, str_of(server_fields[i]))))
            return false;
    return creates_with_status(q->kind) || j_is_absent(jgetc(root, "status"));
}

static struct doc *isolate_create(const struct req *q, struct arena *a, struct doc *d)
{
    if (is_isolated(q, doc_root(d)))
        return doc_ref(d);
    struct mnode *root = mnode_leaf(a, doc_root(d));
    struct mnode *meta = member_object(a, root, STR("metadata"));
    for (size_t i = 0; i < ARRAY_LEN(server_fields); i++)
        (void)mnode_del(a, meta, str_of(server_fields[i]));
    if (!creates_with_status(q->kind))
        (void)mnode_del(a, root, STR("status"));
    put_identity(q, a, doc_root(d), root, meta);
    return tree_doc(root, d);
}

/* Both absent or the same bytes; a null is nothing that stays. */
static bool same_text(jval a, jval b)
{
    return j_is_absent(a) == j_is_absent(b) && !j_is_null(a) && str_eq(jtext(a), jtext(b));
}

/* A patch mostly leaves alone what it may not change: then the candidate is what it must be. */
static bool is_isolated_main(const struct req *q, jval root)
{
    jval meta = jgetc(root, "metadata"), base = q->base->meta;
    if (jtype(meta) != J_OBJECT || !has_identity(q, root, meta) ||
        !jlen(jgetc(meta, "managedFields")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(server_fields); i++) {
        str key = str_of(server_fields[i]);
        if (!same_text(jget(meta, key), jget(base, key)))
            return false;
    }
    return !kind_is(q->kind, KIND_STATUS) || same_text(jgetc(root, "status"), obj_status(q->base));
}

static struct doc *isolate_main(const struct req *q, struct arena *a, struct doc *d)
{
    if (is_isolated_main(q, doc_root(d)))
        return doc_ref(d);
    struct mnode *root = mnode_leaf(a, doc_root(d));
    struct mnode *meta = member_object(a, root, STR("metadata"));
    for (size_t i = 0; i < ARRAY_LEN(server_fields); i++) {
        str key = str_of(server_fields[i]);
        put(a, meta, key, jget(q->base->meta, key));
    }
    if (kind_is(q->kind, KIND_STATUS))
        put(a, root, STR("status"), obj_status(q->base));
    bool applied = q->r->verb == API_PATCH && q->r->patch == API_PATCH_APPLY;
    if (!applied && !jlen(jpath(doc_root(d), "metadata.managedFields")))
        put(a, meta, STR("managedFields"), jgetc(q->base->meta, "managedFields"));
    put_identity(q, a, doc_root(d), root, meta);
    return tree_doc(root, d);
}

/* The same members in the same order with the same text, but for this one, which `new` has and
 * `old` may have. */
static bool is_same_but(jval old, jval new, str but, bool (*same)(str key, jval old, jval new))
{
    struct jiter x = jiter(old), y = jiter(new);
    bool more = jnext(&x);
    while (jnext(&y)) {
        bool both = more && str_eq(x.key, y.key);
        if (str_eq(y.key, but) ? !j_has(y.value) : !both || !same(y.key, x.value, y.value))
            return false;
        if (both)
            more = jnext(&x);
    }
    return !more;
}

static bool same_member(str key, jval old, jval new)
{
    (void)key;
    return same_text(old, new);
}

/* Fields may have other owners. */
static bool same_part(str key, jval old, jval new)
{
    return same_text(old, new) || (str_is(key, "metadata") && jlen(jgetc(new, "managedFields")) &&
                                   is_same_but(old, new, STR("managedFields"), same_member));
}

/* The stored object with another status and nothing else. */
static bool is_isolated_status(const struct req *q, jval root)
{
    return is_same_but(obj_root(q->base), root, STR("status"), same_part);
}

/* Custom resources take nothing but the status here; built-in kinds also annotations and
 * finalizers. */
static struct doc *isolate_status(const struct req *q, struct arena *a, struct doc *d)
{
    if (is_isolated_status(q, doc_root(d)))
        return doc_ref(d);
    struct mnode *root = mnode_leaf(a, obj_root(q->base));
    struct mnode *meta = member_object(a, root, STR("metadata"));
    jval sent = jgetc(doc_root(d), "metadata");
    put(a, root, STR("status"), jgetc(doc_root(d), "status"));
    if (jlen(jgetc(sent, "managedFields")))
        put(a, meta, STR("managedFields"), jgetc(sent, "managedFields"));
    if (!kind_is(q->kind, KIND_CUSTOM)) {
        put(a, meta, STR("annotations"), jgetc(sent, "annotations"));
        put(a, meta, STR("finalizers"), jgetc(sent, "finalizers"));
    }
    return tree_doc(root, q->base->doc);
}

static void put_resources(struct arena *a, struct mnode *spec, const char *list, jval sent)
{
    struct mnode *containers = mnode_get(a, spec, str_of(list));
    for (struct jiter it = jiter(jget(sent, str_of(list))); containers && jnext(&it);) {
        struct mnode *c = mnode_at(a, containers, it.index);
        if (!c || mnode_type(c) != J_OBJECT)
            continue;
        put(a, c, STR("resources"), jgetc(it.value, "resources"));
        put(a, c, STR("resizePolicy"), jgetc(it.value, "resizePolicy"));
    }
}

/* Subresources of pods that are one part of the spec. */
static struct doc *isolate_part(const struct req *q, struct arena *a, struct doc *d)
{
    struct mnode *root = mnode_leaf(a, obj_root(q->base));
    struct mnode *meta = member_object(a, root, STR("metadata"));
    struct mnode *spec = member_object(a, root, STR("spec"));
    jval sent = jgetc(doc_root(d), "spec");
    jval managed = jpath(doc_root(d), "metadata.managedFields");
    if (jlen(managed))
        put(a, meta, STR("managedFields"), managed);
    if (str_is(q->r->subresource, "resize")) {
        put_resources(a, spec, "containers", sent);
        put_resources(a, spec, "initContainers", sent);
    } else {
        put(a, spec, STR("ephemeralContainers"), jgetc(sent, "ephemeralContainers"));
    }
    return tree_doc(root, q->base->doc);
}

static bool is_part(str subresource)
{
    return str_is(subresource, "ephemeralcontainers") || str_is(subresource, "resize");
}

static bool is_of_status(str subresource)
{
    return str_is(subresource, "status") || str_is(subresource, "approval");
}

struct doc *meta_isolate(const struct req *q, struct doc *d)
{
    struct arena a = ARENA_INIT;
    struct doc *out = !q->base                          ? isolate_create(q, &a, d)
                      : is_of_status(q->r->subresource) ? isolate_status(q, &a, d)
                      : is_part(q->r->subresource)      ? isolate_part(q, &a, d)
                                                        : isolate_main(q, &a, d);
    arena_done(&a);
    if (q->kind == &kind_signing_request && q->base && q->r->subresource.len) {
        struct doc *parted = signing_isolate(q, out);
        doc_unref(out);
        return parted;
    }
    return out;
}

/* ---- comparing ---- */

static bool is_one_of(str key, const char *const *names)
{
    for (; *names; names++)
        if (str_is(key, *names))
            return true;
    return false;
}

/* Same members, apart from these; the list ends with NULL. */
static bool same_except(jval a, jval b, const char *const *skip)
{
    size_t n = 0, m = 0;
    CLEANUP(jlookup_done) struct jlookup in_b = jlookup(b);
    for (struct jiter it = jiter(a); jnext(&it);) {
        if (is_one_of(it.key, skip))
            continue;
        n++;
        if (!jequal(it.value, jlookup_get(&in_b, it.key)))
            return false;
    }
    for (struct jiter it = jiter(b); jnext(&it);)
        m += !is_one_of(it.key, skip);
    return n == m;
}

static const char *const only_metadata[] = {"metadata", NULL};

static bool same_managed_fields(jval a, jval b)
{
    static const char *const skip[] = {"time", NULL};
    if (jlen(a) != jlen(b))
        return false;
    struct jiter x = jiter(a), y = jiter(b);
    while (jnext(&x) && jnext(&y))
        if (!same_except(x.value, y.value, skip))
            return false;
    return true;
}

bool meta_same_object(const struct doc *a, const struct doc *b)
{
    static const char *const skip[] = {"managedFields", "resourceVersion", NULL};
    jval x = doc_root(a), y = doc_root(b);
    jval mx = jgetc(x, "metadata"), my = jgetc(y, "metadata");
    return same_except(mx, my, skip) &&
           same_managed_fields(jgetc(mx, "managedFields"), jgetc(my, "managedFields")) &&
           same_except(x, y, only_metadata);
}

bool meta_only_collection_differs(const struct doc *a, const struct doc *b)
{
    static const char *const skip[] = {"finalizers", "managedFields", "ownerReferences",
                                       "resourceVersion", NULL};
    jval x = doc_root(a), y = doc_root(b);
    return same_except(jgetc(x, "metadata"), jgetc(y, "metadata"), skip) &&
           same_except(x, y, only_metadata);
}

static bool counts_for_generation(str key)
{
    return !str_is(key, "metadata") && !str_is(key, "status") && !str_is(key, "kind") &&
           !str_is(key, "apiVersion");
}

static bool desired_state_differs(jval a, jval b)
{
    CLEANUP(jlookup_done) struct jlookup in_a = jlookup(a);
    CLEANUP(jlookup_done) struct jlookup in_b = jlookup(b);
    for (struct jiter it = jiter(a); jnext(&it);)
        if (counts_for_generation(it.key) && !jequal(it.value, jlookup_get(&in_b, it.key)))
            return true;
    for (struct jiter it = jiter(b); jnext(&it);)
        if (counts_for_generation(it.key) && j_is_absent(jlookup_get(&in_a, it.key)))
            return true;
    return false;
}

int64_t meta_generation(const struct kind *k, const struct obj *base, const struct doc *d)
{
    if (!kind_is(k, KIND_GENERATION))
        return 0;
    if (!base)
        return 1;
    bool changed = desired_state_differs(obj_root(base), doc_root(d));
    /* Deployments count annotations too, and are the only kind that does. */
    if (k == &kind_deployment)
        changed |= !jequal(base->annotations, jpath(doc_root(d), "metadata.annotations"));
    return base->generation + changed;
}

/* ---- stamping ---- */

static void stamp_version(struct req *q, struct edit *e, uint64_t rv)
{
    edit_set_str(e, STR("/metadata/resourceVersion"), arena_uint(&q->arena, rv));
}

void meta_stamp_new(struct req *q, struct edit *e, uint64_t rv)
{
    uint8_t random[UUID_SIZE];
    char text[UUID_TEXT_LEN + 1];
    loop_random(q->server->loop, random, sizeof(random));
    uuid_format_v4(random, text);
    edit_set_str(e, STR("/metadata/uid"), str_of(text));
    if (q->kind == &kind_job)
        job_stamp(&q->arena, doc_root(q->doc), str_of(text), e);
    if (rv)
        stamp_version(q, e, rv);
    if (kind_is(q->kind, KIND_GENERATION))
        edit_set_int(e, STR("/metadata/generation"), 1);
    edit_set_str(e, STR("/metadata/creationTimestamp"),
                 time_text(&q->arena, loop_wall(q->server->loop)));
}

void meta_stamp_update(struct req *q, struct edit *e, const struct doc *d, uint64_t rv)
{
    stamp_version(q, e, rv);
    bool counts = q->ops->admits && q->base && !str_is(q->r->subresource, "status");
    int64_t generation = counts ? meta_generation(q->kind, q->base, d) : 0;
    if (generation && generation != q->base->generation)
        edit_set_int(e, STR("/metadata/generation"), generation);
}

struct doc *meta_stamp(struct req *q, struct doc *d, uint64_t rv)
{
    struct edit e;
    edit_init(&e, &q->arena);
    meta_stamp_update(q, &e, d, rv);
    struct doc *out = edit_apply(&e, d, NULL);
    BUG_ON(!out); /* metadata is an object */
    edit_done(&e);
    return out;
}

/* ---- names ---- */

str meta_generate_name(struct req *q, str prefix)
{
    enum { TRIES = 8, SUFFIX = 5 };
    str base = str_sub(prefix, 0, GENERATED_PREFIX_MAX);
    str name = STR_NONE;
    for (int i = 0; i < TRIES; i++) {
        char suffix[SUFFIX + 1] = {0};
        for (int j = 0; j < SUFFIX; j++)
            suffix[j] = hash_safe_char(loop_random_u64(q->server->loop) % HASH_SAFE_CHARS);
        name = arena_printf(&q->arena, "%.*s%s", STR_ARG(base), suffix);
        if (!store_newest(q->server->store, q->kind, q->r->ns, name))
            break;
    }
    return name;
}

enum name_rule { NAME_SUBDOMAIN, NAME_LABEL, NAME_DNS1035, NAME_PATH_SEGMENT };

static enum name_rule name_rule_of(const struct kind *k)
{
    static const struct {
        const struct kind *kind;
        enum name_rule rule;
    } rules[] = {
        {&kind_namespace, NAME_LABEL},           {&kind_service, NAME_DNS1035},
        {&kind_role, NAME_PATH_SEGMENT},         {&kind_role_binding, NAME_PATH_SEGMENT},
        {&kind_cluster_role, NAME_PATH_SEGMENT}, {&kind_cluster_role_binding, NAME_PATH_SEGMENT},
        {&kind_ip_address, NAME_PATH_SEGMENT}, /* the kind has a rule of its own */
    };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++)
        if (rules[i].kind == admit_kind(k))
            return rules[i].rule;
    return NAME_SUBDOMAIN;
}

/* Why a name breaks its rule, in the API server's words; NULL: it does not. */
static const char *name_fault(enum name_rule rule, str name)
{
    switch (rule) {
    case NAME_SUBDOMAIN:
        if (name.len > NAME_MAX_LEN)
            return "must be no more than 253 bytes";
        return str_is_dns1123_subdomain(name)
                   ? NULL
                   : "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric "
                     "characters, '-' or '.', and must start and end with an alphanumeric "
                     "character (e.g. 'example.com', regex used for validation is "
                     "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    case NAME_LABEL:
        if (name.len > LABEL_MAX_LEN)
            return "must be no more than 63 bytes";
        return str_is_dns1123_label(name)
                   ? NULL
                   : "a lowercase RFC 1123 label must consist of lower case alphanumeric "
                     "characters or '-', and must start and end with an alphanumeric character "
                     "(e.g. 'my-name',  or '123-abc', regex used for validation is "
                     "'[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
    case NAME_DNS1035:
        if (name.len > LABEL_MAX_LEN)
            return "must be no more than 63 bytes";
        return str_is_dns1035_label(name)
                   ? NULL
                   : "a DNS-1035 label must consist of lower case alphanumeric characters or '-', "
                     "start with an alphabetic character, and end with an alphanumeric character "
                     "(e.g. 'my-name',  or 'abc-123', regex used for validation is "
                     "'[a-z]([-a-z0-9]*[a-z0-9])?')";
    case NAME_PATH_SEGMENT:
        if (str_is(name, ".") || str_is(name, ".."))
            return "may not be '.' or '..'";
        if (str_find_char(name, '/') >= 0)
            return "may not contain '/'";
        return str_find_char(name, '%') >= 0 ? "may not contain '%'" : NULL;
    }
    return NULL;
}

static str quoted(struct arena *a, str s)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    json_quote(&b, s);
    str out = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

static void invalid(struct req *q, str field, str value, const char *why)
{
    field_error_add(&q->errors, FIELD_ERR_INVALID, field, quoted(&q->arena, value), "%s", why);
}

/* Judged as the name it begins, apart from a dash at its end. */
static void validate_prefix(struct req *q, str prefix)
{
    str name = prefix;
    if (name.len > 1 && name.p[name.len - 1] == '-')
        name = str_sub(name, 0, name.len - 1);
    const char *fault = name_fault(name_rule_of(q->kind), name);
    if (fault)
        invalid(q, STR("metadata.generateName"), prefix, fault);
}

static void validate_name(struct req *q, jval meta)
{
    str name = jstr(jgetc(meta, "name"));
    if (!q->base && jstr(jgetc(meta, "generateName")).len)
        validate_prefix(q, jstr(jgetc(meta, "generateName")));
    if (str_is_empty(name)) {
        field_error_add(&q->errors, FIELD_ERR_REQUIRED, STR("metadata.name"), STR_NONE,
                        "name or generateName is required");
        return;
    }
    const char *fault = name_fault(name_rule_of(q->kind), name);
    if (fault && !q->base)
        invalid(q, STR("metadata.name"), name, fault);
}

/* ---- labels, annotations, finalizers, owners ---- */

/* Objects carry the same few keys over and over: those found valid last. The loop thread's. */
static bool is_qualified_name(str key)
{
    enum { SLOTS = 256, LEN_MAX = 79 };
    static struct {
        uint8_t len;
        char text[LEN_MAX];
    } valid[SLOTS];
    if (!key.len || key.len > LEN_MAX)
        return str_is_qualified_name(key);
    size_t slot = str_hash(key, 0) % SLOTS;
    if (str_eq(key, str_n(valid[slot].text, valid[slot].len)))
        return true;
    if (!str_is_qualified_name(key))
        return false;
    valid[slot].len = (uint8_t)key.len;
    memcpy(valid[slot].text, key.p, key.len);
    return true;
}

static const char *qualified_fault(str key)
{
    if (is_qualified_name(key))
        return NULL;
    ptrdiff_t slash = str_find_char(key, '/');
    str name = slash < 0 ? key : str_sub(key, (size_t)slash + 1, key.len);
    if (slash == 0)
        return "prefix part must be non-empty";
    if (slash > 0 && !str_is_dns1123_subdomain(str_sub(key, 0, (size_t)slash)))
        return "prefix part a lowercase RFC 1123 subdomain must consist of lower case "
               "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric "
               "character (e.g. 'example.com', regex used for validation is "
               "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
    if (name.len == 0)
        return "name part must be non-empty";
    if (name.len > LABEL_MAX_LEN)
        return "name part must be no more than 63 bytes";
    return "name part must consist of alphanumeric characters, '-', '_' or '.', and must start "
           "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
           "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
}

static const char *label_value_fault(str value)
{
    if (str_is_label_value(value))
        return NULL;
    if (value.len > LABEL_MAX_LEN)
        return "must be no more than 63 bytes";
    return "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' "
           "or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or "
           "'my_value',  or '12345', regex used for validation is "
           "'(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
}

static void validate_labels(struct req *q, jval labels)
{
    for (struct jiter it = jiter(labels); jnext(&it);) {
        const char *fault = qualified_fault(it.key);
        if (fault)
            invalid(q, STR("metadata.labels"), it.key, fault);
        fault = label_value_fault(jstr(it.value));
        if (fault)
            invalid(q, STR("metadata.labels"), jstr(it.value), fault);
    }
}

static void validate_annotations(struct req *q, jval annotations)
{
    size_t total = 0;
    for (struct jiter it = jiter(annotations); jnext(&it);) {
        total += it.key.len + jstr(it.value).len;
        const char *fault = qualified_fault(it.key);
        if (fault)
            invalid(q, STR("metadata.annotations"), it.key, fault);
    }
    if (total > ANNOTATIONS_MAX)
        field_error_add(&q->errors, FIELD_ERR_TOO_LONG, STR("metadata.annotations"), STR_NONE,
                        "may not be more than %zu bytes", ANNOTATIONS_MAX);
}

str meta_strings_fault(struct arena *a, jval map, bool labels)
{
    size_t total = 0;
    for (struct jiter it = jiter(map); jnext(&it);) {
        const char *fault = qualified_fault(it.key);
        str value = jstr(it.value), wrong = it.key;
        total += it.key.len + value.len;
        if (!fault && labels) {
            fault = label_value_fault(value);
            wrong = value;
        }
        if (fault)
            return arena_printf(a, "metadata.%s: Invalid value: \"%.*s\": %s",
                                labels ? "labels" : "annotations", STR_ARG(str_sub(wrong, 0, 128)),
                                fault);
    }
    if (!labels && total > ANNOTATIONS_MAX)
        return arena_printf(a, "metadata.annotations: Too long: may not be more than %zu bytes",
                            ANNOTATIONS_MAX);
    return STR_NONE;
}

/* Names without a prefix are reserved for the ones Kubernetes itself knows. */
static bool is_finalizer_name(str f)
{
    static const char *const known[] = {"orphan", "foregroundDeletion", "kubernetes",
                                        CRD_FINALIZER};
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_is(f, known[i]))
            return true;
    return str_find_char(f, '/') > 0 && str_is_qualified_name(f);
}

/* Those of custom resources need no prefix. */
static const char *finalizer_fault(const struct kind *k, str f)
{
    if (kind_is(k, KIND_CUSTOM))
        return qualified_fault(f);
    return is_finalizer_name(f)
               ? NULL
               : "name is neither a standard finalizer name nor is it fully qualified";
}

static void validate_finalizers(struct req *q, jval finalizers)
{
    struct strbuf added = STRBUF_INIT(4096);
    for (struct jiter it = jiter(finalizers); jnext(&it);) {
        str f = jstr(it.value);
        const char *fault = finalizer_fault(q->kind, f);
        if (fault)
            invalid(q, STR("metadata.finalizers"), f, fault);
        if (q->base && q->base->deleting && !obj_has_finalizer(q->base, f)) {
            strbuf_add_cstr(&added, added.len ? ", " : "");
            json_quote(&added, f);
        }
    }
    if (added.len)
        field_error_add(&q->errors, FIELD_ERR_FORBIDDEN, STR("metadata.finalizers"), STR_NONE,
                        "no new finalizers can be added if the object is being deleted, found new "
                        "finalizers []string{%.*s}",
                        STR_ARG(strbuf_str(&added)));
    strbuf_done(&added);
}

static void validate_owners(struct req *q, jval owners)
{
    static const char *const required[] = {"apiVersion", "kind", "name", "uid"};
    size_t controllers = 0;
    for (struct jiter it = jiter(owners); jnext(&it);) {
        controllers += j_is_true(jgetc(it.value, "controller"));
        for (size_t i = 0; i < ARRAY_LEN(required); i++)
            if (str_is_empty(jstr(jget(it.value, str_of(required[i])))))
                field_error_add(&q->errors, FIELD_ERR_INVALID,
                                arena_printf(&q->arena, "metadata.ownerReferences[%zu].%s",
                                             it.index, required[i]),
                                STR("\"\""), "%s must not be empty",
                                i == 0 ? "version" : required[i]);
    }
    if (controllers > 1)
        field_error_add(&q->errors, FIELD_ERR_INVALID, STR("metadata.ownerReferences"),
                        jtext(owners), "Only one reference can have Controller set to true.");
}

/* A member of the metadata that has to be looked at; absent when it was, in this very text: what is
 * stored was judged when it came. */
static jval unjudged(jval meta, jval before, str key)
{
    jval v = jget(meta, key), old = jget(before, key);
    return j_has(v) && j_has(old) && str_eq(jtext(v), jtext(old)) ? JVAL_ABSENT : v;
}

void meta_validate(struct req *q, const struct doc *d)
{
    jval meta = jgetc(doc_root(d), "metadata");
    jval before = q->base ? jgetc(obj_root(q->base), "metadata") : JVAL_ABSENT;
    validate_name(q, meta);
    validate_labels(q, unjudged(meta, before, STR("labels")));
    validate_annotations(q, unjudged(meta, before, STR("annotations")));
    validate_finalizers(q, jgetc(meta, "finalizers"));
    validate_owners(q, unjudged(meta, before, STR("ownerReferences")));
}
