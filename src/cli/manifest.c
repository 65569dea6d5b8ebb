/* See manifest.h. */
#include "cli/manifest.h"

#include "base/file.h"
#include "json/write.h"

enum { MAX_FILE = 64 << 20 };

int manifest_read(str file, doc_vec *ret, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE);
    char *path = str_dup(str_is(file, "-") ? STR("/dev/stdin") : file);
    int r = file_read(path, &text, err);
    if (r == 0) {
        r = yaml_parse(strbuf_str(&text), ret, err);
        if (r)
            r = err_wrap(err, "%s", path);
        else if (ret->len == 0)
            r = err_set(err, ERR_INVALID, "%s: no objects in it", path);
    }
    free(path);
    strbuf_done(&text);
    return r;
}

const struct kind *manifest_kind(jval root, struct err *err)
{
    str group, version, api = jstr(jgetc(root, "apiVersion")), name = jstr(jgetc(root, "kind"));
    api_version_split(api, &group, &version);
    const struct kind *k = kind_by_name(group, version, name);
    if (!k && !name.len)
        (void)err_set(err, ERR_INVALID, "an object does not say its kind");
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
