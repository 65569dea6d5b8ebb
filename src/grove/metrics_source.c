/* See metrics_source.h: what is fed, else annotations, up the owners of a pod. */
#include "grove/metrics_source.h"

#include "json/write.h"

/* Pod, clique, group, set; and one to spare. */
enum { MAX_OWNERS = 4, MAX_NAME = 63 };

static bool is_key_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.';
}

/* "simulation.grove.io/metric.NAME", as long as a key may be. */
struct key {
    char text[sizeof(METRICS_PREFIX) + MAX_NAME];
    size_t len;
};

static struct key key_of(str what, str name)
{
    struct key k = {.len = sizeof(METRICS_PREFIX) - 1};
    memcpy(k.text, METRICS_PREFIX, k.len);
    memcpy(k.text + k.len, what.p, what.len);
    k.len += what.len;
    for (size_t i = 0; i < name.len && k.len < sizeof(k.text) - 1; i++)
        k.text[k.len++] = is_key_char(name.p[i]) ? name.p[i] : '_';
    return k;
}

static str said(const struct obj *o, const struct key *k)
{
    return obj_annotation(o, str_n(k->text, k->len));
}

static bool read_value(const struct obj *o, const struct key *k, struct quantity *ret)
{
    str text = said(o, k);
    return text.len > 0 && quantity_parse(text, ret, NULL) == 0 && quantity_sign(ret) >= 0;
}

str metrics_resource_name(const struct kind *k, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s%s%s", k->plural, *k->group ? "." : "", k->group);
    return str_n(buf, n > 0 ? MIN((size_t)n, size - 1) : 0);
}

const struct metrics_sample *metrics_fed(const struct metrics_reader *r, const struct kind *k,
                                         str ns, str object, str name)
{
    char resource[512];
    if (!r->feed)
        return NULL;
    struct metrics_id id = {metrics_resource_name(k, resource, sizeof(resource)), name, ns, object};
    return metrics_feed_get(r->feed, &id);
}

bool metrics_of_object(const struct metrics_reader *r, const struct obj *o, const struct kind *k,
                       str ns, str object, str name, struct quantity *ret)
{
    struct key key = key_of(STR("metric."), name);
    const struct metrics_sample *fed = metrics_fed(r, k, ns, object, name);
    if (fed)
        *ret = fed->value;
    return fed || (o && read_value(o, &key, ret));
}

bool metrics_pod_runs(const struct obj *pod)
{
    return str_is(jstr(jgetc(obj_status(pod), "phase")), "Running");
}

bool metrics_pod_is_ready(const struct obj *pod)
{
    return metrics_pod_runs(pod) && !pod->deleting &&
           condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

const struct obj *metrics_owner(const struct metrics_reader *r, const struct obj *o)
{
    str group, version;
    jval ref = obj_controller_ref(o);
    if (!j_has(ref))
        return NULL;
    api_version_split(jstr(jgetc(ref, "apiVersion")), &group, &version);
    const struct kind *k = kind_by_name(group, version, jstr(jgetc(ref, "kind")));
    const struct obj *owner = k ? r->get(r->ctx, k, o->ns, jstr(jgetc(ref, "name"))) : NULL;
    return owner && str_eq(owner->uid, o->owner_uid) ? owner : NULL;
}

/* The nearest owner that says something. */
static void ask_owners(const struct metrics_reader *r, const struct obj *pod,
                       const struct key *each, str name, struct metrics_memo *ret)
{
    struct key load = key_of(STR("load."), name);
    const struct obj *o = metrics_owner(r, pod);
    for (unsigned i = 0; o && !ret->told && i < MAX_OWNERS; i++, o = metrics_owner(r, o)) {
        ret->told = read_value(o, each, &ret->value);
        if (ret->told || !read_value(o, &load, &ret->value))
            continue;
        int64_t ready = r->ready_pods(r->ctx, o);
        ret->value.nano = ready > 0 ? ret->value.nano / ready : 0;
        ret->told = ret->shared = true;
    }
}

static bool is_same(const struct metrics_memo *m, const struct obj *pod, enum metrics_class class,
                    str name)
{
    return m->known && m->class == (int)class && str_eq(m->owner_uid, pod->owner_uid) &&
           str_eq(m->name, name);
}

const char *const metrics_measured[] = {"cpu", "memory", NULL};

/* What a node says of a pod about which nothing is said. */
static bool read_idle(enum metrics_class class, str name, struct quantity *ret)
{
    *ret = (struct quantity){0, str_is(name, "memory") ? QUANTITY_BINARY_SI : QUANTITY_DECIMAL_SI};
    for (size_t i = 0; class == METRICS_RESOURCE && metrics_measured[i]; i++) {
        if (str_is(name, metrics_measured[i]))
            return true;
    }
    return false;
}

/* What is said about a pod that runs. */
static bool read_pod(const struct metrics_reader *r, const struct obj *pod,
                     enum metrics_class class, str name, struct quantity *ret)
{
    const struct metrics_sample *fed =
        class == METRICS_CUSTOM ? metrics_fed(r, &kind_pod, pod->ns, pod->name, name) : NULL;
    if (fed) {
        *ret = fed->value;
        return true;
    }
    struct key each = key_of(class == METRICS_CUSTOM ? STR("metric.") : STR(""), name);
    struct metrics_memo own = {0}, *m = r->memo ? r->memo : &own;
    if (read_value(pod, &each, ret))
        return true;
    if (!is_same(m, pod, class, name)) {
        *m = (struct metrics_memo){
            .known = true, .class = (int)class, .owner_uid = pod->owner_uid, .name = name};
        ask_owners(r, pod, &each, name, m);
    }
    if (!m->told)
        return false;
    *ret = m->value;
    if (m->shared && !metrics_pod_is_ready(pod))
        ret->nano = 0;
    return true;
}

bool metrics_of_pod(const struct metrics_reader *r, const struct obj *pod, enum metrics_class class,
                    str name, struct quantity *ret)
{
    return metrics_pod_runs(pod) &&
           (read_pod(r, pod, class, name, ret) || read_idle(class, name, ret));
}

struct quantity metrics_container_share(const struct quantity *pod, size_t i, size_t n)
{
    struct quantity q = *pod;
    __int128 part = n > 0 ? pod->nano / (__int128)n : 0;
    /* What does not divide goes to the first, so that the sum is exact. */
    q.nano = i == 0 ? pod->nano - part * (__int128)(n > 0 ? n - 1 : 0) : part;
    return q;
}

static bool is_ours(str key)
{
    return str_starts(key, STR(METRICS_PREFIX));
}

/* Every annotation of ours in a is the same in b. */
static bool says_all(jval a, jval b)
{
    for (struct jiter it = jiter(a); jnext(&it);) {
        if (is_ours(it.key) && !jequal(it.value, jget(b, it.key)))
            return false;
    }
    return true;
}

bool metrics_changed(const struct obj *old, const struct obj *new)
{
    jval a = old ? old->annotations : JVAL_ABSENT, b = new ? new->annotations : JVAL_ABSENT;
    return !says_all(a, b) || !says_all(b, a);
}

/* ---- external metrics ---- */

struct metrics_external metrics_external(const struct metrics_reader *r, str ns, str name)
{
    struct key k = key_of(STR("external."), name);
    struct metrics_external x = {.fed = metrics_feed_first(r->feed, STR_NONE, name, ns)};
    const struct obj *o = x.fed ? NULL : r->get(r->ctx, &kind_namespace, STR_NONE, ns);
    x.rest = o ? said(o, &k) : STR_NONE;
    return x;
}

bool metrics_external_next(struct metrics_external *x, struct metrics_series *ret)
{
    if (x->fed) {
        *ret = (struct metrics_series){x->fed->id.name, x->fed->value, x->fed->at};
        x->fed = metrics_feed_next(x->fed);
        return true;
    }
    while (x->rest.len > 0) {
        str word = str_cut(&x->rest, ' ');
        ptrdiff_t colon = str_rfind_char(word, ':');
        *ret = (struct metrics_series){.labels = STR_NONE};
        if (colon >= 0) {
            ret->labels = str_sub(word, 0, (size_t)colon);
            word = str_sub(word, (size_t)colon + 1, word.len);
        }
        if (word.len > 0 && quantity_parse(word, &ret->value, NULL) == 0 &&
            quantity_sign(&ret->value) >= 0)
            return true;
    }
    return false;
}

struct doc *metrics_series_labels(const struct metrics_series *s)
{
    struct jw w;
    str rest = s->labels;
    jw_init(&w);
    jw_object(&w);
    while (rest.len > 0) {
        str value = str_cut(&rest, ','), key = str_cut(&value, '=');
        if (key.len > 0) {
            jw_key(&w, key);
            jw_str(&w, value);
        }
    }
    jw_end(&w);
    return jw_doc(&w);
}
