/*
 * Protobuf bodies from any bytes: either an error with a message, or a document that is JSON and
 * has no field its own table does not know.
 */
#include "fuzz.h"
#include "kube/schema.h"

static void never(void *ctx, const char *what, str path)
{
    BUG("a decoded body has a field its table does not name");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct err err = ERR_INIT;
    str group, version;

    kinds_init();
    struct doc *d = protobuf_decode(str_n((const char *)data, size), &err);
    if (!d) {
        BUG_ON(err.code >= 0 || !err.message[0]);
        return 0;
    }
    static const struct json_limits limits = {.max_bytes = SIZE_MAX};
    struct doc *again = doc_parse(doc_text(d), &limits, NULL);
    BUG_ON(!again);
    doc_unref(again);
    api_version_split(jstr(jgetc(doc_root(d), "apiVersion")), &group, &version);
    const struct type *t = body_type(group, version, jstr(jgetc(doc_root(d), "kind")));
    if (t)
        schema_unknown(t, doc_root(d), never, NULL);
    doc_unref(d);
    return 0;
}
