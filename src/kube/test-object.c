/* Objects: what is decoded, what is refused, and the count. */
#include "base/test.h"
#include "kube/object.h"
#include "kube/test-kube-fixture.h"

static struct obj *make(struct arena *a, const char *text, struct err *err)
{
    return obj_new(&kind_pod, doc_ref(fixture_doc(a, text)), err);
}

TEST(object_decodes_metadata)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct obj *o = make(
        &a,
        "{'metadata':{'name':'p','namespace':'n','uid':'u-1','resourceVersion':'42','generation':3,"
        "'labels':{'app':'x'},'annotations':{'note':'hi'},"
        "'creationTimestamp':'2026-11-15T00:00:01Z','deletionTimestamp':'2026-11-15T00:00:02Z',"
        "'finalizers':['a/b'],'ownerReferences':[{'uid':'o-1'},{'uid':'o-2','controller':true}]},"
        "'spec':{'nodeName':'n1'},'status':{'phase':'Running'}}",
        &err);

    REQUIRE(o != NULL);
    CHECK_CSTR(o->name, "p");
    CHECK_CSTR(o->ns, "n");
    CHECK_CSTR(o->uid, "u-1");
    CHECK_INT(o->rv, 42);
    CHECK_INT(o->generation, 3);
    CHECK(o->deleting);
    CHECK_CSTR(o->owner_uid, "o-2");
    CHECK_CSTR(obj_label(o, STR("app")), "x");
    CHECK(obj_label(o, STR("other")).p == NULL);
    CHECK_CSTR(obj_annotation(o, STR("note")), "hi");
    CHECK_INT(obj_created(o), 1794700801 * USEC_PER_SEC);
    CHECK_INT(obj_deleted_at(o), 1794700802 * USEC_PER_SEC);
    CHECK(obj_has_finalizer(o, STR("a/b")));
    CHECK(!obj_has_finalizer(o, STR("a/c")));
    CHECK_CSTR(jstr(jgetc(obj_controller_ref(o), "uid")), "o-2");
    CHECK_CSTR(jstr(jgetc(obj_spec(o), "nodeName")), "n1");
    CHECK_CSTR(jstr(jgetc(obj_status(o), "phase")), "Running");
    obj_unref(o);
    arena_done(&a);
}

TEST(object_with_little_metadata)
{
    struct arena a = ARENA_INIT;
    struct obj *o = make(&a, "{'metadata':{'name':'p'}}", NULL);

    REQUIRE(o != NULL);
    CHECK_INT(o->rv, 0);
    CHECK(!o->deleting);
    CHECK(o->ns.len == 0 && o->owner_uid.len == 0);
    CHECK_INT(obj_created(o), 0);
    CHECK(j_is_absent(obj_controller_ref(o)));
    CHECK(j_is_absent(obj_status(o)));
    obj_unref(o);
    arena_done(&a);
}

TEST(object_deletion_timestamp_null_is_not_deleting)
{
    struct arena a = ARENA_INIT;
    struct obj *o = make(&a, "{'metadata':{'name':'p','deletionTimestamp':null}}", NULL);

    REQUIRE(o != NULL);
    CHECK(!o->deleting);
    obj_unref(o);
    arena_done(&a);
}

TEST(object_refuses_what_it_cannot_index)
{
    static const struct {
        const char *text, *field;
    } cases[] = {
        {"{}", "metadata"},
        {"{'metadata':[]}", "metadata"},
        {"{'metadata':{}}", "metadata.name"},
        {"{'metadata':{'name':7}}", "metadata.name"},
        {"{'metadata':{'name':'p','resourceVersion':'x'}}", "metadata.resourceVersion"},
        {"{'metadata':{'name':'p','resourceVersion':'-1'}}", "metadata.resourceVersion"},
        {"[1]", "metadata"},
    };
    struct arena a = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        CHECK(make(&a, cases[i].text, &err) == NULL);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK_CSTR(str_of(err.field), cases[i].field);
    }
    arena_done(&a);
}

TEST(object_lives_while_referenced)
{
    struct arena a = ARENA_INIT, holder = ARENA_INIT;
    struct obj *o = make(&a, "{'metadata':{'name':'p'}}", NULL);

    CHECK(obj_ref(o) == o);
    CHECK_INT(o->refs, 2);
    obj_hold(&holder, o);
    arena_done(&holder);
    CHECK_INT(o->refs, 1);
    CHECK_CSTR(o->name, "p");
    obj_unref(o);
    obj_unref(NULL);
    arena_done(&a);
}

TEST(conditions_by_type)
{
    struct arena a = ARENA_INIT;
    jval list =
        fixture_json(&a, "[{'type':'Ready','status':'True'},{'type':'Old','status':'False'},"
                         "{'type':'Odd','status':true}]");

    CHECK(condition_is_true(list, STR("Ready")));
    CHECK(!condition_is_true(list, STR("Old")));
    CHECK(!condition_is_true(list, STR("Odd")));
    CHECK(!condition_is_true(list, STR("None")));
    CHECK(j_is_absent(condition_find(list, STR("None"))));
    CHECK_CSTR(jstr(jgetc(condition_find(list, STR("Old")), "status")), "False");
    CHECK(!condition_is_true(JVAL_ABSENT, STR("Ready")));
    arena_done(&a);
}
