/*
 * What a CustomResourceDefinition means: the kind it defines, whether its names are free, the
 * status it ought to have. Pure functions over the definition.
 */
#include "apiserver/crd.h"
#include "kube/structural.h"

/* ---- the kind ---- */

static const char *keep(struct arena *a, jval v)
{
    str s = jstr(v);
    return s.len ? arena_str(a, s).p : NULL;
}

/* ["a","b"] as "a,b"; member: of each item, or NULL for the items themselves. */
static const char *join(struct arena *a, jval list, const char *member)
{
    struct strbuf b = STRBUF_INIT(64 << 10);
    for (struct jiter it = jiter(list); jnext(&it);) {
        str s = jstr(member ? jget(it.value, str_of(member)) : it.value);
        if (member && str_starts(s, STR(".")))
            s = str_sub(s, 1, s.len);
        strbuf_printf(&b, "%s%.*s", b.len ? "," : "", STR_ARG(s));
    }
    const char *out = b.len ? arena_str(a, strbuf_str(&b)).p : NULL;
    strbuf_done(&b);
    return out;
}

static void add_columns(struct arena *a, jval columns, struct kind *k)
{
    struct column *c = arena_array(a, struct column, jlen(columns) + 1);
    if (!jlen(columns))
        return;
    c[0] = (struct column){"Name",           "string", "name",
                           ".metadata.name", 0,        "Unique within its namespace."};
    for (struct jiter it = jiter(columns); jnext(&it);) {
        const char *format = keep(a, jgetc(it.value, "format"));
        c[it.index + 1] = (struct column){
            .name = arena_str(a, jstr(jgetc(it.value, "name"))).p,
            .type = arena_str(a, jstr(jgetc(it.value, "type"))).p,
            .format = format ? format : "",
            .path = arena_str(a, jstr(jgetc(it.value, "jsonPath"))).p,
            .priority = (int)jint(jgetc(it.value, "priority"), 0),
            .doc = keep(a, jgetc(it.value, "description")),
        };
    }
    k->columns = c;
    k->n_columns = jlen(columns) + 1;
}

static void add_subresources(struct arena *a, jval subresources, struct kind *k)
{
    jval scale = jgetc(subresources, "scale");
    if (j_has(jgetc(subresources, "status")))
        k->flags |= KIND_STATUS;
    if (!j_has(scale))
        return;
    k->flags |= KIND_SCALE;
    k->scale_spec_path = keep(a, jgetc(scale, "specReplicasPath"));
    k->scale_status_path = keep(a, jgetc(scale, "statusReplicasPath"));
    k->scale_selector_path = keep(a, jgetc(scale, "labelSelectorPath"));
}

static const char *deprecation(struct arena *a, const struct kind *k, jval version)
{
    if (!j_is_true(jgetc(version, "deprecated")))
        return NULL;
    const char *own = keep(a, jgetc(version, "deprecationWarning"));
    return own ? own : arena_printf(a, "%s/%s %s is deprecated", k->group, k->version, k->kind).p;
}

struct kind crd_kind(struct arena *a, jval crd, jval version, jval names)
{
    jval spec = jgetc(crd, "spec");
    const char *kind = arena_str(a, jstr(jpath(spec, "names.kind"))).p;
    const char *singular = keep(a, jgetc(names, "singular"));
    struct kind k = {
        .group = arena_str(a, jstr(jgetc(spec, "group"))).p,
        .version = arena_str(a, jstr(jgetc(version, "name"))).p,
        .kind = kind,
        .plural = arena_str(a, jstr(jpath(spec, "names.plural"))).p,
        .singular = singular ? singular : "",
        .short_names = join(a, jgetc(names, "shortNames"), NULL),
        .categories = join(a, jgetc(names, "categories"), NULL),
        .verbs = VERBS_ALL,
        .flags = KIND_CUSTOM | KIND_GENERATION | KIND_MUST_SEND_VERSION,
        .type = structural_type(a, jpath(version, "schema.openAPIV3Schema"), kind),
        .field_selectors = join(a, jgetc(version, "selectableFields"), "jsonPath"),
    };
    k.list_kind = keep(a, jgetc(names, "listKind"));
    k.deprecated = deprecation(a, &k, version);
    if (str_is(jstr(jpath(spec, "conversion.strategy")), "Webhook"))
        k.flags |= KIND_HOOKED;
    if (str_is(jstr(jgetc(spec, "scope")), "Namespaced"))
        k.flags |= KIND_NAMESPACED;
    if (j_has(jpath(crd, "metadata.deletionTimestamp")))
        k.verbs &= ~(unsigned)VERB_CREATE;
    add_columns(a, jgetc(version, "additionalPrinterColumns"), &k);
    add_subresources(a, jgetc(version, "subresources"), &k);
    return k;
}

/* Custom, and not defined by anybody. */
static bool is_grove_kind(const struct kind *k)
{
    return kind_is(k, KIND_CUSTOM) && !kind_is(k, KIND_DEFINED);
}

bool crd_is_builtin(jval crd)
{
    str group = jstr(jpath(crd, "spec.group")), plural = jstr(jpath(crd, "spec.names.plural"));
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (str_is(group, k->group) && str_is(plural, k->plural) && !kind_is(k, KIND_DEFINED))
            return true;
    }
    return false;
}

const struct kind *crd_grove_kind(jval crd)
{
    str group = jstr(jpath(crd, "spec.group")), plural = jstr(jpath(crd, "spec.names.plural"));
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (is_grove_kind(k) && str_is(group, k->group) && str_is(plural, k->plural))
            return k;
    }
    return NULL;
}

jval crd_storage_version(jval crd)
{
    for (struct jiter it = jiter(jpath(crd, "spec.versions")); jnext(&it);)
        if (j_is_true(jgetc(it.value, "storage")))
            return it.value;
    return JVAL_ABSENT;
}

/* ---- names ---- */

/* Whether others of the group use the word, as a resource (plural, singular, short) or a kind. */
struct words {
    str group;
    str plural; /* of the one that asks */
    const struct obj *const *others;
};

static bool names_use(jval names, str word, bool as_kind)
{
    if (as_kind)
        return str_eq(jstr(jgetc(names, "kind")), word) ||
               str_eq(jstr(jgetc(names, "listKind")), word);
    for (struct jiter it = jiter(jgetc(names, "shortNames")); jnext(&it);)
        if (str_eq(jstr(it.value), word))
            return true;
    return str_eq(jstr(jgetc(names, "plural")), word) ||
           str_eq(jstr(jgetc(names, "singular")), word);
}

static bool table_uses(const struct kind *k, str word, bool as_kind)
{
    if (as_kind)
        return str_is(word, k->kind) || (str_starts(word, str_of(k->kind)) &&
                                         str_is(str_sub(word, strlen(k->kind), word.len), "List"));
    str rest = str_of(k->short_names);
    while (rest.len)
        if (str_eq(str_cut(&rest, ','), word))
            return true;
    return str_is(word, k->plural) || str_is(word, k->singular);
}

const struct kind *crd_grove_kind_named(str group, str word, bool as_kind)
{
    for (size_t i = 0; word.len && i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (is_grove_kind(k) && str_is(group, k->group) && table_uses(k, word, as_kind))
            return k;
    }
    return NULL;
}

static bool is_in_use(const struct words *w, str word, bool as_kind)
{
    if (str_is_empty(word))
        return false;
    for (size_t i = 0; w->others[i]; i++)
        if (str_eq(jstr(jgetc(obj_spec(w->others[i]), "group")), w->group) &&
            names_use(jgetc(obj_spec(w->others[i]), "names"), word, as_kind))
            return true;
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (!kind_is(k, KIND_DEFINED) && str_is(w->group, k->group) &&
            !str_is(w->plural, k->plural) && table_uses(k, word, as_kind))
            return true;
    }
    return false;
}

struct crd_names crd_accept_names(struct arena *a, const struct obj *crd,
                                  const struct obj *const *others)
{
    jval names = jgetc(obj_spec(crd), "names");
    struct crd_names n = {.message = STR("no conflicts found")};
    struct words w = {jstr(jgetc(obj_spec(crd), "group")), jstr(jgetc(names, "plural")), others};
    const struct {
        const char *member, *reason;
        bool as_kind;
        bool *accepted;
    } checks[] = {
        {"plural", "PluralConflict", false, &n.plural},
        {"singular", "SingularConflict", false, &n.singular},
        {"kind", "KindConflict", true, &n.kind},
        {"listKind", "ListKindConflict", true, &n.list_kind},
    };
    for (struct jiter it = jiter(jgetc(names, "shortNames")); jnext(&it);) {
        if (!is_in_use(&w, jstr(it.value), false) || n.n_taken == ARRAY_LEN(n.taken))
            continue;
        n.taken[n.n_taken++] = it.value;
        n.reason = "ShortNamesConflict";
        n.message = arena_printf(a, "\"%.*s\" is already in use", STR_ARG(jstr(it.value)));
    }
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        str word = jstr(jget(names, str_of(checks[i].member)));
        *checks[i].accepted = !is_in_use(&w, word, checks[i].as_kind);
        if (*checks[i].accepted)
            continue;
        n.reason = checks[i].reason;
        n.message = arena_printf(a, "\"%.*s\" is already in use", STR_ARG(word));
    }
    return n;
}

static bool is_taken(const struct crd_names *n, jval name)
{
    for (size_t i = 0; i < n->n_taken; i++)
        if (jequal(n->taken[i], name))
            return true;
    return false;
}

void crd_put_names(struct jw *w, jval names, const struct crd_names *n)
{
    jw_object(w);
    jw_put_str(w, "plural", n->plural ? jstr(jgetc(names, "plural")) : STR(""));
    if (n->singular)
        jw_put(w, "singular", jgetc(names, "singular"));
    if (jlen(jgetc(names, "shortNames")) > n->n_taken) {
        jw_put_array(w, "shortNames");
        for (struct jiter it = jiter(jgetc(names, "shortNames")); jnext(&it);)
            if (!is_taken(n, it.value))
                jw_val(w, it.value);
        jw_end(w);
    }
    jw_put_str(w, "kind", n->kind ? jstr(jgetc(names, "kind")) : STR(""));
    if (n->list_kind)
        jw_put(w, "listKind", jgetc(names, "listKind"));
    jw_put(w, "categories", jgetc(names, "categories"));
    jw_end(w);
}

/* ---- status ---- */

static void put_condition(struct jw *w, jval had, const char *type, bool status, const char *reason,
                          str message, str now)
{
    jval before = condition_find(had, str_of(type));
    const char *value = status ? "True" : "False";
    bool same = str_is(jstr(jgetc(before, "status")), value);
    jval since = jgetc(before, "lastTransitionTime");
    jw_object(w);
    jw_put_cstr(w, "type", type);
    jw_put_cstr(w, "status", value);
    jw_put_str(w, "lastTransitionTime", same && j_has(since) ? jstr(since) : now);
    jw_put_cstr(w, "reason", reason);
    jw_put_str(w, "message", message);
    jw_end(w);
}

static void put_established(struct jw *w, jval had, const struct crd_names *n, bool established,
                            str now)
{
    const char *reason = n->no_room    ? "TooManyKinds"
                         : established ? "InitialNamesAccepted"
                                       : "NotAccepted";
    str message = n->no_room
                      ? STR("not every version is served, there are too many kinds: " CRD_NO_ROOM)
                  : established ? STR("the initial names have been accepted")
                                : STR("not all names are accepted");
    put_condition(w, had, "Established", established && !n->no_room, reason, message, now);
}

static void put_stored_versions(struct jw *w, const struct obj *crd)
{
    jval stored = jgetc(obj_status(crd), "storedVersions");
    if (jlen(stored)) {
        jw_put(w, "storedVersions", stored);
        return;
    }
    jw_put_array(w, "storedVersions");
    jw_val(w, jgetc(crd_storage_version(obj_root(crd)), "name"));
    jw_end(w);
}

struct doc *crd_status(const struct obj *crd, const struct crd_names *n, bool established,
                       bool terminating, str now)
{
    jval had = jgetc(obj_status(crd), "conditions");
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "conditions");
    put_condition(&w, had, "NamesAccepted", !n->reason, n->reason ? n->reason : "NoConflicts",
                  n->message, now);
    put_established(&w, had, n, established, now);
    if (terminating)
        put_condition(&w, had, "Terminating", true, "InstanceDeletionInProgress",
                      STR("CustomResource deletion is in progress"), now);
    jw_end(&w);
    jw_key(&w, STR("acceptedNames"));
    crd_put_names(&w, jgetc(obj_spec(crd), "names"), n);
    put_stored_versions(&w, crd);
    jw_end(&w);
    return jw_doc(&w);
}
