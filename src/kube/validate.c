/*
 * Validation by table, in the words kube-apiserver's schema validation uses: clients show them and
 * people search for them.
 *
 * One rule differs between the two worlds: in a custom resource a null is a value of the wrong
 * type, while built-in kinds read it as absent; and the status of a built-in kind is never refused
 * for a missing field, because its Go types have zeros in place of absent values.
 *
 * The pods of one template differ in their metadata and hardly anywhere else, and each is written
 * several times: what was found valid before is remembered by its text.
 */
#include "kube/validate.h"
#include "base/b64.h"
#include "base/map.h"
#include "base/quantity.h"
#include "base/timefmt.h"
#include "kube/regex/regex.h"

/* What one object may cost, regular expressions and long lists of values above all: some tens of
 * milliseconds at worst. */
#define MOST_WORK 1000000

/* ---- work ---- */

bool validation_spend(struct validation *c, uint64_t units)
{
    if (field_errors_full(c->errors))
        return false;
    if (*c->work < units) {
        *c->work = 0;
        return false;
    }
    *c->work -= units;
    return true;
}

/* ---- patterns ---- */

bool schema_pattern_is_valid(str pattern, uint64_t *work, struct err *err)
{
    *work += regex_cost(pattern);
    return regex_of(pattern, NULL, err) != NULL;
}

/* Definitions with patterns that do not compile are refused; one that was stored by somebody who
 * knows more patterns than we do is no reason to refuse objects. */
bool validation_matches(struct validation *c, str pattern, str s)
{
    struct regex *r = regex_of(pattern, NULL, NULL);

    return !r || !validation_spend(c, 1) || regex_matches(r, s, c->work) != REGEX_NO;
}

/* A letter, then letters and digits. */
static bool is_word(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char lower = (char)(s.p[i] | 0x20);
        bool letter = lower >= 'a' && lower <= 'z', digit = s.p[i] >= '0' && s.p[i] <= '9';
        if (!letter && (!digit || i == 0))
            return false;
    }
    return s.len > 0;
}

/* Statuses are written often, and their conditions have these two patterns: what is plainly good is
 * seen without the engine. */
static bool matches_field(struct validation *c, const struct field *f, str s)
{
    if ((strcmp(f->pattern, CONDITION_REASON_PATTERN) == 0 ||
         strcmp(f->pattern, CONDITION_TYPE_PATTERN) == 0) &&
        is_word(s))
        return true;
    return validation_matches(c, str_of(f->pattern), s);
}

/* ---- errors ---- */

str validation_path(struct validation *c)
{
    strbuf_reset(&c->text);
    path_write(c->at, &c->text);
    return strbuf_str(&c->text);
}

static const char *json_type_name(jval v)
{
    switch (jtype(v)) {
    case J_NULL:
        return "null";
    case J_TRUE:
    case J_FALSE:
        return "boolean";
    case J_INT:
        return "integer";
    case J_REAL:
        return "number";
    case J_STRING:
        return "string";
    case J_ARRAY:
        return "array";
    default:
        return "object";
    }
}

void validation_wrong_type(struct validation *c, jval v, const char *wanted)
{
    const char *got = json_type_name(v);
    char quoted[16];

    snprintf(quoted, sizeof(quoted), "\"%s\"", got);
    str path = validation_path(c);
    field_error_add(c->errors, FIELD_ERR_TYPE_INVALID, path, str_of(quoted),
                    "%.*s in body must be of type %s: \"%s\"", STR_ARG(path), wanted, got);
}

static void wrong_format(struct validation *c, jval v, const char *wanted)
{
    str path = validation_path(c);

    field_error_add(c->errors, FIELD_ERR_INVALID, path, jtext(v),
                    "%.*s in body must be of type %s: %.*s", STR_ARG(path), wanted,
                    STR_ARG(jtext(v)));
}

/* ---- scalars ---- */

static void check_bounds(struct validation *c, int64_t n, jval v, int64_t min, int64_t max)
{
    if (LIKELY(n >= min && n <= max))
        return;
    str path = validation_path(c);
    if (n < min)
        field_error_add(c->errors, FIELD_ERR_INVALID, path, jtext(v),
                        "%.*s in body should be greater than or equal to %lld", STR_ARG(path),
                        (long long)min);
    else
        field_error_add(c->errors, FIELD_ERR_INVALID, path, jtext(v),
                        "%.*s in body should be less than or equal to %lld", STR_ARG(path),
                        (long long)max);
}

static void check_integer(struct validation *c, const struct field *f, const struct type *t, jval v)
{
    int64_t n;
    bool bounded = f && (f->min || f->max);

    if (!jint_get(v, &n)) {
        validation_wrong_type(c, v, "integer");
        return;
    }
    int64_t min = t->tag == TYPE_INT32 ? INT32_MIN : INT64_MIN;
    int64_t max = t->tag == TYPE_INT32 ? INT32_MAX : INT64_MAX;
    if (bounded)
        min = f->min;
    if (bounded && f->max >= f->min) /* otherwise a lower bound alone */
        max = f->max;
    check_bounds(c, n, v, min, max);
}

static bool is_base64(str s)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    bool ok = b64_decode(s, B64_STD | B64_NEWLINES, &b);

    strbuf_done(&b);
    return ok;
}

static void check_quantity(struct validation *c, jval v)
{
    str text = jtype(v) == J_STRING ? jstr(v) : jtext(v);

    if (jtype(v) != J_STRING && jtype(v) != J_INT && jtype(v) != J_REAL)
        validation_wrong_type(c, v, "string");
    else if (!quantity_is_valid(text))
        field_error_add(c->errors, FIELD_ERR_INVALID, validation_path(c), jtext(v),
                        "quantities must match the regular expression "
                        "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
}

/* Strings with a format of their own. */
static void check_format(struct validation *c, const struct type *t, jval v)
{
    usec time;
    int64_t nsec;

    if (t->tag == TYPE_BYTES && !is_base64(jstr(v)))
        wrong_format(c, v, "byte");
    if ((t->tag == TYPE_TIME || t->tag == TYPE_MICRO_TIME) && !time_parse_rfc3339(jstr(v), &time))
        wrong_format(c, v, "date-time");
    if (t->tag == TYPE_DURATION && !duration_parse(jstr(v), &nsec))
        wrong_format(c, v, "duration");
}

static bool enum_has(const char *enums, str s)
{
    for (const char *end; (end = strchrnul(enums, '|')); enums = end + 1) {
        if (str_eq(str_n(enums, (size_t)(end - enums)), s))
            return true;
        if (!*end)
            break;
    }
    return false;
}

static void check_enum(struct validation *c, const char *enums, jval v)
{
    if (enum_has(enums, jstr(v)))
        return;
    struct strbuf b = STRBUF_INIT(1 << 16);
    str rest = str_of(enums);
    do {
        str one = str_cut(&rest, '|');
        strbuf_printf(&b, "%s\"%.*s\"", b.len ? ", " : "", STR_ARG(one));
    } while (rest.p);
    field_error_add(c->errors, FIELD_ERR_NOT_SUPPORTED, validation_path(c), jtext(v),
                    "supported values: %.*s", STR_ARG(strbuf_str(&b)));
    strbuf_done(&b);
}

/* Lengths are those of the text, in code points. */
static void check_length(struct validation *c, const struct field *f, jval v)
{
    int64_t n = validation_text_length(jstr(v));
    str path = validation_path(c);
    if (f->max >= f->min && n > f->max)
        field_error_add(c->errors, FIELD_ERR_TOO_LONG, path, STR_NONE,
                        "may not be more than %lld bytes", (long long)f->max);
    else if (n < f->min)
        field_error_add(c->errors, FIELD_ERR_INVALID, path, jtext(v),
                        "%.*s in body should be at least %lld chars long", STR_ARG(path),
                        (long long)f->min);
}

static void check_string(struct validation *c, const struct field *f, const struct type *t, jval v)
{
    if (jtype(v) != J_STRING) {
        validation_wrong_type(c, v, "string");
        return;
    }
    if (t->tag != TYPE_STRING)
        check_format(c, t, v);
    if (!f)
        return;
    if (f->enums)
        check_enum(c, f->enums, v);
    if (UNLIKELY(f->min || f->max) && t->tag == TYPE_STRING)
        check_length(c, f, v);
    if (f->pattern && !matches_field(c, f, jstr(v))) {
        str path = validation_path(c);
        field_error_add(c->errors, FIELD_ERR_INVALID, path, jtext(v),
                        "%.*s in body should match '%s'", STR_ARG(path), f->pattern);
    }
}

/* ---- containers ---- */

static void check_object(struct validation *c, const struct type *t, jval v);
static void check_field(struct validation *c, const struct field *f, jval v);

static void check_string_list(struct validation *c, jval v)
{
    if (jtype(v) != J_ARRAY) {
        validation_wrong_type(c, v, "array");
        return;
    }
    for (struct jiter it = jiter(v); jnext(&it);) {
        struct path step = {.up = c->at, .index = it.index};
        c->at = &step;
        check_string(c, NULL, &type_string, it.value);
        c->at = step.up;
    }
}

/* One value of the type; f gives the rules of the field it stands in. */
static void check_value(struct validation *c, const struct field *f, const struct type *t, jval v)
{
    switch (t->tag) {
    case TYPE_OBJECT:
        check_object(c, t, v);
        break;
    case TYPE_INT32:
    case TYPE_INT64:
        check_integer(c, f, t, v);
        break;
    case TYPE_BOOL:
        if (jtype(v) != J_TRUE && jtype(v) != J_FALSE)
            validation_wrong_type(c, v, "boolean");
        break;
    case TYPE_DOUBLE:
        if (jtype(v) != J_INT && jtype(v) != J_REAL)
            validation_wrong_type(c, v, "number");
        break;
    case TYPE_QUANTITY:
        check_quantity(c, v);
        break;
    case TYPE_INT_OR_STRING:
        if (jtype(v) != J_INT && jtype(v) != J_STRING)
            validation_wrong_type(c, v, "integer,string");
        else if (jtype(v) == J_STRING)
            check_string(c, f, t, v);
        break;
    case TYPE_STRING_LIST:
        check_string_list(c, v);
        break;
    case TYPE_NESTED:
        check_field(c, t->fields, v);
        break;
    case TYPE_RAW:
        break;
    default:
        check_string(c, f, t, v);
    }
}

/* The keys of a list-map item as an object ({"name":"a"}), in the order the table lists them. An
 * absent key counts as its default. */
static void write_keys(const struct field *f, jval item, struct strbuf *out)
{
    str rest = str_of(f->keys);

    strbuf_add_char(out, '{');
    for (bool first = true; !str_is_empty(rest); first = false) {
        str key = str_cut(&rest, ',');
        jval v = jget(item, key);
        const struct field *kf = type_field(f->type, key);
        if (!first)
            strbuf_add_char(out, ',');
        json_quote(out, key);
        strbuf_add_char(out, ':');
        if (j_has(v))
            jcanonical(v, false, out);
        else
            strbuf_add_cstr(out, kf && kf->dflt ? kf->dflt : "null");
    }
    strbuf_add_char(out, '}');
}

/* Built-in kinds look for duplicates by hand-written rules, not by their schema (environment
 * variables may repeat); in a custom resource the schema alone decides. */
static bool must_be_unique(const struct validation *c, const struct field *f)
{
    return !c->builtin && f->list != LIST_ATOMIC;
}

static void check_unique(struct validation *c, const struct field *f, jval v)
{
    struct map seen = MAP_INIT;
    struct strbuf key = STRBUF_INIT(SIZE_MAX / 2);

    for (struct jiter it = jiter(v); jnext(&it);) {
        strbuf_reset(&key);
        if (f->list == LIST_SET)
            jcanonical(it.value, false, &key);
        else
            write_keys(f, it.value, &key);
        str k = arena_str(c->errors->arena, strbuf_str(&key));
        if (map_has(&seen, k)) {
            struct path step = {.up = c->at, .index = it.index};
            c->at = &step;
            field_error_add(c->errors, FIELD_ERR_DUPLICATE, validation_path(c), k, NULL);
            c->at = step.up;
        } else {
            map_put(&seen, k, &seen);
        }
    }
    strbuf_done(&key);
    map_done(&seen);
}

/* An item of a list or a value of a map. `rules`: what a user's schema says of each. */
static void check_item(struct validation *c, const struct field *f, jval rules, jval v)
{
    if (f->type->tag == TYPE_STRING && !f->enums && !f->pattern && !rules.doc &&
        jtype(v) == J_STRING)
        return;
    if (rules.doc && j_is_null(v) && j_is_true(jgetc(rules, "nullable")))
        return;
    check_value(c, f, f->type, v);
    if (rules.doc && f->type->tag != TYPE_NESTED) /* which has them itself */
        validation_rules(c, rules, v);
}

static void check_list(struct validation *c, const struct field *f, jval v)
{
    if (jtype(v) != J_ARRAY) {
        validation_wrong_type(c, v, "array");
        return;
    }
    if (UNLIKELY(f->min > 0) && f->type->tag == TYPE_OBJECT && (int64_t)jlen(v) < f->min) {
        str path = validation_path(c);
        field_error_add(c->errors, FIELD_ERR_INVALID, path, jtext(v),
                        "%.*s in body should have at least %lld items", STR_ARG(path),
                        (long long)f->min);
    }
    jval rules = jgetc(f->schema, "items");
    for (struct jiter it = jiter(v); jnext(&it);) {
        struct path step = {.up = c->at, .index = it.index};
        c->at = &step;
        check_item(c, f, rules, it.value);
        c->at = step.up;
    }
    if (must_be_unique(c, f))
        check_unique(c, f, v);
}

static void check_map(struct validation *c, const struct field *f, jval v)
{
    if (jtype(v) != J_OBJECT) {
        validation_wrong_type(c, v, "object");
        return;
    }
    jval rules = jgetc(f->schema, "additionalProperties");
    for (struct jiter it = jiter(v); jnext(&it);) {
        struct path step = {.up = c->at, .key = it.key};
        c->at = &step;
        check_item(c, f, rules, it.value);
        c->at = step.up;
    }
}

/* Null counts as absent. */
static bool may_be_null(const struct validation *c, const struct field *f)
{
    return c->builtin || (f->flags & FIELD_NULLABLE);
}

static void check_present(struct validation *c, const struct field *f, jval v)
{
    if (f->shape == FIELD_LIST)
        check_list(c, f, v);
    else if (f->shape == FIELD_MAP)
        check_map(c, f, v);
    else
        check_value(c, f, f->type, v);
    if (f->schema.doc)
        validation_rules(c, f->schema, v);
}

static void check_field(struct validation *c, const struct field *f, jval v)
{
    if (!j_is_null(v) || !may_be_null(c, f))
        check_present(c, f, v);
}

/* ---- what is known to be valid ---- */

enum { KNOWN_SLOTS = 1024, KNOWN_MIN = 128, KNOWN_MAX = 8 << 10 };

/* A value in its field, under the same rules. The text is kept from the second time on. The loop
 * thread's. */
static struct known {
    const struct field *field;
    uint64_t rules; /* version of the tables, builtin, lenient */
    uint64_t hash;
    char *text;
    size_t len;
} known[KNOWN_SLOTS];

/* The place of a value that is worth it, or NULL. The members of the object itself are hardly ever
 * the same twice, and most maps are labels. */
static struct known *known_slot(const struct validation *c, const struct field *f, jval v)
{
    str text = jtext(v);
    if (c->at->up == c->root || f->shape == FIELD_MAP || text.len < KNOWN_MIN ||
        text.len > KNOWN_MAX)
        return NULL;
    uint64_t rules = kinds_version() << 2 | (uint64_t)c->builtin << 1 | (uint64_t)c->lenient;
    uint64_t hash = str_hash_sample(text, (uintptr_t)f ^ rules);
    struct known *k = &known[hash % KNOWN_SLOTS];
    if (k->hash != hash || k->field != f || k->rules != rules) {
        free(k->text);
        *k = (struct known){.field = f, .rules = rules, .hash = hash};
    }
    return k;
}

static bool known_is(const struct known *k, str text)
{
    return k && k->text && str_eq(str_n(k->text, k->len), text);
}

static void known_add(struct known *k, str text)
{
    bool again = k->len > 0;
    free(k->text);
    k->len = text.len;
    k->text = again ? str_dup(text) : NULL;
}

/* ---- members ---- */

static void check_known(struct validation *c, const struct field *f, jval v)
{
    struct known *k = known_slot(c, f, v);
    if (known_is(k, jtext(v)))
        return;
    check_present(c, f, v);
    /* What is inside may have taken the place. Errors are not told twice and not without end: that
     * none came says nothing when there are some. */
    k = k && c->errors->items.len == 0 ? known_slot(c, f, v) : NULL;
    if (k)
        known_add(k, jtext(v));
}

static void check_member(struct validation *c, const struct field *f, str key, jval v)
{
    struct path step = {.up = c->at, .key = key};
    bool status = c->builtin && step.up == c->root && str_is(key, "status");

    c->at = &step;
    c->lenient |= status;
    if (j_is_container(v))
        check_known(c, f, v);
    else
        check_present(c, f, v);
    if (status)
        c->lenient = false;
    c->at = step.up;
}

/* Most fields: a string, and nothing more is asked of it. */
static bool is_any_string(const struct field *f)
{
    return f->type->tag == TYPE_STRING && f->shape == FIELD_ONE && !f->enums && !f->pattern &&
           !f->min && !f->max && !f->schema.doc;
}

/* seen: the members that are there; of those that are null only in a custom resource. */
static void check_required(struct validation *c, const struct type *t, const struct field_set *seen,
                           jval object)
{
    for (size_t i = 0; i < t->n_fields; i++) {
        if (!(t->fields[i].flags & FIELD_REQUIRED) || field_set_has(seen, t, i, object))
            continue;
        struct path step = {.up = c->at, .key = field_name(&t->fields[i])};
        c->at = &step;
        field_error_add(c->errors, FIELD_ERR_REQUIRED, validation_path(c), STR_NONE, NULL);
        c->at = step.up;
    }
}

static void check_object(struct validation *c, const struct type *t, jval v)
{
    struct field_set seen = {0};

    if (jtype(v) != J_OBJECT) {
        if (!t->or_other)
            validation_wrong_type(c, v, "object");
        return;
    }
    for (struct jiter it = jiter(v); jnext(&it);) {
        const struct field *f = type_field(t, it.key);
        enum jtype type = jtype(it.value);
        if (!f)
            continue;
        if (type != J_NULL || !c->builtin)
            field_set_add(&seen, t, f);
        if (type == J_STRING && is_any_string(f))
            continue;
        if (type != J_NULL || !may_be_null(c, f))
            check_member(c, f, it.key, it.value);
    }
    if (!c->lenient)
        check_required(c, t, &seen, v);
}

static struct validation validation_of(const struct type *t, struct field_errors *errors,
                                       uint64_t *work)
{
    return (struct validation){.errors = errors,
                               .text = STRBUF_INIT(SIZE_MAX / 2),
                               .work = work,
                               .builtin = !type_is_custom(t)};
}

/* What was not looked at to the end is not known to be right. */
static void validation_end(struct validation *c, str path)
{
    if (*c->work == 0)
        field_error_add(c->errors, FIELD_ERR_INVALID, path.len ? path : STR("<nil>"), STR_NONE,
                        "validation failed due to running out of cost budget, no further "
                        "validation rules will be run");
    strbuf_done(&c->text);
}

void schema_validate(const struct type *t, jval v, str path, struct field_errors *errors)
{
    struct path root = {.key = path};
    uint64_t work = MOST_WORK;
    struct validation c = validation_of(t, errors, &work);

    c.at = c.root = path.len ? &root : NULL;
    check_value(&c, NULL, t, v);
    validation_rules(&c, t->schema, v);
    validation_end(&c, path);
}

void schema_validate_member(const struct type *t, jval object, str key, struct field_errors *errors)
{
    const struct field *f = type_field(t, key);
    jval v = jget(object, key);
    uint64_t work = MOST_WORK;
    struct validation c = validation_of(t, errors, &work);

    if (f && !j_is_absent(v) && (!j_is_null(v) || !may_be_null(&c, f)))
        check_member(&c, f, key, v);
    validation_end(&c, key);
}
