/*
 * Protobuf bodies. Most are put together here, field by field, by the numbers of the published
 * .proto files; one is the body kubectl sends.
 */
#include "base/test.h"
#include "kube/schema.h"
#include "kube/test-kube-fixture.h"
#include "kube/test-proto-fixture.h"

static void check_body(str body, const char *want)
{
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;

    fixture_init();
    struct doc *d = protobuf_decode(body, &err);
    if (CHECK(d != NULL))
        CHECK_JSON(&a, doc_root(d), want);
    else
        test_note("%s", err.message);
    doc_unref(d);
    arena_done(&a);
}

static void check_kind(const char *api_version, const char *kind, struct strbuf *raw,
                       const char *want)
{
    struct strbuf body = STRBUF_INIT(1 << 20);

    put_envelope(&body, api_version, kind, strbuf_str(raw));
    check_body(strbuf_str(&body), want);
    strbuf_done(&body);
    strbuf_done(raw);
}

static void check_refused(str body, const char *message)
{
    struct err err = ERR_INIT;

    fixture_init();
    CHECK(protobuf_decode(body, &err) == NULL);
    CHECK_CSTR(str_of(err.message), message);
}

/* ---- good bodies ---- */

TEST(protobuf_create_namespace_as_kubectl_sends_it)
{
    check_body(STR("k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x1e"
                   "\x0a\x16\x0a\x06team-a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"
                   "\x12\x00\x1a\x02\x0a\x00\x1a\x00\x22\x00"),
               "{'kind':'Namespace','apiVersion':'v1','metadata':{'name':'team-a'},'spec':{},"
               "'status':{}}");
}

/* A rule in a rule with operations in a rule with names: one object in JSON. */
TEST(protobuf_messages_inlined_in_inlined_ones)
{
    struct strbuf rule = STRBUF_INIT(1000), with = STRBUF_INIT(1000), named = STRBUF_INIT(1000);
    struct strbuf match = STRBUF_INIT(1000), spec = STRBUF_INIT(1000), raw = STRBUF_INIT(1000);

    put_cstr(&rule, 1, "apps");
    put_cstr(&rule, 2, "v1");
    put_cstr(&rule, 3, "deployments");
    put_cstr(&rule, 4, "*");
    put_cstr(&with, 1, "CREATE");
    put_message(&with, 2, &rule);
    put_cstr(&named, 1, "n");
    put_message(&named, 2, &with);
    put_message(&match, 3, &named);
    put_message(&spec, 2, &match);
    put_message(&raw, 2, &spec);
    check_kind("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", &raw,
               "{'kind':'ValidatingAdmissionPolicy','apiVersion':'admissionregistration.k8s.io/v1',"
               "'spec':{'matchConstraints':{'resourceRules':[{'resourceNames':['n'],'operations':["
               "'CREATE'],'apiGroups':['apps'],'apiVersions':['v1'],'resources':['deployments'],"
               "'scope':'*'}]}}}");
    strbuf_done(&rule);
    strbuf_done(&with);
    strbuf_done(&named);
    strbuf_done(&match);
    strbuf_done(&spec);
}

/* Zeros of pointers are values: a job of no pods, a policy that is not there. */
TEST(protobuf_zeros_of_jobs)
{
    struct strbuf spec = STRBUF_INIT(1000), raw = STRBUF_INIT(1000);

    put_int(&spec, 1, 0);  /* parallelism */
    put_int(&spec, 2, 0);  /* completions */
    put_int(&spec, 10, 0); /* suspend */
    put_message(&raw, 2, &spec);
    check_kind("batch/v1", "Job", &raw,
               "{'kind':'Job','apiVersion':'batch/v1','spec':{'parallelism':0,'completions':0,"
               "'suspend':false}}");
    strbuf_done(&spec);
}

TEST(protobuf_lists_maps_and_inlined_messages)
{
    struct strbuf raw = STRBUF_INIT(10000), meta = STRBUF_INIT(10000), spec = STRBUF_INIT(10000);
    struct strbuf m = STRBUF_INIT(10000), n = STRBUF_INIT(10000);

    put_cstr(&meta, 1, "p");
    put_cstr(&m, 1, "app");
    put_cstr(&m, 2, "web");
    put_message(&meta, 11, &m);
    put_cstr(&m, 1, "tier");
    put_message(&meta, 11, &m);
    put_cstr(&meta, 14, "a/b");
    put_cstr(&meta, 14, "c/d");
    put_message(&raw, 1, &meta);
    /* volume v1 { volumeSource=2 { secret=6 { secretName=1, defaultMode=3 } } } */
    put_cstr(&n, 1, "token");
    put_int(&n, 3, 256);
    put_message(&m, 6, &n);
    put_cstr(&n, 1, "v1");
    put_message(&n, 2, &m);
    put_message(&spec, 1, &n);
    /* container { name=1, args=4, ports=6 { containerPort=3 }, probe=10 { handler=1 { tcp=3 } } }
     */
    put_cstr(&n, 1, "c");
    put_cstr(&n, 4, "-x");
    put_cstr(&n, 4, "");
    put_int(&m, 3, 80);
    put_message(&n, 6, &m);
    put_message(&spec, 2, &n);
    put_int(&spec, 4, 0);  /* terminationGracePeriodSeconds, a pointer */
    put_int(&spec, 11, 0); /* hostNetwork, plain */
    put_int(&spec, 25, -5);
    put_message(&raw, 2, &spec);
    check_kind("v1", "Pod", &raw,
               "{'kind':'Pod','apiVersion':'v1','metadata':{'name':'p','labels':{'app':'web',"
               "'tier':''},'finalizers':['a/b','c/d']},'spec':{'volumes':[{'name':'v1',"
               "'secret':{'secretName':'token','defaultMode':256}}],'containers':[{'name':'c',"
               "'args':['-x',''],'ports':[{'containerPort':80}]}],"
               "'terminationGracePeriodSeconds':0,'priority':-5}}");
    strbuf_done(&meta);
    strbuf_done(&spec);
    strbuf_done(&m);
    strbuf_done(&n);
}

TEST(protobuf_times)
{
    struct strbuf raw = STRBUF_INIT(1000), spec = STRBUF_INIT(1000), t = STRBUF_INIT(1000);

    put_cstr(&spec, 1, ""); /* holderIdentity, a pointer: given up */
    put_int(&spec, 2, 15);
    put_int(&t, 1, 1794700802);
    put_int(&t, 2, 123456789);
    put_message(&spec, 4, &t);
    put_int(&spec, 5, 0);
    put_message(&raw, 2, &spec);
    put_int(&t, 1, 1794700801);
    struct strbuf meta = STRBUF_INIT(1000);
    put_cstr(&meta, 1, "l");
    put_bytes(&meta, 8, strbuf_str(&t));
    put_message(&raw, 1, &meta);
    check_kind("coordination.k8s.io/v1", "Lease", &raw,
               "{'kind':'Lease','apiVersion':'coordination.k8s.io/v1','metadata':{'name':'l',"
               "'creationTimestamp':'2026-11-15T00:00:01Z'},'spec':{'holderIdentity':'',"
               "'leaseDurationSeconds':15,'renewTime':'2026-11-15T00:00:02.123456Z',"
               "'leaseTransitions':0}}");
    strbuf_done(&spec);
    strbuf_done(&meta);
    strbuf_done(&t);
}

TEST(protobuf_int_or_string_quantity_and_bytes)
{
    struct strbuf raw = STRBUF_INIT(1000), spec = STRBUF_INIT(1000), m = STRBUF_INIT(1000);

    put_int(&m, 1, 0);
    put_int(&m, 2, 1);
    put_cstr(&m, 3, "");
    put_message(&spec, 1, &m);
    put_int(&m, 1, 1);
    put_cstr(&m, 3, "25%");
    put_message(&spec, 3, &m);
    put_message(&raw, 2, &spec);
    check_kind("policy/v1", "PodDisruptionBudget", &raw,
               "{'kind':'PodDisruptionBudget','apiVersion':'policy/v1','spec':{'minAvailable':1,"
               "'maxUnavailable':'25%'}}");
    strbuf_reset(&raw);
    put_cstr(&m, 1, "k");
    put_bytes(&m, 2, STR("\x00\xff"));
    put_message(&raw, 2, &m);
    put_cstr(&raw, 3, "Opaque");
    check_kind("v1", "Secret", &raw,
               "{'kind':'Secret','apiVersion':'v1','data':{'k':'AP8='},'type':'Opaque'}");
    strbuf_done(&spec);
    strbuf_done(&m);
}

TEST(protobuf_raw_json)
{
    struct strbuf raw = STRBUF_INIT(1000), m = STRBUF_INIT(1000);

    put_cstr(&m, 1, "{\"spec\": [1]}");
    put_message(&raw, 2, &m);
    put_int(&raw, 3, 7);
    check_kind("apps/v1", "ControllerRevision", &raw,
               "{'kind':'ControllerRevision','apiVersion':'apps/v1','data':{'spec':[1]},"
               "'revision':7}");
    strbuf_done(&m);
}

TEST(protobuf_delete_options_of_any_version)
{
    struct strbuf raw = STRBUF_INIT(1000), m = STRBUF_INIT(1000);

    put_int(&raw, 1, 0);
    put_cstr(&m, 1, "u-1");
    put_message(&raw, 2, &m);
    put_cstr(&raw, 4, "Background");
    put_cstr(&raw, 5, "All");
    check_kind("apps/v1", "DeleteOptions", &raw,
               "{'kind':'DeleteOptions','apiVersion':'apps/v1','gracePeriodSeconds':0,"
               "'preconditions':{'uid':'u-1'},'propagationPolicy':'Background','dryRun':['All']}");
    strbuf_done(&m);
}

TEST(protobuf_lists_of_strings_below_maps)
{
    struct strbuf raw = STRBUF_INIT(1000), user = STRBUF_INIT(1000), m = STRBUF_INIT(1000);
    struct strbuf values = STRBUF_INIT(1000);

    put_cstr(&values, 1, "a");
    put_cstr(&values, 1, "b");
    put_cstr(&m, 1, "scopes");
    put_message(&m, 2, &values);
    put_cstr(&user, 1, "alice");
    put_message(&user, 4, &m);
    put_message(&m, 1, &user);
    put_message(&raw, 2, &m);
    check_kind("authentication.k8s.io/v1", "SelfSubjectReview", &raw,
               "{'kind':'SelfSubjectReview','apiVersion':'authentication.k8s.io/v1',"
               "'status':{'userInfo':{'username':'alice','extra':{'scopes':['a','b']}}}}");
    strbuf_done(&user);
    strbuf_done(&values);
    strbuf_done(&m);
}

TEST(protobuf_numbers_packed_or_not)
{
    struct strbuf raw = STRBUF_INIT(1000), spec = STRBUF_INIT(1000), sc = STRBUF_INIT(1000);

    put_int(&sc, 2, 0); /* runAsUser */
    put_int(&sc, 4, 5);
    put_bytes(&sc, 4, STR("\x06\x07"));
    put_message(&spec, 14, &sc);
    put_message(&raw, 2, &spec);
    check_kind("v1", "Pod", &raw,
               "{'kind':'Pod','apiVersion':'v1','spec':{'securityContext':{'runAsUser':0,"
               "'supplementalGroups':[5,6,7]}}}");
    strbuf_done(&spec);
    strbuf_done(&sc);
}

TEST(protobuf_skips_unknown_fields_and_keeps_the_last)
{
    struct strbuf raw = STRBUF_INIT(1000), m = STRBUF_INIT(1000);

    put_int(&raw, 900, 1);
    put_cstr(&raw, 901, "future");
    put_varint(&raw, 902 << 3 | 1);
    strbuf_add(&raw, "12345678", 8);
    put_varint(&raw, 903 << 3 | 5);
    strbuf_add(&raw, "1234", 4);
    put_cstr(&m, 1, "old");
    put_cstr(&m, 1, "new");
    put_message(&raw, 1, &m);
    put_cstr(&m, 1, "k");
    put_cstr(&m, 2, "1");
    put_message(&raw, 2, &m);
    put_cstr(&m, 1, "k");
    put_cstr(&m, 2, "2");
    put_message(&raw, 2, &m);
    check_kind("v1", "ConfigMap", &raw,
               "{'kind':'ConfigMap','apiVersion':'v1','metadata':{'name':'new'},'data':{'k':'2'}}");
    strbuf_done(&m);
}

/* ---- bad bodies ---- */

TEST(protobuf_is_known_by_its_magic)
{
    CHECK(protobuf_is(STR("k8s\0")));
    CHECK(!protobuf_is(STR("k8s")));
    CHECK(!protobuf_is(STR("{}")));
    check_refused(STR("{}"), "protobuf: body does not start with the magic bytes");
}

TEST(protobuf_errors_name_the_offset)
{
    check_refused(STR("k8s\0\x0a"), "protobuf: message ends inside a number at offset 5");
    check_refused(STR("k8s\0\x0a\x05"
                      "ab"),
                  "protobuf: length goes beyond the end of the message at offset 5");
    check_refused(STR("k8s\0\x0b"), "protobuf: unknown wire type at offset 4");
    check_refused(STR("k8s\0\x02\x00"), "protobuf: field number out of range at offset 4");
    check_refused(STR("k8s\0\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
                  "protobuf: number too long at offset 5");
    check_refused(STR("k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x02\x08\x01"),
                  "protobuf: field metadata has wire type 0");
}

TEST(protobuf_refuses_what_it_does_not_know)
{
    check_refused(STR("k8s\0\x0a\x0d\x0a\x02v1\x12\x07Nothing"),
                  "no kind \"Nothing\" is registered for version \"v1\"");
    check_refused(STR("k8s\0"), "no kind \"\" is registered for version \"\"");
    check_refused(STR("k8s\0\x1a\x04gzip"), "protobuf: content encoding \"gzip\" is not supported");
}

TEST(protobuf_refuses_raw_that_is_no_json)
{
    struct strbuf raw = STRBUF_INIT(1000), m = STRBUF_INIT(1000), body = STRBUF_INIT(1000);
    struct err err = ERR_INIT;

    fixture_init();
    put_cstr(&m, 1, "{]");
    put_message(&raw, 2, &m);
    put_envelope(&body, "apps/v1", "ControllerRevision", strbuf_str(&raw));
    CHECK(protobuf_decode(strbuf_str(&body), &err) == NULL);
    CHECK(str_starts(str_of(err.message), STR("protobuf: raw JSON at offset ")));
    strbuf_done(&raw);
    strbuf_done(&m);
    strbuf_done(&body);
}

/* Two of them would be one key in JSON, and a document with a key twice is none. */
TEST(protobuf_refuses_keys_that_are_not_utf8)
{
    struct strbuf raw = STRBUF_INIT(1000), m = STRBUF_INIT(1000), body = STRBUF_INIT(1000);
    struct err err = ERR_INIT;

    fixture_init();
    put_cstr(&m, 1, "\xda");
    put_message(&raw, 2, &m);
    put_envelope(&body, "v1", "ConfigMap", strbuf_str(&raw));
    CHECK(protobuf_decode(strbuf_str(&body), &err) == NULL);
    CHECK(str_starts(str_of(err.message), STR("protobuf: a key that is not UTF-8 at offset ")));
    strbuf_done(&raw);
    strbuf_done(&m);
    strbuf_done(&body);
}

TEST(protobuf_truncated_anywhere_never_crashes)
{
    str body = STR("k8s\0\x0a\x0f\x0a\x02v1\x12\x09Namespace\x12\x1e"
                   "\x0a\x16\x0a\x06team-a\x12\x00\x1a\x00\x22\x00\x2a\x00\x32\x00\x38\x00\x42\x00"
                   "\x12\x00\x1a\x02\x0a\x00\x1a\x00\x22\x00");

    fixture_init();
    for (size_t n = 0; n < 21; n++) {
        struct err err = ERR_INIT;
        CHECK(protobuf_decode(str_sub(body, 0, n), &err) == NULL);
        CHECK(err.message[0] != '\0');
    }
}

/* Wraps what is in b as a field of a message. */
static void wrap(struct strbuf *b, unsigned tag)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    uint64_t head[] = {(uint64_t)tag << 3 | 2, b->len};

    for (size_t i = 0; i < ARRAY_LEN(head); i++) {
        uint64_t n = head[i];
        for (; n >= 0x80; n >>= 7)
            strbuf_add_char(&out, (char)(n | 0x80));
        strbuf_add_char(&out, (char)n);
    }
    strbuf_add_str(&out, strbuf_str(b));
    strbuf_done(b);
    *b = out;
}

static struct doc *decode_definition(struct strbuf *spec)
{
    static const char type[] = "apiextensions.k8s.io/v1";
    static const char kind[] = "CustomResourceDefinition";
    struct strbuf body = STRBUF_INIT(1 << 20), meta = STRBUF_INIT(1024), k = STRBUF_INIT(1024);

    strbuf_add_cstr(&meta, type);
    wrap(&meta, 1);
    strbuf_add_cstr(&k, kind);
    wrap(&k, 2);
    strbuf_add_str(&meta, strbuf_str(&k));
    wrap(&meta, 1);
    static const unsigned outer[] = {1, 4, 7, 2}; /* openAPIV3Schema, schema, versions, spec */
    for (size_t i = 0; i < ARRAY_LEN(outer); i++)
        wrap(spec, outer[i]);
    wrap(spec, 2);
    strbuf_add_str(&body, str_n("k8s\0", 4));
    strbuf_add_str(&body, strbuf_str(&meta));
    strbuf_add_str(&body, strbuf_str(spec));
    struct doc *d = protobuf_decode(strbuf_str(&body), NULL);
    strbuf_done(&k);
    strbuf_done(&meta);
    strbuf_done(&body);
    strbuf_done(spec);
    return d;
}

TEST(schemas_inside_schemas)
{
    struct strbuf b = STRBUF_INIT(1 << 20);

    strbuf_add_cstr(&b, "string");
    wrap(&b, 5);  /* type */
    wrap(&b, 1);  /* {schema=1} */
    wrap(&b, 24); /* items */
    struct doc *d = decode_definition(&b);
    jval schema = jpath(jat(jpath(d ? doc_root(d) : JVAL_ABSENT, "spec.versions"), 0),
                        "schema.openAPIV3Schema");
    CHECK_CSTR(jstr(jpath(schema, "items.type")), "string");
    doc_unref(d);
    b = (struct strbuf)STRBUF_INIT(1 << 20);
    strbuf_add_str(&b, str_n("\x08\x01", 2)); /* {allows=1: true} */
    wrap(&b, 30);                             /* additionalProperties */
    d = decode_definition(&b);
    schema = jpath(jat(jpath(d ? doc_root(d) : JVAL_ABSENT, "spec.versions"), 0),
                   "schema.openAPIV3Schema");
    CHECK(j_is_true(jgetc(schema, "additionalProperties")));
    doc_unref(d);
    /* Deeper than we write is refused, whatever it is nested in. */
    b = (struct strbuf)STRBUF_INIT(1 << 20);
    for (int i = 0; i < 38; i++) {
        wrap(&b, 2);
        wrap(&b, 29);
    }
    CHECK(decode_definition(&b) == NULL);
}
