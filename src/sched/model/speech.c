/* See speech.h; what is said is read as terms.c says at its top. */
#include "sched/model/speech.h"

#include "base/hash.h"
#include "sched/model/claims.h"
#include "json/write.h"

#define PREFERRED "preferredDuringSchedulingIgnoredDuringExecution"
#define ALL_ADDRESSES "0.0.0.0"

/* ---- hearing ---- */

char speech_kind(const struct saying *s)
{
    static const char kinds[] = {'m', 'n', 'm', 's', 'p', 'v'};
    return kinds[s->what];
}

/* One thing more; false: it is too much, and not heard. */
static bool may_say(struct speech *sp)
{
    return ++sp->things <= TERMS_POD_MAX;
}

bool speech_is_too_much(const struct speech *sp)
{
    return sp->things > TERMS_POD_MAX;
}

static void say(struct speech *sp, struct saying s)
{
    if (!str_is_empty(s.key) || s.what == SAID_VOLUME)
        *vec_push(&sp->sayings) = s;
}

static void hear_affinity(struct speech *sp, jval affinity, enum said what)
{
    for (struct jiter it = jiter(jgetc(affinity, REQUIRED)); jnext(&it) && may_say(sp);)
        say(sp, (struct saying){
                    .what = what, .key = jstr(jgetc(it.value, "topologyKey")), .term = it.value});
    for (struct jiter it = jiter(jgetc(affinity, PREFERRED)); jnext(&it) && may_say(sp);) {
        jval term = jgetc(it.value, "podAffinityTerm");
        int64_t weight = MIN(MAX(jint(jgetc(it.value, "weight"), 1), 1), 100);
        say(sp, (struct saying){.what = SAID_WISH,
                                .key = jstr(jgetc(term, "topologyKey")),
                                .term = term,
                                .weight = (int32_t)(what == SAID_NEAR ? weight : -weight)});
    }
}

/* Those who use the port on all addresses meet everybody who uses it, others those on the same
 * address and on all. */
static void hear_port(struct speech *sp, jval port)
{
    long long number = (long long)jint(jgetc(port, "hostPort"), 0);
    str protocol = jstr(jgetc(port, "protocol")), ip = jstr(jgetc(port, "hostIP"));
    if (number <= 0 || !may_say(sp))
        return;
    if (str_is_empty(protocol))
        protocol = STR("TCP");
    bool everywhere = str_is_empty(ip) || str_is(ip, ALL_ADDRESSES);
    struct arena *a = &sp->arena;
    struct saying s = {.what = SAID_PORT, .key = STR(HOSTNAME), .counted = true};
    s.name = arena_printf(a, "%lld/%.*s/*", number, STR_ARG(protocol));
    s.avoided = everywhere;
    say(sp, s);
    s.name = arena_printf(a, "%lld/%.*s/" ALL_ADDRESSES, number, STR_ARG(protocol));
    s.counted = everywhere;
    s.avoided = !everywhere;
    say(sp, s);
    if (everywhere)
        return;
    s.name = arena_printf(a, "%lld/%.*s/%.*s", number, STR_ARG(protocol), STR_ARG(ip));
    s.counted = true;
    say(sp, s);
}

static void hear_ports(struct speech *sp, jval spec)
{
    for (struct jiter it = jiter(jgetc(spec, "containers")); jnext(&it);) {
        for (struct jiter k = jiter(jgetc(it.value, "ports")); jnext(&k);)
            hear_port(sp, k.value);
    }
    for (struct jiter it = jiter(jgetc(spec, "initContainers")); jnext(&it);) {
        if (!str_is(jstr(jgetc(it.value, "restartPolicy")), "Always"))
            continue; /* gone before the others come */
        for (struct jiter k = jiter(jgetc(it.value, "ports")); jnext(&k);)
            hear_port(sp, k.value);
    }
}

void speech_hear(struct tables *t, const struct obj *pod, struct speech *ret)
{
    jval spec = obj_spec(pod), affinity = jgetc(spec, "affinity");
    *ret = (struct speech){.tables = t, .pod = pod};
    if (j_has(affinity)) {
        hear_affinity(ret, jgetc(affinity, "podAntiAffinity"), SAID_APART);
        hear_affinity(ret, jgetc(affinity, "podAffinity"), SAID_NEAR);
    }
    for (struct jiter it = jiter(jgetc(spec, "topologySpreadConstraints"));
         jnext(&it) && may_say(ret);)
        say(ret, (struct saying){.what = SAID_SPREAD,
                                 .key = jstr(jgetc(it.value, "topologyKey")),
                                 .term = it.value});
    hear_ports(ret, spec);
    for (struct jiter it = jiter(jgetc(spec, "volumes")); jnext(&it) && !speech_is_too_much(ret);) {
        str claim = claims_single(t, pod, it.value, &ret->arena);
        if (!str_is_empty(claim) && may_say(ret))
            say(ret, (struct saying){.what = SAID_VOLUME, .name = claim});
    }
}

bool speech_is_heard(const struct speech *sp)
{
    return !speech_is_too_much(sp) || pod_holds_node(sp->pod);
}

void speech_done(struct speech *sp)
{
    vec_done(&sp->sayings);
    arena_done(&sp->arena);
}

/* ---- names of terms ---- */

/* More than any pod. */
#define TEXT_MAX ((size_t)32 << 20)

/* The text, or what stands for it if it is long: names are kept and compared. Uses it up. */
static str brief(struct arena *a, struct strbuf *text)
{
    enum { LONG = 512 };
    uint8_t digest[SHA256_SIZE];
    if (text->len > LONG) {
        hash_sha256(strbuf_str(text), digest);
        strbuf_reset(text);
        strbuf_add_char(text, '#');
        hash_add_hex(text, digest, sizeof(digest));
    }
    str s = arena_str(a, strbuf_str(text));
    strbuf_done(text);
    return s;
}

static void add_json(struct strbuf *b, jval v)
{
    strbuf_add_char(b, '|');
    if (j_has(v))
        json_pretty(v, 0, b);
}

/* Whom a term of the pod speaks of: its namespaces, its selector, and the pod's own values of the
 * keys that are to be like them, or unlike. */
static void add_match(struct strbuf *b, const struct obj *pod, jval term)
{
    static const char *const keys[] = {"matchLabelKeys", "mismatchLabelKeys"};
    jval namespaces = jgetc(term, "namespaces"), selector = jgetc(term, "namespaceSelector");
    add_json(b, namespaces);
    add_json(b, selector);
    if (jlen(namespaces) == 0 && !j_has(selector))
        strbuf_add_str(b, pod->ns);
    add_json(b, jgetc(term, "labelSelector"));
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        for (struct jiter it = jiter(jget(term, str_of(keys[i]))); jnext(&it);) {
            jval value = jget(pod->labels, jstr(it.value));
            if (j_has(value))
                strbuf_printf(b, "|%c%.*s=%.*s", i == 0 ? '+' : '-', STR_ARG(jstr(it.value)),
                              STR_ARG(jstr(value)));
        }
    }
}

bool constraint_honours(jval constraint, const char *policy, bool otherwise)
{
    str word = jstr(jget(constraint, str_of(policy)));
    return str_is_empty(word) ? otherwise : str_is(word, "Honor");
}

bool constraint_is_hard(jval constraint)
{
    return !str_is(jstr(jgetc(constraint, "whenUnsatisfiable")), "ScheduleAnyway");
}

/* Pods that all required affinities speak of. */
static str near_text(struct speech *sp)
{
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    jval affinity = jpath(obj_spec(sp->pod), "affinity.podAffinity");
    for (struct jiter it = jiter(jgetc(affinity, REQUIRED)); jnext(&it);)
        add_match(&b, sp->pod, it.value);
    return brief(&sp->arena, &b);
}

/* Nodes that the pod wants, and those whose taints it tolerates. */
static str nodes_text(struct speech *sp)
{
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    add_json(&b, jgetc(obj_spec(sp->pod), "nodeSelector"));
    add_json(&b, jpath(obj_spec(sp->pod), "affinity.nodeAffinity." REQUIRED));
    return brief(&sp->arena, &b);
}

static str tolerations_text(struct speech *sp)
{
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    strbuf_add_char(&b, '!');
    add_json(&b, jgetc(obj_spec(sp->pod), "tolerations"));
    return brief(&sp->arena, &b);
}

/* Of required constraints. */
static str keys_text(struct speech *sp)
{
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    jval all = jgetc(obj_spec(sp->pod), "topologySpreadConstraints");
    for (struct jiter it = jiter(all); jnext(&it);) {
        if (constraint_is_hard(it.value))
            add_json(&b, jgetc(it.value, "topologyKey"));
    }
    return brief(&sp->arena, &b);
}

static void add_shared(struct strbuf *b, struct speech *sp, str *text, str (*make)(struct speech *))
{
    if (str_is_empty(*text))
        *text = make(sp);
    strbuf_add_str(b, *text);
}

/* On which nodes a constraint counts; see is_eligible. */
static void add_policy(struct strbuf *b, struct speech *sp, jval constraint)
{
    if (!constraint_is_hard(constraint))
        return;
    if (constraint_honours(constraint, "nodeAffinityPolicy", true))
        add_shared(b, sp, &sp->nodes, nodes_text);
    if (constraint_honours(constraint, "nodeTaintsPolicy", false))
        add_shared(b, sp, &sp->tolerations, tolerations_text);
    add_shared(b, sp, &sp->keys, keys_text);
}

str speech_term_id(struct speech *sp, const struct saying *s, char kind)
{
    struct strbuf b = STRBUF_INIT(TEXT_MAX);
    strbuf_printf(&b, "%c%zu|%.*s|%.*s", kind, s->key.len, STR_ARG(s->key), STR_ARG(s->name));
    if (kind == 'm' || kind == 'h' || kind == 's')
        add_match(&b, sp->pod, s->term);
    if (kind == 'n')
        add_shared(&b, sp, &sp->near, near_text);
    if (kind == 's')
        add_policy(&b, sp, s->term);
    return brief(&sp->arena, &b);
}
