/*
 * Null where a value could be, as an empty `labels:` in YAML is: all kinds read it as
 * kube-apiserver does. First every field of every kind by its table, then whole writes.
 */
#include "apiserver/test-apiserver-fixture.h"
#include "base/map.h"
#include "grove/types.h"
#include "kube/schema.h"

/* ---- every field of every table ---- */

struct walk {
    const struct kind *kind;
    struct map seen; /* types, and whether they were read as Go types */
    struct arena arena;
    struct strbuf open, close; /* the document around the place */
    bool go;
    size_t n;
};

static const bool stays_in_go[] = {
    [TYPE_TIME] = true, [TYPE_MICRO_TIME] = true, [TYPE_RAW] = true, [TYPE_NESTED] = false};

static bool stays(const struct walk *w, const struct field *f)
{
    bool untyped = f->type->or_other ||
                   (f->type->tag < ARRAY_LEN(stays_in_go) && stays_in_go[f->type->tag]) ||
                   f->type->tag == TYPE_STRING_LIST || f->type->tag == TYPE_NESTED;
    return (f->flags & FIELD_NULLABLE) || (w->go && f->shape == FIELD_ONE && untyped);
}

/* The document with this member set to the value, read; whether a null is left in it. */
static bool null_is_left(struct walk *w, const struct field *f, const char *value)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    str name = field_name(f);
    strbuf_add_str(&text, strbuf_str(&w->open));
    strbuf_printf(&text, "{\"%.*s\":%s}", STR_ARG(name), value);
    for (size_t i = w->close.len; i > 0; i--)
        strbuf_add_char(&text, w->close.p[i - 1]);
    struct doc *d = doc_parse(strbuf_str(&text), NULL, NULL);
    REQUIRE(d);
    struct doc *read = schema_default(w->kind->type, d);
    bool left = str_find(doc_text(read), STR("null")) >= 0;
    w->n++;
    doc_unref(read);
    doc_unref(d);
    strbuf_done(&text);
    return left;
}

static void check_field(struct walk *w, const struct field *f)
{
    bool custom_list = !w->go && f->shape == FIELD_LIST;
    bool has_zero = f->type->tag != TYPE_NESTED && !f->type->or_other &&
                    f->type->tag != TYPE_STRING_LIST && f->type->tag != TYPE_RAW &&
                    f->type->tag != TYPE_TIME && f->type->tag != TYPE_MICRO_TIME;
    bool ok = CHECK(null_is_left(w, f, "null") == stays(w, f));
    if (f->shape == FIELD_LIST)
        ok &= CHECK(null_is_left(w, f, "[null]") == (custom_list || !has_zero));
    if (f->shape == FIELD_MAP)
        ok &= CHECK(null_is_left(w, f, "{\"k\":null}") == (w->go && !has_zero));
    if (!ok)
        test_note("%s: %.*s%.*s", w->kind->kind, STR_ARG(strbuf_str(&w->open)),
                  STR_ARG(field_name(f)));
}

static void walk_type(struct walk *w, const struct type *t);

static void walk_inside(struct walk *w, const struct field *f)
{
    size_t open = w->open.len, close = w->close.len;
    if (f->type->tag != TYPE_OBJECT || f->type->or_other)
        return;
    strbuf_printf(&w->open, "{\"%.*s\":%s", STR_ARG(field_name(f)),
                  f->shape == FIELD_LIST  ? "["
                  : f->shape == FIELD_MAP ? "{\"k\":"
                                          : "");
    strbuf_add_cstr(&w->close, f->shape == FIELD_LIST ? "}]" : f->shape == FIELD_MAP ? "}}" : "}");
    walk_type(w, f->type);
    w->open.len = open;
    w->close.len = close;
}

static void walk_type(struct walk *w, const struct type *t)
{
    bool was_go = w->go;
    w->go |= t == &type_object_meta;
    str key = arena_printf(&w->arena, "%p %d", (const void *)t, w->go);
    if (!map_put(&w->seen, key, w)) {
        for (size_t i = 0; i < t->n_fields; i++) {
            check_field(w, &t->fields[i]);
            walk_inside(w, &t->fields[i]);
        }
    }
    w->go = was_go;
}

TEST(null_in_every_field_of_every_kind_is_read_as_kube_apiserver_does)
{
    struct walk w = {.open = STRBUF_INIT(1 << 16), .close = STRBUF_INIT(1 << 16)};
    size_t grove = 0, others = 0;
    grove_kinds_init();
    for (size_t i = 0; i < kinds_count(); i++) {
        w.kind = kinds_at(i);
        w.go = !kind_is(w.kind, KIND_CUSTOM);
        w.n = 0;
        if (kind_is(w.kind, KIND_DEFINED))
            continue; /* of other tests, and gone */
        walk_type(&w, w.kind->type);
        *(kind_is(w.kind, KIND_CUSTOM) ? &grove : &others) += w.n;
    }
    test_note("%zu places in custom resources, %zu in built-in kinds", grove, others);
    CHECK(grove > 500 && others > 1000);
    map_done(&w.seen);
    strbuf_done(&w.open);
    strbuf_done(&w.close);
    arena_done(&w.arena);
}

/* ---- whole writes ---- */

#define SET(meta, spec, template, clique, pod)                                            \
    "{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet','metadata':{'name':'s'" meta \
    "},'spec':{'replicas':1" spec ",'template':{'cliques':[{'name':'a'" clique            \
    ",'spec':{'roleName':'a','replicas':1,'podSpec':{'containers':[{'name':'c','image':"  \
    "'registry.example/x:1'}]" pod "}}}]" template "}}}"

static const struct {
    const char *what, *json, *without;
} sets[] = {
#define ONE(where, m, s, t, c, p)                          \
    {                                                      \
        where, SET(m, s, t, c, p), SET("", "", "", "", "") \
    }
    ONE("labels", ",'labels':null", "", "", "", ""),
    ONE("annotations", ",'annotations':null,'finalizers':null", "", "", "", ""),
    ONE("owners", ",'ownerReferences':null,'creationTimestamp':null", "", "", "", ""),
    ONE("updateStrategy", "", ",'updateStrategy':null", "", "", ""),
    ONE("topologyConstraint", "", "", ",'topologyConstraint':null", "", ""),
    ONE("priorityClassName", "", "", ",'priorityClassName':null", "", ""),
    ONE("groups", "", "", ",'podCliqueScalingGroups':null", "", ""),
    ONE("terminationDelay", "", "", ",'terminationDelay':null", "", ""),
    ONE("clique labels", "", "", "", ",'labels':null,'annotations':null", ""),
    ONE("clique topology", "", "", "", ",'topologyConstraint':null", ""),
    ONE("tolerations", "", "", "", "", ",'tolerations':null"),
    ONE("nodeSelector", "", "", "", "", ",'nodeSelector':null,'affinity':null"),
    ONE("a value of a map", "", "", "", "", ",'nodeSelector':{'a':null}"),
    ONE("volumes", "", "", "", "", ",'volumes':null,'initContainers':null"),
#undef ONE
};

/* All but what the server makes up. */
static str made(struct fixture *f)
{
    return text_of(f, "%.*s", STR_ARG(field(f, "spec")));
}

TEST(empty_fields_of_a_set_count_for_nothing)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        CHECK_INT(create(&f, &kind_pcs, "ns", sets[i].without), 201);
        str plain = made(&f);
        CHECK_INT(delete (&f, &kind_pcs, "ns", "s"), 200);
        if (!CHECK_INT(create(&f, &kind_pcs, "ns", sets[i].json), 201)) {
            test_note("%s: %.*s", sets[i].what, STR_ARG(f.message));
            continue;
        }
        str with = made(&f);
        /* An empty map is what is left of one whose values were null. */
        if (strcmp(sets[i].what, "a value of a map") != 0)
            CHECK_STR(with, plain);
        CHECK(str_find(with, STR("null")) < 0);
        CHECK_INT(delete (&f, &kind_pcs, "ns", "s"), 200);
        struct api_request apply = {.verb = API_PATCH,
                                    .kind = &kind_pcs,
                                    .ns = STR("ns"),
                                    .name = STR("s"),
                                    .patch = API_PATCH_APPLY,
                                    .body = fixture_doc(&f, sets[i].json),
                                    .field_manager = STR("test")};
        if (!CHECK_INT(send(&f, apply), 201))
            test_note("apply %s: %.*s", sets[i].what, STR_ARG(f.message));
        CHECK(str_find(made(&f), STR("null")) < 0);
        CHECK_INT(delete (&f, &kind_pcs, "ns", "s"), 200);
    }
    fixture_done(&f);
}

static const struct {
    const struct kind *kind;
    const char *json, *path, *want;
} others[] = {
    {&kind_config_map, "{'metadata':{'name':'x','labels':{'a':null}},'data':{'k':null}}",
     "metadata.labels", "{\"a\":\"\"}"},
    {&kind_config_map, "{'metadata':{'name':'x'},'data':{'k':null}}", "data", "{\"k\":\"\"}"},
    {&kind_config_map, "{'metadata':{'name':'x'},'data':null,'immutable':null}", "data", ""},
    {&kind_secret, "{'metadata':{'name':'x'},'data':{'k':null}}", "data", "{\"k\":\"\"}"},
    {&kind_pod,
     "{'metadata':{'name':'x'},'spec':{'tolerations':null,'containers':[{'name':'c','image':"
     "'i:1','command':null,'args':['a',null],'env':null,'resources':null,'restartPolicy':null}]}}",
     "spec.containers", "\"args\":[\"a\",\"\"],\"resources\":{}"},
    {&kind_pod,
     "{'metadata':{'name':'x'},'spec':{'restartPolicy':null,'containers':[{'name':'c','image':"
     "'i:1'}]}}",
     "spec.restartPolicy", "Always"},
    {&kind_service, "{'metadata':{'name':'x'},'spec':{'ports':[{'port':80,'protocol':null}]}}",
     "spec.ports", "\"protocol\":\"TCP\""},
    {&kind_deployment,
     "{'metadata':{'name':'x'},'spec':{'strategy':null,'selector':{'matchLabels':{'a':'b'},"
     "'matchExpressions':null},'template':{'metadata':{'creationTimestamp':null,'labels':{'a':"
     "'b'}},'spec':{'containers':[{'name':'c','image':'i:1'}]}}}}",
     "spec.strategy.type", "RollingUpdate"},
};

TEST(null_in_built_in_kinds_is_the_zero_value)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(others); i++) {
        if (!CHECK_INT(create(&f, others[i].kind, "ns", others[i].json), 201) ||
            !CHECK(str_find(field(&f, others[i].path), str_of(others[i].want)) >= 0))
            test_note("%s %s: %.*s", others[i].kind->kind, others[i].path, STR_ARG(f.message));
        CHECK_INT(delete (&f, others[i].kind, "ns", "x"), 200);
    }
    /* An item that has to say something is missed like any other. */
    CHECK_INT(create(&f, &kind_pod, "ns", "{'metadata':{'name':'x'},'spec':{'containers':[null]}}"),
              422);
    CHECK(str_find(f.message, STR("spec.containers[0].name: Required value")) >= 0);
    fixture_done(&f);
}

TEST(null_as_an_item_of_a_custom_resource_is_refused)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pcs, "ns", SET("", "", "", "", ",'tolerations':[null]")), 422);
    CHECK(str_find(f.message, STR("tolerations[0]: Invalid value: \"null\"")) >= 0);
    /* What is required and null is missing. */
    CHECK_INT(create(&f, &kind_pcs, "ns",
                     "{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet','metadata':{'name':"
                     "'s'},'spec':{'replicas':1,'template':{'cliques':null}}}"),
              422);
    CHECK(str_find(f.message, STR("spec.template.cliques: Required value")) >= 0);
    fixture_done(&f);
}

TEST(null_in_a_status_counts_for_nothing)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pcs, "ns", SET("", "", "", "", "")), 201);
    str whole = text_of(&f, "%.*s", STR_ARG(doc_text(f.doc)));
    struct doc *d = fixture_doc(&f, whole.p);
    struct edit e;
    edit_init(&e, &f.arena);
    edit_set_raw(&e, STR("/status"), STR("{\"replicas\":2,\"conditions\":null,\"selector\":null}"));
    struct doc *body = edit_apply(&e, d, NULL);
    edit_done(&e);
    struct api_request r = {.verb = API_UPDATE,
                            .kind = &kind_pcs,
                            .ns = STR("ns"),
                            .name = STR("s"),
                            .subresource = STR("status"),
                            .body = doc_hold(&f.arena, body)};
    if (!CHECK_INT(send(&f, r), 200))
        test_note("%.*s", STR_ARG(f.message));
    CHECK_CSTR(field(&f, "status.replicas"), "2");
    CHECK(str_find(field(&f, "status"), STR("null")) < 0);
    fixture_done(&f);
}
