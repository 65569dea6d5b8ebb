/* See questions.h. */
#include "ui/questions.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/list.h"
#include "base/strbuf.h"

extern char **environ;

enum { MAX_ARGS = 16, READ_CHUNK = 64 << 10, LANES = 2 };

/* What may be asked, and how. */
static const struct question {
    const char *name;
    const char *words[2]; /* of the command line */
    bool about_object;    /* KIND/NAME follows */
    bool sets_only;
    bool takes_manifest; /* on standard input */
    bool tries_out;      /* runs in the other lane */
    bool writes;         /* and prints no document */
} questions[] = {
    {.name = "tree", .words = {"tree"}, .about_object = true, .sets_only = true},
    {.name = "explain", .words = {"explain"}, .about_object = true},
    {.name = "why", .words = {"why"}, .about_object = true},
    {.name = "history", .words = {"rollout", "history"}, .about_object = true, .sets_only = true},
    {.name = "fit", .words = {"fit"}, .takes_manifest = true, .tries_out = true},
    {.name = "plan", .words = {"plan"}, .takes_manifest = true, .tries_out = true},
    {.name = "pause",
     .words = {"rollout", "pause"},
     .about_object = true,
     .sets_only = true,
     .writes = true},
    {.name = "resume",
     .words = {"rollout", "resume"},
     .about_object = true,
     .sets_only = true,
     .writes = true},
    {.name = "undo",
     .words = {"rollout", "undo"},
     .about_object = true,
     .sets_only = true,
     .writes = true},
};

struct job {
    struct list link; /* waiting */
    struct asker *asker;
    const struct question *question;
    struct arena arena; /* words */
    char *args[MAX_ARGS];
    struct strbuf manifest;
    void (*done)(void *ctx, const struct ask_answer *answer);
    void *ctx;
    bool is_forgotten;

    pid_t pid; /* 0: it does not run */
    struct loop_io out, errors, exit;
    struct strbuf text, error;
    struct loop_timer late;
    const char *why_ended; /* by us; NULL: it was not */
};

struct asker {
    struct loop *loop;
    struct asker_options options;
    struct list waiting[LANES];
    size_t n_waiting[LANES];
    struct job *running[LANES];
};

static const struct question *find(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(questions); i++) {
        if (str_is(name, questions[i].name))
            return &questions[i];
    }
    return NULL;
}

bool ask_writes(str question)
{
    const struct question *q = find(question);
    return q && q->writes;
}

/* ---- one process ---- */

static void close_io(struct loop_io *io)
{
    if (io->loop)
        loop_io_remove(io);
    if (io->fd >= 0)
        close(io->fd);
    io->fd = -1;
}

static void job_free(struct job *j)
{
    loop_timer_cancel(&j->late);
    close_io(&j->out);
    close_io(&j->errors);
    close_io(&j->exit);
    strbuf_done(&j->manifest);
    strbuf_done(&j->text);
    strbuf_done(&j->error);
    arena_done(&j->arena);
    free(j);
}

static void end_process(struct job *j, const char *why)
{
    if (!j->why_ended)
        j->why_ended = why;
    if (j->pid > 0)
        (void)kill(-j->pid, SIGKILL);
}

static void take_output(struct job *j, struct loop_io *io, struct strbuf *into, size_t most)
{
    char buffer[READ_CHUNK];
    ssize_t n;
    while (io->fd >= 0 && (n = read(io->fd, buffer, sizeof(buffer))) != 0) {
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return;
        if (into->len + (size_t)n > most && into == &j->text)
            end_process(j, "the answer is too large");
        strbuf_add(into, buffer, MIN((size_t)n, most - into->len));
    }
    close_io(io);
}

static void on_out(struct loop_io *io, unsigned events)
{
    struct job *j = container_of(io, struct job, out);
    (void)events;
    take_output(j, io, &j->text, ASK_MAX_OUTPUT);
}

static void on_errors(struct loop_io *io, unsigned events)
{
    struct job *j = container_of(io, struct job, errors);
    (void)events;
    take_output(j, io, &j->error, ASK_MAX_ERRORS);
}

static void on_late(struct loop_timer *t)
{
    end_process(
        container_of(t, struct job, late),
        "it took longer than 10 seconds and was ended; ask the command line, which has time");
}

static void start_next(struct asker *k, size_t lane);

static void answer(struct job *j, int code)
{
    struct ask_answer a = {.code = j->why_ended ? -1 : code, .document = strbuf_str(&j->text)};
    a.error = j->why_ended ? str_of(j->why_ended) : str_trim(strbuf_str(&j->error));
    if (j->question->writes || j->why_ended)
        a.document = STR_NONE;
    if (!j->is_forgotten)
        j->done(j->ctx, &a);
}

static int exit_code(struct job *j, int status)
{
    if (WIFSIGNALED(status) && !j->why_ended)
        j->why_ended = WTERMSIG(status) == SIGABRT || WTERMSIG(status) == SIGSEGV
                           ? "it needed more than 2 GiB of memory and was ended"
                           : "it was ended";
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void on_exit_seen(struct loop_io *io, unsigned events)
{
    struct job *j = container_of(io, struct job, exit);
    struct asker *k = j->asker;
    size_t lane = j->question->tries_out;
    int status = 0;
    (void)events;
    while (waitpid(j->pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)kill(-j->pid, SIGKILL); /* what it may have left behind */
    j->pid = 0;
    take_output(j, &j->out, &j->text, ASK_MAX_OUTPUT);
    take_output(j, &j->errors, &j->error, ASK_MAX_ERRORS);
    k->running[lane] = NULL;
    answer(j, exit_code(j, status));
    job_free(j);
    start_next(k, lane);
}

/* A file that nobody else sees, to read from. */
static int manifest_file(struct job *j)
{
    int fd = memfd_create("manifest", MFD_CLOEXEC);
    size_t at = 0;
    while (fd >= 0 && at < j->manifest.len) {
        ssize_t n = write(fd, j->manifest.p + at, j->manifest.len - at);
        if (n < 0 && errno != EINTR)
            break;
        at += n > 0 ? (size_t)n : 0;
    }
    if (fd >= 0)
        (void)lseek(fd, 0, SEEK_SET);
    return fd;
}

/* Ours, with the kubeconfig in place of another. */
static char **make_environment(struct job *j)
{
    const char *kubeconfig = j->asker->options.kubeconfig;
    size_t n = 0, at = 0;
    while (environ[n])
        n++;
    char **env = arena_array(&j->arena, char *, n + 2);
    for (size_t i = 0; i < n; i++) {
        if (!kubeconfig || !str_starts(str_of(environ[i]), STR("KUBECONFIG=")))
            env[at++] = environ[i];
    }
    if (kubeconfig)
        env[at++] = (char *)arena_printf(&j->arena, "KUBECONFIG=%s", kubeconfig).p;
    env[at] = NULL;
    return env;
}

static int spawn(struct job *j, int in, int out, int errors)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    const char *program = j->asker->options.program;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, errors, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int error = posix_spawn(&j->pid, program ? program : "/proc/self/exe", &files, &attributes,
                            j->args, make_environment(j));
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error)
        j->pid = 0;
    return error;
}

static int watch_fd(struct job *j, struct loop_io *io, int fd,
                    void (*fn)(struct loop_io *io, unsigned events))
{
    struct err ignored = ERR_INIT;
    *io = (struct loop_io){.fd = fd, .events = LOOP_READ, .fn = fn};
    return fd < 0 || loop_io_add(j->asker->loop, io, &ignored) ? -1 : 0;
}

/* It runs, and the loop hears of it. */
static int job_start(struct job *j)
{
    struct rlimit most = {ASK_MEMORY, ASK_MEMORY};
    int out[2] = {-1, -1}, errors[2] = {-1, -1}, in = manifest_file(j), r = -1;
    if (in >= 0 && pipe2(out, O_CLOEXEC) == 0 && pipe2(errors, O_CLOEXEC) == 0 &&
        spawn(j, in, out[1], errors[1]) == 0) {
        (void)prlimit(j->pid, RLIMIT_AS, &most, NULL);
        (void)fcntl(out[0], F_SETFL, O_NONBLOCK);
        (void)fcntl(errors[0], F_SETFL, O_NONBLOCK);
        r = watch_fd(j, &j->out, out[0], on_out) | watch_fd(j, &j->errors, errors[0], on_errors) |
            watch_fd(j, &j->exit, (int)syscall(SYS_pidfd_open, j->pid, 0), on_exit_seen);
        out[0] = errors[0] = -1;
        loop_timer_set(&j->late, loop_now(j->asker->loop) + ASK_TIMEOUT);
    }
    int fds[] = {in, out[0], out[1], errors[0], errors[1]};
    for (size_t i = 0; i < ARRAY_LEN(fds); i++) {
        if (fds[i] >= 0)
            close(fds[i]);
    }
    return r;
}

static void kill_and_wait(struct job *j)
{
    if (j->pid <= 0)
        return;
    (void)kill(-j->pid, SIGKILL);
    while (waitpid(j->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    j->pid = 0;
}

static void start_next(struct asker *k, size_t lane)
{
    while (!k->running[lane] && !list_is_empty(&k->waiting[lane])) {
        struct job *j = list_entry(list_pop_front(&k->waiting[lane]), struct job, link);
        k->n_waiting[lane]--;
        if (job_start(j) == 0) {
            k->running[lane] = j;
            return;
        }
        kill_and_wait(j);
        j->why_ended = "the command could not be started";
        answer(j, -1);
        job_free(j);
    }
}

/* ---- asking ---- */

/* What becomes a word of a command line is a name, and no option. */
static bool is_word(str s)
{
    return str_is_dns1123_subdomain(s);
}

static int check(const struct question *k, const struct ask *q, struct err *err)
{
    static const char *const kinds[] = {"pcs", "pcsg", "pclq", "podgang", "pod"};
    size_t i = 0;
    if (!k)
        return err_set(err, ERR_INVALID, "there is no question \"%.*s\"", STR_ARG(q->question));
    while (i < ARRAY_LEN(kinds) && !str_is(q->kind, kinds[i]))
        i++;
    if (k->about_object && (i == ARRAY_LEN(kinds) || (k->sets_only && i > 0)))
        return err_set(err, ERR_INVALID, "%s cannot be asked of \"%.*s\"", k->name,
                       STR_ARG(q->kind));
    if (k->about_object && !is_word(q->name))
        return err_set(err, ERR_INVALID, "\"%.*s\" is no name", STR_ARG(q->name));
    if (!is_word(q->ns))
        return err_set(err, ERR_INVALID, "\"%.*s\" is no namespace", STR_ARG(q->ns));
    if (k->takes_manifest && q->manifest.len == 0)
        return err_set(err, ERR_INVALID, "%s needs a manifest", k->name);
    return 0;
}

static void add_word(struct job *j, size_t *n, str word)
{
    BUG_ON(*n + 1 >= MAX_ARGS);
    j->args[(*n)++] = (char *)arena_str(&j->arena, word).p;
}

static void make_arguments(struct job *j, const struct ask *q)
{
    const struct question *k = j->question;
    const char *context = j->asker->options.context;
    size_t n = 0;
    add_word(j, &n, STR("grove"));
    for (size_t i = 0; i < ARRAY_LEN(k->words) && k->words[i]; i++)
        add_word(j, &n, str_of(k->words[i]));
    if (k->about_object)
        add_word(j, &n, arena_printf(&j->arena, "%.*s/%.*s", STR_ARG(q->kind), STR_ARG(q->name)));
    if (k->takes_manifest)
        add_word(j, &n, STR("--filename=-"));
    if (!k->writes)
        add_word(j, &n, STR("--output=json"));
    add_word(j, &n, arena_printf(&j->arena, "--namespace=%.*s", STR_ARG(q->ns)));
    if (context)
        add_word(j, &n, arena_printf(&j->arena, "--context=%s", context));
    j->args[n] = NULL;
}

int asker_ask(struct asker *k, const struct ask *q, struct err *err)
{
    const struct question *question = find(q->question);
    int r = check(question, q, err);
    if (r)
        return r;
    size_t lane = question->tries_out;
    if (k->n_waiting[lane] >= ASK_MAX_WAITING)
        return err_set(err, ERR_UNAVAILABLE, "too many questions wait; ask again in a moment");
    struct job *j = xnew(struct job);
    *j = (struct job){.asker = k, .question = question, .done = q->done, .ctx = q->ctx};
    j->out.fd = j->errors.fd = j->exit.fd = -1;
    arena_init(&j->arena);
    strbuf_init(&j->manifest, q->manifest.len + 1);
    strbuf_add_str(&j->manifest, q->manifest);
    strbuf_init(&j->text, ASK_MAX_OUTPUT + 1);
    strbuf_init(&j->error, ASK_MAX_ERRORS + 1);
    loop_timer_init(k->loop, &j->late, on_late);
    make_arguments(j, q);
    list_push_back(&k->waiting[lane], &j->link);
    k->n_waiting[lane]++;
    start_next(k, lane);
    return 0;
}

void asker_forget(struct asker *k, const void *ctx)
{
    for (size_t lane = 0; lane < LANES; lane++) {
        if (k->running[lane] && k->running[lane]->ctx == ctx) {
            k->running[lane]->is_forgotten = true;
            if (!k->running[lane]->question->writes)
                end_process(k->running[lane], "nobody waits for it");
        }
        list_foreach (at, &k->waiting[lane]) {
            struct job *j = list_entry(at, struct job, link);
            if (j->ctx != ctx)
                continue;
            list_remove(&j->link);
            k->n_waiting[lane]--;
            job_free(j);
        }
    }
}

struct asker *asker_new(struct loop *l, const struct asker_options *o)
{
    struct asker *k = xnew(struct asker);
    k->loop = l;
    k->options = *o;
    for (size_t i = 0; i < LANES; i++)
        list_init(&k->waiting[i]);
    return k;
}

void asker_free(struct asker *k)
{
    if (!k)
        return;
    for (size_t lane = 0; lane < LANES; lane++) {
        if (k->running[lane]) {
            kill_and_wait(k->running[lane]);
            job_free(k->running[lane]);
        }
        while (!list_is_empty(&k->waiting[lane]))
            job_free(list_entry(list_pop_front(&k->waiting[lane]), struct job, link));
    }
    free(k);
}
