/*
 * Merge patch: the table of RFC 7386, appendix A. JSON patch: RFC 6902, appendix A, its rules on
 * pointers and indices, and the bounds. Diffs: what they must restore, and their exact lines.
 */
#include "base/test.h"
#include "json/mtree.h"
#include "json/patch.h"
#include "json/test-random-docs.h"
#include "json/write.h"

static struct doc *parse(str text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, NULL, &err);
    if (!d)
        test_note("%s in %.*s", err.message, STR_ARG(text));
    REQUIRE(d != NULL);
    return d;
}

static void check_same(struct doc *got, const char *want, const char *what)
{
    struct doc *w = parse(str_of(want));
    if (!CHECK(got && jequal(doc_root(got), doc_root(w))))
        test_note("%s: got %.*s, want %s", what, STR_ARG(got ? doc_text(got) : STR("nothing")),
                  want);
    doc_unref(w);
}

/* What a result document says of itself must be what its text says. */
static void check_consistent(struct doc *d)
{
    struct doc *again = parse(doc_text(d));
    CHECK(jequal(doc_root(d), doc_root(again)));
    doc_unref(again);
}

/* ---- merge patch ---- */

static const struct merge_case {
    const char *target, *patch, *result;
} merge_cases[] = {
    {"{\"a\":\"b\"}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"b\":\"c\"}", "{\"a\":\"b\",\"b\":\"c\"}"},
    {"{\"a\":\"b\"}", "{\"a\":null}", "{}"},
    {"{\"a\":\"b\",\"b\":\"c\"}", "{\"a\":null}", "{\"b\":\"c\"}"},
    {"{\"a\":[\"b\"]}", "{\"a\":\"c\"}", "{\"a\":\"c\"}"},
    {"{\"a\":\"c\"}", "{\"a\":[\"b\"]}", "{\"a\":[\"b\"]}"},
    {"{\"a\":{\"b\":\"c\"}}", "{\"a\":{\"b\":\"d\",\"c\":null}}", "{\"a\":{\"b\":\"d\"}}"},
    {"{\"a\":[{\"b\":\"c\"}]}", "{\"a\":[1]}", "{\"a\":[1]}"},
    {"[\"a\",\"b\"]", "[\"c\",\"d\"]", "[\"c\",\"d\"]"},
    {"{\"a\":\"b\"}", "[\"c\"]", "[\"c\"]"},
    {"{\"a\":\"foo\"}", "null", "null"},
    {"{\"a\":\"foo\"}", "\"bar\"", "\"bar\""},
    {"{\"e\":null}", "{\"a\":1}", "{\"e\":null,\"a\":1}"},
    {"[1,2]", "{\"a\":\"b\",\"c\":null}", "{\"a\":\"b\"}"},
    {"{}", "{\"a\":{\"bb\":{\"ccc\":null}}}", "{\"a\":{\"bb\":{}}}"},
    /* nulls inside arrays are values */
    {"{}", "{\"a\":[null,{\"b\":null}]}", "{\"a\":[null,{\"b\":null}]}"},
    {"{\"a\":1}", "{}", "{\"a\":1}"},
};

TEST(merge_patch_does_what_rfc_7386_lists)
{
    for (size_t i = 0; i < ARRAY_LEN(merge_cases); i++) {
        const struct merge_case *c = &merge_cases[i];
        struct doc *target = parse(str_of(c->target)), *patch = parse(str_of(c->patch));
        struct err err = ERR_INIT;
        struct doc *got = json_merge_patch(doc_root(target), doc_root(patch), &err);
        check_same(got, c->result, c->patch);
        doc_unref(got);
        doc_unref(patch);
        doc_unref(target);
    }
}

TEST(merge_patch_keeps_order_and_the_text_of_what_it_does_not_touch)
{
    struct doc *target = parse(STR("{\"z\":1.50,\"u\":{ \"\\u0061\" : [1, 2] },\"m\":{\"k\":1}}"));
    struct doc *patch = parse(STR("{\"m\":{\"l\":2},\"new\":true}"));
    struct doc *got = json_merge_patch(doc_root(target), doc_root(patch), NULL);
    REQUIRE(got != NULL);
    CHECK_CSTR(doc_text(got),
               "{\"z\":1.50,\"u\":{ \"\\u0061\" : [1, 2] },\"m\":{\"k\":1,\"l\":2},\"new\":true}");
    check_consistent(got);
    doc_unref(got);
    doc_unref(patch);
    doc_unref(target);
}

/* {"k0":0,...} with n members, values multiplied by factor. */
static struct doc *big_object(size_t n, size_t factor)
{
    struct strbuf b = STRBUF_INIT(64 << 20);
    strbuf_add_char(&b, '{');
    for (size_t i = 0; i < n; i++)
        strbuf_printf(&b, "%s\"k%zu\":%zu", i ? "," : "", i * 7919 % n, i * factor);
    strbuf_add_char(&b, '}');
    struct doc *d = parse(strbuf_str(&b));
    strbuf_done(&b);
    return d;
}

TEST(merge_patch_and_diff_of_big_objects_stay_near_linear)
{
    /* 100,000 members each: a search per member would be 5 * 10^9 comparisons, minutes. */
    struct doc *a = big_object(100000, 1), *b = big_object(100000, 2);
    struct doc *merged = json_merge_patch(doc_root(a), doc_root(b), NULL);
    REQUIRE(merged != NULL);
    CHECK_INT(jlen(doc_root(merged)), 100000);
    CHECK(jequal(doc_root(merged), doc_root(b)));
    struct doc *patch = json_diff_merge(doc_root(a), doc_root(b));
    CHECK_INT(jlen(doc_root(patch)), 99999); /* the zero stays */
    doc_unref(patch);
    doc_unref(merged);
    doc_unref(b);
    doc_unref(a);
}

/* ---- JSON patch ---- */

static const struct patch_case {
    const char *target, *patch;
    const char *result; /* or NULL: */
    const char *error, *field;
} patch_cases[] = {
    /* RFC 6902, appendix A, in its order */
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\"}]",
     "{\"baz\":\"qux\",\"foo\":\"bar\"}"},
    {"{\"foo\":[\"bar\",\"baz\"]}", "[{\"op\":\"add\",\"path\":\"/foo/1\",\"value\":\"qux\"}]",
     "{\"foo\":[\"bar\",\"qux\",\"baz\"]}"},
    {"{\"baz\":\"qux\",\"foo\":\"bar\"}", "[{\"op\":\"remove\",\"path\":\"/baz\"}]",
     "{\"foo\":\"bar\"}"},
    {"{\"foo\":[\"bar\",\"qux\",\"baz\"]}", "[{\"op\":\"remove\",\"path\":\"/foo/1\"}]",
     "{\"foo\":[\"bar\",\"baz\"]}"},
    {"{\"baz\":\"qux\",\"foo\":\"bar\"}",
     "[{\"op\":\"replace\",\"path\":\"/baz\",\"value\":\"boo\"}]",
     "{\"baz\":\"boo\",\"foo\":\"bar\"}"},
    {"{\"foo\":{\"bar\":\"baz\",\"waldo\":\"fred\"},\"qux\":{\"corge\":\"grault\"}}",
     "[{\"op\":\"move\",\"from\":\"/foo/waldo\",\"path\":\"/qux/thud\"}]",
     "{\"foo\":{\"bar\":\"baz\"},\"qux\":{\"corge\":\"grault\",\"thud\":\"fred\"}}"},
    {"{\"foo\":[\"all\",\"grass\",\"cows\",\"eat\"]}",
     "[{\"op\":\"move\",\"from\":\"/foo/1\",\"path\":\"/foo/3\"}]",
     "{\"foo\":[\"all\",\"cows\",\"eat\",\"grass\"]}"},
    {"{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}",
     "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"qux\"},"
     "{\"op\":\"test\",\"path\":\"/foo/1\",\"value\":2}]",
     "{\"baz\":\"qux\",\"foo\":[\"a\",2,\"c\"]}"},
    {"{\"baz\":\"qux\"}", "[{\"op\":\"test\",\"path\":\"/baz\",\"value\":\"bar\"}]", NULL,
     "testing value /baz failed: test failed", "/baz"},
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/child\",\"value\":{\"grandchild\":{}}}]",
     "{\"foo\":\"bar\",\"child\":{\"grandchild\":{}}}"},
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz\",\"value\":\"qux\",\"xyz\":123}]",
     "{\"foo\":\"bar\",\"baz\":\"qux\"}"},
    {"{\"foo\":\"bar\"}", "[{\"op\":\"add\",\"path\":\"/baz/bat\",\"value\":\"qux\"}]", NULL,
     "add operation does not apply: doc is missing path: \"/baz/bat\": missing value", "/baz/bat"},
    {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":10}]",
     "{\"/\":9,\"~1\":10}"},
    {"{\"/\":9,\"~1\":10}", "[{\"op\":\"test\",\"path\":\"/~01\",\"value\":\"10\"}]", NULL,
     "testing value /~01 failed: test failed", "/~01"},
    {"{\"foo\":[\"bar\"]}", "[{\"op\":\"add\",\"path\":\"/foo/-\",\"value\":[\"abc\",\"def\"]}]",
     "{\"foo\":[\"bar\",[\"abc\",\"def\"]]}"},
    /* the whole document */
    {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"\",\"value\":[]}]", "[]"},
    {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"\",\"value\":3}]", "3"},
    {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"\",\"value\":{\"a\":1}}]", "{\"a\":1}"},
    {"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"\",\"path\":\"/b\"}]", "{\"a\":1,\"b\":{\"a\":1}}"},
    {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"\"}]", "{\"b\":1}"},
    {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"\"}]", NULL,
     "remove of the whole document leaves none", ""},
    {"{\"a\":1}", "[]", "{\"a\":1}"},
    /* keys: empty, escaped, and "/" + nothing names the empty key */
    {"{\"\":1}", "[{\"op\":\"replace\",\"path\":\"/\",\"value\":2}]", "{\"\":2}"},
    {"{\"a/b\":{\"m~n\":1}}", "[{\"op\":\"replace\",\"path\":\"/a~1b/m~0n\",\"value\":2}]",
     "{\"a/b\":{\"m~n\":2}}"},
    {"{}", "[{\"op\":\"add\",\"path\":\"/a~2\",\"value\":1}]", NULL,
     "path has a '~' without 0 or 1", "/a~2"},
    {"{}", "[{\"op\":\"add\",\"path\":\"/a~\",\"value\":1}]", NULL, "path has a '~' without 0 or 1",
     "/a~"},
    {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"a\",\"value\":1}]", NULL,
     "path must be empty or start with '/'", "a"},
    {"{\"0\":1}", "[{\"op\":\"replace\",\"path\":\"/0\",\"value\":2}]", "{\"0\":2}"},
    {"{}", "[{\"op\":\"add\",\"path\":\"/-\",\"value\":2}]", "{\"-\":2}"},
    /* array indices */
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/2\",\"value\":3}]", "[1,2,3]"},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/0\",\"value\":3}]", "[3,1,2]"},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/3\",\"value\":3}]", NULL,
     "error in add for path: '/3': Unable to access invalid index: 3: invalid index referenced",
     "/3"},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/01\",\"value\":3}]", NULL,
     "error in add for path: '/01': Unable to access invalid index: 01: invalid index referenced",
     "/01"},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/-1\",\"value\":3}]", NULL,
     "error in add for path: '/-1': Unable to access invalid index: -1: invalid index referenced",
     "/-1"},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/1e0\",\"value\":3}]", NULL,
     "error in add for path: '/1e0': Unable to access invalid index: 1e0: invalid index referenced",
     "/1e0"},
    {"[1,2]", "[{\"op\":\"add\",\"path\":\"/\",\"value\":3}]", NULL,
     "error in add for path: '/': Unable to access invalid index: : invalid index referenced", "/"},
    {"[1,2]", "[{\"op\":\"remove\",\"path\":\"/-\"}]", NULL,
     "error in remove for path: '/-': Unable to access invalid index: -: invalid index referenced",
     "/-"},
    {"[1,2]", "[{\"op\":\"remove\",\"path\":\"/2\"}]", NULL,
     "error in remove for path: '/2': Unable to access invalid index: 2: invalid index referenced",
     "/2"},
    {"[1,2]", "[{\"op\":\"replace\",\"path\":\"/2\",\"value\":3}]", NULL,
     "replace operation does not apply: doc is missing key: /2: missing value", "/2"},
    {"[1,2]", "[{\"op\":\"test\",\"path\":\"/99999999999999999999\",\"value\":3}]", NULL,
     "testing value /99999999999999999999 failed: test failed", "/99999999999999999999"},
    /* what is not there */
    {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b\"}]", NULL,
     "error in remove for path: '/b': Unable to remove nonexistent key: b: missing value", "/b"},
    {"{\"a\":1}", "[{\"op\":\"remove\",\"path\":\"/b/c\"}]", NULL,
     "remove operation does not apply: doc is missing path: \"/b/c\": missing value", "/b/c"},
    {"{\"a\":1}", "[{\"op\":\"replace\",\"path\":\"/b\",\"value\":1}]", NULL,
     "replace operation does not apply: doc is missing key: /b: missing value", "/b"},
    {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a/b\",\"value\":1}]", NULL,
     "add operation does not apply: doc is missing path: \"/a/b\": missing value", "/a/b"},
    {"{\"a\":1}", "[{\"op\":\"copy\",\"from\":\"/b\",\"path\":\"/c\"}]", NULL,
     "copy operation does not apply: doc is missing from path: /b: missing value", "/b"},
    {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/b\",\"path\":\"/c\"}]", NULL,
     "error in move for path: '/b': Unable to remove nonexistent key: b: missing value", "/b"},
    {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/b\",\"value\":null}]", NULL,
     "testing value /b failed: test failed", "/b"},
    /* test compares values: numbers by value, members in any order, null is not absent */
    {"{\"a\":1}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":1.0}]", "{\"a\":1}"},
    {"{\"a\":{\"x\":[1],\"y\":\"\\u0041\"}}",
     "[{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":\"A\",\"x\":[1]}}]",
     "{\"a\":{\"x\":[1],\"y\":\"A\"}}"},
    {"{\"a\":null}", "[{\"op\":\"test\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}"},
    {"{\"a\":{\"x\":1}}",
     "[{\"op\":\"add\",\"path\":\"/a/y\",\"value\":2},"
     "{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"y\":2,\"x\":1}},"
     "{\"op\":\"test\",\"path\":\"/a\",\"value\":{\"x\":1}}]",
     NULL, "testing value /a failed: test failed", "/a"},
    {"{\"a\":[1,2]}",
     "[{\"op\":\"remove\",\"path\":\"/a/0\"},{\"op\":\"test\",\"path\":\"/a\",\"value\":[2]}]",
     "{\"a\":[2]}"},
    /* add replaces a member; move onto itself changes nothing; not into itself */
    {"{\"a\":1}", "[{\"op\":\"add\",\"path\":\"/a\",\"value\":null}]", "{\"a\":null}"},
    {"{\"a\":1}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a\"}]", "{\"a\":1}"},
    {"{\"a\":{\"b\":1}}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/a/b\"}]", NULL,
     "move operation does not apply: the destination is inside the source", "/a/b"},
    {"{\"a\":1,\"ab\":2}", "[{\"op\":\"move\",\"from\":\"/a\",\"path\":\"/ab\"}]", "{\"ab\":1}"},
    /* a copy does not change with its original */
    {"{\"a\":{\"x\":1}}",
     "[{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/b\"},"
     "{\"op\":\"replace\",\"path\":\"/a/x\",\"value\":2},"
     "{\"op\":\"copy\",\"from\":\"/a\",\"path\":\"/c\"},{\"op\":\"remove\",\"path\":\"/a/x\"}]",
     "{\"a\":{},\"b\":{\"x\":1},\"c\":{\"x\":2}}"},
    /* malformed patches */
    {"{}", "{\"op\":\"add\"}", NULL, "a JSON patch is an array of operations", ""},
    {"{}", "[3]", NULL, "operation is not an object", ""},
    {"{}", "[{\"path\":\"/a\"}]", NULL, "Unexpected kind: unknown", ""},
    {"{}", "[{\"op\":\"spam\",\"path\":\"/a\"}]", NULL, "Unexpected kind: spam", ""},
    {"{}", "[{\"op\":\"add\",\"value\":1}]", NULL,
     "add operation failed to decode path: missing value", ""},
    {"{}", "[{\"op\":\"add\",\"path\":7,\"value\":1}]", NULL,
     "add operation failed to decode path: missing value", ""},
    {"{}", "[{\"op\":\"add\",\"path\":\"/a\"}]", NULL,
     "add operation failed to decode value: missing value", "/a"},
    {"{\"a\":1}", "[{\"op\":\"copy\",\"path\":\"/z\"}]", NULL,
     "copy operation failed to decode from: operation, missing from field: missing value", "/z"},
    /* all or nothing */
    {"{\"a\":1}",
     "[{\"op\":\"remove\",\"path\":\"/a\"},{\"op\":\"test\",\"path\":\"/a\",\"value\":1}]", NULL,
     "testing value /a failed: test failed", "/a"},
};

TEST(json_patch_does_what_rfc_6902_says)
{
    for (size_t i = 0; i < ARRAY_LEN(patch_cases); i++) {
        const struct patch_case *c = &patch_cases[i];
        struct doc *target = parse(str_of(c->target)), *patch = parse(str_of(c->patch));
        struct err err = ERR_INIT;
        struct doc *got = json_patch(doc_root(target), doc_root(patch), &err);
        if (c->result) {
            check_same(got, c->result, c->patch);
            if (!got)
                test_note("%s", err.message);
        } else {
            CHECK(got == NULL);
            CHECK_INT(err.code, ERR_INVALID);
            CHECK_CSTR(str_of(err.message), c->error);
            CHECK_CSTR(str_of(err.field), c->field);
        }
        check_same(target, c->target, "the target afterwards");
        doc_unref(got);
        doc_unref(patch);
        doc_unref(target);
    }
}

/* Applies a patch that the caller wrote into *b. */
static struct doc *patch_with(const char *target, struct strbuf *b, struct err *err)
{
    struct doc *t = parse(str_of(target)), *p = parse(strbuf_str(b));
    struct doc *got = json_patch(doc_root(t), doc_root(p), err);
    doc_unref(p);
    doc_unref(t);
    strbuf_done(b);
    return got;
}

TEST(json_patch_takes_ten_thousand_operations_and_no_more)
{
    for (size_t n = 10000; n <= 10001; n++) {
        struct strbuf b = STRBUF_INIT(8 << 20);
        for (size_t i = 0; i < n; i++)
            strbuf_printf(&b, "%s{\"op\":\"add\",\"path\":\"/0\",\"value\":%zu}", i ? "," : "[", i);
        strbuf_add_char(&b, ']');
        struct err err = ERR_INIT;
        struct doc *got = patch_with("[]", &b, &err);
        CHECK((got != NULL) == (n == 10000));
        if (got) {
            CHECK_INT(jlen(doc_root(got)), 10000);
            CHECK_INT(jint(jat(doc_root(got), 0), -1), 9999);
            CHECK_INT(jint(jat(doc_root(got), 9999), -1), 0);
            check_consistent(got);
        } else {
            CHECK_INT(err.code, ERR_TOO_LARGE);
            CHECK_CSTR(str_of(err.message),
                       "The allowed maximum operations in a JSON patch is 10000, got 10001");
        }
        doc_unref(got);
    }
}

TEST(json_patch_that_doubles_the_document_with_each_copy_is_stopped)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < 64; i++)
        strbuf_printf(&b, "%s{\"op\":\"copy\",\"from\":\"\",\"path\":\"/c%zu\"}", i ? "," : "[", i);
    strbuf_add_char(&b, ']');
    struct err err = ERR_INIT;
    struct doc *got = patch_with("{\"text\":\"0123456789\"}", &b, &err);
    CHECK(got == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK(str_starts(str_of(err.message), STR("Unable to complete the copy")));
    doc_unref(got);
}

TEST(json_patch_cannot_nest_deeper_than_documents_may)
{
    struct strbuf b = STRBUF_INIT(64 << 20), path = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < 2000; i++) {
        strbuf_printf(&b, "%s{\"op\":\"add\",\"path\":\"%s/a\",\"value\":{}}", i ? "," : "[",
                      path.p ? path.p : "");
        strbuf_add_cstr(&path, "/a");
    }
    strbuf_add_char(&b, ']');
    strbuf_done(&path);
    struct err err = ERR_INIT;
    struct doc *got = patch_with("{}", &b, &err);
    CHECK(got == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    doc_unref(got);
}

TEST(json_patch_that_shifts_a_long_array_for_ever_is_stopped)
{
    struct strbuf target = STRBUF_INIT(8 << 20), b = STRBUF_INIT(8 << 20);
    for (size_t i = 0; i < 1000000; i++)
        strbuf_add_cstr(&target, i ? ",0" : "[0");
    strbuf_add_char(&target, ']');
    for (size_t i = 0; i < 5000; i++)
        strbuf_printf(&b, "%s{\"op\":\"remove\",\"path\":\"/0\"}", i ? "," : "[");
    strbuf_add_char(&b, ']');
    struct err err = ERR_INIT;
    struct doc *got = patch_with(target.p, &b, &err);
    CHECK(got == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    doc_unref(got);
    strbuf_done(&target);
}

/* ---- the tree itself ---- */

TEST(mtree_objects_keep_order_and_find_keys_through_any_size)
{
    struct arena a = ARENA_INIT;
    struct mnode *o = mnode_object(&a);
    for (size_t round = 0; round < 2; round++)
        for (size_t i = 0; i < 100; i++)
            mnode_set(&a, o, arena_printf(&a, "k%zu", i), mnode_str(&a, STR("v")));
    CHECK_INT(mnode_len(o), 100);
    for (size_t i = 0; i < 100; i += 2)
        CHECK(mnode_del(&a, o, arena_printf(&a, "k%zu", i)) != NULL);
    CHECK(mnode_del(&a, o, STR("k0")) == NULL);
    CHECK(mnode_get(&a, o, STR("k0")) == NULL);
    CHECK(mnode_get(&a, o, STR("k99")) != NULL);
    mnode_set(&a, o, STR("k0"), mnode_parse(&a, STR("[1]"), NULL));
    size_t n = 0;
    for (struct miter it = miter(&a, o); mnext(&it); n++)
        CHECK_STR(it.key, n < 50 ? arena_printf(&a, "k%zu", 2 * n + 1) : STR("k0"));
    CHECK_INT(n, 51);
    arena_done(&a);
}

TEST(mtree_elements_can_be_reordered)
{
    struct arena a = ARENA_INIT;
    struct doc *d = parse(STR("[1,2,3,4]"));
    struct mnode *arr = mnode_leaf(&a, doc_root(d));
    CHECK_INT(mnode_len(arr), 4);
    mnode_insert(&a, arr, 0, mnode_take(&a, arr, 3));
    mnode_insert(&a, arr, 4, mnode_parse(&a, STR("{}"), NULL));
    CHECK(mnode_at(&a, arr, 5) == NULL);
    CHECK_INT(mnode_type(mnode_at(&a, arr, 4)), J_OBJECT);
    struct doc *got = mnode_doc(arr, 0, 0, NULL);
    REQUIRE(got != NULL);
    CHECK_CSTR(doc_text(got), "[4,1,2,3,{}]");
    CHECK(mnode_equal(arr, doc_root(got)));
    doc_unref(got);
    doc_unref(d);
    arena_done(&a);
}

/* ---- diff ---- */

static const struct {
    const char *a, *b, *patch, *lines;
} diff_cases[] = {
    {"{\"a\":1}", "{\"a\":1.0}", "{}", ""},
    {"{\"spec\":{\"replicas\":2}}", "{\"spec\":{\"replicas\":3}}", "{\"spec\":{\"replicas\":3}}",
     "spec.replicas: 2 -> 3\n"},
    {"{\"gone\":[1],\"a\":{\"x\":1,\"y\":2}}", "{\"n\":\"s\",\"a\":{\"y\":3}}",
     "{\"n\":\"s\",\"a\":{\"y\":3,\"x\":null},\"gone\":null}",
     "n: (absent) -> \"s\"\na.y: 2 -> 3\na.x: 1 -> (removed)\ngone: [1] -> (removed)\n"},
    {"{\"l\":[1,{\"k\":1},3]}", "{\"l\":[1,{\"k\":2}]}", "{\"l\":[1,{\"k\":2}]}",
     "l[1].k: 1 -> 2\nl[2]: 3 -> (removed)\n"},
    {"{\"l\":[1]}", "{\"l\":[1,2]}", "{\"l\":[1,2]}", "l[1]: (absent) -> 2\n"},
    {"{\"a\":{\"b\":1}}", "{\"a\":[]}", "{\"a\":[]}", "a: {\"b\":1} -> []\n"},
    {"{\"a\":1}", "{\"a\":null}", "{\"a\":null}", "a: 1 -> null\n"},
    {"{}", "{\"a\":null}", "{}", "a: (absent) -> null\n"},
    {"{\"a\":{}}", "{\"a\":{}}", "{}", ""},
    {"1", "2", "2", "(document): 1 -> 2\n"},
    {"7", "7", "7", ""},
};

TEST(diff_gives_the_patch_and_the_lines)
{
    for (size_t i = 0; i < ARRAY_LEN(diff_cases); i++) {
        struct doc *a = parse(str_of(diff_cases[i].a)), *b = parse(str_of(diff_cases[i].b));
        struct doc *patch = json_diff_merge(doc_root(a), doc_root(b));
        struct strbuf lines = STRBUF_INIT(1 << 20);
        CHECK_CSTR(doc_text(patch), diff_cases[i].patch);
        json_diff_print(doc_root(a), doc_root(b), &lines);
        CHECK_CSTR(strbuf_str(&lines), diff_cases[i].lines);
        strbuf_done(&lines);
        doc_unref(patch);
        doc_unref(b);
        doc_unref(a);
    }
}

TEST(diff_lines_cut_long_values_between_characters)
{
    struct strbuf text = STRBUF_INIT(1 << 20), lines = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&text, "{\"a\":\"");
    for (size_t i = 0; i < 200; i++)
        strbuf_add_cstr(&text, "\xc3\xa9");
    strbuf_add_cstr(&text, "\"}");
    struct doc *a = parse(STR("{}")), *b = parse(strbuf_str(&text));
    json_diff_print(doc_root(a), doc_root(b), &lines);
    CHECK(lines.len < 160);
    CHECK(str_is_utf8(strbuf_str(&lines)));
    CHECK(str_ends(strbuf_str(&lines), STR("...\n")));
    doc_unref(b);
    doc_unref(a);
    strbuf_done(&text);
    strbuf_done(&lines);
}

static struct doc *random_doc(struct rng *r)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    random_object(r, 4, &b);
    struct doc *d = parse(strbuf_str(&b));
    strbuf_done(&b);
    return d;
}

/* Without null members, which a merge patch cannot carry. */
static struct doc *without_nulls(struct doc *d)
{
    struct doc *empty = parse(STR("{}"));
    struct doc *clean = json_merge_patch(doc_root(empty), doc_root(d), NULL);
    REQUIRE(clean != NULL);
    doc_unref(empty);
    doc_unref(d);
    return clean;
}

TEST(merge_patch_of_the_diff_restores_the_other_document)
{
    struct rng *r = test_rng();
    for (size_t i = 0; i < test_cases(3000); i++) {
        struct doc *a = random_doc(r), *b = without_nulls(random_doc(r));
        struct doc *patch = json_diff_merge(doc_root(a), doc_root(b));
        struct doc *got = json_merge_patch(doc_root(a), doc_root(patch), NULL);
        REQUIRE(got != NULL);
        if (!CHECK(jequal(doc_root(got), doc_root(b))))
            test_note("a %.*s b %.*s patch %.*s", STR_ARG(doc_text(a)), STR_ARG(doc_text(b)),
                      STR_ARG(doc_text(patch)));
        check_consistent(patch);
        check_consistent(got);
        struct strbuf lines = STRBUF_INIT(1 << 20);
        json_diff_print(doc_root(a), doc_root(b), &lines);
        CHECK((lines.len == 0) == jequal(doc_root(a), doc_root(b)));
        strbuf_done(&lines);
        doc_unref(got);
        doc_unref(patch);
        doc_unref(b);
        doc_unref(a);
    }
}
