/* Errors: text, codes, cutting. */
#include <errno.h>

#include "base/err.h"
#include "base/test.h"

TEST(err_set_wrap_and_field)
{
    struct err e = ERR_INIT;
    CHECK_INT(err_set_field(&e, ERR_INVALID, STR("spec.replicas"), "must be %d", 3), ERR_INVALID);
    CHECK_CSTR(str_of(e.message), "must be 3");
    CHECK_CSTR(str_of(e.field), "spec.replicas");
    CHECK_INT(err_wrap(&e, "set %s", "a"), ERR_INVALID);
    CHECK_CSTR(str_of(e.message), "set a: must be 3");
    CHECK_CSTR(str_of(e.field), "spec.replicas");
    CHECK_INT(err_set(&e, ERR_CONFLICT, "changed"), ERR_CONFLICT);
    CHECK_CSTR(str_of(e.field), "");
    CHECK_INT(e.code, ERR_CONFLICT);
}

TEST(err_errno_names_the_cause)
{
    struct err e = ERR_INIT;
    errno = ENOENT;
    CHECK_INT(err_errno(&e, ERR_IO, "open %s", "/x"), ERR_IO);
    CHECK_CSTR(str_of(e.message), "open /x: No such file or directory");
    CHECK_INT(errno, ENOENT);
}

TEST(err_without_a_reader_still_returns_the_code)
{
    CHECK_INT(err_set(NULL, ERR_GONE, "x"), ERR_GONE);
    CHECK_INT(err_set_field(NULL, ERR_INVALID, STR("f"), "x"), ERR_INVALID);
    CHECK_INT(err_errno(NULL, ERR_IO, "x"), ERR_IO);
    CHECK(err_wrap(NULL, "x") < 0);
}

TEST(err_long_messages_are_cut_with_dots)
{
    struct err e = ERR_INIT;
    err_set(&e, ERR_INVALID, "%02000d", 1);
    CHECK_INT(strlen(e.message), sizeof(e.message) - 1);
    CHECK(str_ends(str_of(e.message), STR("0...")));
    err_wrap(&e, "context");
    CHECK_INT(strlen(e.message), sizeof(e.message) - 1);
    CHECK(str_starts(str_of(e.message), STR("context: 000")));
    CHECK(str_ends(str_of(e.message), STR("...")));
    /* A field that fits exactly is not cut. */
    err_set(&e, ERR_INVALID, "%01023d", 1);
    CHECK(str_ends(str_of(e.message), STR("0001")));
}

TEST(err_cut_keeps_utf8_whole)
{
    struct err e = ERR_INIT;
    char text[1200];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'a', shift);
        for (size_t i = shift; i + 3 < sizeof(text); i += 3)
            memcpy(text + i, "\xe2\x82\xac", 4);
        err_set(&e, ERR_INVALID, "%s", text);
        CHECK(str_is_utf8(str_of(e.message)));
        CHECK(str_ends(str_of(e.message), STR("...")));
    }
}

TEST(err_codes_have_names)
{
    CHECK_CSTR(str_of(err_code_name(ERR_NOT_FOUND)), "not found");
    CHECK_CSTR(str_of(err_code_name(ERR_NONE)), "no error");
    for (int code = ERR_INTERNAL; code <= 0; code++)
        CHECK(err_code_name(code) != NULL);
    CHECK_CSTR(str_of(err_code_name(-999)), "unknown error");
    CHECK_CSTR(str_of(err_code_name(1)), "unknown error");
}
