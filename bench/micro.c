/*
 * Hot paths below the API server: base, documents, objects, the store in memory. See case.h.
 * (Parse, serialise, read and edit of a document are bench-json.c, beside other libraries.)
 */
#include "base/hash.h"
#include "base/map.h"
#include "base/quantity.h"
#include "bench/case.h"
#include "grove/admission.h"
#include "grove/types.h"
#include "kube/schema.h"
#include "kube/selector.h"
#include "store/store.h"
#include "json/edit.h"
#include "json/patch.h"
#include "json/yaml.h"

/* ---- base ---- */

enum { KEYS = 1000 };
static struct map map;
static char key_text[KEYS][48];
static str keys[KEYS];

static void map_setup(void)
{
    map = MAP_INIT;
    for (size_t i = 0; i < KEYS; i++) {
        snprintf(key_text[i], sizeof(key_text[i]), "inference/llama-70b-%zu-decode-x7k2p", i);
        keys[i] = str_of(key_text[i]);
        (void)map_put(&map, keys[i], key_text[i]);
    }
}

static size_t map_get_op(void)
{
    size_t found = 0;
    for (size_t i = 0; i < KEYS; i++)
        found += map_get(&map, keys[i]) != NULL;
    return found;
}

static size_t map_put_op(void)
{
    struct map m = MAP_INIT;
    for (size_t i = 0; i < KEYS; i++)
        (void)map_put(&m, keys[i], key_text[i]);
    size_t n = m.len;
    map_done(&m);
    return n;
}

static void map_teardown(void)
{
    map_done(&map);
}

static const str quantities[] = {STR("100m"), STR("2"),   STR("4Gi"),  STR("1.5"),
                                 STR("1Ti"),  STR("1e3"), STR("512k"), STR("0")};

static size_t quantity_op(void)
{
    size_t sum = 0;
    for (size_t i = 0; i < ARRAY_LEN(quantities); i++) {
        struct quantity q;
        bench_must(quantity_parse(quantities[i], &q, NULL) == 0, "quantity");
        sum += (size_t)quantity_milli(&q);
    }
    return sum;
}

/* ---- documents ---- */

static struct doc *pod, *patch, *other, *strategic;
extern const char sample_disaggregated[]; /* samples/, embedded by the build */

static struct doc *parse(str text)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(text, NULL, &err);
    bench_must(d != NULL, err.message);
    return d;
}

/* A kubelet's report, the most frequent patch there is. */
static const char status_patch[] =
    "{\"metadata\":{\"resourceVersion\":\"184470\"},\"status\":{\"phase\":\"Running\","
    "\"podIP\":\"10.0.0.7\",\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\","
    "\"lastTransitionTime\":\"2026-08-01T09:13:00Z\"},{\"type\":\"PodScheduled\","
    "\"status\":\"True\",\"lastTransitionTime\":\"2026-08-01T09:12:45Z\"}]}}";
static const char strategic_patch[] =
    "{\"spec\":{\"containers\":[{\"name\":\"engine\",\"image\":\"example.com/serve/engine:2.5.0\"}]"
    "}}";

static void doc_setup(void)
{
    kinds_init();
    pod = bench_doc("pod.json");
    patch = parse(str_of(status_patch));
    strategic = parse(str_of(strategic_patch));
    other = json_merge_patch(doc_root(pod), doc_root(patch), NULL);
}

static void doc_teardown(void)
{
    doc_unref(pod);
    doc_unref(patch);
    doc_unref(other);
    doc_unref(strategic);
}

static size_t doc_len(struct doc *d)
{
    bench_must(d != NULL, "no document");
    size_t n = doc_text(d).len;
    doc_unref(d);
    return n;
}

static size_t merge_patch_op(void)
{
    return doc_len(json_merge_patch(doc_root(pod), doc_root(patch), NULL));
}

static size_t strategic_op(void)
{
    return doc_len(schema_strategic_merge(kind_pod.type, doc_root(pod), doc_root(strategic), NULL));
}

static size_t diff_op(void)
{
    return doc_len(json_diff_merge(doc_root(pod), doc_root(other)));
}

static size_t canonical_op(void)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    jcanonical(jgetc(doc_root(pod), "spec"), true, &b);
    size_t n = b.len;
    strbuf_done(&b);
    return n;
}

static size_t yaml_op(void)
{
    return doc_len(yaml_parse_one(str_of(sample_disaggregated), NULL));
}

static size_t default_op(void)
{
    return doc_len(schema_default(kind_pod.type, pod));
}

static size_t validate_op(void)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    field_errors_init(&errors, &a);
    schema_validate(kind_pod.type, doc_root(pod), STR_NONE, &errors);
    bench_must(errors.items.len == 0, "the Pod is not valid");
    field_errors_done(&errors);
    arena_done(&a);
    return 1;
}

/* ---- admission ---- */

/* The largest example of the older documents: schema defaults, ours, and all rules. */
static struct doc *set;

static void admit_setup(void)
{
    grove_kinds_init();
    set = bench_doc("podcliqueset.json");
}

static size_t admit_op(void)
{
    struct arena a = ARENA_INIT;
    struct field_errors errors;
    struct doc *filled = schema_default(kind_pcs.type, set);
    struct doc *full = grove_default(&kind_pcs, filled, STR("default"));
    field_errors_init(&errors, &a);
    grove_validate(&kind_pcs, NULL, full, &errors);
    bench_must(errors.items.len == 0 && errors.warnings.len == 5, "the set is not as it was");
    field_errors_done(&errors);
    arena_done(&a);
    doc_unref(filled);
    return doc_len(full);
}

static void admit_teardown(void)
{
    doc_unref(set);
}

/* ---- objects ---- */

static struct arena selector_arena;
static struct selector *selector;
static struct obj *object;

static void object_setup(void)
{
    struct err err = ERR_INIT;
    doc_setup();
    arena_init(&selector_arena);
    selector = label_selector_parse(
        &selector_arena, STR("grove.io/podcliqueset=llama-70b,grove.io/role in (decode,prefill)"),
        &err);
    bench_must(selector != NULL, err.message);
    object = obj_new(&kind_pod, doc_ref(pod), &err);
    bench_must(object != NULL, err.message);
}

static void object_teardown(void)
{
    obj_unref(object);
    arena_done(&selector_arena);
    doc_teardown();
}

static size_t obj_op(void)
{
    struct obj *o = obj_new(&kind_pod, doc_ref(pod), NULL);
    size_t n = o->name.len;
    obj_unref(o);
    return n;
}

static size_t selector_op(void)
{
    bench_must(label_selector_match(selector, object->labels), "the selector does not match");
    return 1;
}

/* ---- store ---- */

enum { BATCH = 100, WATCHERS = 10 };
static struct loop *loop;
static struct store *store;
static struct store_write writes[BATCH];
static struct store_sub subs[WATCHERS];
static size_t open_writes, seen_events;

static void on_event(struct store_sub *sub, const struct store_event *e)
{
    (void)sub;
    seen_events += e->revision > 0;
}

static void on_written(struct store_write *w, const struct err *err)
{
    bench_must(err == NULL, "a write failed");
    obj_unref(w->obj);
    open_writes--;
}

static void store_setup(void)
{
    struct err err = ERR_INIT;
    doc_setup();
    loop = loop_new_virtual(1, 0);
    store = store_open(loop, &(struct store_options){0}, &err);
    bench_must(store != NULL, err.message);
}

static void store_watched_setup(void)
{
    store_setup();
    for (size_t i = 0; i < WATCHERS; i++) {
        subs[i] = (struct store_sub){.on_event = on_event};
        store_subscribe(store, &subs[i]);
    }
}

static void store_teardown(void)
{
    store_close(store);
    loop_free(loop);
    doc_teardown();
}

/* The same hundred pods again and again: a create the first time, then updates. */
static void store_prepare(void)
{
    for (size_t i = 0; i < BATCH; i++) {
        struct arena a = ARENA_INIT;
        struct edit e;
        edit_init(&e, &a);
        edit_set_str(&e, STR("/metadata/name"), arena_printf(&a, "llama-70b-0-decode-%zu", i));
        edit_set_str(&e, STR("/metadata/resourceVersion"),
                     arena_printf(&a, "%llu", (unsigned long long)store_next_revision(store) + i));
        struct obj *o = obj_new(&kind_pod, edit_apply(&e, pod, NULL), NULL);
        writes[i] = (struct store_write){
            .kind = &kind_pod, .ns = o->ns, .name = o->name, .obj = o, .done = on_written};
        edit_done(&e);
        arena_done(&a);
    }
}

static size_t store_op(void)
{
    for (size_t i = 0; i < BATCH; i++)
        bench_must(store_apply(store, &writes[i], NULL) == 0, "a write was refused");
    open_writes = BATCH;
    while (open_writes > 0)
        (void)loop_run_until(loop, loop_now(loop) + USEC_PER_SEC, 1000000);
    return (size_t)store_revision(store);
}

static size_t store_get_op(void)
{
    size_t found = 0;
    for (size_t i = 0; i < BATCH; i++)
        found += store_get(store, &kind_pod, writes[i].ns, writes[i].name) != NULL;
    return found;
}

static void store_filled_setup(void)
{
    store_setup();
    store_prepare();
    for (size_t i = 0; i < BATCH; i++)
        (void)obj_ref(writes[i].obj); /* the names outlive the writes */
    (void)store_op();
}

static void store_filled_teardown(void)
{
    for (size_t i = 0; i < BATCH; i++)
        obj_unref(writes[i].obj);
    store_teardown();
}

static size_t store_range_op(void)
{
    size_t n = 0;
    struct store_iter it = store_range(store, &kind_pod, STR_NONE, STR_NONE, STR_NONE);
    for (struct obj *o; (o = store_next(&it));)
        n += o->name.len;
    return n;
}

static const struct bench_case cases[] = {
    {"map-get", KEYS, 5, map_setup, NULL, map_get_op, map_teardown},
    {"map-put", KEYS, 5, map_setup, NULL, map_put_op, map_teardown},
    {"quantity-parse", ARRAY_LEN(quantities), 50, NULL, NULL, quantity_op, NULL},
    {"json-merge-patch", 1, 20, doc_setup, NULL, merge_patch_op, doc_teardown},
    {"kube-strategic-merge", 1, 20, doc_setup, NULL, strategic_op, doc_teardown},
    {"json-diff", 1, 20, doc_setup, NULL, diff_op, doc_teardown},
    {"json-canonical", 1, 20, doc_setup, NULL, canonical_op, doc_teardown},
    {"yaml-parse", 1, 10, doc_setup, NULL, yaml_op, doc_teardown},
    {"kube-default", 1, 20, doc_setup, NULL, default_op, doc_teardown},
    {"kube-validate", 1, 20, doc_setup, NULL, validate_op, doc_teardown},
    {"grove-admit", 1, 20, admit_setup, NULL, admit_op, admit_teardown},
    {"kube-object", 1, 50, doc_setup, NULL, obj_op, doc_teardown},
    {"kube-selector", 1, 50, object_setup, NULL, selector_op, object_teardown},
    {"store-write", BATCH, 5, store_setup, store_prepare, store_op, store_teardown},
    {"store-write-10-watchers", BATCH, 5, store_watched_setup, store_prepare, store_op,
     store_teardown},
    {"store-get", BATCH, 5, store_filled_setup, NULL, store_get_op, store_filled_teardown},
    {"store-range", BATCH, 5, store_filled_setup, NULL, store_range_op, store_filled_teardown},
};

int main(int argc, char **argv)
{
    return bench_main(argc, argv, cases, ARRAY_LEN(cases));
}
