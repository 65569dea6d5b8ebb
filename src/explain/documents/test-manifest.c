/* manifest: files of manifests, and what is said of those that cannot be used. */
#include "explain/documents/manifest.h"

#include <sys/stat.h>

#include "base/file.h"
#include "explain/documents/test-picture.h"
#include "grove/types.h"

/* A directory of its own, and files in it. */
struct files {
    char dir[64];
    struct arena arena;
};

static void files_init(struct files *f)
{
    *f = (struct files){.dir = "/tmp/grove-manifest-XXXXXX"};
    arena_init(&f->arena);
    REQUIRE(mkdtemp(f->dir) != NULL);
    grove_kinds_init();
}

static str put_file(struct files *f, const char *name, const char *text)
{
    str path = arena_printf(&f->arena, "%s/%s", f->dir, name);
    FILE *out = fopen(path.p, "w");
    REQUIRE(out != NULL);
    fputs(text, out);
    fclose(out);
    return path;
}

static void files_done(struct files *f, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        CHECK_INT(remove(arena_printf(&f->arena, "%s/%s", f->dir, names[i]).p), 0);
    CHECK_INT(remove(f->dir), 0);
    arena_done(&f->arena);
}

/* The names of what is read, or the error without the directory. */
static str read_text(struct files *f, str given)
{
    struct err err = ERR_INIT;
    doc_vec docs = {0};
    struct strbuf b = STRBUF_INIT(1 << 16);
    if (manifest_read(given, &docs, &err)) {
        str text = str_of(err.message), dir = str_of(f->dir);
        ptrdiff_t at = str_find(text, dir);
        strbuf_add_str(&b, at < 0 ? text : str_sub(text, 0, (size_t)at));
        if (at >= 0)
            strbuf_printf(&b, "DIR%.*s", STR_ARG(str_sub(text, (size_t)at + dir.len, text.len)));
    }
    for (size_t i = 0; i < docs.len && !err.code; i++)
        strbuf_printf(&b, "%s%.*s", i ? " " : "",
                      STR_ARG(jstr(jpath(doc_root(docs.p[i]), "metadata.name"))));
    str text = arena_str(&f->arena, strbuf_str(&b));
    strbuf_done(&b);
    doc_vec_done(&docs);
    return text;
}

#define NAMED(name) "{apiVersion: v1, kind: ConfigMap, metadata: {name: " name "}}"
#define A NAMED("a")
#define B NAMED("b")
#define C NAMED("c")

TEST(files_of_manifests_are_read)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {A, "a"},
        {"{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"a\"}}", "a"},
        {A "\n---\n" B "\n", "a b"},
        {"---\n---\n" A "\n---\n", "a"},
        {"{apiVersion: v1, kind: List, items: [" A ", " B "]}\n---\n" C "\n", "a b c"},
        {"", "DIR/x.yaml: no objects in it"},
        {"# nothing\n", "DIR/x.yaml: no objects in it"},
        {"{apiVersion: v1, kind: List, items: []}", "DIR/x.yaml: no objects in it"},
        {"{apiVersion: v1, kind: List, items: 7}", "DIR/x.yaml: no objects in it"},
    };
    struct files f;
    files_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_CSTR(read_text(&f, put_file(&f, "x.yaml", cases[i].text)), cases[i].want);
    str told = read_text(&f, put_file(&f, "x.yaml", "a: [1,\nb: }"));
    CHECK(str_starts(told, STR("DIR/x.yaml:2: ")));
    files_done(&f, (const char *const[]){"x.yaml"}, 1);
}

TEST(directories_are_read_in_the_order_of_names)
{
    struct files f;
    files_init(&f);
    CHECK_CSTR(read_text(&f, str_of(f.dir)), "DIR: no file in it ends in .yaml, .yml or .json");
    put_file(&f, "notes.txt", "{metadata: {name: no}}");
    put_file(&f, ".hidden.yaml", "{metadata: {name: no}}");
    CHECK_CSTR(read_text(&f, str_of(f.dir)), "DIR: no file in it ends in .yaml, .yml or .json");
    put_file(&f, "b.yml", B);
    put_file(&f, "c.json",
             "{\"apiVersion\": \"v1\", \"kind\": \"ConfigMap\", \"metadata\": {\"name\": \"c\"}}");
    put_file(&f, "a.yaml", A);
    CHECK_CSTR(read_text(&f, str_of(f.dir)), "a b c");
    put_file(&f, "b.yml", "");
    CHECK_CSTR(read_text(&f, str_of(f.dir)), "DIR/b.yml: no objects in it");
    CHECK(str_find(read_text(&f, STR("/nowhere/x.yaml")), STR("/nowhere/x.yaml")) >= 0);
    CHECK_CSTR(read_text(&f, STR("https://example.com/x.yaml")),
               "grove reads files, not URLs: curl -sSL https://example.com/x.yaml | grove COMMAND "
               "-f -");
    files_done(&f, (const char *const[]){"notes.txt", ".hidden.yaml", "a.yaml", "b.yml", "c.json"},
               5);
}

TEST(the_kind_of_a_manifest_is_known_or_the_reason_told)
{
    static const struct {
        const char *yaml, *want; /* the kind, or what is wrong */
    } cases[] = {
        {"{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet}", "PodCliqueSet"},
        {"{apiVersion: v1, kind: Pod}", "Pod"},
        {"{apiVersion: v1}", "an object does not say its kind"},
        {"{kind: 7}", "this is no Kubernetes object: it has no apiVersion and no kind"},
        {"[1]", "this is no Kubernetes object: it has no apiVersion and no kind"},
        {"{kind: Pod}", "an object of kind \"Pod\" does not say its apiVersion"},
        {"{apiVersion: v2, kind: Pod}", "Pod is in v1, not in v2"},
        {"{apiVersion: grove.io/v1alpha1, kind: PodGangSet}",
         "no kind \"PodGangSet\" in version \"grove.io/v1alpha1\" is known; today it is called "
         "PodCliqueSet, in version grove.io/v1alpha1"},
    };
    grove_kinds_init();
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct err err = ERR_INIT;
        struct doc *d = yaml_parse_one(str_of(cases[i].yaml), &err);
        REQUIRE(d != NULL);
        const struct kind *k = manifest_kind(doc_root(d), &err);
        CHECK_CSTR(k ? str_of(k->kind) : str_of(err.message), cases[i].want);
        doc_unref(d);
    }
}

TEST(a_manifest_has_what_one_would_write)
{
    struct obj *o = tp_obj("set llm seen going 12:00:00 held x {metadata: {labels: {a: b}, "
                           "annotations: {c: d}, generation: 3}, spec: {template: null}}");
    struct doc *d = manifest_strip(o);
    CHECK_CSTR(
        doc_text(d),
        "{\"apiVersion\":\"grove.io/v1alpha1\",\"kind\":\"PodCliqueSet\",\"spec\":{"
        "\"replicas\":1},\"metadata\":{\"name\":\"llm\",\"namespace\":\"default\",\"labels\":"
        "{\"a\":\"b\"},\"annotations\":{\"c\":\"d\"}}}");
    doc_unref(d);
    obj_unref(o);
}
