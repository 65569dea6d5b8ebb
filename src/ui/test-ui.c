/* The board as readers follow it, and who gets in, under virtual time; how the server ends, and how
 * a browser is started. */
#include <arpa/inet.h>
#include <glob.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "base/test.h"
#include "ui/board.h"
#include "ui/browser.h"
#include "ui/login.h"
#include "ui/ui.h"

struct fixture {
    struct loop *loop;
    struct board board;
    int values[8];  /* of items "0" to "7", and of all whose names begin so; -1: it is not there */
    size_t padding; /* each has that much in front */
    int made, news;
};

static bool make(void *ctx, str name, struct jw *w, struct arena *a)
{
    struct fixture *f = ctx;
    int value = f->values[name.p[0] - '0'];
    (void)a;
    f->made++;
    for (size_t i = 0; value >= 0 && i < f->padding; i++)
        strbuf_add_char(&w->out, ' ');
    if (value >= 0)
        jw_int(w, value);
    return value >= 0;
}

static void on_news(void *ctx)
{
    ((struct fixture *)ctx)->news++;
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){.loop = loop_new_virtual(1, 1000 * USEC_PER_SEC)};
    board_init(&f->board, f->loop,
               &(struct board_options){.make = make, .on_news = on_news, .ctx = f});
}

static void end(struct fixture *f)
{
    board_done(&f->board);
    loop_free(f->loop);
}

static void run_for(struct fixture *f, usec time)
{
    CHECK(loop_run_until(f->loop, loop_now(f->loop) + time, 100000));
}

static void put(struct fixture *f, char item, int value)
{
    f->values[item - '0'] = value;
    board_touch(&f->board, str_n(&item, 1));
}

/* The next line for the reader, without its end. */
static str next(struct fixture *f, struct board_cursor *c, bool *anew)
{
    static char text[256];
    const struct board_item *it = board_next(&f->board, c, anew);
    if (!it)
        return STR("");
    REQUIRE(it->text->len < sizeof(text));
    memcpy(text, it->text->bytes, it->text->len);
    text[it->text->len - 1] = '\0';
    return str_of(text);
}

TEST(a_reader_gets_each_item_once_as_it_is_by_then)
{
    struct fixture f;
    struct board_cursor c = {0};
    bool anew;
    begin(&f);
    put(&f, '0', 1);
    put(&f, '1', 1);
    run_for(&f, USEC_PER_SEC);
    CHECK_CSTR(next(&f, &c, &anew), "{\"name\":\"0\",\"value\":1}");
    CHECK(anew);
    for (int i = 2; i < 50; i++) {
        put(&f, '0', i);
        run_for(&f, USEC_PER_SEC);
    }
    CHECK_CSTR(next(&f, &c, &anew), "{\"name\":\"1\",\"value\":1}");
    CHECK(!anew);
    CHECK_CSTR(next(&f, &c, &anew), "{\"name\":\"0\",\"value\":49}");
    CHECK_CSTR(next(&f, &c, &anew), "");
    end(&f);
}

TEST(what_is_touched_often_is_made_seldom_and_told_only_when_it_changed)
{
    struct fixture f;
    begin(&f);
    for (int i = 0; i < 1000; i++) {
        put(&f, '0', 7);
        run_for(&f, USEC_PER_MSEC);
    }
    run_for(&f, USEC_PER_SEC);
    CHECK(f.made <= 12);
    CHECK_INT(f.news, 1);
    uint64_t before = loop_iterations(f.loop);
    run_for(&f, 3600 * USEC_PER_SEC);
    CHECK(loop_iterations(f.loop) <= before + 1); /* at rest nothing happens */
    end(&f);
}

TEST(what_is_gone_is_told_to_those_who_knew_it)
{
    struct fixture f;
    struct board_cursor old = {0}, new = {0};
    bool anew;
    begin(&f);
    put(&f, '0', 1);
    put(&f, '1', 2);
    run_for(&f, USEC_PER_SEC);
    (void)next(&f, &old, &anew);
    (void)next(&f, &old, &anew);
    put(&f, '0', -1);
    run_for(&f, USEC_PER_SEC);
    CHECK_CSTR(next(&f, &old, &anew), "{\"name\":\"0\"}");
    CHECK_CSTR(next(&f, &new, &anew), "{\"name\":\"1\",\"value\":2}");
    CHECK_CSTR(next(&f, &new, &anew), "");
    put(&f, '0', 3);
    run_for(&f, USEC_PER_SEC);
    CHECK_CSTR(next(&f, &new, &anew), "{\"name\":\"0\",\"value\":3}");
    board_clear(&f.board);
    CHECK_CSTR(next(&f, &old, &anew), "");
    CHECK(anew);
    end(&f);
}

/* It is there, and a reader that had it does not take it for gone. */
TEST(what_is_too_large_is_told_as_such)
{
    struct fixture f;
    struct board_cursor c = {0};
    bool anew;
    begin(&f);
    put(&f, '0', 1);
    run_for(&f, USEC_PER_SEC);
    (void)next(&f, &c, &anew);
    f.padding = BOARD_MAX_TEXT;
    put(&f, '0', 2);
    run_for(&f, USEC_PER_SEC);
    str large = next(&f, &c, &anew);
    CHECK(str_starts(large, STR("{\"name\":\"0\",\"value\":{\"error\":\"")));
    CHECK(str_ends(large, STR("\"}}")));
    CHECK_INT(f.board.tombs, 0);
    put(&f, '0', 3);
    run_for(&f, USEC_PER_SEC);
    CHECK_CSTR(next(&f, &c, &anew), ""); /* nothing new about it */
    f.padding = 0;
    put(&f, '0', 4);
    run_for(&f, USEC_PER_SEC);
    CHECK_CSTR(next(&f, &c, &anew), "{\"name\":\"0\",\"value\":4}");
    end(&f);
}

TEST(a_new_reader_of_many_items_gets_each_once_in_order)
{
    enum { MANY = 20000 };
    struct fixture f;
    struct board_cursor c = {0};
    const struct board_item *it;
    char name[16];
    uint64_t last = 0;
    size_t n = 0;
    bool anew;
    begin(&f);
    for (int round = 1; round <= 2; round++) {
        f.values[1] = round;
        /* Everything, then every third of them. */
        for (int i = 0; i < MANY; i += round == 1 ? 1 : 3) {
            int len = snprintf(name, sizeof(name), "1/%d", i);
            board_touch(&f.board, str_n(name, (size_t)len));
        }
        run_for(&f, 3600 * USEC_PER_SEC);
    }
    while ((it = board_next(&f.board, &c, &anew))) {
        CHECK(it->number > last);
        CHECK_INT(anew, n == 0);
        last = it->number;
        n++;
    }
    CHECK_INT(n, MANY);
    CHECK_INT(last, f.board.last);
    end(&f);
}

TEST(a_token_works_once_and_a_session_ends_when_it_is_idle)
{
    struct loop *loop = loop_new_virtual(2, 1000 * USEC_PER_SEC);
    struct login l;
    char token[LOGIN_SECRET];
    login_init(&l, loop);
    memcpy(token, login_token(&l), sizeof(token));
    CHECK(!login_redeem(&l, STR("")));
    CHECK(!login_redeem(&l, str_n(token, LOGIN_SECRET - 2)));
    struct login_session *s = login_redeem(&l, str_of(token));
    REQUIRE(s);
    CHECK(!login_redeem(&l, str_of(token)));
    CHECK(!login_find(&l, str_of(token)));
    CHECK(login_find(&l, str_of(s->id)) == s);
    s->streams = 1;
    CHECK(loop_run_until(loop, loop_now(loop) + 2 * LOGIN_IDLE, 1000));
    CHECK(login_find(&l, str_of(s->id)) == s);
    s->streams = 0;
    CHECK(loop_run_until(loop, loop_now(loop) + LOGIN_IDLE + USEC_PER_SEC, 1000));
    char id[LOGIN_SECRET];
    memcpy(id, s->id, sizeof(id));
    CHECK(!login_find(&l, str_of(id)));
    loop_free(loop);
}

TEST(sessions_are_bounded_and_those_that_are_looked_at_stay)
{
    struct loop *loop = loop_new_virtual(3, 1000 * USEC_PER_SEC);
    struct login l;
    login_init(&l, loop);
    for (size_t i = 0; i < LOGIN_MAX_SESSIONS; i++) {
        struct login_session *s = login_redeem(&l, str_of(login_token(&l)));
        REQUIRE(s);
        s->streams = i > 0;
    }
    CHECK(login_redeem(&l, str_of(login_token(&l))) == &l.sessions[0]);
    l.sessions[0].streams = 1;
    CHECK(!login_redeem(&l, str_of(login_token(&l))));
    loop_free(loop);
}

/* ---- the server ---- */

enum { CLIENTS = 4 };

struct client {
    struct loop_io io;
    char got[2048];
    size_t len;
};

static void on_got(struct loop_io *io, unsigned events)
{
    struct client *c = container_of(io, struct client, io);
    ssize_t n = recv(io->fd, c->got + c->len, sizeof(c->got) - 1 - c->len, 0);
    (void)events;
    REQUIRE(n > 0);
    c->len += (size_t)n;
    loop_stop(io->loop, 0);
}

/* Connects to 127.0.0.1:PORT and sends a request with that body; the loop stops when it is
 * answered. */
static void post(struct loop *loop, struct client *c, unsigned port, const char *path,
                 const char *session, const char *body)
{
    struct err err = ERR_INIT;
    struct strbuf text = STRBUF_INIT(4096);
    struct sockaddr_in to = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    *c = (struct client){.io = {.fd = fd, .events = LOOP_READ, .fn = on_got}};
    strbuf_printf(&text,
                  "POST %s HTTP/1.1\r\nhost: 127.0.0.1:%u\r\ngrove-session: %s\r\n"
                  "content-type: application/json\r\ncontent-length: %zu\r\n\r\n%s",
                  path, port, session, strlen(body), body);
    REQUIRE(connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0);
    REQUIRE(send(fd, text.p, text.len, 0) == (ssize_t)text.len);
    REQUIRE(loop_io_add(loop, &c->io, &err) == 0);
    strbuf_done(&text);
}

static void hang_up(struct client *c)
{
    loop_io_remove(&c->io);
    close(c->io.fd);
}

/* The first question is answered (by this very program, which knows no such test), the others wait
 * for it or run. */
TEST(a_server_may_end_while_questions_are_open)
{
    struct err err = ERR_INIT;
    struct loop *loop = loop_new_real(&err);
    struct ui *u = ui_new(loop, &(struct ui_options){0}, &err);
    struct client first, clients[CLIENTS];
    char token[64], body[128], session[64];
    unsigned port;
    REQUIRE(u);
    REQUIRE(sscanf(ui_address(u), "http://127.0.0.1:%u/#%63s", &port, token) == 2);
    (void)snprintf(body, sizeof(body), "{\"token\":\"%s\"}", token);
    post(loop, &first, port, "/api/session", "", body);
    (void)loop_run(loop);
    const char *at = strstr(first.got, "{\"session\":\"");
    REQUIRE(at && sscanf(at, "{\"session\":\"%43s", session) == 1);
    for (size_t i = 0; i < CLIENTS; i++)
        post(loop, &clients[i], port, "/api/ask", session,
             "{\"question\":\"why\",\"kind\":\"pcs\",\"namespace\":\"none\",\"name\":\"none\"}");
    (void)loop_run(loop);
    ui_free(u);
    size_t answered = 0;
    for (size_t i = 0; i < CLIENTS; i++)
        answered += clients[i].len > 0;
    CHECK(answered >= 1 && answered < CLIENTS);
    hang_up(&first);
    for (size_t i = 0; i < CLIENTS; i++)
        hang_up(&clients[i]);
    loop_free(loop);
}

/* ---- the browser ---- */

struct desk {
    struct loop *loop;
    struct loop_timer poll;
    char dir[64], run[80], out[80];
};

/* A program of that name, found before all others. */
static void put_program(const struct desk *d, const char *name, const char *script)
{
    struct err err = ERR_INIT;
    char path[128];
    (void)snprintf(path, sizeof(path), "%s/%s", d->dir, name);
    REQUIRE(file_write(path, str_of(script), 0755, &err) == 0);
}

static void on_poll(struct loop_timer *t)
{
    struct desk *d = container_of(t, struct desk, poll);
    if (access(d->out, F_OK) == 0)
        loop_stop(d->loop, 0);
    else
        loop_timer_set(t, loop_now(d->loop) + 5 * USEC_PER_MSEC);
}

static size_t count_entries(const char *dir)
{
    char pattern[96];
    glob_t found;
    (void)snprintf(pattern, sizeof(pattern), "%s/*", dir);
    int r = glob(pattern, 0, NULL, &found);
    REQUIRE(r == 0 || r == GLOB_NOMATCH);
    size_t n = r == 0 ? found.gl_pathc : 0;
    globfree(&found);
    return n;
}

static void desk_begin(struct desk *d)
{
    struct err err = ERR_INIT;
    *d = (struct desk){.dir = "/tmp/grove-test-ui-XXXXXX"};
    REQUIRE(mkdtemp(d->dir));
    (void)snprintf(d->run, sizeof(d->run), "%s/run", d->dir);
    (void)snprintf(d->out, sizeof(d->out), "%s/out", d->dir);
    REQUIRE(dir_make(d->run, 0700, &err) == 0);
    d->loop = loop_new_real(&err);
    loop_timer_init(d->loop, &d->poll, on_poll);
    char path[512];
    (void)snprintf(path, sizeof(path), "%s:/usr/bin:/bin", d->dir);
    (void)setenv("PATH", path, 1);
    (void)setenv("OUT", d->out, 1);
    (void)setenv("XDG_RUNTIME_DIR", d->run, 1);
    (void)setenv("BROWSER", "some", 1);
}

static void desk_end(struct desk *d)
{
    struct err err = ERR_INIT;
    loop_free(d->loop);
    CHECK(dir_remove(d->dir, &err) == 0);
}

/* The first program fails; the second notes how it was started and stays. */
TEST(a_browser_is_given_a_private_file_and_nobody_waits_for_it)
{
    struct desk d;
    struct browser b;
    struct err err = ERR_INIT;
    struct strbuf out = STRBUF_INIT(8192);
    sigset_t blocked, before;
    desk_begin(&d);
    put_program(&d, "xdg-open", "#!/bin/sh\nexit 3\n");
    put_program(&d, "sensible-browser",
                "#!/bin/sh\n"
                "{ echo \"words $*\"; stat -c 'mode %a' \"$1\"; stat -c 'dir %a' \"${1%/*}\"\n"
                "  while read -r l; do case $l in SigBlk*) echo \"$l\";; esac; done "
                "</proc/$$/status; read -r a a a a group a </proc/$$/stat\n"
                "  [ \"$group\" = $$ ] && echo own group; cat \"$1\"; } >\"$OUT.part\"\n"
                "mv \"$OUT.part\" \"$OUT\"\nexec sleep 30\n");
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGTERM);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    browser_init(&b, d.loop);
    browser_open(&b, "http://127.0.0.1:1/#secret");
    loop_timer_set(&d.poll, loop_now(d.loop));
    (void)loop_run(d.loop);
    sigprocmask(SIG_SETMASK, &before, NULL);
    REQUIRE(file_read(d.out, &out, &err) == 0);
    str words = strbuf_str(&out), line = str_cut(&words, '\n');
    CHECK(str_starts(line, STR("words /tmp/grove-test-ui-")) && str_ends(line, STR(".html")));
    CHECK(str_find(line, STR("secret")) < 0);
    CHECK_CSTR(str_cut(&words, '\n'), "mode 600");
    CHECK_CSTR(str_cut(&words, '\n'), "dir 700");
    CHECK_CSTR(str_cut(&words, '\n'), "SigBlk:\t0000000000000000");
    CHECK_CSTR(str_cut(&words, '\n'), "own group");
    CHECK(str_find(words, STR("url=http://127.0.0.1:1/#secret\"")) >= 0);
    CHECK_INT(count_entries(d.run), 1);
    browser_used(&b, STR("other"));
    CHECK_INT(count_entries(d.run), 1);
    browser_used(&b, STR("secret"));
    CHECK_INT(count_entries(d.run), 0);
    pid_t pid = b.pid;
    REQUIRE(pid > 0);
    browser_done(&b);
    CHECK(kill(pid, SIGKILL) == 0); /* it stayed */
    CHECK(waitpid(pid, NULL, 0) == pid);
    strbuf_done(&out);
    desk_end(&d);
}

TEST(the_file_for_a_browser_is_removed_at_the_end)
{
    struct desk d;
    struct browser b;
    desk_begin(&d);
    put_program(&d, "xdg-open", "#!/bin/sh\nexit 0\n");
    browser_init(&b, d.loop);
    browser_open(&b, "http://127.0.0.1:1/#secret");
    CHECK_INT(count_entries(d.run), 1);
    browser_open(&b, "http://127.0.0.1:1/#other");
    CHECK_INT(count_entries(d.run), 1);
    browser_done(&b);
    CHECK_INT(count_entries(d.run), 0);
    desk_end(&d);
}
