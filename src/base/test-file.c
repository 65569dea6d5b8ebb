#include "base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include "base/test.h"

TEST(a_file_is_replaced_whole_with_its_mode)
{
    char dir[] = "/tmp/grove-test-XXXXXX";
    REQUIRE(mkdtemp(dir) != NULL);
    struct strbuf path = STRBUF_INIT(256), got = STRBUF_INIT(1024);
    strbuf_printf(&path, "%s/a/b", dir);
    CHECK_INT(dir_make(path.p, 0700, NULL), 0);
    CHECK_INT(dir_make(path.p, 0700, NULL), 0);
    strbuf_add_cstr(&path, "/f");
    CHECK_INT(file_write(path.p, STR("one"), 0600, NULL), 0);
    CHECK_INT(file_write(path.p, STR("second"), 0640, NULL), 0);
    CHECK_INT(file_read(path.p, &got, NULL), 0);
    CHECK_CSTR(strbuf_str(&got), "second");
    struct stat st;
    CHECK_INT(stat(path.p, &st), 0);
    CHECK_INT(st.st_mode & 0777, 0640);
    CHECK_INT(dir_remove(dir, NULL), 0);
    CHECK_INT(access(dir, F_OK), -1);
    strbuf_done(&path);
    strbuf_done(&got);
}

TEST(what_cannot_be_read_says_why)
{
    struct err err = ERR_INIT;
    struct strbuf small = STRBUF_INIT(8);
    CHECK_INT(file_read("/nonexistent/file", &small, &err), ERR_NOT_FOUND);
    CHECK(str_find(str_of(err.message), STR("/nonexistent/file")) >= 0);
    CHECK_INT(file_read("/proc/self/maps", &small, &err), ERR_TOO_LARGE);
    CHECK_INT(dir_make("/proc/grove/x", 0700, &err) != 0, 1);
    strbuf_done(&small);
}
