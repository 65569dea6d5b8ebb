/* See metrics_source.h: pure reading of annotations, up the owners of a pod. */
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
static str key_of(const char *what, str name, char buf[128])
{
    int prefix = snprintf(buf, 128, METRICS_PREFIX "%s", what);
    size_t len = (size_t)prefix, max = sizeof(METRICS_PREFIX) - 1 + MAX_NAME;
    for (size_t i = 0; i < name.len && len < max; i++)
        buf[len++] = is_key_char(name.p[i]) ? name.p[i] : '_';
    return str_n(buf, len);
}

static bool read_value(const struct obj *o, const char *what, str name, struct quantity *ret)
{
    char buf[128];
    str text = obj_annotation(o, key_of(what, name, buf));
    return text.len > 0 && quantity_parse(text, ret, NULL) == 0 && quantity_sign(ret) >= 0;
}

bool metrics_of_object(const struct obj *o, str name, struct quantity *ret)
{
    return read_value(o, "metric.", name, ret);
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

static const struct obj *owner_of(const struct metrics_reader *r, const struct obj *o)
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

/* The pod's part of what its owner's pods share. */
static void share_load(const struct metrics_reader *r, const struct obj *pod,
                       const struct obj *owner, struct quantity *v)
{
    int64_t ready = metrics_pod_is_ready(pod) ? r->ready_pods(r->ctx, owner) : 0;
    v->nano = ready > 0 ? v->nano / ready : 0;
}

bool metrics_of_pod(const struct metrics_reader *r, const struct obj *pod, enum metrics_class class,
                    str name, struct quantity *ret)
{
    const char *what = class == METRICS_CUSTOM ? "metric." : "";
    const struct obj *o = pod;
    if (!metrics_pod_runs(pod))
        return false;
    for (unsigned i = 0; o && i <= MAX_OWNERS; i++, o = owner_of(r, o)) {
        if (read_value(o, what, name, ret))
            return true;
        if (o != pod && read_value(o, "load.", name, ret)) {
            share_load(r, pod, o, ret);
            return true;
        }
    }
    return false;
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

str metrics_external(const struct obj *ns, str name)
{
    char buf[128];
    return ns ? obj_annotation(ns, key_of("external.", name, buf)) : STR_NONE;
}

bool metrics_external_next(str *rest, struct metrics_series *ret)
{
    while (rest->len > 0) {
        str word = str_cut(rest, ' ');
        ptrdiff_t colon = str_rfind_char(word, ':');
        *ret = (struct metrics_series){.labels = STR_NONE};
        if (colon >= 0) {
            ret->labels = str_sub(word, 0, (size_t)colon);
            word = str_sub(word, (size_t)colon + 1, word.len);
        }
        if (word.len > 0 && quantity_parse(word, &ret->value, NULL) == 0)
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
