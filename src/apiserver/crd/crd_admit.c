/*
 * Admission of CustomResourceDefinitions: names that follow from others, the status a new one has,
 * and what is refused, in kube-apiserver's words. (Schemas: crd_schema.c.)
 */
#include "apiserver/admission/admit_impl.h"
#include "apiserver/crd.h"
#include "apiserver/crd/conversion.h"
#include "apiserver/request.h"
#include "base/map.h"
#include "kube/structural.h"
#include "json/jsonpath.h"
#include "json/write.h"

/* ---- what follows ---- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
}

void crd_default(const struct admit *a, jval root, struct edit *e)
{
    jval names = jpath(root, "spec.names");
    str kind = jstr(jgetc(names, "kind"));
    if (!kind.len)
        return;
    if (str_is_empty(jstr(jgetc(names, "singular")))) {
        str singular = arena_str(a->arena, kind);
        for (char *p = (char *)singular.p; *p; p++)
            *p = lower(*p);
        edit_set_str(e, STR("/spec/names/singular"), singular);
    }
    if (str_is_empty(jstr(jgetc(names, "listKind"))))
        edit_set_str(e, STR("/spec/names/listKind"),
                     arena_printf(a->arena, "%.*sList", STR_ARG(kind)));
}

static bool list_has(jval list, str s)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (str_eq(jstr(it.value), s))
            return true;
    return false;
}

/* The list with one more string in it. */
static void append(struct edit *e, const char *path, jval list, str s)
{
    struct jw w;
    jw_init(&w);
    jw_array(&w);
    for (struct jiter it = jiter(list); jnext(&it);)
        jw_val(&w, it.value);
    jw_str(&w, s);
    jw_end(&w);
    edit_set_raw(e, str_of(path), strbuf_str(&w.out));
    jw_done(&w);
}

void crd_mutate(const struct admit *a, jval root, struct edit *e)
{
    str storage = jstr(jgetc(crd_storage_version(root), "name"));
    jval finalizers = jpath(root, "metadata.finalizers");
    if (!a->old) {
        edit_set_raw(e, STR("/status"),
                     STR("{\"conditions\":null,\"acceptedNames\":{\"plural\":\"\",\"kind\":\"\"},"
                         "\"storedVersions\":[]}"));
        append(e, "/status/storedVersions", JVAL_ABSENT, storage);
    } else {
        jval stored = jpath(root, "status.storedVersions");
        if (storage.len && !list_has(stored, storage))
            append(e, "/status/storedVersions", stored, storage);
    }
    bool going = a->old && a->old->deleting;
    if (!going && !crd_is_builtin(root) && !list_has(finalizers, STR(CRD_FINALIZER)))
        append(e, "/metadata/finalizers", finalizers, STR(CRD_FINALIZER));
}

/* ---- what is refused ---- */

static void refuse(const struct admit *a, enum field_error_type type, str field, jval value,
                   const char *why)
{
    field_error_add(a->errors, type, field, j_is_absent(value) ? STR("\"\"") : jtext(value), "%s",
                    why);
}

static void require(const struct admit *a, str field, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_REQUIRED, field, STR_NONE, "%s", why);
}

#define DNS1035                                                                                  \
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an " \
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "         \
    "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"

static void validate_group(const struct admit *a, jval root)
{
    jval group = jpath(root, "spec.group");
    str s = jstr(group);
    bool is_protected = str_is(s, "k8s.io") || str_ends(s, STR(".k8s.io")) ||
                        str_is(s, "kubernetes.io") || str_ends(s, STR(".kubernetes.io"));
    if (!s.len)
        require(a, STR("spec.group"), "");
    else if (!str_is_dns1123_subdomain(s))
        refuse(a, FIELD_ERR_INVALID, STR("spec.group"), group,
               "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, "
               "'-' or '.', and must start and end with an alphanumeric character (e.g. "
               "'example.com', regex used for validation is "
               "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')");
    else if (str_find_char(s, '.') < 0)
        refuse(a, FIELD_ERR_INVALID, STR("spec.group"), group,
               "should be a domain with at least one dot");
    if (is_protected && str_is_empty(jstr(jget(jpath(root, "metadata.annotations"),
                                               STR("api-approved.kubernetes.io")))))
        require(a, STR("metadata.annotations[api-approved.kubernetes.io]"),
                "protected groups must have approval annotation \"api-approved.kubernetes.io\", "
                "see https://github.com/kubernetes/enhancements/pull/1111");
}

static void validate_word(const struct admit *a, str field, jval word)
{
    if (!str_is_dns1035_label(jstr(word)))
        refuse(a, FIELD_ERR_INVALID, field, word, DNS1035);
}

static void validate_kind_word(const struct admit *a, str field, jval word)
{
    str copy = arena_str(a->arena, jstr(word));
    for (char *p = (char *)copy.p; p && *p; p++)
        *p = lower(*p);
    if (!str_is_dns1035_label(copy))
        refuse(a, FIELD_ERR_INVALID, field, word,
               "may have mixed case, but should otherwise match: " DNS1035);
}

static void validate_names(const struct admit *a, jval root)
{
    jval names = jpath(root, "spec.names"), plural = jgetc(names, "plural");
    jval kind = jgetc(names, "kind"), list = jgetc(names, "listKind");
    str want = arena_printf(a->arena, "%.*s.%.*s", STR_ARG(jstr(plural)),
                            STR_ARG(jstr(jpath(root, "spec.group"))));
    if (!str_eq(a->name, want))
        refuse(a, FIELD_ERR_INVALID, STR("metadata.name"), jpath(root, "metadata.name"),
               "must be spec.names.plural+\".\"+spec.group");
    if (jstr(plural).len)
        validate_word(a, STR("spec.names.plural"), plural);
    if (jstr(jgetc(names, "singular")).len)
        validate_word(a, STR("spec.names.singular"), jgetc(names, "singular"));
    if (jstr(kind).len)
        validate_kind_word(a, STR("spec.names.kind"), kind);
    if (jstr(list).len)
        validate_kind_word(a, STR("spec.names.listKind"), list);
    for (struct jiter it = jiter(jgetc(names, "shortNames")); jnext(&it);)
        validate_word(a, admit_path(a, "spec.names.shortNames[%zu]", it.index), it.value);
    for (struct jiter it = jiter(jgetc(names, "categories")); jnext(&it);)
        validate_word(a, admit_path(a, "spec.names.categories[%zu]", it.index), it.value);
    if (jstr(kind).len && str_eq(jstr(kind), jstr(list)))
        refuse(a, FIELD_ERR_INVALID, STR("spec.names.listKind"), list,
               "kind and listKind may not be the same");
}

/* ---- versions ---- */

static void validate_scale(const struct admit *a, jval scale, str path)
{
    static const struct {
        const char *member, *below, *why;
    } paths[] = {
        {"specReplicasPath", ".spec.", "should be a json path under .spec"},
        {"statusReplicasPath", ".status.", "should be a json path under .status"},
        {"labelSelectorPath", NULL, "should be a json path under either .spec or .status"},
    };
    for (size_t i = 0; i < ARRAY_LEN(paths); i++) {
        jval v = jget(scale, str_of(paths[i].member));
        str s = jstr(v);
        str field = admit_path(a, "%.*s.scale.%s", STR_ARG(path), paths[i].member);
        bool simple = !memchr(s.p ? s.p : "", '[', s.len) && str_find(s, STR("..")) < 0;
        if (!s.len && paths[i].below)
            require(a, field, "");
        else if (s.len && !(simple && (paths[i].below ? str_starts(s, str_of(paths[i].below))
                                                      : str_starts(s, STR(".spec.")) ||
                                                            str_starts(s, STR(".status.")))))
            refuse(a, FIELD_ERR_INVALID, field, v, paths[i].why);
    }
}

static void validate_column(const struct admit *a, jval column, str path)
{
    static const char *const types[] = {"boolean", "date", "integer", "number", "string"};
    jval type = jgetc(column, "type"), jpath_ = jgetc(column, "jsonPath");
    bool known = false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        known |= str_is(jstr(type), types[i]);
    if (jstr(type).len && !known)
        refuse(a, FIELD_ERR_INVALID, admit_path(a, "%.*s.type", STR_ARG(path)), type,
               "must be one of boolean,date,integer,number,string");
    if (!jstr(jpath_).len)
        return;
    struct err err = ERR_INIT;
    struct jsonpath *p = jstr(jpath_).p[0] == '.' ? jsonpath_compile(jstr(jpath_), &err) : NULL;
    if (!p)
        refuse(a, FIELD_ERR_INVALID, admit_path(a, "%.*s.jsonPath", STR_ARG(path)), jpath_,
               "must be a simple json path starting with .");
    jsonpath_free(p);
}

/* The schema of what ".spec.mode" leads to; absent: it leads nowhere. */
static jval schema_at(jval schema, str path)
{
    while (path.len && j_has(schema)) {
        str key = str_cut(&path, '.');
        schema = jget(jgetc(schema, "properties"), key);
    }
    return schema;
}

static const char *why_not_selectable(jval schema, str path)
{
    static const char *const types[] = {"string", "boolean", "integer"};
    if (!str_starts(path, STR(".")) || path.len < 2 || memchr(path.p, '[', path.len) ||
        memchr(path.p, ',', path.len))
        return "is an invalid path: must be a simple json path";
    if (str_is(path, ".metadata") || str_starts(path, STR(".metadata.")))
        return "must not point to fields in metadata";
    jval at = schema_at(schema, str_sub(path, 1, path.len));
    if (!j_has(at))
        return "is an invalid path: does not refer to a valid field";
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (str_is(jstr(jgetc(at, "type")), types[i]))
            return NULL;
    return "must point to a field of type string, boolean or integer. Enum string fields and "
           "strings with formats are allowed.";
}

static void validate_selectables(const struct admit *a, jval version, str path)
{
    enum { SELECTABLE_MAX = 8 };
    jval fields = jgetc(version, "selectableFields");
    jval schema = jpath(version, "schema.openAPIV3Schema");
    if (jlen(fields) > SELECTABLE_MAX) {
        field_error_add(
            a->errors, FIELD_ERR_TOO_MANY, admit_path(a, "%.*s.selectableFields", STR_ARG(path)),
            admit_path(a, "%zu", jlen(fields)), "must have at most %d items", SELECTABLE_MAX);
        return;
    }
    for (struct jiter it = jiter(fields); jnext(&it);) {
        str at = admit_path(a, "%.*s.selectableFields[%zu].jsonPath", STR_ARG(path), it.index);
        jval own = jgetc(it.value, "jsonPath");
        const char *why = why_not_selectable(schema, jstr(own));
        bool twice = false;
        for (struct jiter other = jiter(fields); jnext(&other) && other.index < it.index;)
            twice |= jequal(own, jgetc(other.value, "jsonPath"));
        if (why)
            refuse(a, FIELD_ERR_INVALID, at, own, why);
        else if (twice)
            refuse(a, FIELD_ERR_DUPLICATE, at, own, "");
    }
}

/* It becomes a header of every answer. */
static void validate_deprecation(const struct admit *a, jval version, str path)
{
    enum { WARNING_MAX = 256 };
    jval warning = jgetc(version, "deprecationWarning");
    str text = jstr(warning);
    const char *why = NULL;
    if (!j_has(warning))
        return;
    if (!j_is_true(jgetc(version, "deprecated")))
        why = "can only be set for deprecated versions";
    else if (!text.len)
        why = "cannot be empty";
    else if (text.len > WARNING_MAX)
        why = "must be <= 256 characters in length";
    for (size_t i = 0; !why && i < text.len; i++)
        if ((unsigned char)text.p[i] < 0x20 || text.p[i] == 0x7f)
            why = "must only contain printable UTF-8 characters";
    if (why)
        refuse(a, FIELD_ERR_INVALID, admit_path(a, "%.*s.deprecationWarning", STR_ARG(path)),
               warning, why);
}

static void validate_version(const struct admit *a, jval version, size_t i)
{
    str path = admit_path(a, "spec.versions[%zu]", i);
    jval sub = jgetc(version, "subresources");
    if (jstr(jgetc(version, "name")).len)
        validate_word(a, admit_path(a, "%.*s.name", STR_ARG(path)), jgetc(version, "name"));
    validate_deprecation(a, version, path);
    if (j_has(jgetc(sub, "scale")))
        validate_scale(a, jgetc(sub, "scale"), admit_path(a, "%.*s.subresources", STR_ARG(path)));
    for (struct jiter it = jiter(jgetc(version, "additionalPrinterColumns")); jnext(&it);)
        validate_column(
            a, it.value,
            admit_path(a, "%.*s.additionalPrinterColumns[%zu]", STR_ARG(path), it.index));
    validate_selectables(a, version, path);
}

/* One version's schema, or one that all have, is called the definition's. */
static void validate_schemas(const struct admit *a, jval versions)
{
    jval first = jpath(jat(versions, 0), "schema.openAPIV3Schema");
    bool shared = true;
    uint64_t pattern_work = 0;
    for (struct jiter it = jiter(versions); jnext(&it);)
        shared &= jequal(first, jpath(it.value, "schema.openAPIV3Schema"));
    for (struct jiter it = jiter(versions); jnext(&it);) {
        jval schema = jpath(it.value, "schema.openAPIV3Schema");
        if (!j_has(schema))
            require(a, admit_path(a, "spec.versions[%zu].schema.openAPIV3Schema", it.index),
                    "schemas are required");
        else if (!shared)
            crd_validate_schema(
                a, schema, admit_path(a, "spec.versions[%zu].schema.openAPIV3Schema", it.index),
                &pattern_work);
        else if (it.index == 0)
            crd_validate_schema(a, schema, STR("spec.validation.openAPIV3Schema"), &pattern_work);
    }
}

/* Each is a kind of its own to the server. */
#define MAX_VERSIONS 100

static void validate_versions(const struct admit *a, jval root)
{
    jval versions = jpath(root, "spec.versions");
    struct map seen = MAP_INIT;
    size_t storages = 0;
    bool unique = true;
    if (jlen(versions) > MAX_VERSIONS) {
        field_error_add(a->errors, FIELD_ERR_TOO_MANY, STR("spec.versions"),
                        admit_path(a, "%zu", jlen(versions)), "must have at most %d items",
                        MAX_VERSIONS);
        return;
    }
    for (struct jiter it = jiter(versions); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        storages += j_is_true(jgetc(it.value, "storage"));
        unique &= !map_put(&seen, name, &seen);
        validate_version(a, it.value, it.index);
    }
    map_done(&seen);
    if (!unique)
        refuse(a, FIELD_ERR_INVALID, STR("spec.versions"), versions,
               "must contain unique version names");
    if (storages != 1)
        refuse(a, FIELD_ERR_INVALID, STR("spec.versions"), versions,
               "must have exactly one version marked as storage version");
    validate_schemas(a, versions);
    jval stored = a->old ? jgetc(obj_status(a->old), "storedVersions") : JVAL_ABSENT;
    for (struct jiter it = jiter(stored); jnext(&it);) {
        bool found = false;
        str name = jstr(it.value);
        for (struct jiter v = jiter(versions); jnext(&v);)
            found |= str_eq(jstr(jgetc(v.value, "name")), name);
        if (!found)
            field_error_add(
                a->errors, FIELD_ERR_INVALID, admit_path(a, "status.storedVersions[%zu]", it.index),
                jtext(it.value),
                "missing from spec.versions; %.*s was previously a storage version, and must "
                "remain in spec.versions until a storage migration ensures no data remains "
                "persisted in %.*s and removes %.*s from status.storedVersions",
                STR_ARG(name), STR_ARG(name), STR_ARG(name));
    }
}

/* ---- a place for each version ---- */

static bool was_there(const struct admit *a, str version)
{
    jval versions = a->old ? jgetc(obj_spec(a->old), "versions") : JVAL_ABSENT;
    for (struct jiter it = jiter(versions); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "name")), version))
            return true;
    return false;
}

/* What was let in stays writable, also when it has no place: else it could not be deleted. */
static void validate_room(const struct admit *a, jval root)
{
    str group = jstr(jpath(root, "spec.group")), plural = jstr(jpath(root, "spec.names.plural"));
    size_t needed = 0;
    if (crd_is_builtin(root))
        return;
    for (struct jiter it = jiter(jpath(root, "spec.versions")); jnext(&it);) {
        str version = jstr(jgetc(it.value, "name"));
        needed += !was_there(a, version) && !kinds_has_place(group, version, plural);
    }
    if (needed > kinds_room())
        field_error_add(
            a->errors, FIELD_ERR_FORBIDDEN, STR("spec.versions"), STR_NONE,
            "this server has room for %zu more kinds, and these would be %zu: " CRD_NO_ROOM,
            kinds_room(), needed);
}

/* ---- names of Grove's kinds ---- */

static void refuse_name(const struct admit *a, str group, str field, jval word, bool as_kind)
{
    const struct kind *k = crd_grove_kind_named(group, jstr(word), as_kind);
    if (k)
        field_error_add(a->errors, FIELD_ERR_INVALID, field, jtext(word),
                        "is a name of %s.%s, which is built into this server: choose another",
                        k->plural, k->group);
}

static void refuse_names(const struct admit *a, str group, jval names)
{
    static const char *const words[] = {"plural", "singular", "kind", "listKind"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        refuse_name(a, group, admit_path(a, "spec.names.%s", words[i]),
                    jget(names, str_of(words[i])), i >= 2);
    for (struct jiter it = jiter(jgetc(names, "shortNames")); jnext(&it);)
        refuse_name(a, group, admit_path(a, "spec.names.shortNames[%zu]", it.index), it.value,
                    false);
}

/* Whoever installs Grove's definitions is told that they are there: Helm goes on after an
 * AlreadyExists. What was stored before stays as it is, and can be deleted. */
static void validate_not_grove(const struct admit *a, jval root)
{
    const struct kind *k = crd_grove_kind(root);
    jval spec = jgetc(root, "spec");
    if (a->user == &server_user || (a->old && jequal(obj_spec(a->old), spec)))
        return;
    if (!k) {
        if (!a->old || !jequal(jgetc(obj_spec(a->old), "names"), jgetc(spec, "names")))
            refuse_names(a, jstr(jgetc(spec, "group")), jgetc(spec, "names"));
        return;
    }
    struct status *s = status_already_exists(a->arena, a->kind, a->name);
    s->message = arena_printf(a->arena,
                              "%.*s: %s of %s is built into this server, which serves it without a "
                              "definition; leave this one out",
                              STR_ARG(s->message), k->kind, k->group);
    *a->refused = s;
}

/* ---- all of it ---- */

static void validate_immutable(const struct admit *a, jval root)
{
    static const char *const fields[] = {"spec.group", "spec.scope", "spec.names.kind",
                                         "spec.names.plural"};
    if (!a->old || !condition_is_true(jgetc(obj_status(a->old), "conditions"), STR("Established")))
        return;
    for (size_t i = 0; i < ARRAY_LEN(fields); i++)
        if (!jequal(jpath(obj_root(a->old), fields[i]), jpath(root, fields[i])))
            refuse(a, FIELD_ERR_INVALID, str_of(fields[i]), jpath(root, fields[i]),
                   "field is immutable");
}

/* The names of these two are those of kube-apiserver's internal type, in its errors too. */
#define CLIENT_CONFIG "spec.conversion.webhookClientConfig"
#define REVIEW_VERSIONS "spec.conversion.conversionReviewVersions"

static void validate_review_versions(const struct admit *a, jval conversion)
{
    jval versions = jpath(conversion, "webhook.conversionReviewVersions");
    struct map seen = MAP_INIT;
    if (!jlen(versions)) {
        if (j_has(versions)) /* else the table has said so */
            require(a, STR(REVIEW_VERSIONS), "");
        return;
    }
    for (struct jiter it = jiter(versions); jnext(&it);) {
        str field = admit_path(a, REVIEW_VERSIONS "[%zu]", it.index);
        if (map_put(&seen, jstr(it.value), &seen))
            refuse(a, FIELD_ERR_INVALID, field, it.value, "duplicate version");
        else
            validate_word(a, field, it.value);
    }
    map_done(&seen);
    if (!conversion_review_version(conversion).len)
        refuse(a, FIELD_ERR_INVALID, STR(REVIEW_VERSIONS), versions,
               "must include at least one of v1, v1beta1");
}

static void validate_conversion(const struct admit *a, jval root)
{
    jval conversion = jpath(root, "spec.conversion"), strategy = jgetc(conversion, "strategy");
    jval client = jpath(conversion, "webhook.clientConfig");
    if (str_is(jstr(strategy), "Webhook")) {
        if (j_has(client))
            hook_client_validate(a, STR(CLIENT_CONFIG), client);
        else
            require(a, STR(CLIENT_CONFIG), "required when strategy is set to Webhook");
        validate_review_versions(a, conversion);
        return;
    }
    if (jstr(strategy).len && !str_is(jstr(strategy), "None"))
        refuse(a, FIELD_ERR_NOT_SUPPORTED, STR("spec.conversion.strategy"), strategy,
               "supported values: \"None\", \"Webhook\"");
    if (j_has(client))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR(CLIENT_CONFIG), STR_NONE,
                        "should not be set when strategy is not set to Webhook");
    if (jlen(jpath(conversion, "webhook.conversionReviewVersions")))
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR(REVIEW_VERSIONS), STR_NONE,
                        "should not be set when strategy is not set to Webhook");
}

void crd_validate(const struct admit *a, jval root)
{
    jval scope = jpath(root, "spec.scope");
    validate_names(a, root);
    validate_group(a, root);
    if (jstr(scope).len && !str_is(jstr(scope), "Cluster") && !str_is(jstr(scope), "Namespaced"))
        refuse(a, FIELD_ERR_NOT_SUPPORTED, STR("spec.scope"), scope,
               "supported values: \"Cluster\", \"Namespaced\"");
    if (j_is_true(jpath(root, "spec.preserveUnknownFields")))
        refuse(a, FIELD_ERR_INVALID, STR("spec.preserveUnknownFields"),
               jpath(root, "spec.preserveUnknownFields"),
               "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
               "spec.versions[*].schema instead");
    validate_conversion(a, root);
    validate_versions(a, root);
    validate_immutable(a, root);
    validate_room(a, root);
    validate_not_grove(a, root);
}
