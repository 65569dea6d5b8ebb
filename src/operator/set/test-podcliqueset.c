/* The PodCliqueSet planner: what a set makes, repairs, scales and lets go. */
#include "base/test.h"
#include "operator/common/upkeep.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

#define OWNER_SVC                                                                    \
    "[{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: svc, uid: svc-uid, " \
    "controller: true, blockOwnerDeletion: true}]"
#define COMMON                                                                       \
    "app.kubernetes.io/managed-by: grove-operator, app.kubernetes.io/part-of: svc, " \
    "grove.io/podcliqueset: svc"

TEST(a_fresh_set_makes_its_children)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    /* The stored revision, whose name holds a hash, comes before all that carries its hashes. */
    REQUIRE(r.world->plan.writes.len > 1);
    const struct plan_write *revision = &r.world->plan.writes.p[1];
    CHECK(revision->kind == &kind_controller_revision && revision->op == PLAN_CREATE);
    CHECK_INT(revision->stage, 1);
    str rest = tw_writes(r.world);
    size_t head = strlen("patch PodCliqueSet default/svc\ncreate ControllerRevision default/\n");
    rest = str_sub(rest, head + revision->name.len, rest.len);
    CHECK_CSTR(rest, "create ServiceAccount default/svc\n"
                     "create Role default/grove.io:pcs:svc\n"
                     "create RoleBinding default/grove.io:pcs:svc\n"
                     "create Service default/svc-0\n"
                     "create Service default/svc-1\n"
                     "create PodCliqueScalingGroup default/svc-0-pf\n"
                     "create PodCliqueScalingGroup default/svc-1-pf\n"
                     "create PodClique default/svc-0-fe\n"
                     "create PodClique default/svc-1-fe\n");
    const struct plan_write *w = tw_write(r.world, &kind_pcs, "svc", "");
    CHECK_INT(w->stage, 0);
    CHECK_CSTR(jtext(jpath(doc_root(w->body), "metadata.finalizers")),
               "[\"grove.io/podcliqueset.grove.io\"]");
    ring_free(&r);
}

TEST(small_children_are_as_the_contract_says)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    check_yaml(tw_body(r.world, &kind_service_account, "svc", ""),
               "apiVersion: v1\n"
               "kind: ServiceAccount\n"
               "metadata:\n"
               "  name: svc\n"
               "  namespace: default\n"
               "  labels: {" COMMON ", app.kubernetes.io/name: svc,\n"
               "           app.kubernetes.io/component: pod-service-account}\n"
               "  ownerReferences: " OWNER_SVC "\n"
               "automountServiceAccountToken: true\n");
    check_yaml(tw_body(r.world, &kind_role, "grove.io:pcs:svc", ""),
               "apiVersion: rbac.authorization.k8s.io/v1\n"
               "kind: Role\n"
               "metadata:\n"
               "  name: grove.io:pcs:svc\n"
               "  namespace: default\n"
               "  labels: {" COMMON ", app.kubernetes.io/name: grove.io-pcs-svc,\n"
               "           app.kubernetes.io/component: pod-role}\n"
               "  ownerReferences: " OWNER_SVC "\n"
               "rules:\n"
               "- {apiGroups: [''], resources: [pods, pods/status], verbs: [get, list, watch]}\n");
    check_yaml(tw_body(r.world, &kind_role_binding, "grove.io:pcs:svc", ""),
               "apiVersion: rbac.authorization.k8s.io/v1\n"
               "kind: RoleBinding\n"
               "metadata:\n"
               "  name: grove.io:pcs:svc\n"
               "  namespace: default\n"
               "  labels: {" COMMON ", app.kubernetes.io/name: grove.io-pcs-svc,\n"
               "           app.kubernetes.io/component: pod-role-binding}\n"
               "  ownerReferences: " OWNER_SVC "\n"
               "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role,\n"
               "          name: 'grove.io:pcs:svc'}\n"
               "subjects: [{kind: ServiceAccount, name: svc, namespace: default}]\n");
    check_yaml(tw_body(r.world, &kind_service, "svc-1", ""),
               "apiVersion: v1\n"
               "kind: Service\n"
               "metadata:\n"
               "  name: svc-1\n"
               "  namespace: default\n"
               "  labels: {" COMMON ", app.kubernetes.io/name: svc-1,\n"
               "           app.kubernetes.io/component: pcs-headless-service,\n"
               "           grove.io/podcliqueset-replica-index: '1'}\n"
               "  ownerReferences: " OWNER_SVC "\n"
               "spec:\n"
               "  clusterIP: None\n"
               "  publishNotReadyAddresses: true\n"
               "  selector: {app.kubernetes.io/managed-by: grove-operator,\n"
               "             app.kubernetes.io/part-of: svc,\n"
               "             grove.io/podcliqueset-replica-index: '1'}\n");
    ring_free(&r);
}

/* Template labels < common ones < the operator's own; one annotation never reaches a clique. */
TEST(a_standalone_clique_is_its_template_in_its_place)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    jval body = tw_body(r.world, &kind_pclq, "svc-1-fe", "");
    str hash = jstr(jget(jpath(body, "metadata.labels"), STR("grove.io/pod-template-hash")));
    CHECK(hash.len >= 1 && hash.len <= 20);
    struct arena a = ARENA_INIT;
    check_yaml(body,
               arena_printf(
                   &a,
                   "apiVersion: grove.io/v1alpha1\n"
                   "kind: PodClique\n"
                   "metadata:\n"
                   "  name: svc-1-fe\n"
                   "  namespace: default\n"
                   "  labels: {" COMMON ", tier: front, app.kubernetes.io/name: svc-1-fe,\n"
                   "           app.kubernetes.io/component: pcs-podclique,\n"
                   "           grove.io/podcliqueset-replica-index: '1', grove.io/podgang: svc-1,\n"
                   "           grove.io/role: fe, grove.io/pod-template-hash: '%.*s'}\n"
                   "  annotations: {note: hello}\n"
                   "  finalizers: [grove.io/podclique.grove.io]\n"
                   "  ownerReferences: " OWNER_SVC "\n"
                   "spec:\n"
                   "  roleName: fe\n"
                   "  replicas: 3\n"
                   "  minAvailable: 2\n"
                   "  podSpec:\n"
                   "    containers: [{name: m, image: i, env: [{name: A, value: b}]}]\n"
                   "    restartPolicy: Always\n"
                   "    terminationGracePeriodSeconds: 30\n",
                   STR_ARG(hash))
                   .p);
    arena_done(&a);
    ring_free(&r);
}

TEST(a_scaling_group_is_its_config_in_its_place)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_plan_pcs(&r, "svc");
    check_yaml(tw_body(r.world, &kind_pcsg, "svc-0-pf", ""),
               "apiVersion: grove.io/v1alpha1\n"
               "kind: PodCliqueScalingGroup\n"
               "metadata:\n"
               "  name: svc-0-pf\n"
               "  namespace: default\n"
               "  labels: {" COMMON ", app.kubernetes.io/name: svc-0-pf,\n"
               "           app.kubernetes.io/component: pcs-podcliquescalinggroup,\n"
               "           grove.io/podcliquescalinggroup: svc-0-pf,\n"
               "           grove.io/podcliqueset-replica-index: '0'}\n"
               "  annotations: {k: v, grove.io/mirrored-keys: annotations/k}\n"
               "  finalizers: [grove.io/podcliquescalinggroup.grove.io]\n"
               "  ownerReferences: " OWNER_SVC "\n"
               "spec: {replicas: 3, minAvailable: 1, cliqueNames: [pl, pw]}\n");
    ring_free(&r);
}

TEST(a_settled_set_has_an_empty_plan)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    CHECK(plan_is_empty(ring_plan_pcs(&r, "svc")));
    ring_free(&r);
}

TEST(the_names_of_the_worked_example_all_appear)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 1}}");
    ring_live(&r);
    check_names(&r, &kind_pcsg, "svc-0-pf ");
    check_names(&r, &kind_pclq,
                "svc-0-fe svc-0-pf-0-pl svc-0-pf-0-pw svc-0-pf-1-pl svc-0-pf-1-pw "
                "svc-0-pf-2-pl svc-0-pf-2-pw ");
    check_names(&r, &kind_pod_gang, "svc-0 svc-0-pf-0 svc-0-pf-1 ");
    check_names(&r, &kind_service, "svc-0 ");
    CHECK_INT(tw_count(r.world, &kind_pod), 3 + 3 * 5);
    ring_free(&r);
}

TEST(status_tells_replicas_availability_and_selector)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    (void)ring_settle(&r);
    struct obj *o = tw_must(r.world, &kind_pcs, "svc");
    CHECK_CSTR(tw_json(o, "status.replicas"), "2");
    CHECK_CSTR(tw_json(o, "status.availableReplicas"), "0");
    CHECK_CSTR(tw_json(o, "status.updatedReplicas"), "0");
    CHECK_INT(jint(jpath(obj_root(o), "status.observedGeneration"), 0), o->generation);
    CHECK_CSTR(jstr(jpath(obj_root(o), "status.hpaPodSelector")),
               "app.kubernetes.io/managed-by=grove-operator,app.kubernetes.io/part-of=svc");
    ring_live(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcs, "svc"), "status.availableReplicas"), "2");
    ring_free(&r);
}

/* Available: every standalone clique has its minimum ready and every group enough replicas. */
TEST(a_replica_below_any_minimum_is_not_available)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{status: {readyReplicas: 1}}");
    ring_plan_pcs(&r, "svc");
    CHECK_CSTR(
        jtext(jpath(tw_body(r.world, &kind_pcs, "svc", "status"), "status.availableReplicas")),
        "1");
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{status: {readyReplicas: 2}}");
    CHECK(plan_is_empty(ring_plan_pcs(&r, "svc")));
    tw_patch(r.world, &kind_pcsg, "svc-1-pf", "{status: {availableReplicas: 0}}");
    ring_plan_pcs(&r, "svc");
    CHECK_CSTR(
        jtext(jpath(tw_body(r.world, &kind_pcs, "svc", "status"), "status.availableReplicas")),
        "1");
    ring_free(&r);
}

TEST(scaling_in_removes_everything_of_the_replica)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 1}}");
    ring_plan_pcs(&r, "svc");
    CHECK_CSTR(tw_writes(r.world), "delete PodCliqueScalingGroup default/svc-1-pf\n"
                                   "delete PodClique default/svc-1-fe\n"
                                   "delete Service default/svc-1\n"
                                   "delete PodDisruptionBudget default/svc-1-fe\n"
                                   "patch PodCliqueSet default/svc status\n");
    ring_live(&r);
    check_names(&r, &kind_pcsg, "svc-0-pf ");
    check_names(&r, &kind_service, "svc-0 ");
    check_names(&r, &kind_pod_gang, "svc-0 svc-0-pf-0 svc-0-pf-1 ");
    CHECK_INT(tw_count(r.world, &kind_pclq), 7);
    CHECK_INT(tw_count(r.world, &kind_pod), 18);
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 0}}");
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_pclq) + tw_count(r.world, &kind_pod) +
                  tw_count(r.world, &kind_pod_gang) + tw_count(r.world, &kind_service),
              0);
    CHECK_INT(tw_count(r.world, &kind_service_account), 1);
    ring_free(&r);
}

#define OTHERS                                                                          \
    "{metadata: {labels: {example.com/team: red}, annotations: {example.com/note: x}, " \
    "ownerReferences: [" OWNER ", {apiVersion: v1, kind: ConfigMap, name: c, uid: c-uid}]}}"
#define OWNER                                                                                   \
    "{apiVersion: grove.io/v1alpha1, kind: PodCliqueSet, name: svc, uid: svc-uid, controller: " \
    "true, blockOwnerDeletion: true}"

static void check_others(struct ring *r, const struct kind *k, const char *name)
{
    const struct obj *o = tw_must(r->world, k, name);
    CHECK_CSTR(obj_label(o, STR("example.com/team")), "red");
    CHECK_CSTR(obj_annotation(o, STR("example.com/note")), "x");
    CHECK_INT(jlen(jgetc(o->meta, "ownerReferences")), 2);
}

/* Labels, annotations, finalizers and owners that others add. */
TEST(what_others_put_on_children_stays)
{
    static const struct {
        const struct kind *kind;
        const char *name;
    } children[] = {
        {&kind_pclq, "svc-0-fe"},       {&kind_pcsg, "svc-0-pf"}, {&kind_service, "svc-0"},
        {&kind_pod_gang, "svc-0"},      {&kind_pdb, "svc-0-fe"},  {&kind_role, "grove.io:pcs:svc"},
        {&kind_service_account, "svc"},
    };
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    for (size_t i = 0; i < ARRAY_LEN(children); i++)
        tw_patch(r.world, children[i].kind, children[i].name, OTHERS);
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{metadata: {finalizers: [grove.io/podclique.grove.io, example.com/hold]}}");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf",
             "{metadata: {finalizers: [grove.io/podcliquescalinggroup.grove.io, "
             "example.com/hold]}}");
    CHECK_INT(ring_settle(&r), 0);
    /* Also where something of it is repaired. */
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {minAvailable: 1}}");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {minAvailable: 2}}");
    ring_live(&r);
    for (size_t i = 0; i < ARRAY_LEN(children); i++)
        check_others(&r, children[i].kind, children[i].name);
    CHECK(obj_has_finalizer(tw_must(r.world, &kind_pclq, "svc-0-fe"), STR("example.com/hold")));
    CHECK(obj_has_finalizer(tw_must(r.world, &kind_pcsg, "svc-0-pf"), STR("example.com/hold")));
    ring_free(&r);
}

/* A group's annotations are what the set says, and others'. */
TEST(what_a_user_takes_back_goes)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{metadata: {annotations: {example.com/note: x}}}");
    tw_patch(r.world, &kind_pcs, "svc",
             "{spec: {template: {podCliqueScalingGroups: [{name: pf, cliqueNames: [pl, pw], "
             "replicas: 3, minAvailable: 1}]}}}");
    ring_live(&r);
    const struct obj *o = tw_must(r.world, &kind_pcsg, "svc-0-pf");
    CHECK_CSTR(obj_annotation(o, STR("k")), "");
    CHECK_CSTR(obj_annotation(o, STR("grove.io/mirrored-keys")), "");
    CHECK_CSTR(obj_annotation(o, STR("example.com/note")), "x");
    ring_free(&r);
}

TEST(damage_is_repaired)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_service, "svc-0", "{spec: {selector: {evil: 'yes'}}}");
    tw_patch(r.world, &kind_service, "svc-1",
             "{spec: {selector: {app.kubernetes.io/part-of: other}}}");
    tw_patch(r.world, &kind_role, "grove.io:pcs:svc", "{rules: []}");
    tw_patch(r.world, &kind_pclq, "svc-0-fe",
             "{metadata: {labels: {grove.io/podgang: wrong}}, spec: {minAvailable: 1, "
             "podSpec: {hostNetwork: true, containers: []}}}");
    tw_patch(r.world, &kind_pcsg, "svc-1-pf", "{spec: {cliqueNames: [pl]}}");
    tw_remove(r.world, &kind_service_account, "svc");
    ring_plan_pcs(&r, "svc");
    check_yaml(tw_body(r.world, &kind_pclq, "svc-0-fe", ""),
               "metadata: {labels: {grove.io/podgang: svc-0}}\n"
               "spec: {minAvailable: 2, podSpec: {hostNetwork: null,\n"
               "  containers: [{name: m, image: i, env: [{name: A, value: b}]}]}}\n");
    check_yaml(tw_body(r.world, &kind_pcsg, "svc-1-pf", ""), "spec: {cliqueNames: [pl, pw]}");
    check_yaml(tw_body(r.world, &kind_service, "svc-1", ""),
               "spec: {selector: {app.kubernetes.io/part-of: svc}}");
    CHECK(tw_write(r.world, &kind_role, "grove.io:pcs:svc", "") != NULL);
    CHECK_INT(tw_write(r.world, &kind_service_account, "svc", "")->op, PLAN_CREATE);
    tw_carry_out(r.world);
    ring_live(&r);
    check_yaml(jpath(obj_root(tw_must(r.world, &kind_service, "svc-0")), "spec.selector"),
               "{app.kubernetes.io/managed-by: grove-operator, app.kubernetes.io/part-of: svc, "
               "grove.io/podcliqueset-replica-index: '0'}");
    ring_free(&r);
}

/* A template that takes something back takes it back everywhere. */
TEST(what_a_template_no_longer_says_goes_from_its_cliques)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    struct arena a = ARENA_INIT;
    str before = arena_str(
        &a, obj_label(tw_must(r.world, &kind_pclq, "svc-0-fe"), STR("grove.io/pod-template-hash")));
    tw_patch(
        r.world, &kind_pcs, "svc",
        "{spec: {template: {cliques: [{name: fe, spec: {replicas: 3, minAvailable: 2, podSpec: "
        "{containers: [{name: m, image: j}]}}}, {name: pl, spec: {podSpec: {containers: "
        "[{name: m, image: i}]}}}, {name: pw, spec: {replicas: 4, podSpec: {containers: "
        "[{name: m, image: i}]}}}]}}}");
    /* Nothing carries the name of a template that is not stored. */
    ring_plan_pcs(&r, "svc");
    CHECK(!tw_write(r.world, &kind_pclq, "svc-0-fe", ""));
    tw_carry_out(r.world);
    ring_plan_pcs(&r, "svc");
    jval body = tw_body(r.world, &kind_pclq, "svc-0-fe", "");
    CHECK_CSTR(jtext(jpath(body, "metadata.labels.tier")), "null");
    CHECK_CSTR(jtext(jpath(body, "metadata.annotations.note")), "null");
    tw_carry_out(r.world);
    struct obj *o = tw_must(r.world, &kind_pclq, "svc-0-fe");
    CHECK(j_is_absent(jgetc(o->labels, "tier")) && j_is_absent(jgetc(o->annotations, "note")));
    CHECK_CSTR(tw_json(o, "spec.podSpec.containers"), "[{\"name\":\"m\",\"image\":\"j\"}]");
    CHECK(!str_eq(obj_label(o, STR("grove.io/pod-template-hash")), before));
    ring_live(&r);
    CHECK(plan_is_empty(ring_plan_pcs(&r, "svc")));
    arena_done(&a);
    ring_free(&r);
}

TEST(numbers_set_by_users_survive_template_changes)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 7}}");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 5}}");
    tw_patch(r.world, &kind_pcs, "svc", "{spec: {replicas: 3, template: {priorityClassName: p}}}");
    ring_live(&r);
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "svc-0-fe"), "spec.replicas"), "7");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcsg, "svc-0-pf"), "spec.replicas"), "5");
    /* New replicas use the template's numbers. */
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "svc-2-fe"), "spec.replicas"), "3");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pcsg, "svc-2-pf"), "spec.replicas"), "3");
    CHECK_INT(tw_count(r.world, &kind_pod), (7 + 5 * 5) + 2 * 18);
    ring_free(&r);
}

TEST(deletion_takes_the_children_along_and_releases_the_finalizer)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_delete(r.world, &kind_pcs, "svc");
    ring_plan_pcs(&r, "svc");
    CHECK_CSTR(tw_writes(r.world), "delete PodClique default/svc-0-fe\n"
                                   "delete PodClique default/svc-1-fe\n"
                                   "delete PodCliqueScalingGroup default/svc-0-pf\n"
                                   "delete PodCliqueScalingGroup default/svc-1-pf\n"
                                   "delete Service default/svc-0\n"
                                   "delete Service default/svc-1\n"
                                   "delete PodDisruptionBudget default/svc-0-fe\n"
                                   "delete PodDisruptionBudget default/svc-1-fe\n"
                                   "patch PodCliqueSet default/svc\n");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pcs, "svc", ""), "metadata.finalizers")), "[]");
    ring_live(&r);
    static const struct kind *const kinds[] = {
        &kind_pcs,     &kind_pcsg, &kind_pclq,         &kind_pod_gang,       &kind_pod,
        &kind_service, &kind_role, &kind_role_binding, &kind_service_account};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        CHECK_INT(tw_count(r.world, kinds[i]), 0);
    ring_free(&r);
}

TEST(a_set_that_is_to_leave_its_children_does)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pcs, "svc",
             "{metadata: {finalizers: [grove.io/podcliqueset.grove.io, orphan]}}");
    tw_delete(r.world, &kind_pcs, "svc");
    ring_plan_pcs(&r, "svc");
    CHECK_CSTR(tw_writes(r.world), "patch PodCliqueSet default/svc\n");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pcs, "svc", ""), "metadata.finalizers")),
               "[\"orphan\"]");
    ring_free(&r);
}

TEST(the_finalizers_of_others_stay)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    tw_patch(r.world, &kind_pcs, "svc", "{metadata: {finalizers: [a/b]}}");
    ring_plan_pcs(&r, "svc");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pcs, "svc", ""), "metadata.finalizers")),
               "[\"a/b\",\"grove.io/podcliqueset.grove.io\"]");
    tw_carry_out(r.world);
    tw_delete(r.world, &kind_pcs, "svc");
    ring_plan_pcs(&r, "svc");
    CHECK_CSTR(jtext(jpath(tw_body(r.world, &kind_pcs, "svc", ""), "metadata.finalizers")),
               "[\"a/b\"]");
    ring_free(&r);
}

/* A set made anew under its name waits until what the old one left is collected. */
TEST(a_new_set_does_not_take_over_what_its_predecessor_left)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_remove(r.world, &kind_pcs, "svc");
    tw_loadf(r.world, "apiVersion: grove.io/v1alpha1\n"
                      "kind: PodCliqueSet\n"
                      "metadata: {name: svc, uid: new-uid}\n"
                      "spec: {replicas: 1, template: {cliques: [{name: fe, spec: {podSpec: "
                      "{containers: [{name: m, image: i}]}}}]}}\n");
    ring_plan_pcs(&r, "svc");
    /* Its finalizer and the revision of its template, nothing else. */
    CHECK_INT(r.world->plan.writes.len, 2);
    CHECK(r.world->plan.writes.p[0].kind == &kind_pcs);
    CHECK(r.world->plan.writes.p[1].kind == &kind_controller_revision);
    CHECK_INT(r.world->plan.events.len, 0);
    /* What is left does not work for the new one either. */
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 9}}");
    CHECK(plan_is_empty(ring_plan_pclq(&r, "svc-0-fe")));
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_pod), 1);
    CHECK_CSTR(tw_must(r.world, &kind_pclq, "svc-0-fe")->owner_uid, "new-uid");
    ring_free(&r);
}

/* T52: children of a set that is deleted without them lose their owner before all have heard. */
TEST(a_child_without_an_owner_is_taken_only_by_a_set_that_is_still_there)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_service, "svc-0", "{metadata: {ownerReferences: null}}");
    ring_plan_pcs(&r, "svc");
    const struct plan_write *asked = tw_write(r.world, &kind_pcs, "svc", "");
    const struct plan_write *taken = tw_write(r.world, &kind_service, "svc-0", "");
    REQUIRE(asked && taken);
    CHECK(asked->rv != 0 && asked->rv == tw_must(r.world, &kind_pcs, "svc")->rv);
    CHECK(asked->stage < taken->stage);
    ring_live(&r);
    CHECK_STR(tw_must(r.world, &kind_service, "svc-0")->owner_uid, STR("svc-uid"));
    ring_free(&r);
}

/* "a" with the group "b" and "a-0-b" want the same names: the second is told, the first untouched.
 */
TEST(a_name_that_belongs_to_another_set_is_left_alone)
{
    struct ring r = ring_new();
    tw_load(r.world,
            "apiVersion: grove.io/v1alpha1\n"
            "kind: PodCliqueSet\n"
            "metadata: {name: a, uid: a-uid}\n"
            "spec: {replicas: 1, template: {cliques: [{name: b-0-c, spec: {podSpec: {containers: "
            "[{name: m, image: i}]}}}]}}\n"
            "---\n"
            "apiVersion: grove.io/v1alpha1\n"
            "kind: PodCliqueSet\n"
            "metadata: {name: a-0-b, uid: b-uid}\n"
            "spec: {replicas: 1, template: {cliques: [{name: c, spec: {podSpec: {containers: "
            "[{name: m, image: i}]}}}]}}\n");
    ring_plan_pcs(&r, "a");
    tw_carry_out(r.world);
    ring_plan_pcs(&r, "a-0-b");
    CHECK(tw_write(r.world, &kind_pclq, "a-0-b-0-c", "") == NULL);
    REQUIRE(r.world->plan.events.len == 1);
    CHECK(r.world->plan.events.p[0].warning);
    CHECK_CSTR(r.world->plan.events.p[0].message, "PodClique a-0-b-0-c belongs to PodCliqueSet a");
    CHECK(tw_look_at(r.world) > r.world->world.now);
    ring_free(&r);
}

TEST(long_names_make_valid_children)
{
    struct ring r = ring_new();
    tw_load(r.world,
            "apiVersion: grove.io/v1alpha1\n"
            "kind: PodCliqueSet\n"
            "metadata: {name: distributed-training-of-a-very-large-language-model}\n"
            "spec: {replicas: 1, template: {cliques: [{name: parameter-server-with-a-long-name, "
            "spec: {roleName: 'Any Text!', podSpec: {containers: [{name: m, image: i}]}}}], "
            "podCliqueScalingGroups: [{name: training-infrastructure, replicas: 2, cliqueNames: "
            "[parameter-server-with-a-long-name]}]}}\n");
    ring_live(&r);
    static const struct kind *const kinds[] = {&kind_pcsg, &kind_pclq, &kind_pod_gang, &kind_pod,
                                               &kind_service};
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct obj *o;
        for (struct cache_iter it = cache_all(world_cache(&r.world->world, kinds[i]), STR_NONE);
             (o = cache_next(&it));) {
            for (struct jiter l = jiter(o->labels); jnext(&l);)
                CHECK(str_is_label_value(jstr(l.value)));
            if (kinds[i] != &kind_pod)
                continue;
            CHECK(str_is_dns1123_label(jstr(jgetc(obj_spec(o), "hostname"))));
            CHECK(str_is_dns1123_label(jstr(jgetc(obj_spec(o), "subdomain"))));
            CHECK(!str_is_empty(jstr(jgetc(obj_spec(o), "nodeName")))); /* its gang let it go */
        }
    }
    CHECK_INT(tw_count(r.world, &kind_pod), 2);
    CHECK_INT(tw_count(r.world, &kind_pod_gang), 2);
    tw_delete(r.world, &kind_pcs, "distributed-training-of-a-very-large-language-model");
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_pod_gang) + tw_count(r.world, &kind_pod), 0);
    ring_free(&r);
}

/* No number makes a plan that cannot be carried. */
TEST(absurd_numbers_make_bounded_plans)
{
    struct ring r = ring_new();
    tw_load(
        r.world,
        "apiVersion: grove.io/v1alpha1\n"
        "kind: PodCliqueSet\n"
        "metadata: {name: big, finalizers: [grove.io/podcliqueset.grove.io]}\n"
        "spec: {replicas: 2147483647, template: {cliques: [{name: c, spec: {replicas: "
        "2147483647, minAvailable: 1, podSpec: {containers: [{name: m, image: i}]}}}, {name: d, "
        "spec: {podSpec: {containers: [{name: m, image: i}]}}}], podCliqueScalingGroups: "
        "[{name: g, cliqueNames: [d], replicas: 2147483647, minAvailable: 2147483647}]}}\n");
    ring_plan_pcs(&r, "big");
    CHECK(r.world->plan.writes.len <= 2000);
    tw_carry_out(r.world);
    CHECK_INT(tw_count(r.world, &kind_service), 500);
    CHECK_INT(tw_count(r.world, &kind_pcsg), 500);
    CHECK_INT(tw_count(r.world, &kind_pclq), 500);
    ring_plan_pcs(&r, "big");
    tw_carry_out(r.world);
    CHECK_INT(tw_count(r.world, &kind_service), 1000);
    ring_plan_pcsg(&r, "big-0-g");
    CHECK(r.world->plan.writes.len > 0 && r.world->plan.writes.len <= 600);
    tw_carry_out(r.world);
    ring_plan_pclq(&r, "big-0-c");
    CHECK(r.world->plan.writes.len > 0 && r.world->plan.writes.len <= 600);
    /* A gang no object could hold is not made, and the set is told. */
    ring_plan_gang(&r, "big-0");
    CHECK_INT(r.world->plan.writes.len, 0);
    CHECK_INT(r.world->plan.events.len, 1);
    ring_free(&r);
}

/* ---- upkeep ---- */

/* Whatever somebody does to a child, looking at that child alone puts it right. */
TEST(each_child_is_put_right_by_itself)
{
    static const struct {
        const struct kind *kind;
        const char *name, *damage, *path;
    } cases[] = {
        {&kind_pclq, "svc-0-fe", "{spec: {minAvailable: 1}}", "spec.minAvailable"},
        {&kind_pclq, "svc-1-pf-2-pw", "{spec: {minAvailable: 2}}", "spec.minAvailable"},
        {&kind_pclq, "svc-1-fe", "{metadata: {labels: {grove.io/podcliqueset-replica-index: '7'}}}",
         "metadata.labels"},
        {&kind_pcsg, "svc-1-pf", "{spec: {minAvailable: 2}}", "spec.minAvailable"},
        {&kind_service, "svc-1", "{spec: {publishNotReadyAddresses: false}}",
         "spec.publishNotReadyAddresses"},
        {&kind_pdb, "svc-0-fe", "{spec: {minAvailable: 0}}", "spec.minAvailable"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct ring r = ring_new();
        struct arena a = ARENA_INIT;
        tw_load(r.world, SVC);
        ring_live(&r);
        const struct kind *k = cases[i].kind;
        str before = arena_str(&a, tw_json(tw_must(r.world, k, cases[i].name), cases[i].path));
        tw_patch(r.world, k, cases[i].name, cases[i].damage);
        /* A budget is looked after with its clique. */
        tw_plan(r.world, upkeep_plan, NULL, k == &kind_pdb ? &kind_pclq : k, cases[i].name);
        CHECK_INT(r.world->plan.writes.len, 1);
        tw_carry_out(r.world);
        CHECK_STR(tw_json(tw_must(r.world, k, cases[i].name), cases[i].path), before);
        CHECK_INT(tw_plan(r.world, upkeep_plan, NULL, k, cases[i].name)->writes.len, 0);
        arena_done(&a);
        ring_free(&r);
    }
}

TEST(upkeep_leaves_numbers_of_users_and_objects_of_others_alone)
{
    struct ring r = ring_new();
    tw_load(r.world, SVC);
    ring_live(&r);
    tw_patch(r.world, &kind_pclq, "svc-0-fe", "{spec: {replicas: 9}}");
    tw_patch(r.world, &kind_pcsg, "svc-0-pf", "{spec: {replicas: 5}}");
    CHECK_INT(tw_plan(r.world, upkeep_plan, NULL, &kind_pclq, "svc-0-fe")->writes.len, 0);
    CHECK_INT(tw_plan(r.world, upkeep_plan, NULL, &kind_pcsg, "svc-0-pf")->writes.len, 0);
    tw_load(r.world, "apiVersion: v1\nkind: Service\nmetadata: {name: svc-9}\nspec: {}\n");
    CHECK_INT(tw_plan(r.world, upkeep_plan, NULL, &kind_service, "svc-9")->writes.len, 0);
    ring_free(&r);
}
