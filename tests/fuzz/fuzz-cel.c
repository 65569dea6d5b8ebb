/*
 * CEL: an expression and, after the first NUL, the document it is about. It compiles or says why
 * not; what compiles ends within its cost, with an answer or a reason, and with the same one again.
 * The document is known once by nothing and once by a schema, and may be absent.
 */
#include "fuzz.h"
#include "kube/cel/cel.h"
#include "kube/cel/cel_rules.h"

#define COST 20000

static const char sample[] =
    "{\"a\":{\"b\":[1,2.5,\"x\",null,true,{\"a\":[{\"b\":\"y\"}]}]},"
    "\"items\":[{\"t\":\"A\",\"v\":1},{\"t\":\"B\",\"v\":2}],\"s\":\"text\",\"d-e\":\"90s\","
    "\"at\":\"2024-02-29T12:00:00Z\",\"bytes\":\"YWJj\",\"n\":3,\"m\":{\"k\":\"v\"}}";
static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"s\":{\"type\":\"string\"},\"n\":{\"type\":\"number\"},"
    "\"d-e\":{\"type\":\"string\",\"format\":\"duration\"},"
    "\"at\":{\"type\":\"string\",\"format\":\"date-time\"},"
    "\"bytes\":{\"type\":\"string\",\"format\":\"byte\"},"
    "\"any\":{\"x-kubernetes-int-or-string\":true},"
    "\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"string\"}},"
    "\"items\":{\"type\":\"array\",\"x-kubernetes-list-type\":\"map\","
    "\"x-kubernetes-list-map-keys\":[\"t\"],\"items\":{\"type\":\"object\",\"properties\":{"
    "\"t\":{\"type\":\"string\"},\"v\":{\"type\":\"integer\"}}}}}}";

static bool authorize(void *ctx, const struct cel_access *x, str *ret_reason)
{
    (void)ctx;
    *ret_reason = x->resource;
    return x->verb.len % 2;
}

static int evaluate(struct arena *a, const struct cel *c, const struct cel_lazy *lazy, jval root,
                    bool *ret, struct err *err)
{
    uint64_t cost = COST;
    jval vars[] = {root, root, JVAL_ABSENT};
    struct cel_input in = {
        .vars = vars, .lazy = lazy, .n_lazy = 1, .cost = &cost, .authorize = authorize};
    return cel_run_bool(cel_run_new(a, &in), c, ret, err);
}

static void try_expression(str text, jval root, jval types)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    const struct cel_decl vars[] = {
        {.name = "object"}, {"self", types, true, false}, {"oldSelf", types, true, true}};
    struct cel_scope scope = {.vars = vars, .n_vars = ARRAY_LEN(vars), .has_authorizer = true};
    struct cel_lazy lazy = {
        STR("x"), cel_compile_in(&a, STR("object.items.map(i, i.v)"), &scope, CEL_WANT_ANY, &err)};
    BUG_ON(!lazy.cel);
    scope.lazy = &lazy;
    scope.n_lazy = 1;
    const struct cel *c = cel_compile_in(&a, text, &scope, CEL_WANT_BOOL, &err);
    BUG_ON(!c && !err.message[0]);
    if (c) {
        bool first = false, second = false;
        int rc = evaluate(&a, c, &lazy, root, &first, &err);
        BUG_ON(rc != 0 && (err.code != rc || !err.message[0] || first));
        BUG_ON(evaluate(&a, c, &lazy, root, &second, &err) != rc || first != second);
    }
    BUG_ON(a.used > (size_t)256 << 20);
    arena_done(&a);
}

/* The document as a schema with rules of its own. */
static void try_rules(jval root)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    field_errors_init(&errors, &a);
    const struct cel_rules *rules = cel_rules_compile(&a, root, STR("schema"), &errors);
    if (rules) {
        cel_rules_check(rules, root, JVAL_ABSENT, &errors);
        cel_rules_check(rules, root, root, &errors);
        cel_rules_ratchet(root, root, root, &errors, 0);
    }
    field_errors_done(&errors);
    arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = str_n((const char *)data, size);
    ptrdiff_t nul = str_find_char(text, '\0');
    struct doc *d = NULL, *types = doc_parse(STR(schema), NULL, NULL);
    if (nul >= 0) {
        d = doc_parse(str_sub(text, (size_t)nul + 1, text.len), NULL, NULL);
        text = str_sub(text, 0, (size_t)nul);
    }
    if (d)
        try_rules(doc_root(d));
    else
        d = doc_parse(STR(sample), NULL, NULL);
    try_expression(text, doc_root(d), doc_root(types));
    doc_unref(d);
    doc_unref(types);
    return 0;
}
