/* Status: the exact texts and shapes clients know. */
#include "base/test.h"
#include "kube/status.h"
#include "kube/test-kube-fixture.h"

/* Compares the text itself: the order of members is part of the shape. */
static void check_doc(struct doc *d, const char *want)
{
    char *text = xstrdup(want);

    for (char *c = text; *c; c++)
        if (*c == '`')
            *c = '"';
    CHECK_CSTR(doc_text(d), text);
    free(text);
    doc_unref(d);
}

static void check_status(const struct status *s, const char *want)
{
    check_doc(status_doc(s), want);
}

TEST(status_not_found)
{
    struct arena a = ARENA_INIT;

    check_status(status_not_found(&a, &kind_pod, STR("missing")),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`pods \\`missing\\` not found`,`reason`:`NotFound`,"
                 "`details`:{`name`:`missing`,`kind`:`pods`},`code`:404}");
    check_status(status_not_found(&a, &kind_lease, STR("l")),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`leases.coordination.k8s.io \\`l\\` not found`,`reason`:`NotFound`,"
                 "`details`:{`name`:`l`,`group`:`coordination.k8s.io`,`kind`:`leases`},"
                 "`code`:404}");
    arena_done(&a);
}

TEST(status_already_exists_and_conflict)
{
    struct arena a = ARENA_INIT;

    check_status(status_already_exists(&a, &kind_config_map, STR("cfg")),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`configmaps \\`cfg\\` already exists`,`reason`:`AlreadyExists`,"
                 "`details`:{`name`:`cfg`,`kind`:`configmaps`},`code`:409}");
    check_status(status_conflict(&a, &kind_config_map, STR("c1"), NULL),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`Operation cannot be fulfilled on configmaps \\`c1\\`: the object has "
                 "been modified; please apply your changes to the latest version and try again`,"
                 "`reason`:`Conflict`,`details`:{`name`:`c1`,`kind`:`configmaps`},`code`:409}");
    CHECK_CSTR(status_conflict(&a, &kind_pod, STR("p"), "because")->message,
               "Operation cannot be fulfilled on pods \"p\": because");
    arena_done(&a);
}

TEST(status_of_requests_that_never_get_far)
{
    struct arena a = ARENA_INIT;

    check_status(status_method_not_allowed(&a),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`the server does not allow this method on the requested resource`,"
                 "`reason`:`MethodNotAllowed`,`details`:{},`code`:405}");
    check_status(status_new(&a, 401, "Unauthorized", "Unauthorized"),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`Unauthorized`,`reason`:`Unauthorized`,`code`:401}");
    check_status(
        status_unsupported_media_type(&a,
                                      "application/json-patch+json, application/merge-patch+json, "
                                      "application/apply-patch+yaml"),
        "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
        "`message`:`the body of the request was in an unknown format - accepted media types "
        "include: application/json-patch+json, application/merge-patch+json, "
        "application/apply-patch+yaml`,`reason`:`UnsupportedMediaType`,`code`:415}");
    check_status(status_bad_request(&a, "field label not supported: %s", "spec.bogus"),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`field label not supported: spec.bogus`,`reason`:`BadRequest`,"
                 "`code`:400}");
    check_status(
        status_internal(&a, "resourceVersion should not be set on objects to be created"),
        "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
        "`message`:`resourceVersion should not be set on objects to be created`,`code`:500}");
    arena_done(&a);
}

TEST(status_expired_carries_a_token)
{
    struct arena a = ARENA_INIT;
    struct status *s = status_expired(&a, "The resourceVersion for the provided list is too old.");

    check_status(s, "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                    "`message`:`The resourceVersion for the provided list is too old.`,"
                    "`reason`:`Expired`,`code`:410}");
    s->continue_token = STR("abc");
    CHECK(str_find(doc_text(doc_hold(&a, status_doc(s))),
                   STR("\"metadata\":{\"continue\":\"abc\"}")) > 0);
    arena_done(&a);
}

TEST(status_invalid_with_one_cause)
{
    struct arena a = ARENA_INIT;
    struct field_errors e;

    field_errors_init(&e, &a);
    field_error_add(&e, FIELD_ERR_REQUIRED, STR("metadata.name"), STR_NONE,
                    "name or generateName is required");
    check_status(status_invalid(&a, &kind_config_map, STR(""), &e),
                 "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Failure`,"
                 "`message`:`ConfigMap \\`\\` is invalid: metadata.name: Required value: name or "
                 "generateName is required`,`reason`:`Invalid`,`details`:{`kind`:`ConfigMap`,"
                 "`causes`:[{`reason`:`FieldValueRequired`,`message`:`Required value: name or "
                 "generateName is required`,`field`:`metadata.name`}]},`code`:422}");
    field_errors_done(&e);
    arena_done(&a);
}

TEST(field_errors_print_like_the_server)
{
    static const struct {
        enum field_error_type type;
        const char *field, *value, *detail, *text;
    } cases[] = {
        {FIELD_ERR_INVALID, "spec.replicas", "101",
         "spec.replicas in body should be less than or equal to 100",
         "spec.replicas: Invalid value: 101: spec.replicas in body should be less than or equal to "
         "100"},
        {FIELD_ERR_REQUIRED, "spec.cliques[2].name", NULL, NULL,
         "spec.cliques[2].name: Required value"},
        {FIELD_ERR_NOT_SUPPORTED, "spec.mode", "\"Wrong\"",
         "supported values: \"InOrder\", \"AnyOrder\"",
         "spec.mode: Unsupported value: \"Wrong\": supported values: \"InOrder\", \"AnyOrder\""},
        {FIELD_ERR_DUPLICATE, "spec.tags[1]", "\"a\"", NULL,
         "spec.tags[1]: Duplicate value: \"a\""},
        {FIELD_ERR_TOO_LONG, "spec.immutableKey", "\"long\"", "may not be more than 8 bytes",
         "spec.immutableKey: Too long: may not be more than 8 bytes"},
        {FIELD_ERR_FORBIDDEN, "spec", NULL, "updates are not allowed",
         "spec: Forbidden: updates are not allowed"},
        {FIELD_ERR_INVALID, "spec", NULL, "replicas must not exceed maxReplicas",
         "spec: Invalid value: replicas must not exceed maxReplicas"},
        {FIELD_ERR_NOT_FOUND, "spec.x", "\"y\"", NULL, "spec.x: Not found: \"y\""},
        {FIELD_ERR_TYPE_INVALID, "spec.replicas", "\"string\"",
         "spec.replicas in body must be of type integer: \"string\"",
         "spec.replicas: Invalid value: \"string\": spec.replicas in body must be of type integer: "
         "\"string\""},
    };
    struct arena a = ARENA_INIT;

    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct field_error e = {.type = cases[i].type,
                                .field = str_of(cases[i].field),
                                .value = str_of(cases[i].value),
                                .detail = str_of(cases[i].detail)};
        CHECK_CSTR(field_error_text(&a, &e), cases[i].text);
    }
    arena_done(&a);
}

TEST(field_errors_collapse_and_are_bounded)
{
    struct arena a = ARENA_INIT;
    struct field_errors e;

    field_errors_init(&e, &a);
    CHECK(field_errors_text(&a, &e).len == 0);
    for (int i = 0; i < 3; i++)
        field_error_add(&e, FIELD_ERR_INVALID, STR("a"), STR("1"), "no");
    CHECK_INT(e.items.len, 1);
    field_error_add(&e, FIELD_ERR_REQUIRED, STR("b"), STR_NONE, NULL);
    CHECK_CSTR(field_errors_text(&a, &e), "[a: Invalid value: 1: no, b: Required value]");
    for (int i = 0; i < 500; i++)
        field_error_add(&e, FIELD_ERR_INVALID, STR("c"), STR("1"), "no %d", i);
    CHECK_INT(e.items.len, 100);
    field_warning_add(&e, "w%d", 1);
    field_warning_add(&e, "w%d", 1);
    CHECK_INT(e.warnings.len, 1);
    field_errors_done(&e);
    arena_done(&a);
}

TEST(status_success_of_a_delete)
{
    check_doc(status_success_doc(&kind_deployment, STR("d"), STR("u-1")),
              "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Success`,"
              "`details`:{`name`:`d`,`group`:`apps`,`kind`:`deployments`,`uid`:`u-1`}}");
}

TEST(status_created_is_success_with_a_code)
{
    struct arena a = ARENA_INIT;
    struct status s = {.code = 201};

    check_status(&s, "{`kind`:`Status`,`apiVersion`:`v1`,`metadata`:{},`status`:`Success`,"
                     "`code`:201}");
    arena_done(&a);
}

TEST(status_comes_back_from_the_wire)
{
    struct arena a = ARENA_INIT;
    struct status *s = status_new(&a, 504, "Timeout", "Timeout: Too large resource version: 9");

    status_add_cause(&a, s, "ResourceVersionTooLarge", STR("Too large resource version"), STR_NONE);
    s->retry_after = 1;
    struct doc *d = doc_hold(&a, status_doc(s));
    struct status *back = status_from(&a, 504, doc_root(d));
    CHECK_INT(back->code, 504);
    CHECK_CSTR(str_of(back->reason), "Timeout");
    CHECK_STR(back->message, s->message);
    CHECK_INT(back->retry_after, 1);
    CHECK_INT(back->n_causes, 1);
    CHECK_CSTR(back->causes[0].reason, "ResourceVersionTooLarge");
    CHECK_STR(doc_text(doc_hold(&a, status_doc(back))), doc_text(d));
    arena_done(&a);
}

TEST(status_from_what_is_no_status)
{
    struct arena a = ARENA_INIT;
    struct status *s = status_from(&a, 404, JVAL_ABSENT);

    CHECK_INT(s->code, 404);
    CHECK_CSTR(str_of(s->reason), "NotFound");
    CHECK_CSTR(s->message, "the server answered HTTP 404");
    s = status_from(&a, 503, fixture_json(&a, "{'kind':'Status','code':'x','reason':7}"));
    CHECK_INT(s->code, 503);
    CHECK(s->reason == NULL);
    s = status_from(&a, 500, fixture_json(&a, "{'kind':'Status','code':99999999}"));
    CHECK_INT(s->code, 500);
    arena_done(&a);
}
