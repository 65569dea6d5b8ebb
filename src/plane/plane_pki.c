/*
 * One CA per state directory, made at the first start and kept, so that a kubeconfig stays good
 * over restarts. Server and administrator certificates are renewed when a twelfth of their life is
 * left, which is a month of a year: at a start, and while it runs. The CA lives ten times as long
 * as they do and gets a new certificate, with its old key, before one that it signs could outlive
 * it: who trusts the old certificate has until its end to learn of the new one. The server's is
 * made anew as well when the server has other names (server_names.h).
 */
#include "plane/plane_pki.h"

#include <sys/stat.h>

#include "base/b64.h"
#include "base/file.h"
#include "kube/token.h"

#define CERT_LIFETIME (365 * USEC_PER_DAY)
#define CA_LIFETIMES 10

enum { MAX_PEM = 64 << 10 };

static int read_part(const char *dir, const char *name, const char *ext, struct strbuf *out)
{
    struct strbuf path = STRBUF_INIT(4096);
    strbuf_printf(&path, "%s/%s.%s", dir, name, ext);
    int r = plane_pki_read(path.overflow ? "" : path.p, out, NULL);
    strbuf_done(&path);
    return r;
}

int plane_pki_read(const char *path, struct strbuf *ret, struct err *err)
{
    strbuf_init(ret, MAX_PEM);
    return file_read(path, ret, err);
}

/* What cannot be read has no time left. */
static usec end_of(const struct pki_identity *id)
{
    usec end = 0;
    (void)pki_not_after(strbuf_str(&id->cert_pem), &end, NULL);
    return end;
}

static usec renew_before(const struct plane_pki *p)
{
    return p->lifetime / 12;
}

/* At least `left` must be left of it. */
static bool load(const char *dir, const char *name, usec now, usec left, struct pki_identity *id)
{
    usec end;
    if (read_part(dir, name, "crt", &id->cert_pem) == 0 &&
        read_part(dir, name, "key", &id->key_pem) == 0 &&
        pki_not_after(strbuf_str(&id->cert_pem), &end, NULL) == 0 && end - now > left)
        return true;
    pki_identity_done(id);
    *id = (struct pki_identity){0};
    return false;
}

static int save(const char *dir, const char *name, const struct pki_identity *id, struct err *err)
{
    struct strbuf path = STRBUF_INIT(4096);
    strbuf_printf(&path, "%s/%s.key", dir, name);
    int r = file_write(path.p, strbuf_str(&id->key_pem), 0600, err);
    strbuf_reset(&path);
    strbuf_printf(&path, "%s/%s.crt", dir, name);
    if (r == 0)
        r = file_write(path.p, strbuf_str(&id->cert_pem), 0644, err);
    strbuf_done(&path);
    return r;
}

/* Tokens stay good over restarts because their key does. */
static int open_sa_key(const char *dir, struct strbuf *ret, struct err *err)
{
    if (read_part(dir, "sa", "key", ret) == 0)
        return 0;
    strbuf_done(ret);
    struct strbuf path = STRBUF_INIT(4096);
    strbuf_printf(&path, "%s/sa.key", dir);
    int r = token_key_make(ret, err);
    if (r == 0)
        r = file_write(path.p, strbuf_str(ret), 0600, err);
    strbuf_done(&path);
    return r;
}

static int make_ca(struct plane_pki *p, const char *dir, usec now, struct err *err)
{
    int r = pki_make_ca("grove", now, CA_LIFETIMES * p->lifetime, &p->ca, err);
    return r ? r : save(dir, "ca", &p->ca, err);
}

/* The first certificate is kept: it was given to others when it was opened. */
static int renew_ca(struct plane_pki *p, const char *dir, usec now, struct err *err)
{
    struct pki_identity id = {0};
    int r = pki_renew_ca(&p->ca, now, CA_LIFETIMES * p->lifetime, &id, err);
    if (r == 0)
        r = save(dir, "ca", &id, err);
    if (r) {
        pki_identity_done(&id);
        return r;
    }
    if (p->first_ca.cert_pem.len)
        pki_identity_done(&p->ca);
    else
        p->first_ca = p->ca;
    p->ca = id;
    return 0;
}

static int make_server(struct plane_pki *p, const char *dir, usec now, struct err *err)
{
    struct pki_identity id = {0};
    int r = pki_issue(&p->ca, "grove-apiserver", NULL, p->names.p, now, p->lifetime, &id, err);
    if (r == 0)
        r = save(dir, "server", &id, err);
    pki_identity_done(r ? &id : &p->server);
    if (r == 0)
        p->server = id;
    return r;
}

static int make_admin(struct plane_pki *p, const char *dir, usec now, struct err *err)
{
    static const char *const masters[] = {"system:masters", NULL};
    struct pki_identity id = {0};
    int r = pki_issue(&p->ca, "admin", masters, NULL, now, p->lifetime, &id, err);
    if (r == 0)
        r = save(dir, "admin", &id, err);
    pki_identity_done(r ? &id : &p->admin);
    if (r == 0)
        p->admin = id;
    return r;
}

/* Who asks nodes for logs; what that allows is the role system:kubelet-api-admin. */
static int make_kubelet_client(struct plane_pki *p, const char *dir, usec now, struct err *err)
{
    static const char *const groups[] = {"grove:kubelet-clients", NULL};
    struct pki_identity id = {0};
    int r = pki_issue(&p->ca, "kube-apiserver-kubelet-client", groups, NULL, now, p->lifetime, &id,
                      err);
    if (r == 0)
        r = save(dir, "kubelet-client", &id, err);
    pki_identity_done(r ? &id : &p->kubelet_client);
    if (r == 0)
        p->kubelet_client = id;
    return r;
}

static void set_names(struct plane_pki *p, str names)
{
    strbuf_done(&p->names);
    strbuf_init(&p->names, MAX_PEM);
    strbuf_add_str(&p->names, names);
}

int plane_pki_open(const char *dir, usec now, usec lifetime, str names, struct plane_pki *ret,
                   struct err *err)
{
    *ret = (struct plane_pki){.lifetime = lifetime ? lifetime : CERT_LIFETIME};
    set_names(ret, names);
    usec left = renew_before(ret);
    int r = dir_make(dir, 0700, err);
    bool fresh_ca = r == 0 && !load(dir, "ca", now, 0, &ret->ca);
    if (fresh_ca)
        r = make_ca(ret, dir, now, err);
    if (r == 0 && end_of(&ret->ca) - now <= ret->lifetime)
        r = renew_ca(ret, dir, now, err);
    if (r == 0 && (fresh_ca || !load(dir, "server", now, left, &ret->server) ||
                   !pki_has_names(strbuf_str(&ret->server.cert_pem), ret->names.p)))
        r = make_server(ret, dir, now, err);
    if (r == 0 && (fresh_ca || !load(dir, "admin", now, left, &ret->admin)))
        r = make_admin(ret, dir, now, err);
    if (r == 0 && (fresh_ca || !load(dir, "kubelet-client", now, left, &ret->kubelet_client)))
        r = make_kubelet_client(ret, dir, now, err);
    if (r == 0)
        r = open_sa_key(dir, &ret->sa_key, err);
    if (r)
        plane_pki_done(ret);
    return r;
}

usec plane_pki_renewal(const struct plane_pki *p)
{
    usec leaf = MIN(end_of(&p->server), end_of(&p->admin));
    leaf = MIN(leaf, end_of(&p->kubelet_client)) - renew_before(p);
    usec ca = end_of(&p->ca) - p->lifetime;
    return MIN(leaf, ca);
}

/* With the CA's certificate all are made anew: their times then run together. */
int plane_pki_renew(struct plane_pki *p, const char *dir, usec now, struct err *err)
{
    usec left = renew_before(p);
    bool all = end_of(&p->ca) - now <= p->lifetime;
    int r = all ? renew_ca(p, dir, now, err) : 0;
    if (r == 0 && (all || end_of(&p->server) - now <= left))
        r = make_server(p, dir, now, err);
    if (r == 0 && (all || end_of(&p->admin) - now <= left))
        r = make_admin(p, dir, now, err);
    if (r == 0 && (all || end_of(&p->kubelet_client) - now <= left))
        r = make_kubelet_client(p, dir, now, err);
    return r;
}

int plane_pki_rename(struct plane_pki *p, const char *dir, usec now, str names, struct err *err)
{
    if (str_eq(strbuf_str(&p->names), names))
        return 0;
    set_names(p, names);
    int r = make_server(p, dir, now, err);
    return r ? r : 1;
}

void plane_pki_done(struct plane_pki *p)
{
    pki_identity_done(&p->ca);
    pki_identity_done(&p->first_ca);
    pki_identity_done(&p->server);
    pki_identity_done(&p->admin);
    pki_identity_done(&p->kubelet_client);
    strbuf_done(&p->sa_key);
    strbuf_done(&p->names);
    *p = (struct plane_pki){0};
}

static void put_b64(struct strbuf *out, const char *key, const struct strbuf *pem)
{
    strbuf_printf(out, "    %s: ", key);
    b64_encode(strbuf_str(pem), B64_STD, out);
    strbuf_add_char(out, '\n');
}

/* A file that is as it should be is left alone: there may be no room to write it again. */
static bool is_same(const char *path, const struct strbuf *want)
{
    struct strbuf text = STRBUF_INIT(256 << 10);
    struct stat st;
    bool same = stat(path, &st) == 0 && (st.st_mode & 0777) == 0600 &&
                file_read(path, &text, NULL) == 0 && str_eq(strbuf_str(&text), strbuf_str(want));
    strbuf_done(&text);
    return same;
}

int plane_pki_kubeconfig(const struct plane_pki *p, const struct strbuf *trust_pem,
                         const char *address, const char *path, struct err *err)
{
    struct strbuf out = STRBUF_INIT(256 << 10);
    strbuf_add_cstr(&out, "apiVersion: v1\nkind: Config\ncurrent-context: grove\nclusters:\n"
                          "- name: grove\n  cluster:\n");
    strbuf_printf(&out, "    server: https://%s\n", address);
    put_b64(&out, "certificate-authority-data", trust_pem);
    strbuf_add_cstr(&out, "users:\n- name: grove-admin\n  user:\n");
    put_b64(&out, "client-certificate-data", &p->admin.cert_pem);
    put_b64(&out, "client-key-data", &p->admin.key_pem);
    strbuf_add_cstr(&out, "contexts:\n- name: grove\n  context:\n    cluster: grove\n"
                          "    user: grove-admin\n    namespace: default\n");
    int r = is_same(path, &out) ? 0 : file_write(path, strbuf_str(&out), 0600, err);
    strbuf_done(&out);
    return r;
}
