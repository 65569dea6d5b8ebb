/*
 * See enter.h.
 *
 * The root is a tmpfs in which every entry of / is bound, recursively and read-only. So a mount
 * point that is not there (/models) can be made beside them. Where one is missing deeper down
 * (/etc/app), its directory is opened up in the same way: a tmpfs over it, its entries bound into
 * that. Then come what is private (/tmp, /run, /dev and so on), what is hidden, and the pod's own
 * volumes.
 */
#include "node/shim/enter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { PATH_ROOM = 4096 };

struct why {
    char *text;
    size_t size;
};

static int fail(struct why *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct why *w, const char *fmt, ...)
{
    int err = errno;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(w->text, w->size, fmt, ap);
    va_end(ap);
    if (err && n >= 0 && (size_t)n < w->size)
        (void)snprintf(w->text + n, w->size - (size_t)n, ": %s", strerror(err));
    return -1;
}

static const char *value_of(const char *setting, const char *key)
{
    size_t n = strlen(key);
    return strncmp(setting, key, n) == 0 && setting[n] == '=' ? setting + n + 1 : NULL;
}

static const char *setting(const struct enter *e, const char *key)
{
    for (size_t i = 0; i < e->n; i++) {
        const char *v = value_of(e->settings[i], key);
        if (v)
            return v;
    }
    return NULL;
}

/* ---- mounts ---- */

static int join(char *ret, const char *a, const char *b)
{
    int n = snprintf(ret, PATH_ROOM, "%s%s%s", a, b[0] == '/' ? "" : "/", b);
    if (n < 0 || n >= PATH_ROOM) {
        errno = ENAMETOOLONG;
        return -1;
    }
    return 0;
}

/* As in <linux/mount.h>, which the C libraries do not agree upon. */
struct mount_attributes {
    unsigned long long set, clear, propagation, userns;
};
enum { ATTR_RDONLY = 1, ATTR_NOSUID = 2, SYSCALL_MOUNT_SETATTR = 442 };
#ifndef AT_RECURSIVE
#define AT_RECURSIVE 0x8000
#endif

static int set_read_only(const char *path, bool recursive)
{
    struct mount_attributes attr = {.set = ATTR_RDONLY | ATTR_NOSUID};
    return (int)syscall(SYSCALL_MOUNT_SETATTR, AT_FDCWD, path, recursive ? AT_RECURSIVE : 0, &attr,
                        sizeof(attr));
}

/* Binds an entry of a directory into one of ours: directories and files as they are, links copied.
 */
static int bind_entry(const char *from, const char *to)
{
    struct stat st;
    if (lstat(from, &st) < 0)
        return errno == ENOENT || errno == EACCES ? 0 : -1;
    if (S_ISLNK(st.st_mode)) {
        char target[PATH_ROOM];
        ssize_t n = readlink(from, target, sizeof(target) - 1);
        if (n < 0)
            return -1;
        target[n] = 0;
        return symlink(target, to);
    }
    if (S_ISDIR(st.st_mode)) {
        if (mkdir(to, 0755) < 0)
            return -1;
    } else {
        int fd = open(to, O_CREAT | O_CLOEXEC | O_WRONLY, 0644);
        if (fd < 0)
            return -1;
        close(fd);
    }
    return mount(from, to, NULL, MS_BIND | MS_REC, NULL);
}

/* Fills an empty directory with all that another one has. */
static int bind_entries(const char *from, const char *to)
{
    char a[PATH_ROOM], b[PATH_ROOM];
    DIR *d = opendir(from);
    struct dirent *de;
    int r = 0;
    if (!d)
        return -1;
    /* cppcheck-suppress readdirCalled */
    while (r == 0 && (de = readdir(d))) {
        if (strcmp(de->d_name, ".") == 0 || strcmp(de->d_name, "..") == 0)
            continue;
        r = join(a, from, de->d_name) < 0 || join(b, to, de->d_name) < 0 ? -1 : bind_entry(a, b);
    }
    (void)closedir(d);
    return r;
}

static int private_tmpfs(const char *root, const char *path, const char *options)
{
    char p[PATH_ROOM];
    struct stat st;
    if (join(p, root, path) < 0)
        return -1;
    if (lstat(p, &st) < 0 || !S_ISDIR(st.st_mode))
        return 0; /* the machine has no such directory, or a link to one */
    return mount("tmpfs", p, "tmpfs", MS_NOSUID | MS_NODEV, options);
}

/* As in <linux/openat2.h>, which the C libraries do not all have. */
struct open_how_words {
    unsigned long long flags, mode, resolve;
};
enum { HOW_NO_MAGICLINKS = 2, HOW_IN_ROOT = 16, SYSCALL_OPENAT2 = 437 };

/* A path as the process will see it: links lead to where they do below the new root, and nowhere
 * else. What another container of the pod has written in a volume cannot lead out of it. */
static int open_inside(int root, const char *path)
{
    struct open_how_words how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = HOW_NO_MAGICLINKS | HOW_IN_ROOT};
    return (int)syscall(SYSCALL_OPENAT2, root, path, &how, sizeof(how));
}

static const char *path_of_fd(int fd, char ret[32])
{
    (void)snprintf(ret, 32, "/proc/self/fd/%d", fd);
    return ret;
}

/* Puts a tmpfs with the same entries over a directory, so that more can be made in it. */
static int open_up(const char *root, int dir)
{
    char there[32], staging[PATH_ROOM];
    (void)path_of_fd(dir, there);
    if (join(staging, root, "/.grove-open") < 0)
        return -1;
    if (mkdir(staging, 0755) < 0 && errno != EEXIST)
        return -1;
    if (mount("tmpfs", staging, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0 ||
        bind_entries(there, staging) < 0 || mount(staging, there, NULL, MS_MOVE, NULL) < 0)
        return -1;
    return rmdir(staging);
}

static int make_entry(int dir, const char *name, bool is_file)
{
    if (!is_file)
        return mkdirat(dir, name, 0755);
    int fd = openat(dir, name, O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC | O_WRONLY, 0644);
    if (fd >= 0)
        close(fd);
    return fd < 0 ? -1 : 0;
}

/* Makes what `path` names in its directory `up`; a directory of the machine is opened up first. */
static int make_part(const char *root, int at, const char *up, const char *name, bool is_file)
{
    int dir = open_inside(at, up);
    int r = dir < 0 ? -1 : make_entry(dir, name, is_file);
    if (r < 0 && dir >= 0 && errno == EROFS && open_up(root, dir) == 0) {
        close(dir);
        dir = open_inside(at, up);
        r = dir < 0 ? -1 : make_entry(dir, name, is_file);
    }
    int err = errno;
    if (dir >= 0)
        close(dir);
    errno = err;
    return r;
}

/* Makes the target of a mount, all of its missing directories and a file where it is one, and opens
 * it. */
static int make_target(const char *root, int at, const char *target, bool is_file)
{
    char up[PATH_ROOM] = "/", part[PATH_ROOM];
    size_t len = strlen(target), from = 1;
    while (len > 1 && target[len - 1] == '/')
        len--;
    if (len >= sizeof(part) || target[0] != '/') {
        errno = EINVAL;
        return -1;
    }
    for (size_t i = 1; i <= len; i++) {
        if (i < len && target[i] != '/')
            continue;
        memcpy(part, target, i);
        part[i] = 0;
        const char *name = part + from;
        if (strcmp(name, "..") == 0) {
            errno = EINVAL;
            return -1;
        }
        int fd = open_inside(at, part);
        if (fd < 0 && (errno != ENOENT || make_part(root, at, up, name, i == len && is_file) < 0))
            return -1;
        if (fd >= 0)
            close(fd);
        memcpy(up, part, i + 1);
        from = i + 1;
    }
    return open_inside(at, up);
}

/* In the root that `at` is open on. */
static int bind_at(const char *root, int at, const char *source, const char *target, bool ro,
                   struct why *w)
{
    char path[32];
    struct stat st;
    if (stat(source, &st) < 0)
        return fail(w, "%s, which is to be mounted at %s, cannot be read", source, target);
    int fd = make_target(root, at, target, !S_ISDIR(st.st_mode));
    if (fd < 0)
        return fail(w, "the mount point %s cannot be made", target);
    int r = mount(source, path_of_fd(fd, path), NULL, MS_BIND | MS_REC, NULL);
    close(fd);
    if (r < 0)
        return fail(w, "%s cannot be mounted at %s", source, target);
    if (!ro)
        return 0;
    fd = open_inside(at, target); /* what is mounted there now */
    r = fd < 0 ? -1 : set_read_only(path_of_fd(fd, path), true);
    if (fd >= 0)
        close(fd);
    return r < 0 ? fail(w, "%s cannot be made read-only", target) : 0;
}

static int bind_volume(const char *root, const char *spec, struct why *w)
{
    char source[PATH_ROOM], target[PATH_ROOM];
    const char *tab = strchr(spec, '\t'), *last = strrchr(spec, '\t');
    errno = 0;
    if (!tab || tab == last || (size_t)(tab - spec) >= sizeof(source) ||
        (size_t)(last - tab) > sizeof(target))
        return fail(w, "a mount cannot be read");
    memcpy(source, spec, (size_t)(tab - spec));
    source[tab - spec] = 0;
    memcpy(target, tab + 1, (size_t)(last - tab - 1));
    target[last - tab - 1] = 0;
    int at = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return fail(w, "the root cannot be opened");
    int r = bind_at(root, at, source, target, strcmp(last + 1, "ro") == 0, w);
    close(at);
    return r;
}

static int hide(const char *root, const char *path)
{
    char full[PATH_ROOM];
    struct stat st;
    if (join(full, root, path) < 0)
        return -1;
    if (lstat(full, &st) < 0 || S_ISLNK(st.st_mode))
        return 0;
    if (S_ISDIR(st.st_mode))
        return mount("tmpfs", full, "tmpfs", MS_NOSUID | MS_NODEV | MS_RDONLY, "mode=755,size=4k");
    return mount("/dev/null", full, NULL, MS_BIND, NULL);
}

/* ---- /dev ---- */

static int make_dev(const char *root)
{
    static const char *const nodes[] = {"null", "zero", "full", "random", "urandom", "tty"};
    static const char *const links[][2] = {{"/proc/self/fd", "fd"},
                                           {"/proc/self/fd/0", "stdin"},
                                           {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"},
                                           {"pts/ptmx", "ptmx"}};
    char dev[PATH_ROOM], from[64], to[PATH_ROOM + 64];
    if (join(dev, root, "/dev") < 0 || mount("tmpfs", dev, "tmpfs", MS_NOSUID, "mode=755") < 0)
        return -1;
    for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
        (void)snprintf(from, sizeof(from), "/dev/%s", nodes[i]);
        (void)snprintf(to, sizeof(to), "%s/%s", dev, nodes[i]);
        if (bind_entry(from, to) < 0)
            return -1;
    }
    for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++) {
        (void)snprintf(to, sizeof(to), "%s/%s", dev, links[i][1]);
        if (symlink(links[i][0], to) < 0)
            return -1;
    }
    (void)snprintf(to, sizeof(to), "%s/pts", dev);
    if (mkdir(to, 0755) < 0 ||
        mount("devpts", to, "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=620"))
        return -1;
    (void)snprintf(to, sizeof(to), "%s/shm", dev);
    return mkdir(to, 01777) < 0 ||
                   mount("tmpfs", to, "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m") < 0
               ? -1
               : 0;
}

/* ---- the whole ---- */

static int build_base(const char *root, struct why *w)
{
    char proc[PATH_ROOM];
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return fail(w, "mounts cannot be made private");
    if (mount("tmpfs", root, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") < 0)
        return fail(w, "a tmpfs cannot be mounted");
    /* It is itself below /, and must not be bound into itself. */
    if (mount(NULL, root, NULL, MS_UNBINDABLE, NULL) < 0)
        return fail(w, "the root cannot be kept apart");
    if (bind_entries("/", root) < 0)
        return fail(w, "the machine's files cannot be bound");
    if (set_read_only(root, true) < 0)
        return fail(w, "the machine's files cannot be made read-only");
    /* The tmpfs itself stays writable while it is being filled. */
    if (mount(NULL, root, NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) < 0)
        return fail(w, "the root cannot be opened");
    if (join(proc, root, "/proc") < 0 || umount2(proc, MNT_DETACH) < 0 ||
        mount("proc", proc, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
        return fail(w, "/proc cannot be mounted");
    char sys[PATH_ROOM];
    if (join(sys, root, "/proc/sys") < 0 || mount(sys, sys, NULL, MS_BIND, NULL) < 0 ||
        set_read_only(sys, false) < 0)
        return fail(w, "/proc/sys cannot be made read-only");
    return 0;
}

static int hide_and_open(const struct enter *e, struct why *w)
{
    static const char *const hidden[] = {
        "/root",        "/home",      "/etc/shadow",         "/etc/gshadow",
        "/proc/kcore",  "/proc/keys", "/proc/sysrq-trigger", "/proc/timer_list",
        "/sys/firmware"};
    if (private_tmpfs(e->root, "/tmp", "mode=1777") < 0 ||
        private_tmpfs(e->root, "/run", "mode=755") < 0 ||
        private_tmpfs(e->root, "/var/tmp", "mode=1777") < 0)
        return fail(w, "a private directory cannot be mounted");
    if (make_dev(e->root) < 0)
        return fail(w, "/dev cannot be made");
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (hide(e->root, hidden[i]) < 0)
            return fail(w, "%s cannot be hidden", hidden[i]);
    }
    return 0;
}

int enter_build_root(const struct enter *e, char *text, size_t size)
{
    struct why w = {text, size};
    if (build_base(e->root, &w) < 0 || hide_and_open(e, &w) < 0)
        return -1;
    for (size_t i = 0; i < e->n; i++) {
        const char *path = value_of(e->settings[i], "hide");
        if (path && hide(e->root, path) < 0)
            return fail(&w, "%s cannot be hidden", path);
    }
    for (size_t i = 0; i < e->n; i++) {
        const char *spec = value_of(e->settings[i], "mount");
        if (spec && bind_volume(e->root, spec, &w) < 0)
            return -1;
    }
    if (mount(NULL, e->root, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) <
        0)
        return fail(&w, "the root cannot be made read-only");
    if (chdir(e->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
        umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
        return fail(&w, "the root cannot be changed");
    return 0;
}

/* ---- rights ---- */

/* System calls that change the machine, or open ways around its rules. */
static const unsigned refused[] = {
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_move_mount,
    SYS_open_tree,
    SYS_fsopen,
    SYS_fsmount,
    SYS_fsconfig,
    SYSCALL_MOUNT_SETATTR,
    SYS_chroot,
    SYS_unshare,
    SYS_setns,
    SYS_kexec_load,
    SYS_kexec_file_load,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    SYS_userfaultfd,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_acct,
    SYS_quotactl,
    SYS_syslog,
    SYS_open_by_handle_at,
    SYS_io_uring_setup,
    SYS_io_uring_enter,
    SYS_io_uring_register,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
};

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH AUDIT_ARCH_AARCH64
#else
#error "no seccomp filter for this architecture"
#endif

static int filter_calls(void)
{
    enum { N = sizeof(refused) / sizeof(refused[0]) };
    struct sock_filter f[N * 2 + 16];
    size_t n = 0;
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
    f[n++] =
        (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
#if defined(__x86_64__)
    /* The x32 calls are the same ones by other numbers. */
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
#endif
    for (size_t i = 0; i < N; i++) {
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refused[i], 0, 1);
        f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    /* New user namespaces would give back what was given up; programs then use clone. */
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 3);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
                                          offsetof(struct seccomp_data, args[0]));
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_NEWUSER, 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    struct sock_fprog prog = {.len = (unsigned short)n, .filter = f};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog, 0, 0);
}

static int give_up_rights(const struct enter *e, struct why *w)
{
    const char *uid = setting(e, "uid"), *gid = setting(e, "gid");
    gid_t groups[64];
    size_t n = 0;
    for (size_t i = 0; i < e->n && n < 64; i++) {
        const char *g = value_of(e->settings[i], "group");
        if (g)
            groups[n++] = (gid_t)strtoul(g, NULL, 10);
    }
    for (int cap = 0; cap < 64; cap++)
        (void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (setgroups(n, groups) < 0)
        return fail(w, "groups cannot be set");
    if (gid && setresgid((gid_t)strtoul(gid, NULL, 10), (gid_t)strtoul(gid, NULL, 10),
                         (gid_t)strtoul(gid, NULL, 10)) < 0)
        return fail(w, "the group cannot be set");
    if (uid && setresuid((uid_t)strtoul(uid, NULL, 10), (uid_t)strtoul(uid, NULL, 10),
                         (uid_t)strtoul(uid, NULL, 10)) < 0)
        return fail(w, "the user cannot be set");
    errno = 0;
    if (!uid || !gid || getuid() != strtoul(uid, NULL, 10) || getgid() != strtoul(gid, NULL, 10))
        return fail(w, "the user or the group was not set");
    /* A change of user has cleared it. */
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return fail(w, "it cannot be bound to its shim");
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || filter_calls() < 0)
        return fail(w, "rights cannot be given up");
    return 0;
}

static char **collect(const struct enter *e, const char *key)
{
    char **list = calloc(e->n + 1, sizeof(*list));
    size_t n = 0;
    for (size_t i = 0; list && i < e->n; i++) {
        const char *v = value_of(e->settings[i], key);
        if (v)
            list[n++] = (char *)v;
    }
    return list;
}

/* As the shell does, in the PATH of the process to be. */
static void execute_in_path(char **args, char **env)
{
    const char *path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
    char full[PATH_ROOM];
    for (char **v = env; *v; v++) {
        if (strncmp(*v, "PATH=", 5) == 0)
            path = *v + 5;
    }
    if (strchr(args[0], '/')) {
        (void)execve(args[0], args, env);
        return;
    }
    int err = ENOENT;
    while (*path) {
        size_t n = strcspn(path, ":");
        if (n > 0 && snprintf(full, sizeof(full), "%.*s/%s", (int)n, path, args[0]) < PATH_ROOM) {
            (void)execve(full, args, env);
            if (errno != ENOENT && errno != ENOTDIR)
                err = errno;
        }
        path += n + (path[n] == ':');
    }
    errno = err;
}

int enter_execute(const struct enter *e, char *text, size_t size)
{
    struct why w = {text, size};
    const char *cwd = setting(e, "cwd");
    char **args = collect(e, "arg"), **env = collect(e, "env");
    errno = 0;
    if (!args || !env || !args[0])
        return fail(&w, "there is no command to run");
    if (give_up_rights(e, &w) < 0)
        return -1;
    if (cwd && chdir(cwd) < 0)
        return fail(&w, "the working directory %s cannot be entered", cwd);
    execute_in_path(args, env);
    return fail(&w, "%s cannot be executed", args[0]);
}
