/* The gangs that maps mean: of the worked example of gangs.h, of what keeps other names, and of
 * maps of version 0.1.0. */
#include "base/test.h"
#include "grove/gangs.h"
#include "json/yaml.h"

static const struct obj *map_of(struct arena *a, const char *text)
{
    struct err err = ERR_INIT;
    struct doc *d = yaml_parse_one(str_of(text), &err);
    REQUIRE(d != NULL);
    return obj_hold(a, obj_new(&kind_pod_gang_map, d, &err));
}

static str names_of(struct arena *a, const struct obj *map)
{
    str text = STR_NONE;
    for (struct jiter it = jiter(gang_list(a, map)); jnext(&it);)
        text = arena_cat(a, text, text.len ? STR(" ") : STR_NONE, jstr(jgetc(it.value, "name")));
    return text;
}

#define META(more) "{metadata: {name: svc-0, namespace: default" more "}, spec: {entries: ["
#define ENTRIES                                                                                  \
    "{epoch: '7', role: Anchor, podCliqueSetGenerationHash: h, podCliques: {fe: 3}, "            \
    "pcsgReplicaIndices: {pf: [0]}}, "                                                           \
    "{epoch: '8', role: Tail, podCliqueSetGenerationHash: h, pcsgReplicaIndices: {pf: [1, 2]}, " \
    "dependsOn: ['7']}"

TEST(gangs_are_named_by_their_epochs)
{
    struct arena a = ARENA_INIT;
    const struct obj *map =
        map_of(&a, META("") ENTRIES ", {epoch: '9', role: ScaleOut, podCliqueSetGenerationHash: h, "
                                    "podCliques: {fe: 1}}, {epoch: '10', role: ScaleOut, "
                                    "podCliqueSetGenerationHash: h}]}}");
    CHECK_CSTR(names_of(&a, map), "svc-0-7 svc-0-8-pf-1 svc-0-8-pf-2 svc-0-9-fe");
    jval second = jat(gang_list(&a, map), 1);
    CHECK_CSTR(jtext(jgetc(second, "pcsgReplicaIndices")), "{\"pf\":[1]}");
    CHECK_CSTR(jtext(jgetc(second, "dependsOn")), "[\"7\"]");
    CHECK_CSTR(jstr(jgetc(second, "role")), "Tail");
    arena_done(&a);
}

TEST(gangs_that_a_replica_starts_with_keep_their_names)
{
    struct arena a = ARENA_INIT;
    const struct obj *map = map_of(
        &a, META(", annotations: {grove.io/gang-names: '{\"first\":{\"through\":\"8\","
                 "\"above\":{\"pf\":1}}}'}") ENTRIES
        ", {epoch: '9', role: Anchor, podCliqueSetGenerationHash: h, podCliques: {fe: 1}}]}}");
    CHECK_CSTR(names_of(&a, map), "svc-0 svc-0-pf-0 svc-0-pf-1 svc-0-9");
    struct gang_names n = gang_names_read(&a, map);
    CHECK_CSTR(gang_names_text(&a, &n), "{\"first\":{\"above\":{\"pf\":1},\"through\":\"8\"}}");
    arena_done(&a);
}

/* Entries with names, and those in turn of a set that was not coherent when it was made. */
TEST(gangs_of_maps_of_before_keep_their_names)
{
    struct arena a = ARENA_INIT;
    const struct obj *map = map_of(
        &a, META("") "{name: svc-0, labels: {scheduling.grove.io/anchor: 'true'}, podCliques: "
                     "{fe: 3}, pcsgReplicaIndices: {pf: [0, 1]}}, "
                     "{name: svc-0-pf-1, pcsgReplicaIndices: {pf: [3]}, dependsOn: {}}, "
                     "{name: svc-0-1767225600000000000, labels: {scheduling.grove.io/anchor: "
                     "'true'}, podCliques: {fe: 1}}, "
                     "{name: svc-0-1767225600000000001, pcsgReplicaIndices: {pf: [2]}}]}}");
    CHECK(gang_map_is_old(map));
    CHECK_CSTR(names_of(&a, map),
               "svc-0 svc-0-pf-1 svc-0-1767225600000000000 svc-0-1767225600000000001");
    struct gang_names n = gang_names_read(&a, map);
    CHECK_CSTR(gang_names_text(&a, &n),
               "{\"first\":{\"above\":{\"pf\":2},\"through\":\"2\"},\"numbered\":{\"through\":"
               "\"1767225600000000001\"}}");
    arena_done(&a);
}

TEST(names_of_gangs_fit_into_a_label)
{
    struct arena a = ARENA_INIT;
    struct gang_names none = {0};
    char part[64];
    for (size_t base = 1; base < 64; base++) {
        for (size_t len = 1; len < 63; len++) {
            char text[128];
            memset(text, 'b', base);
            memset(part, 'p', len);
            text[0] = part[0] = 'a';
            struct gang_namer n = gang_namer(&a, str_n(text, base), &none, GANG_TAIL,
                                             1767225600000000001, str_n(part, len), true);
            str name = gang_name(&a, &n, 12345);
            CHECK(name.len <= 63);
            CHECK(str_ends(name, STR("-12345")));
            CHECK(str_find(name, STR("-1767225600000000001-")) > 0);
        }
    }
    arena_done(&a);
}
