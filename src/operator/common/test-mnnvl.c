/* ComputeDomains. */
#include "base/test.h"
#include "operator/common/mnnvl.h"
#include "operator/operator.h"
#include "operator/test-ring.h"

#define GPU "resources: {limits: {nvidia.com/gpu: 8}}"

/* Twelve pods' worth of cliques: who is enrolled where. */
static struct ring with_groups(void)
{
    struct ring r = ring_new();
    tw_load(r.world,
            "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n"
            "metadata: {name: s, uid: s-uid, annotations: {grove.io/mnnvl-group: default}}\n"
            "spec: {replicas: 2, template: {cliques: [\n"
            "  {name: a, spec: {podSpec: {containers: [{name: m, image: i, " GPU "}, {name: side, "
            "image: i}]}}},\n"
            "  {name: b, annotations: {grove.io/mnnvl-group: none}, spec: {podSpec: {containers: "
            "[{name: m, image: i, " GPU "}]}}},\n"
            "  {name: c, spec: {podSpec: {containers: [{name: m, image: i}]}}},\n"
            "  {name: d, spec: {podSpec: {containers: [{name: m, image: i, " GPU "}]}}},\n"
            "  {name: e, annotations: {grove.io/mnnvl-group: solo}, spec: {podSpec: {containers: "
            "[{name: m, image: i, " GPU "}]}}}],\n"
            " podCliqueScalingGroups: [{name: g, cliqueNames: [d, e], annotations: "
            "{grove.io/mnnvl-group: train}}]}}\n");
    return r;
}

static const char *domain_of(const char *clique)
{
    static char text[64];
    struct ring r = with_groups();
    struct arena a = ARENA_INIT;
    str name = mnnvl_domain(&a, tw_must(r.world, &kind_pcs, "s"), 1, str_of(clique));
    snprintf(text, sizeof(text), "%.*s", STR_ARG(name));
    arena_done(&a);
    ring_free(&r);
    return text;
}

TEST(the_nearest_annotation_enrols_cliques_with_gpus)
{
    CHECK_CSTR(str_of(domain_of("a")), "s-1-default"); /* the set's */
    CHECK_CSTR(str_of(domain_of("b")), "");            /* opts out */
    CHECK_CSTR(str_of(domain_of("c")), "");            /* has no GPU */
    CHECK_CSTR(str_of(domain_of("d")), "s-1-train");   /* its group's */
    CHECK_CSTR(str_of(domain_of("e")), "s-1-solo");    /* its own */
}

TEST(enrolled_cliques_claim_their_domain_on_containers_with_gpus)
{
    struct ring r = with_groups();
    ring_settle(&r);
    jval spec = jgetc(obj_spec(tw_must(r.world, &kind_pclq, "s-0-a")), "podSpec");
    check_yaml(jgetc(spec, "containers"),
               "[{name: m, image: i, resources: {limits: {nvidia.com/gpu: 8}, claims: [{name: "
               "mnnvl-claim}]}}, {name: side, image: i}]");
    check_yaml(jgetc(spec, "resourceClaims"),
               "[{name: mnnvl-claim, resourceClaimTemplateName: s-0-default}]");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "s-0-b"), "spec.podSpec.resourceClaims"), "");
    CHECK_CSTR(tw_json(tw_must(r.world, &kind_pclq, "s-1-g-0-d"), "spec.podSpec.resourceClaims"),
               "[{\"name\":\"mnnvl-claim\",\"resourceClaimTemplateName\":\"s-1-train\"}]");
    ring_free(&r);
}

/* Nobody serves the kind here: it is told, and everything else goes on. */
TEST(a_cluster_without_compute_domains_is_told_and_nothing_waits)
{
    struct ring r = with_groups();
    ring_live(&r);
    CHECK_INT(tw_count(r.world, &kind_pclq), 10);
    struct obj *pcs = tw_must(r.world, &kind_pcs, "s");
    jval c = condition_find(jgetc(obj_status(pcs), "conditions"), STR("ComputeDomainsUnavailable"));
    CHECK_CSTR(jstr(jgetc(c, "status")), "True");
    CHECK_CSTR(jstr(jgetc(c, "reason")), "ComputeDomainKindMissing");
    CHECK_CSTR(tw_json(pcs, "status.availableReplicas"), "2");
    struct plan *p = ring_plan_pcs(&r, "s");
    CHECK_INT(p->writes.len, 0);
    CHECK(tw_look_at(r.world) > r.world->world.now);
    ring_free(&r);
}

TEST(every_replica_has_a_domain_per_group_and_they_go_before_the_set)
{
    struct ring r = with_groups();
    mnnvl_assume_served();
    ring_live(&r);
    check_names(&r, mnnvl_kind(), "s-0-default s-0-solo s-0-train s-1-default s-1-solo s-1-train ");
    struct obj *o = tw_must(r.world, mnnvl_kind(), "s-1-train");
    check_yaml(obj_spec(o), "{channel: {resourceClaimTemplate: {name: s-1-train}}, numNodes: 0}");
    CHECK(obj_has_finalizer(o, STR(FINALIZER_COMPUTE_DOMAIN)));
    CHECK_CSTR(o->owner_uid, "s-uid");
    CHECK_CSTR(obj_label(o, STR("app.kubernetes.io/component")), "pcs-computedomain");
    CHECK_CSTR(obj_label(o, STR("grove.io/mnnvl-group")), "train");
    tw_delete(r.world, mnnvl_kind(), "s-1-train"); /* somebody's mistake */
    ring_live(&r);
    CHECK_INT(tw_count(r.world, mnnvl_kind()), 6);
    tw_patch(r.world, &kind_pcs, "s", "{spec: {replicas: 1}}");
    ring_live(&r);
    check_names(&r, mnnvl_kind(), "s-0-default s-0-solo s-0-train ");
    tw_delete(r.world, &kind_pcs, "s");
    ring_plan_pcs(&r, "s");
    CHECK(tw_write(r.world, mnnvl_kind(), "s-0-solo", "") != NULL);
    CHECK(!tw_write(r.world, &kind_pcs, "s", "")); /* not before them */
    tw_carry_out(r.world);
    ring_live(&r);
    CHECK_INT(tw_count(r.world, mnnvl_kind()), 0);
    CHECK_INT(tw_count(r.world, &kind_pcs), 0);
    ring_free(&r);
    kinds_retire(mnnvl_kind());
}
