/* See up.h. Nothing here decides anything about clusters: it only puts the parts together and
 * prints how to reach them. */
#include "plane/up.h"

#include <ctype.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include "apiserver/front/front.h"
#include "base/file.h"
#include "base/log.h"
#include "client/instance.h"
#include "client/journal.h"
#include "kube/token.h"
#include "node/agent/agent.h"
#include "plane/plane_pki.h"
#include "plane/server_names.h"
#include "plane/upcerts.h"
#include "json/yaml.h"

struct up {
    struct loop *loop;
    struct strbuf dir, kubeconfig, pki_dir;
    struct strbuf advertised;
    str listen; /* as it was asked for */
    str *tls_san;
    size_t n_tls_san;
    struct machine_watch *machine;
    bool temporary;
    struct plane_pki pki;
    struct upcerts *certs;
    struct token_key *token_key;
    struct journal *journal;
    struct plane *plane;
    struct front *front;
    struct agent *agent;
    struct agent_options agent_options;
    struct strbuf agent_dir, agent_name;
    void (*on_ready)(void *ctx, const struct err *err);
    void (*on_kubeconfig)(void *ctx);
    void *ctx;
    bool is_ready;
    bool over; /* it could not be put together, or is being freed */
};

/* ---- start ---- */

static int open_dir(struct up *u, const struct up_options *o, struct err *err)
{
    strbuf_init(&u->dir, 4096);
    if (!str_is_empty(o->data)) {
        strbuf_add_str(&u->dir, o->data);
        return dir_make(u->dir.p, 0700, err);
    }
    const char *temp = getenv("TMPDIR");
    strbuf_printf(&u->dir, "%s/grove-XXXXXX", temp && *temp ? temp : "/tmp");
    if (!mkdtemp(u->dir.p))
        return err_errno(err, ERR_IO, "cannot make a temporary directory %s", u->dir.p);
    u->temporary = true;
    return 0;
}

static int write_kubeconfig(struct up *u, struct err *err)
{
    struct strbuf trust = STRBUF_INIT(256 << 10);
    upcerts_trust(u->certs, &trust);
    int r = plane_pki_kubeconfig(&u->pki, &trust, u->advertised.p, u->kubeconfig.p, err);
    strbuf_done(&trust);
    return r;
}

static int show_to_kubelets(struct up *u, struct err *err)
{
    return front_set_kubelet_client(u->front, strbuf_str(&u->pki.ca.cert_pem),
                                    strbuf_str(&u->pki.kubelet_client.cert_pem),
                                    strbuf_str(&u->pki.kubelet_client.key_pem), err);
}

static void on_new_certs(void *ctx)
{
    struct err err = ERR_INIT;
    struct up *u = ctx;
    if (u->front && show_to_kubelets(u, &err))
        log_warn("kubelets are shown an old certificate", LOG_C("error", err.message));
    if (u->is_ready && write_kubeconfig(u, &err))
        log_warn("the kubeconfig cannot be written", LOG_C("error", err.message));
    else if (u->is_ready && u->on_kubeconfig)
        u->on_kubeconfig(u->ctx);
    if (u->plane)
        plane_set_ca(u->plane, strbuf_str(&u->pki.ca.cert_pem));
}

/* Keeps what the names are made of. */
static int check_names(struct up *u, const struct up_options *o, struct err *err)
{
    u->listen = str_of(str_dup(o->listen));
    u->tls_san = xcalloc(o->n_tls_san + 1, sizeof(str));
    for (size_t i = 0; i < o->n_tls_san; i++) {
        const char *fault = server_name_fault(o->tls_san[i]);
        if (fault)
            return err_set(err, ERR_USAGE, "--tls-san %.*s: %s", STR_ARG(o->tls_san[i]), fault);
        u->tls_san[u->n_tls_san++] = str_of(str_dup(o->tls_san[i]));
    }
    if (o->n_tls_san && o->tls_cert.len)
        return err_set(err, ERR_USAGE,
                       "--tls-san is for the certificate that grove makes; the names of the one "
                       "given by --tls-cert-file are in that already");
    return 0;
}

/* The machine has other addresses: the certificate is made for them, and found at them. */
static void on_machine(void *ctx)
{
    struct up *u = ctx;
    struct arena a = ARENA_INIT;
    struct err err = ERR_INIT;
    struct machine m;
    machine_look(&a, &m);
    str names = server_names(&a, &m, u->listen, u->tls_san, u->n_tls_san);
    str at = server_advertised(&a, &m, str_of(front_address(u->front)));
    int r = plane_pki_rename(&u->pki, u->pki_dir.p, loop_wall(u->loop), names, &err);
    if (r < 0)
        log_warn("no certificate for the addresses of this machine", LOG_C("error", err.message));
    strbuf_reset(&u->advertised);
    strbuf_add_str(&u->advertised, at);
    plane_set_advertised(u->plane, at);
    if (r == 1)
        log_info("this machine has other addresses", LOG_S("names", names));
    upcerts_look(u->certs);
    on_new_certs(u);
    arena_done(&a);
}

static int open_certs(struct up *u, const struct up_options *o, struct err *err)
{
    struct strbuf dir = STRBUF_INIT(4096);
    struct arena a = ARENA_INIT;
    struct machine m;
    strbuf_printf(&dir, "%s/pki", u->dir.p);
    strbuf_init(&u->pki_dir, 4096);
    strbuf_add_str(&u->pki_dir, strbuf_str(&dir));
    int r = check_names(u, o, err);
    if (r == 0) {
        machine_look(&a, &m);
        r = plane_pki_open(dir.p, loop_wall(u->loop), o->cert_lifetime,
                           server_names(&a, &m, o->listen, u->tls_san, u->n_tls_san), &u->pki, err);
    }
    arena_done(&a);
    struct upcerts_options co = {.dir = dir.p,
                                 .cert = o->tls_cert,
                                 .key = o->tls_key,
                                 .client_ca = o->client_ca,
                                 .pki = &u->pki,
                                 .on_new = on_new_certs,
                                 .ctx = u};
    if (r == 0) {
        u->certs = upcerts_new(u->loop, &co, err);
        r = u->certs ? 0 : err->code;
    }
    strbuf_done(&dir);
    return r;
}

/* Written by this program, perhaps by kubectl since: it names nothing but ours. */
static bool is_own_kubeconfig(str text)
{
    struct err err = ERR_INIT;
    struct doc *d = yaml_parse_one(text, &err);
    jval root = d ? doc_root(d) : JVAL_ABSENT, clusters = jgetc(root, "clusters");
    jval users = jgetc(root, "users");
    bool own = jlen(clusters) == 1 && jlen(users) == 1 &&
               str_is(jstr(jgetc(jat(clusters, 0), "name")), "grove") &&
               str_is(jstr(jgetc(jat(users, 0), "name")), "grove-admin");
    doc_unref(d);
    return own;
}

/* What somebody else wrote is not lost to a slip of the hand. */
static int check_kubeconfig(const char *path, struct err *err)
{
    struct strbuf text = STRBUF_INIT(1 << 20);
    struct err unread = ERR_INIT;
    int r = 0;
    if (access(path, F_OK) == 0 && (file_read(path, &text, &unread) ||
                                    (text.len > 0 && !is_own_kubeconfig(strbuf_str(&text)))))
        r = err_set(err, ERR_EXISTS,
                    "%s is there and is no kubeconfig of grove's: name another file with "
                    "--kubeconfig, or move it away",
                    path);
    strbuf_done(&text);
    return r;
}

static int open_keys(struct up *u, const struct up_options *o, struct err *err)
{
    int r = open_certs(u, o, err);
    strbuf_init(&u->kubeconfig, 4096);
    if (str_is_empty(o->kubeconfig))
        strbuf_printf(&u->kubeconfig, "%s/kubeconfig", u->dir.p);
    else
        strbuf_add_str(&u->kubeconfig, o->kubeconfig);
    r = r ? r : check_kubeconfig(u->kubeconfig.p, err);
    if (r)
        return r;
    u->token_key = token_key_new(strbuf_str(&u->pki.sa_key), err);
    return u->token_key ? 0 : err->code;
}

static void on_plane_ready(void *ctx, const struct err *err)
{
    struct up *u = ctx;
    struct err failure = ERR_INIT;
    if (u->over)
        return;
    u->is_ready = true;
    if (!err && write_kubeconfig(u, &failure))
        err = &failure;
    if (!err)
        front_set_ready(u->front, true);
    u->on_ready(u->ctx, err);
}

/* Logs are passed on to it, as to a kubelet. Its certificate is made anew with each start. */
static int serve_agent(struct up *u, struct err *err)
{
    struct pki_identity id = {0};
    struct strbuf name = STRBUF_INIT(512);
    static const char *const groups[] = {"system:nodes", NULL};
    strbuf_printf(&name, "system:node:%.*s", STR_ARG(u->agent_options.name));
    int r = pki_issue(&u->pki.ca, name.p, groups, "IP:127.0.0.1", loop_wall(u->loop),
                      10 * 365 * USEC_PER_DAY, &id, err);
    r = r ? r : agent_serve(u->agent, &id, strbuf_str(&u->pki.ca.cert_pem), err);
    pki_identity_done(&id);
    strbuf_done(&name);
    return r;
}

/* This machine as a node: named after it, with the state of its pods beside the store. */
static int open_agent(struct up *u, const struct up_options *o, struct err *err)
{
    char host[256] = "local", path[PATH_MAX];
    strbuf_init(&u->agent_dir, 4096);
    strbuf_init(&u->agent_name, 256);
    if (!o->local)
        return 0;
    if (geteuid() != 0)
        return err_set(err, ERR_USAGE,
                       "--local: pods as processes need the rights of root at present (namespaces, "
                       "mounts and users of their own); run it with sudo");
    if (gethostname(host, sizeof(host) - 1) == 0)
        host[sizeof(host) - 1] = 0;
    for (const char *c = host; *c; c++)
        strbuf_add_char(&u->agent_name, (char)tolower((unsigned char)*c));
    if (!realpath(u->dir.p, path))
        return err_errno(err, ERR_IO, "cannot find %s", u->dir.p);
    strbuf_printf(&u->agent_dir, "%s/node", path);
    u->agent_options = (struct agent_options){
        .name = strbuf_str(&u->agent_name),
        .dir = u->agent_dir.p,
        .hide = str_sub(strbuf_str(&u->agent_dir), 0, strlen(path)),
        .address = STR("127.0.0.1"),
        .gpus = o->local_gpus,
        .all = o->local_all,
        .privileged = o->local_privileged,
        .temporary = u->temporary,
    };
    u->agent = agent_new(u->loop, &u->agent_options, err);
    return u->agent ? serve_agent(u, err) : err->code;
}

static bool is_server(void *ctx, str name, bool is_ip)
{
    const struct up *u = ctx;
    return upcerts_is_for(u->certs, name, is_ip);
}

static int open_plane(struct up *u, const struct up_options *o, struct err *err)
{
    struct strbuf dir = STRBUF_INIT(4096);
    strbuf_printf(&dir, "%s/store", u->dir.p);
    int r = dir_make(dir.p, 0700, err);
    if (r == 0) {
        struct plane_options po = {.data_dir = dir.p,
                                   .definitions = true,
                                   .token_volumes = true,
                                   .object_memory = o->object_memory,
                                   .nodes = o->nodes,
                                   .agent = u->agent,
                                   .without = o->without,
                                   .config = o->config,
                                   .initc_image = o->initc_image,
                                   .ca_pem = strbuf_str(&u->pki.ca.cert_pem),
                                   .ca = &u->pki.ca,
                                   .is_server = is_server,
                                   .is_server_ctx = u,
                                   .token_key = u->token_key,
                                   .kept = u->journal};
        u->plane = plane_new(u->loop, &po, on_plane_ready, u, err);
        r = u->plane ? 0 : err->code;
    }
    strbuf_done(&dir);
    return r;
}

/* A connection needs a descriptor each; many systems begin with few and allow more. */
static void allow_descriptors(void)
{
    struct rlimit r;
    if (getrlimit(RLIMIT_NOFILE, &r) != 0 || r.rlim_cur >= r.rlim_max)
        return;
    r.rlim_cur = MIN(r.rlim_max, (rlim_t)65536);
    (void)setrlimit(RLIMIT_NOFILE, &r);
}

/* Somebody has the address: another of ours, or anything. */
static int say_who_listens(str address, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct instance *list;
    size_t n = instance_list(&a, &list), i = 0;
    while (i < n && !str_eq(list[i].address, address))
        i++;
    if (i < n)
        (void)err_set(err, ERR_UNAVAILABLE,
                      "grove runs at %.*s already: export KUBECONFIG=%.*s; or stop it with `grove "
                      "down`, or choose another place with --listen ADDR:PORT",
                      STR_ARG(address), STR_ARG(list[i].kubeconfig));
    else
        (void)err_set(err, ERR_UNAVAILABLE,
                      "something listens at %.*s already; choose another place with --listen "
                      "ADDR:PORT (port 0 picks a free one)",
                      STR_ARG(address));
    arena_done(&a);
    return ERR_UNAVAILABLE;
}

/* Which address others use; while it runs, if that can change. */
static void advertise(struct up *u)
{
    struct arena a = ARENA_INIT;
    struct machine m;
    str bound = str_of(front_address(u->front));
    machine_look(&a, &m);
    str at = server_advertised(&a, &m, bound);
    strbuf_init(&u->advertised, 256);
    strbuf_add_str(&u->advertised, at);
    plane_set_advertised(u->plane, at);
    if (!str_eq(at, bound))
        u->machine = machine_watch_new(u->loop, on_machine, u);
    arena_done(&a);
}

static int open_front(struct up *u, const struct up_options *o, struct err *err)
{
    char *listen = str_dup(o->listen);
    allow_descriptors();
    struct front_options fo = {.listen = listen,
                               .tls = upcerts_tls(u->certs),
                               .limits = o->limits,
                               .journal = u->journal,
                               .sa_key = strbuf_str(&u->pki.sa_key)};
    u->front = front_new(plane_server(u->plane), &fo, err);
    free(listen);
    if (!u->front && str_find(str_of(err->message), STR("in use")) >= 0)
        return say_who_listens(o->listen, err);
    /* What cannot be an address is a mistake of the command line. */
    if (!u->front && err->code == ERR_INVALID)
        err->code = ERR_USAGE;
    if (!u->front)
        return err_wrap(err, "--listen");
    advertise(u);
    return show_to_kubelets(u, err);
}

struct up *up_new(struct loop *l, const struct up_options *o,
                  void (*on_ready)(void *ctx, const struct err *err), void *ctx, struct err *err)
{
    struct up *u = xnew(struct up);
    u->loop = l;
    u->on_ready = on_ready;
    u->on_kubeconfig = o->on_kubeconfig;
    u->ctx = ctx;
    u->journal = journal_new(JOURNAL_MAX_BYTES);
    if (open_dir(u, o, err) || open_keys(u, o, err) || open_agent(u, o, err) ||
        open_plane(u, o, err) || open_front(u, o, err)) {
        up_free(u);
        return NULL;
    }
    return u;
}

const char *up_address(const struct up *u)
{
    return front_address(u->front);
}

const char *up_advertised(const struct up *u)
{
    return u->advertised.p;
}

const char *up_dir(const struct up *u)
{
    return u->dir.p;
}

struct store *up_store(const struct up *u)
{
    return apiserver_store(plane_server(u->plane));
}

struct api *up_admin(const struct up *u)
{
    return plane_admin(u->plane);
}

const char *up_kubeconfig(const struct up *u)
{
    return u->kubeconfig.p;
}

void up_stop(struct up *u, void (*done)(void *ctx), void *ctx)
{
    front_shutdown(u->front, 2 * USEC_PER_SEC, done, ctx);
}

void up_free(struct up *u)
{
    struct err err = ERR_INIT;
    if (!u)
        return;
    u->over = true;
    machine_watch_free(u->machine);
    if (u->front)
        front_free(u->front);
    plane_free(u->plane);
    agent_free(u->agent);
    strbuf_done(&u->agent_dir);
    strbuf_done(&u->agent_name);
    journal_free(u->journal);
    token_key_free(u->token_key);
    upcerts_free(u->certs);
    plane_pki_done(&u->pki);
    if (u->temporary && dir_remove(u->dir.p, &err))
        log_warn("temporary state stays", LOG_C("error", err.message));
    strbuf_done(&u->dir);
    strbuf_done(&u->kubeconfig);
    strbuf_done(&u->pki_dir);
    strbuf_done(&u->advertised);
    for (size_t i = 0; i < u->n_tls_san; i++)
        free((char *)u->tls_san[i].p);
    free(u->tls_san);
    free((char *)u->listen.p);
    free(u);
}
