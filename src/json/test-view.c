/* Views: field tables to structs. */
#include "base/test.h"
#include "json/view.h"

struct sample {
    str role;
    int64_t replicas;
    bool ready;
    struct opt_int min_available;
    struct opt_bool paused;
    jval pod_spec;
    str phase, ip;
};

static const struct view_field sample_view[] = {
    VIEW_STR(struct sample, role, "spec.roleName"),
    VIEW_INT(struct sample, replicas, "spec.replicas"),
    VIEW_OPT_INT(struct sample, min_available, "spec.minAvailable"),
    VIEW_VAL(struct sample, pod_spec, "spec.template.spec"),
    VIEW_OPT_BOOL(struct sample, paused, "paused"),
    VIEW_BOOL(struct sample, ready, "status.ready"),
    VIEW_STR(struct sample, phase, "status.phase"),
    VIEW_STR(struct sample, ip, "status.ip"),
    VIEW_END,
};

static int decode(const char *text, struct sample *out, struct doc **ret_doc, struct err *err)
{
    *ret_doc = doc_parse(str_of(text), NULL, NULL);
    REQUIRE(*ret_doc != NULL);
    memset(out, 0xff, sizeof(*out)); /* decoding starts from zero by itself */
    return view_decode(doc_root(*ret_doc), sample_view, out, sizeof(*out), err);
}

TEST(view_takes_what_the_table_names)
{
    struct sample s;
    struct doc *d;
    struct err err = ERR_INIT;
    CHECK_INT(decode("{\"spec\":{\"roleName\":\"w\\u006frker\",\"replicas\":3,\"minAvailable\":0,"
                     "\"other\":[1],\"template\":{\"spec\":{\"x\":1}}},\"paused\":false,"
                     "\"status\":{\"ready\":true,\"phase\":\"Running\",\"ip\":\"10.0.0.1\"}}",
                     &s, &d, &err),
              0);
    CHECK_STR(s.role, STR("worker"));
    CHECK_INT(s.replicas, 3);
    CHECK(s.min_available.set && s.min_available.value == 0);
    CHECK(s.paused.set && !s.paused.value);
    CHECK(s.ready);
    CHECK_STR(s.phase, STR("Running"));
    CHECK_STR(s.ip, STR("10.0.0.1"));
    CHECK_STR(jtext(s.pod_spec), STR("{\"x\":1}"));
    doc_unref(d);
}

TEST(view_of_nothing_is_zero)
{
    static const char *const texts[] = {
        "{}", "null", "[]", "{\"spec\":null,\"status\":{}}",
        "{\"spec\":{\"roleName\":null,\"replicas\":null,\"minAvailable\":null},\"paused\":null}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct sample s;
        struct doc *d;
        struct err err = ERR_INIT;
        CHECK_INT(decode(texts[i], &s, &d, &err), 0);
        CHECK(s.role.p == NULL && s.replicas == 0 && !s.ready);
        CHECK(!s.min_available.set && !s.paused.set);
        CHECK(j_is_absent(s.pod_spec));
        doc_unref(d);
    }
}

TEST(view_keeps_null_where_the_field_is_a_value)
{
    struct sample s;
    struct doc *d;
    CHECK_INT(decode("{\"spec\":{\"template\":{\"spec\":null}}}", &s, &d, NULL), 0);
    CHECK(j_is_null(s.pod_spec));
    doc_unref(d);
}

TEST(view_reports_the_first_wrong_type_and_goes_on)
{
    struct sample s;
    struct doc *d;
    struct err err = ERR_INIT;
    CHECK_INT(decode("{\"spec\":{\"roleName\":\"a\",\"replicas\":\"3\",\"minAvailable\":1.5},"
                     "\"paused\":1,\"status\":{\"ready\":\"yes\",\"phase\":\"P\",\"ip\":{}}}",
                     &s, &d, &err),
              ERR_INVALID);
    CHECK_CSTR(str_of(err.field), "spec.replicas");
    CHECK_CSTR(str_of(err.message), "spec.replicas: expected an integer, found a string");
    CHECK_STR(s.role, STR("a"));
    CHECK_INT(s.replicas, 0);
    CHECK(!s.min_available.set && !s.paused.set && !s.ready);
    CHECK_STR(s.phase, STR("P"));
    CHECK(s.ip.p == NULL);
    doc_unref(d);
}

TEST(view_takes_integers_as_they_may_be_written)
{
    struct sample s;
    struct doc *d;
    CHECK_INT(decode("{\"spec\":{\"replicas\":2.0,\"minAvailable\":1e3}}", &s, &d, NULL), 0);
    CHECK_INT(s.replicas, 2);
    CHECK_INT(s.min_available.value, 1000);
    doc_unref(d);
    struct err err = ERR_INIT;
    CHECK_INT(decode("{\"spec\":{\"replicas\":9223372036854775808}}", &s, &d, &err), ERR_INVALID);
    CHECK_CSTR(str_of(err.message), "spec.replicas: expected an integer, found a number");
    doc_unref(d);
}
