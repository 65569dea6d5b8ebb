/*
 * The test harness: TEST(name_of_behaviour) { CHECK(...); } registers itself through a linker
 * section; one binary per folder prints TAP. A failing CHECK prints file, line and the expression
 * and fails the test; the test goes on unless it is REQUIRE. Property tests draw from
 * test_rng(), whose seed is printed on failure and can be given again by GROVE_TEST_SEED; case
 * counts come from test_cases(n), scaled by GROVE_TEST_SCALE.
 *
 *   test-json                 run all        test-json NAME...   those whose name contains NAME
 *   test-json --list          names
 */
#ifndef BASE_TEST_H
#define BASE_TEST_H

#include "base/rng.h"
#include "base/str.h"

struct test_case {
    const char *name;
    const char *file;
    void (*run)(void);
    int line; /* the compiler may reorder the section; tests run in source order */
};

#define TEST(id)                                                                         \
    static void test_##id(void);                                                         \
    static const struct test_case test_case_##id = {#id, __FILE__, test_##id, __LINE__}; \
    static const struct test_case *const test_ptr_##id                                   \
        __attribute__((used, section("grove_tests"))) = &test_case_##id;                 \
    static void test_##id(void)

bool test_check_(bool ok, const char *file, int line, const char *expr);
bool test_check_str_(str got, str want, const char *file, int line, const char *expr);
bool test_check_int_(int64_t got, int64_t want, const char *file, int line, const char *expr);
/* Ends the running test at once. */
void test_abort_(void) __attribute__((noreturn));
/* Marks the running test skipped, with the reason. Return after it. */
void test_skip(const char *reason);
void test_note(const char *fmt, ...) PRINTF_LIKE(1, 2);
struct rng *test_rng(void);
size_t test_cases(size_t n);

#define CHECK(cond) test_check_((cond), __FILE__, __LINE__, #cond)
#define CHECK_STR(got, want) test_check_str_((got), (want), __FILE__, __LINE__, #got)
#define CHECK_CSTR(got, want) test_check_str_((got), str_of(want), __FILE__, __LINE__, #got)
#define CHECK_INT(got, want) \
    test_check_int_((int64_t)(got), (int64_t)(want), __FILE__, __LINE__, #got)
/* By a variable, so that those who analyse the code see what holds after it. */
#define REQUIRE(cond)                                            \
    do {                                                         \
        bool required_ = (cond);                                 \
        (void)test_check_(required_, __FILE__, __LINE__, #cond); \
        if (!required_)                                          \
            test_abort_();                                       \
    } while (0)

#endif
