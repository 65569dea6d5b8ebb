/* See manifest.h. */
#include "explain/documents/manifest.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/file.h"
#include "grove/old_names.h"
#include "json/write.h"

enum { MAX_FILE = 64 << 20, MAX_FILES = 10000 };

/* ---- which files ---- */

static bool is_manifest(str name)
{
    return name.p[0] != '.' && (str_ends(name, STR(".yaml")) || str_ends(name, STR(".yml")) ||
                                str_ends(name, STR(".json")));
}

static int by_name(const void *a, const void *b)
{
    return str_cmp(*(const str *)a, *(const str *)b);
}

static int list_directory(const char *path, struct arena *a, str_vec *ret, struct err *err)
{
    size_t before = ret->len;
    DIR *d = opendir(path);
    if (!d)
        return err_errno(err, ERR_IO, "cannot read directory %s", path);
    /* Nothing else reads this stream. */
    /* cppcheck-suppress readdirCalled */
    for (struct dirent *e; (e = readdir(d)) && ret->len < MAX_FILES;) {
        if (is_manifest(str_of(e->d_name)))
            *vec_push(ret) = arena_printf(a, "%s/%s", path, e->d_name);
    }
    closedir(d);
    if (ret->len == before)
        return err_set(err, ERR_NOT_FOUND, "%s: no file in it ends in .yaml, .yml or .json", path);
    if (ret->len - before > 1)
        qsort(ret->p + before, ret->len - before, sizeof(*ret->p), by_name);
    return 0;
}

int manifest_files(str given, struct arena *a, str_vec *ret, struct err *err)
{
    struct stat st;
    const char *path = arena_str(a, given).p;
    if (str_starts(given, STR("http://")) || str_starts(given, STR("https://")))
        return err_set(err, ERR_USAGE,
                       "grove reads files, not URLs: curl -sSL %s | grove COMMAND -f -", path);
    if (!str_is(given, "-") && stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return list_directory(path, a, ret, err);
    *vec_push(ret) = given;
    return 0;
}

/* ---- what is in them ---- */

/* What `get -o yaml` prints of several. */
static void open_list(struct doc *d, doc_vec *ret)
{
    jval root = doc_root(d);
    if (!str_is(jstr(jgetc(root, "kind")), "List")) {
        *vec_push(ret) = doc_ref(d);
        return;
    }
    for (struct jiter it = jiter(jgetc(root, "items")); jnext(&it);) {
        struct jw w;
        jw_init(&w);
        jw_val(&w, it.value);
        *vec_push(ret) = jw_doc(&w);
    }
}

int manifest_read_file(str file, doc_vec *ret, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE);
    bool in = str_is(file, "-");
    char *path = str_dup(in ? STR("/dev/stdin") : file);
    const char *name = in ? "standard input" : path;
    doc_vec docs = {0};
    size_t before = ret->len;
    int r = file_read(path, &text, err);
    if (r == 0) {
        r = yaml_parse(strbuf_str(&text), &docs, err);
        for (size_t i = 0; i < docs.len && r == 0; i++)
            open_list(docs.p[i], ret);
        if (r)
            r = err_wrap(err, "%s", name);
        else if (ret->len == before)
            r = err_set(err, ERR_INVALID, "%s: no objects in it", name);
    }
    doc_vec_done(&docs);
    free(path);
    strbuf_done(&text);
    return r;
}

int manifest_read(str given, doc_vec *ret, struct err *err)
{
    struct arena a = ARENA_INIT;
    str_vec files = {0};
    int r = manifest_files(given, &a, &files, err);
    for (size_t i = 0; r == 0 && i < files.len; i++)
        r = manifest_read_file(files.p[i], ret, err);
    vec_done(&files);
    arena_done(&a);
    return r;
}

int manifest_read_all(const struct opt_list *given, doc_vec *ret, struct err *err)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < given->len; i++)
        r = manifest_read(given->p[i], ret, err);
    return r;
}

const struct kind *manifest_kind(jval root, struct err *err)
{
    str group, version, api = jstr(jgetc(root, "apiVersion")), name = jstr(jgetc(root, "kind"));
    api_version_split(api, &group, &version);
    const struct kind *k = kind_by_name(group, version, name);
    if (!k && !name.len)
        (void)err_set(err, ERR_INVALID, "an object does not say its kind");
    else if (!k && !api.len)
        (void)err_set(err, ERR_INVALID, "an object of kind \"%.*s\" does not say its apiVersion",
                      STR_ARG(name));
    else if (!k && old_kind(name))
        (void)err_set(err, ERR_INVALID,
                      "no kind \"%.*s\" in version \"%.*s\" is known; today it is called %s, in "
                      "version %s/%s",
                      STR_ARG(name), STR_ARG(api), old_kind(name)->kind, old_kind(name)->group,
                      old_kind(name)->version);
    else if (!k)
        (void)err_set(err, ERR_INVALID, "no kind \"%.*s\" in version \"%.*s\" is known",
                      STR_ARG(name), STR_ARG(api));
    return k;
}

struct doc *manifest_strip(const struct obj *o)
{
    static const char *const kept[] = {"name", "namespace", "labels", "annotations"};
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    for (struct jiter it = jiter(obj_root(o)); jnext(&it);) {
        if (str_is(it.key, "metadata") || str_is(it.key, "status"))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    jw_put_object(&w, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        jval v = jget(o->meta, str_of(kept[i]));
        if (j_has(v))
            jw_put(&w, kept[i], v);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}
