/* Discovery in its two forms, against what kube-apiserver 1.36 was recorded to answer. */
#include "apiserver/front/front.h"
#include "apiserver/test-apiserver-fixture.h"
#include "grove/types.h"

#define ALL_VERBS "['create','delete','deletecollection','get','list','patch','update','watch']"
#define WRITE_VERBS "['get','patch','update']"

static struct arena arena; /* of the running test */

static jval hold(struct doc *d)
{
    return d ? doc_root(doc_hold(&arena, d)) : JVAL_ABSENT;
}

static bool json_is(jval got, const char *want)
{
    struct fixture f = {0};
    arena_init(&f.arena);
    bool same = jequal(got, doc_root(fixture_doc(&f, want)));
    if (!same) {
        test_note("got  %.*s", STR_ARG(j_is_absent(got) ? STR("nothing") : jtext(got)));
        test_note("want %s", want);
    }
    arena_done(&f.arena);
    return same;
}

static jval find(jval list, const char *member, const char *value)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_is(jstr(jpath(it.value, member)), value))
            return it.value;
    }
    return JVAL_ABSENT;
}

/* ---- aggregated ---- */

/* Of all tests, which borrow from them: kinds do not change here. */
static struct discovery_pages pages;

/* One resource of the preferred version of a group. */
static jval aggregated(const char *group, const char *resource)
{
    grove_kinds_init();
    jval items = jgetc(doc_root(discovery_aggregated(&pages, *group == '\0', NULL)->doc), "items");
    jval g = *group ? find(items, "metadata.name", group) : jat(items, 0);
    return find(jgetc(jat(jgetc(g, "versions"), 0), "resources"), "resource", resource);
}

TEST(aggregated_discovery_of_core)
{
    grove_kinds_init();
    jval d = doc_root(discovery_aggregated(&pages, true, NULL)->doc);
    CHECK(json_is(jgetc(d, "kind"), "'APIGroupDiscoveryList'"));
    CHECK(json_is(jgetc(d, "apiVersion"), "'apidiscovery.k8s.io/v2'"));
    CHECK(json_is(jgetc(d, "metadata"), "{}"));
    CHECK_INT(jlen(jgetc(d, "items")), 1);
    jval core = jat(jgetc(d, "items"), 0);
    CHECK(json_is(jgetc(core, "metadata"), "{}"));
    CHECK_INT(jlen(jgetc(core, "versions")), 1);
    CHECK(json_is(jgetc(jat(jgetc(core, "versions"), 0), "version"), "'v1'"));
    CHECK(json_is(jgetc(jat(jgetc(core, "versions"), 0), "freshness"), "'Current'"));
    CHECK(json_is(
        aggregated("", "configmaps"),
        "{'resource':'configmaps','responseKind':{'group':'','version':'','kind':"
        "'ConfigMap'},'scope':'Namespaced','singularResource':'configmap','verbs':" ALL_VERBS
        ",'shortNames':['cm']}"));
    CHECK(json_is(aggregated("", "nodes"),
                  "{'resource':'nodes','responseKind':{'group':'','version':'','kind':'Node'},"
                  "'scope':'Cluster','singularResource':'node','verbs':" ALL_VERBS
                  ",'shortNames':['no'],'subresources':[{'subresource':'proxy','responseKind':{"
                  "'group':'','version':'','kind':'NodeProxyOptions'},'verbs':['create','delete',"
                  "'get','patch','update']},{'subresource':'status','responseKind':{'group':'',"
                  "'version':'','kind':'Node'},'verbs':" WRITE_VERBS "}]}"));
}

TEST(aggregated_subresources_of_pods)
{
    static const char *const names[] = {"attach", "binding", "ephemeralcontainers", "eviction",
                                        "exec",   "log",     "portforward",         "proxy",
                                        "resize", "status"};
    jval pods = aggregated("", "pods"), subs = jgetc(pods, "subresources");
    CHECK(json_is(jgetc(pods, "categories"), "['all']"));
    CHECK_INT(jlen(subs), ARRAY_LEN(names));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        CHECK_CSTR(jstr(jgetc(jat(subs, i), "subresource")), names[i]);
    CHECK(json_is(find(subs, "subresource", "eviction"),
                  "{'subresource':'eviction','responseKind':{'group':'policy','version':'v1','kind'"
                  ":'Eviction'},'verbs':['create']}"));
    jval token =
        find(jgetc(aggregated("", "serviceaccounts"), "subresources"), "subresource", "token");
    CHECK(json_is(jgetc(token, "responseKind"),
                  "{'group':'authentication.k8s.io','version':'v1','kind':'TokenRequest'}"));
}

TEST(aggregated_discovery_of_groups)
{
    jval pcs = aggregated("grove.io", "podcliquesets");
    CHECK(json_is(jgetc(pcs, "shortNames"), "['pcs','pgs']"));
    CHECK(json_is(jgetc(pcs, "subresources"),
                  "[{'subresource':'scale','responseKind':{'group':'autoscaling','version':'v1',"
                  "'kind':'Scale'},'verbs':" WRITE_VERBS "},{'subresource':'status','responseKind':"
                  "{'group':'','version':'','kind':'PodCliqueSet'},'verbs':" WRITE_VERBS "}]"));
    jval items = jgetc(doc_root(discovery_aggregated(&pages, false, NULL)->doc), "items");
    CHECK_CSTR(jstr(jpath(jat(items, 0), "metadata.name")), "apps");
    for (struct jiter it = jiter(items); jnext(&it);) {
        str name = jstr(jpath(it.value, "metadata.name"));
        CHECK(!str_is_empty(name));
        for (struct jiter other = jiter(items); jnext(&other);)
            CHECK(other.index == it.index ||
                  !str_eq(jstr(jpath(other.value, "metadata.name")), name));
    }
    /* A resource without subresources, short names or categories does not mention them. */
    CHECK(json_is(aggregated("apps", "controllerrevisions"),
                  "{'resource':'controllerrevisions','responseKind':{'group':'','version':'','kind'"
                  ":'ControllerRevision'},'scope':'Namespaced','singularResource':"
                  "'controllerrevision','verbs':" ALL_VERBS "}"));
}

TEST(aggregated_discovery_is_made_once)
{
    grove_kinds_init();
    const struct page *p = discovery_aggregated(&pages, true, NULL);
    const struct doc *d = p->doc;
    CHECK(discovery_aggregated(&pages, true, NULL)->doc == d);
    CHECK(discovery_aggregated(&pages, false, NULL)->doc != d);
    CHECK(strcmp(discovery_aggregated(&pages, false, NULL)->hash, p->hash) != 0);
}

/* ---- one list per group version ---- */

TEST(legacy_roots)
{
    grove_kinds_init();
    CHECK(json_is(hold(discovery_legacy_versions(STR("127.0.0.1:6443"))),
                  "{'kind':'APIVersions','versions':['v1'],'serverAddressByClientCIDRs':[{"
                  "'clientCIDR':'0.0.0.0/0','serverAddress':'127.0.0.1:6443'}]}"));
    jval groups = hold(discovery_legacy_groups(NULL));
    CHECK(json_is(jgetc(groups, "kind"), "'APIGroupList'"));
    CHECK(json_is(find(jgetc(groups, "groups"), "name", "apps"),
                  "{'name':'apps','versions':[{'groupVersion':'apps/v1','version':'v1'}],"
                  "'preferredVersion':{'groupVersion':'apps/v1','version':'v1'}}"));
    CHECK(j_is_absent(find(jgetc(groups, "groups"), "name", "")));
    CHECK(json_is(hold(discovery_legacy_group(STR("apps"))),
                  "{'kind':'APIGroup','apiVersion':'v1','name':'apps','versions':[{'groupVersion':"
                  "'apps/v1','version':'v1'}],'preferredVersion':{'groupVersion':'apps/v1',"
                  "'version':'v1'}}"));
    CHECK(discovery_legacy_group(STR("none")) == NULL);
    CHECK(discovery_legacy_group(STR("")) == NULL);
    arena_clear(&arena);
}

TEST(legacy_resources)
{
    grove_kinds_init();
    jval apps = hold(discovery_legacy_resources(STR("apps"), STR("v1"), NULL));
    CHECK(json_is(jgetc(apps, "kind"), "'APIResourceList'"));
    CHECK(json_is(jgetc(apps, "apiVersion"), "'v1'"));
    CHECK(json_is(jgetc(apps, "groupVersion"), "'apps/v1'"));
    jval list = jgetc(apps, "resources");
    CHECK(json_is(find(list, "name", "deployments"),
                  "{'name':'deployments','singularName':'deployment','namespaced':true,'kind':"
                  "'Deployment','verbs':" ALL_VERBS ",'shortNames':['deploy'],'categories':['all'],"
                  "'storageVersionHash':'8aSe+NMegvE='}"));
    CHECK(json_is(find(list, "name", "deployments/scale"),
                  "{'name':'deployments/scale','singularName':'','namespaced':true,'group':"
                  "'autoscaling','version':'v1','kind':'Scale','verbs':" WRITE_VERBS "}"));
    CHECK(json_is(find(list, "name", "deployments/status"),
                  "{'name':'deployments/status','singularName':'','namespaced':true,'kind':"
                  "'Deployment','verbs':" WRITE_VERBS "}"));
    CHECK(json_is(find(list, "name", "controllerrevisions"),
                  "{'name':'controllerrevisions','singularName':'controllerrevision','namespaced':"
                  "true,'kind':'ControllerRevision','verbs':" ALL_VERBS
                  ",'storageVersionHash':'85nkx63pcBU='}"));
    arena_clear(&arena);
}

TEST(legacy_resources_of_core)
{
    grove_kinds_init();
    jval core = hold(discovery_legacy_resources(STR(""), STR("v1"), NULL));
    CHECK(j_is_absent(jgetc(core, "apiVersion")));
    CHECK(json_is(jgetc(core, "groupVersion"), "'v1'"));
    jval list = jgetc(core, "resources");
    CHECK(json_is(jgetc(find(list, "name", "pods"), "storageVersionHash"), "'xPOwRZ+Yhw8='"));
    CHECK(json_is(jgetc(find(list, "name", "configmaps"), "storageVersionHash"), "'qFsyl6wFWjQ='"));
    /* kubectl drain finds the version of evictions here. */
    CHECK(json_is(find(list, "name", "pods/eviction"),
                  "{'name':'pods/eviction','singularName':'','namespaced':true,'group':'policy',"
                  "'version':'v1','kind':'Eviction','verbs':['create']}"));
    CHECK(json_is(jgetc(find(list, "name", "nodes"), "namespaced"), "false"));
    CHECK(discovery_legacy_resources(STR(""), STR("v2"), NULL) == NULL);
    CHECK(discovery_legacy_resources(STR("none"), STR("v1"), NULL) == NULL);
    arena_clear(&arena);
}

TEST(kinds_of_one_storage_have_one_hash)
{
    grove_kinds_init();
    jval core = hold(discovery_legacy_resources(STR(""), STR("v1"), NULL));
    jval events = hold(discovery_legacy_resources(STR("events.k8s.io"), STR("v1"), NULL));
    CHECK(jequal(jgetc(find(jgetc(core, "resources"), "name", "events"), "storageVersionHash"),
                 jgetc(find(jgetc(events, "resources"), "name", "events"), "storageVersionHash")));
    arena_clear(&arena);
}

/* Both forms tell the same. */
TEST(both_forms_of_discovery_agree)
{
    grove_kinds_init();
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (kind_is(k, KIND_RETIRED))
            continue;
        jval list =
            jgetc(hold(discovery_legacy_resources(str_of(k->group), str_of(k->version), NULL)),
                  "resources");
        jval one = find(list, "name", k->plural), other = aggregated(k->group, k->plural);
        if (j_is_absent(other))
            continue; /* not of the preferred version */
        CHECK(jequal(jgetc(one, "verbs"), jgetc(other, "verbs")));
        size_t subs = 0;
        for (struct jiter it = jiter(list); jnext(&it);) {
            str rest = jstr(jgetc(it.value, "name"));
            subs += str_is(str_cut(&rest, '/'), k->plural) && rest.len > 0;
        }
        CHECK_INT(subs, jlen(jgetc(other, "subresources")));
        arena_clear(&arena);
    }
}

TEST(reviews_are_told_of)
{
    jval one = aggregated("authorization.k8s.io", "selfsubjectaccessreviews");
    CHECK(json_is(one, "{'resource':'selfsubjectaccessreviews','responseKind':{'group':'','version'"
                       ":'','kind':'SelfSubjectAccessReview'},'scope':'Cluster',"
                       "'singularResource':'selfsubjectaccessreview','verbs':['create']}"));
    jval list = hold(discovery_legacy_resources(STR("authentication.k8s.io"), STR("v1"), NULL));
    CHECK(json_is(find(jgetc(list, "resources"), "name", "selfsubjectreviews"),
                  "{'name':'selfsubjectreviews','singularName':'selfsubjectreview','namespaced':"
                  "false,'kind':'SelfSubjectReview','verbs':['create']}"));
    CHECK(j_has(find(jgetc(hold(discovery_legacy_groups(NULL)), "groups"), "name",
                     "authentication.k8s.io")));
    arena_clear(&arena);
}
