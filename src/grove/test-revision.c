/*
 * Revisions: the same content is the same revision whatever it is called; what is in use stays; a
 * set that upstream's operator made is taken over without a change of name.
 */
#include "base/test.h"
#include "grove/names.h"
#include "grove/revision.h"
#include "grove/types.h"
#include "json/patch.h"
#include "json/yaml.h"

static struct arena arena;

static struct obj *object(const struct kind *k, const char *fmt, ...) PRINTF_LIKE(2, 3);

static struct obj *object(const struct kind *k, const char *fmt, ...)
{
    struct err err = ERR_INIT;
    va_list ap;
    grove_kinds_init();
    va_start(ap, fmt);
    str text = arena_vprintf(&arena, fmt, ap);
    va_end(ap);
    struct doc *d = yaml_parse_one(text, &err);
    REQUIRE(d != NULL);
    struct obj *o = obj_new(k, d, &err);
    REQUIRE(o != NULL);
    return obj_hold(&arena, o);
}

#define META "metadata: {name: svc, namespace: ml, uid: u-1, resourceVersion: '7'}"
#define IMAGE(i) "podSpec: {containers: [{name: c, image: " i "}]}"
#define FE(i) "{name: fe, labels: {a: b}, spec: {replicas: 3, minAvailable: 2, " IMAGE(i) "}}"
#define PW(i) "{name: pw, spec: {replicas: 4, " IMAGE(i) "}}"

static struct obj *set_of(const char *cliques)
{
    return object(&kind_pcs, "{" META ", spec: {replicas: 1, template: {cliques: [%s]}}}", cliques);
}

/* A world of revisions, as the API would keep it. */
struct history {
    struct obj *items[32];
    size_t n;
    uint64_t rv;
};

static struct revision_input input(const struct obj *pcs, struct history *h)
{
    return (struct revision_input){.pcs = pcs,
                                   .revisions = h->items,
                                   .n_revisions = h->n,
                                   .history_limit = REVISION_HISTORY_LIMIT};
}

static struct obj *stored(struct doc *d)
{
    struct err err = ERR_INIT;
    struct obj *o = obj_new(&kind_controller_revision, d, &err);
    REQUIRE(o != NULL);
    return obj_hold(&arena, o);
}

static void store(struct history *h, struct revision_decision *d)
{
    if (d->create) {
        REQUIRE(h->n < ARRAY_LEN(h->items));
        h->items[h->n++] = stored(d->create);
        d->create = NULL;
    }
    for (size_t i = 0; i < h->n && d->renumber; i++) {
        if (h->items[i] == d->renumber)
            h->items[i] = stored(json_merge_patch(obj_root(d->renumber), doc_root(d->patch), NULL));
    }
    for (size_t i = 0; i < d->n_remove; i++) {
        for (size_t j = 0; j < h->n; j++) {
            if (h->items[j] == d->remove[i])
                h->items[j--] = h->items[--h->n];
        }
    }
    doc_unref(d->patch);
    d->patch = NULL;
}

static struct revision_decision decide(const struct obj *pcs, struct history *h)
{
    struct revision_input in = input(pcs, h);
    struct revision_decision d;
    revision_decide(&arena, &in, &d);
    store(h, &d);
    return d;
}

/* ---- making ---- */

TEST(the_first_template_is_revision_one)
{
    struct history h = {0};
    struct obj *pcs = set_of(FE("a") ", " PW("a"));
    struct revision_input in = input(pcs, &h);
    struct revision_decision d;
    revision_decide(&arena, &in, &d);
    REQUIRE(d.create != NULL);
    CHECK(!d.update && !d.adopted && !d.renumber && d.n_remove == 0 && d.current == NULL);
    CHECK_INT(d.number, 1);
    jval r = doc_root(d.create);
    CHECK_CSTR(jstr(jgetc(r, "apiVersion")), "apps/v1");
    CHECK_CSTR(jstr(jgetc(r, "kind")), "ControllerRevision");
    CHECK_STR(jstr(jpath(r, "metadata.name")), d.name);
    CHECK(str_starts(d.name, STR("svc-")) && str_ends(d.name, d.hash));
    CHECK_CSTR(jstr(jpath(r, "metadata.namespace")), "ml");
    CHECK_INT(jint(jgetc(r, "revision"), 0), 1);
    jval labels = jpath(r, "metadata.labels");
    CHECK_CSTR(jstr(jget(labels, STR("app.kubernetes.io/managed-by"))), "grove-operator");
    CHECK_CSTR(jstr(jget(labels, STR("app.kubernetes.io/part-of"))), "svc");
    CHECK_STR(jstr(jget(labels, STR("grove.io/podcliqueset-generation-hash"))), d.hash);
    jval owner = jat(jpath(r, "metadata.ownerReferences"), 0);
    CHECK_CSTR(jtext(owner), "{\"apiVersion\":\"grove.io/v1alpha1\",\"kind\":\"PodCliqueSet\","
                             "\"name\":\"svc\",\"uid\":\"u-1\",\"controller\":true,"
                             "\"blockOwnerDeletion\":true}");
    CHECK_CSTR(jtext(jpath(r, "data.template")),
               "{\"cliques\":[{\"name\":\"fe\",\"labels\":{\"a\":\"b\"},\"spec\":{\"podSpec\":"
               "{\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}},{\"name\":\"pw\",\"spec\":"
               "{\"podSpec\":{\"containers\":[{\"name\":\"c\",\"image\":\"a\"}]}}}]}");
    CHECK_STR(jstr(jpath(r, "data.templateHashes.fe")), revision_hash(&d, STR("fe")));
    CHECK(!str_is_empty(revision_hash(&d, STR("pw"))));
    CHECK(str_is_empty(revision_hash(&d, STR("nope"))));
    doc_unref(d.create);
    arena_done(&arena);
}

TEST(nothing_is_written_while_the_template_stays)
{
    struct history h = {0};
    struct revision_decision first = decide(set_of(FE("a")), &h);
    /* Numbers, order of keys and empty members are not what pods are made of. */
    struct obj *again = set_of("{name: fe, annotations: {}, labels: {a: b}, spec: {minAvailable: "
                               "1, replicas: 9, podSpec: {volumes: [], containers: [{image: a, "
                               "name: c}]}}}");
    struct revision_decision second = decide(again, &h);
    CHECK_INT(h.n, 1);
    CHECK(second.current == h.items[0] && !second.update && !second.renumber);
    CHECK_STR(second.hash, first.hash);
    CHECK_STR(revision_hash(&second, STR("fe")), revision_hash(&first, STR("fe")));
    arena_done(&arena);
}

TEST(a_change_is_a_new_revision_and_keeps_the_names_of_other_cliques)
{
    struct history h = {0};
    struct revision_decision a = decide(set_of(FE("a") ", " PW("a")), &h);
    struct revision_decision b = decide(set_of(FE("b") ", " PW("a")), &h);
    CHECK_INT(b.number, 2);
    CHECK(b.update && h.n == 2);
    CHECK(!str_eq(a.hash, b.hash));
    CHECK(!str_eq(revision_hash(&a, STR("fe")), revision_hash(&b, STR("fe"))));
    CHECK_STR(revision_hash(&b, STR("pw")), revision_hash(&a, STR("pw")));
    CHECK(revision_current(set_of(FE("b") ", " PW("a")), h.items, h.n) == h.items[1]);
    CHECK(revision_current(set_of(FE("c") ", " PW("a")), h.items, h.n) == NULL);
    CHECK(revision_by_hash(h.items, h.n, a.hash) == h.items[0]);
    CHECK(revision_by_hash(h.items, h.n, STR("nope")) == NULL);
    CHECK(revision_by_hash(h.items, h.n, STR_NONE) == NULL);
    arena_done(&arena);
}

TEST(going_back_makes_the_old_revision_the_newest)
{
    struct history h = {0};
    struct revision_decision a = decide(set_of(FE("a")), &h), b = decide(set_of(FE("b")), &h);
    struct revision_input in = input(set_of(FE("a")), &h);
    struct revision_decision back;
    revision_decide(&arena, &in, &back);
    CHECK(back.create == NULL && back.renumber == h.items[0] && back.update);
    CHECK_CSTR(doc_text(back.patch), "{\"revision\":3}");
    CHECK_STR(back.hash, a.hash);
    store(&h, &back);
    CHECK_INT(revision_number(h.items[0]), 3);
    struct revision_decision again = decide(set_of(FE("a")), &h);
    CHECK(!again.renumber && !again.update && again.number == 3);
    (void)b;
    arena_done(&arena);
}

TEST(priority_of_the_set_counts_and_that_of_the_pod_does_not)
{
    struct history h = {0};
    (void)decide(set_of("{name: x, spec: {podSpec: {a: 1}}}"), &h);
    struct revision_decision pod =
        decide(set_of("{name: x, spec: {podSpec: {a: 1, priorityClassName: p}}}"), &h);
    CHECK(!pod.update && h.n == 1);
    struct obj *set = object(&kind_pcs, "{" META ", spec: {template: {priorityClassName: p, "
                                        "cliques: [{name: x, spec: {podSpec: {a: 1}}}]}}}");
    struct revision_decision all = decide(set, &h);
    CHECK(all.update && h.n == 2);
    arena_done(&arena);
}

TEST(another_order_of_cliques_is_the_same_generation)
{
    struct history h = {0};
    struct revision_decision a = decide(set_of(FE("a") ", " PW("a")), &h);
    struct revision_decision b = decide(set_of(PW("a") ", " FE("a")), &h);
    CHECK_STR(b.hash, a.hash);
    CHECK_INT(b.number, 1);
    CHECK_INT((int64_t)h.n, 1);
    CHECK_STR(revision_hash(&b, STR("fe")), revision_hash(&a, STR("fe")));
    CHECK_STR(revision_hash(&b, STR("pw")), revision_hash(&a, STR("pw")));
    CHECK_STR(decide(set_of(PW("b") ", " FE("a")), &h).hash,
              decide(set_of(FE("a") ", " PW("b")), &h).hash);
    arena_done(&arena);
}

#define POD(spec) "{name: fe, spec: {podSpec: {" spec "}}}"

/* Left and right make the same pods, or do not. */
static const struct rewording {
    const char *what, *left, *right;
    bool same;
} rewordings[] = {
    {"an amount as number and text",
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {cpu: 40}}}]"),
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {cpu: '40'}}}]"), true},
    {"an amount in thousandths",
     POD("containers: [{name: c, image: 'i:1', resources: {limits: {cpu: 0.5}}}]"),
     POD("containers: [{name: c, image: 'i:1', resources: {limits: {cpu: 500m}}}]"), true},
    {"a fraction of a binary unit",
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {memory: 0.08Gi}}}]"),
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {memory: 81.92Mi}}}]"), true},
    {"binary and decimal units",
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {memory: 1Ki}}}]"),
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {memory: 1024}}}]"), true},
    {"another amount",
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {memory: 1Ki}}}]"),
     POD("containers: [{name: c, image: 'i:1', resources: {requests: {memory: 1k}}}]"), false},
    {"containers in another order",
     POD("containers: [{name: a, image: 'i:1'}, {name: b, image: 'i:2'}]"),
     POD("containers: [{name: b, image: 'i:2'}, {name: a, image: 'i:1'}]"), true},
    {"volumes in another order", POD("volumes: [{name: a, emptyDir: {}}, {name: b}]"),
     POD("volumes: [{name: b}, {name: a, emptyDir: {}}]"), true},
    {"ports in another order",
     POD("containers: [{name: a, ports: [{containerPort: 1}, {containerPort: 2}]}]"),
     POD("containers: [{name: a, ports: [{containerPort: 2}, {containerPort: 1}]}]"), true},
    {"init containers in another order",
     POD("initContainers: [{name: a, image: 'i:1'}, {name: b, image: 'i:2'}]"),
     POD("initContainers: [{name: b, image: 'i:2'}, {name: a, image: 'i:1'}]"), false},
    {"variables in another order",
     POD("containers: [{name: a, env: [{name: X, value: '1'}, {name: Y, value: $(X)}]}]"),
     POD("containers: [{name: a, env: [{name: Y, value: $(X)}, {name: X, value: '1'}]}]"), false},
    {"words of a command in another order", POD("containers: [{name: a, command: [x, y]}]"),
     POD("containers: [{name: a, command: [y, x]}]"), false},
    {"defaults of a pod", POD("containers: [{name: a, image: 'i:1', ports: [{containerPort: 1}]}]"),
     POD("restartPolicy: Always, dnsPolicy: ClusterFirst, schedulerName: default-scheduler, "
         "terminationGracePeriodSeconds: 30, securityContext: {}, containers: [{name: a, image: "
         "'i:1', imagePullPolicy: IfNotPresent, terminationMessagePath: /dev/termination-log, "
         "terminationMessagePolicy: File, resources: {}, ports: [{containerPort: 1, protocol: "
         "TCP}]}]"),
     true},
    {"an image that moves is pulled each time", POD("containers: [{name: a, image: 'r:5/i'}]"),
     POD("containers: [{name: a, image: 'r:5/i', imagePullPolicy: Always}]"), true},
    {"a policy that is not the default", POD("containers: [{name: a, image: 'i:1'}]"),
     POD("containers: [{name: a, image: 'i:1', imagePullPolicy: Always}]"), false},
    {"a field nobody knows", POD("containers: [{name: a}], news: [1, 2]"),
     POD("containers: [{name: a}], news: [2, 1]"), false},
};

TEST(other_words_for_the_same_pods_are_the_same_revision)
{
    for (size_t i = 0; i < ARRAY_LEN(rewordings); i++) {
        const struct rewording *r = &rewordings[i];
        struct history h = {0};
        struct revision_decision a = decide(set_of(r->left), &h), b = decide(set_of(r->right), &h);
        if (!CHECK(str_eq(a.hash, b.hash) == r->same &&
                   str_eq(revision_hash(&a, STR("fe")), revision_hash(&b, STR("fe"))) == r->same))
            test_note("%s", r->what);
        CHECK(h.n == (r->same ? 1 : 2));
    }
    arena_done(&arena);
}

/* A Grove that hashes differently has stored names we would not give: they stay. */
static struct obj *foreign_revision(const char *fe)
{
    return object(&kind_controller_revision,
                  "{metadata: {name: svc-old, namespace: ml, resourceVersion: '3'}, revision: 4, "
                  "data: {generationHash: old-gen, templateHashes: {fe: old-fe, pw: old-pw}, "
                  "template: {cliques: [%s, " PW("a") "]}}}",
                  fe);
}

TEST(stored_names_outlive_the_way_they_were_made)
{
    struct history h = {.items = {foreign_revision(FE("a"))}, .n = 1};
    struct revision_decision d = decide(set_of(FE("a") ", " PW("a")), &h);
    CHECK(!d.update && h.n == 1);
    CHECK_CSTR(d.hash, "old-gen");
    CHECK_CSTR(revision_hash(&d, STR("fe")), "old-fe");
    d = decide(set_of(FE("b") ", " PW("a")), &h);
    CHECK(d.update && d.number == 5);
    CHECK_CSTR(revision_hash(&d, STR("pw")), "old-pw");
    CHECK(!str_is(revision_hash(&d, STR("fe")), "old-fe"));
    arena_done(&arena);
}

TEST(a_name_is_never_given_to_other_content)
{
    struct history clean = {0}, h = {0};
    struct revision_decision want = decide(set_of(FE("b")), &clean);
    /* Somebody stored other content under the very names we would give. */
    h.items[h.n++] =
        object(&kind_controller_revision,
               "{metadata: {name: x, namespace: ml}, revision: 1, data: {generationHash: %.*s, "
               "templateHashes: {fe: %.*s}, template: {cliques: [" FE("a") "]}}}",
               STR_ARG(want.hash), STR_ARG(revision_hash(&want, STR("fe"))));
    struct revision_decision d = decide(set_of(FE("b")), &h);
    CHECK(d.update);
    CHECK(!str_eq(d.hash, want.hash));
    CHECK(!str_eq(revision_hash(&d, STR("fe")), revision_hash(&want, STR("fe"))));
    arena_done(&arena);
}

TEST(hashes_are_label_values_of_twenty_characters_at_most)
{
    struct history h = {0};
    struct revision_decision d = decide(set_of(FE("a") ", " PW("a")), &h);
    CHECK(d.hash.len <= 20 && str_is_label_value(d.hash));
    for (size_t i = 0; i < d.hash.len; i++)
        CHECK(str_find_char(STR("456789bcdf"), d.hash.p[i]) >= 0);
    arena_done(&arena);
}

/* ---- history ---- */

static bool named_in_use(void *ctx, str clique, str hash)
{
    return !str_is_empty(clique) && str_eq(hash, *(str *)ctx);
}

TEST(old_revisions_go_beyond_the_limit_but_none_that_is_in_use)
{
    struct history h = {0};
    str used = STR_NONE;
    for (int i = 0; i < 6; i++) {
        str clique = arena_printf(&arena, "{name: fe, spec: {podSpec: {a: %d}}}", i);
        struct revision_input in = input(set_of(clique.p), &h);
        struct revision_decision d;
        in.history_limit = 2;
        in.in_use = named_in_use;
        in.ctx = &used;
        revision_decide(&arena, &in, &d);
        if (i == 1)
            used = revision_hash(&d, STR("fe"));
        store(&h, &d);
    }
    /* the current one (6), two old ones (5, 4), and 2 with its child */
    int64_t sum = 0;
    for (size_t i = 0; i < h.n; i++)
        sum += (int64_t)1 << revision_number(h.items[i]);
    CHECK_INT(sum, 1 << 6 | 1 << 5 | 1 << 4 | 1 << 2);
    arena_done(&arena);
}

TEST(what_the_current_revision_calls_a_clique_keeps_no_other_revision)
{
    struct history h = {0};
    struct revision_decision first = decide(set_of(FE("a") ", " PW("a")), &h);
    str used = revision_hash(&first, STR("pw")); /* the same in all of them */
    for (int i = 0; i < 3; i++) {
        str cliques = arena_printf(&arena, "{name: fe, spec: {podSpec: {a: %d}}}, " PW("a"), i);
        struct revision_input in = input(set_of(cliques.p), &h);
        struct revision_decision d;
        in.history_limit = 0;
        in.in_use = named_in_use;
        in.ctx = &used;
        revision_decide(&arena, &in, &d);
        store(&h, &d);
    }
    CHECK_INT(h.n, 1);
    arena_done(&arena);
}

static struct obj *with_cause(const char *cause, const char *image)
{
    return object(&kind_pcs,
                  "{metadata: {name: svc, namespace: ml, uid: u-1, annotations: {"
                  "kubernetes.io/change-cause: '%s'}}, spec: {template: {cliques: [{name: fe, "
                  "spec: {podSpec: {containers: [{name: c, image: %s}]}}}]}}}",
                  cause, image);
}

TEST(the_cause_is_the_users_or_what_changed)
{
    struct history h = {0};
    (void)decide(with_cause("", "a"), &h);
    CHECK_CSTR(revision_cause(h.items[0]), "");
    (void)decide(with_cause("", "b"), &h);
    CHECK_CSTR(revision_cause(h.items[1]),
               "cliques[0].spec.podSpec.containers[0].image: \"a\" -> \"b\"");
    (void)decide(with_cause("release 7", "c"), &h);
    CHECK_CSTR(revision_cause(h.items[2]), "release 7");
    (void)decide(with_cause("release 8", "d, workingDir: /x"), &h);
    (void)decide(with_cause("", "e, workingDir: /y"), &h);
    CHECK_CSTR(revision_cause(h.items[4]),
               "cliques[0].spec.podSpec.containers[0].image: \"d\" -> \"e\"; "
               "cliques[0].spec.podSpec.containers[0].workingDir: \"/x\" -> \"/y\"");
    arena_done(&arena);
}

/* ---- undo ---- */

TEST(undo_puts_the_pods_back_and_leaves_numbers)
{
    struct history h = {0};
    struct err err = ERR_INIT;
    (void)decide(set_of(FE("a") ", " PW("a")), &h);
    struct obj *now =
        object(&kind_pcs, "{" META ", spec: {replicas: 5, template: "
                          "{priorityClassName: p, cliques: [{name: fe, annotations: "
                          "{n: m}, spec: {replicas: 8, " IMAGE("b") "}}, " PW("b") "]}}}");
    struct doc *d = revision_restore(now, h.items[0], &err);
    REQUIRE(d != NULL);
    jval t = jpath(doc_root(d), "spec.template");
    CHECK(revision_same(t, revision_template(h.items[0])));
    CHECK_INT(jint(jpath(doc_root(d), "spec.replicas"), 0), 5);
    CHECK_INT(jint(jpath(jat(jgetc(t, "cliques"), 0), "spec.replicas"), 0), 8);
    doc_unref(d);
    CHECK(revision_restore(set_of(FE("a")), h.items[0], &err) == NULL);
    CHECK(revision_restore(set_of(FE("a") ", {name: other, spec: {}}"), h.items[0], &err) == NULL);
    arena_done(&arena);
}

/* ---- take-over ---- */

/* As upstream's operator leaves it (spec/api 5.1, 6.2): its labels, its environment variables in
 * what scaling groups own. */
static struct obj *upstream_set(const char *cliques)
{
    return object(&kind_pcs,
                  "{" META ", spec: {template: {cliques: [%s], podCliqueScalingGroups: [{name: pf, "
                  "cliqueNames: [pw]}]}}, status: {currentGenerationHash: gen-up}}",
                  cliques);
}

static struct obj *upstream_fe(const char *hash, const char *image)
{
    return object(
        &kind_pclq,
        "{metadata: {name: svc-0-fe, namespace: ml, labels: {a: b, extra: mark, "
        "app.kubernetes.io/part-of: svc, grove.io/podcliqueset-replica-index: '0', "
        "grove.io/pod-template-hash: %s}}, spec: {podSpec: {containers: [{name: c, image: "
        "%s}]}}}",
        hash, image);
}

static struct obj *upstream_pw(int g, const char *hash, const char *image)
{
    return object(
        &kind_pclq,
        "{metadata: {name: svc-0-pf-%d-pw, namespace: ml, labels: {app.kubernetes.io/part-of: svc, "
        "grove.io/podcliqueset-replica-index: '0', grove.io/podcliquescalinggroup: svc-0-pf, "
        "grove.io/podcliquescalinggroup-replica-index: '%d', grove.io/pod-template-hash: %s}}, "
        "spec: {podSpec: {resourceClaims: [{name: mnnvl-claim, resourceClaimTemplateName: "
        "svc-0-g}], containers: [{name: c, image: %s, resources: {claims: [{name: mnnvl-claim}]}, "
        "env: [{name: GROVE_PCSG_NAME, value: x}, {name: GROVE_PCSG_TEMPLATE_NUM_PODS, value: "
        "'4'}, {name: GROVE_PCSG_INDEX, value: x}]}]}}}",
        g, g, hash, image);
}

static struct revision_decision take_over(const char *cliques, struct obj *const *live, size_t n,
                                          struct history *h)
{
    struct revision_input in = input(upstream_set(cliques), h);
    struct revision_decision d;
    in.cliques = live;
    in.n_cliques = n;
    revision_decide(&arena, &in, &d);
    store(h, &d);
    return d;
}

TEST(take_over_calls_everything_what_it_is_called)
{
    struct history h = {0};
    struct obj *live[] = {upstream_fe("fe-up", "a"), upstream_pw(0, "pw-up", "a"),
                          upstream_pw(1, "pw-up", "a")};
    struct revision_decision d = take_over(FE("a") ", " PW("a"), live, ARRAY_LEN(live), &h);
    CHECK(d.adopted && !d.update && d.number == 1 && h.n == 1);
    CHECK_CSTR(d.hash, "gen-up");
    CHECK_CSTR(revision_hash(&d, STR("fe")), "fe-up");
    CHECK_CSTR(revision_hash(&d, STR("pw")), "pw-up");
    /* From then on it is as if it had always been ours. */
    d = take_over(FE("a") ", " PW("a"), live, ARRAY_LEN(live), &h);
    CHECK(!d.adopted && !d.update && h.n == 1);
    CHECK_CSTR(d.hash, "gen-up");
    d = take_over(FE("a") ", " PW("b"), live, ARRAY_LEN(live), &h);
    CHECK(d.update && d.number == 2);
    CHECK_CSTR(revision_hash(&d, STR("fe")), "fe-up");
    CHECK(!str_is(revision_hash(&d, STR("pw")), "pw-up"));
    arena_done(&arena);
}

/* Upstream was replacing replicas of the group when it went: the one that is done is called right,
 * the other one is not of this template. */
TEST(take_over_in_the_middle_of_an_update_goes_on_with_it)
{
    struct history h = {0};
    struct obj *live[] = {upstream_fe("fe-up", "a"), upstream_pw(0, "pw-old", "old"),
                          upstream_pw(1, "pw-new", "a")};
    struct revision_decision d = take_over(FE("a") ", " PW("a"), live, ARRAY_LEN(live), &h);
    CHECK(d.adopted);
    CHECK_CSTR(d.hash, "gen-up");
    CHECK_CSTR(revision_hash(&d, STR("pw")), "pw-new");
    CHECK(revision_names(h.items[0], STR("pw"), STR("pw-new")));
    CHECK(!revision_names(h.items[0], STR("pw"), STR("pw-old")));
    arena_done(&arena);
}

/* The template changed while no operator ran: only the clique it changed may roll. */
TEST(take_over_rolls_only_what_was_changed_meanwhile)
{
    struct history h = {0};
    struct obj *live[] = {upstream_fe("fe-up", "a"), upstream_pw(0, "pw-up", "a")};
    struct revision_decision d = take_over(FE("a") ", " PW("b"), live, ARRAY_LEN(live), &h);
    CHECK(d.adopted && d.update);
    CHECK(!str_is(d.hash, "gen-up"));
    CHECK_CSTR(revision_hash(&d, STR("fe")), "fe-up");
    CHECK(!str_is(revision_hash(&d, STR("pw")), "pw-up"));
    arena_done(&arena);
}

TEST(two_names_of_the_same_content_are_both_kept)
{
    struct history h = {0};
    struct obj *live[] = {upstream_fe("fe-up", "a"), upstream_pw(0, "pw-1", "a"),
                          upstream_pw(1, "pw-2", "a"), upstream_pw(2, "pw-1", "a")};
    struct revision_decision d = take_over(FE("a") ", " PW("a"), live, ARRAY_LEN(live), &h);
    CHECK_CSTR(revision_hash(&d, STR("pw")), "pw-1");
    CHECK(revision_names(h.items[0], STR("pw"), STR("pw-1")));
    CHECK(revision_names(h.items[0], STR("pw"), STR("pw-2")));
    CHECK(!revision_names(h.items[0], STR("pw"), STR("pw-3")));
    CHECK(!revision_names(h.items[0], STR("pw"), STR_NONE));
    arena_done(&arena);
}

TEST(a_live_clique_is_compared_without_what_operators_add)
{
    static const struct {
        const char *clique;
        bool same;
    } cases[] = {
        {PW("a"), true},
        {PW("b"), false},
        {"{name: pw, labels: {x: v}, spec: {" IMAGE("a") "}}", false},
        {"{name: pw, annotations: {x: v}, spec: {" IMAGE("a") "}}", false},
        {"{name: pw, labels: {grove.io/podgang: mine}, spec: {" IMAGE("a") "}}", true},
        {"{name: pw, annotations: {grove.io/topology-name: t}, spec: {" IMAGE("a") "}}", true},
        {"{name: pw, spec: {podSpec: {priorityClassName: p, containers: [{name: c, image: a}]}}}",
         true},
        {"{name: pw, spec: {podSpec: {containers: [{name: c, image: a, env: [{name: "
         "GROVE_PCSG_INDEX, value: mine}]}]}}}",
         true},
        {"{name: pw, spec: {podSpec: {containers: [{name: c, image: a, env: [{name: A, value: "
         "b}]}]}}}",
         false},
        {"{name: pw, spec: {podSpec: {containers: [{name: c, image: a, resources: {limits: {cpu: "
         "1}}}]}}}",
         false},
    };
    struct obj *live = upstream_pw(0, "h", "a");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        jval clique = jat(jpath(obj_root(set_of(cases[i].clique)), "spec.template.cliques"), 0);
        if (!CHECK(revision_is_live(clique, live) == cases[i].same))
            test_note("%s", cases[i].clique);
    }
    arena_done(&arena);
}

/* Nobody's objects: a set without replicas, and one whose status is ours to begin. */
TEST(without_live_objects_nothing_is_taken_over)
{
    struct history h = {0};
    struct revision_decision d = take_over(FE("a") ", " PW("a"), NULL, 0, &h);
    CHECK(!d.adopted && !d.update);
    CHECK(!str_is(d.hash, "gen-up"));
    arena_done(&arena);
}

TEST(texts_that_are_no_names_are_taken_over_all_the_same)
{
    struct history h = {0};
    struct obj *pcs = object(&kind_pcs, "{" META ", spec: {template: {cliques: [" FE(
                                            "a") "]}}, "
                                                 "status: {currentGenerationHash: 'NOT a/name'}}");
    struct obj *live[] = {upstream_fe("'fe-up'", "a")};
    struct revision_input in = input(pcs, &h);
    struct revision_decision d;
    in.cliques = live;
    in.n_cliques = 1;
    revision_decide(&arena, &in, &d);
    CHECK_CSTR(d.hash, "NOT a/name");
    CHECK(str_is_dns1123_subdomain(d.name));
    CHECK(j_is_absent(jget(jpath(doc_root(d.create), "metadata.labels"),
                           STR("grove.io/podcliqueset-generation-hash"))));
    doc_unref(d.create);
    arena_done(&arena);
}

/* Labels have what is left of the set's name; the owner is named in full. */
TEST(cliques_with_long_names_are_taken_over_too)
{
#define LONG "a-set-with-a-name-that-is-longer-than-the-value-of-any-label-may-be"
    struct history h = {0};
    struct obj *pcs =
        object(&kind_pcs, "{metadata: {name: " LONG ", namespace: ml, uid: u}, spec: "
                          "{template: {cliques: [" FE("a") "]}}, status: "
                                                           "{currentGenerationHash: gen-up}}");
    struct obj *live[] = {object(
        &kind_pclq,
        "{metadata: {name: " LONG "-0-fe, namespace: ml, labels: {a: b, app.kubernetes.io/part-of: "
        "%s, grove.io/podcliqueset-replica-index: '0', grove.io/pod-template-hash: fe-up}, "
        "ownerReferences: [{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: " LONG
        ", uid: u, controller: true}]}, spec: {podSpec: {containers: [{name: c, image: a}]}}}",
        name_label(&arena, STR(LONG)).p)};
    struct revision_input in = input(pcs, &h);
    struct revision_decision d;
    in.cliques = live;
    in.n_cliques = 1;
    revision_decide(&arena, &in, &d);
    REQUIRE(d.n_cliques == 1);
    CHECK_CSTR(d.cliques[0].hash, "fe-up");
    doc_unref(d.create);
    arena_done(&arena);
}

TEST(nonsense_in_stored_revisions_is_only_other_content)
{
    static const char *const odd[] = {
        "{metadata: {name: x}, revision: many, data: []}",
        "{metadata: {name: x}, data: {template: 7, templateHashes: [a], otherHashes: {fe: b}}}",
        "{metadata: {name: x}, data: {template: {cliques: {fe: 1}}, templateHashes: {fe: {}}}}",
        "{metadata: {name: x}, data: {template: {cliques: [1, {name: fe}]}}}",
    };
    for (size_t i = 0; i < ARRAY_LEN(odd); i++) {
        struct history h = {.items = {object(&kind_controller_revision, "%s", odd[i])}, .n = 1};
        struct revision_decision d = decide(set_of(FE("a")), &h);
        CHECK(!str_is_empty(d.hash) && !str_is_empty(revision_hash(&d, STR("fe"))));
        CHECK_INT(h.n, 2);
        arena_done(&arena);
    }
}
