/* See manifest.h. */
#include "explain/documents/manifest.h"

#include <dirent.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/opt.h"
#include "explain/documents/refusal.h"
#include "grove/old_names.h"
#include "json/write.h"
#include "json/yaml_where.h"

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
static void open_list(struct manifest m, struct arena *a, manifest_vec *ret)
{
    jval root = doc_root(m.doc);
    if (!str_is(jstr(jgetc(root, "kind")), "List")) {
        *vec_push(ret) = m;
        return;
    }
    for (struct jiter it = jiter(jgetc(root, "items")); jnext(&it);) {
        struct jw w;
        jw_init(&w);
        jw_val(&w, it.value);
        m.doc = doc_hold(a, jw_doc(&w));
        m.item = it.index + 1;
        *vec_push(ret) = m;
    }
}

/* What libyaml says, and what it means to who wrote the file. */
static const struct {
    const char *says, *means;
} yaml_words[] = {
    {"did not find expected key", "this line does not fit the lines above it; compare how far they "
                                  "are indented"},
    {"did not find expected '-' indicator",
     "this line does not fit the list above it; compare how far they are indented"},
    {"mapping values are not allowed in this context",
     "a second ':' stands in this line, or the line above is not complete; put text that has "
     "\": \" in it in quotes"},
    {"could not find expected ':'", "a ':' is missing in this line or the one above it"},
    {"found unexpected end of stream", "the file ends inside a quoted text"},
};

static bool line_has_tab(str text, uint64_t line)
{
    str one = STR_NONE;
    while (line-- > 0)
        one = str_cut(&text, '\n');
    for (size_t i = 0; i < one.len && (one.p[i] == ' ' || one.p[i] == '\t'); i++) {
        if (one.p[i] == '\t')
            return true;
    }
    return false;
}

/* `key "x" already set in map` */
static bool say_twice(str what, struct arena *a, str *ret)
{
    str head = STR("key "), tail = STR(" already set in map");
    if (!str_starts(what, head) || !str_ends(what, tail))
        return false;
    str key = str_sub(what, head.len, what.len - tail.len);
    *ret = arena_printf(a, "%.*s is there twice in this mapping", STR_ARG(key));
    return true;
}

/* "line 5, column 2: did not find expected key" -> "set.yaml:5: ..." */
static int say_yaml(const char *name, str text, struct arena *a, struct err *err)
{
    str said = arena_str(a, str_of(err->message)), rest = said;
    uint64_t line = 0;
    if (!str_starts(rest, STR("line ")))
        return err_wrap(err, "%s", name);
    rest = str_sub(rest, 5, rest.len);
    str number = str_cut(&rest, ',');
    (void)str_cut(&rest, ':');
    str what = str_trim(rest);
    if (!str_to_uint(number, &line))
        return err_wrap(err, "%s", name);
    for (size_t i = 0; i < ARRAY_LEN(yaml_words); i++) {
        if (str_is(what, yaml_words[i].says))
            what = str_of(yaml_words[i].means);
    }
    if (line_has_tab(text, line))
        what = STR("YAML does not allow tabs for indentation; use blanks");
    (void)say_twice(what, a, &what);
    return err_set(err, err->code, "%s:%llu: %.*s", name, (unsigned long long)line, STR_ARG(what));
}

static int read_text(str file, const char *name, struct strbuf *text, struct err *err)
{
    bool in = str_is(file, "-");
    char *path = str_dup(in ? STR("/dev/stdin") : file);
    int r = file_read(path, text, err);
    free(path);
    if (r == ERR_NOT_FOUND)
        r = err_set(err, ERR_NOT_FOUND, "%s: there is no such file", name);
    return r;
}

int manifest_load(str file, struct arena *a, manifest_vec *ret, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE);
    const char *name = str_is(file, "-") ? "standard input" : arena_str(a, file).p;
    doc_vec docs = {0};
    size_t before = ret->len;
    struct manifest m = {.file = str_of(name)};
    int r = read_text(file, name, &text, err);
    if (r == 0) {
        m.text = arena_str(a, strbuf_str(&text));
        r = yaml_parse(m.text, &docs, err);
        for (size_t i = 0; i < docs.len && r == 0; i++) {
            m.doc = doc_hold(a, doc_ref(docs.p[i]));
            m.document = i;
            open_list(m, a, ret);
        }
        if (r)
            r = say_yaml(name, m.text, a, err);
        else if (ret->len == before)
            r = err_set(err, ERR_INVALID, "%s: no objects in it", name);
    }
    doc_vec_done(&docs);
    strbuf_done(&text);
    return r;
}

size_t manifest_line(const struct manifest *m, str path, str value)
{
    struct arena a = ARENA_INIT;
    str full = path;
    if (m->item)
        full = arena_printf(&a, "items[%zu].%.*s", m->item - 1, STR_ARG(path));
    size_t line = yaml_line_of(m->text, m->document, full, value);
    arena_done(&a);
    return line;
}

str manifest_at(const struct manifest *m, size_t line, struct arena *a)
{
    if (!line)
        return arena_printf(a, "%.*s: ", STR_ARG(m->file));
    return arena_printf(a, "%.*s:%zu: ", STR_ARG(m->file), line);
}

/* Who only tries it out learns of mistakes as who applies it does. */
static int check_tables(const struct manifest *m, struct arena *a, struct err *err)
{
    str_vec lines = {0};
    const struct kind *k = manifest_kind_at(m, err);
    if (!k)
        return err->code;
    refusal_by_tables(m, k, a, &lines);
    int r = 0;
    if (lines.len > 1)
        r = err_set(err, ERR_INVALID, "%.*s (and %zu more)", STR_ARG(lines.p[0]), lines.len - 1);
    else if (lines.len)
        r = err_set(err, ERR_INVALID, "%.*s", STR_ARG(lines.p[0]));
    vec_done(&lines);
    return r;
}

int manifest_read(str given, doc_vec *ret, struct err *err)
{
    struct arena a = ARENA_INIT;
    str_vec files = {0};
    manifest_vec all = {0};
    int r = manifest_files(given, &a, &files, err);
    for (size_t i = 0; r == 0 && i < files.len; i++)
        r = manifest_load(files.p[i], &a, &all, err);
    for (size_t i = 0; r == 0 && i < all.len; i++) {
        r = check_tables(&all.p[i], &a, err);
        if (r == 0)
            *vec_push(ret) = doc_ref(all.p[i].doc);
    }
    vec_done(&all);
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

/* A kind of that name in another version, or of a name that is nearly it in this one. */
static const struct kind *other_version(str name)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (!kind_is(k, KIND_RETIRED) && str_is(name, k->kind))
            return k;
    }
    return NULL;
}

static const char *nearest_kind(str group, str name)
{
    const char *names[KINDS_MAX + 1];
    size_t n = 0;
    for (size_t i = 0; i < kinds_count() && n < KINDS_MAX; i++) {
        const struct kind *k = kinds_at(i);
        if (!kind_is(k, KIND_RETIRED) && str_is(group, k->group))
            names[n++] = k->kind;
    }
    names[n] = NULL;
    return opt_nearest(name, names);
}

static void say_unknown_kind(str api, str group, str name, struct err *err)
{
    const struct kind *other = other_version(name);
    const char *near = nearest_kind(group, name);
    if (other)
        (void)err_set(err, ERR_INVALID, "%.*s is in %s%s%s, not in %.*s", STR_ARG(name),
                      other->group, *other->group ? "/" : "", other->version, STR_ARG(api));
    else
        (void)err_set(err, ERR_INVALID, "there is no kind \"%.*s\" in %.*s%s%s%s", STR_ARG(name),
                      STR_ARG(api), near ? "; did you mean " : "", near ? near : "",
                      near ? "?" : "");
}

const struct kind *manifest_kind(jval root, struct err *err)
{
    str group, version, api = jstr(jgetc(root, "apiVersion")), name = jstr(jgetc(root, "kind"));
    api_version_split(api, &group, &version);
    const struct kind *k = kind_by_name(group, version, name);
    if (!k && !name.len && !api.len)
        (void)err_set(err, ERR_INVALID,
                      "this is no Kubernetes object: it has no apiVersion and no kind");
    else if (!k && !name.len)
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
        say_unknown_kind(api, group, name, err);
    return k;
}

const struct kind *manifest_kind_at(const struct manifest *m, struct err *err)
{
    struct err why = ERR_INIT;
    struct arena a = ARENA_INIT;
    const struct kind *k = manifest_kind(doc_root(m->doc), &why);
    if (!k) {
        bool version = str_find(str_of(why.message), STR(", not in ")) >= 0;
        size_t line = manifest_line(m, version ? STR("apiVersion") : STR("kind"), STR_NONE);
        (void)err_set(err, why.code, "%.*s%s", STR_ARG(manifest_at(m, line, &a)), why.message);
    }
    arena_done(&a);
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
