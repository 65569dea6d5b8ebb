/*
 * See plugin.h. posix_spawn, because the process has threads; the worker blocks all signals, so the
 * child gets an empty mask and default actions. Without a terminal the child leads a process group
 * of its own, so that a script's children end with it; with one it stays in ours, or it could not
 * read from it.
 */
#include "client/plugin.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/vec.h"
#include "json/write.h"

extern char **environ;

enum { READ_CHUNK = 4096 };

typedef VEC(char *) words;

static bool has_terminal(const struct kubeconfig_exec *x)
{
    return x->interactive != EXEC_NEVER && isatty(STDIN_FILENO);
}

usec plugin_patience(const struct kubeconfig_exec *x)
{
    return has_terminal(x) ? 10 * USEC_PER_MIN : USEC_PER_MIN;
}

/* ---- what it is given ---- */

static void add_word(words *w, const char *format, str a, str b)
{
    struct strbuf s = STRBUF_INIT(8 << 20);
    strbuf_printf(&s, format, STR_ARG(a), STR_ARG(b));
    *vec_push(w) = strbuf_detach(&s, NULL);
}

static void words_done(words *w)
{
    for (size_t i = 0; i < w->len; i++)
        free(w->p[i]);
    vec_done(w);
}

static str exec_info(const struct kubeconfig_exec *x, struct jw *w)
{
    jw_init(w);
    jw_object(w);
    jw_put_cstr(w, "kind", "ExecCredential");
    jw_put_str(w, "apiVersion", x->api_version);
    jw_put_object(w, "spec");
    if (x->cluster.len) {
        jw_key(w, STR("cluster"));
        jw_raw(w, x->cluster);
    }
    jw_put_bool(w, "interactive", has_terminal(x));
    jw_end(w);
    jw_end(w);
    return strbuf_str(&w->out);
}

static bool is_set_by(const struct kubeconfig_exec *x, const char *entry)
{
    str rest = str_of(entry), name = str_cut(&rest, '=');
    for (size_t i = 0; i < x->n_env; i++) {
        if (str_eq(x->env[i].name, name))
            return true;
    }
    return str_is(name, "KUBERNETES_EXEC_INFO");
}

/* Ours, with what the kubeconfig sets instead. */
static void make_environment(const struct kubeconfig_exec *x, words *ret)
{
    struct jw w;
    for (char **e = environ; e && *e; e++) {
        if (!is_set_by(x, *e))
            *vec_push(ret) = xstrdup(*e);
    }
    for (size_t i = 0; i < x->n_env; i++)
        add_word(ret, "%.*s=%.*s", x->env[i].name, x->env[i].value);
    add_word(ret, "KUBERNETES_EXEC_INFO=%.*s%.*s", exec_info(x, &w), STR_NONE);
    jw_done(&w);
    *vec_push(ret) = NULL;
}

static void make_arguments(const struct kubeconfig_exec *x, words *ret)
{
    *vec_push(ret) = str_dup(x->command);
    for (size_t i = 0; i < x->n_args; i++)
        *vec_push(ret) = str_dup(x->args[i]);
    *vec_push(ret) = NULL;
}

/* ---- the process ---- */

static int spawn(const struct kubeconfig_exec *x, int out_fd, pid_t *ret)
{
    words args = {0}, env = {0};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    short flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_adddup2(&files, out_fd, STDOUT_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    if (!has_terminal(x)) {
        posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
        flags |= POSIX_SPAWN_SETPGROUP;
    }
    posix_spawnattr_setflags(&attributes, flags);
    make_arguments(x, &args);
    make_environment(x, &env);
    int error = posix_spawnp(ret, args.p[0], &files, &attributes, args.p, env.p);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    words_done(&args);
    words_done(&env);
    return error;
}

/* Up to the end of its output. */
static int read_output(const struct kubeconfig_exec *x, int fd, int cancel_fd, struct strbuf *out,
                       struct err *err)
{
    struct pollfd fds[] = {{.fd = fd, .events = POLLIN}, {.fd = cancel_fd, .events = POLLIN}};
    for (;;) {
        int n = poll(fds, ARRAY_LEN(fds), -1);
        if (n > 0 && fds[1].revents)
            return err_set(err, ERR_TIMEOUT, "%.*s was stopped", STR_ARG(x->command));
        char buf[READ_CHUNK];
        ssize_t got = n > 0 ? read(fd, buf, sizeof(buf)) : -1;
        if (got == 0)
            return 0;
        if (got < 0 && errno != EINTR)
            return err_errno(err, ERR_IO, "%.*s", STR_ARG(x->command));
        strbuf_add(out, buf, got > 0 ? (size_t)got : 0);
        if (out->overflow)
            return err_set(err, ERR_TOO_LARGE, "%.*s printed more than %zu bytes",
                           STR_ARG(x->command), out->max);
    }
}

static int wait_for(const struct kubeconfig_exec *x, pid_t pid, struct err *err)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return err_errno(err, ERR_IO, "%.*s", STR_ARG(x->command));
    }
    if (WIFSIGNALED(status))
        return err_set(err, ERR_UNAVAILABLE, "%.*s was killed by signal %d", STR_ARG(x->command),
                       WTERMSIG(status));
    if (WEXITSTATUS(status))
        return err_set(err, ERR_UNAUTHORIZED, "%.*s failed with exit code %d", STR_ARG(x->command),
                       WEXITSTATUS(status));
    return 0;
}

int plugin_run(const struct kubeconfig_exec *x, int cancel_fd, struct strbuf *out, struct err *err)
{
    int fds[2];
    pid_t pid = -1;
    if (x->interactive == EXEC_ALWAYS && !has_terminal(x))
        return err_set(err, ERR_UNAUTHORIZED, "%.*s needs a terminal (interactiveMode Always)",
                       STR_ARG(x->command));
    if (pipe2(fds, O_CLOEXEC) < 0)
        return err_errno(err, ERR_IO, "pipe");
    int error = spawn(x, fds[1], &pid);
    close(fds[1]);
    if (error) {
        close(fds[0]);
        errno = error;
        int r = err_errno(err, ERR_NOT_FOUND, "cannot run %.*s", STR_ARG(x->command));
        return x->install_hint.len ? err_wrap(err, "%.*s", STR_ARG(x->install_hint)) : r;
    }
    int r = read_output(x, fds[0], cancel_fd, out, err);
    close(fds[0]);
    if (r)
        kill(has_terminal(x) ? pid : -pid, SIGKILL);
    int ended = wait_for(x, pid, r ? NULL : err);
    return r ? r : ended;
}

/* ---- what it printed ---- */

int plugin_parse(const struct kubeconfig_exec *x, str text, struct arena *a,
                 struct plugin_result *ret, struct err *err)
{
    *ret = (struct plugin_result){0};
    struct doc *d = doc_hold(a, doc_parse(text, NULL, err));
    if (!d)
        return err_wrap(err, "%.*s printed no JSON", STR_ARG(x->command));
    jval root = doc_root(d), status = jgetc(root, "status");
    str expires = jstr(jgetc(status, "expirationTimestamp"));
    if (!str_is(jstr(jgetc(root, "kind")), "ExecCredential") ||
        !str_eq(jstr(jgetc(root, "apiVersion")), x->api_version))
        return err_set(err, ERR_INVALID, "%.*s printed no ExecCredential of %.*s",
                       STR_ARG(x->command), STR_ARG(x->api_version));
    ret->token = str_trim(jstr(jgetc(status, "token")));
    ret->cert_pem = jstr(jgetc(status, "clientCertificateData"));
    ret->key_pem = jstr(jgetc(status, "clientKeyData"));
    if (ret->cert_pem.len ? !ret->key_pem.len : ret->key_pem.len || !ret->token.len)
        return err_set(err, ERR_INVALID, "%.*s gave neither a token nor a certificate with its key",
                       STR_ARG(x->command));
    if (expires.len && !time_parse_rfc3339(expires, &ret->expires))
        return err_set(err, ERR_INVALID, "%.*s: expirationTimestamp is not a time",
                       STR_ARG(x->command));
    return 0;
}
