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

bool metrics_of_object(const struct obj *o, str name, struct quantity *ret)
{
    struct key k = key_of(STR("metric."), name);
    return read_value(o, &k, ret);
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

bool metrics_of_pod(const struct metrics_reader *r, const struct obj *pod, enum metrics_class class,
                    str name, struct quantity *ret)
{
    if (!metrics_pod_runs(pod))
        return false;
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
    struct key k = key_of(STR("external."), name);
    return ns ? said(ns, &k) : STR_NONE;
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
