/* The OpenAPI documents: complete, closed under reference, and what kubectl looks for in them. */
#include "apiserver/front/front.h"
#include "apiserver/test-apiserver-fixture.h"
#include "grove/types.h"

#define REF "#/components/schemas/"

static jval document(const char *group, const char *version)
{
    grove_kinds_init();
    const struct page *p = openapi_v3(str_of(group), str_of(version));
    REQUIRE(p);
    return doc_root(p->doc);
}

static jval schema(jval doc, const char *name)
{
    return jget(jpath(doc, "components.schemas"), str_of(name));
}

/* The schema of spec.containers from a schema of a Pod, following references. */
static jval property(jval doc, jval s, const char *path)
{
    str rest = str_of(path);
    while (rest.len > 0) {
        str name = str_cut(&rest, '.');
        jval items = jgetc(s, "items"), all = jgetc(j_has(items) ? items : s, "allOf");
        if (j_has(all)) {
            str ref = jstr(jgetc(jat(all, 0), "$ref"));
            s = jget(jpath(doc, "components.schemas"), str_sub(ref, sizeof(REF) - 1, ref.len));
        }
        s = jget(jgetc(s, "properties"), name);
    }
    return s;
}

static bool json_is(jval got, const char *want)
{
    struct fixture f = {0};
    arena_init(&f.arena);
    bool same = jequal(got, doc_root(fixture_doc(&f, want)));
    if (!same)
        test_note("got %.*s, want %s", STR_ARG(j_is_absent(got) ? STR("nothing") : jtext(got)),
                  want);
    arena_done(&f.arena);
    return same;
}

/* ---- as a whole ---- */

static void check_refs(jval doc, jval v, size_t *n)
{
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (str_is(it.key, "$ref") && jtype(it.value) == J_STRING) {
            str ref = jstr(it.value);
            bool ok = CHECK(str_starts(ref, STR(REF))) &&
                      CHECK(j_has(jget(jpath(doc, "components.schemas"),
                                       str_sub(ref, sizeof(REF) - 1, ref.len))));
            if (!ok)
                test_note("%.*s", STR_ARG(ref));
            (*n)++;
        }
        check_refs(doc, it.value, n);
    }
}

TEST(openapi_references_resolve)
{
    grove_kinds_init();
    size_t refs = 0, bytes = 0, documents = 0, largest = 0;
    for (struct jiter it = jiter(jgetc(doc_root(openapi_v3_index()->doc), "paths")); jnext(&it);) {
        str rest = it.key;
        bool core = str_is(str_cut(&rest, '/'), "api");
        str group = core ? STR("") : str_cut(&rest, '/');
        const struct page *p = openapi_v3(group, rest);
        REQUIRE(p);
        check_refs(doc_root(p->doc), doc_root(p->doc), &refs);
        documents++;
        bytes += doc_text(p->doc).len;
        largest = MAX(largest, doc_text(p->doc).len);
    }
    CHECK(refs > 500);
    test_note("%zu documents, %zu bytes, the largest %zu; %zu references", documents, bytes,
              largest, refs);
}

/* That of the kind, of all that share the schema; absent: another's. */
static jval kind_of_schema(jval schema, const struct kind *k)
{
    for (struct jiter it = jiter(jgetc(schema, "x-kubernetes-group-version-kind")); jnext(&it);)
        if (str_is(jstr(jgetc(it.value, "kind")), k->kind) &&
            str_is(jstr(jgetc(it.value, "group")), k->group) &&
            str_is(jstr(jgetc(it.value, "version")), k->version))
            return it.value;
    return JVAL_ABSENT;
}

static void check_is_described(const struct kind *k)
{
    jval doc = document(k->group, k->version);
    size_t found = 0;
    for (struct jiter it = jiter(jpath(doc, "components.schemas")); jnext(&it);) {
        if (j_is_absent(kind_of_schema(it.value, k)))
            continue;
        found++;
        CHECK(str_ends(it.key, str_of(k->kind)));
        CHECK(j_has(property(doc, it.value, "metadata")));
        CHECK(j_has(property(doc, it.value, "metadata.labels")));
    }
    if (!CHECK_INT(found, 1))
        test_note("%s/%s %s", k->group, k->version, k->kind);
}

TEST(every_kind_has_a_schema)
{
    grove_kinds_init();
    for (size_t i = 0; i < kinds_count(); i++)
        if (!kind_is(kinds_at(i), KIND_RETIRED))
            check_is_described(kinds_at(i));
}

typedef VEC(const struct type *) type_vec;

static bool add_type(type_vec *seen, const struct type *t)
{
    for (size_t i = 0; i < seen->len; i++) {
        if (seen->p[i] == t)
            return false;
    }
    *vec_push(seen) = t;
    return true;
}

/* Also shows that no two types fall together under one name. */
static void check_fields(jval doc, jval s, const struct type *t, type_vec *seen)
{
    if (!add_type(seen, t))
        return;
    for (size_t i = 0; i < t->n_fields; i++) {
        const struct field *f = &t->fields[i];
        jval p = property(doc, s, f->name);
        if (!CHECK(j_has(p)))
            test_note("%s.%s", t->name, f->name);
        CHECK((f->shape == FIELD_LIST) == j_has(jgetc(p, "items")));
        CHECK((f->shape == FIELD_MAP) == j_has(jgetc(p, "additionalProperties")));
        if (f->type->tag == TYPE_OBJECT)
            check_fields(doc, f->shape == FIELD_MAP ? jgetc(p, "additionalProperties") : p, f->type,
                         seen);
    }
}

TEST(schemas_have_the_fields_of_the_tables)
{
    size_t n = 0;
    grove_kinds_init();
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (kind_is(k, KIND_RETIRED))
            continue;
        jval doc = document(k->group, k->version);
        type_vec seen = {0};
        for (struct jiter it = jiter(jpath(doc, "components.schemas")); jnext(&it);) {
            jval is = jat(jgetc(it.value, "x-kubernetes-group-version-kind"), 0);
            if (str_is(jstr(jgetc(is, "kind")), k->kind) &&
                str_is(jstr(jgetc(is, "group")), k->group))
                check_fields(doc, it.value, k->type, &seen);
        }
        n += seen.len;
        vec_done(&seen);
    }
    CHECK(n > 500);
}

TEST(openapi_names_say_where_a_type_is_at_home)
{
    jval core = document("", "v1"), apps = document("apps", "v1");
    CHECK(j_has(schema(core, "io.k8s.api.core.v1.PodSpec")));
    CHECK(j_has(schema(core, "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta")));
    CHECK(j_has(schema(core, "io.k8s.api.policy.v1.Eviction")));
    CHECK(j_has(schema(apps, "io.k8s.api.core.v1.PodSpec")));
    CHECK(j_has(schema(apps, "io.k8s.api.apps.v1.DeploymentList")));
    CHECK(j_has(schema(apps, "io.k8s.api.autoscaling.v1.Scale")));
    CHECK(j_is_absent(schema(apps, "io.k8s.api.apps.v1.PodSpec")));
    CHECK(j_has(schema(document("rbac.authorization.k8s.io", "v1"), "io.k8s.api.rbac.v1.Role")));
    CHECK(j_has(schema(document("events.k8s.io", "v1"), "io.k8s.api.events.v1.Event")));
    CHECK(j_has(schema(document("events.k8s.io", "v1"), "io.k8s.api.events.v1.EventSeries")));
    jval grove = document("grove.io", "v1alpha1");
    CHECK(j_has(schema(grove, "io.grove.v1alpha1.PodCliqueSpec")));
    CHECK(j_has(schema(grove, "io.k8s.api.core.v1.PodSpec")));
    CHECK(j_has(
        schema(document("scheduler.grove.io", "v1alpha1"), "io.grove.scheduler.v1alpha1.PodGang")));
}

/* ---- fields ---- */

TEST(fields_of_a_pod)
{
    jval doc = document("", "v1"), pod = schema(doc, "io.k8s.api.core.v1.Pod");
    jval containers = property(doc, pod, "spec.containers");
    CHECK(json_is(jgetc(containers, "x-kubernetes-list-map-keys"), "['name']"));
    CHECK(json_is(jgetc(containers, "x-kubernetes-list-type"), "'map'"));
    CHECK(json_is(jgetc(containers, "x-kubernetes-patch-merge-key"), "'name'"));
    CHECK(json_is(jgetc(containers, "x-kubernetes-patch-strategy"), "'merge'"));
    CHECK(json_is(jgetc(containers, "items"),
                  "{'allOf':[{'$ref':'" REF "io.k8s.api.core.v1.Container'}]}"));
    CHECK(json_is(jgetc(property(doc, pod, "spec.volumes"), "x-kubernetes-patch-strategy"),
                  "'merge,retainKeys'"));
    jval ports = property(doc, pod, "spec.containers.ports");
    CHECK(json_is(jgetc(ports, "x-kubernetes-list-map-keys"), "['containerPort','protocol']"));
    CHECK(json_is(jgetc(ports, "x-kubernetes-patch-merge-key"), "'containerPort'"));
    CHECK(json_is(jgetc(property(doc, pod, "spec.containers.imagePullPolicy"), "enum"),
                  "['Always','IfNotPresent','Never']"));
    CHECK(json_is(jgetc(property(doc, pod, "spec.terminationGracePeriodSeconds"), "format"),
                  "'int64'"));
    jval limits = property(doc, pod, "spec.containers.resources.limits");
    CHECK(json_is(jgetc(limits, "additionalProperties"),
                  "{'allOf':[{'$ref':'" REF "io.k8s.apimachinery.pkg.api.resource.Quantity'}]}"));
    CHECK(json_is(jgetc(schema(doc, "io.k8s.api.core.v1.Container"), "required"), "['name']"));
    CHECK(json_is(jgetc(schema(doc, "io.k8s.apimachinery.pkg.apis.meta.v1.Time"), "format"),
                  "'date-time'"));
    jval secret = schema(doc, "io.k8s.api.core.v1.Secret");
    CHECK(json_is(jpath(property(doc, secret, "data"), "additionalProperties"),
                  "{'type':'string','format':'byte'}"));
    CHECK(json_is(jgetc(schema(doc, "io.k8s.apimachinery.pkg.util.intstr.IntOrString"),
                        "x-kubernetes-int-or-string"),
                  "true"));
    jval deployment = schema(document("apps", "v1"), "io.k8s.api.apps.v1.Deployment");
    CHECK(json_is(jgetc(property(document("apps", "v1"), deployment, "spec.strategy"),
                        "x-kubernetes-patch-strategy"),
                  "'retainKeys'"));
    CHECK(json_is(jgetc(property(doc, pod, "metadata.ownerReferences"), "items"),
                  "{'allOf':[{'$ref':'" REF "io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference'"
                  "}],'x-kubernetes-map-type':'atomic'}"));
}

TEST(fields_of_a_custom_resource)
{
    jval doc = document("grove.io", "v1alpha1");
    jval pcs = schema(doc, "io.grove.v1alpha1.PodCliqueSet");
    CHECK(json_is(jgetc(pcs, "required"), "['spec']"));
    CHECK(json_is(jgetc(property(doc, pcs, "spec.replicas"), "default"), "0"));
    jval order = property(doc, pcs, "spec.template.cliqueStartupType");
    CHECK(json_is(jgetc(order, "default"), "'CliqueStartupTypeAnyOrder'"));
    CHECK(json_is(jgetc(order, "enum"), "['CliqueStartupTypeAnyOrder','CliqueStartupTypeInOrder',"
                                        "'CliqueStartupTypeExplicit']"));
    jval cliques = property(doc, pcs, "spec.template.cliques");
    CHECK(json_is(jgetc(cliques, "x-kubernetes-list-map-keys"), "['name']"));
    CHECK(!str_is_empty(jstr(jgetc(cliques, "description"))));
    CHECK(
        json_is(jgetc(property(doc, pcs, "spec.template.topologyConstraint.packDomain"), "pattern"),
                "'^[a-z][a-z0-9-]*$'"));
    /* What a Pod gets by default is not put into a template of somebody else's. */
    jval policy = property(doc, pcs, "spec.template.cliques.spec.podSpec.restartPolicy");
    CHECK(j_has(policy) && j_is_absent(jgetc(policy, "default")));
    jval core = document("", "v1");
    CHECK(
        json_is(jgetc(property(core, schema(core, "io.k8s.api.core.v1.Pod"), "spec.restartPolicy"),
                      "default"),
                "'Always'"));
}

/* ---- paths ---- */

static bool has_parameter(jval operation, const char *name)
{
    for (struct jiter it = jiter(jgetc(operation, "parameters")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "name")), name) &&
            str_is(jstr(jgetc(it.value, "in")), "query"))
            return true;
    }
    return false;
}

/* kubectl validates, applies and explains by these. */
TEST(patch_paths_say_what_kubectl_asks)
{
    grove_kinds_init();
    for (size_t i = 0; i < kinds_count(); i++) {
        const struct kind *k = kinds_at(i);
        if (kind_is(k, KIND_RETIRED) || !(k->verbs & VERB_PATCH))
            continue;
        struct strbuf path = STRBUF_INIT(1024);
        strbuf_printf(&path, *k->group ? "/apis/%s/%s/" : "/api%s/%s/", k->group, k->version);
        strbuf_printf(&path, "%s%s/{name}",
                      kind_is(k, KIND_NAMESPACED) ? "namespaces/{namespace}/" : "", k->plural);
        jval item = jget(jgetc(document(k->group, k->version), "paths"), strbuf_str(&path));
        jval patch_op = jgetc(item, "patch"),
             is = jgetc(patch_op, "x-kubernetes-group-version-kind");
        jval accepted = jpath(patch_op, "requestBody.content");
        CHECK(str_is(jstr(jgetc(is, "group")), k->group));
        CHECK(str_is(jstr(jgetc(is, "version")), k->version));
        CHECK(str_is(jstr(jgetc(is, "kind")), k->kind));
        CHECK(has_parameter(patch_op, "fieldValidation"));
        CHECK(has_parameter(patch_op, "dryRun"));
        CHECK(j_has(jgetc(accepted, "application/apply-patch+yaml")));
        CHECK(j_has(jgetc(accepted, "application/strategic-merge-patch+json")) !=
              kind_is(k, KIND_CUSTOM));
        CHECK(j_has(jgetc(item, "get")) && j_has(jgetc(item, "put")));
        CHECK(j_has(jgetc(item, "delete")) && j_is_absent(jgetc(item, "post")));
        strbuf_done(&path);
    }
}

TEST(other_paths)
{
    jval paths = jgetc(document("", "v1"), "paths");
    jval pods = jgetc(paths, "/api/v1/namespaces/{namespace}/pods");
    CHECK(json_is(jpath(pods, "get.x-kubernetes-action"), "'list'"));
    CHECK(has_parameter(jgetc(pods, "get"), "sendInitialEvents"));
    CHECK(j_has(jgetc(pods, "post")) && j_has(jgetc(pods, "delete")));
    CHECK_INT(jlen(jgetc(paths, "/api/v1/pods")), 1);
    CHECK(j_is_absent(jgetc(jgetc(paths, "/api/v1/namespaces"), "delete")));
    jval binding = jgetc(paths, "/api/v1/namespaces/{namespace}/pods/{name}/binding");
    CHECK(json_is(jpath(binding, "post.x-kubernetes-group-version-kind.kind"), "'Binding'"));
    CHECK(j_is_absent(jgetc(binding, "get")));
    jval eviction = jgetc(paths, "/api/v1/namespaces/{namespace}/pods/{name}/eviction");
    CHECK(json_is(jpath(eviction, "post.x-kubernetes-group-version-kind.group"), "'policy'"));
    jval status = jgetc(paths, "/api/v1/namespaces/{namespace}/pods/{name}/status");
    CHECK(json_is(jpath(status, "patch.x-kubernetes-group-version-kind.kind"), "'Pod'"));
    CHECK(has_parameter(jgetc(status, "patch"), "fieldValidation"));
}

TEST(reviews_have_a_document)
{
    jval doc = document("authorization.k8s.io", "v1");
    jval path =
        jgetc(jgetc(doc, "paths"), "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews");
    CHECK(json_is(jpath(path, "post.x-kubernetes-group-version-kind.kind"),
                  "'SelfSubjectAccessReview'"));
    CHECK_INT(jlen(path), 1);
    jval review = schema(doc, "io.k8s.api.authorization.v1.SelfSubjectAccessReview");
    CHECK(j_has(property(doc, review, "spec.resourceAttributes.verb")));
    CHECK(j_is_absent(schema(doc, "io.k8s.api.authorization.v1.SelfSubjectAccessReviewList")));
}

/* ---- pages ---- */

TEST(openapi_documents_are_made_once)
{
    jval doc = document("apps", "v1");
    const struct page *p = openapi_v3(STR("apps"), STR("v1")), *index = openapi_v3_index();
    CHECK(doc_root(p->doc).doc == doc.doc);
    CHECK(openapi_v3_index()->doc == index->doc);
    CHECK_INT(strlen(p->hash), 64);
    struct strbuf want = STRBUF_INIT(256);
    strbuf_printf(&want, "/openapi/v3/apis/apps/v1?hash=%s", p->hash);
    CHECK_STR(jstr(jgetc(jget(jgetc(doc_root(index->doc), "paths"), STR("apis/apps/v1")),
                         "serverRelativeURL")),
              strbuf_str(&want));
    strbuf_done(&want);
    CHECK(openapi_v3(STR("apps"), STR("v2")) == NULL);
    CHECK(openapi_v3(STR("none"), STR("v1")) == NULL);
    CHECK(strcmp(p->hash, openapi_v3(STR("policy"), STR("v1"))->hash) != 0);
}

TEST(hash_of_a_page_is_that_of_its_text)
{
    struct page p = {0}, q = {0};
    struct fixture f = {0};
    arena_init(&f.arena);
    page_set(&p, doc_ref(fixture_doc(&f, "{}")));
    /* SHA-256 of "{}" */
    CHECK_CSTR(str_of(p.hash), "44136FA355B3678A1146AD16F7E8649E94FB4FC21FE77E8310C060F61CAAFF8A");
    page_set(&q, doc_ref(fixture_doc(&f, "{ }")));
    CHECK(strcmp(p.hash, q.hash) != 0);
    doc_unref(p.doc);
    doc_unref(q.doc);
    arena_done(&f.arena);
}

/* ---- v2 ---- */

struct v2_check {
    jval definitions;
    size_t refs, dangling, odd;
};

/* Every reference leads somewhere, and nothing is in it that v2 does not know. */
static void check_v2(struct v2_check *x, jval v)
{
    static const char *const unknown[] = {"oneOf", "anyOf", "allOf", "not", "nullable"};
    str ref = jstr(jgetc(v, "$ref"));
    if (jtype(jgetc(v, "$ref")) == J_STRING) {
        x->refs++;
        x->dangling += !str_starts(ref, STR("#/definitions/")) ||
                       !j_has(jget(x->definitions, str_sub(ref, 14, ref.len)));
    }
    bool is_schema = jtype(jgetc(v, "type")) == J_STRING;
    x->odd += is_schema && str_is(jstr(jgetc(v, "type")), "array") && !j_has(jgetc(v, "items"));
    for (size_t i = 0; is_schema && i < ARRAY_LEN(unknown); i++)
        x->odd += !j_is_absent(jget(v, str_of(unknown[i])));
    for (struct jiter it = jiter(v); jnext(&it);)
        if (jtype(it.value) == J_OBJECT || jtype(it.value) == J_ARRAY)
            check_v2(x, it.value);
}

TEST(openapi_v2_has_what_v3_has)
{
    grove_kinds_init();
    jval root = doc_root(openapi_v2()->doc);
    CHECK_CSTR(jstr(jgetc(root, "swagger")), "2.0");
    struct v2_check x = {.definitions = jgetc(root, "definitions")};
    check_v2(&x, root);
    CHECK(x.refs > 1000);
    CHECK_INT(x.dangling, 0);
    CHECK_INT(x.odd, 0);
    jval index = jgetc(doc_root(openapi_v3_index()->doc), "paths");
    for (struct jiter it = jiter(index); jnext(&it);) {
        str group = it.key, first = str_cut(&group, '/');
        str version = group;
        if (str_is(first, "apis")) {
            group = str_cut(&version, '/');
        } else {
            group = STR_NONE;
        }
        jval v3 = doc_root(openapi_v3(group, version)->doc);
        for (struct jiter s = jiter(jpath(v3, "components.schemas")); jnext(&s);)
            if (!CHECK(j_has(jget(x.definitions, s.key))))
                test_note("%.*s", STR_ARG(s.key));
        for (struct jiter p = jiter(jgetc(v3, "paths")); jnext(&p);)
            CHECK(j_has(jget(jgetc(root, "paths"), p.key)));
    }
}

TEST(openapi_v2_says_how_to_patch)
{
    grove_kinds_init();
    jval paths = jgetc(doc_root(openapi_v2()->doc), "paths");
    jval patch =
        jgetc(jget(paths, STR("/apis/apps/v1/namespaces/{namespace}/deployments/{name}")), "patch");
    CHECK_CSTR(jstr(jpath(patch, "x-kubernetes-group-version-kind.kind")), "Deployment");
    CHECK(str_find(jtext(jgetc(patch, "consumes")), STR("strategic-merge-patch")) > 0);
    CHECK(str_find(jtext(jgetc(patch, "parameters")), STR("\"name\":\"fieldValidation\"")) > 0);
    patch = jgetc(jget(paths, STR("/apis/grove.io/v1alpha1/namespaces/{namespace}/podcliquesets/"
                                  "{name}")),
                  "patch");
    CHECK(j_has(patch));
    CHECK(str_find(jtext(jgetc(patch, "consumes")), STR("strategic-merge-patch")) < 0);
}

/* The fields of one message of length-delimited fields and varints; -1: it is none. */
static int64_t count_fields(str s, uint64_t field)
{
    int64_t n = 0;
    while (s.len) {
        uint64_t v[2] = {0};
        bool bytes = false;
        for (int i = 0; i < 2; i++) {
            unsigned shift = 0;
            for (;; shift += 7) {
                if (!s.len || shift > 63)
                    return -1;
                unsigned char c = (unsigned char)s.p[0];
                s = str_sub(s, 1, s.len);
                v[i] |= (uint64_t)(c & 0x7f) << shift;
                if (!(c & 0x80))
                    break;
            }
            if (i == 0)
                bytes = (v[0] & 7) == 2;
        }
        if (bytes && v[1] > s.len)
            return -1;
        n += v[0] >> 3 == field;
        if (bytes)
            s = str_sub(s, (size_t)v[1], s.len);
    }
    return n;
}

TEST(openapi_v2_in_protobuf)
{
    static const char small[] =
        "{\"swagger\":\"2.0\",\"info\":{\"title\":\"m\",\"version\":\"v1\"},\"paths\":{},"
        "\"definitions\":{\"T\":{\"type\":\"object\",\"x-a\":{\"b\":1},\"properties\":{\"p\":{"
        "\"$ref\":\"#/definitions/T\"}}}}}";
    /* by hand, from the numbers of gnostic's OpenAPIv2.proto */
    static const char want[] = "\x0a\x03"
                               "2.0\x12\x07\x0a\x01m\x12\x02v1\x42\x00\x4a\x40\x0a\x3e"
                               "\x0a\x01T\x12\x39\xb2\x01\x08\x0a\x06object"
                               "\xfa\x01\x10\x0a\x03x-a\x12\x09\x12\x07{\"b\":1}"
                               "\xca\x01\x18\x0a\x16\x0a\x01p\x12\x11\x0a\x0f#/definitions/T";
    struct doc *d = doc_parse(STR(small), NULL, NULL);
    struct strbuf got;
    openapi_v2_proto(doc_root(d), &got);
    CHECK_STR(strbuf_str(&got), str_n(want, sizeof(want) - 1));
    strbuf_done(&got);
    doc_unref(d);

    grove_kinds_init();
    openapi_v2_proto(doc_root(openapi_v2()->doc), &got);
    CHECK_INT(count_fields(strbuf_str(&got), 8), 1);
    CHECK_INT(count_fields(strbuf_str(&got), 9), 1);
    strbuf_done(&got);
}
