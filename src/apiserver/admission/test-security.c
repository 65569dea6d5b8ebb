/* Pod Security through the server: what labels of a namespace do to pods, to templates and to the
 * namespace itself. (The checks one by one: kube/test-pod-security.c.) */
#include "apiserver/test-apiserver-fixture.h"
#include "base/log.h"
#include "grove/types.h"

#define LABEL(name) "'pod-security.kubernetes.io/" name "'"
#define TIGHT                                                                                    \
    ",'securityContext':{'runAsNonRoot':true,'seccompProfile':{'type':'RuntimeDefault'}},"       \
    "'containers':[{'name':'c','image':'x','securityContext':{'allowPrivilegeEscalation':false," \
    "'capabilities':{'drop':['ALL']}}}]"
#define A_POD(name, spec)                                                                     \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" name "'},'spec':{'restartPolicy':" \
    "'Always'" spec "}}"
#define LOOSE ",'containers':[{'name':'c','image':'x'}]"
#define PRIVILEGED ",'containers':[{'name':'c','image':'x','securityContext':{'privileged':true}}]"
#define RESTRICTED_DETAILS                                                                       \
    "allowPrivilegeEscalation != false (container \"c\" must set "                               \
    "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "     \
    "\"c\" must set securityContext.capabilities.drop=[\"ALL\"]), runAsNonRoot != true (pod or " \
    "container \"c\" must set securityContext.runAsNonRoot=true), seccompProfile (pod or "       \
    "container \"c\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or "     \
    "\"Localhost\")"

static void label(struct fixture *f, const char *labels)
{
    str body = text_of(f, "{'metadata':{'labels':{%s}}}", labels);
    if (!CHECK_INT(patch(f, &kind_namespace, "", "ns", API_PATCH_MERGE, body.p), 200))
        test_note("%s: %.*s", labels, STR_ARG(f->message));
}

/* That nothing acts on workloads here is another warning, after this one. */
static size_t count_own(const struct fixture *f)
{
    size_t n = f->n_warnings;
    return n && str_find(f->warnings[n - 1], STR(" is stored, and grove up runs no controller")) > 0
               ? n - 1
               : n;
}

static void check_warning(struct fixture *f, const char *want)
{
    if (!CHECK_INT(count_own(f), want ? 1 : 0) || !want || !CHECK_STR(f->warnings[0], str_of(want)))
        for (size_t i = 0; i < f->n_warnings; i++)
            test_note("%.*s", STR_ARG(f->warnings[i]));
}

TEST(security_enforced_refuses_pods)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("before", PRIVILEGED)), 201);
    label(&f, LABEL("enforce") ":'restricted'");
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("x", LOOSE)), 403);
    CHECK_STR(f.reason, STR("Forbidden"));
    CHECK_STR(f.message, STR("pods \"x\" is forbidden: violates PodSecurity "
                             "\"restricted:latest\": " RESTRICTED_DETAILS));
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("x", TIGHT)), 201);
    CHECK_INT(create(&f, &kind_pod, "default", A_POD("x", PRIVILEGED)), 201);
    label(&f, LABEL("enforce") ":'baseline'," LABEL("enforce-version") ":'v1.30'");
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("y", LOOSE)), 201);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("z", PRIVILEGED)), 403);
    CHECK_STR(f.message,
              STR("pods \"z\" is forbidden: violates PodSecurity \"baseline:v1.30\": privileged "
                  "(container \"c\" must not set securityContext.privileged=true)"));
    /* a pod that is there stays, and can be changed, but for its image */
    CHECK_INT(
        patch(&f, &kind_pod, "ns", "before", API_PATCH_MERGE, "{'metadata':{'labels':{'a':'b'}}}"),
        200);
    CHECK_INT(patch(&f, &kind_pod, "ns", "before", API_PATCH_STRATEGIC,
                    "{'spec':{'containers':[{'name':'c','image':'y'}]}}"),
              403);
    CHECK_INT(patch_sub(&f, &kind_pod, "ns", "before", "status", API_PATCH_MERGE,
                        "{'status':{'phase':'Running'}}"),
              200);
    /* an invalid pod is told that first */
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("w", PRIVILEGED ",'restartPolicy':'No'")), 422);
    fixture_done(&f);
}

/* A container that is added to look at a running pod counts. */
TEST(security_enforced_counts_ephemeral_containers)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("x", TIGHT)), 201);
    label(&f, LABEL("enforce") ":'restricted'");
    static const char loose[] =
        "{'spec':{'ephemeralContainers':[{'name':'e','image':'y','terminationMessagePolicy':"
        "'File'}]}}";
    CHECK_INT(
        patch_sub(&f, &kind_pod, "ns", "x", "ephemeralcontainers", API_PATCH_STRATEGIC, loose),
        403);
    CHECK(str_find(f.message, STR("violates PodSecurity \"restricted:latest\": "
                                  "allowPrivilegeEscalation != false (container \"e\"")) > 0);
    fixture_done(&f);
}

/* Capabilities of Windows are not looked for, so there must be none. */
TEST(security_of_windows_is_not_that_of_linux)
{
#define WINDOWS ",'os':{'name':'windows'}"
#define CONTAINER(context) \
    ",'containers':[{'name':'c','image':'x','securityContext':{" context "}}]"
#define POD_CONTEXT(members) ",'securityContext':{'runAsNonRoot':true" members "}"
#define IN_POD "spec.securityContext."
#define IN_CONTAINER "spec.containers[0].securityContext."
    static const struct {
        const char *pod, *field;
        const char *system; /* NULL: another error */
    } cases[] = {
        {A_POD("x", WINDOWS POD_CONTEXT("") CONTAINER("'capabilities':{'add':['SYS_ADMIN']}")),
         IN_CONTAINER "capabilities", "windows"},
        {A_POD("x", WINDOWS POD_CONTEXT("") CONTAINER("'allowPrivilegeEscalation':true")),
         IN_CONTAINER "allowPrivilegeEscalation", "windows"},
        {A_POD("x", WINDOWS POD_CONTEXT("") CONTAINER("'runAsUser':0")), IN_CONTAINER "runAsUser",
         "windows"},
        {A_POD("x", WINDOWS POD_CONTEXT(",'seccompProfile':{'type':'Unconfined'}") LOOSE),
         IN_POD "seccompProfile", "windows"},
        {A_POD("x", WINDOWS ",'hostPID':true" POD_CONTEXT("") LOOSE), "spec.hostPID", "windows"},
        {A_POD("x", ",'os':{'name':'linux'}" POD_CONTEXT(",'windowsOptions':{}") LOOSE),
         IN_POD "windowsOptions", "linux"},
        {A_POD("x", ",'os':{'name':'plan9'}" LOOSE), "spec.os", NULL},
    };
    struct fixture f;
    fixture_init(&f);
    label(&f, LABEL("enforce") ":'restricted'");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        bool windows = cases[i].system && str_is(str_of(cases[i].system), "windows");
        str want = cases[i].system
                       ? text_of(&f, "%s: Forbidden: %scannot be set for a %s pod", cases[i].field,
                                 windows ? "" : "windows options ", cases[i].system)
                       : STR("spec.os: Unsupported value: \"plan9\": supported values: \"linux\", "
                             "\"windows\"");
        if (!CHECK_INT(create(&f, &kind_pod, "ns", cases[i].pod), 422) ||
            !CHECK(str_find(f.message, want) > 0))
            test_note("%s: %.*s", cases[i].field, STR_ARG(f.message));
    }
    CHECK_INT(create(&f, &kind_pod, "ns",
                     A_POD("x", WINDOWS ",'hostPID':false" POD_CONTEXT(
                                    ",'windowsOptions':{'runAsUserName':'u'}") LOOSE)),
              201);
    CHECK_INT(patch_sub(&f, &kind_pod, "ns", "x", "ephemeralcontainers", API_PATCH_STRATEGIC,
                        "{'spec':{'ephemeralContainers':[{'name':'e','image':'y',"
                        "'terminationMessagePolicy':'File','securityContext':{'capabilities':{"
                        "'add':['SYS_ADMIN']}}}]}}"),
              422);
    fixture_done(&f);
}

TEST(security_warns_of_pods)
{
    struct fixture f;
    fixture_init(&f);
    label(&f, LABEL("warn") ":'restricted'," LABEL("enforce") ":'baseline'");
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("x", LOOSE)), 201);
    check_warning(&f, "would violate PodSecurity \"restricted:latest\": " RESTRICTED_DETAILS);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("y", TIGHT)), 201);
    check_warning(&f, NULL);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("z", PRIVILEGED)), 403);
    check_warning(&f, NULL);
    fixture_done(&f);
}

static void keep_line(void *ctx, str line)
{
    strbuf_printf(ctx, "%.*s\n", STR_ARG(line));
}

TEST(security_audit_is_a_line_of_the_log)
{
    struct fixture f;
    struct strbuf lines = STRBUF_INIT(1 << 16);
    fixture_init(&f);
    label(&f, LABEL("audit") ":'baseline'");
    log_set_level(LOG_LEVEL_INFO);
    log_set_sink(keep_line, &lines);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("x", LOOSE)), 201);
    CHECK_INT(lines.len, 0);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("y", PRIVILEGED)), 201);
    log_set_sink(NULL, NULL);
    log_set_level(LOG_LEVEL_OFF);
    check_warning(&f, NULL);
    CHECK(str_find(strbuf_str(&lines), STR("level=baseline:latest")) > 0);
    CHECK(str_find(strbuf_str(&lines), STR("name=y")) > 0);
    CHECK(str_find(strbuf_str(&lines), STR("must not set securityContext.privileged=true")) > 0);
    strbuf_done(&lines);
    fixture_done(&f);
}

#define TEMPLATE                                                                               \
    "{'metadata':{'labels':{'a':'b'}},'spec':{'restartPolicy':'%s','containers':[{'name':'c'," \
    "'image':'x','securityContext':{'privileged':true}}]}}"
#define SELECTED "'selector':{'matchLabels':{'a':'b'}},'template':" TEMPLATE
#define WOULD                                                                                  \
    "would violate PodSecurity \"baseline:latest\": privileged (container \"c\" must not set " \
    "securityContext.privileged=true)"

/* Enforced or not: the pods of a workload are what is refused. */
TEST(security_warns_of_templates)
{
    static const struct {
        const struct kind *kind;
        const char *restarts, *spec;
    } kinds[] = {
        {&kind_deployment, "Always", "'spec':{" SELECTED "}"},
        {&kind_replica_set, "Always", "'spec':{" SELECTED "}"},
        {&kind_stateful_set, "Always", "'spec':{'serviceName':'s'," SELECTED "}"},
        {&kind_daemon_set, "Always", "'spec':{" SELECTED "}"},
        {&kind_replication_controller, "Always",
         "'spec':{'selector':{'a':'b'},'template':" TEMPLATE "}"},
        {&kind_job, "Never", "'spec':{'template':" TEMPLATE "}"},
        {&kind_cron_job, "Never",
         "'spec':{'schedule':'* * * * *','jobTemplate':{'spec':{'template':" TEMPLATE "}}}"},
        {&kind_pod_template, "Always", "'template':" TEMPLATE},
    };
    struct fixture f;
    fixture_init(&f);
    label(&f, LABEL("enforce") ":'baseline'");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        str head = text_of(&f, "{'metadata':{'name':'w'},");
        struct strbuf b = STRBUF_INIT(4096);
        strbuf_add_str(&b, head);
        for (const char *p = kinds[i].spec; *p; p++) {
            bool word = p[0] == '%' && p[1] == 's';
            if (word)
                strbuf_add_cstr(&b, kinds[i].restarts);
            else
                strbuf_add_char(&b, *p);
            p += word;
        }
        strbuf_add_cstr(&b, "}");
        if (!CHECK_INT(create(&f, kinds[i].kind, "ns", arena_str(&f.arena, strbuf_str(&b)).p), 201))
            test_note("%s: %.*s", kinds[i].kind->kind, STR_ARG(f.message));
        check_warning(&f, WOULD);
        strbuf_done(&b);
    }
    fixture_done(&f);
}

#define CLIQUE(name, context)                              \
    "{'name':'" name "','spec':{'roleName':'" name         \
    "','replicas':1,'podSpec':{'containers':[{'name':'c'," \
    "'image':'x'" context "}]}}}"
#define BAD ",'securityContext':{'privileged':true}"

TEST(security_warns_of_cliques)
{
    struct fixture f;
    fixture_init(&f);
    label(&f, LABEL("enforce") ":'baseline'");
    CHECK_INT(create(&f, &kind_pcs, "ns",
                     "{'metadata':{'name':'s'},'spec':{'replicas':1,'template':{'cliques':[" CLIQUE(
                         "a", "") "," CLIQUE("b", BAD) "]}}}"),
              201);
    check_warning(&f, "spec.template.cliques[1]: " WOULD);
    CHECK_INT(patch(&f, &kind_pcs, "ns", "s", API_PATCH_MERGE, "{'metadata':{'labels':{'a':'b'}}}"),
              200);
    check_warning(&f, NULL);
    CHECK_INT(patch(&f, &kind_pcs, "ns", "s", API_PATCH_MERGE, "{'spec':{'replicas':2}}"), 200);
    check_warning(&f, "spec.template.cliques[1]: " WOULD);
    fixture_done(&f);
}

/* ---- namespaces ---- */

TEST(security_labels_must_be_known)
{
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_namespace, "",
                     "{'metadata':{'name':'n','labels':{" LABEL("enforce") ":'strict'," LABEL(
                         "warn-version") ":'1.2'}}}"),
              422);
    CHECK_STR(f.message,
              STR("Namespace \"n\" is invalid: "
                  "[metadata.labels[pod-security.kubernetes.io/enforce]: Invalid value: "
                  "\"strict\": must be one of privileged, baseline, restricted, "
                  "metadata.labels[pod-security.kubernetes.io/warn-version]: Invalid value: "
                  "\"1.2\": must be \"latest\" or \"v1.x\"]"));
    CHECK_INT(create(&f, &kind_namespace, "",
                     "{'metadata':{'name':'n','labels':{" LABEL("enforce") ":'privileged'}}}"),
              201);
    CHECK_INT(patch(&f, &kind_namespace, "", "n", API_PATCH_MERGE,
                    "{'metadata':{'labels':{" LABEL("audit") ":'no'}}}"),
              422);
    fixture_done(&f);
}

static void check_told(struct fixture *f, const char *const *want, size_t n)
{
    CHECK_INT(f->n_warnings, n);
    for (size_t i = 0; want && i < MIN(n, f->n_warnings); i++)
        CHECK_STR(f->warnings[i], str_of(want[i]));
}

TEST(security_tells_of_pods_that_are_there)
{
    static const char *const restricted[] = {
        "existing pods in namespace \"ns\" violate the new PodSecurity enforce level "
        "\"restricted:latest\"",
        "a: privileged, allowPrivilegeEscalation != false, unrestricted capabilities, "
        "runAsNonRoot != true, seccompProfile",
        "b (and 2 other pods): allowPrivilegeEscalation != false, unrestricted capabilities, "
        "runAsNonRoot != true, seccompProfile",
    };
    static const char *const baseline[] = {
        "existing pods in namespace \"ns\" violate the new PodSecurity enforce level "
        "\"baseline:v1.20\"",
        "a: privileged",
    };
    struct fixture f;
    fixture_init(&f);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("c", LOOSE)), 201);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("b", LOOSE)), 201);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("d", LOOSE)), 201);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("a", PRIVILEGED)), 201);
    CHECK_INT(create(&f, &kind_pod, "ns", A_POD("good", TIGHT)), 201);
    label(&f, LABEL("enforce") ":'restricted'");
    check_told(&f, restricted, ARRAY_LEN(restricted));
    /* nothing new */
    label(&f, "'x':'y'");
    check_told(&f, NULL, 0);
    /* less than before, in the same version */
    label(&f, LABEL("enforce") ":'baseline'");
    check_told(&f, NULL, 0);
    label(&f, LABEL("enforce-version") ":'v1.20'");
    check_told(&f, baseline, ARRAY_LEN(baseline));
    fixture_done(&f);
}

/* Those of one controller are alike: one of each is looked at first. */
TEST(security_looks_at_so_many_pods_and_says_so)
{
    enum { PODS = 3005 };
    struct fixture f;
    fixture_init(&f);
    for (int i = 0; i < PODS; i++) {
        bool last = i == PODS - 1;
        str pod = text_of(&f,
                          "{'metadata':{'name':'p%04d','ownerReferences':[{'apiVersion':'apps/v1',"
                          "'kind':'ReplicaSet','name':'r','uid':'%s','controller':true}]},'spec':{"
                          "'containers':[{'name':'c','image':'x'%s}]}}",
                          i, last ? "u2" : "u1", last ? BAD : "");
        CHECK_INT(create(&f, &kind_pod, "ns", pod.p), 201);
    }
    label(&f, LABEL("enforce") ":'baseline'");
    static const char *const want[] = {
        "new PodSecurity enforce level only checked against the first 3000 of 3005 existing pods",
        "existing pods in namespace \"ns\" violate the new PodSecurity enforce level "
        "\"baseline:latest\"",
        "p3004: privileged",
    };
    check_told(&f, want, ARRAY_LEN(want));
    fixture_done(&f);
}
