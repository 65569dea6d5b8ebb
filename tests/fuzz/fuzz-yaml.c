/*
 * YAML: any bytes are read or refused with a message; what was read is a good JSON document, and
 * printing it and reading that gives the same document again.
 */
#include <math.h>

#include "fuzz.h"
#include "json/yaml.h"

/* JSON numbers beyond a double print as they are and read back as text. */
static bool has_huge_number(jval v)
{
    if (jtype(v) == J_REAL && !(fabs(jreal(v, 0)) < 1e308))
        return true;
    for (struct jiter it = jiter(v); jnext(&it);)
        if (has_huge_number(it.value))
            return true;
    return false;
}

static void check_round_trip(struct doc *d)
{
    struct err err = ERR_INIT;
    struct doc *again = doc_parse(doc_text(d), &(struct json_limits){.max_bytes = 255 << 20}, &err);
    BUG_ON(!again || !jequal(doc_root(d), doc_root(again)));
    doc_unref(again);
    struct strbuf out = STRBUF_INIT(32 << 20);
    yaml_write(doc_root(d), true, &out);
    if (!out.overflow && !has_huge_number(doc_root(d))) {
        struct doc *back = yaml_parse_one(strbuf_str(&out), &err);
        BUG_ON(!back || !jequal(doc_root(d), doc_root(back)));
        doc_unref(back);
    }
    strbuf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    doc_vec docs;
    struct err err = ERR_INIT;
    int rc = yaml_parse(str_n((const char *)data, size), &docs, &err);
    BUG_ON(rc != 0 && (err.code != rc || !err.message[0] || docs.len));
    for (size_t i = 0; i < docs.len; i++)
        check_round_trip(docs.p[i]);
    doc_vec_done(&docs);
    return 0;
}
