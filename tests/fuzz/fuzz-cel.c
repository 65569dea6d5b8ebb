/*
 * CEL: an expression and, after the first NUL, the document it is about. It compiles or says why
 * not; what compiles ends within its cost, with an answer or a reason, and with the same one again.
 */
#include "fuzz.h"
#include "kube/cel.h"

#define COST 20000

static const char sample[] =
    "{\"a\":{\"b\":[1,2.5,\"x\",null,true,{\"a\":[{\"b\":\"y\"}]}]},"
    "\"items\":[{\"t\":\"A\",\"v\":1},{\"t\":\"B\",\"v\":2}],\"s\":\"text\"}";

static void try_expression(str text, jval root)
{
    static const char *const names[] = {"object", "self"};
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct cel *c = cel_compile(&a, text, names, ARRAY_LEN(names), &err);
    BUG_ON(!c && !err.message[0]);
    if (c) {
        bool first = false, second = false;
        jval vars[] = {root, JVAL_ABSENT};
        int rc = cel_eval(c, &a, vars, COST, &first, &err);
        BUG_ON(rc != 0 && (err.code != rc || !err.message[0] || first));
        BUG_ON(cel_eval(c, &a, vars, COST, &second, &err) != rc || first != second);
    }
    BUG_ON(a.used > (size_t)256 << 20);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = str_n((const char *)data, size);
    ptrdiff_t nul = str_find_char(text, '\0');
    struct doc *d = NULL;
    if (nul >= 0) {
        d = doc_parse(str_sub(text, (size_t)nul + 1, text.len), NULL, NULL);
        text = str_sub(text, 0, (size_t)nul);
    }
    if (!d)
        d = doc_parse(STR(sample), NULL, NULL);
    try_expression(text, doc_root(d));
    doc_unref(d);
    return 0;
}
