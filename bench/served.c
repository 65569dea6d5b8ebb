/* See served.h. */
#include "bench/served.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

enum { WORDS_MAX = 16 };

NORETURN void served_fail(const char *what, const char *why)
{
    (void)fprintf(stderr, "%s: %s: %s\n", program_invocation_short_name, what, why);
    exit(1);
}

/* ---- figures ---- */

double clock_usec(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t))
        served_fail("clock", strerror(errno));
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

double now_usec(void)
{
    return clock_usec(CLOCK_MONOTONIC);
}

double served_memory_mb(const struct served *s, const char *line)
{
    char path[64];
    struct strbuf text = STRBUF_INIT(65536);
    struct err err = ERR_INIT;
    long long kb = -1;
    (void)snprintf(path, sizeof(path), "/proc/%d/status", (int)s->pid);
    if (file_read(path, &text, &err))
        served_fail("memory", err.message);
    const char *at = strstr(text.p, line);
    if (at)
        kb = atoll(at + strlen(line));
    strbuf_done(&text);
    return (double)kb / 1024;
}

double served_loop_usec(const struct served *s)
{
    char path[64];
    struct strbuf text = STRBUF_INIT(4096);
    struct err err = ERR_INIT;
    (void)snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", (int)s->pid, (int)s->pid);
    if (file_read(path, &text, &err))
        served_fail("processor time", err.message);
    double nsec = strtod(text.p, NULL); /* the first of three numbers */
    strbuf_done(&text);
    return nsec / 1e3;
}

/* ---- the process ---- */

static void exec_server(const struct served *s, const char *const *words, int out)
{
    const char *argv[WORDS_MAX + 8] = {s->grove, "up",       "--data",
                                       s->dir.p, "--listen", "127.0.0.1:0"};
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++)
        argv[6 + i] = words[i];
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (dup2(out, STDOUT_FILENO) >= 0)
        (void)execv(s->grove, (char *const *)argv);
    _exit(127);
}

/* Until the line that says it is up; false at the end of the text. */
static bool await_line(int in)
{
    struct strbuf text = STRBUF_INIT(65536);
    bool is_up = false;
    while (!is_up) {
        char *to = strbuf_reserve(&text, 4096);
        ssize_t n = to ? read(in, to, 4096) : 0;
        if (n <= 0)
            break;
        strbuf_commit(&text, (size_t)n);
        is_up = str_find(strbuf_str(&text), STR("kubectl get nodes")) >= 0;
    }
    strbuf_done(&text);
    return is_up;
}

static void load_config(struct served *s)
{
    struct strbuf path = STRBUF_INIT(4096);
    struct err err = ERR_INIT;
    strbuf_printf(&path, "%s/kubeconfig", s->dir.p);
    if (kubeconfig_load(path.p, NULL, &s->arena, &s->config, &err))
        served_fail("kubeconfig", err.message);
    strbuf_done(&path);
    const struct kubeconfig *k = &s->config;
    s->tls = tls_client_new(k->ca_pem, k->cert_pem, k->key_pem, false, &err);
    if (!s->tls)
        served_fail("kubeconfig", err.message);
    s->host = str_dup(k->host);
}

double served_start(struct served *s, const char *const *words)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC))
        served_fail("pipe", strerror(errno));
    (void)fflush(stdout);
    double begin = now_usec();
    s->pid = fork();
    if (s->pid == 0)
        exec_server(s, words, ends[1]);
    (void)close(ends[1]);
    if (s->pid < 0 || !await_line(ends[0]))
        served_fail(s->grove, "did not start");
    double took = now_usec() - begin;
    (void)close(ends[0]);
    if (clock_getcpuclockid(s->pid, &s->cpu))
        served_fail("processor time", "the server's clock cannot be read");
    load_config(s);
    return took / 1e3;
}

void served_stop(struct served *s)
{
    int status = 0;
    tls_client_free(s->tls);
    free(s->host);
    arena_clear(&s->arena);
    if (kill(s->pid, SIGTERM) || waitpid(s->pid, &status, 0) < 0 || status != 0)
        served_fail(s->grove, "did not stop cleanly");
}

struct http_client *served_client(struct served *s)
{
    return http_client_new(s->loop, &(struct http_client_options){
                                        .host = s->host, .port = s->config.port, .tls = s->tls});
}

/* ---- waiting ---- */

struct pause {
    struct loop_timer timer;
    struct loop *loop;
};

static void on_pause_over(struct loop_timer *t)
{
    loop_stop(container_of(t, struct pause, timer)->loop, 0);
}

void served_pause(struct served *s, int msec)
{
    struct pause p = {.loop = s->loop};
    loop_timer_init(s->loop, &p.timer, on_pause_over);
    loop_timer_set(&p.timer, loop_now(s->loop) + msec * USEC_PER_MSEC);
    (void)loop_run(s->loop);
    loop_timer_cancel(&p.timer);
}

/* ---- life cycle ---- */

/* Beside us in the build directory. */
static char *default_grove(void)
{
    char self[4096];
    ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
    str dir = str_n(self, n > 0 ? (size_t)n : 0);
    struct strbuf path = STRBUF_INIT(8192);
    dir.len = (size_t)MAX(str_rfind_char(dir, '/'), 0);
    strbuf_printf(&path, "%.*s/../grove", STR_ARG(dir));
    return strbuf_detach(&path, NULL);
}

void served_init(struct served *s, str grove, str data)
{
    struct err err = ERR_INIT;
    *s = (struct served){.is_temporary = str_is_empty(data)};
    s->grove = str_is_empty(grove) ? default_grove() : str_dup(grove);
    s->loop = loop_new_real(&err);
    if (!s->loop)
        served_fail("loop", err.message);
    strbuf_init(&s->dir, 4096);
    if (!s->is_temporary) {
        strbuf_add_str(&s->dir, data);
        return;
    }
    const char *temp = getenv("TMPDIR");
    strbuf_printf(&s->dir, "%s/grove-bench-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!mkdtemp(s->dir.p))
        served_fail(s->dir.p, strerror(errno));
}

void served_done(struct served *s)
{
    struct err err = ERR_INIT;
    if (s->is_temporary && dir_remove(s->dir.p, &err))
        served_fail(s->dir.p, err.message);
    strbuf_done(&s->dir);
    arena_done(&s->arena);
    loop_free(s->loop);
    free(s->grove);
}
