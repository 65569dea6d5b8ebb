/* The builders the planners share. */
#include "base/test.h"
#include "grove/make.h"
#include "operator/test-ring.h"
#include "json/yaml.h"

static struct doc *parse(struct arena *a, const char *yaml)
{
    struct doc *d = yaml_parse_one(str_of(yaml), NULL);
    REQUIRE(d != NULL);
    return doc_hold(a, d);
}

TEST(labels_are_a_sorted_set)
{
    struct arena a = ARENA_INIT;
    struct labels l;
    labels_init(&l, &a);
    labels_set(&l, "b", STR("1"));
    labels_set(&l, "a", STR("2"));
    labels_set(&l, "b", STR("3"));
    labels_set_int(&l, "c", -4);
    CHECK_CSTR(labels_selector(&l), "a=2,b=3,c=-4");
    for (int i = 0; i < 100; i++)
        labels_put(&l, arena_printf(&a, "k%d", i), STR("v"));
    CHECK_INT(l.n, 103);
    arena_done(&a);
}

static void check_patch(const char *desired, const char *actual, const char *want)
{
    struct arena a = ARENA_INIT;
    struct doc *p = make_drift_patch(doc_root(parse(&a, desired)), doc_root(parse(&a, actual)));
    if (want) {
        REQUIRE(p != NULL);
        check_yaml(doc_root(p), want);
    } else {
        CHECK(p == NULL);
    }
    doc_unref(p);
    arena_done(&a);
}

TEST(only_a_shortened_name_is_kept_in_full)
{
    struct arena a = ARENA_INIT;
    struct labels l;
    labels_init(&l, &a);
    labels_set_full_name(&l, STR("web-0"), STR("web-0"));
    CHECK_CSTR(labels_selector(&l), "");
    labels_set_full_name(&l, STR("we-12345678-b-0"), STR("we-and-the-web-0"));
    CHECK_CSTR(labels_selector(&l), "grove.io/full-name=we-and-the-web-0");
    arena_done(&a);
}

TEST(a_patch_names_only_what_differs)
{
    check_patch("{a: 1, b: {c: 2}}", "{a: 1, b: {c: 2, d: 3}, e: 4}", NULL);
    check_patch("{a: 1, b: {c: 2}}", "{a: 1, b: {c: 9, d: 3}}", "{b: {c: 2}}");
    check_patch("{a: [1, 2]}", "{a: [2, 1]}", "{a: [1, 2]}");
    check_patch("{a: {b: 1}}", "{a: x}", "{a: {b: 1}}");
    check_patch("{a: {b: 1}}", "{}", "{a: {b: 1}}");
    check_patch("{a: 1}", "{a: 1.0}", NULL);
    check_patch("{a: null}", "{a: 1}", "{a: null}");
}

TEST(pod_specs_and_selectors_become_exactly_what_is_wanted)
{
    check_patch("{spec: {podSpec: {a: 1}}}", "{spec: {podSpec: {a: 1, b: {c: 2}}}}",
                "{spec: {podSpec: {b: null}}}");
    check_patch("{spec: {selector: {a: '1'}}}", "{spec: {selector: {a: '2', b: '3'}}}",
                "{spec: {selector: {a: '1', b: null}}}");
}

TEST(reserved_variables_come_first_and_replace_the_users)
{
    struct arena a = ARENA_INIT;
    static const struct env env[] = {{"ONE", STR_INIT("1"), NULL}, {"TWO", STR_INIT(""), "l/abel"}};
    struct jw w;
    jw_init(&w);
    make_containers(&w,
                    doc_root(parse(&a, "[{name: x, env: [{name: TWO, value: mine}, {name: THREE, "
                                       "value: '3'}, {name: ONE}], image: i}, {name: z}]")),
                    env, ARRAY_LEN(env));
    struct doc *d = jw_doc(&w);
    check_yaml(doc_root(d), "- name: x\n"
                            "  image: i\n"
                            "  env:\n"
                            "  - {name: ONE, value: '1'}\n"
                            "  - {name: TWO, valueFrom: {fieldRef: {apiVersion: v1,\n"
                            "      fieldPath: \"metadata.labels['l/abel']\"}}}\n"
                            "  - {name: THREE, value: '3'}\n"
                            "- name: z\n"
                            "  env:\n"
                            "  - {name: ONE, value: '1'}\n"
                            "  - {name: TWO, valueFrom: {fieldRef: {apiVersion: v1,\n"
                            "      fieldPath: \"metadata.labels['l/abel']\"}}}\n");
    doc_unref(d);
    arena_done(&a);
}

static bool counts_only(const char *old, const char *new)
{
    struct arena a = ARENA_INIT;
    bool is = make_is_counts_only(doc_root(parse(&a, old)), doc_root(parse(&a, new)));
    arena_done(&a);
    return is;
}

#define GOOD "conditions: [{type: A, status: 'True', reason: R, message: "

TEST(a_change_of_numbers_is_told_from_a_change_of_state)
{
    CHECK(counts_only("{observedGeneration: 1, replicas: 1, " GOOD "'1 of 2'}]}",
                      "{observedGeneration: 1, replicas: 2, " GOOD "'2 of 2'}]}"));
    CHECK(!counts_only("{observedGeneration: 1, replicas: 1}",
                       "{observedGeneration: 2, replicas: 1}"));
    CHECK(!counts_only("{replicas: 1}", "{replicas: 1, selector: x}"));
    CHECK(!counts_only("{}", "{replicas: 1}"));
    CHECK(!counts_only("{" GOOD "x}]}", "{conditions: [{type: A, status: 'False', reason: R}]}"));
    CHECK(!counts_only("{" GOOD "x}]}", "{conditions: [{type: A, status: 'True', reason: S}]}"));
    CHECK(!counts_only("{conditions: []}", "{" GOOD "x}]}"));
}

TEST(a_message_of_a_condition_is_never_longer_than_definitions_allow)
{
    static char text[40000];
    struct condition c = {"Available", "False", "Because", str_n(text, sizeof(text))};
    memset(text, 'x', sizeof(text));
    memcpy(text + 4095, "é", 2); /* on the border */
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    make_conditions(&w, JVAL_ABSENT, &c, 1, 0);
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    str message = jstr(jgetc(jat(jgetc(doc_root(d), "conditions"), 0), "message"));
    CHECK_INT(message.len, 4095);
    CHECK(str_is_utf8(message));
    doc_unref(d);
}

TEST(an_object_is_found_by_the_label_that_names_it)
{
    struct ring r = ring_new();
    struct arena a = ARENA_INIT;
    const struct world *w = &r.world->world;
    str whole =
        STR("a-set-with-a-name-that-is-longer-than-the-value-of-any-label-may-be-in-kubernetes");
    tw_load(r.world, SVC);
    tw_loadf(r.world,
             "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\nmetadata: {name: %s}\nspec: {}\n",
             whole.p);
    const struct obj *set = labelled_obj(w, &kind_pcs, STR("default"), name_label(&a, whole));
    REQUIRE(set);
    CHECK_STR(set->name, whole);
    CHECK_STR(labelled_obj(w, &kind_pcs, STR("default"), STR("svc"))->name, STR("svc"));
    CHECK(!labelled_obj(w, &kind_pcs, STR("other"), name_label(&a, whole)));
    CHECK(!labelled_obj(w, &kind_pcs, STR("default"), STR("a-set-zzzzzzzz-kubernetes")));
    CHECK(!labelled_obj(w, &kind_pcs, STR("default"), STR_NONE));
    arena_done(&a);
    ring_free(&r);
}
