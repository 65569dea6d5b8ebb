/*
 * What becomes of a manifest: every manifest of tests/seeds and tests/golden/grove is applied to a
 * simulated cluster, and what Grove made of it is compared with tests/golden/grove/NAME.objects:
 * each object with its labels, annotations, finalizers, owner and selectors, and of each clique the
 * first pod as it was created, with gates, host name, environment and init containers. (What
 * admission says of the same manifests is in NAME.txt, see grove/test-golden-admission.c.)
 *
 * UIDs, the random part of pods' names and hashes of templates are written as *; the other pods of
 * a clique must be like its first in everything but name, host name and index.
 *
 * The tests at the end do not look at those files: what they expect is the worked example of the
 * contract, word for word.
 *
 * GROVE_GOLDEN=write writes the files anew; what changed is then for a person to read.
 */
#include <dirent.h>

#include "base/file.h"
#include "base/test.h"
#include "base/vec.h"
#include "grove/types.h"
#include "sim/sim.h"
#include "json/yaml.h"

#define SEEDS TEST_DATA "/seeds"
#define GOLDEN TEST_DATA "/golden/grove"
#define LIMIT (10 * USEC_PER_MIN)
#define MAX_TEXT ((size_t)1 << 22)

/* ---- a cluster with a manifest in it ---- */

struct stage {
    struct sim *sim;
    VEC(struct obj *) pods; /* as they were created, in that order */
};

static void on_event(void *ctx, const struct store_event *e)
{
    struct stage *st = ctx;
    if (e->type == STORE_ADDED && e->obj->kind == &kind_pod)
        *vec_push(&st->pods) = obj_ref(e->obj);
}

static int by_name(const void *a, const void *b)
{
    const struct obj *x = *(struct obj *const *)a, *y = *(struct obj *const *)b;
    return str_cmp(x->name, y->name);
}

static void stage_free(struct stage *st)
{
    for (size_t i = 0; i < st->pods.len; i++)
        obj_unref(st->pods.p[i]);
    vec_done(&st->pods);
    sim_free(st->sim);
}

/* False, and nothing to free, when the manifest is refused. */
static bool stage_init(struct stage *st, str manifest)
{
    static const char *const before[] = {
        "apiVersion: v1\nkind: Namespace\nmetadata: {name: ml}\n",
        "apiVersion: grove.io/v1alpha1\nkind: ClusterTopologyBinding\nmetadata: {name: fab}\n"
        "spec: {levels: [{domain: zone, key: topology.kubernetes.io/zone},\n"
        "  {domain: rack, key: example.com/rack}, {domain: host, key: kubernetes.io/hostname}]}\n",
    };
    struct err err = ERR_INIT;
    struct sim_options o = {.seed = 1, .nodes = nodes_defaults};
    *st = (struct stage){.sim = sim_new(&o, &err)};
    REQUIRE(st->sim != NULL);
    sim_on_event(st->sim, on_event, st);
    for (size_t i = 0; i < ARRAY_LEN(before); i++)
        REQUIRE(sim_apply_yaml(st->sim, str_of(before[i]), &err) == 0);
    REQUIRE(sim_settle(st->sim, LIMIT));
    if (sim_apply_yaml(st->sim, manifest, &err) != 0) {
        stage_free(st);
        return false;
    }
    if (!CHECK(sim_settle(st->sim, LIMIT)))
        test_note("%s", sim_failure(st->sim)->message);
    vec_sort(&st->pods, by_name);
    return true;
}

/* ---- as text ---- */

struct script {
    struct strbuf *out;
    struct arena *arena;
};

/* Members in order, one line each; `hidden` ones with * for their value. */
static void put_map(struct script *s, const char *what, jval map)
{
    size_t n = 0;
    struct jmember *m = jmembers_sorted(map, &n);
    for (size_t i = 0; i < n; i++) {
        bool hidden = str_is(m[i].key, LABEL_TEMPLATE_HASH) ||
                      str_is(m[i].key, LABEL_GENERATION_HASH) ||
                      str_starts(m[i].key, STR("controller.kubernetes.io/hash"));
        strbuf_printf(s->out, "  %s %.*s: %.*s\n", what, STR_ARG(m[i].key),
                      STR_ARG(hidden ? STR("*") : jstr(m[i].value)));
    }
    free(m);
}

static void put_json(struct script *s, const char *what, jval v)
{
    if (j_is_absent(v))
        return;
    strbuf_printf(s->out, "  %s ", what);
    jcanonical(v, false, s->out);
    strbuf_add_char(s->out, '\n');
}

static void put_meta(struct script *s, const struct obj *o)
{
    jval ref = obj_controller_ref(o);
    put_map(s, "label", o->labels);
    put_map(s, "annotation", o->annotations);
    put_json(s, "finalizers", jgetc(o->meta, "finalizers"));
    if (j_has(ref))
        strbuf_printf(s->out, "  owner %.*s/%.*s of %zu%s\n", STR_ARG(jstr(jgetc(ref, "kind"))),
                      STR_ARG(jstr(jgetc(ref, "name"))), jlen(jgetc(o->meta, "ownerReferences")),
                      j_is_true(jgetc(ref, "blockOwnerDeletion")) ? ", blocks its deletion" : "");
}

/* What to show of an object beyond its metadata. */
static const struct {
    const struct kind *kind;
    const char *paths[6];
} details[] = {
    {&kind_pcs, {"status.hpaPodSelector"}},
    {&kind_pcsg, {"spec.replicas", "spec.minAvailable", "spec.cliqueNames", "status.selector"}},
    {&kind_pclq,
     {"spec.roleName", "spec.replicas", "spec.minAvailable", "spec.startsAfter",
      "status.hpaPodSelector"}},
    {&kind_service, {"spec.clusterIP", "spec.selector", "spec.publishNotReadyAddresses"}},
    {&kind_hpa,
     {"spec.scaleTargetRef", "spec.minReplicas", "spec.maxReplicas", "spec.metrics",
      "spec.behavior"}},
    {&kind_pdb, {"spec.selector", "spec.minAvailable", "spec.maxUnavailable"}},
    {&kind_role, {"rules"}},
    {&kind_role_binding, {"roleRef", "subjects"}},
    {&kind_secret, {"type"}},
    {&kind_resource_claim, {"spec"}},
    {&kind_pod_gang_map, {"spec"}},
    {&kind_pod_gang,
     {"spec.topologyConstraint", "spec.topologyConstraintGroupConfigs", "spec.priorityClassName",
      "spec.replicaSpreadConstraints"}},
};

static void put_details(struct script *s, const struct obj *o)
{
    for (size_t i = 0; i < ARRAY_LEN(details); i++) {
        for (size_t j = 0;
             details[i].kind == o->kind && j < ARRAY_LEN(details[i].paths) && details[i].paths[j];
             j++)
            put_json(s, details[i].paths[j], jpath(obj_root(o), details[i].paths[j]));
    }
    for (struct jiter it = jiter(jpath(obj_root(o), "spec.podgroups"));
         o->kind == &kind_pod_gang && jnext(&it);)
        strbuf_printf(s->out, "  podgroup %.*s: at least %lld of %zu\n",
                      STR_ARG(jstr(jgetc(it.value, "name"))),
                      (long long)jint(jgetc(it.value, "minReplicas"), -1),
                      jlen(jgetc(it.value, "podReferences")));
}

/* A hash at the end of a revision's name is a hash of the template. */
static str shown_name(const struct obj *o, struct arena *a)
{
    ptrdiff_t dash = -1;
    for (size_t i = 0; i < o->name.len; i++)
        dash = o->name.p[i] == '-' ? (ptrdiff_t)i : dash;
    bool hashed = o->kind == &kind_pod || o->kind == &kind_controller_revision;
    return hashed && dash > 0 ? arena_printf(a, "%.*s-*", (int)dash, o->name.p) : o->name;
}

static void put_head(struct script *s, const struct obj *o)
{
    str name = shown_name(o, s->arena);
    strbuf_printf(s->out, "%s %.*s/%.*s\n", o->kind->kind, STR_ARG(o->ns), STR_ARG(name));
}

static void put_container(struct script *s, const char *what, jval c)
{
    strbuf_printf(s->out, "  %s %.*s\n", what, STR_ARG(jstr(jgetc(c, "name"))));
    for (struct jiter it = jiter(jgetc(c, "args")); jnext(&it);)
        strbuf_printf(s->out, "    arg %.*s\n", STR_ARG(jstr(it.value)));
    for (struct jiter it = jiter(jgetc(c, "env")); jnext(&it);) {
        jval path = jpath(it.value, "valueFrom.fieldRef.fieldPath");
        str value = jstr(j_has(path) ? path : jgetc(it.value, "value"));
        strbuf_printf(s->out, "    env %.*s=%s%.*s\n", STR_ARG(jstr(jgetc(it.value, "name"))),
                      j_has(path) ? "field " : "", STR_ARG(value));
    }
    for (struct jiter it = jiter(jgetc(c, "volumeMounts")); jnext(&it);)
        strbuf_printf(s->out, "    mount %.*s at %.*s\n", STR_ARG(jstr(jgetc(it.value, "name"))),
                      STR_ARG(jstr(jgetc(it.value, "mountPath"))));
    put_json(s, "  claims", jpath(c, "resources.claims"));
}

static void put_pod(struct script *s, const struct obj *pod)
{
    jval spec = obj_spec(pod);
    put_head(s, pod);
    put_meta(s, pod);
    strbuf_printf(s->out, "  host %.*s in %.*s, scheduled by %.*s\n",
                  STR_ARG(jstr(jgetc(spec, "hostname"))), STR_ARG(jstr(jgetc(spec, "subdomain"))),
                  STR_ARG(jstr(jgetc(spec, "schedulerName"))));
    for (struct jiter it = jiter(jgetc(spec, "schedulingGates")); jnext(&it);)
        strbuf_printf(s->out, "  gate %.*s\n", STR_ARG(jstr(jgetc(it.value, "name"))));
    put_json(s, "claims", jgetc(spec, "resourceClaims"));
    for (struct jiter it = jiter(jgetc(spec, "volumes")); jnext(&it);)
        strbuf_printf(s->out, "  volume %.*s\n", STR_ARG(jstr(jgetc(it.value, "name"))));
    for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);)
        put_container(s, "init container", it.value);
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);)
        put_container(s, "container", it.value);
}

/* What follows from a Service of Grove's is a matter of Kubernetes' own controllers. */
static bool is_grove_object(const struct obj *o)
{
    if (o->kind == &kind_endpoints || o->kind == &kind_endpoint_slice)
        return false;
    return o->kind == &kind_pcs || o->kind == &kind_pcsg || j_has(obj_controller_ref(o)) ||
           str_is(obj_label(o, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE);
}

static void put_objects(struct script *s, struct stage *st)
{
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        struct obj *o;
        struct store_iter it = store_range(sim_store(st->sim), k, STR_NONE, STR_NONE, STR_NONE);
        while (k != &kind_pod && (o = store_next(&it))) {
            if (o->kind != k || !is_grove_object(o))
                continue;
            put_head(s, o);
            put_meta(s, o);
            put_details(s, o);
        }
    }
}

/* The pod of that index of that clique, as created; NULL: none. */
static struct obj *find_pod(const struct stage *st, str clique_uid, int64_t index)
{
    for (size_t i = 0; i < st->pods.len; i++) {
        struct obj *o = st->pods.p[i];
        int64_t at = -1;
        if (str_eq(o->owner_uid, clique_uid) &&
            str_to_int(obj_label(o, STR(LABEL_POD_INDEX)), &at) && at == index)
            return o;
    }
    return NULL;
}

/* In all but name, host name and index. */
static bool is_like(const struct obj *a, const struct obj *b)
{
    static const char *const same[] = {"containers", "initContainers", "schedulingGates",
                                       "volumes",    "subdomain",      "schedulerName"};
    bool like = jlen(a->labels) == jlen(b->labels) && jlen(a->annotations) == jlen(b->annotations);
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        jval x = jget(obj_spec(a), str_of(same[i])), y = jget(obj_spec(b), str_of(same[i]));
        like = like && (j_is_absent(x) ? j_is_absent(y) : jequal(x, y));
    }
    for (struct jiter it = jiter(a->labels); jnext(&it);)
        like =
            like && (str_is(it.key, LABEL_POD_INDEX) || jequal(it.value, jget(b->labels, it.key)));
    return like;
}

static void put_pods(struct script *s, struct stage *st)
{
    struct obj *clique;
    struct store_iter it =
        store_range(sim_store(st->sim), &kind_pclq, STR_NONE, STR_NONE, STR_NONE);
    while ((clique = store_next(&it))) {
        struct pclq_view v;
        struct obj *first = find_pod(st, clique->uid, 0), *pod;
        pclq_view(clique, &v);
        if (first)
            put_pod(s, first);
        for (int64_t p = 1; first && (pod = find_pod(st, clique->uid, p)); p++)
            strbuf_printf(s->out, "  and host %.*s%s\n",
                          STR_ARG(jstr(jgetc(obj_spec(pod), "hostname"))),
                          is_like(first, pod) ? "" : ", which is different");
        CHECK(v.replicas == 0 || find_pod(st, clique->uid, v.replicas - 1));
    }
}

/* ---- the files ---- */

static int pick(const struct dirent *e)
{
    return str_ends(str_of(e->d_name), STR(".yaml"));
}

/* The first line that differs says more than both texts. */
static void check_lines(const char *what, str got, str want)
{
    if (CHECK(str_eq(got, want)))
        return;
    for (size_t line = 1; got.len || want.len; line++) {
        str x = str_cut(&got, '\n'), y = str_cut(&want, '\n');
        if (str_eq(x, y))
            continue;
        test_note("%s, line %zu", what, line);
        test_note("got:  %.*s", STR_ARG(x));
        test_note("want: %.*s", STR_ARG(y));
        return;
    }
}

/* Names that carry the time they were made at, which is nothing to compare: "svc-0-#". */
static void blank_times(struct strbuf *text)
{
    enum { DIGITS = 16 };
    struct strbuf out = STRBUF_INIT(MAX_TEXT);
    str all = strbuf_str(text);
    for (size_t i = 0; i < all.len;) {
        size_t end = i;
        while (end < all.len && all.p[end] >= '0' && all.p[end] <= '9')
            end++;
        if (end - i >= DIGITS)
            strbuf_add_cstr(&out, "#");
        else
            strbuf_add_str(&out, str_sub(all, i, MAX(end, i + 1)));
        i = MAX(end, i + 1);
    }
    strbuf_done(text);
    *text = out;
}

/* Returns whether Grove made something of it. */
static bool compare(const char *dir, const char *file)
{
    struct arena a = ARENA_INIT;
    struct strbuf text = STRBUF_INIT(MAX_TEXT), got = STRBUF_INIT(MAX_TEXT);
    struct strbuf want = STRBUF_INIT(MAX_TEXT);
    const char *mode = getenv("GROVE_GOLDEN");
    str from = arena_printf(&a, "%s/%s", dir, file);
    str to = arena_printf(&a, GOLDEN "/%.*s.objects", (int)strlen(file) - 5, file);
    REQUIRE(file_read(from.p, &text, NULL) == 0);
    struct stage st;
    if (stage_init(&st, strbuf_str(&text))) {
        struct script s = {.out = &got, .arena = &a};
        put_objects(&s, &st);
        put_pods(&s, &st);
        blank_times(&got);
        stage_free(&st);
    }
    bool made = got.len > 0;
    if (made && mode && str_is(str_of(mode), "write"))
        REQUIRE(file_write(to.p, strbuf_str(&got), 0644, NULL) == 0);
    (void)file_read(to.p, &want, NULL);
    check_lines(from.p, strbuf_str(&got), strbuf_str(&want));
    strbuf_done(&text);
    strbuf_done(&got);
    strbuf_done(&want);
    arena_done(&a);
    return made;
}

static size_t compare_all(const char *dir)
{
    struct dirent **entries = NULL;
    int n = scandir(dir, &entries, pick, alphasort);
    size_t made = 0;
    REQUIRE(n > 0);
    for (int i = 0; i < n; i++) {
        made += compare(dir, entries[i]->d_name);
        free(entries[i]);
    }
    free(entries);
    return made;
}

TEST(the_seeds_become_what_their_golden_objects_say)
{
    CHECK(compare_all(SEEDS) >= 11);
}

TEST(golden_manifests_become_what_their_golden_objects_say)
{
    CHECK(compare_all(GOLDEN) >= 10);
}

/* ---- the worked example of the contract ---- */

static struct stage worked(const char *which)
{
    struct arena a = ARENA_INIT;
    struct strbuf text = STRBUF_INIT(MAX_TEXT);
    struct stage st;
    REQUIRE(file_read(arena_printf(&a, GOLDEN "/%s.yaml", which).p, &text, NULL) == 0);
    REQUIRE(stage_init(&st, strbuf_str(&text)));
    strbuf_done(&text);
    arena_done(&a);
    return st;
}

static jval want_yaml(struct arena *a, const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_hold(a, yaml_parse_one(str_of(text), &err));
    if (!d)
        test_note("%s in %s", err.message, text);
    REQUIRE(d != NULL);
    return doc_root(d);
}

/* Shows both when they differ. */
static void check_same(jval got, const char *yaml)
{
    struct arena a = ARENA_INIT;
    struct strbuf x = STRBUF_INIT(MAX_TEXT), y = STRBUF_INIT(MAX_TEXT);
    jcanonical(got, false, &x);
    jcanonical(want_yaml(&a, yaml), false, &y);
    CHECK_STR(strbuf_str(&x), strbuf_str(&y));
    strbuf_done(&x);
    strbuf_done(&y);
    arena_done(&a);
}

static struct obj *must(struct stage *st, const struct kind *k, const char *name)
{
    struct obj *o = sim_get(st->sim, k, STR("ml"), str_of(name));
    if (!o)
        test_note("there is no %s %s", k->kind, name);
    REQUIRE(o != NULL);
    return o;
}

static struct obj *must_pod(struct stage *st, const char *clique, int64_t index)
{
    struct obj *pod = find_pod(st, must(st, &kind_pclq, clique)->uid, index);
    REQUIRE(pod != NULL);
    return pod;
}

/* Section 4.2, and the same for replica 1. What is managed and not named there must not be. */
TEST(the_worked_example_has_the_names_of_the_contract)
{
    static const struct {
        const struct kind *kind;
        const char *names;
    } want[] = {
        {&kind_pcsg, "svc-0-pf svc-1-pf "},
        {&kind_pclq, "svc-0-fe svc-0-pf-0-pl svc-0-pf-0-pw svc-0-pf-1-pl svc-0-pf-1-pw "
                     "svc-0-pf-2-pl svc-0-pf-2-pw "
                     "svc-1-fe svc-1-pf-0-pl svc-1-pf-0-pw svc-1-pf-1-pl svc-1-pf-1-pw "
                     "svc-1-pf-2-pl svc-1-pf-2-pw "},
        {&kind_pod_gang, "svc-0 svc-0-pf-0 svc-0-pf-1 svc-1 svc-1-pf-0 svc-1-pf-1 "},
        {&kind_service, "svc-0 svc-1 "},
        {&kind_hpa, "svc-0-fe svc-0-pf svc-1-fe svc-1-pf "},
        {&kind_service_account, "svc "},
        {&kind_role, "grove.io:pcs:svc "},
        {&kind_role_binding, "grove.io:pcs:svc "},
        /* Where somebody waits for somebody; see docs/compat.md. */
        {&kind_secret, "svc-ic-sat "},
    };
    struct stage st = worked("worked-example-in-order");
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct strbuf names = STRBUF_INIT(MAX_TEXT);
        struct obj *o;
        struct store_iter it =
            store_range(sim_store(st.sim), want[i].kind, STR("ml"), STR_NONE, STR_NONE);
        while ((o = store_next(&it))) {
            if (str_is(obj_label(o, STR(LABEL_MANAGED_BY)), MANAGED_BY_GROVE))
                strbuf_printf(&names, "%.*s ", STR_ARG(o->name));
        }
        CHECK_CSTR(strbuf_str(&names), want[i].names);
        strbuf_done(&names);
    }
    CHECK_INT(st.pods.len, 2 * (3 + 3 * (1 + 4)));
    stage_free(&st);
}

/* Sections 5.1 and 5.5: labels that must be there, and whose child it is. */
TEST(the_worked_example_has_the_labels_and_owners_of_the_contract)
{
#define OF(component)                                                                \
    "app.kubernetes.io/managed-by: grove-operator, app.kubernetes.io/part-of: svc, " \
    "app.kubernetes.io/component: " component
    static const struct {
        const struct kind *kind;
        const char *name, *owner, *labels;
    } want[] = {
        {&kind_pcsg, "svc-0-pf", "PodCliqueSet/svc",
         "{" OF("pcs-podcliquescalinggroup") ", app.kubernetes.io/name: svc-0-pf, "
                                             "grove.io/podcliqueset-replica-index: '0'}"},
        {&kind_pclq, "svc-1-fe", "PodCliqueSet/svc",
         "{" OF(
             "pcs-podclique") ", app.kubernetes.io/name: svc-1-fe, "
                              "grove.io/podcliqueset-replica-index: '1', grove.io/podgang: svc-1}"},
        {&kind_pclq, "svc-0-pf-0-pw", "PodCliqueScalingGroup/svc-0-pf",
         "{" OF("pcsg-podclique") ", app.kubernetes.io/name: svc-0-pf-0-pw, "
                                  "grove.io/podcliqueset-replica-index: '0', "
                                  "grove.io/podcliquescalinggroup: svc-0-pf, "
                                  "grove.io/podcliquescalinggroup-replica-index: '0', "
                                  "grove.io/podgang: svc-0}"},
        {&kind_pclq, "svc-0-pf-2-pw", "PodCliqueScalingGroup/svc-0-pf",
         "{" OF("pcsg-podclique") ", app.kubernetes.io/name: svc-0-pf-2-pw, "
                                  "grove.io/podcliqueset-replica-index: '0', "
                                  "grove.io/podcliquescalinggroup: svc-0-pf, "
                                  "grove.io/podcliquescalinggroup-replica-index: '2', "
                                  "grove.io/podgang: svc-0-pf-1, "
                                  "grove.io/base-podgang: svc-0}"},
        {&kind_pod_gang, "svc-0", "PodCliqueSet/svc", "{" OF("podgang") "}"},
        {&kind_service, "svc-0", "PodCliqueSet/svc",
         "{" OF("pcs-headless-service") ", app.kubernetes.io/name: svc-0, "
                                        "grove.io/podcliqueset-replica-index: '0'}"},
        {&kind_hpa, "svc-0-pf", "PodCliqueSet/svc",
         "{" OF("pcs-hpa") ", app.kubernetes.io/name: svc-0-pf}"},
        {&kind_service_account, "svc", "PodCliqueSet/svc",
         "{" OF("pod-service-account") ", app.kubernetes.io/name: svc}"},
        {&kind_role, "grove.io:pcs:svc", "PodCliqueSet/svc",
         "{" OF("pod-role") ", app.kubernetes.io/name: grove.io-pcs-svc}"},
        {&kind_role_binding, "grove.io:pcs:svc", "PodCliqueSet/svc",
         "{" OF("pod-role-binding") ", app.kubernetes.io/name: grove.io-pcs-svc}"},
        {&kind_secret, "svc-ic-sat", "PodCliqueSet/svc",
         "{" OF("pod-sa-token-secret") ", app.kubernetes.io/name: svc-ic-sat}"},
    };
#undef OF
    struct arena a = ARENA_INIT;
    struct stage st = worked("worked-example-in-order");
    for (size_t i = 0; i < ARRAY_LEN(want); i++) {
        struct obj *o = must(&st, want[i].kind, want[i].name);
        jval ref = jat(jgetc(o->meta, "ownerReferences"), 0);
        str owner = arena_printf(&a, "%.*s/%.*s", STR_ARG(jstr(jgetc(ref, "kind"))),
                                 STR_ARG(jstr(jgetc(ref, "name"))));
        CHECK_CSTR(owner, want[i].owner);
        CHECK_INT(jlen(jgetc(o->meta, "ownerReferences")), 1);
        CHECK(j_is_true(jgetc(ref, "controller")) && j_is_true(jgetc(ref, "blockOwnerDeletion")));
        for (struct jiter it = jiter(want_yaml(&a, want[i].labels)); jnext(&it);) {
            if (!CHECK_STR(obj_label(o, it.key), jstr(it.value)))
                test_note("label %.*s of %s %s", STR_ARG(it.key), want[i].kind->kind, want[i].name);
        }
        /* The base gang's name is on what belongs to a scaled gang, and nowhere else. */
        CHECK_INT(!str_is_empty(obj_label(o, STR(LABEL_BASE_PODGANG))),
                  str_find(str_of(want[i].labels), STR(LABEL_BASE_PODGANG)) >= 0);
    }
    arena_done(&a);
    stage_free(&st);
}

/* Section 5.3. */
TEST(the_worked_example_has_the_selectors_of_the_contract)
{
#define COMMON "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=svc"
    struct stage st = worked("worked-example");
    struct obj *set = must(&st, &kind_pcs, "svc"), *group = must(&st, &kind_pcsg, "svc-0-pf");
    struct obj *alone = must(&st, &kind_pclq, "svc-0-fe");
    struct obj *member = must(&st, &kind_pclq, "svc-0-pf-0-pl");
    CHECK_CSTR(jstr(jgetc(obj_status(set), "hpaPodSelector")), COMMON);
    CHECK_CSTR(jstr(jgetc(obj_status(group), "selector")),
               COMMON ",grove.io/podcliquescalinggroup=svc-0-pf");
    CHECK_CSTR(jstr(jgetc(obj_status(alone), "hpaPodSelector")),
               COMMON ",grove.io/podclique=svc-0-fe");
    CHECK(!j_has(jgetc(obj_status(member), "hpaPodSelector")));
    check_same(jgetc(obj_spec(must(&st, &kind_service, "svc-1")), "selector"),
               "{app.kubernetes.io/managed-by: grove-operator, app.kubernetes.io/part-of: svc, "
               "grove.io/podcliqueset-replica-index: '1'}");
    check_same(jgetc(obj_spec(must(&st, &kind_hpa, "svc-0-fe")), "scaleTargetRef"),
               "{apiVersion: grove.io/v1alpha1, kind: PodClique, name: svc-0-fe}");
    check_same(jgetc(obj_spec(must(&st, &kind_hpa, "svc-0-pf")), "scaleTargetRef"),
               "{apiVersion: grove.io/v1alpha1, kind: PodCliqueScalingGroup, name: svc-0-pf}");
    stage_free(&st);
#undef COMMON
}

/* Section 6.2: order, values, and what comes by the downward API. */
TEST(the_worked_example_has_the_environment_of_the_contract)
{
#define FIELD(label) \
    "valueFrom: {fieldRef: {apiVersion: v1, fieldPath: \"metadata.labels['" label "']\"}}"
#define ALL(clique)                                                             \
    "{name: GROVE_PCS_NAME, value: svc}, {name: GROVE_PCS_INDEX, value: '0'}, " \
    "{name: GROVE_PCLQ_NAME, value: " clique "}, "                              \
    "{name: GROVE_HEADLESS_SERVICE, value: svc-0.ml.svc.cluster.local}, "       \
    "{name: GROVE_PCLQ_POD_INDEX, " FIELD("grove.io/podclique-pod-index") "}"
    struct stage st = worked("worked-example");
    jval alone = jgetc(obj_spec(must_pod(&st, "svc-0-fe", 2)), "containers");
    jval member = jgetc(obj_spec(must_pod(&st, "svc-0-pf-2-pw", 3)), "containers");
    check_same(jgetc(jat(alone, 0), "env"), "[" ALL("svc-0-fe") "]");
    check_same(jgetc(jat(member, 0), "env"),
               "[" ALL("svc-0-pf-2-pw") ", {name: GROVE_PCSG_NAME, " FIELD(
                   "grove.io/podcliquescalinggroup") "}, "
                                                     "{name: "
                                                     "GROVE_PCSG_TEMPLATE_"
                                                     "NUM_PODS, value: "
                                                     "'5'}, {name: "
                                                     "GROVE_PCSG_INDEX,"
                                                     " " FIELD("grove.io/"
                                                               "podcliquesca"
                                                               "linggroup-"
                                                               "replica-"
                                                               "index") "}"
                                                                        "]");
    stage_free(&st);
#undef ALL
#undef FIELD
}

/* Section 17, the pod of svc-0-pf-1-pw; and what design adds to its labels. */
TEST(the_worked_example_in_order_has_the_pod_of_the_contract)
{
    struct stage st = worked("worked-example-in-order");
    struct arena a = ARENA_INIT;
    struct obj *pod = must_pod(&st, "svc-0-pf-1-pw", 0);
    jval spec = obj_spec(pod);
    jval labels = want_yaml(
        &a, "{app.kubernetes.io/managed-by: grove-operator, app.kubernetes.io/part-of: svc, "
            "app.kubernetes.io/component: pcsg-podclique, app.kubernetes.io/name: svc-0-pf-1-pw, "
            "grove.io/podclique: svc-0-pf-1-pw, grove.io/podclique-pod-index: '0', "
            "grove.io/podcliqueset-replica-index: '0', grove.io/podcliquescalinggroup: svc-0-pf, "
            "grove.io/podcliquescalinggroup-replica-index: '1', grove.io/podgang: svc-0-pf-0, "
            "grove.io/base-podgang: svc-0, grove.io/podcliqueset: svc, grove.io/role: pw}");
    for (struct jiter it = jiter(labels); jnext(&it);)
        CHECK_STR(obj_label(pod, it.key), jstr(it.value));
    CHECK(!str_is_empty(obj_label(pod, STR(LABEL_TEMPLATE_HASH))));
    CHECK_INT(jlen(pod->labels), jlen(labels) + 1);
    CHECK_STR(str_sub(pod->name, 0, pod->name.len - 5), STR("svc-0-pf-1-pw-"));
    CHECK_CSTR(jstr(jgetc(spec, "hostname")), "svc-0-pf-1-pw-0");
    CHECK_CSTR(jstr(jgetc(spec, "subdomain")), "svc-0");
    check_same(jgetc(spec, "schedulingGates"), "[{name: grove.io/podgang-pending-creation}]");
    /* clique, what its init container waits for; NULL: it has none */
    static const char *const waits[][2] = {
        {"svc-0-pf-1-pw", "[--podcliques=svc-0-pf-1-pl:1]"},
        {"svc-0-pf-0-pl", "[--podcliques=svc-0-fe:2]"},
        {"svc-0-pf-0-pw", "[--podcliques=svc-0-pf-0-pl:1]"},
        {"svc-0-pf-1-pl", "[--podcliques=svc-0-fe:2]"},
        {"svc-0-fe", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(waits); i++) {
        jval inits = jgetc(obj_spec(must_pod(&st, waits[i][0], 0)), "initContainers");
        CHECK_INT(jlen(inits), waits[i][1] != NULL);
        if (waits[i][1]) {
            CHECK_CSTR(jstr(jgetc(jat(inits, 0), "name")), "grove-initc");
            check_same(jgetc(jat(inits, 0), "args"), waits[i][1]);
        }
    }
    arena_done(&a);
    stage_free(&st);
}

/* Section 17, the gangs with topology. */
TEST(the_worked_example_with_topology_has_the_gangs_of_the_contract)
{
    struct stage st = worked("worked-example-topology");
    struct obj *base = must(&st, &kind_pod_gang, "svc-0");
    struct obj *scaled = must(&st, &kind_pod_gang, "svc-0-pf-0");
    static const struct {
        const char *name;
        int least;
        size_t pods;
    } groups[] = {{"svc-0-fe", 2, 3}, {"svc-0-pf-0-pl", 1, 1}, {"svc-0-pf-0-pw", 4, 4}};
    jval podgroups = jgetc(obj_spec(base), "podgroups");
    CHECK_CSTR(obj_annotation(base, STR(ANNOTATION_TOPOLOGY)), "fab");
    check_same(jgetc(obj_spec(base), "topologyConstraint"),
               "{packConstraint: {required: topology.kubernetes.io/zone}}");
    check_same(jgetc(obj_spec(base), "topologyConstraintGroupConfigs"),
               "[{name: svc-0-pf-0, podGroupNames: [svc-0-pf-0-pl, svc-0-pf-0-pw], "
               "topologyConstraint: {packConstraint: {required: example.com/rack, "
               "preferred: kubernetes.io/hostname}}}]");
    CHECK_INT(jlen(podgroups), ARRAY_LEN(groups));
    for (size_t i = 0; i < ARRAY_LEN(groups); i++) {
        jval g = jat(podgroups, i);
        CHECK_CSTR(jstr(jgetc(g, "name")), groups[i].name);
        CHECK_INT(jint(jgetc(g, "minReplicas"), -1), groups[i].least);
        CHECK_INT(jlen(jgetc(g, "podReferences")), groups[i].pods);
    }
    check_same(jgetc(obj_spec(scaled), "topologyConstraint"),
               "{packConstraint: {required: example.com/rack, "
               "preferred: kubernetes.io/hostname}}");
    CHECK_INT(jlen(jgetc(obj_spec(scaled), "topologyConstraintGroupConfigs")), 0);
    CHECK_CSTR(jstr(jgetc(jat(jgetc(obj_spec(scaled), "podgroups"), 0), "name")), "svc-0-pf-1-pl");
    CHECK_CSTR(jstr(jgetc(jat(jgetc(obj_spec(scaled), "podgroups"), 1), "name")), "svc-0-pf-1-pw");
    stage_free(&st);
}
