/*
 * grove-shim: parent of one pod's processes. It starts them, reaps them, writes their logs and the
 * record of their exits, and stops them when it is told to; it decides nothing and restarts
 * nothing. An agent that dies is not missed: the next one connects and is told how things stand.
 * When the shim dies, so do its processes (PDEATHSIG, and each is the init of a pid namespace).
 *
 * It is started with the pod's directory as descriptor 3 and the words of its settings as
 * arguments: hostname=NAME, net=own or net=host. The first process ends when the shim can be
 * reached.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "node/shim/enter.h"
#include "node/shim/shim_log.h"
#include "node/shim/shim_wire.h"

enum {
    CONTAINERS_MAX = SHIM_CONTAINERS_MAX,
    AGENTS_MAX = 8,
    EXECS_MAX = 64,
    NAME_ROOM = 256,
    REASON_ROOM = 1024
};

struct container {
    char name[NAME_ROOM];
    long long attempt, sandbox, started_wall, started, stop_by; /* stop_by: 0: nobody asked */
    unsigned streak;
    pid_t pid;
    int pidfd; /* -1: it does not run */
    bool exited;
    char exit[REASON_ROOM + 512]; /* the row of words, as it is told */
    size_t exit_len;
    struct shim_log log;
    struct shim_stream out, err;
};

struct exec {
    long long id;
    pid_t pid; /* 0: free */
    int agent;
};

static struct container containers[CONTAINERS_MAX];
static size_t n_containers;
static struct exec execs[EXECS_MAX];
static int agents[AGENTS_MAX], listener;
static char message[SHIM_MESSAGE_MAX];
static bool ending;

/* ---- time and words ---- */

static long long clock_us(clockid_t id)
{
    struct timespec t;
    (void)clock_gettime(id, &t);
    return t.tv_sec * 1000000LL + t.tv_nsec / 1000;
}

/* Splits a message; 0 when it is none. */
static size_t split(char *p, size_t len, const char **words, size_t max)
{
    size_t n = 0;
    if (len == 0 || p[len - 1] != 0)
        return 0;
    for (char *end = p + len; p < end && n < max; p += strlen(p) + 1)
        words[n++] = p;
    return p == message + len ? n : 0;
}

/* "a b c" in one row of words; spaces separate, so none may be in them. */
static size_t row(char *ret, size_t size, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static size_t row(char *ret, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(ret, size, fmt, ap);
    va_end(ap);
    for (int i = 0; i < n; i++) {
        if (ret[i] == ' ')
            ret[i] = 0;
    }
    return (size_t)n + 1;
}

static void drop_agent(int *agent)
{
    close(*agent);
    *agent = -1;
}

static void tell(int *agent, const void *p, size_t n)
{
    /* cppcheck-suppress uninitvar */
    if (*agent >= 0 && send(*agent, p, n, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
        drop_agent(agent); /* it connects again and is told everything */
}

static void tell_all(const void *p, size_t n)
{
    for (size_t i = 0; i < AGENTS_MAX; i++)
        tell(&agents[i], p, n);
}

/* ---- what is told of a container ---- */

static size_t run_row(const struct container *c, char *ret, size_t size)
{
    return row(ret, size, "run %s %lld %u %lld %lld %lld", c->name, c->attempt, c->streak,
               c->sandbox, c->started_wall, c->started);
}

static int container_dir(const struct container *c)
{
    (void)mkdirat(SHIM_DIR_FD, c->name, 0750);
    return openat(SHIM_DIR_FD, c->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

static void record_exit(const struct container *c)
{
    int dir = container_dir(c);
    int fd = dir < 0 ? -1 : openat(dir, "exit.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
    if (fd >= 0 && write(fd, c->exit, c->exit_len) == (ssize_t)c->exit_len && fsync(fd) == 0)
        (void)renameat(dir, "exit.new", dir, "exit");
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
}

static void container_ends(struct container *c, int code, int sig, const char *reason,
                           const char *why)
{
    char tail[REASON_ROOM];
    size_t len = row(c->exit, sizeof(c->exit), "exit %s %lld %u %lld %lld %lld %lld %lld %d %d %s",
                     c->name, c->attempt, c->streak, c->sandbox, c->started_wall, c->started,
                     clock_us(CLOCK_REALTIME), clock_us(CLOCK_MONOTONIC), code, sig, reason);
    int n = snprintf(tail, sizeof(tail), "%s", why);
    size_t more = n < 0 ? 0 : (size_t)n < sizeof(tail) ? (size_t)n : sizeof(tail) - 1;
    memcpy(c->exit + len, tail, more);
    c->exit[len + more] = 0;
    c->exit_len = len + more + 1;
    c->exited = true;
    if (c->pidfd >= 0)
        close(c->pidfd);
    c->pidfd = -1;
    c->stop_by = 0;
    record_exit(c);
    tell_all(c->exit, c->exit_len);
}

/* ---- starting ---- */

static struct container *find(const char *name)
{
    for (size_t i = 0; i < n_containers; i++) {
        if (strcmp(containers[i].name, name) == 0)
            return &containers[i];
    }
    return NULL;
}

static bool name_is_safe(const char *name)
{
    return name[0] && name[0] != '.' && strlen(name) < NAME_ROOM && !strchr(name, '/') &&
           !strchr(name, ' ');
}

static const char *setting(const char *const *settings, size_t n, const char *key)
{
    size_t len = strlen(key);
    for (size_t i = 0; i < n; i++) {
        if (strncmp(settings[i], key, len) == 0 && settings[i][len] == '=')
            return settings[i] + len + 1;
    }
    return NULL;
}

static void child_fails(int report, const char *why)
{
    ssize_t n = write(report, why, strlen(why) + 1);
    (void)n;
    _exit(127);
}

/* The child: from clone to exec. report: a pipe that exec closes. */
static void child(const struct enter *e, int out, int err, int report)
{
    char why[512] = "";
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)setsid();
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (enter_build_root(e, why, sizeof(why)) < 0)
        child_fails(report, why);
    if (dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0)
        child_fails(report, "its output cannot be connected");
    (void)syscall(SYS_close_range, 3U, (unsigned)report - 1, 0U);
    (void)syscall(SYS_close_range, (unsigned)report + 1, ~0U, 0U);
    (void)umask(022);
    (void)enter_execute(e, why, sizeof(why));
    child_fails(report, why);
}

static int make_pipes(int out[2], int err[2], int report[2])
{
    out[0] = out[1] = err[0] = err[1] = report[0] = report[1] = -1;
    return pipe2(out, O_CLOEXEC) < 0 || pipe2(err, O_CLOEXEC) < 0 || pipe2(report, O_CLOEXEC) < 0
               ? -1
               : 0;
}

static void close_all(const int *fds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
}

/* Waits until it has executed its command or said why not: milliseconds. */
static bool has_executed(int report, char *why, size_t size)
{
    size_t len = 0;
    for (;;) {
        ssize_t n = read(report, why + len, size - 1 - len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            break;
        len += (size_t)n;
    }
    why[len] = 0;
    return len == 0;
}

/* The last two runs keep their logs. */
static void drop_old_logs(int dir, long long attempt)
{
    char name[64];
    for (int i = 0; i < SHIM_LOG_FILES; i++) {
        int n = snprintf(name, sizeof(name), "%lld.log", attempt - 2);
        if (i > 0)
            (void)snprintf(name + n, sizeof(name) - (size_t)n, ".%d", i);
        (void)unlinkat(dir, name, 0);
    }
}

static void start_process(struct container *c, const char *const *settings, size_t n)
{
    char why[512], root[300], log[64];
    int out[2], err[2], report[2], dir = container_dir(c);
    const char *name = setting(settings, n, "root");
    (void)snprintf(root, sizeof(root), "%s", name ? name : "/");
    (void)snprintf(log, sizeof(log), "%lld.log", c->attempt);
    c->started_wall = clock_us(CLOCK_REALTIME);
    c->started = clock_us(CLOCK_MONOTONIC);
    if (dir < 0 || shim_log_open(&c->log, dir, log) < 0 || make_pipes(out, err, report) < 0) {
        container_ends(c, 128, 0, "StartError", strerror(errno));
        return;
    }
    drop_old_logs(dir, c->attempt);
    struct enter e = {.settings = settings, .n = n, .root = root};
    struct clone_args args = {.flags = CLONE_PIDFD | CLONE_NEWPID | CLONE_NEWNS,
                              .pidfd = (uintptr_t)&c->pidfd,
                              .exit_signal = SIGCHLD};
    long pid = syscall(SYS_clone3, &args, sizeof(args));
    if (pid == 0)
        child(&e, out[1], err[1], report[1]);
    close_all((int[]){out[1], err[1], report[1]}, 3);
    if (pid < 0) {
        c->pidfd = -1;
        close_all((int[]){out[0], err[0], report[0]}, 3);
        container_ends(c, 128, 0, "StartError", strerror(errno));
        return;
    }
    c->pid = (pid_t)pid;
    (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
    (void)fcntl(err[0], F_SETFL, O_NONBLOCK);
    c->out.fd = out[0];
    c->err.fd = err[0];
    c->out.name = "stdout";
    c->err.name = "stderr";
    bool ok = has_executed(report[0], why, sizeof(why));
    close(report[0]);
    if (!ok) {
        (void)waitpid(c->pid, NULL, 0);
        container_ends(c, 128, 0, "StartError", why);
        return;
    }
    char b[512];
    tell_all(b, run_row(c, b, sizeof(b)));
}

static void keep_last_exit(const struct container *c)
{
    int dir = container_dir(c);
    if (dir < 0)
        return;
    (void)renameat(dir, "exit", dir, "exit.last");
    close(dir);
}

/* One more than there is room for has ended before it began. */
static void start_beyond(const char *const *w)
{
    static struct container c;
    c = (struct container){.attempt = atoll(w[2]),
                           .streak = (unsigned)atoll(w[3]),
                           .sandbox = atoll(w[4]),
                           .started_wall = clock_us(CLOCK_REALTIME),
                           .started = clock_us(CLOCK_MONOTONIC),
                           .pidfd = -1};
    (void)snprintf(c.name, sizeof(c.name), "%s", w[1]);
    container_ends(&c, 128, 0, "StartError", "a pod has no room for so many containers");
}

/* Once: who asks again for what was begun or has been is answered with how it stands. */
static void start(const char *const *w, size_t n)
{
    if (n < 5 || !name_is_safe(w[1]))
        return;
    struct container *c = find(w[1]);
    long long attempt = atoll(w[2]);
    if (c && c->attempt >= attempt)
        return;
    if (c && c->pidfd >= 0)
        return; /* never two of one container */
    if (!c && n_containers == CONTAINERS_MAX) {
        start_beyond(w);
        return;
    }
    if (!c) {
        c = &containers[n_containers++];
        c->out.fd = c->err.fd = -1;
    }
    if (c->out.fd >= 0)
        close(c->out.fd);
    if (c->err.fd >= 0)
        close(c->err.fd);
    if (c->attempt != attempt || c->exited)
        shim_log_close(&c->log);
    if (c->log.dir > 0)
        close(c->log.dir);
    memset(c, 0, offsetof(struct container, log));
    c->log = (struct shim_log){.fd = -1};
    c->out.fd = c->err.fd = c->pidfd = -1;
    c->out.len = c->err.len = 0;
    (void)snprintf(c->name, sizeof(c->name), "%s", w[1]);
    c->attempt = attempt;
    c->streak = (unsigned)atoll(w[3]);
    c->sandbox = atoll(w[4]);
    keep_last_exit(c);
    start_process(c, w + 5, n - 5);
}

/* ---- stopping ---- */

static void stop(const char *const *w, size_t n)
{
    struct container *c = n == 4 ? find(w[1]) : NULL;
    if (!c || c->attempt != atoll(w[2]) || c->pidfd < 0)
        return;
    long long by = clock_us(CLOCK_MONOTONIC) + atoll(w[3]) * 1000;
    if (c->stop_by == 0)
        (void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGTERM, NULL, 0);
    if (c->stop_by == 0 || by < c->stop_by)
        c->stop_by = by;
}

static void kill_overdue(void)
{
    long long now = clock_us(CLOCK_MONOTONIC);
    for (size_t i = 0; i < n_containers; i++) {
        struct container *c = &containers[i];
        if (c->pidfd >= 0 && c->stop_by && c->stop_by <= now)
            (void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
    }
}

/* Milliseconds until somebody is to be killed; -1: nobody is. */
static int next_kill(void)
{
    long long now = clock_us(CLOCK_MONOTONIC), next = -1;
    for (size_t i = 0; i < n_containers; i++) {
        const struct container *c = &containers[i];
        if (c->pidfd < 0 || !c->stop_by)
            continue;
        /* One that was killed already is gone in a moment. */
        long long left = c->stop_by > now ? (c->stop_by - now) / 1000 + 1 : 100;
        if (next < 0 || left < next)
            next = left;
    }
    return (int)(next > 1000000 ? 1000000 : next);
}

/* ---- commands inside ---- */

static void exec_child(const struct container *c, const struct enter *e, const int fds[3])
{
    char why[512];
    sigset_t none;
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    if (setns(c->pidfd, CLONE_NEWPID | CLONE_NEWNS) < 0)
        _exit(126);
    pid_t pid = fork(); /* the pid namespace is entered by the next child only */
    if (pid > 0) {
        int status = 0;
        close_all(fds, 3);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            ;
        _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    }
    if (pid < 0)
        _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    (void)setsid();
    for (int i = 0; i < 3; i++) {
        if (dup2(fds[i], i) < 0)
            _exit(126);
    }
    (void)syscall(SYS_close_range, 3U, ~0U, 0U);
    (void)enter_execute(e, why, sizeof(why));
    (void)dprintf(2, "%s\n", why);
    _exit(127);
}

static void run_command(size_t agent, const char *const *w, size_t n, const int fds[3])
{
    const struct container *c = n >= 4 ? find(w[2]) : NULL;
    struct exec *x = NULL;
    char b[64];
    for (size_t i = 0; i < EXECS_MAX && !x; i++) {
        if (execs[i].pid == 0)
            x = &execs[i];
    }
    pid_t pid = -1;
    if (c && c->pidfd >= 0 && x) {
        struct enter e = {.settings = w + 3, .n = n - 3};
        pid = fork();
        if (pid == 0)
            exec_child(c, &e, fds);
    }
    if (pid > 0)
        *x = (struct exec){.id = atoll(w[1]), .pid = pid, .agent = agents[agent]};
    else if (n >= 2)
        tell(&agents[agent], b, row(b, sizeof(b), "execed %s 126", w[1]));
}

/* What it has started itself goes with it (PDEATHSIG). */
static void cancel_command(const char *const *w, size_t n)
{
    for (size_t i = 0; n == 2 && i < EXECS_MAX; i++) {
        if (execs[i].pid > 0 && execs[i].id == atoll(w[1]))
            (void)kill(execs[i].pid, SIGKILL);
    }
}

static void command_ended(pid_t pid, int status)
{
    char b[64];
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    for (size_t i = 0; i < EXECS_MAX; i++) {
        struct exec *x = &execs[i];
        if (x->pid != pid)
            continue;
        for (size_t k = 0; k < AGENTS_MAX; k++) {
            if (agents[k] >= 0 && agents[k] == x->agent)
                tell(&agents[k], b, row(b, sizeof(b), "execed %lld %d", x->id, code));
        }
        x->pid = 0;
    }
}

/* ---- events ---- */

/* All that is in the pipes belongs to the run; who inherited them may hold them open for longer. */
static void drain(struct container *c)
{
    for (struct shim_stream *s = &c->out; s; s = s == &c->out ? &c->err : NULL) {
        for (int i = 0; s->fd >= 0 && i < 256; i++) {
            struct pollfd p = {s->fd, POLLIN, 0};
            if (poll(&p, 1, 0) <= 0 || !shim_stream_pump(s, &c->log))
                break;
        }
    }
}

static void reap(void)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
        command_ended(pid, status);
        for (size_t i = 0; i < n_containers; i++) {
            struct container *c = &containers[i];
            if (c->pidfd < 0 || c->pid != pid)
                continue;
            drain(c);
            if (WIFSIGNALED(status))
                container_ends(c, 128 + WTERMSIG(status), WTERMSIG(status), "Error", "");
            else
                container_ends(c, WEXITSTATUS(status), 0,
                               WEXITSTATUS(status) ? "Error" : "Completed", "");
        }
    }
}

static void greet(void)
{
    char b[512];
    int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    size_t k = 0;
    while (k < AGENTS_MAX && agents[k] >= 0)
        k++;
    if (fd < 0 || k == AGENTS_MAX) {
        if (fd >= 0)
            close(fd);
        return;
    }
    agents[k] = fd;
    for (size_t i = 0; i < n_containers; i++) {
        const struct container *c = &containers[i];
        if (c->pidfd >= 0)
            tell(&agents[k], b, run_row(c, b, sizeof(b)));
        else if (c->exited)
            tell(&agents[k], c->exit, c->exit_len);
    }
    tell(&agents[k], "synced", sizeof("synced"));
}

static bool is_idle(void)
{
    for (size_t i = 0; i < n_containers; i++) {
        if (containers[i].pidfd >= 0)
            return false;
    }
    return true;
}

static void quit(void)
{
    for (size_t i = 0; i < n_containers; i++) {
        if (containers[i].pidfd >= 0)
            (void)syscall(SYS_pidfd_send_signal, containers[i].pidfd, SIGKILL, NULL, 0);
    }
    ending = true;
}

static void hear(size_t agent)
{
    static const char *words[SHIM_WORDS_MAX];
    union {
        struct cmsghdr header;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    struct iovec v = {message, sizeof(message)};
    struct msghdr m = {
        .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
    ssize_t len = recvmsg(agents[agent], &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    int fds[3] = {-1, -1, -1};
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (len <= 0) {
        drop_agent(&agents[agent]);
        return;
    }
    struct cmsghdr *h = CMSG_FIRSTHDR(&m);
    if (h && h->cmsg_type == SCM_RIGHTS && h->cmsg_len <= CMSG_LEN(sizeof(fds)))
        memcpy(fds, CMSG_DATA(h), h->cmsg_len - CMSG_LEN(0));
    size_t n = m.msg_flags & MSG_TRUNC ? 0 : split(message, (size_t)len, words, SHIM_WORDS_MAX);
    if (n > 0 && strcmp(words[0], "start") == 0)
        start(words, n);
    else if (n > 0 && strcmp(words[0], "stop") == 0)
        stop(words, n);
    else if (n > 0 && strcmp(words[0], "exec") == 0)
        run_command(agent, words, n, fds);
    else if (n > 0 && strcmp(words[0], "cancel") == 0)
        cancel_command(words, n);
    else if (n > 0 && strcmp(words[0], "end") == 0)
        ending = is_idle();
    else if (n > 0 && strcmp(words[0], "quit") == 0)
        quit();
    close_all(fds, 3);
}

/* What one descriptor of the poll belongs to. */
enum { FD_SIGNAL, FD_LISTENER, FD_FIRST };

static void turn(int signals)
{
    struct pollfd p[FD_FIRST + AGENTS_MAX + 2 * CONTAINERS_MAX];
    struct shim_stream *streams[2 * CONTAINERS_MAX];
    struct shim_log *logs[2 * CONTAINERS_MAX];
    size_t n = FD_FIRST, n_streams = 0;
    p[FD_SIGNAL] = (struct pollfd){signals, POLLIN, 0};
    p[FD_LISTENER] = (struct pollfd){listener, POLLIN, 0};
    for (size_t i = 0; i < AGENTS_MAX; i++)
        p[n++] = (struct pollfd){agents[i], POLLIN, 0}; /* -1 is passed over */
    for (size_t i = 0; i < n_containers; i++) {
        struct container *c = &containers[i];
        streams[n_streams] = &c->out;
        streams[n_streams + 1] = &c->err;
        logs[n_streams] = logs[n_streams + 1] = &c->log;
        p[n++] = (struct pollfd){c->out.fd, POLLIN, 0};
        p[n++] = (struct pollfd){c->err.fd, POLLIN, 0};
        n_streams += 2;
    }
    if (poll(p, n, next_kill()) < 0)
        return;
    for (size_t i = 0; i < n_streams; i++) {
        if (p[FD_FIRST + AGENTS_MAX + i].revents)
            (void)shim_stream_pump(streams[i], logs[i]);
    }
    if (p[FD_SIGNAL].revents) {
        char b[1024];
        ssize_t len = read(signals, b, sizeof(b));
        (void)len;
        reap();
    }
    kill_overdue();
    for (size_t i = 0; i < AGENTS_MAX; i++) {
        if (p[FD_FIRST + i].revents && agents[i] >= 0)
            hear(i);
    }
    if (p[FD_LISTENER].revents)
        greet();
}

/* ---- beginning ---- */

static int listen_here(void)
{
    struct sockaddr_un a = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    (void)snprintf(a.sun_path, sizeof(a.sun_path), "/proc/self/fd/%d/" SHIM_SOCKET, SHIM_DIR_FD);
    (void)unlinkat(SHIM_DIR_FD, SHIM_SOCKET, 0);
    mode_t old = umask(0177);
    int r = fd < 0 ? -1 : bind(fd, (struct sockaddr *)&a, sizeof(a));
    (void)umask(old);
    return r < 0 || listen(fd, AGENTS_MAX) < 0 ? -1 : fd;
}

static void pin_down(int report, const char *what)
{
    dprintf(report, "%s: %s", what, strerror(errno));
    _exit(1);
}

/* In the background: namespaces that the containers share, lock, socket. */
static void set_up(const char *const *settings, size_t n, int report)
{
    const char *host = setting(settings, n, "hostname"), *net = setting(settings, n, "net");
    int lock = openat(SHIM_DIR_FD, SHIM_LOCK, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    int flags = CLONE_NEWIPC | CLONE_NEWUTS;
    if (lock < 0 || flock(lock, LOCK_EX | LOCK_NB) < 0)
        pin_down(report, "another shim holds the pod");
    if (net && strcmp(net, "own") == 0)
        flags |= CLONE_NEWNET;
    if (unshare(flags) < 0)
        pin_down(report, "namespaces cannot be made");
    if (host && sethostname(host, strlen(host)) < 0)
        pin_down(report, "the host name cannot be set");
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0 || (listener = listen_here()) < 0)
        pin_down(report, "the socket cannot be made");
    for (size_t i = 0; i < AGENTS_MAX; i++)
        agents[i] = -1;
}

static int watch_children(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGCHLD);
    (void)sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

int main(int argc, char **argv)
{
    int ready[2];
    char why[512];
    (void)syscall(SYS_close_range, SHIM_DIR_FD + 1U, ~0U, 0U);
    if (pipe2(ready, O_CLOEXEC) < 0)
        return 1;
    pid_t pid = fork();
    if (pid != 0) {
        close(ready[1]);
        ssize_t n = pid < 0 ? -1 : read(ready[0], why, sizeof(why));
        if (n > 0)
            n = write(2, why, (size_t)n) < 0 ? -1 : n;
        return n == 0 ? 0 : 1;
    }
    close(ready[0]);
    (void)setsid();
    (void)signal(SIGPIPE, SIG_IGN);
    int signals = watch_children();
    set_up((const char *const *)argv + 1, (size_t)argc - 1, ready[1]);
    (void)prctl(PR_SET_NAME, "grove-shim", 0, 0, 0);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; i < 3; i++)
        (void)dup2(null, i);
    if (chdir("/") < 0)
        return 1;
    close(ready[1]);
    while (!ending)
        turn(signals);
    (void)unlinkat(SHIM_DIR_FD, SHIM_SOCKET, 0);
    return 0;
}
