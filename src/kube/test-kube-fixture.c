/* See test-kube-fixture.h. */
#include "kube/test-kube-fixture.h"

#include "json/write.h"

struct doc *fixture_doc(struct arena *a, const char *text)
{
    static const struct json_limits limits = {.allow_duplicate_keys = true};
    char *copy = xstrdup(text);
    struct err err = ERR_INIT;

    for (char *c = copy; *c; c++)
        if (*c == '\'')
            *c = '"';
    struct doc *d = doc_parse(str_of(copy), &limits, &err);
    free(copy);
    if (!d)
        BUG(err.message);
    return doc_hold(a, d);
}

jval fixture_json(struct arena *a, const char *text)
{
    return doc_root(fixture_doc(a, text));
}

bool fixture_same(struct arena *a, jval got, const char *want)
{
    jval w = fixture_json(a, want);

    if (jequal(got, w))
        return true;
    test_note("got  %.*s", STR_ARG(jtext(got)));
    test_note("want %.*s", STR_ARG(jtext(w)));
    return false;
}

static const struct field item_fields[] = {
    {.name = "name", .type = &type_string, .flags = FIELD_REQUIRED},
    {.name = "zone", .type = &type_string, .dflt = "\"z\""},
    {.name = "size", .type = &type_int32, .min = 0, .max = 10},
};
static const struct type type_item = {
    .name = "Item", .tag = TYPE_OBJECT, .fields = item_fields, .n_fields = ARRAY_LEN(item_fields)};

static const struct field inner_fields[] = {
    {.name = "known", .type = &type_int32, .dflt = "7"},
};
static const struct type type_inner = {.name = "Inner",
                                       .tag = TYPE_OBJECT,
                                       .preserve_unknown = true,
                                       .fields = inner_fields,
                                       .n_fields = ARRAY_LEN(inner_fields)};

static const struct field spec_fields[] = {
    {.name = "replicas", .type = &type_int32, .min = 0, .max = 100, .dflt = "1"},
    {.name = "atLeast", .type = &type_int64, .min = 3, .max = -1},
    {.name = "mode", .type = &type_string, .enums = "InOrder|AnyOrder", .dflt = "\"AnyOrder\""},
    {.name = "host", .type = &type_string, .pattern = "^[a-z]+$"},
    {.name = "maybe", .type = &type_string, .flags = FIELD_NULLABLE, .dflt = "\"d\""},
    {.name = "wait", .type = &type_duration},
    {.name = "flag", .type = &type_bool},
    {.name = "amount", .type = &type_quantity},
    {.name = "share", .type = &type_int_or_string},
    {.name = "due", .type = &type_time},
    {.name = "items",
     .type = &type_item,
     .shape = FIELD_LIST,
     .list = LIST_MAP,
     .keys = "name,zone"},
    {.name = "tags", .type = &type_string, .shape = FIELD_LIST, .list = LIST_SET},
    {.name = "limits", .type = &type_quantity, .shape = FIELD_MAP},
    {.name = "free", .type = &type_inner},
    {.name = "any", .type = &type_raw},
    {.name = "pod", .type = &type_pod_spec},
    {.name = "nested", .type = &type_inner, .dflt = "{\"more\":true}"},
};
static const struct type type_spec = {
    .name = "WidgetSpec",
    .tag = TYPE_OBJECT,
    .fields = spec_fields,
    .n_fields = ARRAY_LEN(spec_fields),
};

static const struct field widget_fields[] = {
    {.name = "apiVersion", .type = &type_string},
    {.name = "kind", .type = &type_string},
    {.name = "metadata", .type = &type_object_meta},
    {.name = "spec", .type = &type_spec, .flags = FIELD_REQUIRED},
};
static const struct type type_widget = {
    .name = "Widget",
    .tag = TYPE_OBJECT,
    .fields = widget_fields,
    .n_fields = ARRAY_LEN(widget_fields),
};

static uint16_t widget_id;
const struct kind fixture_widget = {
    .group = "example.com",
    .version = "v1",
    .kind = "Widget",
    .plural = "widgets",
    .singular = "widget",
    .short_names = "wd,wdg",
    .verbs = VERBS_ALL,
    .flags = KIND_NAMESPACED | KIND_CUSTOM | KIND_STATUS | KIND_GENERATION,
    .type = &type_widget,
    .field_selectors = "spec.host,spec.flag",
    .id = &widget_id,
};

void fixture_init(void)
{
    kinds_init();
    kinds_register(&fixture_widget);
}
