/*
 * Requests nobody would write: whatever is sent, each is answered exactly once and nothing that is
 * not an object of its kind gets into the store.
 */
#include "apiserver/test-apiserver-fixture.h"
#include "grove/types.h"

static const struct kind *const kinds[] = {
    &kind_pod, &kind_config_map, &kind_service, &kind_namespace,    &kind_node,   &kind_deployment,
    &kind_pcs, &kind_pclq,       &kind_event,   &kind_events_event, &kind_secret, &kind_lease,
};

static const char *const keys[] = {
    "metadata",
    "name",
    "namespace",
    "labels",
    "annotations",
    "spec",
    "status",
    "finalizers",
    "ownerReferences",
    "uid",
    "replicas",
    "template",
    "containers",
    "image",
    "resources",
    "limits",
    "requests",
    "schedulingGates",
    "tolerations",
    "nodeName",
    "data",
    "kind",
    "apiVersion",
    "managedFields",
    "resourceVersion",
    "ports",
    "port",
    "clusterIP",
    "deletionTimestamp",
    "generateName",
    "cliques",
    "target",
    "conditions",
    "type",
    "selector",
    "stringData",
    "$patch",
    "priorityClassName",
    "affinity",
    "initContainers",
    "involvedObject",
    "regarding",
};

static const char *const words[] = {
    "a",
    "ns",
    "x1",
    "Pod",
    "v1",
    "",
    "1",
    "Node",
    "delete",
    "None",
    "10.96.0.9",
    "a.b/c",
    "2026-11-15T00:00:00Z",
    "Succeeded",
    "BAD NAME",
    "\\u0000",
};

static void random_value(struct rng *r, struct strbuf *b, unsigned depth);

static void random_object(struct rng *r, struct strbuf *b, unsigned depth)
{
    size_t n = rng_below(r, 5);
    strbuf_add_char(b, '{');
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(b, "%s\"%s\":", i ? "," : "", keys[rng_below(r, ARRAY_LEN(keys))]);
        random_value(r, b, depth);
    }
    strbuf_add_char(b, '}');
}

static void random_array(struct rng *r, struct strbuf *b, unsigned depth)
{
    size_t n = rng_below(r, 3);
    strbuf_add_char(b, '[');
    for (size_t i = 0; i < n; i++) {
        strbuf_add_cstr(b, i ? "," : "");
        random_value(r, b, depth);
    }
    strbuf_add_char(b, ']');
}

static void random_value(struct rng *r, struct strbuf *b, unsigned depth)
{
    switch (depth ? rng_below(r, 8) : 4 + rng_below(r, 4)) {
    case 0:
    case 1:
    case 2:
        random_object(r, b, depth - 1);
        break;
    case 3:
        random_array(r, b, depth - 1);
        break;
    case 4:
        strbuf_add_int(b, (int64_t)rng_below(r, 5) - 1);
        break;
    case 5:
        strbuf_add_cstr(b, rng_chance(r, 50) ? "null" : "true");
        break;
    default:
        strbuf_printf(b, "\"%s\"", words[rng_below(r, ARRAY_LEN(words))]);
    }
}

/* What makes sense for most kinds. */
static void sensible_body(struct rng *r, struct strbuf *b)
{
    static const char workload[] =
        "\"spec\":{\"replicas\":2,\"selector\":{\"matchLabels\":{\"a\":\"b\"}},\"template\":{"
        "\"metadata\":{\"labels\":{\"a\":\"b\"}},\"spec\":{\"containers\":[{\"name\":\"c\","
        "\"image\":\"x\"}]}}}";
    static const char *const parts[] = {
        "\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"x\"}]}",
        "\"spec\":{\"ports\":[{\"port\":80}]}",
        workload,
        "\"data\":{\"a\":\"MQ==\"}",
        "\"involvedObject\":{\"namespace\":\"ns\"}",
        "\"status\":{\"phase\":\"Running\",\"replicas\":1}",
        "\"target\":{\"name\":\"n1\"}",
    };
    strbuf_printf(b, "{\"metadata\":{\"name\":\"x%d\"%s%s},%s", (int)rng_below(r, 4),
                  rng_chance(r, 20) ? ",\"finalizers\":[\"a.b/c\"]" : "",
                  rng_chance(r, 20) ? ",\"labels\":{\"l\":\"1\"}" : "",
                  parts[rng_below(r, ARRAY_LEN(parts))]);
    if (rng_chance(r, 30)) {
        strbuf_printf(b, ",\"%s\":", keys[rng_below(r, ARRAY_LEN(keys))]);
        random_value(r, b, 3);
    }
    strbuf_add_char(b, '}');
}

static struct doc *random_body(struct rng *r)
{
    struct json_limits limits = {.allow_duplicate_keys = true};
    struct strbuf b = STRBUF_INIT(1 << 20);
    if (rng_chance(r, 60))
        sensible_body(r, &b);
    else if (rng_chance(r, 80))
        random_object(r, &b, 5);
    else
        random_array(r, &b, 3);
    struct doc *d = doc_parse(strbuf_str(&b), &limits, NULL);
    strbuf_done(&b);
    return d;
}

struct shot {
    struct api_request r;
    unsigned answers;
    char name[8];
};

static void on_done(struct api_request *r, const struct api_reply *reply)
{
    struct shot *s = r->ctx;
    s->answers++;
    CHECK(reply->code >= 200 && reply->code < 600);
    CHECK((reply->code >= 400) == (reply->status != NULL));
    if (reply->obj)
        CHECK(reply->obj->name.len > 0 && reply->obj->uid.len > 0);
}

static void shoot(struct fixture *f, struct rng *r, struct shot *s)
{
    static const char *const subs[] = {"status", "scale", "binding", "eviction", "finalize"};
    const struct kind *k = kinds[rng_below(r, ARRAY_LEN(kinds))];
    *s = (struct shot){0};
    (void)snprintf(s->name, sizeof(s->name), "x%d", (int)rng_below(r, 4));
    s->r = (struct api_request){
        .verb =
            rng_chance(r, 40) ? API_CREATE : (enum api_verb)rng_below(r, API_DELETE_COLLECTION + 1),
        .kind = k,
        .ns = kind_is(k, KIND_NAMESPACED) ? STR("ns") : STR_NONE,
        .name = str_of(s->name),
        .subresource = rng_chance(r, 75) ? STR_NONE : str_of(subs[rng_below(r, ARRAY_LEN(subs))]),
        .body = rng_chance(r, 95) ? random_body(r) : NULL,
        .patch = (enum api_patch_type)rng_below(r, 4),
        .force = rng_chance(r, 30),
        .field_manager = rng_chance(r, 80) ? STR("m") : STR_NONE,
        .field_validation = rng_chance(r, 20) ? API_VALIDATE_STRICT : API_VALIDATE_WARN,
        .dry_run = rng_chance(r, 20),
        .rv = rng_chance(r, 10) ? rng_below(r, 100) : 0,
        .grace_seconds = (int64_t)rng_below(r, 4) - 1,
        .propagation = (enum api_propagation)rng_below(r, 4),
        .limit = (int64_t)rng_below(r, 3),
        .done = on_done,
        .ctx = s,
    };
    if (s->r.verb == API_CREATE && !s->r.subresource.len && rng_chance(r, 80))
        s->r.name = STR_NONE;
    apiserver_send(f->server, &f->user, &s->r);
}

static void check_store(struct fixture *f)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        struct store_iter it = store_range(f->store, kinds[i], STR_NONE, STR_NONE, STR_NONE);
        for (const struct obj *o; (o = store_next(&it));) {
            CHECK_INT(o->uid.len, 36);
            CHECK(o->rv > 1 && o->rv <= store_revision(f->store));
            CHECK(obj_created(o) > 0);
            CHECK(str_is(jstr(jgetc(obj_root(o), "kind")), o->kind->kind));
            CHECK_INT(o->ns.len != 0, kind_is(o->kind, KIND_NAMESPACED));
        }
    }
}

TEST(random_requests_are_answered_once_and_harm_nothing)
{
    enum { IN_FLIGHT = 8 };
    struct fixture f;
    struct shot shots[IN_FLIGHT];
    fixture_init(&f);
    size_t rounds = test_cases(1500);
    for (size_t round = 0; round < rounds; round++) {
        for (size_t i = 0; i < IN_FLIGHT; i++)
            shoot(&f, test_rng(), &shots[i]);
        fixture_run(&f, USEC_PER_SEC);
        for (size_t i = 0; i < IN_FLIGHT; i++) {
            CHECK_INT(shots[i].answers, 1);
            doc_unref(shots[i].r.body);
        }
    }
    CHECK(store_revision(f.store) > rounds / 3);
    check_store(&f);
    fixture_done(&f);
}
