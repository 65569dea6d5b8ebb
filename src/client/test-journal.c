/* The journal of decisions: what is kept, in which order, and what is forgotten first. */
#include "base/test.h"
#include "client/journal.h"

struct desk {
    struct arena arena;
    struct journal *journal;
};

static void desk_open(struct desk *d, size_t max)
{
    kinds_init();
    arena_init(&d->arena);
    d->journal = journal_new(max);
}

static void desk_close(struct desk *d)
{
    journal_free(d->journal);
    arena_done(&d->arena);
}

static struct obj *pod_named(struct desk *d, const char *name)
{
    struct err err = ERR_INIT;
    str text = arena_printf(&d->arena,
                            "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\","
                            "\"namespace\":\"ns\",\"uid\":\"u-%s\",\"resourceVersion\":\"1\"}}",
                            name, name);
    struct doc *doc = doc_parse(text, NULL, &err);
    return obj_hold(&d->arena, obj_new(&kind_pod, doc, &err));
}

/* One decision: to delete a pod. */
static void decide(struct desk *d, usec at, const char *who, const char *name, const char *why)
{
    struct plan p;
    plan_init(&p, &d->arena);
    plan_why(plan_delete(&p, 0, pod_named(d, name)), &p, "%s", why);
    journal_note(d->journal, at, who, &p);
    plan_done(&p);
}

static str told(struct desk *d, const char *name)
{
    struct jw w;
    jw_init(&w);
    journal_put(d->journal, STR("Pod"), STR("ns"), str_of(name), &w);
    str text = arena_str(&d->arena, strbuf_str(&w.out));
    jw_done(&w);
    return text;
}

TEST(decisions_are_told_by_object_in_order)
{
    struct desk d;
    desk_open(&d, JOURNAL_MAX_BYTES);
    decide(&d, 1 * USEC_PER_SEC, "podclique", "a", "3 pods exist, 2 are wanted");
    decide(&d, 2 * USEC_PER_SEC, "podclique", "b", "it has finished");
    decide(&d, 3 * USEC_PER_SEC, "garbage-collector", "a", "its owner is gone");
    CHECK_STR(told(&d, "a"),
              STR("[{\"time\":\"1970-01-01T00:00:01.000000Z\",\"by\":\"podclique\",\"what\":"
                  "\"delete\",\"why\":\"3 pods exist, 2 are wanted\"},"
                  "{\"time\":\"1970-01-01T00:00:03.000000Z\",\"by\":\"garbage-collector\",\"what\":"
                  "\"delete\",\"why\":\"its owner is gone\"}]"));
    CHECK_STR(told(&d, "nobody"), STR("[]"));
    desk_close(&d);
}

TEST(the_same_decision_again_is_counted)
{
    struct desk d;
    desk_open(&d, JOURNAL_MAX_BYTES);
    for (int i = 1; i <= 3; i++)
        decide(&d, i * USEC_PER_SEC, "podclique", "a", "it has finished");
    CHECK_STR(told(&d, "a"),
              STR("[{\"time\":\"1970-01-01T00:00:03.000000Z\",\"by\":\"podclique\",\"what\":"
                  "\"delete\",\"why\":\"it has finished\",\"count\":3}]"));
    desk_close(&d);
}

TEST(a_binding_says_where_and_a_count_in_a_status_is_no_decision)
{
    struct desk d;
    struct plan p;
    struct err err = ERR_INIT;
    desk_open(&d, JOURNAL_MAX_BYTES);
    plan_init(&p, &d.arena);
    (void)plan_bind(&p, 0, pod_named(&d, "a"), STR("node-1"), 0);
    (void)plan_merge_patch(&p, 0, pod_named(&d, "b"), STR("status"),
                           doc_parse(STR("{\"status\":{}}"), NULL, &err), 0);
    journal_note(d.journal, USEC_PER_SEC, "grove-scheduler", &p);
    plan_done(&p);
    CHECK_STR(told(&d, "a"),
              STR("[{\"time\":\"1970-01-01T00:00:01.000000Z\",\"by\":\"grove-scheduler\",\"what\":"
                  "\"bind\",\"why\":\"to node node-1\"}]"));
    CHECK_STR(told(&d, "b"), STR("[]"));
    desk_close(&d);
}

TEST(of_one_object_the_last_decisions_are_kept)
{
    struct desk d;
    struct err err = ERR_INIT;
    desk_open(&d, JOURNAL_MAX_BYTES);
    for (int i = 1; i <= 100; i++)
        decide(&d, i * USEC_PER_SEC, "podclique", "a", arena_printf(&d.arena, "reason %d", i).p);
    struct doc *doc = doc_parse(told(&d, "a"), NULL, &err);
    CHECK_INT(jlen(doc_root(doc)), JOURNAL_PER_OBJECT);
    CHECK_STR(jstr(jgetc(jat(doc_root(doc), 0), "why")), STR("reason 85"));
    CHECK_STR(jstr(jgetc(jat(doc_root(doc), 15), "why")), STR("reason 100"));
    doc_unref(doc);
    desk_close(&d);
}

TEST(who_was_decided_about_longest_ago_is_forgotten_first)
{
    enum { MAX = 8000 };
    struct desk d;
    desk_open(&d, MAX);
    for (int i = 1; i <= 1000; i++) {
        decide(&d, i * USEC_PER_SEC, "podclique", arena_printf(&d.arena, "p%d", i).p, "it is old");
        decide(&d, i * USEC_PER_SEC, "podclique", "always",
               arena_printf(&d.arena, "reason %d", i).p);
        CHECK(journal_bytes(d.journal) <= MAX);
    }
    CHECK_STR(told(&d, "p1"), STR("[]"));
    CHECK(!str_is(told(&d, "p1000"), "[]"));
    CHECK(str_find(told(&d, "always"), STR("reason 1000")) > 0);
    desk_close(&d);
}

TEST(a_long_reason_is_cut_between_characters)
{
    struct desk d;
    desk_open(&d, JOURNAL_MAX_BYTES);
    struct strbuf b = STRBUF_INIT(4096);
    for (int i = 0; i < 400; i++)
        strbuf_add_cstr(&b, "\xe2\x82\xac"); /* three bytes each */
    decide(&d, USEC_PER_SEC, "podclique", "a", b.p);
    CHECK(str_is_utf8(told(&d, "a")));
    CHECK(told(&d, "a").len < 700);
    strbuf_done(&b);
    desk_close(&d);
}
