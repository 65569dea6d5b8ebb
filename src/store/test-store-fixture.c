/* See test-store-fixture.h. */
#include <fcntl.h>
#include <unistd.h>

#include "store/test-store-fixture.h"
#include "json/write.h"

static const char *const type_names[] = {"ADDED", "MODIFIED", "DELETED"};

static struct fixture *fixture_of(struct store_sub *sub)
{
    return container_of(sub, struct fixture, sub);
}

static void on_event(struct store_sub *sub, const struct store_event *e)
{
    strbuf_printf(&fixture_of(sub)->diary, "event %s %.*s %llu; ", type_names[e->type],
                  STR_ARG(e->obj->name), (unsigned long long)e->revision);
}

static void on_batch(struct store_sub *sub)
{
    fixture_of(sub)->batches++;
    strbuf_printf(&fixture_of(sub)->diary, "batch; ");
}

static void fixture_open(struct fixture *f)
{
    struct err err = ERR_INIT;
    f->store = store_open(f->loop, &f->options, &err);
    if (!f->store)
        test_note("%s", err.message);
    REQUIRE(f->store);
    f->sub = (struct store_sub){.on_event = on_event, .on_batch = on_batch};
    store_subscribe(f->store, &f->sub);
}

void fixture_init(struct fixture *f)
{
    kinds_init();
    *f = (struct fixture){.diary = STRBUF_INIT(1 << 20)};
    f->loop = loop_new_virtual(rng_u64(test_rng()), 0);
    fixture_open(f);
}

/* Where time is virtual nobody waits for a real disk: a file system in memory is faster. */
static const char *parent_dir(bool is_virtual)
{
    const char *tmp = getenv("TMPDIR");
    if (!tmp && is_virtual && access("/dev/shm", W_OK) == 0)
        return "/dev/shm";
    return tmp ? tmp : "/tmp";
}

void fixture_init_disk(struct fixture *f, bool is_virtual)
{
    kinds_init();
    *f = (struct fixture){.diary = STRBUF_INIT(1 << 20)};
    snprintf(f->dir, sizeof(f->dir), "%s/grove-store-XXXXXX", parent_dir(is_virtual));
    REQUIRE(mkdtemp(f->dir));
    f->options.dir = f->dir;
    f->loop = is_virtual ? loop_new_virtual(rng_u64(test_rng()), 0) : loop_new_real(NULL);
    REQUIRE(f->loop);
    fixture_open(f);
}

void fixture_reopen(struct fixture *f)
{
    store_close(f->store);
    fixture_open(f);
}

void fixture_remove_dir(const char *dir)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "lock"};
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    for (size_t i = 0; i < ARRAY_LEN(files); i++)
        (void)unlinkat(fd, files[i], 0);
    close(fd);
    (void)rmdir(dir);
}

void fixture_done(struct fixture *f)
{
    store_close(f->store);
    loop_free(f->loop);
    if (f->dir[0])
        fixture_remove_dir(f->dir);
    strbuf_done(&f->diary);
}

/* ---- writing ---- */

struct obj *test_obj(const struct kind *k, str ns, str name, uint64_t rv, str payload)
{
    struct jw w;
    char api_version[128];
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "apiVersion", kind_api_version(k, api_version, sizeof(api_version)));
    jw_put_cstr(&w, "kind", k->kind);
    jw_put_object(&w, "metadata");
    jw_put_str(&w, "name", name);
    if (ns.len)
        jw_put_str(&w, "namespace", ns);
    jw_key(&w, STR("resourceVersion"));
    jw_printf(&w, "%llu", (unsigned long long)rv);
    jw_end(&w);
    jw_put_str(&w, "payload", payload);
    jw_end(&w);
    struct obj *o = obj_new(k, jw_doc(&w), NULL);
    REQUIRE(o);
    return o;
}

str test_payload(const struct obj *o)
{
    return o ? jstr(jgetc(obj_root(o), "payload")) : STR("-");
}

static void on_done(struct store_write *w, const struct err *err)
{
    struct fixture *f = w->ctx;
    f->unfinished--;
    f->last_error = err ? err->code : 0;
    if (err && !f->failed_from)
        f->failed_from = w->revision;
    strbuf_printf(&f->diary, "%s %.*s %llu; ", err ? "failed" : "done", STR_ARG(w->name),
                  (unsigned long long)w->revision);
    if (f->unfinished == 0)
        loop_stop(f->loop, 0);
    obj_unref(w->obj);
    free(w);
}

uint64_t apply_obj(struct fixture *f, struct obj *o, bool delete)
{
    struct store_write *w = xnew(struct store_write);
    w->kind = o->kind;
    w->obj = o;
    w->ns = o->ns;
    w->name = o->name;
    w->delete = delete;
    w->done = on_done;
    w->ctx = f;
    f->last_error = store_apply(f->store, w, NULL);
    if (f->last_error < 0) {
        obj_unref(w->obj);
        free(w);
        return 0;
    }
    f->unfinished++;
    return w->revision;
}

static uint64_t apply(struct fixture *f, const struct kind *k, str ns, str name, str payload,
                      bool delete)
{
    return apply_obj(f, test_obj(k, ns, name, store_next_revision(f->store), payload), delete);
}

uint64_t put_kind(struct fixture *f, const struct kind *k, const char *ns, const char *name,
                  const char *payload)
{
    return apply(f, k, str_of(ns), str_of(name), str_of(payload), false);
}

uint64_t del_kind(struct fixture *f, const struct kind *k, const char *ns, const char *name)
{
    const struct obj *o = store_newest(f->store, k, str_of(ns), str_of(name));
    return apply(f, k, str_of(ns), str_of(name), test_payload(o), true);
}

uint64_t put(struct fixture *f, const char *name, const char *payload)
{
    return put_kind(f, &kind_config_map, "ns", name, payload);
}

uint64_t del(struct fixture *f, const char *name)
{
    return del_kind(f, &kind_config_map, "ns", name);
}

void settle(struct fixture *f)
{
    while (f->unfinished > 0)
        REQUIRE(loop_run(f->loop) == 0);
}

/* ---- looking ---- */

void check_diary_(struct fixture *f, const char *want, const char *file, int line)
{
    test_check_str_(strbuf_str(&f->diary), str_of(want), file, line, "diary");
    strbuf_reset(&f->diary);
}

str durable(struct fixture *f, const char *name)
{
    return test_payload(store_get(f->store, &kind_config_map, STR("ns"), str_of(name)));
}

str newest(struct fixture *f, const char *name)
{
    return test_payload(store_newest(f->store, &kind_config_map, STR("ns"), str_of(name)));
}
