/* See upcerts.h. The directories of the files are watched, not the files: those are replaced by
 * renaming others over them, and Kubernetes swaps a whole directory by a symbolic link. */
#include "plane/upcerts.h"

#include <sys/inotify.h>
#include <unistd.h>

#include "base/log.h"

/* A certificate and its key are written one after the other. */
#define SETTLE (100 * USEC_PER_MSEC)
/* After a failure to renew. */
#define RETRY USEC_PER_HOUR

enum part { PART_CERT, PART_KEY, PART_CA, PARTS };

struct upcerts {
    struct loop *loop;
    struct upcerts_options o;
    struct strbuf dir;
    struct strbuf paths[PARTS];
    struct strbuf pem[PARTS]; /* served */
    bool is_own;              /* the certificate */
    struct tls_server *tls;
    struct loop_io changes; /* fd -1: none */
    struct loop_timer settle, renew;
    struct loop_wall_watch clock;
};

/* ---- reading ---- */

static int read_parts(const struct upcerts *c, struct strbuf pem[PARTS], struct err *err)
{
    for (int i = 0; i < PARTS; i++) {
        int r = plane_pki_read(c->paths[i].p, &pem[i], err);
        if (r)
            return r;
    }
    /* The administrator's certificate stays good whoever else is trusted. */
    if (c->o.client_ca.len)
        strbuf_add_str(&pem[PART_CA], strbuf_str(&c->o.pki->ca.cert_pem));
    return 0;
}

static bool is_same(const struct upcerts *c, const struct strbuf pem[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        if (!str_eq(strbuf_str(&c->pem[i]), strbuf_str(&pem[i])))
            return false;
    return true;
}

static void free_parts(struct strbuf pem[PARTS])
{
    for (int i = 0; i < PARTS; i++)
        strbuf_done(&pem[i]);
}

/* 1: something new is served. */
static int load(struct upcerts *c, struct err *err)
{
    struct strbuf pem[PARTS] = {0};
    int r = read_parts(c, pem, err);
    bool same = r == 0 && is_same(c, pem);
    if (r == 0 && !same)
        r = tls_server_replace(c->tls, strbuf_str(&pem[PART_CERT]), strbuf_str(&pem[PART_KEY]),
                               strbuf_str(&pem[PART_CA]), err);
    if (r || same) {
        free_parts(pem);
        return r;
    }
    free_parts(c->pem);
    memcpy(c->pem, pem, sizeof(pem));
    return 1;
}

/* ---- while it runs ---- */

static void arm_renewal(struct upcerts *c, usec least)
{
    usec left = plane_pki_renewal(c->o.pki) - loop_wall(c->loop);
    loop_timer_set(&c->renew, loop_now(c->loop) + MAX(left, least));
}

/* Certificates end by the wall clock. */
static void on_clock_set(struct loop_wall_watch *w, usec since)
{
    struct upcerts *c = container_of(w, struct upcerts, clock);
    (void)since;
    arm_renewal(c, USEC_PER_SEC);
}

static void look_again(struct upcerts *c)
{
    struct err err = ERR_INIT;
    int r = load(c, &err);
    if (r < 0)
        log_warn("certificates that changed cannot be used, the old ones stay",
                 LOG_C("error", err.message));
    if (r == 1) {
        log_info("new certificates are served", LOG_S("certificate", strbuf_str(&c->paths[0])));
        c->o.on_new(c->o.ctx);
    }
}

static void on_settled(struct loop_timer *t)
{
    look_again(container_of(t, struct upcerts, settle));
}

/* What has changed does not matter: everything is read. */
static void on_changes(struct loop_io *io, unsigned events)
{
    struct upcerts *c = container_of(io, struct upcerts, changes);
    char buf[4096];
    while (read(io->fd, buf, sizeof(buf)) > 0)
        ;
    loop_timer_set(&c->settle, loop_now(c->loop) + SETTLE);
}

static void on_renew(struct loop_timer *t)
{
    struct upcerts *c = container_of(t, struct upcerts, renew);
    struct err err = ERR_INIT;
    int r = plane_pki_renew(c->o.pki, c->dir.p, loop_wall(c->loop), &err);
    if (r)
        log_warn("certificates cannot be renewed", LOG_C("error", err.message));
    look_again(c);
    c->o.on_new(c->o.ctx);
    arm_renewal(c, r ? RETRY : USEC_PER_SEC);
}

/* ---- life ---- */

static void set_path(struct upcerts *c, enum part part, str given, const char *own)
{
    strbuf_init(&c->paths[part], 4096);
    if (given.len)
        strbuf_add_str(&c->paths[part], given);
    else
        strbuf_printf(&c->paths[part], "%s/%s", c->dir.p, own);
}

static int watch_directory(int fd, str path, struct err *err)
{
    ptrdiff_t slash = str_rfind_char(path, '/');
    char *dir = slash < 0    ? xstrdup(".")
                : slash == 0 ? xstrdup("/")
                             : str_dup(str_sub(path, 0, (size_t)slash));
    int r = inotify_add_watch(fd, dir, IN_CLOSE_WRITE | IN_MOVED_TO | IN_CREATE | IN_DELETE);
    if (r < 0)
        r = err_errno(err, ERR_IO, "watch %s", dir);
    free(dir);
    return r < 0 ? r : 0;
}

static int watch_files(struct upcerts *c, struct err *err)
{
    int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (fd < 0)
        return err_errno(err, ERR_IO, "inotify");
    c->changes = (struct loop_io){.fd = fd, .events = LOOP_READ, .fn = on_changes};
    for (int i = 0; i < PARTS; i++) {
        int r = watch_directory(fd, strbuf_str(&c->paths[i]), err);
        if (r)
            return r;
    }
    return loop_io_add(c->loop, &c->changes, err);
}

static int begin(struct upcerts *c, struct err *err)
{
    int r = read_parts(c, c->pem, err);
    if (r)
        return r;
    c->tls = tls_server_new(strbuf_str(&c->pem[PART_CERT]), strbuf_str(&c->pem[PART_KEY]),
                            strbuf_str(&c->pem[PART_CA]), err);
    if (!c->tls)
        return err->code;
    /* Without it everything works but this. */
    struct err why = ERR_INIT;
    if (watch_files(c, &why))
        log_warn("changes of the certificates will not be noticed", LOG_C("error", why.message));
    arm_renewal(c, 0);
    return 0;
}

struct upcerts *upcerts_new(struct loop *l, const struct upcerts_options *o, struct err *err)
{
    struct upcerts *c = xnew(struct upcerts);
    c->loop = l;
    c->o = *o;
    c->is_own = str_is_empty(o->cert);
    c->changes.fd = -1;
    strbuf_init(&c->dir, 4096);
    strbuf_add_cstr(&c->dir, o->dir);
    set_path(c, PART_CERT, o->cert, "server.crt");
    set_path(c, PART_KEY, c->is_own ? STR_NONE : o->key, "server.key");
    set_path(c, PART_CA, o->client_ca, "ca.crt");
    loop_timer_init(l, &c->settle, on_settled);
    loop_timer_init(l, &c->renew, on_renew);
    c->clock.fn = on_clock_set;
    loop_watch_wall(l, &c->clock);
    if (begin(c, err)) {
        upcerts_free(c);
        return NULL;
    }
    return c;
}

void upcerts_free(struct upcerts *c)
{
    if (!c)
        return;
    loop_timer_cancel(&c->settle);
    loop_timer_cancel(&c->renew);
    loop_unwatch_wall(&c->clock);
    if (c->changes.loop)
        loop_io_remove(&c->changes);
    if (c->changes.fd >= 0)
        (void)close(c->changes.fd);
    if (c->tls)
        tls_server_free(c->tls);
    free_parts(c->pem);
    free_parts(c->paths);
    strbuf_done(&c->dir);
    free(c);
}

void upcerts_look(struct upcerts *c)
{
    look_again(c);
}

struct tls_server *upcerts_tls(struct upcerts *c)
{
    return c->tls;
}

bool upcerts_is_for(const struct upcerts *c, str name, bool is_ip)
{
    return pki_is_for(strbuf_str(&c->pem[PART_CERT]), name, is_ip) ||
           pki_is_for(strbuf_str(&c->o.pki->server.cert_pem), name, is_ip);
}

void upcerts_trust(const struct upcerts *c, struct strbuf *ret)
{
    strbuf_add_str(ret, strbuf_str(&c->o.pki->ca.cert_pem));
    if (!c->is_own)
        strbuf_add_str(ret, strbuf_str(&c->pem[PART_CERT]));
}
