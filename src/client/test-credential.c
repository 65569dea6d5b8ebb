/* Who we are, while it changes: token files that are replaced, plug-ins that expire, fail, hang.
 * The plug-in is a shell script, run for real on the worker of a real loop. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "base/test.h"
#include "client/credential.h"
#include "client/plugin.h"

struct rig {
    struct arena arena;
    struct loop *loop;
    struct kubeconfig k;
    struct credential *c;
    unsigned ready;
    struct err err;
    char dir[64];
    struct loop_timer late;
    bool is_late;
};

static void on_ready(void *ctx, const struct err *err)
{
    struct rig *r = ctx;
    r->ready++;
    r->err = err ? *err : ERR_INIT;
    if (!loop_is_virtual(r->loop))
        loop_stop(r->loop, 0);
}

static void on_late(struct loop_timer *t)
{
    struct rig *r = container_of(t, struct rig, late);
    r->is_late = true;
    loop_stop(r->loop, 0);
}

static void rig_init(struct rig *r, bool virtual)
{
    *r = (struct rig){.dir = "/tmp/grove-credential-XXXXXX"};
    REQUIRE(mkdtemp(r->dir));
    log_set_level(LOG_LEVEL_OFF);
    r->loop = virtual ? loop_new_virtual(1, 1767225600 * USEC_PER_SEC) : loop_new_real(NULL);
    REQUIRE(r->loop);
    loop_timer_init(r->loop, &r->late, on_late);
    r->k.user = STR("ann");
    r->k.file = STR("config");
}

static void rig_open(struct rig *r)
{
    r->c = credential_new(r->loop, &r->k, on_ready, r);
}

static void rig_done(struct rig *r)
{
    credential_free(r->c);
    loop_timer_cancel(&r->late);
    loop_free(r->loop);
    CHECK_INT(dir_remove(r->dir, NULL), 0);
    arena_done(&r->arena);
}

static const char *put(struct rig *r, const char *name, const char *text)
{
    const char *p = arena_printf(&r->arena, "%s/%s", r->dir, name).p;
    REQUIRE(file_write(p, str_of(text), 0700, NULL) == 0);
    return p;
}

/* Asks and waits for the answer. */
static void refresh(struct rig *r)
{
    unsigned before = r->ready;
    credential_refresh(r->c);
    if (loop_is_virtual(r->loop)) {
        for (int i = 0; i < 1000 && r->ready == before; i++)
            REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + USEC_PER_MSEC, 1000));
    } else {
        loop_timer_set(&r->late, loop_now(r->loop) + 20 * USEC_PER_SEC);
        (void)loop_run(r->loop);
        loop_timer_cancel(&r->late);
    }
    REQUIRE(r->ready == before + 1);
}

static void wait_for(struct rig *r, usec by)
{
    REQUIRE(loop_run_until(r->loop, loop_now(r->loop) + by, 1000));
}

TEST(credential_fixed_ones_are_always_fresh)
{
    struct rig r;
    rig_init(&r, true);
    r.k.token = STR("abc");
    rig_open(&r);
    CHECK(credential_is_fresh(r.c));
    CHECK_CSTR(credential_authorization(r.c), "Bearer abc");
    CHECK(!credential_refused(r.c, credential_generation(r.c)));
    credential_free(r.c);
    r.k.token = STR_NONE;
    r.k.username = STR("Aladdin");
    r.k.password = STR("open sesame");
    rig_open(&r);
    CHECK_CSTR(credential_authorization(r.c), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ=="); /* RFC 7617 */
    credential_free(r.c);
    r.k = (struct kubeconfig){0};
    rig_open(&r);
    CHECK(credential_is_fresh(r.c));
    CHECK_CSTR(credential_authorization(r.c), "");
    rig_done(&r);
}

TEST(credential_token_file_is_read_again_once_a_minute)
{
    struct rig r;
    rig_init(&r, true);
    r.k.token_file = str_of(put(&r, "token", "one\n"));
    rig_open(&r);
    CHECK(!credential_is_fresh(r.c));
    refresh(&r);
    CHECK(credential_is_fresh(r.c));
    CHECK_CSTR(credential_authorization(r.c), "Bearer one");
    put(&r, "token", "two");
    wait_for(&r, 58 * USEC_PER_SEC);
    CHECK(credential_is_fresh(r.c));
    wait_for(&r, 2 * USEC_PER_SEC);
    CHECK(!credential_is_fresh(r.c));
    refresh(&r);
    CHECK_CSTR(credential_authorization(r.c), "Bearer two");
    /* Refused: a newer one may be there already. */
    put(&r, "token", "three");
    wait_for(&r, 10 * USEC_PER_SEC);
    unsigned used = credential_generation(r.c);
    CHECK(credential_refused(r.c, used));
    CHECK(!credential_is_fresh(r.c));
    refresh(&r);
    CHECK_CSTR(credential_authorization(r.c), "Bearer three");
    CHECK(credential_refused(r.c, used)); /* sent before: send again */
    CHECK(!credential_refused(r.c, used + 1));
    rig_done(&r);
}

TEST(credential_token_file_that_goes_away_keeps_the_token)
{
    struct rig r;
    rig_init(&r, true);
    const char *path = put(&r, "token", "one");
    r.k.token_file = str_of(path);
    rig_open(&r);
    refresh(&r);
    REQUIRE(unlink(path) == 0);
    wait_for(&r, 61 * USEC_PER_SEC);
    refresh(&r);
    CHECK_INT(r.err.code, 0);
    CHECK_CSTR(credential_authorization(r.c), "Bearer one");
    CHECK(credential_is_fresh(r.c)); /* for a moment */
    wait_for(&r, USEC_PER_SEC);
    CHECK(!credential_is_fresh(r.c));
    put(&r, "token", "two");
    refresh(&r);
    CHECK_CSTR(credential_authorization(r.c), "Bearer two");
    rig_done(&r);
}

TEST(credential_without_a_token_is_an_error_that_names_the_file)
{
    struct rig r;
    rig_init(&r, true);
    r.k.token_file = STR("/none/token");
    rig_open(&r);
    refresh(&r);
    CHECK_INT(r.err.code, ERR_NOT_FOUND);
    CHECK(str_find(str_of(r.err.message), STR("/none/token")) >= 0);
    CHECK(str_find(str_of(r.err.message), STR("user \"ann\"")) >= 0);
    /* Asked again at once it answers without trying again. */
    unsigned before = r.ready;
    credential_refresh(r.c);
    CHECK_INT(r.ready, before);
    wait_for(&r, 0);
    CHECK_INT(r.ready, before + 1);
    CHECK_INT(r.err.code, ERR_NOT_FOUND);
    rig_done(&r);
}

/* ---- plug-ins ---- */

static void use_script(struct rig *r, const char *body)
{
    const char *text = arena_printf(&r->arena, "#!/bin/sh\n%s\n", body).p;
    r->k.exec = (struct kubeconfig_exec){.command = str_of(put(r, "plugin", text)),
                                         .api_version = STR("client.authentication.k8s.io/v1"),
                                         .interactive = EXEC_NEVER};
}

#define CREDENTIAL(status)                                                             \
    "{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\"," \
    "\"status\":{" status "}}"

TEST(credential_plug_in_gets_what_the_protocol_says)
{
    struct rig r;
    rig_init(&r, false);
    use_script(&r, "printf '%s' \"$1-$A-$KUBERNETES_EXEC_INFO\" >\"$OUT\"\n"
                   "cat\n" /* /dev/null */
                   "echo '" CREDENTIAL("\"token\":\"tok\"") "'");
    const char *out = put(&r, "out", "");
    str args[] = {STR("login")};
    struct kubeconfig_env env[] = {{STR("A"), STR("b")}, {STR("OUT"), str_of(out)}};
    r.k.exec.args = args;
    r.k.exec.n_args = 1;
    r.k.exec.env = env;
    r.k.exec.n_env = 2;
    r.k.exec.cluster = STR("{\"server\":\"https://h\"}");
    setenv("A", "not this one", 1);
    rig_open(&r);
    refresh(&r);
    CHECK_CSTR(str_of(r.err.message), "");
    CHECK_CSTR(credential_authorization(r.c), "Bearer tok");
    CHECK(credential_is_fresh(r.c));
    struct strbuf b = STRBUF_INIT(4096);
    REQUIRE(file_read(out, &b, NULL) == 0);
    CHECK_CSTR(strbuf_str(&b),
               "login-b-{\"kind\":\"ExecCredential\","
               "\"apiVersion\":\"client.authentication.k8s.io/v1\","
               "\"spec\":{\"cluster\":{\"server\":\"https://h\"},\"interactive\":false}}");
    strbuf_done(&b);
    rig_done(&r);
}

TEST(credential_plug_in_has_an_open_signal_mask)
{
    struct rig r;
    rig_init(&r, false);
    /* With TERM blocked, as on the worker, it would go on. */
    use_script(&r, "kill -TERM $$\nsleep 0.2\necho '" CREDENTIAL("\"token\":\"t\"") "'");
    rig_open(&r);
    refresh(&r);
    CHECK(str_find(str_of(r.err.message), STR("was killed by signal 15")) >= 0);
    rig_done(&r);
}

TEST(credential_plug_in_may_give_a_certificate)
{
    struct rig r;
    rig_init(&r, false);
    use_script(&r, "echo '" CREDENTIAL("\"clientCertificateData\":\"C\",\"clientKeyData\":\"K\","
                                       "\"expirationTimestamp\":\"2020-01-01T00:00:00Z\"") "'");
    rig_open(&r);
    refresh(&r);
    CHECK_CSTR(credential_cert(r.c), "C");
    CHECK_CSTR(credential_key(r.c), "K");
    CHECK_CSTR(credential_authorization(r.c), "");
    /* It has expired already; that does not turn into a busy loop. */
    CHECK(credential_is_fresh(r.c));
    rig_done(&r);
}

TEST(credential_plug_in_that_fails_is_an_error_in_one_line)
{
    static const struct {
        const char *script, *says;
    } wrong[] = {
        {"exit 3", "failed with exit code 3"},
        {"echo hello", "printed no JSON"},
        {"echo '{\"kind\":\"Pod\"}'", "printed no ExecCredential"},
        {"echo '" CREDENTIAL("") "'", "gave neither a token nor a certificate"},
        {"echo '" CREDENTIAL("\"clientCertificateData\":\"C\"") "'", "gave neither a token"},
        {"echo '" CREDENTIAL("\"token\":\"t\",\"expirationTimestamp\":\"soon\"") "'",
         "expirationTimestamp is not a time"},
        {"yes", "printed more than"},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct rig r;
        rig_init(&r, false);
        use_script(&r, wrong[i].script);
        rig_open(&r);
        refresh(&r);
        if (!CHECK(str_find(str_of(r.err.message), str_of(wrong[i].says)) >= 0))
            test_note("case %zu: %s", i, r.err.message);
        CHECK(!credential_is_fresh(r.c));
        rig_done(&r);
    }
}

TEST(credential_plug_in_that_is_missing_gives_its_hint)
{
    struct rig r;
    rig_init(&r, false);
    r.k.exec = (struct kubeconfig_exec){.command = STR("grove-no-such-plugin"),
                                        .install_hint = STR("get it from example.com"),
                                        .api_version = STR("client.authentication.k8s.io/v1")};
    rig_open(&r);
    refresh(&r);
    CHECK(str_find(str_of(r.err.message), STR("get it from example.com")) >= 0);
    CHECK(str_find(str_of(r.err.message), STR("cannot run grove-no-such-plugin")) >= 0);
    rig_done(&r);
}

TEST(credential_free_ends_a_plug_in_that_hangs)
{
    struct rig r;
    rig_init(&r, false);
    use_script(&r, "sleep 1000\n");
    rig_open(&r);
    credential_refresh(r.c);
    loop_timer_set(&r.late, loop_now(r.loop) + 100 * USEC_PER_MSEC);
    (void)loop_run(r.loop);
    CHECK(r.is_late);
    usec before = loop_wall(r.loop);
    credential_free(TAKE_PTR(r.c));
    CHECK(loop_wall(r.loop) - before < 5 * USEC_PER_SEC);
    CHECK_INT(r.ready, 0);
    rig_done(&r);
}
