/*
 * One operation of one JSON library on one document, N times: bench-json LIBRARY OPERATION N FILE.
 * `bench/json` runs it under callgrind, which counts the instructions inside bench_op() only;
 * --wall prints nanoseconds per operation instead. --list prints the libraries built in.
 *
 * Every library does the same work: parse includes freeing, edit changes status.phase of a copy and
 * leaves the result as text, read fetches five nested fields.
 */
#include <time.h>

#include "base/arena.h"
#include "json/doc.h"
#include "json/edit.h"
#include "json/write.h"

#ifdef HAVE_CJSON
#include <cjson/cJSON.h>
#endif
#ifdef HAVE_JANSSON
#include <jansson.h>
#endif

/* Each operation returns something that depends on its result, which is printed. */
struct library {
    const char *name;
    void (*load)(str text);
    size_t (*parse)(str text);
    size_t (*serialise)(void);
    size_t (*read)(void);
    size_t (*edit)(void);
};

/* ---- ours ---- */

static struct doc *our_doc;

static void our_load(str text)
{
    our_doc = doc_parse(text, NULL, NULL);
    BUG_ON(!our_doc);
}

static size_t our_parse(str text)
{
    struct doc *d = doc_parse(text, NULL, NULL);
    size_t n = doc_text(d).len;
    doc_unref(d);
    return n;
}

static size_t our_serialise(void)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    json_pretty(doc_root(our_doc), 0, &out);
    size_t n = out.len;
    strbuf_done(&out);
    return n;
}

static size_t our_read(void)
{
    jval root = doc_root(our_doc);
    jval metadata = jgetc(root, "metadata"), status = jgetc(root, "status");
    return jstr(jgetc(metadata, "name")).len + jstr(jgetc(metadata, "namespace")).len +
           jstr(jgetc(jgetc(root, "spec"), "nodeName")).len + jstr(jgetc(status, "phase")).len +
           jstr(jgetc(status, "podIP")).len;
}

static size_t our_edit(void)
{
    struct arena a = ARENA_INIT;
    struct edit e;
    edit_init(&e, &a);
    edit_set_str(&e, STR("/status/phase"), STR("Running"));
    struct doc *d = edit_apply(&e, our_doc, NULL);
    struct strbuf out = STRBUF_INIT(1 << 20);
    strbuf_add_str(&out, doc_text(d));
    size_t n = out.len;
    strbuf_done(&out);
    doc_unref(d);
    edit_done(&e);
    arena_done(&a);
    return n;
}

/* ---- cJSON ---- */

#ifdef HAVE_CJSON
static cJSON *c_doc;

static void c_load(str text)
{
    c_doc = cJSON_ParseWithLength(text.p, text.len);
    BUG_ON(!c_doc);
}

static size_t c_parse(str text)
{
    cJSON *d = cJSON_ParseWithLength(text.p, text.len);
    size_t n = d != NULL;
    cJSON_Delete(d);
    return n;
}

static size_t c_serialise(void)
{
    char *s = cJSON_PrintUnformatted(c_doc);
    size_t n = strlen(s);
    free(s);
    return n;
}

static const cJSON *c_get(const cJSON *v, const char *key)
{
    return cJSON_GetObjectItemCaseSensitive(v, key);
}

static size_t c_read(void)
{
    const cJSON *metadata = c_get(c_doc, "metadata"), *status = c_get(c_doc, "status");
    return strlen(c_get(metadata, "name")->valuestring) +
           strlen(c_get(metadata, "namespace")->valuestring) +
           strlen(c_get(c_get(c_doc, "spec"), "nodeName")->valuestring) +
           strlen(c_get(status, "phase")->valuestring) +
           strlen(c_get(status, "podIP")->valuestring);
}

static size_t c_edit(void)
{
    cJSON *d = cJSON_Duplicate(c_doc, true);
    cJSON_ReplaceItemInObjectCaseSensitive(cJSON_GetObjectItemCaseSensitive(d, "status"), "phase",
                                           cJSON_CreateString("Running"));
    char *s = cJSON_PrintUnformatted(d);
    size_t n = strlen(s);
    free(s);
    cJSON_Delete(d);
    return n;
}
#endif

/* ---- jansson ---- */

#ifdef HAVE_JANSSON
static json_t *j_doc;

static void j_load(str text)
{
    j_doc = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL);
    BUG_ON(!j_doc);
}

static size_t j_parse(str text)
{
    json_t *d = json_loadb(text.p, text.len, JSON_REJECT_DUPLICATES, NULL);
    size_t n = d != NULL;
    json_decref(d);
    return n;
}

static size_t j_serialise(void)
{
    char *s = json_dumps(j_doc, JSON_COMPACT);
    size_t n = strlen(s);
    free(s);
    return n;
}

static const json_t *j_get(const json_t *v, const char *key)
{
    return json_object_get(v, key);
}

static size_t j_read(void)
{
    const json_t *metadata = j_get(j_doc, "metadata"), *status = j_get(j_doc, "status");
    return strlen(json_string_value(j_get(metadata, "name"))) +
           strlen(json_string_value(j_get(metadata, "namespace"))) +
           strlen(json_string_value(j_get(j_get(j_doc, "spec"), "nodeName"))) +
           strlen(json_string_value(j_get(status, "phase"))) +
           strlen(json_string_value(j_get(status, "podIP")));
}

static size_t j_edit(void)
{
    json_t *d = json_deep_copy(j_doc);
    json_object_set_new(json_object_get(d, "status"), "phase", json_string("Running"));
    char *s = json_dumps(d, JSON_COMPACT);
    size_t n = strlen(s);
    free(s);
    json_decref(d);
    return n;
}
#endif

static const struct library libraries[] = {
    {"grove", our_load, our_parse, our_serialise, our_read, our_edit},
#ifdef HAVE_CJSON
    {"cjson", c_load, c_parse, c_serialise, c_read, c_edit},
#endif
#ifdef HAVE_JANSSON
    {"jansson", j_load, j_parse, j_serialise, j_read, j_edit},
#endif
};

/* ---- running ---- */

static size_t run_op(const struct library *lib, const char *op, str text)
{
    switch (op[0]) {
    case 'p':
        return lib->parse(text);
    case 's':
        return lib->serialise();
    case 'r':
        return lib->read();
    default:
        return lib->edit();
    }
}

/* The name callgrind is told to collect in. */
size_t bench_op(const struct library *lib, const char *op, str text);
__attribute__((noinline)) size_t bench_op(const struct library *lib, const char *op, str text)
{
    return run_op(lib, op, text);
}

static str load_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(2);
    }
    struct strbuf b = STRBUF_INIT((size_t)64 << 20);
    char *p;
    size_t n;
    while ((p = strbuf_reserve(&b, 65536)) && (n = fread(p, 1, 65536, f)) > 0)
        strbuf_commit(&b, n);
    fclose(f);
    return strbuf_str(&b);
}

static int64_t now_nsec(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static const struct library *find_library(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
        if (strcmp(libraries[i].name, name) == 0)
            return &libraries[i];
    return NULL;
}

int main(int argc, char **argv)
{
    bool wall = argc > 1 && strcmp(argv[1], "--wall") == 0;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        for (size_t i = 0; i < ARRAY_LEN(libraries); i++)
            puts(libraries[i].name);
        return 0;
    }
    argv += wall;
    argc -= wall;
    const struct library *lib = argc == 5 ? find_library(argv[1]) : NULL;
    if (!lib) {
        fputs("usage: bench-json [--wall] LIBRARY parse|serialise|read|edit N FILE\n", stderr);
        return 2;
    }
    long n = strtol(argv[3], NULL, 10);
    str text = load_file(argv[4]);
    lib->load(text);
    size_t sum = run_op(lib, argv[2], text); /* warm */
    int64_t start = now_nsec();
    for (long i = 0; i < n; i++)
        sum += bench_op(lib, argv[2], text);
    int64_t took = now_nsec() - start;
    if (wall)
        printf("%lld\n", (long long)(took / (n > 0 ? n : 1)));
    else
        fprintf(stderr, "%zu\n", sum);
    return 0;
}
