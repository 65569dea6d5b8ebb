/*
 * The registry of kinds. Look-ups begin where the same word was found last and scan the entries
 * when it is not there.
 *
 * A defined kind keeps its place, its name and its number for ever. What it points to lives in an
 * arena per definition; the arenas of the last two definitions are kept beside the newest, because
 * an answer on its way may still quote a name out of them.
 */
#include "kube/tables/kinds.h"

#include <strings.h>

#include "kube/tables/builtin.h"

enum { ARENAS = 3 };

struct defined {
    struct kind kind;
    uint16_t id;
    struct arena name;           /* group, version, plural: for ever */
    struct arena arenas[ARENAS]; /* newest first */
};

static const struct kind *registry[KINDS_MAX];
static size_t registry_len, registry_max = KINDS_MAX;
static uint64_t changes; /* so far */
static struct list listeners = {&listeners, &listeners};

static void changed(void)
{
    changes++;
    list_foreach (l, &listeners) {
        struct kinds_listener *k = container_of(l, struct kinds_listener, link);
        k->changed(k);
    }
}

void kinds_listen(struct kinds_listener *l)
{
    list_push_back(&listeners, &l->link);
}

void kinds_unlisten(struct kinds_listener *l)
{
    list_remove(&l->link);
}

/* Where a name was found last, by type and name: a guess, and looked at before it is believed. So
 * nothing has to be told when types come and go, and two names in one place cost only time. The
 * loop thread's. */
#define GUESSES 4096
static uint16_t guesses[GUESSES];

static size_t guess_slot(const struct type *t, str name)
{
    uint64_t ends = (uint8_t)name.p[0] | (uint64_t)(uint8_t)name.p[name.len / 2] << 8 |
                    (uint64_t)(uint8_t)name.p[name.len - 1] << 16 | (uint64_t)name.len << 24;

    return (((uintptr_t)t + ends) * 0x9e3779b97f4a7c15u) >> 52;
}

static __attribute__((noinline)) const struct field *find_field(const struct type *t, str name,
                                                                uint16_t *guess)
{
    for (size_t i = 0; i < t->n_fields; i++) {
        if (!str_eq(field_name(&t->fields[i]), name))
            continue;
        *guess = (uint16_t)MIN(i, UINT16_MAX);
        return &t->fields[i];
    }
    return NULL;
}

const struct field *type_field(const struct type *t, str name)
{
    if (!t->n_fields || !name.len)
        return NULL;
    uint16_t *guess = &guesses[guess_slot(t, name)];
    if (LIKELY(*guess < t->n_fields && str_eq(field_name(&t->fields[*guess]), name)))
        return &t->fields[*guess];
    return find_field(t, name, guess);
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
    BUG_ON(registry_len == KINDS_MAX || !k->id || !k->type);
    *k->id = (uint16_t)registry_len;
    registry[registry_len++] = k;
    changed();
}

/* ---- defined kinds ---- */

static bool same_place(const struct kind *a, const struct kind *b)
{
    return strcmp(a->group, b->group) == 0 && strcmp(a->version, b->version) == 0 &&
           strcmp(a->plural, b->plural) == 0;
}

size_t kinds_room(void)
{
    return registry_max > registry_len ? registry_max - registry_len : 0;
}

size_t kinds_limit(size_t most)
{
    size_t before = registry_max;

    registry_max = MIN(most, KINDS_MAX);
    return before;
}

bool kinds_has_place(str group, str wanted, str plural)
{
    for (size_t i = 0; i < registry_len; i++)
        if (str_is(plural, registry[i]->plural) && str_is(group, registry[i]->group) &&
            str_is(wanted, registry[i]->version))
            return true;
    return false;
}

static struct defined *defined_new(const struct kind *proto)
{
    struct defined *d = xnew(struct defined);

    d->kind.group = arena_str(&d->name, str_of(proto->group)).p;
    d->kind.version = arena_str(&d->name, str_of(proto->version)).p;
    d->kind.plural = arena_str(&d->name, str_of(proto->plural)).p;
    d->kind.id = &d->id;
    d->id = (uint16_t)registry_len;
    registry[registry_len++] = &d->kind;
    return d;
}

static void defined_set(struct defined *d, const struct kind *proto, struct arena *a)
{
    struct kind next = *proto;

    next.group = d->kind.group;
    next.version = d->kind.version;
    next.plural = d->kind.plural;
    next.id = &d->id;
    next.flags = (proto->flags | KIND_DEFINED | KIND_CUSTOM) & ~(unsigned)KIND_RETIRED;
    d->kind = next;
    arena_done(&d->arenas[ARENAS - 1]);
    memmove(&d->arenas[1], &d->arenas[0], (ARENAS - 1) * sizeof(d->arenas[0]));
    d->arenas[0] = *a;
    *a = ARENA_INIT;
}

const struct kind *kinds_define(const struct kind *proto, struct arena *a)
{
    struct defined *d = NULL;

    for (size_t i = 0; i < registry_len && !d; i++) {
        if (!same_place(registry[i], proto))
            continue;
        if (!kind_is(registry[i], KIND_DEFINED))
            return NULL;
        d = container_of(registry[i], struct defined, kind);
    }
    if (!d && !kinds_room())
        return NULL;
    if (!d)
        d = defined_new(proto);
    defined_set(d, proto, a);
    changed();
    return &d->kind;
}

void kinds_retire(const struct kind *k)
{
    BUG_ON(!kind_is(k, KIND_DEFINED));
    struct defined *d = container_of(k, struct defined, kind);

    d->kind.flags |= KIND_RETIRED;
    changed();
}

uint64_t kinds_version(void)
{
    return changes;
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

/* Where a kind was found last, by the word that names it and by its type: guesses as above. */
#define KIND_GUESSES 256
static uint16_t guesses_plural[KIND_GUESSES], guesses_name[KIND_GUESSES],
    guesses_type[KIND_GUESSES];

static size_t kind_slot(str group, str word)
{
    return word.len ? guess_slot((const void *)(uintptr_t)group.len, word) % KIND_GUESSES : 0;
}

static bool is_version(const struct kind *k, str group, str wanted)
{
    return str_is(group, k->group) && str_is(wanted, k->version) && !kind_is(k, KIND_RETIRED);
}

const struct kind *kind_by_plural(str group, str wanted, str plural)
{
    uint16_t *guess = &guesses_plural[kind_slot(group, plural)];

    for (size_t i = *guess, n = 0; n <= registry_len; i = n++) {
        const struct kind *k = i < registry_len ? registry[i] : NULL;
        if (!k || !str_is(plural, k->plural) || !is_version(k, group, wanted))
            continue;
        *guess = (uint16_t)i;
        return k;
    }
    return NULL;
}

const struct kind *kind_by_name(str group, str wanted, str kind)
{
    uint16_t *guess = &guesses_name[kind_slot(group, kind)];

    for (size_t i = *guess, n = 0; n <= registry_len; i = n++) {
        const struct kind *k = i < registry_len ? registry[i] : NULL;
        if (!k || !str_is(kind, k->kind) || !is_version(k, group, wanted))
            continue;
        *guess = (uint16_t)i;
        return k;
    }
    return NULL;
}

const struct kind *kind_by_name_stored(str group, str wanted, str kind)
{
    const struct kind *k = kind_by_name(group, wanted, kind);

    for (size_t i = 0; !k && i < registry_len; i++)
        if (str_is(kind, registry[i]->kind) && str_is(group, registry[i]->group) &&
            str_is(wanted, registry[i]->version))
            k = registry[i];
    return k;
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
    str first = str_cut(&suffix, '.');
    return str_is(first, k->version) && str_is(suffix, k->group);
}

const struct kind *kind_by_alias(str word)
{
    str suffix = word, name = str_cut(&suffix, '.');

    for (size_t i = 0; i < registry_len; i++)
        if (kind_has_alias(registry[i], name) && kind_is_in(registry[i], suffix) &&
            !kind_is(registry[i], KIND_RETIRED))
            return registry[i];
    return NULL;
}

/* ---- types by name ---- */

const struct type *body_type(str group, str wanted, str kind)
{
    const struct kind *k = kind_by_name(group, wanted, kind);

    if (k)
        return k->type;
    for (size_t i = 0; i < n_body_types; i++) {
        const struct body_type *b = &body_types[i];
        if (str_is(kind, b->kind) &&
            (!b->group || (str_is(group, b->group) && str_is(wanted, b->version))))
            return b->type;
    }
    return NULL;
}

bool type_is_custom(const struct type *t)
{
    uint16_t *guess = &guesses_type[((uintptr_t)t >> 4) % KIND_GUESSES];

    for (size_t i = *guess, n = 0; n <= registry_len; i = n++) {
        if (i >= registry_len || registry[i]->type != t)
            continue;
        *guess = (uint16_t)i;
        return kind_is(registry[i], KIND_CUSTOM);
    }
    return false;
}

/* ---- API versions ---- */

str kind_api_version(const struct kind *k, char *buf, size_t size)
{
    size_t group = strlen(k->group), version = strlen(k->version);
    size_t n = group + (group > 0) + version;

    BUG_ON(n >= size);
    memcpy(buf, k->group, group);
    if (group)
        buf[group] = '/';
    memcpy(buf + n - version, k->version, version + 1);
    return str_n(buf, n);
}

void api_version_split(str api_version, str *ret_group, str *ret_version)
{
    ptrdiff_t slash = str_find_char(api_version, '/');

    *ret_group = slash < 0 ? STR("") : str_sub(api_version, 0, (size_t)slash);
    *ret_version =
        slash < 0 ? api_version : str_sub(api_version, (size_t)slash + 1, api_version.len);
}
