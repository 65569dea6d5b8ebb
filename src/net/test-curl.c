/* The server seen by a client that is not ours: the curl tool, where it is installed. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/test-net-fixture.h"

enum { MAX_ARGS = 24 };

struct curl {
    struct fx f;
    char dir[32];
    char ca[64], cert[64], key[64], url[128];
    struct strbuf out;
    int status;
};

static void write_file(char *path, size_t size, const char *dir, const char *name, str text)
{
    (void)snprintf(path, size, "%s/%s", dir, name);
    FILE *out = fopen(path, "w");
    REQUIRE(out);
    CHECK_INT(fwrite(text.p, 1, text.len, out), text.len);
    (void)fclose(out);
}

static bool curl_init(struct curl *c)
{
    *c = (struct curl){.dir = "/tmp/grove-test-XXXXXX"};
    if (access("/usr/bin/curl", X_OK) != 0) {
        test_skip("curl is not installed");
        return false;
    }
    fx_init(&c->f, FX_TCP_TLS);
    REQUIRE(mkdtemp(c->dir));
    write_file(c->ca, sizeof(c->ca), c->dir, "ca", strbuf_str(&c->f.ca.cert_pem));
    write_file(c->cert, sizeof(c->cert), c->dir, "cert", strbuf_str(&c->f.client_id.cert_pem));
    write_file(c->key, sizeof(c->key), c->dir, "key", strbuf_str(&c->f.client_id.key_pem));
    strbuf_init(&c->out, 64 << 20);
    return true;
}

static void curl_done(struct curl *c)
{
    (void)unlink(c->ca);
    (void)unlink(c->cert);
    (void)unlink(c->key);
    (void)rmdir(c->dir);
    strbuf_done(&c->out);
    fx_done(&c->f);
}

/* The child: only exec and exit. */
static void exec_curl(int out, char *const *argv)
{
    (void)dup2(out, STDOUT_FILENO);
    (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    (void)dup2(open("/dev/null", O_RDONLY), STDIN_FILENO);
    (void)execv("/usr/bin/curl", argv);
    _exit(127);
}

static void read_output(struct curl *c, int fd)
{
    char buf[65536];
    for (ssize_t n; (n = read(fd, buf, sizeof(buf))) > 0;)
        strbuf_add(&c->out, buf, (size_t)n);
}

/* Runs curl against our server while the loop serves it. */
static void curl_run(struct curl *c, const char *path, const char *const *options)
{
    const char *argv[MAX_ARGS] = {"curl", "-s", "--max-time", "20", "--cacert", c->ca};
    size_t n = 6;
    for (; *options; options++)
        argv[n++] = *options;
    (void)snprintf(c->url, sizeof(c->url), "https://%s%s", http_server_address(c->f.server), path);
    argv[n++] = c->url;
    REQUIRE(n < MAX_ARGS);
    strbuf_reset(&c->out);
    int fds[2];
    REQUIRE(pipe2(fds, O_CLOEXEC) == 0 && fcntl(fds[0], F_SETFL, O_NONBLOCK) == 0);
    pid_t pid = fork();
    if (pid == 0)
        exec_curl(fds[1], (char *const *)argv);
    (void)close(fds[1]);
    pid_t done = 0;
    for (int i = 0; i < 30000 && done == 0; i++) {
        fx_step(&c->f);
        read_output(c, fds[0]);
        done = waitpid(pid, &c->status, WNOHANG);
    }
    if (done == 0) {
        (void)kill(pid, SIGKILL);
        (void)waitpid(pid, &c->status, 0);
    }
    read_output(c, fds[0]);
    (void)close(fds[0]);
    CHECK_INT(done, pid);
}

#define OPTIONS(...) ((const char *const[]){__VA_ARGS__, NULL})

static bool curl_has(const struct curl *c, const char *text)
{
    return str_find(strbuf_str(&c->out), str_of(text)) >= 0;
}

TEST(curl_gets_replies_over_http_1_1)
{
    struct curl c;
    if (!curl_init(&c))
        return;
    fx_start(&c.f);
    curl_run(&c, "/hello", OPTIONS("-i", "--http1.1"));
    CHECK_INT(c.status, 0);
    CHECK(str_starts(strbuf_str(&c.out), STR("HTTP/1.1 200 OK\r\n")));
    CHECK(str_ends(strbuf_str(&c.out), STR("\r\n\r\nhello")));
    /* Asks for HTTP/2 and falls back when the server does not have it. */
    tls_server_offer(c.f.tls_server, TLS_OFFER_H1);
    curl_run(&c, "/hello", OPTIONS("-i", "--http2"));
    CHECK(str_starts(strbuf_str(&c.out), STR("HTTP/1.1 200 OK\r\n")));
    tls_server_offer(c.f.tls_server, TLS_OFFER_ANY);
    curl_run(&c, "/hello", OPTIONS("-i"));
    CHECK(str_starts(strbuf_str(&c.out), STR("HTTP/2 200 \r\n")));
    curl_run(&c, "/hello", OPTIONS("--http1.0"));
    CHECK_STR(strbuf_str(&c.out), STR("hello"));
    curl_run(&c, "/hello", OPTIONS("--tls-max", "1.2"));
    CHECK_STR(strbuf_str(&c.out), STR("hello"));
    curl_run(&c, "/hello", OPTIONS("--head"));
    CHECK(curl_has(&c, "\r\ncontent-length: 5\r\n"));
    curl_run(&c, "/hello", OPTIONS("--tls-max", "1.1"));
    CHECK(c.status != 0);
    curl_done(&c);
}

TEST(curl_sends_bodies_of_every_kind)
{
    struct curl c;
    if (!curl_init(&c))
        return;
    fx_start(&c.f);
    curl_run(&c, "/echo", OPTIONS("-d", "some text"));
    CHECK_STR(strbuf_str(&c.out), STR("some text"));
    curl_run(&c, "/echo",
             OPTIONS("-d", "some text", "-H", "Transfer-Encoding: chunked", "--http1.1"));
    CHECK_STR(strbuf_str(&c.out), STR("some text"));
    curl_run(&c, "/echo",
             OPTIONS("-d", "some text", "-H", "Expect: 100-continue", "-i", "--http1.1"));
    CHECK(curl_has(&c, "HTTP/1.1 100 Continue\r\n\r\n"));
    CHECK(str_ends(strbuf_str(&c.out), STR("\r\n\r\nsome text")));
    curl_done(&c);
}

TEST(curl_speaks_http_2)
{
    struct curl c;
    if (!curl_init(&c))
        return;
    c.f.big = 5 << 20;
    fx_start(&c.f);
    curl_run(&c, "/echo", OPTIONS("--http2", "-i", "-d", "some text"));
    CHECK(str_starts(strbuf_str(&c.out), STR("HTTP/2 201 \r\n")));
    CHECK(str_ends(strbuf_str(&c.out), STR("\r\n\r\nsome text")));
    curl_run(&c, "/hello", OPTIONS("--http2", "--head"));
    CHECK(curl_has(&c, "\r\ncontent-length: 5\r\n"));
    curl_run(&c, "/nothing", OPTIONS("--http2", "-i"));
    CHECK(str_starts(strbuf_str(&c.out), STR("HTTP/2 204 \r\n")));
    curl_run(&c, "/big", OPTIONS("--http2", "-f"));
    CHECK_INT(c.status, 0);
    CHECK_INT(c.out.len, (5 << 20) + 10);
    curl_run(&c, "/big", OPTIONS("--http2", "-f", "--compressed", "-w", "%{size_download}"));
    CHECK_INT(c.status, 0);
    CHECK(c.out.len > (5 << 20) + 10 && str_starts(strbuf_str(&c.out), STR("aaaa")));
    CHECK_INT(c.f.n_aborted, 0);
    curl_done(&c);
}

TEST(curl_keeps_its_connection)
{
    struct curl c;
    if (!curl_init(&c))
        return;
    c.f.limits.max_connections = 1;
    fx_start(&c.f);
    char again[128];
    (void)snprintf(again, sizeof(again), "https://%s/echo", http_server_address(c.f.server));
    curl_run(&c, "/hello", OPTIONS("-w", "%{num_connects}", again));
    CHECK_STR(strbuf_str(&c.out), STR("1hello0"));
    CHECK_INT(c.f.n_requests, 2);
    curl_done(&c);
}

TEST(curl_reads_a_large_reply)
{
    struct curl c;
    if (!curl_init(&c))
        return;
    c.f.big = 10 << 20;
    fx_start(&c.f);
    curl_run(&c, "/big", OPTIONS("-f"));
    CHECK_INT(c.status, 0);
    CHECK_INT(c.out.len, (10 << 20) + 10);
    curl_done(&c);
}

TEST(curl_shows_its_certificate)
{
    struct curl c;
    if (!curl_init(&c))
        return;
    fx_start(&c.f);
    curl_run(&c, "/hello", OPTIONS("--cert", c.cert, "--key", c.key));
    CHECK_STR(strbuf_str(&c.out), STR("hello"));
    CHECK_STR(strbuf_str(&c.f.who), STR("alice/system:masters/team"));
    curl_done(&c);
}
