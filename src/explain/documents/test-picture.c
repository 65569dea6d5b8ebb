/* See test-picture.h. */
#include "explain/documents/test-picture.h"

#include "grove/types.h"
#include "json/patch.h"
#include "json/yaml.h"

enum { MAX_ARGS = 3 };

/* ---- the language ---- */

/* What a word means: a merge patch, or a value that is appended to the list at a path. $1 to $3 are
 * its arguments, $t is the time that `at` said last. */
static const struct word {
    const char *word;
    size_t n_args;
    const char *list, *yaml;
} words[] = {
    /* of pods */
    {"on", 1, NULL, "{spec: {nodeName: '$1'}}"},
    {"gated", 0, NULL, "{spec: {schedulingGates: [{name: grove.io/podgang-pending-creation}]}}"},
    {"phase", 1, NULL, "{status: {phase: '$1'}}"},
    {"ready", 0, "/status/conditions/-", "{type: Ready, status: 'True'}"},
    {"unready", 1, "/status/conditions/-",
     "{type: Ready, status: 'False', reason: '$1', lastTransitionTime: '2026-01-01T$tZ'}"},
    {"waits", 2, "/status/containerStatuses/-",
     "{name: c, state: {waiting: {reason: '$1', message: '$2'}}}"},
    {"init-waits", 2, "/status/initContainerStatuses/-",
     "{name: i, state: {waiting: {reason: '$1', message: '$2'}}}"},
    {"asks", 2, "/spec/containers/-", "{name: c, image: i, resources: {requests: {'$1': '$2'}}}"},
    {"after", 1, "/spec/initContainers/-", "{name: grove-initc, args: ['--podcliques=$1']}"},
    {"tolerates", 1, "/spec/tolerations/-",
     "{key: node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute, "
     "tolerationSeconds: $1}"},
    {"base", 1, NULL, "{metadata: {labels: {grove.io/base-podgang: '$1'}}}"},
    /* of nodes */
    {"has", 2, NULL, "{status: {allocatable: {'$1': '$2'}}}"},
    {"rack", 1, NULL, "{metadata: {labels: {rack: '$1'}}}"},
    {"cordoned", 0, NULL, "{spec: {unschedulable: true}}"},
    {"tainted", 1, "/spec/taints/-", "{key: '$1', effect: NoSchedule}"},
    {"silent", 0, NULL, "{status: {conditions: [{type: Ready, status: Unknown}]}}"},
    /* of what is made of pods */
    {"replicas", 1, NULL, "{spec: {replicas: $1}}"},
    {"min", 1, NULL, "{spec: {minAvailable: $1}}"},
    {"gang", 1, NULL, "{metadata: {labels: {grove.io/podgang: '$1'}}}"},
    {"group", 1, NULL, "{metadata: {labels: {grove.io/podcliquescalinggroup: '$1'}}}"},
    {"seen", 0, NULL, "{status: {replicas: 1}}"},
    {"packed", 1, NULL, "{spec: {topologyConstraint: {packConstraint: {required: '$1'}}}}"},
    {"True", 3, "/status/conditions/-",
     "{type: $1, status: 'True', reason: '$2', message: '$3', "
     "lastTransitionTime: '2026-01-01T$tZ'}"},
    {"False", 3, "/status/conditions/-",
     "{type: $1, status: 'False', reason: '$2', message: '$3'}"},
    {"Unknown", 3, "/status/conditions/-",
     "{type: $1, status: Unknown, reason: '$2', message: '$3'}"},
    {"error", 2, "/status/lastErrors/-", "{code: '$1', description: '$2'}"},
    /* of all */
    {"in", 1, NULL, "{metadata: {namespace: '$1'}}"},
    {"of", 1, NULL, "{metadata: {labels: {app.kubernetes.io/part-of: '$1'}}}"},
    {"uid", 1, NULL, "{metadata: {uid: '$1'}}"},
    {"owned", 1, NULL,
     "{metadata: {ownerReferences: [{controller: true, kind: PodCliqueScalingGroup, name: '$1', "
     "uid: 'uid-$1'}]}}"},
    {"held", 1, "/metadata/finalizers/-", "'$1'"},
    {"going", 1, NULL,
     "{metadata: {deletionTimestamp: '2026-01-01T$1Z', deletionGracePeriodSeconds: 30}}"},
};

/* What each kind begins with, after what its name says. */
static const struct noun {
    const char *noun;
    enum picture_part part;
    const char *yaml;
} nouns[] = {
    {"set", PICTURE_SETS,
     "{metadata: {labels: null}, spec: {replicas: 1, template: {}}, status: {lastErrors: []}}"},
    {"group", PICTURE_GROUPS,
     "{metadata: {labels: {grove.io/podgang: null}}, status: "
     "{lastErrors: []}}"},
    {"clique", PICTURE_CLIQUES, "{status: {lastErrors: []}}"},
    {"gang", PICTURE_GANGS, "{metadata: {labels: {grove.io/podgang: null}}}"},
    {"pod", PICTURE_PODS,
     "{spec: {containers: [], initContainers: [], tolerations: []}, "
     "status: {containerStatuses: [], initContainerStatuses: []}}"},
    {"map", PICTURE_MAPS, "{metadata: {labels: {grove.io/podgang: null}}, status: null}"},
    {"event", PICTURE_EVENTS, "{spec: null, status: null}"},
    {"node", PICTURE_NODES,
     "{metadata: {namespace: null, labels: null}, spec: {taints: []}, status: {allocatable: {cpu: "
     "'8', memory: 64Gi, pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}"},
};

static struct doc *must(struct doc *d, const struct err *err, str text)
{
    if (!d)
        test_note("%s: %.*s", err->message, STR_ARG(text));
    REQUIRE(d != NULL);
    return d;
}

static void merge(struct doc **d, str yaml)
{
    struct err err = ERR_INIT;
    struct doc *patch = must(yaml_parse_one(yaml, &err), &err, yaml);
    struct doc *out = must(json_merge_patch(doc_root(*d), doc_root(patch), &err), &err, yaml);
    doc_unref(patch);
    doc_unref(*d);
    *d = out;
}

static void append(struct doc **d, str path, str yaml, struct arena *a)
{
    struct err err = ERR_INIT;
    str text =
        arena_printf(a, "[{op: add, path: %.*s, value: %.*s}]", STR_ARG(path), STR_ARG(yaml));
    struct doc *patch = must(yaml_parse_one(text, &err), &err, text);
    struct doc *out = must(json_patch(doc_root(*d), doc_root(patch), &err), &err, text);
    doc_unref(patch);
    doc_unref(*d);
    *d = out;
}

static str fill_in(struct arena *a, const char *yaml, const str *args, str time)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (const char *p = yaml; *p; p++) {
        if (*p == '$' && p[1] == 't')
            strbuf_add_str(&b, time);
        else if (*p == '$')
            strbuf_add_str(&b, args[p[1] - '1']);
        else
            strbuf_add_char(&b, *p);
        p += *p == '$';
    }
    str text = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}

/* The next word of a line, or what stands between quotes; empty at its end and before a patch. */
static str next_word(str *line)
{
    *line = str_trim(*line);
    if (line->len == 0 || line->p[0] == '{')
        return STR_NONE;
    if (line->p[0] == '\'') {
        *line = str_sub(*line, 1, line->len);
        return str_cut(line, '\'');
    }
    return str_cut(line, ' ');
}

static void read_word(struct doc **d, str word, str *line, str *time, struct arena *a)
{
    str args[MAX_ARGS] = {STR_NONE};
    size_t i = 0;
    if (str_is(word, "at")) {
        *time = next_word(line);
        return;
    }
    while (i < ARRAY_LEN(words) && !str_is(word, words[i].word))
        i++;
    if (i == ARRAY_LEN(words))
        test_note("no such word: %.*s", STR_ARG(word));
    REQUIRE(i < ARRAY_LEN(words));
    for (size_t k = 0; k < words[i].n_args; k++)
        args[k] = next_word(line);
    str text = fill_in(a, words[i].yaml, args, *time);
    if (words[i].list)
        append(d, str_of(words[i].list), text, a);
    else
        merge(d, text);
}

/* ---- objects ---- */

static str until_last(str name)
{
    size_t i = name.len;
    while (i > 0 && name.p[i - 1] != '-')
        i--;
    return i > 0 ? str_sub(name, 0, i - 1) : name;
}

static str last_of(str name)
{
    str rest = until_last(name);
    return rest.len < name.len ? str_sub(name, rest.len + 1, name.len) : name;
}

/* What the operator would write of an object of that name. */
static struct doc *object_of_name(const struct noun *n, str name, struct arena *a)
{
    const struct kind *k = picture_kind(n->part);
    char version[128];
    struct err err = ERR_INIT;
    str rest = name, set = str_cut(&rest, '-'), index = str_cut(&rest, '-');
    str clique = n->part == PICTURE_PODS ? until_last(name) : name;
    str text = arena_printf(
        a,
        "{apiVersion: %.*s, kind: %s, metadata: {name: '%.*s', namespace: default, uid: "
        "'uid-%.*s', resourceVersion: '1', finalizers: [], labels: {app.kubernetes.io/part-of: "
        "'%.*s', grove.io/podcliqueset-replica-index: '%.*s', grove.io/podgang: '%.*s-%.*s', "
        "grove.io/podclique: '%.*s', grove.io/podclique-pod-index: '%.*s', grove.io/role: "
        "'%.*s'}, ownerReferences: [{controller: true, kind: PodClique, name: '%.*s', uid: "
        "'uid-%.*s'}]}, spec: {}, status: {conditions: []}}",
        STR_ARG(kind_api_version(k, version, sizeof(version))), k->kind, STR_ARG(name),
        STR_ARG(name), STR_ARG(set), STR_ARG(index), STR_ARG(set), STR_ARG(index), STR_ARG(clique),
        STR_ARG(last_of(name)), STR_ARG(last_of(clique)), STR_ARG(clique),
        STR_ARG(n->part == PICTURE_PODS ? clique : set));
    struct doc *d = must(yaml_parse_one(text, &err), &err, text);
    merge(&d, str_of(n->yaml));
    return d;
}

static struct obj *read_object(const struct noun *n, str name, str line, struct arena *a)
{
    struct err err = ERR_INIT;
    struct doc *d = object_of_name(n, name, a);
    str time = STR("11:00:00");
    for (str word; !str_is_empty(word = next_word(&line));)
        read_word(&d, word, &line, &time, a);
    if (line.len > 0)
        merge(&d, line);
    struct obj *o = obj_new(picture_kind(n->part), d, &err);
    if (!o)
        test_note("%s", err.message);
    REQUIRE(o != NULL);
    return o;
}

typedef VEC(struct obj *) obj_vec;

/* One line, which may mean several objects. */
static enum picture_part read_line(str line, struct arena *a, obj_vec *ret)
{
    str noun = next_word(&line), name = next_word(&line);
    bool many = str_ends(noun, STR("s"));
    int64_t n = 1;
    size_t i = 0;
    noun = many ? str_sub(noun, 0, noun.len - 1) : noun;
    while (i < ARRAY_LEN(nouns) && !str_is(noun, nouns[i].noun))
        i++;
    if (i == ARRAY_LEN(nouns))
        test_note("no such kind: %.*s", STR_ARG(noun));
    REQUIRE(i < ARRAY_LEN(nouns) && (!many || str_to_int(next_word(&line), &n)));
    bool node = nouns[i].part == PICTURE_NODES;
    for (int64_t k = 0; k < n; k++) {
        str own = !many  ? name
                  : node ? arena_printf(a, "%.*s%lld", STR_ARG(name), (long long)k + 1)
                         : arena_printf(a, "%.*s-%lld", STR_ARG(name), (long long)k);
        *vec_push(ret) = obj_hold(a, read_object(&nouns[i], own, line, a));
    }
    return nouns[i].part;
}

struct obj *tp_obj(const char *line)
{
    struct arena a = ARENA_INIT;
    obj_vec objs = {0};
    grove_kinds_init();
    (void)read_line(str_of(line), &a, &objs);
    REQUIRE(objs.len == 1);
    struct obj *o = obj_ref(objs.p[0]);
    vec_done(&objs);
    arena_done(&a);
    return o;
}

/* ---- pictures ---- */

static int by_name(const void *a, const void *b)
{
    const struct obj *x = *(struct obj *const *)a, *y = *(struct obj *const *)b;
    int c = str_cmp(x->ns, y->ns);
    return c ? c : str_cmp(x->name, y->name);
}

static void put_part(struct test_picture *t, enum picture_part part, obj_vec *objs)
{
    struct session_list *l = &t->picture.parts[part];
    vec_sort(objs, by_name);
    l->n = objs->len;
    l->items = arena_array(&t->arena, struct obj *, l->n + 1);
    for (size_t i = 0; i < l->n; i++)
        l->items[i] = objs->p[i];
}

static void add_reference(struct test_picture *t, struct doc **d, const struct obj *pod, bool first)
{
    str clique = obj_label(pod, STR(LABEL_PCLQ));
    const struct obj *c = picture_find(&t->picture, PICTURE_CLIQUES, clique);
    jval least = c ? jgetc(obj_spec(c), "minAvailable") : JVAL_ABSENT;
    int64_t members = 0;
    const struct session_list *pods = &t->picture.parts[PICTURE_PODS];
    for (size_t i = 0; i < pods->n; i++)
        members += str_eq(obj_label(pods->items[i], STR(LABEL_PCLQ)), clique);
    if (first)
        append(d, STR("/spec/podgroups/-"),
               arena_printf(&t->arena, "{name: '%.*s', minReplicas: %lld, podReferences: []}",
                            STR_ARG(clique), (long long)jint(least, members)),
               &t->arena);
    size_t last = jlen(jpath(doc_root(*d), "spec.podgroups")) - 1;
    append(d, arena_printf(&t->arena, "/spec/podgroups/%zu/podReferences/-", last),
           arena_printf(&t->arena, "{namespace: '%.*s', name: '%.*s'}", STR_ARG(pod->ns),
                        STR_ARG(pod->name)),
           &t->arena);
}

/* The pods of a gang, by clique, as they stand. */
static void complete_gang(struct test_picture *t, struct obj **gang)
{
    const struct session_list *pods = &t->picture.parts[PICTURE_PODS];
    struct err err = ERR_INIT;
    struct doc *d = doc_ref((*gang)->doc);
    str last = STR_NONE;
    if (j_has(jgetc(obj_spec(*gang), "podgroups"))) {
        doc_unref(d);
        return;
    }
    merge(&d, STR("{spec: {podgroups: []}}"));
    for (size_t i = 0; i < pods->n; i++) {
        str clique = obj_label(pods->items[i], STR(LABEL_PCLQ));
        if (!str_eq(obj_label(pods->items[i], STR(LABEL_PODGANG)), (*gang)->name) ||
            pods->items[i]->deleting)
            continue;
        add_reference(t, &d, pods->items[i], !str_eq(clique, last));
        last = clique;
    }
    struct obj *o = obj_new((*gang)->kind, d, &err);
    REQUIRE(o != NULL);
    *gang = obj_hold(&t->arena, o);
}

struct test_picture *tp_new(const char *lines)
{
    struct test_picture *t = xnew(struct test_picture);
    obj_vec objs[PICTURE_PARTS] = {0};
    grove_kinds_init();
    arena_init(&t->arena);
    t->picture = (struct picture){.ns = STR("default"), .now = TP_NOW};
    for (str rest = str_of(lines); rest.len > 0;) {
        str line = str_trim(str_cut(&rest, '\n'));
        obj_vec some = {0};
        if (line.len == 0)
            continue;
        enum picture_part part = read_line(line, &t->arena, &some);
        for (size_t i = 0; i < some.len; i++) {
            *vec_push(&objs[part]) = some.p[i];
            if (part == PICTURE_PODS)
                *vec_push(&objs[PICTURE_ALL_PODS]) = some.p[i];
        }
        vec_done(&some);
    }
    for (unsigned i = 0; i < PICTURE_PARTS; i++) {
        put_part(t, i, &objs[i]);
        vec_done(&objs[i]);
    }
    for (size_t i = 0; i < t->picture.parts[PICTURE_GANGS].n; i++)
        complete_gang(t, &t->picture.parts[PICTURE_GANGS].items[i]);
    return t;
}

void tp_free(struct test_picture *t)
{
    arena_done(&t->arena);
    free(t);
}

bool tp_replace(struct test_picture *t, enum picture_part part, size_t i, str json)
{
    struct err err = ERR_INIT;
    struct doc *d = doc_parse(json, NULL, &err);
    struct obj *o = d ? obj_new(picture_kind(part), d, &err) : NULL;
    if (o)
        t->picture.parts[part].items[i] = obj_hold(&t->arena, o);
    return o != NULL;
}

struct obj *tp_must(struct test_picture *t, enum picture_part part, const char *name)
{
    struct obj *o = picture_find(&t->picture, part, str_of(name));
    if (!o)
        test_note("no %s %s", picture_kind(part)->kind, name);
    REQUIRE(o != NULL);
    return o;
}

str tp_findings(struct test_picture *t, const char *set)
{
    struct findings f;
    struct strbuf b = STRBUF_INIT(16 << 20);
    findings_of_set(&t->picture, tp_must(t, PICTURE_SETS, set), &t->arena, &f);
    for (size_t i = 0; i < f.items.len; i++) {
        const struct finding *x = &f.items.p[i];
        size_t more;
        if (!findings_speaks(&f, NULL, i, &more))
            continue;
        strbuf_printf(&b, "%s %.*s: %.*s\n", finding_states[x->state],
                      STR_ARG(findings_reference(&t->arena, x->about)),
                      STR_ARG(findings_text(&t->arena, x, more)));
        if (x->constraint.len)
            strbuf_printf(&b, "  %.*s\n", STR_ARG(x->constraint));
        for (size_t k = 0; k < x->unblock.len; k++)
            strbuf_printf(&b, "  - %.*s\n", STR_ARG(x->unblock.p[k]));
    }
    findings_done(&f);
    str text = arena_str(&t->arena, strbuf_str(&b));
    strbuf_done(&b);
    return text;
}
