/* The user's kubeconfig: what is not ours stays, to the byte. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"
#include "client/context.h"
#include "json/yaml.h"

#define OWN                                                                                  \
    "apiVersion: v1\nkind: Config\ncurrent-context: grove\nclusters:\n- name: grove\n"       \
    "  cluster:\n    server: https://127.0.0.1:6443\nusers:\n- name: grove-admin\n"          \
    "  user:\n    token: secret\ncontexts:\n- name: grove\n  context:\n    cluster: grove\n" \
    "    user: grove-admin\n"

/* With comments, an odd indentation, an unknown key and no line break at its end. */
#define THEIRS                                                           \
    "# mine\n"                                                           \
    "apiVersion: v1\n"                                                   \
    "clusters:\n"                                                        \
    "  - cluster: {server: \"https://prod.example\"}   # do not touch\n" \
    "    name: prod\n"                                                   \
    "contexts:\n"                                                        \
    "- context:\n"                                                       \
    "    cluster: prod\n"                                                \
    "    user: me\n"                                                     \
    "  name: prod\n"                                                     \
    "# and this one\n"                                                   \
    "- {name: other, context: {cluster: prod, user: me}}\n"              \
    "current-context: prod\n"                                            \
    "kind: Config\n"                                                     \
    "preferences: {colors: true}\n"                                      \
    "users:\n"                                                           \
    "- name: me\n"                                                       \
    "  user:\n"                                                          \
    "    token: abc"

static struct arena arena;
static str previous;

static str add(str text, const char *name)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    int r = context_edit_add(text, str_of(name), STR(OWN), &out, &arena, &previous, &err);
    REQUIRE(r == 0);
    str ret = arena_str(&arena, strbuf_str(&out));
    strbuf_done(&out);
    return ret;
}

static str take_out(str text, const char *name)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    REQUIRE(context_edit_remove(text, str_of(name), &out, &err) == 0);
    str ret = arena_str(&arena, strbuf_str(&out));
    strbuf_done(&out);
    return ret;
}

static jval parsed(str text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_hold(&arena, yaml_parse_one(text, &err));
    REQUIRE(d);
    return doc_root(d);
}

TEST(a_context_comes_and_goes_and_nothing_else_changes)
{
    str with = add(STR(THEIRS), "grove");
    CHECK_STR(previous, STR("prod"));
    jval root = parsed(with);
    CHECK_STR(jstr(jgetc(root, "current-context")), STR("grove"));
    CHECK_INT(jlen(jgetc(root, "contexts")), 3);
    CHECK_STR(jstr(jgetc(jat(jgetc(root, "clusters"), 0), "name")), STR("grove"));
    CHECK_STR(jstr(jpath(jat(jgetc(root, "users"), 0), "user.token")), STR("secret"));
    CHECK(str_find(with, STR("# do not touch\n")) > 0);
    CHECK(str_find(with, STR("# and this one\n")) > 0);
    /* Back to the byte, but for the line break that was missing at the end. */
    str after = take_out(with, "grove");
    CHECK(str_find(after, STR("# do not touch\n")) > 0);
    CHECK(str_find(after, STR("colors: true")) > 0);
    CHECK(jequal(parsed(after), parsed(STR(THEIRS))));
    CHECK_STR(jstr(jgetc(parsed(after), "current-context")), STR("prod"));
    arena_done(&arena);
}

TEST(adding_again_replaces_what_was_added)
{
    str once = add(STR(THEIRS), "grove"), twice = add(once, "grove");
    CHECK_STR(previous, STR("prod")); /* not itself */
    CHECK(jequal(parsed(once), parsed(twice)));
    str two = add(twice, "grove-7000");
    CHECK_STR(previous, STR("grove"));
    CHECK_INT(jlen(jgetc(parsed(two), "contexts")), 4);
    /* In the other order than they came. */
    str left = take_out(two, "grove");
    CHECK_STR(jstr(jgetc(parsed(left), "current-context")), STR("grove-7000"));
    left = take_out(left, "grove-7000");
    CHECK_STR(jstr(jgetc(parsed(left), "current-context")), STR(""));
    CHECK_INT(jlen(jgetc(parsed(left), "contexts")), 2);
    arena_done(&arena);
}

TEST(a_current_context_that_was_changed_meanwhile_stays)
{
    str with = add(STR(THEIRS), "grove");
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (str rest = with; rest.p;) {
        str line = str_cut(&rest, '\n');
        bool current = str_starts(line, STR("current-context"));
        strbuf_printf(&b, "%.*s\n", STR_ARG(current ? STR("current-context: other") : line));
    }
    str after = take_out(strbuf_str(&b), "grove");
    CHECK_STR(jstr(jgetc(parsed(after), "current-context")), STR("other"));
    strbuf_done(&b);
    arena_done(&arena);
}

TEST(what_somebody_else_named_so_is_not_touched)
{
    struct strbuf out = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    CHECK_INT(context_edit_add(STR(THEIRS), STR("prod"), STR(OWN), &out, &arena, &previous, &err),
              ERR_EXISTS);
    strbuf_done(&out);
    CHECK_STR(take_out(STR(THEIRS), "prod"), STR(THEIRS));
    CHECK(context_is_own_file(STR(OWN)));
    CHECK(!context_is_own_file(STR(THEIRS)));
    CHECK(!context_is_own_file(add(STR_NONE, "grove")));
    arena_done(&arena);
}

TEST(empty_and_unusual_files_are_understood)
{
    static const char *const files[] = {
        "",
        "# nothing\n",
        "apiVersion: v1\nclusters: null\ncontexts: []\nkind: Config\n",
        "{\"apiVersion\": \"v1\", \"clusters\": [{\"name\": \"a\", \"cluster\": {}}]}\n",
        "clusters: [{name: a, cluster: {}}]\nusers:\n- name: x\n  user: {}\n",
        "apiVersion: v1\r\nkind: Config\r\nusers:\r\n- name: x\r\n  user: {}\r\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(files); i++) {
        str with = add(str_of(files[i]), "grove"), without = take_out(with, "grove");
        jval root = parsed(with);
        CHECK_STR(jstr(jgetc(jat(jgetc(root, "contexts"), 0), "name")), STR("grove"));
        CHECK_INT(jlen(jgetc(parsed(without), "contexts")), 0);
        size_t users = str_find(str_of(files[i]), STR("name: x")) >= 0 ? 1 : 0;
        CHECK_INT(jlen(jgetc(parsed(without), "users")), users);
    }
    arena_done(&arena);
}

TEST(a_file_that_is_locked_or_no_kubeconfig_stays_as_it_is)
{
    char dir[] = "/tmp/grove-context-XXXXXX";
    struct strbuf text = STRBUF_INIT(1 << 20);
    struct err err = ERR_INIT;
    struct stat st;
    REQUIRE(mkdtemp(dir));
    str file = arena_printf(&arena, "%s/.kube/config", dir);
    str link = arena_printf(&arena, "%s/link", dir), lock = arena_printf(&arena, "%s.lock", file.p);
    CHECK_INT(context_add(file, STR("grove"), STR(OWN), &arena, &previous, &err), 0);
    CHECK(stat(file.p, &st) == 0 && (st.st_mode & 0777) == 0600);
    CHECK(symlink(file.p, link.p) == 0);
    CHECK_INT(context_remove(link, STR("grove"), &err), 0);
    CHECK(lstat(link.p, &st) == 0 && S_ISLNK(st.st_mode));
    CHECK(access(lock.p, F_OK) != 0);
    CHECK_INT(file_write(lock.p, STR(""), 0600, &err), 0);
    CHECK_INT(context_add(file, STR("grove"), STR(OWN), &arena, &previous, &err), ERR_UNAVAILABLE);
    CHECK(unlink(lock.p) == 0);
    CHECK_INT(file_write(file.p, STR("a: [b"), 0600, &err), 0);
    CHECK(context_add(file, STR("grove"), STR(OWN), &arena, &previous, &err) != 0);
    CHECK(file_read(file.p, &text, &err) == 0);
    CHECK_STR(strbuf_str(&text), STR("a: [b"));
    strbuf_done(&text);
    CHECK_INT(dir_remove(dir, &err), 0);
    arena_done(&arena);
}
