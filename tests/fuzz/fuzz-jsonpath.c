/*
 * JSONPath: a template and, after the first NUL, the document it is applied to. It prints or says
 * why not, and a template that is one path compiles or is refused the same way.
 */
#include "fuzz.h"
#include "json/jsonpath.h"

static const char sample[] = "{\"a\":{\"b\":[1,2.5,\"x\",null,true,{\"a\":[{\"b\":\"y\"}]}]},"
                             "\"items\":[{\"t\":\"A\",\"v\":1},{\"t\":\"B\",\"v\":2}]}";

static void try_print(str template, jval root)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    int rc = jsonpath_print(template, root, &out, &err);
    BUG_ON(rc != 0 && (err.code != rc || !err.message[0]));
    strbuf_done(&out);
}

static void try_compile(str path, jval root)
{
    struct err err = ERR_INIT;
    struct jsonpath *p = jsonpath_compile(path, &err);
    BUG_ON(!p && !err.message[0]);
    if (!p)
        return;
    jval_vec matches = {0};
    jsonpath_eval(p, root, &matches);
    for (size_t i = 0; i < matches.len; i++)
        BUG_ON(j_is_absent(matches.p[i]));
    vec_done(&matches);
    jsonpath_free(p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str template = str_n((const char *)data, size);
    ptrdiff_t nul = str_find_char(template, '\0');
    struct doc *d = NULL;
    if (nul >= 0) {
        d = doc_parse(str_sub(template, (size_t)nul + 1, size), NULL, NULL);
        template = str_sub(template, 0, (size_t)nul);
    }
    if (!d)
        d = doc_parse(str_of(sample), NULL, NULL);
    try_print(template, doc_root(d));
    try_compile(template, doc_root(d));
    doc_unref(d);
    return 0;
}
