/* Every name of the older documents leads to the object of today, and no other name does. */
#include "base/test.h"
#include "grove/names.h"
#include "grove/old_names.h"
#include "grove/types.h"
#include "json/yaml.h"

/* The example of the documents. */
#define SET                                                                              \
    "apiVersion: grove.io/v1alpha1\nkind: PodCliqueSet\n"                                \
    "metadata: {name: distributed-training, namespace: default, uid: u}\n"               \
    "spec: {replicas: 2, template: {cliques: [{name: parameter-server, spec: {}}, "      \
    "{name: coordinator, spec: {}}, {name: worker, spec: {}}], podCliqueScalingGroups: " \
    "[{name: training-infrastructure, cliqueNames: [worker, parameter-server]}]}}\n"

static const struct {
    const struct kind *kind;
    const char *old, *now; /* NULL: nothing is known of it */
} rows[] = {
    {&kind_pclq, "distributed-training-parameter-server-0",
     "distributed-training-0-training-infrastructure-0-parameter-server"},
    {&kind_pclq, "distributed-training-parameter-server-1",
     "distributed-training-1-training-infrastructure-0-parameter-server"},
    {&kind_pclq, "distributed-training-coordinator-0", "distributed-training-0-coordinator"},
    {&kind_pclq, "distributed-training-coordinator-1", "distributed-training-1-coordinator"},
    {&kind_pclq, "distributed-training-worker-0",
     "distributed-training-0-training-infrastructure-0-worker"},
    {&kind_pclq, "distributed-training-worker-1",
     "distributed-training-1-training-infrastructure-0-worker"},
    {&kind_pcsg, "distributed-training-training-infrastructure",
     "distributed-training-0-training-infrastructure"},
    {&kind_service, "distributed-training-headless", "distributed-training-0"},
    {&kind_hpa, "training-infrastructure-hpa", "distributed-training-0-training-infrastructure"},
    {&kind_hpa, "distributed-training-training-infrastructure-hpa",
     "distributed-training-0-training-infrastructure"},
    {&kind_hpa, "distributed-training-0-training-infrastructure-hpa",
     "distributed-training-0-training-infrastructure"},
    {&kind_hpa, "distributed-training-coordinator-1-hpa", "distributed-training-1-coordinator"},
    {&kind_pclq, "distributed-training-worker-2", NULL}, /* there are two replicas */
    {&kind_pclq, "distributed-training-worker-x", NULL},
    {&kind_pclq, "distributed-training-worker", NULL},
    {&kind_pclq, "distributed-training-", NULL},
    {&kind_pclq, "distributed-training", NULL},
    {&kind_pclq, "other-worker-0", NULL},
    {&kind_pclq, "", NULL},
    {&kind_pcsg, "distributed-training-worker-0", NULL},
    {&kind_pcsg, "training-infrastructure", NULL},
    {&kind_service, "headless", NULL},
    {&kind_hpa, "-hpa", NULL},
    {&kind_hpa, "worker", NULL},
    {&kind_pod, "distributed-training-worker-0", NULL},
};

TEST(names_of_older_documents_lead_to_those_of_today)
{
    struct arena a = ARENA_INIT;
    struct doc *d = yaml_parse_one(STR(SET), NULL);
    REQUIRE(d != NULL);
    struct obj *pcs = obj_new(&kind_pcs, d, NULL);
    REQUIRE(pcs != NULL);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        str hint = old_name_hint(&a, pcs, rows[i].kind, str_of(rows[i].old));
        str want =
            rows[i].now ? arena_printf(&a, "today it is called %s (", rows[i].now) : STR_NONE;
        if (!CHECK(rows[i].now ? str_find(hint, want) >= 0 : str_is_empty(hint)))
            test_note("%s: %.*s", rows[i].old, STR_ARG(hint));
        if (rows[i].now)
            CHECK(str_ends(hint, STR("see `grove tree pcs/distributed-training`")));
    }
    obj_unref(pcs);
    arena_done(&a);
}

TEST(kinds_of_older_documents_lead_to_those_of_today)
{
    CHECK(old_kind(STR("podgangset")) == &kind_pcs);
    CHECK(old_kind(STR("PodGangSet")) == &kind_pcs);
    CHECK(old_kind(STR("podgangsets.grove.io")) == &kind_pcs);
    CHECK(old_kind(STR("clustertopologies")) == &kind_ctb);
    CHECK(old_kind(STR("podgangse")) == NULL);
    CHECK(old_kind(STR("")) == NULL);
}
