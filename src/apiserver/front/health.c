/* Version, health, metrics and the journal: what monitoring asks, and people who look for a cause.
 */
#include "apiserver/front/front_impl.h"
#include "client/journal.h"

#if defined(__x86_64__)
#define PLATFORM "linux/amd64"
#elif defined(__aarch64__)
#define PLATFORM "linux/arm64"
#else
#define PLATFORM "linux/unknown"
#endif

#ifdef __clang__
#define COMPILER "clang"
#else
#define COMPILER "gcc"
#endif

/* The Kubernetes version we answer like; the rest says who we are. */
static const struct {
    const char *key, *value;
} version[] = {
    {"major", "1"},
    {"minor", "36"},
    {"emulationMajor", "1"},
    {"emulationMinor", "36"},
    {"minCompatibilityMajor", "1"},
    {"minCompatibilityMinor", "35"},
    {"gitVersion", "v1.36.4+grove-" GROVE_VERSION},
    {"gitCommit", ""},
    {"gitTreeState", "clean"},
    {"buildDate", "1970-01-01T00:00:00Z"},
    {"goVersion", ""},
    {"compiler", COMPILER},
    {"platform", PLATFORM},
};

void serve_version(struct call *c)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    for (size_t i = 0; i < ARRAY_LEN(version); i++)
        jw_put_cstr(&w, version[i].key, version[i].value);
    jw_end(&w);
    call_reply_doc(c, 200, jw_doc(&w));
}

void serve_metrics(struct call *c)
{
    struct http_header h[FRONT_MAX_HEADERS];
    struct strbuf text = STRBUF_INIT(16 << 20);
    metrics_write(c->front, &text);
    size_t n = call_headers(c, STR("text/plain; version=0.0.4; charset=utf-8"), h);
    call_send(c, 200, h, n, slice_strbuf(&text));
}

void serve_journal(struct call *c)
{
    str kind = STR_NONE, ns = STR_NONE, name = STR_NONE;
    struct jw w;
    (void)http_query_get(&c->arena, c->x->query, STR("kind"), &kind);
    (void)http_query_get(&c->arena, c->x->query, STR("namespace"), &ns);
    if (!c->front->journal) {
        call_reply_text(c, 404, STR("404 page not found\n"));
        return;
    }
    if (!kind.len || !http_query_get(&c->arena, c->x->query, STR("name"), &name)) {
        call_reply_status(c, status_bad_request(&c->arena, "say of what: ?kind=Pod&namespace="
                                                           "NAMESPACE&name=NAME"));
        return;
    }
    jw_init(&w);
    jw_object(&w);
    jw_key(&w, STR("entries"));
    journal_put(c->front->journal, kind, ns, name, &w);
    jw_end(&w);
    call_reply_doc(c, 200, jw_doc(&w));
}

/* ---- health ---- */

static bool check_ping(const struct front *f)
{
    (void)f;
    return true;
}

static bool check_store(const struct front *f)
{
    return !store_is_read_only(apiserver_store(f->server));
}

static bool check_controllers(const struct front *f)
{
    return f->ready;
}

static bool check_room(const struct front *f)
{
    struct store_room room;
    store_room(apiserver_store(f->server), &room);
    return !room.is_full;
}

/* A check that is no more than a warning is told and does not fail the whole: a server whose store
 * is full must stay among those that are asked, for it serves reads and takes deletes. */
static const struct {
    const char *name;
    bool (*check)(const struct front *f);
    bool ready_only;
    const char *warning;
} checks[] = {
    {"ping", check_ping, false, NULL},
    {"log", check_ping, false, NULL},
    {"etcd", check_store, false, NULL}, /* what monitoring calls the store of a cluster */
    {"controllers", check_controllers, true, NULL},
    {"storage", check_room, true,
     "full: writes that make the store larger are refused, reads and deletes are served"},
};

static const char *const endpoints[] = {"healthz", "livez", "readyz"};

static bool is_excluded(struct call *c, const char *name)
{
    str query = c->x->query;
    while (query.p) {
        str value = str_cut(&query, '&'), key = str_cut(&value, '=');
        if (str_is(key, "exclude") && str_is(value, name))
            return true;
    }
    return false;
}

static void serve_checks(struct call *c, const char *endpoint)
{
    struct strbuf text = STRBUF_INIT(4096);
    bool all = true, warned = false, ready = str_is(str_of(endpoint), "readyz");
    str verbose;
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (checks[i].ready_only && !ready)
            continue;
        bool excluded = is_excluded(c, checks[i].name);
        bool good = excluded || checks[i].check(c->front);
        const char *warning = good ? NULL : checks[i].warning;
        all = all && (good || warning);
        warned = warned || warning;
        strbuf_printf(&text, "[%c]%s %s\n",
                      good      ? '+'
                      : warning ? '!'
                                : '-',
                      checks[i].name,
                      excluded  ? "excluded: ok"
                      : good    ? "ok"
                      : warning ? warning
                                : "failed: reason withheld");
    }
    strbuf_printf(&text, "%s check %s\n", endpoint, all ? "passed" : "failed");
    bool brief =
        all && !warned && !http_query_get(&c->arena, c->x->query, STR("verbose"), &verbose);
    call_reply_text(c, all ? 200 : 500, brief ? STR("ok") : strbuf_str(&text));
    strbuf_done(&text);
}

static bool serve_one_check(struct call *c, str name, bool ready)
{
    for (size_t i = 0; i < ARRAY_LEN(checks); i++) {
        if (!str_is(name, checks[i].name) || (checks[i].ready_only && !ready))
            continue;
        bool good = checks[i].check(c->front);
        call_reply_text(c, good ? 200 : 500,
                        good                ? STR("ok")
                        : checks[i].warning ? str_of(checks[i].warning)
                                            : STR("internal server error: check failed\n"));
        return true;
    }
    return false;
}

bool health_serve(struct call *c, str path)
{
    str rest = str_sub(path, 1, path.len), word = str_cut(&rest, '/');
    for (size_t i = 0; i < ARRAY_LEN(endpoints); i++) {
        if (!str_is(word, endpoints[i]))
            continue;
        if (rest.p)
            return serve_one_check(c, rest, str_is(word, "readyz"));
        serve_checks(c, endpoints[i]);
        return true;
    }
    return false;
}
