/*
 * Pictures that no healthy server gives out: every value of every object in turn is of another
 * type, missing, absurd, or an order to a terminal. Nothing crashes (the sanitizers look), and what
 * is told is a sentence all the same.
 */
#include "explain/documents/clean.h"
#include "explain/documents/room.h"
#include "explain/documents/test-picture.h"
#include "explain/documents/unfit.h"
#include "json/write.h"

/* Something of everything that is looked at. */
static const char everything[] =
    "set llm seen error E no True Progressing Updating ok {metadata: {annotations: "
    "{grove.io/gang-terminations: '{\"llm-0\": {\"count\": 2, \"at\": "
    "\"2026-01-01T10:00:00Z\"}}'}}, "
    "status: {updatedReplicas: 1, updateProgress: {}}, spec: {template: {terminationDelay: 1h, "
    "cliques: [{name: a}], podCliqueScalingGroups: [{name: g, cliqueNames: [b]}]}}}\n"
    "group llm-0-g error E no True EverHealthy ok ok True MinAvailableBreached x '0 of 1'\n"
    "gang llm-0 packed rack True Unschedulable DoesNotFit no True DisruptionTarget x y True "
    "TopologyViolated x y {status: {unschedulable: {cause: TooFew, name: x, level: rack, pods: 3, "
    "candidates: [{domain: r, room: 1, nodes: 2, refusing: 1, resource: memory}], shortage: "
    "{resource: memory, needs: 9999999999, free: 1}, outlook: Hopeless}}}\n"
    "clique llm-0-a replicas 3 min 1 error E 'x \"y\", cause: exceeded quota' True EverScheduled x "
    "y "
    "True MinAvailableBreached x '0 of 1'\n"
    "pod llm-0-a-0 on n1 ready asks nvidia.com/gpu 4 asks memory 8Gi\n"
    "pod llm-0-a-1 gated base llm-9 asks cpu 2\n"
    "pod llm-0-a-2 asks cpu 2 {spec: {nodeSelector: {rack: r1}}}\n"
    "pod llm-0-a-8 on n2 going 11:00:00 held example.com/hold\n"
    "clique llm-0-b replicas 9 min 2 gang llm-7\n"
    "pod llm-0-b-0 on n1 phase Pending after llm-0-a:2\n"
    "pod llm-0-b-1 on n1 phase Running waits CrashLoopBackOff sorry\n"
    "pod llm-0-b-2 on n1 phase Running unready NodeNotReady tolerates 300\n"
    "pod llm-0-b-3 on n1 phase Running unready ContainersNotReady\n"
    "pod llm-0-b-4 phase Pending False PodScheduled Unschedulable no\n"
    "pod llm-0-b-5 gated\npod llm-0-b-05 on n1 going 12:00:30 {metadata: {labels: "
    "{grove.io/podclique-pod-index: '5'}}}\n"
    "pod other-0-a-0 of other on n2 asks nvidia.com/gpu 2\n"
    "node n1 rack r1 has nvidia.com/gpu 4 cordoned\nnode n2 rack r2 has nvidia.com/gpu 8 tainted "
    "x\n"
    "node n3 rack r2 silent\n"
    "event e {reason: DisruptionRefused, message: '2 of 2', involvedObject: {name: llm}}\n";

/* As JSON. The last two are what a terminal obeys. */
static const char *const wrong[] = {"null",
                                    "7",
                                    "-9223372036854775808",
                                    "9223372036854775807",
                                    "1e308",
                                    "true",
                                    "\"\"",
                                    "[]",
                                    "{}",
                                    "[[{}],7]",
                                    "{\"a\":[]}",
                                    "\"99999999999999999999Ei\"",
                                    "\"\\u001b]0;x\\u0007\"",
                                    "\"\\u009b31m\\r\\n\""};

static void write_with(struct jw *w, jval v, size_t *left, jval instead)
{
    if ((*left)-- == 0) {
        jw_val(w, instead);
    } else if (jtype(v) == J_OBJECT) {
        jw_object(w);
        for (struct jiter it = jiter(v); jnext(&it);) {
            jw_key(w, it.key);
            write_with(w, it.value, left, instead);
        }
        jw_end(w);
    } else if (jtype(v) == J_ARRAY) {
        jw_array(w);
        for (struct jiter it = jiter(v); jnext(&it);)
            write_with(w, it.value, left, instead);
        jw_end(w);
    } else {
        jw_val(w, v);
    }
}

static size_t count_values(jval v)
{
    size_t n = 1;
    for (struct jiter it = jiter(v); jnext(&it);)
        n += count_values(it.value);
    return n;
}

/* It is there, and does not break off before its object. */
static bool is_sentence(str text)
{
    return text.len > 0 && text.p[text.len - 1] != ' ' && text.p[text.len - 1] != ':';
}

static bool all_are_sentences(const struct findings *f)
{
    bool ok = true;
    for (size_t i = 0; i < f->items.len; i++) {
        const struct finding *x = &f->items.p[i];
        ok = is_sentence(x->verdict) && ok;
        ok = (x->constraint.len == 0 || is_sentence(x->constraint)) && ok;
        for (size_t k = 0; k < x->unblock.len; k++)
            ok = is_sentence(x->unblock.p[k]) && ok;
        if (!ok)
            test_note("%s: \"%.*s\", \"%.*s\"", finding_states[x->state], STR_ARG(x->verdict),
                      STR_ARG(x->constraint));
    }
    return ok;
}

/* Everything that is said of a picture. */
static bool tell_all(const struct picture *p)
{
    struct arena a = ARENA_INIT;
    const struct session_list *sets = &p->parts[PICTURE_SETS], *gangs = &p->parts[PICTURE_GANGS];
    bool ok = true;
    for (size_t i = 0; i < sets->n; i++) {
        struct findings f;
        size_t more;
        findings_of_set(p, sets->items[i], &a, &f);
        ok = all_are_sentences(&f) && ok;
        for (size_t k = 0; k < f.items.len; k++) {
            if (findings_speaks(&f, NULL, k, &more))
                (void)findings_text(&a, &f.items.p[k], more);
        }
        findings_done(&f);
    }
    for (size_t i = 0; i < gangs->n; i++) {
        struct room r;
        str advice[8];
        size_t n = room_of_gang(p, gangs->items[i], &a, &r) ? room_advice(&r, &a, advice, 8) : 0;
        for (size_t k = 0; k < n; k++)
            ok = is_sentence(advice[k]) && ok;
        (void)unfit_verdict(gangs->items[i], &a);
        (void)unfit_key(unfit_facts(gangs->items[i]), &a);
    }
    arena_done(&a);
    return ok;
}

/* The object once for each of its values and each of what it may be instead. */
static size_t try_object(struct test_picture *t, enum picture_part part, size_t i, size_t every)
{
    struct obj *whole = obj_ref(t->picture.parts[part].items[i]);
    size_t n = count_values(obj_root(whole)), tried = 0;
    for (size_t k = 0; k < n * ARRAY_LEN(wrong); k++) {
        struct jw w;
        size_t left = k / ARRAY_LEN(wrong);
        struct err err = ERR_INIT;
        if (k % every != 0)
            continue;
        struct doc *instead = doc_parse(str_of(wrong[k % ARRAY_LEN(wrong)]), NULL, &err);
        jw_init(&w);
        write_with(&w, obj_root(whole), &left, doc_root(instead));
        struct doc *d = jw_doc(&w);
        struct obj *o = obj_new(whole->kind, d, &err); /* or no client would take it */
        if (o) {
            t->picture.parts[part].items[i] = o;
            if (!CHECK(tell_all(&t->picture)))
                test_note("%s %.*s, value %zu, %s", whole->kind->kind, STR_ARG(whole->name),
                          k / ARRAY_LEN(wrong), wrong[k % ARRAY_LEN(wrong)]);
            tried++;
        }
        obj_unref(o);
        doc_unref(instead);
    }
    t->picture.parts[part].items[i] = whole;
    obj_unref(whole);
    return tried;
}

TEST(values_of_the_wrong_type_are_survived_and_told_in_sentences)
{
    struct test_picture *t = tp_new(everything);
    size_t tried = 0, every = test_cases(5) >= 5 ? 1 : 7; /* 7 has no divisor with the list */
    CHECK(tell_all(&t->picture));
    for (unsigned part = 0; part < PICTURE_PARTS; part++) {
        for (size_t i = 0; i < t->picture.parts[part].n; i++)
            tried += try_object(t, part, i, every);
    }
    CHECK(tried > 1000);
    tp_free(t);
}

TEST(an_empty_picture_says_nothing)
{
    struct test_picture *t = tp_new("");
    CHECK(tell_all(&t->picture));
    CHECK(picture_find(&t->picture, PICTURE_PODS, STR("x")) == NULL);
    CHECK(picture_find_any(&t->picture, STR_NONE) == NULL);
    tp_free(t);
}
