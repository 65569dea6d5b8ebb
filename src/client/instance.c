/* See instance.h. */
#include "client/instance.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "json/write.h"

enum { MAX_INSTANCES = 64, MAX_PATH = 4096, STOP_PATIENCE_MS = 15000 };

static char own_record[MAX_PATH];

static int open_dir(char *path, size_t size, struct err *err)
{
    const char *run = getenv("XDG_RUNTIME_DIR");
    struct stat st;
    if (run && *run)
        snprintf(path, size, "%s/grove", run);
    else
        snprintf(path, size, "/tmp/grove-%u", (unsigned)geteuid());
    int r = dir_make(path, 0700, err);
    if (r)
        return r;
    if (lstat(path, &st) || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 022))
        return err_set(err, ERR_IO, "%s belongs to somebody else; set XDG_RUNTIME_DIR", path);
    return 0;
}

static struct doc *write_record(const struct instance *i)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_int(&w, "pid", i->pid);
    jw_put_str(&w, "name", i->name);
    jw_put_bool(&w, "detached", i->detached);
    jw_put_str(&w, "address", i->address);
    jw_put_str(&w, "data", i->data);
    jw_put_str(&w, "kubeconfig", i->kubeconfig);
    jw_end(&w);
    return jw_doc(&w);
}

int instance_record(const struct instance *i, struct err *err)
{
    char dir[MAX_PATH - 64];
    int r = open_dir(dir, sizeof(dir), err);
    if (r)
        return r;
    snprintf(own_record, sizeof(own_record), "%s/%lld.json", dir, (long long)i->pid);
    struct doc *d = write_record(i);
    r = file_write(own_record, jtext(doc_root(d)), 0600, err);
    doc_unref(d);
    /* Kept open, and locked, until the process ends. */
    int fd = r ? -1 : open(own_record, O_RDWR | O_CLOEXEC);
    if (r == 0 && (fd < 0 || flock(fd, LOCK_EX | LOCK_NB)))
        r = err_errno(err, ERR_IO, "cannot lock %s", own_record);
    return r;
}

void instance_forget(void)
{
    if (own_record[0])
        (void)unlink(own_record);
}

/* Its process holds the lock. What is found without is removed. */
static bool is_alive(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0)
        return false;
    bool alive = flock(fd, LOCK_EX | LOCK_NB) != 0;
    if (!alive)
        (void)unlink(path);
    close(fd);
    return alive;
}

static bool read_record(const char *path, struct arena *a, struct instance *ret)
{
    struct strbuf text = STRBUF_INIT(1 << 16);
    struct err err = ERR_INIT;
    struct doc *d = file_read(path, &text, &err) ? NULL : doc_parse(strbuf_str(&text), NULL, &err);
    if (d) {
        jval root = doc_root(d);
        *ret = (struct instance){.pid = jint(jgetc(root, "pid"), 0),
                                 .name = arena_str(a, jstr(jgetc(root, "name"))),
                                 .detached = jbool(jgetc(root, "detached"), true),
                                 .address = arena_str(a, jstr(jgetc(root, "address"))),
                                 .data = arena_str(a, jstr(jgetc(root, "data"))),
                                 .kubeconfig = arena_str(a, jstr(jgetc(root, "kubeconfig")))};
        doc_unref(d);
    }
    strbuf_done(&text);
    return d && ret->pid > 1;
}

static int by_pid(const void *a, const void *b)
{
    const struct instance *x = a, *y = b;
    return x->pid < y->pid ? -1 : x->pid > y->pid;
}

size_t instance_list(struct arena *a, struct instance **ret)
{
    char dir[MAX_PATH - 300], path[MAX_PATH];
    struct err err = ERR_INIT;
    size_t n = 0;
    *ret = arena_array(a, struct instance, MAX_INSTANCES);
    DIR *d = open_dir(dir, sizeof(dir), &err) ? NULL : opendir(dir);
    /* The directory is nobody else's, and its successor is the one that is deprecated. */
    /* cppcheck-suppress readdirCalled */
    for (struct dirent *e; d && (e = readdir(d)) && n < MAX_INSTANCES;) {
        if (!str_ends(str_of(e->d_name), STR(".json")))
            continue;
        snprintf(path, sizeof(path), "%s/%s", dir, e->d_name);
        if (is_alive(path) && read_record(path, a, &(*ret)[n]))
            n++;
    }
    if (d)
        closedir(d);
    if (n > 1)
        qsort(*ret, n, sizeof(**ret), by_pid);
    return n;
}

str instance_free_name(struct arena *a, str name, str address)
{
    struct instance *list;
    size_t n = instance_list(a, &list);
    ptrdiff_t colon = str_rfind_char(address, ':');
    for (size_t i = 0; i < n; i++) {
        if (str_eq(list[i].name, name))
            return arena_printf(a, "%.*s-%.*s", STR_ARG(name),
                                STR_ARG(str_sub(address, (size_t)(colon + 1), address.len)));
    }
    return name;
}

/* Until the process has ended. */
static bool wait_for_end(int pidfd)
{
    struct pollfd p = {.fd = pidfd, .events = POLLIN};
    return poll(&p, 1, STOP_PATIENCE_MS) == 1;
}

int instance_stop(const struct instance *i, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct instance *others;
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)i->pid, 0), r = 0;
    if (fd < 0 || kill((pid_t)i->pid, SIGTERM))
        r = err_errno(err, ERR_IO, "cannot stop process %lld", (long long)i->pid);
    else if (!wait_for_end(fd))
        r = err_set(err, ERR_TIMEOUT, "process %lld does not stop", (long long)i->pid);
    if (fd >= 0)
        close(fd);
    /* Looking at the records removes those without a process. */
    (void)instance_list(&a, &others);
    arena_done(&a);
    return r;
}
