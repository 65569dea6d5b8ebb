/* Startup order: the worked example of the contract, and the container that waits. */
#include "base/test.h"
#include "kube/pod_security.h"
#include "operator/common/startup.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

/* Cliques a (alone), b and c (group g, 3 replicas, 2 at least); b needs 2 ready pods. */
#define ORDERED(type, b_after, c_after)                                                         \
    "apiVersion: grove.io/v1alpha1\n"                                                           \
    "kind: PodCliqueSet\n"                                                                      \
    "metadata: {name: p, uid: p-uid}\n"                                                         \
    "spec:\n"                                                                                   \
    "  replicas: 1\n"                                                                           \
    "  template:\n"                                                                             \
    "    cliqueStartupType: CliqueStartupType" type "\n"                                        \
    "    cliques:\n"                                                                            \
    "    - name: a\n"                                                                           \
    "      spec: {replicas: 1, podSpec: {containers: [{name: m}], volumes: [{name: v}]}}\n"     \
    "    - name: b\n"                                                                           \
    "      spec: {replicas: 3, minAvailable: 2, startsAfter: [" b_after "], podSpec: "          \
    "{containers: [{name: m}]}}\n"                                                              \
    "    - name: c\n"                                                                           \
    "      spec: {replicas: 1, startsAfter: [" c_after "], podSpec: {containers: [{name: m}], " \
    "volumes: [{name: v}], initContainers: [{name: mine}]}}\n"                                  \
    "    podCliqueScalingGroups:\n"                                                             \
    "    - {name: g, cliqueNames: [b, c], replicas: 3, minAvailable: 2}\n"

static struct ring ordered(const char *yaml)
{
    struct ring r = ring_new();
    tw_load(r.world, yaml);
    (void)ring_settle(&r);
    return r;
}

static void check_parents(struct ring *r, const char *clique, const char *want)
{
    CHECK_CSTR(tw_json(tw_must(r->world, &kind_pclq, clique), "spec.startsAfter"), want);
}

TEST(in_order_waits_for_the_clique_before)
{
    struct ring r = ordered(ORDERED("InOrder", "", ""));
    check_parents(&r, "p-0-a", "");
    check_parents(&r, "p-0-g-0-b", "[\"p-0-a\"]");
    check_parents(&r, "p-0-g-1-b", "[\"p-0-a\"]");
    check_parents(&r, "p-0-g-0-c", "[\"p-0-g-0-b\",\"p-0-g-1-b\"]");
    check_parents(&r, "p-0-g-1-c", "[\"p-0-g-0-b\",\"p-0-g-1-b\"]");
    /* Scaled: of its own group only its own replica, of all else what the base gang has. */
    check_parents(&r, "p-0-g-2-b", "[\"p-0-a\"]");
    check_parents(&r, "p-0-g-2-c", "[\"p-0-g-2-b\"]");
    ring_free(&r);
}

TEST(explicit_waits_for_those_it_names)
{
    struct ring r = ordered(ORDERED("Explicit", "a", "a, b"));
    check_parents(&r, "p-0-a", "");
    check_parents(&r, "p-0-g-1-b", "[\"p-0-a\"]");
    check_parents(&r, "p-0-g-0-c", "[\"p-0-a\",\"p-0-g-0-b\",\"p-0-g-1-b\"]");
    check_parents(&r, "p-0-g-2-b", "[\"p-0-a\"]");
    check_parents(&r, "p-0-g-2-c", "[\"p-0-a\",\"p-0-g-2-b\"]");
    ring_free(&r);
}

/* Two groups, h with two base replicas of three: a scaled replica of g waits for those two. */
TEST(a_scaled_replica_waits_for_the_base_replicas_of_another_group)
{
    struct ring r = ordered("apiVersion: grove.io/v1alpha1\n"
                            "kind: PodCliqueSet\n"
                            "metadata: {name: p, uid: p-uid}\n"
                            "spec:\n"
                            "  replicas: 1\n"
                            "  template:\n"
                            "    cliqueStartupType: CliqueStartupTypeInOrder\n"
                            "    cliques:\n"
                            "    - {name: u, spec: {replicas: 2, minAvailable: 2, podSpec: "
                            "{containers: [{name: m}]}}}\n"
                            "    - {name: v, spec: {replicas: 1, podSpec: {containers: "
                            "[{name: m}]}}}\n"
                            "    podCliqueScalingGroups:\n"
                            "    - {name: h, cliqueNames: [u], replicas: 3, minAvailable: 2}\n"
                            "    - {name: g, cliqueNames: [v], replicas: 2, minAvailable: 1}\n");
    check_parents(&r, "p-0-h-2-u", "");
    check_parents(&r, "p-0-g-0-v", "[\"p-0-h-0-u\",\"p-0-h-1-u\"]");
    check_parents(&r, "p-0-g-1-v", "[\"p-0-h-0-u\",\"p-0-h-1-u\"]");
    ring_free(&r);
}

TEST(any_order_waits_for_nobody)
{
    struct ring r = ordered(ORDERED("AnyOrder", "a", "a, b"));
    check_parents(&r, "p-0-g-0-b", "");
    check_parents(&r, "p-0-g-0-c", "");
    ring_free(&r);
}

static struct obj *any_pod(struct ring *r, const char *clique)
{
    const struct obj *o = tw_must(r->world, &kind_pclq, clique);
    struct cache_iter it = world_owned(&r->world->world, &kind_pod, o->uid);
    struct obj *pod = cache_next(&it);
    REQUIRE(pod != NULL);
    return pod;
}

/* What the API server adds to every container. */
#define KUBERNETES_DEFAULTS                                                                   \
    "resources: {}\nterminationMessagePath: /dev/termination-log\nterminationMessagePolicy: " \
    "File\n"

/* After the user's init containers and volumes; without Grove's variables. */
TEST(a_pod_that_waits_has_the_container_and_its_volumes)
{
    struct ring r = ordered(ORDERED("InOrder", "", ""));
    jval spec = obj_spec(any_pod(&r, "p-0-g-0-c"));
    CHECK_INT(jlen(jgetc(spec, "initContainers")), 2);
    CHECK_CSTR(jstr(jgetc(jat(jgetc(spec, "initContainers"), 0), "name")), "mine");
    check_yaml(
        jat(jgetc(spec, "initContainers"), 1),
        "name: grove-initc\n"
        "image: grove-initc:" GROVE_VERSION "\n"
        "args: ['--podcliques=p-0-g-0-b:2', '--podcliques=p-0-g-1-b:2']\n" KUBERNETES_DEFAULTS
        "volumeMounts:\n"
        "- {name: pod-info-vol, mountPath: /var/grove/pod-info, readOnly: true}\n"
        "- {name: sa-token-secret-vol, readOnly: true,\n"
        "   mountPath: /var/run/secrets/kubernetes.io/serviceaccount}\n"
        "securityContext:\n"
        "  allowPrivilegeEscalation: false\n"
        "  capabilities: {drop: [ALL]}\n"
        "  runAsNonRoot: true\n"
        "  seccompProfile: {type: RuntimeDefault}\n");
    check_yaml(
        jgetc(spec, "volumes"),
        "- name: v\n"
        "- {name: sa-token-secret-vol, secret: {secretName: p-ic-sat, defaultMode: 420}}\n"
        "- name: pod-info-vol\n"
        "  downwardAPI:\n"
        "    defaultMode: 420\n"
        "    items:\n"
        "    - {path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}\n"
        "    - {path: podgangname, fieldRef: {apiVersion: v1, fieldPath:\n"
        "       \"metadata.labels['grove.io/podgang']\"}}\n");
    ring_free(&r);
}

#define TIGHT                                                                                  \
    "containers: [{name: x, securityContext: {allowPrivilegeEscalation: false, capabilities: " \
    "{drop: [ALL]}, runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}}]"

/* With the container that waits and its volumes, a pod is as restricted as its user wrote it. */
TEST(a_pod_that_waits_meets_the_level_that_its_template_meets)
{
    static const struct {
        const char *pod;
        const char *violates; /* of the restricted level */
        bool root;            /* may be */
    } cases[] = {
        {TIGHT, "", false},
        {"securityContext: {runAsUser: 0}, " TIGHT, "runAsNonRoot != true, runAsUser=0", true},
        {"securityContext: {runAsNonRoot: false}, " TIGHT, "runAsNonRoot != true", true},
        {"hostPID: true, " TIGHT, "host namespaces", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ring r = ring_new();
        struct arena a = ARENA_INIT;
        tw_load(
            r.world,
            arena_printf(&a,
                         "apiVersion: grove.io/v1alpha1\n"
                         "kind: PodCliqueSet\n"
                         "metadata: {name: p, uid: p-uid}\n"
                         "spec:\n"
                         "  replicas: 1\n"
                         "  template:\n"
                         "    cliqueStartupType: CliqueStartupTypeInOrder\n"
                         "    cliques:\n"
                         "    - {name: a, spec: {replicas: 1, minAvailable: 1, podSpec: {}}}\n"
                         "    - {name: b, spec: {replicas: 1, minAvailable: 1, podSpec: {%s}}}\n",
                         cases[i].pod)
                .p);
        (void)ring_settle(&r);
        const struct obj *pod = any_pod(&r, "p-0-b");
        jval init = jat(jgetc(obj_spec(pod), "initContainers"), 0);
        CHECK_CSTR(jstr(jgetc(init, "name")), "grove-initc");
        CHECK_INT(j_is_absent(jpath(init, "securityContext.runAsNonRoot")), cases[i].root);
        struct pod_security level = {POD_SECURITY_RESTRICTED, POD_SECURITY_LATEST};
        str got = pod_security_judge(&a, level, pod->meta, obj_spec(pod)).reasons;
        if (!CHECK_CSTR(got, cases[i].violates))
            test_note("%s", cases[i].pod);
        arena_done(&a);
        ring_free(&r);
    }
}

TEST(a_pod_that_waits_for_nobody_has_neither)
{
    struct ring r = ordered(ORDERED("InOrder", "", ""));
    jval spec = obj_spec(any_pod(&r, "p-0-a"));
    CHECK(j_is_absent(jgetc(spec, "initContainers")));
    CHECK_INT(jlen(jgetc(spec, "volumes")), 1);
    /* One without init containers and volumes of its own gets them. */
    spec = obj_spec(any_pod(&r, "p-0-g-0-b"));
    CHECK_INT(jlen(jgetc(spec, "initContainers")), 1);
    CHECK_INT(jlen(jgetc(spec, "volumes")), 2);
    ring_free(&r);
}

static void keep(char buf[128], str text)
{
    (void)snprintf(buf, 128, "%.*s", STR_ARG(text));
}

static str args_of(const struct obj *pod)
{
    struct jiter it = jiter(jgetc(obj_spec(pod), "initContainers"));
    str args = STR_NONE;
    while (jnext(&it))
        args = jtext(jgetc(it.value, "args"));
    return args;
}

static size_t files_of(const struct obj *pod)
{
    size_t n = 0;
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "volumes")); jnext(&it);)
        n += jlen(jpath(it.value, "downwardAPI.items"));
    return n;
}

/* Its parents are in the base gang: it is not told a gang to count pods of. */
TEST(a_pod_of_a_scaled_gang_counts_pods_of_any_gang)
{
    struct ring r = ordered(ORDERED("Explicit", "a", "a, b"));
    const struct obj *base = any_pod(&r, "p-0-g-1-c"), *scaled = any_pod(&r, "p-0-g-2-c");
    CHECK_CSTR(args_of(base), "[\"--podcliques=p-0-a:1\",\"--podcliques=p-0-g-0-b:2\","
                              "\"--podcliques=p-0-g-1-b:2\"]");
    CHECK_INT(files_of(base), 2);
    CHECK_CSTR(args_of(scaled), "[\"--podcliques=p-0-a:1\",\"--podcliques=p-0-g-2-b:2\"]");
    CHECK_INT(files_of(scaled), 1);
    ring_free(&r);
}

/* A version that did not name these parents made the clique: it names them now, and its pods stay
 * as they are. */
TEST(what_an_older_version_made_is_not_made_anew)
{
    struct ring r = ordered(ORDERED("Explicit", "a", "a, b"));
    char uid[128];
    keep(uid, any_pod(&r, "p-0-g-2-b")->uid);
    str hash = obj_label(any_pod(&r, "p-0-g-2-b"), STR(LABEL_TEMPLATE_HASH));
    char before[128];
    keep(before, hash);
    tw_patch(r.world, &kind_pclq, "p-0-g-2-b", "{spec: {startsAfter: null}}");
    (void)ring_settle(&r);
    check_parents(&r, "p-0-g-2-b", "[\"p-0-a\"]");
    CHECK_CSTR(any_pod(&r, "p-0-g-2-b")->uid, uid);
    CHECK_CSTR(obj_label(tw_must(r.world, &kind_pclq, "p-0-g-2-b"), STR(LABEL_TEMPLATE_HASH)),
               before);
    ring_free(&r);
}

/* Fewer than the minimum are wanted, or none: those are waited for, and pods that wait for more are
 * made anew. */
TEST(what_is_not_wanted_is_not_waited_for)
{
    static const struct {
        const char *name;
        int64_t replicas;
        const char *args; /* of a pod of p-0-g-1-c */
    } cases[] = {
        {"p-0-a", 0, "[\"--podcliques=p-0-g-0-b:2\",\"--podcliques=p-0-g-1-b:2\"]"},
        {"p-0-g-0-b", 1,
         "[\"--podcliques=p-0-a:1\",\"--podcliques=p-0-g-0-b:1\",\"--podcliques=p-0-g-1-b:2\"]"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ring r = ordered(ORDERED("Explicit", "a", "a, b"));
        char uid[128], patch[64];
        keep(uid, any_pod(&r, "p-0-g-1-c")->uid);
        snprintf(patch, sizeof(patch), "{spec: {replicas: %lld}}", (long long)cases[i].replicas);
        tw_patch(r.world, &kind_pclq, cases[i].name, patch);
        (void)ring_settle(&r);
        CHECK_CSTR(args_of(any_pod(&r, "p-0-g-1-c")), cases[i].args);
        CHECK(!str_is(any_pod(&r, "p-0-g-1-c")->uid, uid));
        ring_free(&r);
    }
}

/* Its own replica is not wanted any more: it goes with that, and until then waits as it did. */
TEST(a_pod_of_a_replica_that_goes_waits_as_it_did)
{
    struct ring r = ordered(ORDERED("Explicit", "a", "a, b"));
    struct arena a = ARENA_INIT;
    const struct obj *pod = any_pod(&r, "p-0-g-1-c"), *pcs = tw_must(r.world, &kind_pcs, "p");
    tw_patch(r.world, &kind_pcsg, "p-0-g", "{spec: {replicas: 1}}");
    CHECK(!startup_waits_in_vain(&r.world->world, &a, pcs, pod));
    /* The one that stays waited for it. */
    CHECK(startup_waits_in_vain(&r.world->world, &a, pcs, any_pod(&r, "p-0-g-0-c")));
    arena_done(&a);
    ring_free(&r);
}

/* One that was let through stays, whatever becomes of those that it waited for. */
TEST(a_pod_that_was_let_through_waits_no_more)
{
    struct ring r = ordered(ORDERED("Explicit", "a", "a, b"));
    const struct obj *pod = any_pod(&r, "p-0-g-1-c");
    char uid[128], name[128];
    keep(uid, pod->uid);
    keep(name, pod->name);
    tw_patch(r.world, &kind_pod, name,
             "{status: {conditions: [{type: Initialized, status: 'True'}]}}");
    tw_patch(r.world, &kind_pclq, "p-0-a", "{spec: {replicas: 0}}");
    (void)ring_settle(&r);
    CHECK_CSTR(any_pod(&r, "p-0-g-1-c")->uid, uid);
    ring_free(&r);
}

/* "worker" is the end of "prefill-worker": each has its own minimum. */
TEST(a_name_that_ends_alike_is_another_clique)
{
    struct ring r = ring_new();
    tw_load(r.world,
            "apiVersion: grove.io/v1alpha1\n"
            "kind: PodCliqueSet\n"
            "metadata: {name: p, uid: p-uid}\n"
            "spec:\n"
            "  replicas: 1\n"
            "  template:\n"
            "    cliques:\n"
            "    - {name: worker, spec: {replicas: 4, minAvailable: 4, podSpec: {}}}\n"
            "    - {name: prefill-worker, spec: {replicas: 3, minAvailable: 3, podSpec: {}}}\n"
            "    - {name: w, spec: {replicas: 2, minAvailable: 2, podSpec: {}}}\n"
            "    podCliqueScalingGroups:\n"
            "    - {name: g, cliqueNames: [w], replicas: 1, minAvailable: 1}\n");
    struct arena a = ARENA_INIT;
    const struct obj *pcs = tw_must(r.world, &kind_pcs, "p");
    CHECK_INT(startup_need(&r.world->world, &a, pcs, 0, STR("p-0-worker")), 4);
    CHECK_INT(startup_need(&r.world->world, &a, pcs, 0, STR("p-0-prefill-worker")), 3);
    CHECK_INT(startup_need(&r.world->world, &a, pcs, 0, STR("p-0-g-12-w")), 2);
    CHECK_INT(startup_need(&r.world->world, &a, pcs, 0, STR("p-0-g-x-w")), 0);
    CHECK_INT(startup_need(&r.world->world, &a, pcs, 0, STR("p-0-g--w")), 0);
    CHECK_INT(startup_need(&r.world->world, &a, pcs, 1, STR("p-0-worker")), 0);
    CHECK_INT(startup_need(&r.world->world, &a, pcs, 0, STR("p-0-other")), 0);
    arena_done(&a);
    ring_free(&r);
}

TEST(the_image_is_what_the_installation_says)
{
    struct arena a = ARENA_INIT;
    str port = startup_image(&a, STR("reg:5000/x/initc"));
    CHECK_CSTR(startup_image(&a, STR_NONE), "grove-initc:" GROVE_VERSION);
    CHECK_CSTR(startup_image(&a, STR("reg:5000/x/initc:v9")), "reg:5000/x/initc:v9");
    CHECK_CSTR(startup_image(&a, STR("x/initc@sha256:00")), "x/initc@sha256:00");
    CHECK_CSTR(port, "reg:5000/x/initc:" GROVE_VERSION);
    arena_done(&a);
}
