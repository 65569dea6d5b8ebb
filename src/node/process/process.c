/* See process.h. */
#include "node/process/process.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "node/process/shim_image.h"
#include "node/shim/shim_wire.h"
#include "json/doc.h"

enum { PATH_ROOM = 4096, DIR_MAX = 2800, WORDS_MAX = 64 };
#define RETRY (10 * USEC_PER_SEC)

struct proc_container {
    char name[256];
    struct container_seen seen;
    char reason[64], message[1024], last_reason[64], last_message[1024];
    char blocked[64], blocked_message[512];
};

/* A file that the worker writes; memory of its own. */
struct proc_file {
    char *path, *content;
    size_t len;
    unsigned mode;
};

struct proc_pod {
    struct list link;
    struct process *process;
    struct obj *pod;
    enum sandbox_state sandbox;
    int64_t attempt;
    char why[512];   /* why there is no sandbox */
    bool end_wanted; /* it was to end while it was being started */
    bool forgotten;  /* its directory is to go */
    /* The worker's job: to make the sandbox, or to remove the directory. */
    struct loop_job job;
    bool busy;
    int made_sock; /* what it came to: a connection, or -1 */
    uint32_t owner;
    char hostname[65];
    VEC(struct proc_file) files;
    struct loop_timer retry; /* after a sandbox that could not be made */
    int sock;                /* -1: not connected */
    struct loop_io io;
    VEC(struct proc_container *) containers;
    struct list hooks; /* that are under way */
};

/* A hook under way; it may outlive its container, and then tells nobody. */
struct hook {
    struct list link;
    struct proc_pod *pod;
    struct proc_container *container;
    int64_t attempt;
    bool pre_stop;
    struct loop_timer timer;
};

struct pending_exec {
    struct list link;
    int64_t id;
    process_exec_done *done;
    void *ctx;
    struct proc_pod *pod;
};

struct process {
    struct process_options options;
    struct list pods, execs;
    int image; /* the shim, in a sealed memfd */
    int64_t last_exec;
    char dir[PATH_ROOM];
};

extern char **environ;

/* ---- names ---- */

/* DIR_MAX is what process_new takes. */
static void pod_path(const struct process *p, str uid, const char *more, char ret[PATH_ROOM])
{
    (void)snprintf(ret, PATH_ROOM, "%.2800s/pods/%.*s%.900s", p->dir, (int)MIN(uid.len, 64), uid.p,
                   more);
}

static struct proc_pod *find_pod(struct process *p, str uid)
{
    list_foreach (it, &p->pods) {
        struct proc_pod *pod = list_entry(it, struct proc_pod, link);
        if (str_eq(pod->pod->uid, uid) && !pod->forgotten)
            return pod;
    }
    return NULL;
}

static struct proc_container *container_named(struct proc_pod *pod, str name, bool make)
{
    for (size_t i = 0; i < pod->containers.len; i++) {
        if (str_eq(str_of(pod->containers.p[i]->name), name))
            return pod->containers.p[i];
    }
    if (!make || name.len >= sizeof(((struct proc_container *)0)->name))
        return NULL;
    struct proc_container *c = xcalloc(1, sizeof(*c));
    (void)snprintf(c->name, sizeof(c->name), "%.*s", STR_ARG(name));
    *vec_push(&pod->containers) = c;
    return c;
}

static void tell_changed(struct proc_pod *pod)
{
    const struct process_options *o = &pod->process->options;
    o->changed(o->ctx, pod->pod->ns, pod->pod->name);
}

/* ---- what a shim tells ---- */

static bool to_int(const char *s, int64_t *ret)
{
    return str_to_int(str_of(s), ret);
}

/* A moment before the machine was started anew was long ago, which is not before zero. */
static struct when when_of(struct process *p, int64_t wall, int64_t steady)
{
    return (struct when){.at = MAX(MIN(steady, loop_now(p->options.loop)), 1), .wall = wall};
}

static void copy_word(char *ret, size_t size, const char *s)
{
    (void)snprintf(ret, size, "%s", s);
}

/* "run NAME ATTEMPT STREAK SANDBOX STARTED-WALL STARTED-STEADY", and more of an exit. */
static struct proc_container *hear_run(struct proc_pod *pod, const char *const *w, size_t n)
{
    int64_t attempt, streak, sandbox, wall, steady;
    struct proc_container *c = n >= 7 ? container_named(pod, str_of(w[1]), true) : NULL;
    if (!c || !to_int(w[2], &attempt) || !to_int(w[3], &streak) || !to_int(w[4], &sandbox) ||
        !to_int(w[5], &wall) || !to_int(w[6], &steady))
        return NULL;
    if (c->seen.attempt > attempt)
        return NULL; /* of a run before the present one */
    struct container_seen *s = &c->seen;
    bool adopted = s->state == CONTAINER_NONE;
    s->state = CONTAINER_RUNNING;
    s->attempt = attempt;
    s->streak = (unsigned)streak;
    s->sandbox = sandbox;
    s->started = when_of(pod->process, wall, steady);
    s->post_start = adopted ? HOOK_DONE : s->post_start;
    return c;
}

static void hear_exit(struct proc_pod *pod, const char *const *w, size_t n)
{
    int64_t wall, steady, code, sig;
    struct proc_container *c = n >= 13 ? hear_run(pod, w, n) : NULL;
    if (!c || !to_int(w[7], &wall) || !to_int(w[8], &steady) || !to_int(w[9], &code) ||
        !to_int(w[10], &sig))
        return;
    copy_word(c->reason, sizeof(c->reason), w[11]);
    copy_word(c->message, sizeof(c->message), w[12]);
    c->seen.state = CONTAINER_EXITED;
    c->seen.stop = STOP_NONE;
    c->seen.exit = (struct run_seen){.started = c->seen.started,
                                     .finished = when_of(pod->process, wall, steady),
                                     .exit_code = code,
                                     .signal = (int)sig,
                                     .reason = str_of(c->reason),
                                     .message = str_of(c->message)};
}

static void hear_last(struct proc_pod *pod, const char *const *w, size_t n)
{
    int64_t started, wall, code, sig;
    struct proc_container *c = n >= 13 ? container_named(pod, str_of(w[1]), true) : NULL;
    if (!c || !to_int(w[5], &started) || !to_int(w[7], &wall) || !to_int(w[9], &code) ||
        !to_int(w[10], &sig))
        return;
    copy_word(c->last_reason, sizeof(c->last_reason), w[11]);
    copy_word(c->last_message, sizeof(c->last_message), w[12]);
    c->seen.last = (struct run_seen){.started.wall = started,
                                     .finished.wall = wall,
                                     .exit_code = code,
                                     .signal = (int)sig,
                                     .reason = str_of(c->last_reason),
                                     .message = str_of(c->last_message)};
}

static size_t split(char *p, size_t len, const char **words, size_t max)
{
    size_t n = 0;
    if (len == 0 || p[len - 1] != 0)
        return 0;
    for (const char *end = p + len; p < end && n < max; p += strlen(p) + 1)
        words[n++] = p;
    return n;
}

/* What is left of a container in its directory, for who did not hear it told. */
static void read_record(struct proc_pod *pod, const char *container, const char *name, bool last)
{
    char path[PATH_ROOM], more[400];
    const char *words[WORDS_MAX];
    struct strbuf b = STRBUF_INIT(16384);
    (void)snprintf(more, sizeof(more), "/shim/%s/%s", container, name);
    pod_path(pod->process, pod->pod->uid, more, path);
    if (file_read(path, &b, NULL) == 0) {
        size_t n = split(b.p, b.len, words, WORDS_MAX);
        if (last)
            hear_last(pod, words, n);
        else
            hear_exit(pod, words, n);
    }
    strbuf_done(&b);
}

/* ---- execs ---- */

static void exec_ends(struct process *p, int64_t id, int code)
{
    list_foreach (it, &p->execs) {
        struct pending_exec *x = list_entry(it, struct pending_exec, link);
        if (x->id != id)
            continue;
        list_remove(&x->link);
        if (x->done)
            x->done(x->ctx, code);
        free(x);
        return;
    }
}

static void execs_end(struct proc_pod *pod)
{
    for (bool more = true; more;) {
        more = false;
        list_foreach (it, &pod->process->execs) {
            struct pending_exec *x = list_entry(it, struct pending_exec, link);
            if (x->pod != pod)
                continue;
            exec_ends(pod->process, x->id, 126);
            more = true;
            break;
        }
    }
}

/* ---- the connection ---- */

static void lose_shim(struct proc_pod *pod)
{
    usec now = loop_now(pod->process->options.loop), wall = loop_wall(pod->process->options.loop);
    if (pod->sock >= 0) {
        loop_io_remove(&pod->io);
        close(pod->sock);
    }
    pod->sock = -1;
    pod->sandbox = SANDBOX_GONE;
    for (size_t i = 0; i < pod->containers.len; i++) {
        struct proc_container *c = pod->containers.p[i];
        if (c->seen.state != CONTAINER_RUNNING && c->seen.state != CONTAINER_STARTING)
            continue;
        read_record(pod, c->name, "exit", false);
        if (c->seen.state == CONTAINER_EXITED)
            continue;
        copy_word(c->reason, sizeof(c->reason), "ShimLost");
        copy_word(c->message, sizeof(c->message), "the shim that held its processes is gone");
        c->seen.state = CONTAINER_EXITED;
        c->seen.stop = STOP_NONE;
        c->seen.exit = (struct run_seen){.started = c->seen.started,
                                         .finished = {now, wall},
                                         .exit_code = 137,
                                         .signal = 9,
                                         .reason = str_of(c->reason),
                                         .message = str_of(c->message)};
    }
    execs_end(pod);
    tell_changed(pod);
}

static void hear(struct proc_pod *pod, char *p, size_t len)
{
    const char *w[WORDS_MAX];
    size_t n = split(p, len, w, WORDS_MAX);
    int64_t id, code;
    if (n == 0)
        return;
    if (strcmp(w[0], "run") == 0)
        (void)hear_run(pod, w, n);
    else if (strcmp(w[0], "exit") == 0)
        hear_exit(pod, w, n);
    else if (strcmp(w[0], "synced") == 0)
        pod->sandbox = SANDBOX_READY;
    else if (strcmp(w[0], "execed") == 0 && n == 3 && to_int(w[1], &id) && to_int(w[2], &code))
        exec_ends(pod->process, id, (int)code);
}

static void on_readable(struct loop_io *io, unsigned events)
{
    struct proc_pod *pod = container_of(io, struct proc_pod, io);
    char b[16384];
    (void)events;
    for (;;) {
        ssize_t n = recv(pod->sock, b, sizeof(b), MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (n <= 0) {
            lose_shim(pod);
            return;
        }
        hear(pod, b, (size_t)n);
    }
    tell_changed(pod);
}

/* Words that end in NUL, one message. */
static bool say(struct proc_pod *pod, const struct strbuf *b, const int fds[3])
{
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    struct iovec v = {b->p, b->len};
    struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1};
    if (fds) {
        m.msg_control = &control;
        m.msg_controllen = sizeof(control);
        control.header = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS,
                                          .cmsg_len = CMSG_LEN(3 * sizeof(int))};
        memcpy(CMSG_DATA(&control.header), fds, 3 * sizeof(int));
    }
    return pod->sock >= 0 && b->len <= SHIM_MESSAGE_MAX &&
           sendmsg(pod->sock, &m, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)b->len;
}

static void word(struct strbuf *b, str s)
{
    strbuf_add_str(b, s);
    strbuf_add_char(b, 0);
}

static void word_int(struct strbuf *b, int64_t v)
{
    strbuf_printf(b, "%lld", (long long)v);
    strbuf_add_char(b, 0);
}

void process_exec_forget(struct process *p, void *ctx)
{
    list_foreach (it, &p->execs) {
        struct pending_exec *x = list_entry(it, struct pending_exec, link);
        if (x->ctx != ctx || !x->done)
            continue;
        struct strbuf b = STRBUF_INIT(64);
        x->done = NULL;
        word(&b, STR("cancel"));
        word_int(&b, x->id);
        (void)say(x->pod, &b, NULL);
        strbuf_done(&b);
    }
}

/* ---- in the worker ---- */

/* Connects to the shim of a pod's directory; -1: there is none. */
static int connect_shim(const char *dir)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int at = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (at < 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" SHIM_SOCKET, at);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0) {
        close(fd);
        fd = -1;
    }
    close(at);
    return fd;
}

/* Starts a shim and waits until it can be reached, which it is when its first process ends. */
static int spawn_shim(struct proc_pod *pod, int dir, char *why, size_t size)
{
    char image[64], host[80];
    int report[2], status = -1;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none;
    (void)snprintf(image, sizeof(image), "/proc/self/fd/%d", pod->process->image);
    (void)snprintf(host, sizeof(host), "hostname=%s", pod->hostname);
    char *argv[] = {(char *)"grove-shim", host, (char *)"net=host", NULL}, *envp[] = {NULL};
    if (pipe2(report, O_CLOEXEC) < 0)
        return -1;
    sigemptyset(&none);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawn_file_actions_adddup2(&actions, report[1], 2);
    (void)posix_spawn_file_actions_adddup2(&actions, dir, SHIM_DIR_FD);
    (void)posix_spawnattr_init(&attr);
    (void)posix_spawnattr_setsigmask(&attr, &none);
    (void)posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
    int r = posix_spawn(&pid, image, &actions, &attr, argv, envp);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attr);
    close(report[1]);
    ssize_t n = r == 0 ? read(report[0], why, size - 1) : 0;
    close(report[0]);
    why[n > 0 ? n : 0] = 0;
    while (r == 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    if (r != 0)
        (void)snprintf(why, size, "the shim cannot be started: %s", strerror(r));
    return r == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -1;
}

static int write_files(struct proc_pod *pod, char *why, size_t size)
{
    char path[PATH_ROOM];
    for (size_t i = 0; i < pod->files.len; i++) {
        const struct proc_file *f = &pod->files.p[i];
        struct err err = {0};
        size_t len = strlen(f->path);
        int n = snprintf(path, sizeof(path), "%s", f->path);
        if (n < 0 || n >= (int)sizeof(path)) {
            (void)snprintf(why, size, "a path of a volume is too long");
            return -1;
        }
        bool dir = len > 0 && f->path[len - 1] == '/';
        char *slash = strrchr(path, '/');
        if (slash)
            *slash = 0;
        int r = dir_make(path, 0755, &err);
        if (r == 0 && !dir)
            r = file_write(f->path, str_n(f->content, f->len), f->mode, &err);
        if (r == 0 && (chown(f->path, pod->owner, pod->owner) < 0 || chmod(f->path, f->mode) < 0))
            r = -1;
        if (r < 0) {
            (void)snprintf(why, size, "a volume cannot be made: %.400s", f->path);
            return -1;
        }
    }
    return 0;
}

/* Everything that a sandbox is: directories, volumes, a shim, a connection to it. */
static void make_sandbox(struct loop_job *j)
{
    struct proc_pod *pod = container_of(j, struct proc_pod, job);
    char path[PATH_ROOM], number[32];
    const char *const dirs[] = {"/shim", "/root", "/volumes"};
    pod->made_sock = -1;
    pod->why[0] = 0;
    for (size_t i = 0; i < ARRAY_LEN(dirs); i++) {
        pod_path(pod->process, pod->pod->uid, dirs[i], path);
        if (dir_make(path, 0755, NULL) < 0) {
            (void)snprintf(pod->why, sizeof(pod->why), "%.400s cannot be made", path);
            return;
        }
    }
    pod_path(pod->process, pod->pod->uid, "/sandbox", path);
    int n = snprintf(number, sizeof(number), "%lld", (long long)pod->attempt);
    int r = file_write(path, str_n(number, (size_t)n), 0600, NULL);
    pod_path(pod->process, pod->pod->uid, "/pod.json", path);
    r = r < 0 ? r : file_write(path, jtext(obj_root(pod->pod)), 0600, NULL);
    if (r < 0) {
        (void)snprintf(pod->why, sizeof(pod->why), "%.400s cannot be written", path);
        return;
    }
    if (write_files(pod, pod->why, sizeof(pod->why)) < 0)
        return;
    pod_path(pod->process, pod->pod->uid, "/shim", path);
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0)
        return;
    if (spawn_shim(pod, dir, pod->why, sizeof(pod->why)) == 0)
        pod->made_sock = connect_shim(path);
    close(dir);
}

static void remove_directory(struct loop_job *j)
{
    struct proc_pod *pod = container_of(j, struct proc_pod, job);
    char path[PATH_ROOM];
    pod_path(pod->process, pod->pod->uid, "", path);
    (void)dir_remove(path, NULL);
}

/* ---- pods ---- */

static void drop_files(struct proc_pod *pod)
{
    for (size_t i = 0; i < pod->files.len; i++) {
        free(pod->files.p[i].path);
        free(pod->files.p[i].content);
    }
    vec_clear(&pod->files);
}

static void drop_hooks(struct proc_pod *pod)
{
    list_foreach (it, &pod->hooks) {
        struct hook *h = list_entry(it, struct hook, link);
        process_exec_forget(pod->process, h);
        loop_timer_cancel(&h->timer);
        list_remove(&h->link);
        free(h);
    }
}

static void free_pod(struct proc_pod *pod)
{
    drop_hooks(pod);
    if (pod->busy)
        loop_job_cancel(&pod->job);
    loop_timer_cancel(&pod->retry);
    if (pod->sock >= 0) {
        loop_io_remove(&pod->io);
        close(pod->sock);
    }
    drop_files(pod);
    vec_done(&pod->files);
    for (size_t i = 0; i < pod->containers.len; i++)
        free(pod->containers.p[i]);
    vec_done(&pod->containers);
    list_remove(&pod->link);
    obj_unref(pod->pod);
    free(pod);
}

/* What waited is asked for again. */
static void try_again(struct loop_timer *t)
{
    struct proc_pod *pod = container_of(t, struct proc_pod, retry);
    if (pod->sandbox == SANDBOX_STARTING && !pod->busy && pod->sock < 0)
        pod->sandbox = SANDBOX_NONE;
    for (size_t i = 0; i < pod->containers.len; i++) {
        struct container_seen *s = &pod->containers.p[i]->seen;
        if (s->state == CONTAINER_STARTING && !str_is_empty(s->blocked))
            s->state =
                pod->containers.p[i]->seen.exit.finished.wall ? CONTAINER_EXITED : CONTAINER_NONE;
        s->blocked = s->blocked_message = STR_NONE;
    }
    tell_changed(pod);
}

static struct proc_pod *add_pod(struct process *p, const struct obj *o)
{
    struct proc_pod *pod = xcalloc(1, sizeof(*pod));
    pod->process = p;
    pod->pod = obj_ref(o);
    pod->sock = pod->made_sock = -1;
    loop_timer_init(p->options.loop, &pod->retry, try_again);
    list_init(&pod->hooks);
    list_push_back(&p->pods, &pod->link);
    return pod;
}

static void listen_to(struct proc_pod *pod, int sock)
{
    pod->sock = sock;
    pod->io = (struct loop_io){.fd = sock, .events = LOOP_READ, .fn = on_readable};
    if (loop_io_add(pod->process->options.loop, &pod->io, NULL) < 0)
        lose_shim(pod);
}

static void sandbox_is_made(struct loop_job *j)
{
    struct proc_pod *pod = container_of(j, struct proc_pod, job);
    pod->busy = false;
    drop_files(pod);
    if (pod->made_sock < 0) {
        log_warn("a pod's sandbox cannot be made", LOG_S("pod", pod->pod->name),
                 LOG_S("why", str_of(pod->why)));
        /* It stays STARTING, and why is told, until it is tried again. */
        loop_timer_set(&pod->retry, loop_now(pod->process->options.loop) + RETRY);
        tell_changed(pod);
        return;
    }
    listen_to(pod, pod->made_sock);
    if (pod->end_wanted && pod->sock >= 0)
        pod->sandbox = SANDBOX_READY; /* asked again, it ends */
    pod->end_wanted = false;
}

static void directory_is_gone(struct loop_job *j)
{
    struct proc_pod *pod = container_of(j, struct proc_pod, job);
    pod->busy = false;
    tell_changed(pod); /* the next one of its name is the one now */
    free_pod(pod);
}

static void submit(struct proc_pod *pod, void (*run)(struct loop_job *),
                   void (*done)(struct loop_job *))
{
    pod->busy = true;
    pod->job = (struct loop_job){.run = run, .done = done};
    loop_submit(pod->process->options.loop, LOOP_BLOCK, &pod->job);
}

void process_forget(struct process *p, str uid)
{
    struct proc_pod *pod = find_pod(p, uid);
    if (!pod || pod->busy || pod->sock >= 0)
        return;
    pod->forgotten = true;
    submit(pod, remove_directory, directory_is_gone);
}

/* ---- acts ---- */

static char *copy_of(const char *p, size_t len)
{
    char *ret = xmalloc(len + 1);
    if (len)
        memcpy(ret, p, len);
    ret[len] = 0;
    return ret;
}

static void begin_sandbox(struct proc_pod *pod, const struct machine_action *a,
                          const struct pod_words *w)
{
    char path[PATH_ROOM];
    if (pod->busy || pod->sock >= 0)
        return;
    pod->sandbox = SANDBOX_STARTING;
    pod->attempt = a->attempt;
    pod->owner = pod_words_uid(pod->pod);
    str host = jstr(jgetc(obj_spec(pod->pod), "hostname"));
    host = str_is_empty(host) ? pod->pod->name : host;
    (void)snprintf(pod->hostname, sizeof(pod->hostname), "%.*s", (int)MIN(host.len, 63), host.p);
    for (size_t i = 0; i < w->files.len; i++) {
        const struct pod_file *f = &w->files.p[i];
        struct strbuf more = STRBUF_INIT(PATH_ROOM);
        strbuf_printf(&more, "/volumes/%.*s", STR_ARG(f->path));
        pod_path(pod->process, pod->pod->uid, more.p, path);
        strbuf_done(&more);
        *vec_push(&pod->files) =
            (struct proc_file){.path = copy_of(path, strlen(path)),
                               .content = copy_of(f->content.p, f->content.len),
                               .len = f->content.len,
                               .mode = f->mode};
    }
    submit(pod, make_sandbox, sandbox_is_made);
}

static void start_fails(struct proc_pod *pod, struct proc_container *c, const char *why)
{
    struct loop *l = pod->process->options.loop;
    copy_word(c->reason, sizeof(c->reason), "StartError");
    copy_word(c->message, sizeof(c->message), why);
    c->seen.state = CONTAINER_EXITED;
    c->seen.started = (struct when){loop_now(l), loop_wall(l)};
    c->seen.exit = (struct run_seen){.started = c->seen.started,
                                     .finished = c->seen.started,
                                     .exit_code = 128,
                                     .reason = str_of(c->reason),
                                     .message = str_of(c->message)};
    tell_changed(pod);
}

static void begin_run(struct proc_pod *pod, struct proc_container *c,
                      const struct machine_action *a, const struct pod_words *w)
{
    struct strbuf b = STRBUF_INIT(1024 * 1024);
    struct run_seen last = c->seen.exit;
    bool ran = c->seen.state == CONTAINER_EXITED;
    copy_word(c->last_reason, sizeof(c->last_reason), c->reason);
    copy_word(c->last_message, sizeof(c->last_message), c->message);
    last.reason = str_of(c->last_reason);
    last.message = str_of(c->last_message);
    c->seen = (struct container_seen){.state = CONTAINER_STARTING,
                                      .attempt = a->attempt,
                                      .streak = a->streak,
                                      .sandbox = pod->attempt};
    if (ran)
        c->seen.last = last;
    word(&b, STR("start"));
    word(&b, str_of(c->name));
    word_int(&b, a->attempt);
    word_int(&b, a->streak);
    word_int(&b, pod->attempt);
    for (size_t i = 0; i < w->words.len; i++)
        word(&b, w->words.p[i]);
    if (!say(pod, &b, NULL))
        start_fails(pod, c,
                    errno == EMSGSIZE ? "its command and environment are too large"
                                      : "its shim does not listen");
    strbuf_done(&b);
}

static void begin_stop(struct proc_pod *pod, struct proc_container *c,
                       const struct machine_action *a)
{
    struct strbuf b = STRBUF_INIT(1024);
    usec left = a->stop_by - loop_now(pod->process->options.loop);
    c->seen.stop = STOP_TERM;
    c->seen.stop_by = a->stop_by;
    word(&b, STR("stop"));
    word(&b, str_of(c->name));
    word_int(&b, c->seen.attempt);
    word_int(&b, MAX(left, 0) / USEC_PER_MSEC);
    (void)say(pod, &b, NULL);
    strbuf_done(&b);
}

static void end_sandbox(struct proc_pod *pod)
{
    struct strbuf b = STRBUF_INIT(64);
    if (pod->busy) {
        pod->end_wanted = true;
        return;
    }
    loop_timer_cancel(&pod->retry);
    word(&b, STR("end"));
    if (!say(pod, &b, NULL))
        pod->sandbox = SANDBOX_GONE;
    strbuf_done(&b);
}

/* ---- hooks ---- */

static void hook_ends(void *ctx, int code)
{
    struct hook *h = ctx;
    struct container_seen *s = &h->container->seen;
    loop_timer_cancel(&h->timer);
    if (s->attempt == h->attempt && h->pre_stop && s->stop == STOP_HOOK)
        s->stop = STOP_HOOKED;
    if (s->attempt == h->attempt && !h->pre_stop && s->post_start == HOOK_RUNS)
        s->post_start = code == 0 ? HOOK_DONE : HOOK_FAILED;
    list_remove(&h->link);
    tell_changed(h->pod);
    free(h);
}

static void hook_slept(struct loop_timer *t)
{
    hook_ends(container_of(t, struct hook, timer), 0);
}

static void begin_hook(struct proc_pod *pod, struct proc_container *c,
                       const struct machine_action *a, const struct pod_words *w)
{
    struct hook *h = xnew(struct hook);
    struct loop *l = pod->process->options.loop;
    bool pre = a->act == ACT_PRE_STOP;
    *h = (struct hook){.pod = pod, .container = c, .attempt = c->seen.attempt, .pre_stop = pre};
    loop_timer_init(l, &h->timer, hook_slept);
    list_push_back(&pod->hooks, &h->link);
    if (pre) {
        c->seen.stop = STOP_HOOK;
        c->seen.stop_by = a->stop_by;
    } else {
        c->seen.post_start = HOOK_RUNS;
    }
    if (w->sleep >= 0) {
        loop_timer_set(&h->timer, loop_now(l) + w->sleep);
        return;
    }
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    process_exec(pod->process, pod->pod->uid, str_of(c->name), w, (int[]){null, null, null},
                 hook_ends, h);
    if (null >= 0)
        close(null);
}

void process_exec(struct process *p, str uid, str container, const struct pod_words *w,
                  const int fds[3], process_exec_done *done, void *ctx)
{
    struct proc_pod *pod = find_pod(p, uid);
    struct pending_exec *x = xnew(struct pending_exec);
    struct strbuf b = STRBUF_INIT(1024 * 1024);
    *x = (struct pending_exec){.id = ++p->last_exec, .done = done, .ctx = ctx, .pod = pod};
    list_push_back(&p->execs, &x->link);
    word(&b, STR("exec"));
    word_int(&b, x->id);
    word(&b, container);
    for (size_t i = 0; i < w->words.len; i++)
        word(&b, w->words.p[i]);
    if (!pod || !str_is_empty(w->problem) || !say(pod, &b, fds))
        exec_ends(p, x->id, 126);
    strbuf_done(&b);
}

void process_act(struct process *p, const struct obj *o, const struct machine_action *a,
                 const struct pod_words *w)
{
    struct proc_pod *pod = find_pod(p, o->uid);
    if (!pod && a->act != ACT_SANDBOX)
        return;
    if (!pod)
        pod = add_pod(p, o);
    struct pod_parts parts = pod_parts_of(o);
    bool about_one = a->act != ACT_SANDBOX && a->act != ACT_SANDBOX_STOP;
    struct proc_container *c =
        about_one
            ? container_named(pod, jstr(jgetc(pod_part_at(&parts, a->container), "name")), true)
            : NULL;
    switch (a->act) {
    case ACT_SANDBOX:
        begin_sandbox(pod, a, w);
        break;
    case ACT_SANDBOX_STOP:
        end_sandbox(pod);
        break;
    case ACT_START:
        if (c)
            begin_run(pod, c, a, w);
        break;
    case ACT_STOP:
        if (c)
            begin_stop(pod, c, a);
        break;
    case ACT_POST_START:
    case ACT_PRE_STOP:
        if (c)
            begin_hook(pod, c, a, w);
        break;
    }
    tell_changed(pod);
}

void process_block(struct process *p, const struct obj *o, const struct machine_action *a,
                   str reason, str why)
{
    struct proc_pod *pod = find_pod(p, o->uid);
    struct pod_parts parts = pod_parts_of(o);
    if (!pod)
        pod = add_pod(p, o);
    if (a->act == ACT_SANDBOX) {
        pod->sandbox = SANDBOX_STARTING;
        pod->attempt = a->attempt;
        (void)snprintf(pod->why, sizeof(pod->why), "%.*s", STR_ARG(why));
    } else {
        str name = jstr(jgetc(pod_part_at(&parts, a->container), "name"));
        struct proc_container *c = container_named(pod, name, true);
        if (!c)
            return;
        (void)snprintf(c->blocked, sizeof(c->blocked), "%.*s", STR_ARG(reason));
        (void)snprintf(c->blocked_message, sizeof(c->blocked_message), "%.*s", STR_ARG(why));
        c->seen.state = CONTAINER_STARTING;
        c->seen.blocked = str_of(c->blocked);
        c->seen.blocked_message = str_of(c->blocked_message);
    }
    loop_timer_set(&pod->retry, loop_now(p->options.loop) + RETRY);
    tell_changed(pod);
}

/* ---- what was observed ---- */

usec process_now(const struct process *p)
{
    return loop_now(p->options.loop);
}

void process_seen(struct process *p, const struct obj *o, struct arena *a, struct pod_seen *ret)
{
    struct proc_pod *pod = find_pod(p, o->uid);
    struct pod_parts parts = pod_parts_of(o);
    *ret = (struct pod_seen){.n = pod_parts_count(&parts)};
    ret->containers = arena_array(a, struct container_seen, ret->n);
    if (!pod)
        return;
    ret->sandbox = pod->sandbox;
    ret->sandbox_attempt = pod->attempt;
    if (pod->why[0]) {
        ret->blocked = STR("FailedCreatePodSandBox");
        ret->blocked_message = arena_str(a, str_of(pod->why));
    }
    for (size_t i = 0; i < ret->n; i++) {
        str name = jstr(jgetc(pod_part_at(&parts, i), "name"));
        const struct proc_container *c = container_named(pod, name, false);
        if (!c)
            continue;
        ret->containers[i] = c->seen;
        if (c->seen.state == CONTAINER_RUNNING || c->seen.state == CONTAINER_EXITED)
            ret->containers[i].id = arena_printf(a, "process://%.*s/%.*s/%d", STR_ARG(o->uid),
                                                 STR_ARG(name), (int)c->seen.attempt);
    }
}

const struct obj *process_other(struct process *p, str ns, str name, str uid)
{
    list_foreach (it, &p->pods) {
        const struct proc_pod *pod = list_entry(it, struct proc_pod, link);
        if (!pod->forgotten && str_eq(pod->pod->name, name) && str_eq(pod->pod->ns, ns) &&
            !str_eq(pod->pod->uid, uid))
            return pod->pod;
    }
    return NULL;
}

const struct obj *process_newest(struct process *p, str ns, str name)
{
    const struct obj *newest = NULL;
    list_foreach (it, &p->pods) {
        const struct proc_pod *pod = list_entry(it, struct proc_pod, link);
        if (!pod->forgotten && str_eq(pod->pod->name, name) && str_eq(pod->pod->ns, ns) &&
            (!newest || obj_created(pod->pod) >= obj_created(newest)))
            newest = pod->pod;
    }
    return newest;
}

const struct obj *process_next(struct process *p, str after_uid)
{
    const struct obj *next = NULL;
    list_foreach (it, &p->pods) {
        const struct proc_pod *pod = list_entry(it, struct proc_pod, link);
        if (!pod->forgotten && str_cmp(pod->pod->uid, after_uid) > 0 &&
            (!next || str_cmp(pod->pod->uid, next->uid) < 0))
            next = pod->pod;
    }
    return next;
}

str process_log_dir(struct process *p, str uid, str container, struct arena *a)
{
    if (!find_pod(p, uid))
        return STR_NONE;
    return arena_printf(a, "%s/pods/%.*s/shim/%.*s", p->dir, STR_ARG(uid), STR_ARG(container));
}

/* ---- beginning ---- */

/* The number of the last run that has a log; -1: none has. */
static int64_t last_log(const char *dir)
{
    int64_t last = -1;
    DIR *d = opendir(dir);
    /* cppcheck-suppress readdirCalled */
    for (struct dirent *de; d && (de = readdir(d));) {
        char *end;
        long long n = strtoll(de->d_name, &end, 10);
        if (end != de->d_name && strcmp(end, ".log") == 0 && n > last)
            last = n;
    }
    if (d)
        (void)closedir(d);
    return last;
}

/* A run whose shim is gone and that left no record of its end. */
static void lost_run(struct proc_pod *pod, const char *name, const char *dir)
{
    int64_t attempt = last_log(dir);
    struct proc_container *c = attempt >= 0 ? container_named(pod, str_of(name), true) : NULL;
    if (!c || (c->seen.state == CONTAINER_EXITED && c->seen.attempt >= attempt))
        return;
    if (c->seen.state == CONTAINER_EXITED)
        c->seen.last = c->seen.exit;
    c->seen.state = CONTAINER_RUNNING;
    c->seen.attempt = attempt;
    c->seen.streak = (unsigned)attempt;
    c->seen.sandbox = pod->attempt;
    c->seen.started = when_of(pod->process, loop_wall(pod->process->options.loop), 1);
}

static void adopt_containers(struct proc_pod *pod, bool lost)
{
    char path[PATH_ROOM], one[PATH_ROOM + 300];
    pod_path(pod->process, pod->pod->uid, "/shim", path);
    DIR *d = opendir(path);
    /* cppcheck-suppress readdirCalled */
    for (struct dirent *de; d && (de = readdir(d));) {
        if (de->d_name[0] == '.' || strchr(de->d_name, '.'))
            continue;
        read_record(pod, de->d_name, "exit.last", true);
        if (!lost)
            continue;
        read_record(pod, de->d_name, "exit", false);
        (void)snprintf(one, sizeof(one), "%s/%s", path, de->d_name);
        lost_run(pod, de->d_name, one);
    }
    if (d)
        (void)closedir(d);
}

static void adopt(struct process *p, const char *uid)
{
    char path[PATH_ROOM];
    struct strbuf b = STRBUF_INIT(16 * 1024 * 1024);
    struct obj *o = NULL;
    pod_path(p, str_of(uid), "/pod.json", path);
    if (file_read(path, &b, NULL) == 0) {
        struct doc *doc = doc_parse(strbuf_str(&b), NULL, NULL);
        o = doc ? obj_new(&kind_pod, doc, NULL) : NULL;
    }
    strbuf_reset(&b);
    if (!o) {
        /* The record of the pod is written before its shim is started: nothing ever ran here. */
        pod_path(p, str_of(uid), "", path);
        log_warn("a pod's directory was not finished and is removed", LOG_C("path", path));
        (void)dir_remove(path, NULL);
        strbuf_done(&b);
        return;
    }
    struct proc_pod *pod = add_pod(p, o);
    obj_unref(o);
    pod_path(p, str_of(uid), "/sandbox", path);
    if (file_read(path, &b, NULL) == 0)
        (void)str_to_int(strbuf_str(&b), &pod->attempt);
    strbuf_done(&b);
    pod_path(p, str_of(uid), "/shim", path);
    int sock = connect_shim(path);
    adopt_containers(pod, sock < 0);
    pod->sandbox = SANDBOX_STARTING; /* until it has told everything */
    if (sock >= 0)
        listen_to(pod, sock);
    else
        lose_shim(pod);
    log_info("pod adopted", LOG_S("pod", pod->pod->name), LOG_C("uid", uid),
             LOG_C("shim", sock >= 0 ? "runs" : "is gone"));
}

static int seal_image(struct err *err)
{
    int fd = memfd_create("grove-shim", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    /* cppcheck-suppress comparePointers */
    size_t len = (size_t)(shim_image_end - shim_image), done = 0;
    while (fd >= 0 && done < len) {
        ssize_t n = write(fd, shim_image + done, len - done);
        if (n < 0 && errno != EINTR)
            break;
        done += n > 0 ? (size_t)n : 0;
    }
    if (fd < 0 || done < len ||
        fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0) {
        if (fd >= 0)
            close(fd);
        return err_set(err, ERR_IO, "the shim cannot be put into memory: %s", strerror(errno));
    }
    return fd;
}

struct process *process_new(const struct process_options *o, struct err *err)
{
    char path[PATH_ROOM];
    struct process *p = xnew(struct process);
    p->options = *o;
    list_init(&p->pods);
    list_init(&p->execs);
    (void)snprintf(p->dir, sizeof(p->dir), "%s", o->dir);
    (void)snprintf(path, sizeof(path), "%.2800s/pods", o->dir);
    p->image = -1;
    if (strlen(o->dir) > DIR_MAX)
        (void)err_set(err, ERR_USAGE, "the path of the state directory is too long");
    else if (dir_make(path, 0711, err) == 0)
        p->image = seal_image(err);
    if (p->image < 0) {
        free(p);
        return NULL;
    }
    DIR *d = opendir(path);
    /* cppcheck-suppress readdirCalled */
    for (struct dirent *de; d && (de = readdir(d));) {
        if (de->d_name[0] != '.')
            adopt(p, de->d_name);
    }
    if (d)
        (void)closedir(d);
    return p;
}

void process_quit(struct process *p)
{
    list_foreach (it, &p->pods) {
        struct strbuf b = STRBUF_INIT(64);
        word(&b, STR("quit"));
        (void)say(list_entry(it, struct proc_pod, link), &b, NULL);
        strbuf_done(&b);
    }
}

void process_free(struct process *p)
{
    if (!p)
        return;
    list_foreach (it, &p->execs) {
        struct pending_exec *x = list_entry(it, struct pending_exec, link);
        list_remove(&x->link);
        free(x);
    }
    list_foreach (it, &p->pods)
        free_pod(list_entry(it, struct proc_pod, link));
    close(p->image);
    free(p);
}
