/* picture: finding things in lists, and pods by what they belong to. */
#include "explain/documents/test-picture.h"
#include "grove/names.h"
#include "grove/types.h"

TEST(objects_are_found_by_name_label_and_kind)
{
    struct test_picture *t =
        tp_new("set llm\ngroup llm-0-g\nclique llm-0-a\ngang llm-0\ngang llm-1\npods llm-0-a 12\n");
    const struct picture *p = &t->picture;
    static const struct {
        const char *name;
        const struct kind *kind; /* NULL: none */
    } cases[] = {
        {"llm", &kind_pcs},
        {"llm-0-g", &kind_pcsg},
        {"llm-0-a", &kind_pclq},
        {"llm-0", &kind_pod_gang},
        {"llm-0-a-11", &kind_pod},
        {"llm-0-a-12", NULL},
        {"ll", NULL},
        {"llm-", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct obj *o = picture_find_any(p, str_of(cases[i].name));
        CHECK((o ? o->kind : NULL) == cases[i].kind);
        CHECK(!o || str_is(o->name, cases[i].name));
    }
    CHECK(picture_find(p, PICTURE_PODS, STR("llm-0-a-9")) != NULL);
    CHECK(picture_find(p, PICTURE_CLIQUES, STR("llm-0-a-9")) == NULL);
    CHECK(picture_find_labelled(p, PICTURE_GANGS, STR_NONE) == NULL);
    tp_free(t);
}

/* A label has 63 characters at most: a longer name is shortened in it. */
TEST(a_gang_is_found_by_its_shortened_label)
{
    struct arena a = ARENA_INIT;
    str name =
        STR("llm-0-a-very-long-name-of-a-scaling-group-that-no-label-would-take-as-it-is-12");
    str label = name_label(&a, name);
    CHECK(label.len <= 63 && name.len > 63);
    struct test_picture *t =
        tp_new(arena_printf(&a,
                            "gang llm-0\ngang %.*s\nclique llm-0-x gang %.*s\nclique llm-0-y "
                            "gang llm-0\nclique llm-0-z gang none\n",
                            STR_ARG(name), STR_ARG(label))
                   .p);
    const struct picture *p = &t->picture;
    CHECK_STR(picture_gang_of(p, tp_must(t, PICTURE_CLIQUES, "llm-0-x")), name);
    CHECK_CSTR(picture_gang_of(p, tp_must(t, PICTURE_CLIQUES, "llm-0-y")), "llm-0");
    CHECK_CSTR(picture_gang_of(p, tp_must(t, PICTURE_CLIQUES, "llm-0-z")), "none");
    tp_free(t);
    arena_done(&a);
}

TEST(parts_are_counted_as_people_count)
{
    struct test_picture *t = tp_new("pods llm-0-a 12\npod llm-0-a-0 in another\n");
    struct session_list l = picture_counted(&t->picture, PICTURE_PODS, &t->arena);
    static const char *const want[] = {
        "llm-0-a-0", "llm-0-a-0", "llm-0-a-1", "llm-0-a-2", "llm-0-a-3",  "llm-0-a-4", "llm-0-a-5",
        "llm-0-a-6", "llm-0-a-7", "llm-0-a-8", "llm-0-a-9", "llm-0-a-10", "llm-0-a-11"};
    CHECK_INT(l.n, ARRAY_LEN(want));
    for (size_t i = 0; i < l.n && i < ARRAY_LEN(want); i++)
        CHECK_CSTR(l.items[i]->name, want[i]);
    CHECK_CSTR(l.items[0]->ns, "another");
    CHECK_CSTR(t->picture.parts[PICTURE_PODS].items[3]->name, "llm-0-a-10"); /* as they were */
    CHECK_INT(picture_counted(&t->picture, PICTURE_NODES, &t->arena).n, 0);
    tp_free(t);
}

TEST(pods_are_grouped_by_what_they_belong_to)
{
    struct test_picture *t = tp_new("pod llm-0-a-0\npod llm-0-b-0\npod llm-0-a-1\n"
                                    "pod llm-1-a-0\npod x {metadata: {labels: null, "
                                    "ownerReferences: null}}\n");
    struct pod_groups g;
    pod_groups_init(&g, &t->picture, pod_owner_uid, &t->arena);
    struct session_list l = pod_groups_get(&g, STR("uid-llm-0-a"));
    CHECK_INT(l.n, 2);
    CHECK_CSTR(l.items[0]->name, "llm-0-a-0");
    CHECK_CSTR(l.items[1]->name, "llm-0-a-1");
    CHECK_INT(pod_groups_get(&g, STR("uid-llm-0-b")).n, 1);
    CHECK_INT(pod_groups_get(&g, STR("uid-none")).n, 0);
    CHECK_INT(pod_groups_get(&g, STR_NONE).n, 1); /* what nobody owns */
    pod_groups_done(&g);
    pod_groups_init(&g, &t->picture, pod_gang_label, &t->arena);
    CHECK_INT(pod_groups_get(&g, STR("llm-0")).n, 3);
    CHECK_INT(pod_groups_get(&g, STR("llm-1")).n, 1);
    pod_groups_done(&g);
    tp_free(t);
}
