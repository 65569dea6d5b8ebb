#include "base/memlimit.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"

static char root[64];

static void put(const char *path, const char *text)
{
    struct strbuf file = STRBUF_INIT(4096), dir = STRBUF_INIT(4096);
    strbuf_printf(&file, "%s/%s", root, path);
    str parent = strbuf_str(&file);
    strbuf_add_str(&dir, str_n(parent.p, (size_t)str_rfind_char(parent, '/')));
    REQUIRE(dir_make(dir.p, 0700, NULL) == 0);
    REQUIRE(file_write(file.p, str_of(text), 0600, NULL) == 0);
    strbuf_done(&file);
    strbuf_done(&dir);
}

static void begin(void)
{
    snprintf(root, sizeof(root), "/tmp/grove-test-XXXXXX");
    REQUIRE(mkdtemp(root));
}

static void end(size_t want)
{
    CHECK_INT(memory_limit(root), want);
    CHECK_INT(dir_remove(root, NULL), 0);
}

#define MIB ((size_t)1 << 20)

static size_t machine(void)
{
    return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
}

TEST(without_limits_the_machine_is_the_limit)
{
    begin();
    end(machine());
    begin();
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "max\n");
    end(machine());
}

TEST(a_container_sees_its_group_at_the_root)
{
    begin();
    put("proc/self/cgroup", "0::/\n");
    put("sys/fs/cgroup/memory.max", "67108864\n");
    end(64 * MIB);
    /* The path is the host's. */
    begin();
    put("proc/self/cgroup", "9:memory:/docker/abc\n8:cpu:/docker/abc\n");
    put("sys/fs/cgroup/memory/memory.limit_in_bytes", "33554432\n");
    end(32 * MIB);
}

TEST(a_service_is_bound_by_its_group_and_those_above)
{
    begin();
    put("proc/self/cgroup", "0::/system.slice/grove.service\n");
    put("sys/fs/cgroup/system.slice/grove.service/memory.max", "max\n");
    put("sys/fs/cgroup/system.slice/memory.max", "50331648\n");
    end(48 * MIB);
    begin();
    put("proc/self/cgroup", "0::/system.slice/grove.service\n");
    put("sys/fs/cgroup/system.slice/grove.service/memory.max", "16777216\n");
    put("sys/fs/cgroup/system.slice/memory.max", "50331648\n");
    end(16 * MIB);
    begin();
    put("proc/self/cgroup", "4:cpu,memory:/a/b\n");
    put("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
    put("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "20971520\n");
    end(20 * MIB);
}

TEST(limits_of_the_process_count)
{
    struct rlimit before, r;
#ifdef __SANITIZE_ADDRESS__
    test_skip("the address sanitizer needs more memory than any limit");
    return;
#endif
    REQUIRE(getrlimit(RLIMIT_DATA, &before) == 0);
    begin();
    r = before;
    r.rlim_cur = 512 * MIB;
    REQUIRE(setrlimit(RLIMIT_DATA, &r) == 0);
    end(512 * MIB);
    REQUIRE(setrlimit(RLIMIT_DATA, &before) == 0);
}
