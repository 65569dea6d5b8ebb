/* See test-managed-fixture.h. */
#include "apiserver/verbs/test-managed-fixture.h"

/* ---- a custom kind with one list of each sort ---- */

static const struct field clique_fields[] = {
    {.name = "name", .type = &type_string, .flags = FIELD_REQUIRED},
    {.name = "image", .type = &type_string},
    {.name = "replicas", .type = &type_int32, .dflt = "1"},
    {.name = "startsAfter", .type = &type_string, .shape = FIELD_LIST},
};
static const struct type type_clique = {.name = "TestClique",
                                        .tag = TYPE_OBJECT,
                                        .fields = clique_fields,
                                        .n_fields = ARRAY_LEN(clique_fields)};
static const struct type type_free = {
    .name = "TestFree", .tag = TYPE_OBJECT, .preserve_unknown = true};
static const struct field port_fields[] = {
    {.name = "port", .type = &type_int32, .flags = FIELD_REQUIRED},
    {.name = "protocol", .type = &type_string, .dflt = "\"TCP\""},
    {.name = "title", .type = &type_string},
};
static const struct type type_test_port = {.name = "TestPort",
                                           .tag = TYPE_OBJECT,
                                           .fields = port_fields,
                                           .n_fields = ARRAY_LEN(port_fields)};
static const struct field set_spec_fields[] = {
    {.name = "replicas", .type = &type_int32},
    {.name = "cliques",
     .type = &type_clique,
     .shape = FIELD_LIST,
     .list = LIST_MAP,
     .keys = "name"},
    {.name = "ports",
     .type = &type_test_port,
     .shape = FIELD_LIST,
     .list = LIST_MAP,
     .keys = "protocol,port"},
    {.name = "tags", .type = &type_string, .shape = FIELD_LIST, .list = LIST_SET},
    {.name = "order", .type = &type_string, .shape = FIELD_LIST},
    {.name = "freeform", .type = &type_free},
    {.name = "parts", .type = &type_clique, .shape = FIELD_MAP},
    {.name = "paused", .type = &type_bool},
};
static const struct type type_set_spec = {.name = "TestSetSpec",
                                          .tag = TYPE_OBJECT,
                                          .fields = set_spec_fields,
                                          .n_fields = ARRAY_LEN(set_spec_fields)};
static const struct field set_status_fields[] = {
    {.name = "replicas", .type = &type_int32},
    {.name = "conditions",
     .type = &type_condition,
     .shape = FIELD_LIST,
     .list = LIST_MAP,
     .keys = "type"},
};
static const struct type type_set_status = {.name = "TestSetStatus",
                                            .tag = TYPE_OBJECT,
                                            .fields = set_status_fields,
                                            .n_fields = ARRAY_LEN(set_status_fields)};
static const struct field set_fields[] = {
    {.name = "apiVersion", .type = &type_string},    {.name = "kind", .type = &type_string},
    {.name = "metadata", .type = &type_object_meta}, {.name = "spec", .type = &type_set_spec},
    {.name = "status", .type = &type_set_status},
};
static const struct type type_set = {
    .name = "TestSet", .tag = TYPE_OBJECT, .fields = set_fields, .n_fields = ARRAY_LEN(set_fields)};
static uint16_t mf_kind_id;
const struct kind mf_kind = {
    .group = "probe.example.com",
    .version = "v1alpha1",
    .kind = "TestSet",
    .plural = "testsets",
    .singular = "testset",
    .verbs = VERBS_ALL,
    .flags = KIND_NAMESPACED | KIND_STATUS | KIND_CUSTOM | KIND_GENERATION,
    .type = &type_set,
    .id = &mf_kind_id,
};

/* ---- a live object that is written step by step ---- */

str mf_plain(struct arena *a, const char *text)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (const char *c = text; *c; c++) {
        if (*c == '`')
            strbuf_add_char(&b, '\\');
        strbuf_add_char(&b, *c == '\'' || *c == '`' ? '"' : *c == '^' ? '\'' : *c);
    }
    str out = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return out;
}

struct doc *mf_json(struct mf_world *w, const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(mf_plain(&w->a, text), NULL, &err);
    if (!d)
        BUG(err.message);
    return doc_hold(&w->a, d);
}

struct mf_world mf_world(const struct kind *k)
{
    kinds_init();
    return (struct mf_world){.kind = k, .now = MF_START};
}

void mf_done(struct mf_world *w)
{
    arena_done(&w->a);
}

struct doc *mf_write(struct mf_world *w, const char *manager, const char *subresource,
                     const char *text)
{
    struct doc *new = mf_json(w, text);
    w->now += USEC_PER_SEC;
    w->live = doc_hold(
        &w->a, managed_update(w->kind, w->live, new, str_of(manager), str_of(subresource), w->now));
    return w->live;
}

bool mf_apply_at(struct mf_world *w, const char *manager, const char *subresource, bool force,
                 const char *text)
{
    w->now += USEC_PER_SEC;
    w->status = NULL;
    struct doc *d = managed_apply(w->kind, w->live, mf_json(w, text), str_of(manager),
                                  str_of(subresource), force, w->now, &w->a, &w->status);
    if (d)
        w->live = doc_hold(&w->a, d);
    return d != NULL;
}

bool mf_apply(struct mf_world *w, const char *manager, const char *text)
{
    return mf_apply_at(w, manager, "", false, text);
}

jval mf_entries(struct mf_world *w)
{
    return jpath(doc_root(w->live), "metadata.managedFields");
}

jval mf_entry(struct mf_world *w, const char *who)
{
    str rest = str_of(who), name = str_cut(&rest, ' '), operation = str_cut(&rest, ' ');
    for (struct jiter it = jiter(mf_entries(w)); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "manager")), name) &&
            str_eq(jstr(jgetc(it.value, "operation")), operation) &&
            str_eq(jstr(jgetc(it.value, "subresource")), rest))
            return it.value;
    return JVAL_ABSENT;
}

void mf_check_conflict(struct mf_world *w, const char *message)
{
    REQUIRE(w->status != NULL);
    CHECK_INT(w->status->code, 409);
    CHECK_CSTR(str_of(w->status->reason), "Conflict");
    CHECK_STR(w->status->message, mf_plain(&w->a, message));
}

void mf_check_cause(struct mf_world *w, size_t i, const char *message, const char *field)
{
    REQUIRE(w->status && i < w->status->n_causes);
    CHECK_CSTR(w->status->causes[i].reason, "FieldManagerConflict");
    CHECK_STR(w->status->causes[i].message, mf_plain(&w->a, message));
    CHECK_STR(w->status->causes[i].field, mf_plain(&w->a, field));
}
