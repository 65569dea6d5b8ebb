/* trace: what happens to a set in a twin, as steps. The news are written by hand, as pictures. */
#include "explain/twin/trace.h"

#include "explain/documents/test-picture.h"

/* Two routers; an engine is a group of a leader and two workers, and there are two. */
#define SET                                                                                 \
    "set llm {spec: {template: {cliques: [{name: r, spec: {replicas: 2}}, {name: l, spec: " \
    "{replicas: 1}}, {name: w, spec: {replicas: 2}}], podCliqueScalingGroups: [{name: g, "  \
    "cliqueNames: [l, w], replicas: 2}]}}}\n"
#define ROUTERS SET "clique llm-0-r min 1\npods llm-0-r 2 on n1 ready asks cpu 2\n"
#define ENGINE(i)                                                      \
    "clique llm-0-g-" #i "-l owned llm-0-g min 1 {metadata: {labels: " \
    "{grove.io/podcliquescalinggroup-replica-index: '" #i "'}}}\n"     \
    "clique llm-0-g-" #i "-w owned llm-0-g min 2 {metadata: {labels: " \
    "{grove.io/podcliquescalinggroup-replica-index: '" #i "'}}}\n"     \
    "pod llm-0-g-" #i "-l-0 on n1 ready\npods llm-0-g-" #i "-w 2 on n1 ready\n"
#define GROUP "group llm-0-g {spec: {cliqueNames: [l, w]}}\n"

/* What news say: the lines are what has changed; of those that are "gone 1" nothing is left. */
static void add_news(struct trace *t, str lines, const struct twin_word *words, size_t n_words)
{
    struct arena a = ARENA_INIT;
    struct test_picture *p = tp_new(arena_str(&a, lines).p);
    VEC(struct twin_change) changes = {0};
    for (unsigned part = 0; part < PICTURE_PARTS; part++) {
        const struct session_list *l = &p->picture.parts[part];
        for (size_t i = 0; i < l->n && part != PICTURE_ALL_PODS; i++)
            *vec_push(&changes) =
                (struct twin_change){l->items[i], obj_annotation(l->items[i], STR("gone")).len > 0};
    }
    struct twin_news news = {changes.p, changes.len, words, n_words};
    trace_add(t, &news);
    vec_done(&changes);
    tp_free(p);
    arena_done(&a);
}

static void write_numbers(const struct trace *t, const char *what, const int64_t *n,
                          struct strbuf *out)
{
    strbuf_printf(out, "%s", what);
    for (size_t i = 0; i < t->n_components; i++)
        strbuf_printf(out, " %.*s=%lld", STR_ARG(t->components[i].name), (long long)n[i]);
}

static void write_take(const struct trace *t, const struct trace_take *x, struct strbuf *out)
{
    strbuf_printf(out, " %.*s/%lld", STR_ARG(t->components[x->component].name),
                  (long long)x->replica);
    if (x->index >= 0)
        strbuf_printf(out, "/%lld", (long long)x->index);
    strbuf_printf(out, ":%lld", (long long)x->pods);
    for (size_t i = 0; i < x->n_parts; i++)
        strbuf_printf(out, "%s%.*s %lld of %lld", i ? ", " : "(", STR_ARG(x->parts[i].clique),
                      (long long)x->parts[i].taken, (long long)x->parts[i].had);
    strbuf_printf(out, "%s", x->n_parts ? ")" : "");
}

static void write_entry(str text, struct strbuf *b)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, NULL, &err);
    strbuf_printf(b, " %.*s", STR_ARG(jstr(jgetc(doc_root(d), "name"))));
    doc_unref(d);
}

/* "take r/0:1; made 1; low r=1 g=2\n" for each step; before it what is ready, after it too. */
static str trace_text(const struct trace *t, struct arena *a)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    write_numbers(t, "before", t->before, &b);
    strbuf_add_char(&b, '\n');
    for (size_t i = 0; i < t->steps.len; i++) {
        const struct trace_step *s = &t->steps.p[i];
        if (s->title.len)
            strbuf_printf(&b, "[%.*s] ", STR_ARG(s->title));
        strbuf_add_cstr(&b, "take");
        for (size_t k = 0; k < s->takes.len; k++)
            write_take(t, &s->takes.p[k], &b);
        strbuf_printf(&b, "; made %lld", (long long)s->made);
        if (s->waiting)
            strbuf_printf(&b, ", waiting %lld", (long long)s->waiting);
        for (size_t k = 0; k < s->gangs_made.len; k++)
            strbuf_printf(&b, " +%.*s", STR_ARG(s->gangs_made.p[k]));
        for (size_t k = 0; k < s->gangs_gone.len; k++)
            strbuf_printf(&b, " -%.*s", STR_ARG(s->gangs_gone.p[k]));
        for (size_t k = 0; k < s->entries.len; k++)
            write_entry(s->entries.p[k], &b);
        write_numbers(t, "; low", s->low, &b);
        strbuf_add_char(&b, '\n');
    }
    write_numbers(t, "after", t->after, &b);
    write_numbers(t, "; low", t->low, &b);
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

struct trace_case {
    const char *name;
    const char *news[8]; /* one after the other */
    const char *want;
};

static void check_trace(const struct trace_case *c)
{
    struct arena a = ARENA_INIT;
    struct obj *pcs = tp_obj(SET);
    struct trace t;
    trace_init(&t, &a, pcs);
    for (size_t i = 0; i < ARRAY_LEN(c->news) && c->news[i]; i++)
        add_news(&t, str_of(c->news[i]), NULL, 0);
    trace_end(&t);
    if (!CHECK_CSTR(trace_text(&t, &a), c->want))
        test_note("case: %s", c->name);
    trace_done(&t);
    obj_unref(pcs);
    arena_done(&a);
}

#define ENTRY(epoch, pods) \
    "{epoch: '" #epoch "', role: Anchor, podCliqueSetGenerationHash: h, podCliques: {r: " #pods "}}"
#define GONE " {metadata: {annotations: {gone: 'yes'}}}\n"

TEST(steps_of_pods)
{
    static const struct trace_case cases[] = {
        {"nothing happens", {ROUTERS, "", ROUTERS}, "before r=2 g=0\nafter r=2 g=0; low r=2 g=0"},
        {"a pod is replaced",
         {ROUTERS, "pod llm-0-r-0 on n1 ready going 12:00:30\n",
          "pod llm-0-r-0" GONE "pod llm-0-r-0 uid new\n", "pod llm-0-r-0 uid new on n1 ready\n"},
         "before r=2 g=0\n"
         "take r/0:1; made 1; low r=1 g=0\n"
         "after r=2 g=0; low r=1 g=0"},
        {"two at once are one step",
         {ROUTERS, "pods llm-0-r 2 on n1 ready going 12:00:30\n",
          "pod llm-0-r-0 uid new0\npod llm-0-r-1 uid new1\n",
          "pod llm-0-r-0 uid new0 on n1 ready\npod llm-0-r-1 uid new1 on n1 ready\n"},
         "before r=2 g=0\n"
         "take r/0:2; made 2; low r=0 g=0\n"
         "after r=2 g=0; low r=0 g=0"},
        {"one after the other are two",
         {ROUTERS, "pod llm-0-r-0 on n1 ready going 12:00:30\n", "pod llm-0-r-0 uid new0\n",
          "pod llm-0-r-0 uid new0 on n1 ready\n", "pod llm-0-r-1 on n1 ready going 12:00:30\n",
          "pod llm-0-r-1 uid new1\n", "pod llm-0-r-1 uid new1 on n1 ready\n"},
         "before r=2 g=0\n"
         "take r/0:1; made 1; low r=1 g=0\n"
         "take r/0:1; made 1; low r=1 g=0\n"
         "after r=2 g=0; low r=1 g=0"},
        {"more than before: nothing is taken",
         {ROUTERS, "pod llm-0-r-2\n", "pod llm-0-r-2 on n1 ready\n"},
         "before r=2 g=0\n"
         "take; made 1; low r=2 g=0\n"
         "after r=3 g=0; low r=2 g=0"},
        {"a new one finds no place",
         {ROUTERS, "pod llm-0-r-0 on n1 ready going 12:00:30\n", "pod llm-0-r-0 uid new\n"},
         "before r=2 g=0\n"
         "take r/0:1; made 1, waiting 1; low r=1 g=0\n"
         "after r=1 g=0; low r=1 g=0"},
        {"a new one is given up, and one is replaced in place",
         {ROUTERS, "pod llm-0-r-2\n", "pod llm-0-r-2" GONE,
          "pod llm-0-r-0 on n1 ready going 12:00:30\n", "pod llm-0-r-0 uid new on n1 ready\n"},
         "before r=2 g=0\n"
         "take; made 1, waiting 1; low r=2 g=0\n"
         "take r/0:1; made 1; low r=1 g=0\n"
         "after r=2 g=0; low r=1 g=0"},
        {"it is gone before it was seen to go",
         {ROUTERS, "pod llm-0-r-0 on n1 ready" GONE},
         "before r=2 g=0\n"
         "take r/0:1; made 0; low r=1 g=0\n"
         "after r=1 g=0; low r=1 g=0"},
        {"it goes already when it begins",
         {ROUTERS "pod llm-0-r-7 on n1 going 12:00:30\n", "pod llm-0-r-7" GONE},
         "before r=2 g=0\nafter r=2 g=0; low r=2 g=0"},
        {"pods of other sets",
         {ROUTERS, "set x\nclique x-0-r\npod x-0-r-0 on n1 ready\n", "pod x-0-r-0" GONE},
         "before r=2 g=0\nafter r=2 g=0; low r=2 g=0"},
        {"one loses its readiness without anybody's doing",
         {ROUTERS, "pod llm-0-r-0 on n1 phase Running\n", "pod llm-0-r-0 on n1 ready\n"},
         "before r=2 g=0\nafter r=2 g=0; low r=1 g=0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_trace(&cases[i]);
}

TEST(steps_of_replicas_of_groups)
{
    static const struct trace_case cases[] = {
        {"a replica is ready with the minimum of each of its cliques",
         {SET GROUP ENGINE(0), "pod llm-0-g-0-w-1 on n1 phase Running\n",
          "pod llm-0-g-0-w-1 on n1 ready\n"},
         "before r=0 g=1\nafter r=0 g=1; low r=0 g=0"},
        {"one that has no clique of one kind is not",
         {SET GROUP ENGINE(0), "clique llm-0-g-0-l owned llm-0-g" GONE},
         "before r=0 g=1\nafter r=0 g=0; low r=0 g=0"},
        {"a replica is taken whole",
         {SET GROUP ENGINE(0) ENGINE(1),
          "pod llm-0-g-1-l-0 on n1 ready going 12:00:30\npods llm-0-g-1-w 2 on n1 ready going "
          "12:00:30\n"},
         "before r=0 g=2\n"
         "take g/0/1:3(l 1 of 1, w 2 of 2); made 0; low r=0 g=1\n"
         "after r=0 g=1; low r=0 g=1"},
        {"of a replica one clique is kept",
         {SET GROUP ENGINE(0), "pods llm-0-g-0-w 2 on n1 ready going 12:00:30\n",
          "pod llm-0-g-0-w-0 uid new0 on n1 ready\npod llm-0-g-0-w-1 uid new1 on n1 ready\n"},
         "before r=0 g=1\n"
         "take g/0/0:2(l 0 of 1, w 2 of 2); made 2; low r=0 g=0\n"
         "after r=0 g=1; low r=0 g=0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_trace(&cases[i]);
}

TEST(steps_of_gangs_and_their_maps)
{
    static const struct trace_case cases[] = {
        {"gangs come and go",
         {ROUTERS "gang llm-0\n", "gang llm-1\ngang llm-2\n", "gang llm-0" GONE "gang llm-9" GONE},
         "before r=2 g=0\n"
         "take; made 0 +llm-1 +llm-2 -llm-0; low r=2 g=0\n"
         "after r=2 g=0; low r=2 g=0"},
        {"one comes back",
         {ROUTERS "gang llm-0\n", "gang llm-0" GONE, "gang llm-0\n"},
         "before r=2 g=0\n"
         "take; made 0 +llm-0 -llm-0; low r=2 g=0\n"
         "after r=2 g=0; low r=2 g=0"},
        {"gangs of other sets",
         {ROUTERS, "gang x-0\n"},
         "before r=2 g=0\nafter r=2 g=0; low r=2 g=0"},
        {"entries that are new or changed begin a step",
         {ROUTERS "map llm-0 {spec: {entries: [" ENTRY(7, 1) ", " ENTRY(8, 1) "]}}\n",
          "map llm-0 {spec: {entries: [" ENTRY(7, 1) ", " ENTRY(8, 2) ", " ENTRY(
              9, 1) "]}}\n"
                    "pod llm-0-r-2 on n1 ready\n"},
         "before r=2 g=0\n"
         "take; made 1 llm-0-8 llm-0-9; low r=3 g=0\n"
         "after r=3 g=0; low r=2 g=0"},
        {"a map that is written as it was is none",
         {ROUTERS "map llm-0 {spec: {entries: [" ENTRY(7, 1) "]}}\n",
          "map llm-0 {spec: {entries: [" ENTRY(7, 1) "]}}\n"},
         "before r=2 g=0\nafter r=2 g=0; low r=2 g=0"},
        {"nor is a step in which nothing was",
         {ROUTERS "map llm-0 {spec: {entries: []}}\n",
          "map llm-0 {spec: {entries: [" ENTRY(7, 1) "]}}\n"},
         "before r=2 g=0\nafter r=2 g=0; low r=2 g=0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        check_trace(&cases[i]);
}

TEST(what_the_planner_says_is_the_title_of_its_step)
{
    static const struct twin_word words[] = {{STR_INIT("llm-0"), STR_INIT("sub-step 1 of 2")},
                                             {STR_INIT("llm-0"), STR_INIT("something else")},
                                             {STR_INIT("x-0"), STR_INIT("sub-step 7 of 9")}};
    struct arena a = ARENA_INIT;
    struct obj *pcs = tp_obj(SET);
    struct trace t;
    trace_init(&t, &a, pcs);
    add_news(&t, str_of(ROUTERS "map llm-0 {spec: {entries: []}}\n"), NULL, 0);
    add_news(&t, STR_NONE, words, ARRAY_LEN(words)); /* the word may come before the change */
    add_news(&t, STR("map llm-0 {spec: {entries: [" ENTRY(7, 1) "]}}\npod llm-0-r-2 on n1\n"), NULL,
             0);
    trace_end(&t);
    CHECK_CSTR(trace_text(&t, &a), "before r=2 g=0\n"
                                   "[replica 0, sub-step 1 of 2] take; made 1 llm-0-7; low "
                                   "r=2 g=0\nafter r=2 g=0; low r=2 g=0");
    trace_done(&t);
    obj_unref(pcs);
    arena_done(&a);
}

TEST(what_is_held_is_added_up)
{
    struct arena a = ARENA_INIT;
    struct obj *pcs = tp_obj(SET);
    struct trace t;
    trace_init(&t, &a, pcs);
    add_news(&t, str_of(ROUTERS), NULL, 0); /* 2 CPUs each */
    add_news(&t, STR("pod llm-0-r-2 on n1 asks cpu 3\npod llm-0-r-3 asks cpu 9\n"), NULL, 0);
    add_news(&t, STR("pod llm-0-r-0 on n1 asks cpu 2" GONE), NULL, 0);
    trace_end(&t);
    CHECK_INT(t.held.amount[RES_CPU], 4000);
    CHECK_INT(t.peak.amount[RES_CPU], 7000);
    CHECK_INT(t.holds.amount[RES_CPU], 5000);
    REQUIRE(t.steps.len > 0);
    CHECK_INT(t.steps.p[0].need.amount[RES_CPU], 12000);
    trace_done(&t);
    obj_unref(pcs);
    arena_done(&a);
}
