/*
 * The registry of kinds. It is filled once, before anything runs, and then only read: look-ups scan
 * a few dozen entries, which is cheaper than it sounds (one per request, and the first comparison
 * of lengths settles nearly all of them).
 */
#include "kube/kinds.h"

#include <strings.h>

#include "kube/builtin.h"

#define MAX_KINDS 256

static const struct kind *registry[MAX_KINDS];
static size_t registry_len;

const struct field *type_field(const struct type *t, str name)
{
    for (size_t i = 0; i < t->n_fields; i++)
        if (name.len && t->fields[i].name[0] == name.p[0] && str_is(name, t->fields[i].name))
            return &t->fields[i];
    return NULL;
}

void kinds_register(const struct kind *k)
{
    for (size_t i = 0; i < registry_len; i++) {
        if (registry[i] == k)
            return;
        BUG_ON(strcmp(registry[i]->group, k->group) == 0 &&
               strcmp(registry[i]->version, k->version) == 0 &&
               strcmp(registry[i]->plural, k->plural) == 0);
    }
    BUG_ON(registry_len == MAX_KINDS || !k->id || !k->type);
    *k->id = (uint16_t)registry_len;
    registry[registry_len++] = k;
}

void kinds_init(void)
{
    for (size_t i = 0; i < n_builtin_kinds; i++)
        kinds_register(builtin_kinds[i]);
}

size_t kinds_count(void)
{
    return registry_len;
}

const struct kind *kinds_at(size_t id)
{
    return id < registry_len ? registry[id] : NULL;
}

const struct kind *kind_by_plural(str group, str version, str plural)
{
    for (size_t i = 0; i < registry_len; i++) {
        const struct kind *k = registry[i];
        if (str_is(plural, k->plural) && str_is(group, k->group) && str_is(version, k->version))
            return k;
    }
    return NULL;
}

const struct kind *kind_by_name(str group, str version, str kind)
{
    for (size_t i = 0; i < registry_len; i++) {
        const struct kind *k = registry[i];
        if (str_is(kind, k->kind) && str_is(group, k->group) && str_is(version, k->version))
            return k;
    }
    return NULL;
}

/* ---- what people type ---- */

static bool same_word(str word, str name)
{
    return word.len == name.len && word.len > 0 && strncasecmp(word.p, name.p, word.len) == 0;
}

static bool kind_has_alias(const struct kind *k, str word)
{
    if (same_word(word, str_of(k->plural)) || same_word(word, str_of(k->singular)) ||
        same_word(word, str_of(k->kind)))
        return true;
    str rest = str_of(k->short_names);
    while (!str_is_empty(rest))
        if (same_word(word, str_cut(&rest, ',')))
            return true;
    return false;
}

/* "", "apps" or "v1.apps" behind the first dot of the word. */
static bool kind_is_in(const struct kind *k, str suffix)
{
    if (str_is_empty(suffix) || str_is(suffix, k->group))
        return true;
    str version = str_cut(&suffix, '.');
    return str_is(version, k->version) && str_is(suffix, k->group);
}

const struct kind *kind_by_alias(str word)
{
    str suffix = word, name = str_cut(&suffix, '.');

    for (size_t i = 0; i < registry_len; i++)
        if (kind_has_alias(registry[i], name) && kind_is_in(registry[i], suffix))
            return registry[i];
    return NULL;
}

/* ---- types by name ---- */

const struct type *body_type(str group, str version, str kind)
{
    const struct kind *k = kind_by_name(group, version, kind);

    if (k)
        return k->type;
    for (size_t i = 0; i < n_body_types; i++) {
        const struct body_type *b = &body_types[i];
        if (str_is(kind, b->kind) &&
            (!b->group || (str_is(group, b->group) && str_is(version, b->version))))
            return b->type;
    }
    return NULL;
}

bool type_is_custom(const struct type *t)
{
    for (size_t i = 0; i < registry_len; i++)
        if (registry[i]->type == t)
            return kind_is(registry[i], KIND_CUSTOM);
    return false;
}

/* ---- API versions ---- */

str kind_api_version(const struct kind *k, char *buf, size_t size)
{
    int n = *k->group ? snprintf(buf, size, "%s/%s", k->group, k->version)
                      : snprintf(buf, size, "%s", k->version);

    BUG_ON(n < 0 || (size_t)n >= size);
    return str_n(buf, (size_t)n);
}

void api_version_split(str api_version, str *ret_group, str *ret_version)
{
    ptrdiff_t slash = str_find_char(api_version, '/');

    *ret_group = slash < 0 ? STR("") : str_sub(api_version, 0, (size_t)slash);
    *ret_version =
        slash < 0 ? api_version : str_sub(api_version, (size_t)slash + 1, api_version.len);
}
