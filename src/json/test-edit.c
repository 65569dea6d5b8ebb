/*
 * Edits: applying them, and the patches they become. The property tests hold edit_apply against a
 * naive rewriting of the document, the spliced tape against a parse of the same text, and both
 * patches against the results they must produce.
 */
#include "base/test.h"
#include "json/edit.h"
#include "json/patch.h"
#include "json/tape.h"
#include "json/test-random-docs.h"
#include "json/write.h"

static struct doc *parse(const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(str_of(text), NULL, &err);
    if (!d) {
        test_note("%s: %s", text, err.message);
        REQUIRE(d != NULL);
    }
    return d;
}

/* A spliced document is what parsing its text gives, node by node. */
static void check_spliced(const struct doc *d)
{
    struct err err = ERR_INIT;
    const struct json_limits limits = {.max_depth = DEPTH_MAX};
    struct doc *p = doc_parse(doc_text(d), &limits, &err);
    if (!CHECK(p != NULL)) {
        test_note("%s", err.message);
        return;
    }
    CHECK_INT(d->nodes, p->nodes);
    CHECK(d->nodes == p->nodes && memcmp(d->tape, p->tape, d->nodes * sizeof(uint64_t)) == 0);
    CHECK_INT(d->side_len, p->side_len);
    CHECK(d->side_len == 0 || memcmp(d->side, p->side, d->side_len) == 0);
    CHECK(d->depth >= p->depth);
    doc_unref(p);
}

/* "path=value" sets, "path" deletes; NULL ends. */
static void add_edits(struct edit *e, const char *const *edits)
{
    for (; *edits; edits++) {
        str rest = str_of(*edits), path = str_cut(&rest, '=');
        if (rest.p)
            edit_set_raw(e, path, rest);
        else
            edit_del(e, path);
    }
}

/* ---- apply ---- */

TEST(a_document_is_set_as_it_is)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    struct doc *base = parse("{\"a\":1}");
    edit_init(&e, &a);
    edit_set_str(&e, STR("/b"), STR("x"));
    edit_set_doc(&e, STR("/a"), parse("[{\"k\":\"\\u00e9\"},2]"));
    edit_set_int(&e, STR("/c"), 3);
    struct doc *d = edit_apply(&e, base, NULL);
    CHECK_STR(doc_text(d), STR("{\"a\":[{\"k\":\"\\u00e9\"},2],\"b\":\"x\",\"c\":3}"));
    check_spliced(d);
    doc_unref(d);
    doc_unref(base);
    edit_done(&e);
    arena_done(&a);
}

/* Values are parsed together: two halves must not become one whole. */
TEST(each_value_must_stand_by_itself)
{
    static const char *const halves[][2] = {{"1,[2", "3]"}, {"[1", "2]"}, {"1,2", "3"}, {"", "1"}};
    for (size_t i = 0; i < ARRAY_LEN(halves); i++) {
        struct arena a = ARENA_INIT;
        struct edit e;
        struct doc *base = parse("{}");
        edit_init(&e, &a);
        edit_set_raw(&e, STR("/a"), str_of(halves[i][0]));
        edit_set_raw(&e, STR("/b"), str_of(halves[i][1]));
        CHECK(edit_apply(&e, base, NULL) == NULL);
        doc_unref(base);
        edit_done(&e);
        arena_done(&a);
    }
}

TEST(edits_apply)
{
    static const struct {
        const char *base;
        const char *edits[4];
        const char *want;
    } cases[] = {
        {"{\"a\":1,\"b\":2}", {"/a=3"}, "{\"a\":3,\"b\":2}"},
        {"{\"a\":1,\"b\":2}", {"/a"}, "{\"b\":2}"},
        {"{\"a\":1,\"b\":2}", {"/b"}, "{\"a\":1}"},
        {"{\"a\":1}", {"/a"}, "{}"},
        {"{}", {"/a=1"}, "{\"a\":1}"},
        {"{\"a\":1}", {"/nope"}, "{\"a\":1}"},
        {"{\"a\":1}", {"/no/such/thing"}, "{\"a\":1}"},
        {"{\"a\":{\"b\":{\"c\":1}}}", {"/a/b/c={\"d\":[]}"}, "{\"a\":{\"b\":{\"c\":{\"d\":[]}}}}"},
        /* what is missing on the way is made */
        {"{}", {"/a/b/c=1", "/a/b/d=2"}, "{\"a\":{\"b\":{\"c\":1,\"d\":2}}}"},
        {"{\"a\":null}", {"/a/b=1"}, "{\"a\":{\"b\":1}}"},
        {"{}", {"/a/-=1", "/a/-=2"}, "{\"a\":[1,2]}"},
        {"{}", {"/a/-/b=1"}, "{\"a\":[{\"b\":1}]}"},
        {"{}", {"/a/0=1"}, "{\"a\":{\"0\":1}}"},
        /* arrays */
        {"{\"a\":[1,2,3]}", {"/a/1=9"}, "{\"a\":[1,9,3]}"},
        {"{\"a\":[1,2,3]}", {"/a/0"}, "{\"a\":[2,3]}"},
        {"{\"a\":[1,2,3]}", {"/a/0", "/a/0"}, "{\"a\":[3]}"},
        {"{\"a\":[1]}", {"/a/-=2"}, "{\"a\":[1,2]}"},
        {"[{\"x\":1},{\"x\":2}]", {"/1/x=3"}, "[{\"x\":1},{\"x\":3}]"},
        /* a later edit of the same place wins */
        {"{\"a\":1}", {"/a=2", "/a=3"}, "{\"a\":3}"},
        {"{\"a\":1}", {"/a", "/a=3"}, "{\"a\":3}"},
        {"{\"a\":1}", {"/a={\"x\":1}", "/a/y=2"}, "{\"a\":{\"x\":1,\"y\":2}}"},
        {"{\"a\":{\"x\":1}}", {"/a/x=2", "/a"}, "{}"},
        /* escapes in paths, odd keys */
        {"{\"a/b\":1,\"m~n\":2}", {"/a~1b=3", "/m~0n"}, "{\"a/b\":3}"},
        {"{}", {"/a\nb=1"}, "{\"a\\nb\":1}"},
        {"{\"\":1}", {"/=2"}, "{\"\":2}"},
        /* the whole document */
        {"{\"a\":1}", {"=[1]"}, "[1]"},
        {"null", {"/a=1"}, "{\"a\":1}"},
        /* text that is not touched stays as it is */
        {"{ \"a\" : [ 1.50 , \"\\u0041\" ] , \"b\":1 }",
         {"/b=2"},
         "{\"a\":[ 1.50 , \"\\u0041\" ],\"b\":2}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct edit e;
        struct err err = ERR_INIT;
        edit_init(&e, &a);
        add_edits(&e, cases[i].edits);
        struct doc *base = parse(cases[i].base);
        struct doc *d = edit_apply(&e, base, &err);
        if (CHECK(d != NULL)) {
            CHECK_CSTR(doc_text(d), cases[i].want);
            check_spliced(d);
        } else {
            test_note("case %zu: %s", i, err.message);
        }
        CHECK_CSTR(doc_text(base), cases[i].base);
        doc_unref(d);
        doc_unref(base);
        edit_done(&e);
        arena_done(&a);
    }
}

TEST(edits_that_do_not_apply_say_why)
{
    static const struct {
        const char *base, *edits[2], *message;
    } cases[] = {
        {"{\"a\":1}", {"/a/b=1"}, "/a/b: leads through a value that is neither object nor array"},
        {"{\"a\":1}", {"/a/b"}, "/a/b: leads through a value that is neither object nor array"},
        {"{\"a\":\"x\"}",
         {"/a/b/c=1"},
         "/a/b/c: leads through a value that is neither object nor array"},
        {"{\"a\":[1]}", {"/a/1=1"}, "/a/1: index is out of range"},
        {"{\"a\":[1]}", {"/a/1"}, "/a/1: index is out of range"},
        {"{\"a\":[1]}", {"/a/x=1"}, "/a/x: index is out of range"},
        {"{\"a\":[1]}", {"/a/-"}, "/a/-: index is out of range"},
        {"{\"a\":[1]}", {"/a/00=1"}, "/a/00: index is out of range"},
        {"{\"a\":[]}", {"/a/0/b=1"}, "/a/0/b: index is out of range"},
        {"{}", {"a=1"}, "a: a path begins with '/'"},
        {"{}", {""}, ": the document itself cannot be deleted"},
        {"{}", {"/a={"}, "value for /a: unexpected end at offset 1: expected a key in quotes"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct edit e;
        struct err err = ERR_INIT;
        edit_init(&e, &a);
        add_edits(&e, (const char *const[]){cases[i].edits[0], NULL});
        struct doc *base = parse(cases[i].base);
        CHECK(edit_apply(&e, base, &err) == NULL);
        CHECK_CSTR(str_of(err.message), cases[i].message);
        CHECK_INT(err.code, ERR_INVALID);
        CHECK(edit_as_merge_patch(&e, base, NULL) == NULL);
        CHECK(edit_as_json_patch(&e, base, NULL) == NULL);
        doc_unref(base);
        edit_done(&e);
        arena_done(&a);
    }
}

TEST(an_empty_edit_gives_the_same_document)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    CHECK(edit_is_empty(&e));
    struct doc *base = parse("{\"a\":1}");
    struct doc *d = edit_apply(&e, base, NULL);
    CHECK(d == base);
    doc_unref(d);
    doc_unref(base);
    edit_done(&e);
    arena_done(&a);
}

TEST(typed_edits)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    struct doc *other = parse("{\"x\":[ 1 ]}"), *base = parse("{\"gone\":1}");
    edit_init(&e, &a);
    edit_set_str(&e, STR("/s"), STR("a\"b"));
    edit_set_int(&e, STR("/i"), INT64_MIN);
    edit_set_bool(&e, STR("/t"), true);
    edit_set(&e, STR("/v"), jgetc(doc_root(other), "x"));
    edit_set(&e, STR("/gone"), jgetc(doc_root(other), "absent"));
    edit_set_bool(&e, edit_path(&a, STR("l"), STR("a/b~c")), false);
    CHECK(!edit_is_empty(&e));
    doc_unref(other); /* values were copied */
    struct doc *d = edit_apply(&e, base, NULL);
    REQUIRE(d != NULL);
    CHECK_STR(doc_text(d), STR("{\"s\":\"a\\\"b\",\"i\":-9223372036854775808,\"t\":true,"
                               "\"v\":[ 1 ],\"l\":{\"a/b~c\":false}}"));
    check_spliced(d);
    doc_unref(d);
    doc_unref(base);
    edit_done(&e);
    arena_done(&a);
}

/* Each edit puts the document into itself, one level deeper, until the limit says no. */
TEST(depth_stays_bounded)
{
    struct doc *d = parse("{\"a\":{\"b\":[]}}");
    struct err err = ERR_INIT;
    int rounds = 0;
    for (struct doc *next = d; next; rounds++) {
        struct arena a = ARENA_INIT;
        struct edit e;
        edit_init(&e, &a);
        edit_set(&e, STR("/c"), doc_root(d));
        next = edit_apply(&e, d, &err);
        if (next) {
            check_spliced(next);
            doc_unref(d);
            d = next;
        }
        edit_done(&e);
        arena_done(&a);
    }
    CHECK_INT(d->depth, DEPTH_DEFAULT);
    CHECK_INT(rounds, DEPTH_DEFAULT - 3 + 1); /* three levels to begin with; the last one failed */
    CHECK_INT(err.code, ERR_TOO_LARGE);
    doc_unref(d);
}

TEST(depth_is_bounded_below_a_long_path)
{
    struct err err = ERR_INIT;
    /* A chain of 255 levels takes one more below its end, and no second. */
    struct strbuf deep = STRBUF_INIT(10000), path = STRBUF_INIT(10000);
    for (int i = 0; i < 255; i++) {
        strbuf_add_cstr(&deep, "{\"a\":");
        strbuf_add_cstr(&path, "/a");
    }
    strbuf_add_cstr(&deep, "0");
    for (int i = 0; i < 255; i++)
        strbuf_add_char(&deep, '}');
    struct doc *base = doc_parse(strbuf_str(&deep), NULL, NULL);
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    edit_set_raw(&e, strbuf_str(&path), STR("[]"));
    struct doc *d = edit_apply(&e, base, NULL);
    CHECK(d != NULL);
    doc_unref(d);
    edit_set_raw(&e, strbuf_str(&path), STR("[[]]"));
    CHECK(edit_apply(&e, base, &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    edit_done(&e);
    arena_done(&a);
    doc_unref(base);
    strbuf_done(&deep);
    strbuf_done(&path);
}

TEST(a_path_without_end_is_refused)
{
    struct strbuf path = STRBUF_INIT(100000);
    for (int i = 0; i < 5000; i++)
        strbuf_add_cstr(&path, "/a");
    struct doc *base = parse("{}");
    struct arena a = ARENA_INIT;
    struct edit e;
    struct err err = ERR_INIT;
    edit_init(&e, &a);
    edit_set_bool(&e, strbuf_str(&path), true);
    CHECK(edit_apply(&e, base, &err) == NULL);
    CHECK_INT(err.code, ERR_TOO_LARGE);
    CHECK(edit_as_json_patch(&e, base, &err) == NULL);
    CHECK(edit_as_merge_patch(&e, base, &err) == NULL);
    edit_done(&e);
    arena_done(&a);
    doc_unref(base);
    strbuf_done(&path);
}

TEST(edits_of_nothing_make_a_document)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    edit_set_int(&e, STR("/spec/replicas"), 2);
    struct doc *d = edit_apply(&e, NULL, NULL);
    REQUIRE(d != NULL);
    CHECK_STR(doc_text(d), STR("{\"spec\":{\"replicas\":2}}"));
    doc_unref(d);
    edit_done(&e);
    arena_done(&a);
}

/* The depth of a document made by many edits is known to within the limit, never beyond it. */
TEST(a_thousand_edits_do_not_wear_a_document_out)
{
    struct doc *d = parse("{\"a\":{\"b\":{\"c\":{\"n\":0,\"x\":[[\"\\t\"]]},\"y\":{}},\"z\":1}}");
    for (int i = 1; i <= 1000; i++) {
        struct arena a = ARENA_INIT;
        struct edit e;
        edit_init(&e, &a);
        edit_set_int(&e, STR("/a/b/c/n"), i);
        struct doc *next = edit_apply(&e, d, NULL);
        REQUIRE(next != NULL);
        doc_unref(d);
        d = next;
        edit_done(&e);
        arena_done(&a);
    }
    CHECK_STR(doc_text(d),
              STR("{\"a\":{\"b\":{\"c\":{\"n\":1000,\"x\":[[\"\\t\"]]},\"y\":{}},\"z\":1}}"));
    check_spliced(d);
    doc_unref(d);
}

/* Repeated keys of the base stay dead in what is copied, and are gone from what is written anew. */
TEST(edits_of_a_document_with_duplicate_keys)
{
    const struct json_limits limits = {.allow_duplicate_keys = true};
    struct doc *base = doc_parse(
        STR("{\"a\":1,\"o\":{\"x\\n\":1,\"x\\n\":2,\"y\":3,\"y\":4},\"a\":5}"), &limits, NULL);
    REQUIRE(base != NULL);
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    edit_set_int(&e, STR("/b"), 6);
    struct doc *d = edit_apply(&e, base, NULL);
    REQUIRE(d != NULL);
    CHECK_STR(doc_text(d), STR("{\"o\":{\"x\\n\":1,\"x\\n\":2,\"y\":3,\"y\":4},\"a\":5,\"b\":6}"));
    CHECK_INT(jlen(jgetc(doc_root(d), "o")), 2);
    CHECK_INT(jint(jgetc(jgetc(doc_root(d), "o"), "x\n"), 0), 2);
    CHECK_INT(jint(jgetc(jgetc(doc_root(d), "o"), "y"), 0), 4);
    doc_unref(d);
    edit_del(&e, STR("/o/y"));
    d = edit_apply(&e, base, NULL);
    REQUIRE(d != NULL);
    CHECK_STR(doc_text(d), STR("{\"o\":{\"x\\n\":2},\"a\":5,\"b\":6}"));
    check_spliced(d);
    doc_unref(d);
    doc_unref(base);
    edit_done(&e);
    arena_done(&a);
}

/* ---- as patches ---- */

TEST(edits_as_merge_patch)
{
    static const struct {
        const char *base;
        const char *edits[4];
        const char *want;
    } cases[] = {
        {"{\"a\":1}", {"/a=2"}, "{\"a\":2}"},
        {"{\"a\":1}", {"/a"}, "{\"a\":null}"},
        {"{\"a\":1}", {"/b"}, "{}"},
        {"{\"s\":{\"a\":1,\"b\":2}}", {"/s/a=2", "/s/c=3"}, "{\"s\":{\"a\":2,\"c\":3}}"},
        {"{\"s\":{\"a\":1}}", {"/s/x/y=1"}, "{\"s\":{\"x\":{\"y\":1}}}"},
        {"{\"s\":{\"a\":[1,2,3],\"b\":1}}", {"/s/a/1=9"}, "{\"s\":{\"a\":[1,9,3]}}"},
        {"{\"s\":{\"a\":[{\"x\":1}]}}",
         {"/s/a/0/x=2", "/s/a/-={}"},
         "{\"s\":{\"a\":[{\"x\":2},{}]}}"},
        /* an object in place of an object: what it lacks must be deleted */
        {"{\"s\":{\"a\":1,\"b\":2}}", {"/s={\"b\":2,\"c\":3}"}, "{\"s\":{\"c\":3,\"a\":null}}"},
        {"{\"s\":{\"a\":1}}", {"/s"}, "{\"s\":null}"},
        {"{\"s\":{\"a\":1}}", {"/s/a=2", "/s"}, "{\"s\":null}"},
        {"{\"s\":1}", {"/s={\"a\":1}", "/s/b=2"}, "{\"s\":{\"a\":1,\"b\":2}}"},
        {"{\"a\":1,\"b\":2}", {"={\"b\":2}"}, "{\"a\":null}"},
        {"{\"a\":1}", {"=7"}, "7"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct arena a = ARENA_INIT;
        struct edit e;
        struct err err = ERR_INIT;
        edit_init(&e, &a);
        add_edits(&e, cases[i].edits);
        struct doc *base = parse(cases[i].base);
        struct doc *d = edit_as_merge_patch(&e, base, &err);
        if (CHECK(d != NULL))
            CHECK_CSTR(doc_text(d), cases[i].want);
        else
            test_note("case %zu: %s", i, err.message);
        doc_unref(d);
        doc_unref(base);
        edit_done(&e);
        arena_done(&a);
    }
}

TEST(edits_as_json_patch)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    struct err err = ERR_INIT;
    struct doc *base = parse("{\"a\":1,\"l\":[1],\"n\":null}");
    edit_init(&e, &a);
    static const char *const edits[] = {"/a=2",       "/b/c/d=3", "/l/-=2",    "/l/0", "/nope",
                                        "/x~1y=[ 1]", "/a",       "/n/k=true", NULL};
    add_edits(&e, edits);
    struct doc *d = edit_as_json_patch(&e, base, &err);
    REQUIRE(d != NULL);
    CHECK_STR(doc_text(d), STR("[{\"op\":\"replace\",\"path\":\"/a\",\"value\":2},"
                               "{\"op\":\"add\",\"path\":\"/b\",\"value\":{\"c\":{\"d\":3}}},"
                               "{\"op\":\"add\",\"path\":\"/l/-\",\"value\":2},"
                               "{\"op\":\"remove\",\"path\":\"/l/0\"},"
                               "{\"op\":\"add\",\"path\":\"/x~1y\",\"value\":[ 1]},"
                               "{\"op\":\"remove\",\"path\":\"/a\"},"
                               "{\"op\":\"replace\",\"path\":\"/n\",\"value\":{\"k\":true}}]"));
    doc_unref(d);
    doc_unref(base);
    edit_done(&e);
    arena_done(&a);
}

TEST(edits_print_for_people)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    struct strbuf out = STRBUF_INIT(1000);
    struct doc *base = parse("{\"spec\":{\"replicas\":2,\"l\":[{\"x\":\"y\"}]}}");
    edit_init(&e, &a);
    static const char *const edits[] = {"/spec/replicas=3", "/spec/l/0/x=\"z\"", "/spec/l",
                                        "/a~1b=true", NULL};
    add_edits(&e, edits);
    edit_print(&e, base, &out);
    CHECK_STR(strbuf_str(&out), STR("spec.replicas: 2 -> 3\n"
                                    "spec.l[0].x: \"y\" -> \"z\"\n"
                                    "spec.l: [{\"x\":\"y\"}] -> (removed)\n"
                                    "a/b: (absent) -> true\n"));
    strbuf_done(&out);
    doc_unref(base);
    edit_done(&e);
    arena_done(&a);
}

/* ---- against a naive rewriting ---- */

struct change {
    str tokens[16];
    size_t n;
    const char *value; /* NULL: delete */
};

/* Writes v with the change applied at tokens[i..): plain recursion over everything. */
static void naive_write(struct jw *w, jval v, const struct change *c, size_t i)
{
    if (i == c->n) {
        jw_raw(w, str_of(c->value));
        return;
    }
    bool last = i + 1 == c->n, found = false;
    bool is_array = jtype(v) == J_ARRAY;
    if (is_array)
        jw_array(w);
    else
        jw_object(w);
    for (struct jiter it = jiter(v); jnext(&it);) {
        char index[24];
        snprintf(index, sizeof(index), "%zu", it.index);
        bool here = is_array ? str_is(c->tokens[i], index) : str_eq(it.key, c->tokens[i]);
        found |= here;
        if (here && last && !c->value)
            continue;
        if (!is_array)
            jw_key(w, it.key);
        if (here)
            naive_write(w, it.value, c, i + 1);
        else
            jw_val(w, it.value);
    }
    if (!found && c->value) {
        if (!is_array)
            jw_key(w, c->tokens[i]);
        naive_write(w, JVAL_ABSENT, c, i + 1);
    }
    jw_end(w);
}

/* A path that can be edited: down from the root to some value, sometimes beyond it to new keys. */
static bool random_path(struct rng *r, jval v, struct change *c, struct arena *a)
{
    static const char *const fresh[] = {"new", "a/b", "x~y", "k\"q"};
    c->n = 0;
    while (c->n < 8) {
        size_t len = jlen(v);
        enum jtype t = jtype(v);
        if (t == J_ABSENT || t == J_NULL || (t == J_OBJECT && rng_chance(r, 20))) {
            c->tokens[c->n++] = str_of(fresh[rng_below(r, ARRAY_LEN(fresh))]);
            v = jget(v, c->tokens[c->n - 1]);
        } else if (t == J_ARRAY && rng_chance(r, 20)) {
            c->tokens[c->n++] = STR("-");
            return true;
        } else if (len) {
            struct jiter it = jiter(v);
            for (size_t steps = rng_below(r, len) + 1; steps; steps--)
                (void)jnext(&it);
            c->tokens[c->n++] =
                t == J_OBJECT ? arena_str(a, it.key) : arena_printf(a, "%zu", it.index);
            v = it.value;
        } else {
            break;
        }
        if (rng_chance(r, 30))
            break;
    }
    return c->n > 0;
}

static struct doc *naive_apply(struct doc *base, const struct change *c)
{
    bool missing = !c->value;
    jval v = doc_root(base);
    for (size_t i = 0; missing && i < c->n; i++) {
        uint64_t index;
        if (jtype(v) == J_ARRAY)
            v = str_to_uint(c->tokens[i], &index) ? jat(v, index) : JVAL_ABSENT;
        else
            v = jget(v, c->tokens[i]);
    }
    if (missing && j_is_absent(v))
        return doc_ref(base);
    struct jw w;
    jw_init(&w);
    naive_write(&w, doc_root(base), c, 0);
    return jw_doc(&w);
}

/* A few random changes, each into the edit list and into the naive result. */
static struct doc *random_changes(struct edit *e, struct doc *base, struct arena *a)
{
    static const char *const values[] = {
        "1", "\"\\n\"", "{}", "[]", "{\"p\":{\"q\":[1]}}", "[1,{\"r\":\"\\u0041\"}]", "true"};
    struct doc *expected = doc_ref(base);
    size_t n = 1 + rng_below(test_rng(), 4);
    for (size_t i = 0; i < n; i++) {
        struct change c;
        if (!random_path(test_rng(), doc_root(expected), &c, a))
            continue;
        bool append = str_is(c.tokens[c.n - 1], "-");
        c.value = append || rng_chance(test_rng(), 70)
                      ? values[rng_below(test_rng(), ARRAY_LEN(values))]
                      : NULL;
        str path = edit_path_n(a, c.tokens, c.n);
        if (c.value)
            edit_set_raw(e, path, str_of(c.value));
        else
            edit_del(e, path);
        struct doc *next = naive_apply(expected, &c);
        doc_unref(expected);
        expected = next;
    }
    return expected;
}

/* Nulls cannot be said in a merge patch, so values without any are compared. */
static bool has_null(jval v)
{
    if (j_is_null(v))
        return true;
    for (struct jiter it = jiter(v); jnext(&it);)
        if (has_null(it.value))
            return true;
    return false;
}

static void check_patches(const struct edit *e, struct doc *base, struct doc *expected)
{
    struct err err = ERR_INIT;
    struct doc *jp = edit_as_json_patch(e, base, &err);
    REQUIRE(jp != NULL);
    struct doc *patched = json_patch(doc_root(base), doc_root(jp), &err);
    if (!CHECK(patched && jequal(doc_root(patched), doc_root(expected))))
        test_note("%s\n%s\n%s", doc_text(base).p, doc_text(jp).p, err.message);
    doc_unref(patched);
    doc_unref(jp);
    struct doc *mp = edit_as_merge_patch(e, base, &err);
    REQUIRE(mp != NULL);
    if (!has_null(doc_root(base))) {
        patched = json_merge_patch(doc_root(base), doc_root(mp), &err);
        if (!CHECK(patched && jequal(doc_root(patched), doc_root(expected))))
            test_note("%s\n%s\n%s", doc_text(base).p, doc_text(mp).p, doc_text(expected).p);
        doc_unref(patched);
    }
    doc_unref(mp);
}

TEST(edits_agree_with_a_naive_rewriting)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < test_cases(3000); i++) {
        strbuf_reset(&text);
        random_object(test_rng(), 5, &text);
        struct doc *base = parse(text.p);
        struct arena a = ARENA_INIT;
        struct edit e;
        struct err err = ERR_INIT;
        edit_init(&e, &a);
        struct doc *expected = random_changes(&e, base, &a);
        struct doc *d = edit_apply(&e, base, &err);
        if (!CHECK(d != NULL)) {
            test_note("%s: %s", text.p, err.message);
        } else {
            if (!CHECK(jequal(doc_root(d), doc_root(expected))))
                test_note("%s\n%s\n%s", text.p, doc_text(d).p, doc_text(expected).p);
            check_spliced(d);
            check_patches(&e, base, expected);
        }
        doc_unref(d);
        doc_unref(expected);
        doc_unref(base);
        edit_done(&e);
        arena_done(&a);
    }
    strbuf_done(&text);
}
