#include "base/test.h"
#include "json/yaml_where.h"

#define SET                  \
    "---\n"                  \
    "# nothing\n"            \
    "---\n"                  \
    "kind: Set\n"            \
    "metadata:\n"            \
    "  labels: {a.b/c: x}\n" \
    "cliques:\n"             \
    "- name: a\n"            \
    "  after:\n"             \
    "  - b\n"                \
    "- name: b\n"            \
    "  after: [ghost]\n"     \
    "---\n"                  \
    "kind: Other\n"

TEST(a_path_has_a_line)
{
    static const struct {
        const char *path, *value;
        size_t document, line;
    } cases[] = {
        {"kind", "", 0, 4},
        {"metadata.labels", "", 0, 6},
        {"metadata.labels.a.b/c", "", 0, 6},
        {"cliques[1].name", "", 0, 11},
        {"cliques[0].after[0]", "", 0, 10},
        {"cliques[0].after[7]", "", 0, 9}, /* the nearest around it */
        {"cliques[1].missing.deep", "", 0, 11},
        {"", "", 0, 4},
        {"kind", "", 1, 14},
        {"kind", "", 2, 0},                /* no such document */
        {"cliques", "b", 0, 11},           /* by name */
        {"cliques.after", "ghost", 0, 12}, /* by the key that ends the path */
        {"cliques[0].after", "b", 0, 10},  /* an item of a list of scalars */
        {"cliques", "nobody", 0, 7},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t line = yaml_line_of(STR(SET), cases[i].document, str_of(cases[i].path),
                                   str_of(cases[i].value));
        CHECK_INT(line, cases[i].line);
    }
}

TEST(text_that_is_no_yaml_has_no_lines)
{
    CHECK(yaml_line_of(STR("a: [b"), 0, STR("a"), STR_NONE) == 0);
    CHECK(yaml_line_of(STR_NONE, 0, STR("a"), STR_NONE) == 0);
    CHECK(yaml_line_of(STR("a: &x [*x]"), 0, STR("a"), STR("y")) <= 1);
}
