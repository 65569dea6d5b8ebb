/* The tables against themselves: what every reader of them relies on. */
#include "base/test.h"
#include "base/vec.h"
#include "kube/schema.h"
#include "kube/tables/builtin.h"
#include "kube/test-kube-fixture.h"
#include "json/jsonpath.h"

typedef VEC(const struct type *) type_vec;

static void visit(const struct type *t, type_vec *order)
{
    for (size_t i = 0; i < order->len; i++)
        if (order->p[i] == t)
            return;
    *vec_push(order) = t;
    for (size_t i = 0; i < t->n_fields; i++)
        visit(t->fields[i].type, order);
}

/* Every type that is reachable from a kind or a body. */
static void all_types(type_vec *ret)
{
    fixture_init();
    for (size_t i = 0; i < n_builtin_kinds; i++)
        visit(builtin_kinds[i]->type, ret);
    for (size_t i = 0; i < n_body_types; i++)
        visit(body_types[i].type, ret);
}

static void check_field_table(const struct type *t, const struct field *f)
{
    bool ok = true;

    for (const struct field *g = t->fields; g < f; g++) {
        ok &= CHECK(strcmp(g->name, f->name) != 0);
        ok &= CHECK(!f->tag || g->tag != f->tag || g->parent_tag != f->parent_tag);
    }
    /* apiVersion and kind of a whole object travel in the envelope */
    bool enveloped = strcmp(f->name, "apiVersion") == 0 || strcmp(f->name, "kind") == 0;
    ok &= CHECK(f->tag || enveloped);
    ok &= CHECK(f->list != LIST_MAP || (f->shape == FIELD_LIST && f->keys));
    str rest = str_of(f->keys);
    while (!str_is_empty(rest))
        ok &= CHECK(type_field(f->type, str_cut(&rest, ',')) != NULL);
    if (f->patch_key)
        ok &= CHECK(type_field(f->type, str_of(f->patch_key)) != NULL);
    if (f->flags & FIELD_PATCH_MERGE && f->shape == FIELD_LIST && f->type->tag == TYPE_OBJECT)
        ok &= CHECK(f->patch_key != NULL);
    if (!ok)
        test_note("%s.%s", t->name, f->name);
}

TEST(tables_are_consistent)
{
    type_vec types = {0};

    all_types(&types);
    CHECK(types.len > 250);
    for (size_t i = 0; i < types.len; i++) {
        const struct type *t = types.p[i];
        CHECK((t->tag == TYPE_OBJECT) == (t->fields != NULL || t->preserve_unknown));
        for (size_t j = 0; j < t->n_fields; j++)
            check_field_table(t, &t->fields[j]);
        for (size_t j = 0; j < i; j++)
            if (!CHECK(strcmp(types.p[j]->name, t->name) != 0))
                test_note("two types are called %s", t->name);
    }
    vec_done(&types);
}

/* Every name is found where it stands, in any order of asking, and so is none beside them. */
TEST(fields_are_found_by_name)
{
    type_vec types = {0};

    all_types(&types);
    for (size_t round = 0; round < 2; round++) {
        for (size_t i = 0; i < types.len; i++) {
            const struct type *t = types.p[i];
            for (size_t j = 0; j < t->n_fields; j++) {
                const struct field *f = &t->fields[j];
                CHECK(str_eq(field_name(f), str_of(f->name)));
                CHECK(type_field(t, str_of(f->name)) == f);
                CHECK(type_field(t, str_sub(field_name(f), 0, 1)) != f || f->name[1] == '\0');
            }
            CHECK(type_field(t, STR("")) == NULL);
            CHECK(type_field(t, STR("no such field")) == NULL);
        }
    }
    vec_done(&types);
}

TEST(defaults_in_tables_are_valid)
{
    type_vec types = {0};
    struct arena a = ARENA_INIT;

    all_types(&types);
    for (size_t i = 0; i < types.len; i++) {
        for (size_t j = 0; j < types.p[i]->n_fields; j++) {
            const struct field *f = &types.p[i]->fields[j];
            if (!f->dflt)
                continue;
            const struct field alone[] = {*f};
            const struct type holder = {
                .name = "holder", .tag = TYPE_OBJECT, .fields = alone, .n_fields = 1};
            struct field_errors e;
            field_errors_init(&e, &a);
            struct doc *d = doc_hold(&a, schema_default(&holder, fixture_doc(&a, "{}")));
            CHECK_INT(jlen(doc_root(d)), 1);
            schema_validate(&holder, doc_root(d), STR(""), &e);
            if (!CHECK_INT(e.items.len, 0))
                test_note("%s.%s", types.p[i]->name, f->name);
            field_errors_done(&e);
        }
    }
    vec_done(&types);
    arena_done(&a);
}

/* Follows ".spec.replicas" through the tables. */
static const struct type *type_at(const struct type *t, str path)
{
    if (path.len && path.p[0] == '.')
        path = str_sub(path, 1, path.len);
    while (t && !str_is_empty(path)) {
        const struct field *f = type_field(t, str_cut(&path, '.'));
        t = f ? f->type : NULL;
    }
    return t;
}

static void check_kind_table(const struct kind *k)
{
    str rest = str_of(k->field_selectors);

    CHECK((k->verbs & VERB_GET || k == &kind_binding) && k->singular && k->plural);
    CHECK(kinds_at(kind_id(k)) == k);
    CHECK(kind_by_name(str_of(k->group), str_of(k->version), str_of(k->kind)) == k);
    CHECK(kind_by_plural(str_of(k->group), str_of(k->version), str_of(k->plural)) == k);
    CHECK(body_type(str_of(k->group), str_of(k->version), str_of(k->kind)) == k->type);
    CHECK(type_field(k->type, STR("metadata"))->type == &type_object_meta);
    CHECK(!kind_is(k, KIND_STATUS) || type_field(k->type, STR("status")));
    while (!str_is_empty(rest)) {
        str key = str_cut(&rest, ',');
        if (!CHECK(type_at(k->type, key) != NULL))
            test_note("%s: %.*s", k->kind, STR_ARG(key));
    }
    CHECK(kind_is(k, KIND_SCALE) == (k->scale_spec_path != NULL));
    if (k->scale_spec_path) {
        CHECK(type_at(k->type, str_of(k->scale_spec_path)) == &type_int32);
        CHECK(type_at(k->type, str_of(k->scale_status_path)) == &type_int32);
        CHECK(type_at(k->type, str_of(k->scale_selector_path)) != NULL);
    }
    CHECK(k->n_columns >= 2);
    for (size_t i = 0; i < k->n_columns; i++) {
        if (!k->columns[i].path)
            continue;
        struct jsonpath *p = jsonpath_compile(str_of(k->columns[i].path), NULL);
        CHECK(p != NULL && type_at(k->type, str_of(k->columns[i].path)) != NULL);
        jsonpath_free(p);
    }
}

TEST(kinds_are_complete)
{
    fixture_init();
    CHECK_INT(n_builtin_kinds, 90);
    CHECK(kinds_count() >= 31);
    for (size_t i = 0; i < n_builtin_kinds; i++)
        check_kind_table(builtin_kinds[i]);
    CHECK(kinds_at(kinds_count()) == NULL);
}

TEST(kinds_that_have_a_generation)
{
    static const struct kind *const with[] = {&kind_pod, &kind_deployment, &kind_replica_set,
                                              &kind_pdb, &kind_priority_class};
    static const struct kind *const without[] = {
        &kind_config_map, &kind_secret, &kind_node, &kind_namespace, &kind_service,
        &kind_lease,      &kind_event,  &kind_hpa,  &kind_role,      &kind_service_account};

    for (size_t i = 0; i < ARRAY_LEN(with); i++)
        CHECK(kind_is(with[i], KIND_GENERATION));
    for (size_t i = 0; i < ARRAY_LEN(without); i++)
        CHECK(!kind_is(without[i], KIND_GENERATION));
}

TEST(kinds_and_put)
{
    CHECK(kind_is(&kind_lease, KIND_CREATE_ON_UPDATE | KIND_MUST_SEND_VERSION));
    CHECK(kind_is(&kind_lease, KIND_MUST_SEND_VERSION));
    CHECK(kind_is(&kind_event, KIND_CREATE_ON_UPDATE));
    CHECK(kind_is(&kind_service, KIND_CREATE_ON_UPDATE));
    CHECK(kind_is(&kind_endpoints, KIND_CREATE_ON_UPDATE));
    CHECK(!kind_is(&kind_config_map, KIND_CREATE_ON_UPDATE));
    CHECK(!kind_is(&kind_node, KIND_CREATE_ON_UPDATE));
    CHECK(!kind_is(&kind_pod, KIND_MUST_SEND_VERSION));
}

TEST(kind_by_what_people_type)
{
    static const struct {
        const char *word;
        const struct kind *kind;
    } cases[] = {
        {"po", &kind_pod},
        {"pod", &kind_pod},
        {"Pods", &kind_pod},
        {"deploy", &kind_deployment},
        {"deployments.apps", &kind_deployment},
        {"deployments.v1.apps", &kind_deployment},
        {"deployments.extensions", NULL},
        {"ev", &kind_event},
        {"events.events.k8s.io", &kind_events_event},
        {"wdg", &fixture_widget},
        {"widgets.example.com", &fixture_widget},
        {"hpa", &kind_hpa},
        {"nothing", NULL},
        {"", NULL},
        {".", NULL},
    };

    fixture_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (!CHECK(kind_by_alias(str_of(cases[i].word)) == cases[i].kind))
            test_note("%s", cases[i].word);
}

TEST(api_versions)
{
    char buf[64];
    str group, version;

    CHECK_CSTR(kind_api_version(&kind_pod, buf, sizeof(buf)), "v1");
    CHECK_CSTR(kind_api_version(&kind_lease, buf, sizeof(buf)), "coordination.k8s.io/v1");
    api_version_split(STR("grove.io/v1alpha1"), &group, &version);
    CHECK_CSTR(group, "grove.io");
    CHECK_CSTR(version, "v1alpha1");
    api_version_split(STR("v1"), &group, &version);
    CHECK_CSTR(group, "");
    CHECK_CSTR(version, "v1");
}
