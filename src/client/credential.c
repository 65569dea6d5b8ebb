/*
 * See credential.h. One job at a time; what it needs is copied nowhere, since the kubeconfig does
 * not change and the job is waited for before anything goes.
 *
 *   fresh ──(time passes, refused)──► stale ──refresh──► asking ──► fresh, or stale for a while
 */
#include "client/credential.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "base/b64.h"
#include "base/file.h"
#include "base/log.h"
#include "client/backoff.h"
#include "client/plugin.h"

#define FILE_INTERVAL USEC_PER_MIN
#define NEVER INT64_MAX
/* A plug-in is not started more often than this, however short-lived what it gives is. */
#define PLUGIN_INTERVAL (5 * USEC_PER_SEC)
/* A server that refuses whatever it is shown does not make us ask more often than this. */
#define REFUSED_INTERVAL USEC_PER_SEC
#define RETRY_BASE USEC_PER_SEC
#define RETRY_MAX USEC_PER_MIN

enum { MAX_TOKEN = 1 << 20 };
enum source { SOURCE_FIXED, SOURCE_FILE, SOURCE_EXEC };

struct credential {
    struct loop *loop;
    const struct kubeconfig *config;
    void (*ready)(void *ctx, const struct err *err);
    void *ctx;
    enum source source;

    struct arena arena; /* what was got */
    str authorization, cert, key;
    unsigned generation;
    bool has_any;
    usec fresh_until; /* monotonic */
    usec asked;       /* monotonic, 0: never */
    unsigned failures;
    struct err error; /* the last failure */
    struct loop_task notify;

    /* the job's */
    struct loop_job job;
    bool asking;
    struct strbuf text;
    struct err job_error;
    int result;
    int cancel_fd;
    struct loop_timer patience;
};

/* ---- values ---- */

static str bearer(struct arena *a, str token)
{
    return token.len ? arena_printf(a, "Bearer %.*s", STR_ARG(token)) : STR_NONE;
}

static str basic(struct arena *a, const struct kubeconfig *k)
{
    struct strbuf plain = STRBUF_INIT(MAX_TOKEN), b = STRBUF_INIT(2 * MAX_TOKEN);
    strbuf_printf(&plain, "%.*s:%.*s", STR_ARG(k->username), STR_ARG(k->password));
    strbuf_add_cstr(&b, "Basic ");
    b64_encode(strbuf_str(&plain), B64_STD, &b);
    str value = arena_str(a, strbuf_str(&b));
    strbuf_done(&plain);
    strbuf_done(&b);
    return value;
}

static void set_fixed(struct credential *c)
{
    const struct kubeconfig *k = c->config;
    c->authorization = k->username.len ? basic(&c->arena, k) : bearer(&c->arena, k->token);
    c->fresh_until = NEVER;
    c->has_any = true;
}

static usec plugin_lifetime(struct credential *c, const struct plugin_result *p)
{
    if (!p->expires)
        return NEVER;
    usec now = loop_now(c->loop);
    return now + MAX(p->expires - loop_wall(c->loop), PLUGIN_INTERVAL);
}

/* Puts what the job brought into use. */
static int adopt(struct credential *c, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct plugin_result p = {0};
    str text = str_trim(strbuf_str(&c->text));
    int r = 0;
    usec until = loop_now(c->loop) + FILE_INTERVAL;
    if (c->source == SOURCE_FILE && !text.len)
        r = err_set(err, ERR_UNAUTHORIZED, "%.*s is empty", STR_ARG(c->config->token_file));
    else if (c->source == SOURCE_FILE)
        p.token = text;
    else
        r = plugin_parse(&c->config->exec, text, &a, &p, err);
    if (r) {
        arena_done(&a);
        return r;
    }
    c->fresh_until = c->source == SOURCE_FILE ? until : plugin_lifetime(c, &p);
    c->authorization = bearer(&a, p.token);
    c->cert = p.cert_pem;
    c->key = p.key_pem;
    c->has_any = true;
    arena_done(&c->arena);
    c->arena = a;
    return 0;
}

/* ---- the job ---- */

static void job_run(struct loop_job *j)
{
    struct credential *c = container_of(j, struct credential, job);
    const struct kubeconfig *k = c->config;
    c->result = c->source == SOURCE_FILE
                    ? file_read(k->token_file.p, &c->text, &c->job_error)
                    : plugin_run(&k->exec, c->cancel_fd, &c->text, &c->job_error);
}

/* The old one goes on as long as there is one; the next try waits. */
static void on_failure(struct credential *c)
{
    c->failures++;
    c->fresh_until = loop_now(c->loop) + backoff_delay(c->loop, RETRY_BASE, RETRY_MAX, c->failures);
    c->error = c->job_error;
    (void)err_wrap(&c->error, "credentials of user \"%.*s\" (%.*s)", STR_ARG(c->config->user),
                   STR_ARG(c->config->file));
    if (c->has_any)
        log_warn("credentials could not be renewed", LOG_C("error", c->error.message));
}

static void job_done(struct loop_job *j)
{
    struct credential *c = container_of(j, struct credential, job);
    uint64_t counter;
    c->asking = false;
    loop_timer_cancel(&c->patience);
    if (c->cancel_fd >= 0 && read(c->cancel_fd, &counter, sizeof(counter)) > 0 && c->result)
        (void)err_set(&c->job_error, ERR_TIMEOUT, "%.*s took longer than %lld s",
                      STR_ARG(c->config->exec.command),
                      (long long)(plugin_patience(&c->config->exec) / USEC_PER_SEC));
    if (c->result == 0)
        c->result = adopt(c, &c->job_error);
    c->generation += c->result == 0;
    if (c->result)
        on_failure(c);
    else
        c->failures = 0;
    c->ready(c->ctx, c->has_any ? NULL : &c->error);
}

static void on_notify(struct loop_task *t)
{
    struct credential *c = container_of(t, struct credential, notify);
    c->ready(c->ctx, &c->error);
}

static void cancel(struct credential *c)
{
    uint64_t one = 1;
    if (c->cancel_fd >= 0)
        (void)!write(c->cancel_fd, &one, sizeof(one));
}

static void on_late(struct loop_timer *t)
{
    cancel(container_of(t, struct credential, patience));
}

void credential_refresh(struct credential *c)
{
    if (c->asking || c->source == SOURCE_FIXED)
        return;
    if (!c->has_any && c->failures && loop_now(c->loop) < c->fresh_until) {
        loop_defer(c->loop, LOOP_APPLY, &c->notify); /* it failed just now */
        return;
    }
    c->asking = true;
    c->asked = loop_now(c->loop);
    c->job_error = ERR_INIT;
    strbuf_reset(&c->text);
    c->job.run = job_run;
    c->job.done = job_done;
    if (c->source == SOURCE_EXEC)
        loop_timer_set(&c->patience, c->asked + plugin_patience(&c->config->exec));
    loop_submit(c->loop, LOOP_BLOCK, &c->job);
}

/* ---- state ---- */

bool credential_is_fresh(struct credential *c)
{
    return !c->asking && c->has_any && loop_now(c->loop) < c->fresh_until;
}

bool credential_refused(struct credential *c, unsigned generation)
{
    if (c->source == SOURCE_FIXED)
        return false;
    if (generation != c->generation || c->asking)
        return true;
    if (c->asked && loop_now(c->loop) < c->asked + REFUSED_INTERVAL)
        return false;
    c->fresh_until = 0;
    return true;
}

unsigned credential_generation(const struct credential *c)
{
    return c->generation;
}

str credential_authorization(const struct credential *c)
{
    return c->authorization;
}

str credential_cert(const struct credential *c)
{
    return c->cert;
}

str credential_key(const struct credential *c)
{
    return c->key;
}

/* ---- life cycle ---- */

struct credential *credential_new(struct loop *l, const struct kubeconfig *k,
                                  void (*ready)(void *ctx, const struct err *err), void *ctx)
{
    struct credential *c = xnew(struct credential);
    c->loop = l;
    c->config = k;
    c->ready = ready;
    c->ctx = ctx;
    c->cancel_fd = -1;
    strbuf_init(&c->text, MAX_TOKEN);
    loop_timer_init(l, &c->patience, on_late);
    loop_task_init(&c->notify, on_notify);
    c->source = k->token_file.len ? SOURCE_FILE : k->exec.command.len ? SOURCE_EXEC : SOURCE_FIXED;
    if (c->source == SOURCE_FIXED || k->token.len)
        set_fixed(c);
    if (c->source != SOURCE_FIXED)
        c->fresh_until = 0; /* the token counts until the file could be read */
    if (c->source == SOURCE_EXEC)
        c->cancel_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return c;
}

void credential_free(struct credential *c)
{
    if (!c)
        return;
    if (c->asking)
        cancel(c);
    loop_job_cancel(&c->job);
    loop_timer_cancel(&c->patience);
    loop_task_cancel(&c->notify);
    if (c->cancel_fd >= 0)
        close(c->cancel_fd);
    strbuf_done(&c->text);
    arena_done(&c->arena);
    free(c);
}
