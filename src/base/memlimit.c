/* See memlimit.h. A container usually sees its own group at the root of /sys/fs/cgroup; a service
 * of the system sees the whole tree, and /proc/self/cgroup says where in it. */
#include "base/memlimit.h"

#include <sys/resource.h>
#include <unistd.h>

#include "base/file.h"

/* "max" and numbers beyond all memory mean no limit. */
static void lower(size_t *limit, uint64_t other)
{
    if (other > 0 && other < *limit)
        *limit = (size_t)other;
}

static void lower_by_file(size_t *limit, const char *root, const char *tree, str group,
                          const char *name)
{
    struct strbuf path = STRBUF_INIT(4096), text = STRBUF_INIT(4096);
    uint64_t v;
    strbuf_printf(&path, "%s%s%.*s/%s", root, tree, STR_ARG(group), name);
    if (file_read(path.p, &text, NULL) == 0 && str_to_uint(str_trim(strbuf_str(&text)), &v))
        lower(limit, v);
    strbuf_done(&path);
    strbuf_done(&text);
}

/* The group and all above it: a limit holds for everything below. */
static void lower_by_group(size_t *limit, const char *root, const char *tree, str group,
                           const char *name)
{
    for (;;) {
        while (group.len && group.p[group.len - 1] == '/')
            group.len--;
        lower_by_file(limit, root, tree, group, name);
        if (!group.len)
            return;
        ptrdiff_t slash = str_rfind_char(group, '/');
        group.len = slash > 0 ? (size_t)slash : 0;
    }
}

static bool has_controller(str list, const char *name)
{
    while (!str_is_empty(list))
        if (str_is(str_cut(&list, ','), name))
            return true;
    return false;
}

/* Lines "0::/group" (version 2) and "9:memory,cpu:/group" (version 1). */
static void lower_by_cgroups(size_t *limit, const char *root)
{
    struct strbuf path = STRBUF_INIT(4096), text = STRBUF_INIT(64 << 10);
    strbuf_printf(&path, "%s/proc/self/cgroup", root);
    (void)file_read(path.p, &text, NULL);
    str rest = strbuf_str(&text);
    while (!str_is_empty(rest)) {
        str group = str_cut(&rest, '\n'), id = str_cut(&group, ':');
        str controllers = str_cut(&group, ':');
        if (str_is(id, "0") && !controllers.len)
            lower_by_group(limit, root, "/sys/fs/cgroup", group, "memory.max");
        else if (has_controller(controllers, "memory"))
            lower_by_group(limit, root, "/sys/fs/cgroup/memory", group, "memory.limit_in_bytes");
    }
    strbuf_done(&path);
    strbuf_done(&text);
    /* Where the group's path is not visible from here, the root is our own. */
    lower_by_file(limit, root, "/sys/fs/cgroup", STR_NONE, "memory.max");
    lower_by_file(limit, root, "/sys/fs/cgroup/memory", STR_NONE, "memory.limit_in_bytes");
}

static void lower_by_rlimit(size_t *limit, int resource)
{
    struct rlimit r;
    if (getrlimit((__rlimit_resource_t)resource, &r) == 0 && r.rlim_cur != RLIM_INFINITY)
        lower(limit, r.rlim_cur);
}

size_t memory_limit(const char *root)
{
    size_t limit = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
    lower_by_cgroups(&limit, root);
    lower_by_rlimit(&limit, RLIMIT_AS);
    lower_by_rlimit(&limit, RLIMIT_DATA);
    return limit;
}
