/* What pods ask for that is refused, and what nothing in a pod, ConfigMap or Secret can bring about:
 * a path outside of its volume, a setting of its own, memory without bounds. */
#include "node/process/pod_words.h"

#include "base/strbuf.h"
#include "base/test.h"
#include "grove/types.h"
#include "node/shim/shim_wire.h"

struct setting {
    struct arena arena;
    struct obj *pod, *node, *map, *secret;
    struct pod_words_input in;
    struct pod_words w;
};

/* JSON with ' for ". */
static struct obj *object(struct setting *s, const struct kind *k, const char *text)
{
    str json = arena_str(&s->arena, str_of(text));
    for (size_t i = 0; i < json.len; i++) {
        if (json.p[i] == '\'')
            ((char *)json.p)[i] = '"';
    }
    struct doc *d = doc_parse(json, NULL, NULL);
    CHECK(d != NULL);
    return d ? obj_new(k, d, NULL) : NULL;
}

static struct obj *find(void *ctx, const struct kind *k, str ns, str name)
{
    struct setting *s = ctx;
    (void)ns;
    struct obj *o = k == &kind_secret ? s->secret : s->map;
    return o && str_eq(o->name, name) ? o : NULL;
}

static jval container(const struct setting *s)
{
    return jat(jgetc(obj_spec(s->pod), "containers"), 0);
}

static void begin(struct setting *s, const char *spec, const char *map, const char *secret)
{
    *s = (struct setting){.arena = ARENA_INIT};
    str pod = arena_printf(&s->arena,
                           "{'metadata':{'name':'p','namespace':'n','uid':'u'},'spec':%s}", spec);
    s->pod = object(s, &kind_pod, pod.p);
    s->node = object(s, &kind_node, "{'metadata':{'name':'node'}}");
    s->map = map ? object(s, &kind_config_map, map) : NULL;
    s->secret = secret ? object(s, &kind_secret, secret) : NULL;
    s->w = (struct pod_words){.arena = &s->arena};
    s->in = (struct pod_words_input){.pod = s->pod,
                                     .node = s->node,
                                     .pod_dir = STR("/d"),
                                     .hide = STR("/h"),
                                     .find = find,
                                     .ctx = s};
}

static void end(struct setting *s)
{
    pod_words_done(&s->w);
    obj_unref(s->pod);
    obj_unref(s->node);
    if (s->map)
        obj_unref(s->map);
    if (s->secret)
        obj_unref(s->secret);
    arena_done(&s->arena);
}

static bool has(str s, const char *part)
{
    return str_find(s, str_of(part)) >= 0;
}

#define C(more) "'containers':[{'name':'c','command':['x']" more "}]"
#define MOUNT(m) C(",'volumeMounts':[{'name':'v'," m "}]")
#define EMPTY "'volumes':[{'name':'v','emptyDir':{}}],"
#define CONF "'volumes':[{'name':'v','configMap':{'name':'m'}}],"

TEST(pods_are_refused_what_processes_must_not_have)
{
    static const struct {
        const char *spec, *why, *privileged; /* why: NULL: allowed */
    } cases[] = {
        {"{" C("") "}", NULL, NULL},
        {"{'volumes':[{'name':'../../../etc','emptyDir':{}}]," C("") "}", "RFC 1123 label",
         "RFC 1123 label"},
        {"{'volumes':[{'name':'','emptyDir':{}}]," C("") "}", "RFC 1123 label", "RFC 1123 label"},
        {"{" EMPTY MOUNT("'mountPath':'/x'") "}", NULL, NULL},
        {"{" EMPTY MOUNT("'mountPath':'/x/..'") "}", "mountPath", "mountPath"},
        {"{" EMPTY MOUNT("'mountPath':'/x/../y'") "}", "mountPath", "mountPath"},
        {"{" EMPTY MOUNT("'mountPath':'x'") "}", "mountPath", "mountPath"},
        {"{" EMPTY MOUNT("'mountPath':'/x','subPath':'a'") "}", "emptyDir", "emptyDir"},
        {"{" CONF MOUNT("'mountPath':'/x','subPath':'a..b/c'") "}", NULL, NULL},
        {"{" CONF MOUNT("'mountPath':'/x','subPath':'a/../b'") "}", "subPath", "subPath"},
        {"{" CONF MOUNT("'mountPath':'/x','subPath':'/etc'") "}", "subPath", "subPath"},
        {"{" MOUNT("'mountPath':'/x'") "}", "names no volume", "names no volume"},
        {"{" C(",'securityContext':{'runAsUser':1000,'runAsGroup':2147483647}") "}", NULL, NULL},
        {"{" C(",'securityContext':{'runAsUser':0}") "}", "runAsUser 0", NULL},
        {"{" C(",'securityContext':{'runAsUser':-1}") "}", "runAsUser", "runAsUser"},
        {"{" C(",'securityContext':{'runAsUser':4294967296}") "}", "runAsUser", "runAsUser"},
        {"{" C(",'securityContext':{'runAsUser':2147483648}") "}", "runAsUser", "runAsUser"},
        {"{" C(",'securityContext':{'runAsGroup':0}") "}", "group 0", NULL},
        {"{" C(",'securityContext':{'runAsGroup':4294967296}") "}", "runAsGroup", "runAsGroup"},
        {"{'securityContext':{'runAsUser':4294967296}," C("") "}", "runAsUser", "runAsUser"},
        {"{'securityContext':{'fsGroup':0}," C("") "}", "fsGroup", NULL},
        {"{'securityContext':{'supplementalGroups':[5,0]}," C("") "}", "supplementalGroups", NULL},
        {"{'securityContext':{'supplementalGroups':[4294967296]}," C("") "}", "supplementalGroups",
         "supplementalGroups"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct setting s;
        begin(&s, cases[i].spec, NULL, NULL);
        str plain = pod_words_refused(s.pod, false, &s.arena);
        str allowed = pod_words_refused(s.pod, true, &s.arena);
        CHECK(cases[i].why ? has(plain, cases[i].why) : str_is_empty(plain));
        CHECK(cases[i].privileged ? has(allowed, cases[i].privileged) : str_is_empty(allowed));
        end(&s);
    }
}

TEST(ephemeral_containers_are_judged_alone)
{
    struct setting s;
    begin(&s,
          "{" C("") ",'ephemeralContainers':[{'name':'e','command':['x'],'securityContext':"
                    "{'runAsUser':0}}]}",
          NULL, NULL);
    jval e = jat(jgetc(obj_spec(s.pod), "ephemeralContainers"), 0);
    CHECK(has(pod_words_container_refused(s.pod, e, false, &s.arena), "runAsUser 0"));
    CHECK_CSTR(pod_words_container_refused(s.pod, container(&s), false, &s.arena), "");
    end(&s);
}

TEST(more_containers_than_a_shim_holds_are_refused)
{
    struct strbuf b = STRBUF_INIT(100000);
    struct setting s;
    strbuf_add_cstr(&b, "{'containers':[");
    for (int i = 0; i <= SHIM_CONTAINERS_MAX; i++)
        strbuf_printf(&b, "%s{'name':'c%d','command':['x']}", i ? "," : "", i);
    strbuf_add_cstr(&b, "]}");
    begin(&s, b.p, NULL, NULL);
    CHECK(has(pod_words_refused(s.pod, false, &s.arena), "at most 64 containers"));
    end(&s);
    strbuf_done(&b);
}

TEST(files_of_volumes_stay_inside)
{
    static const struct {
        const char *source;
        bool inside;
    } cases[] = {
        {"'configMap':{'name':'m','items':[{'key':'k','path':'a/b..c'}]}", true},
        {"'configMap':{'name':'m','items':[{'key':'k','path':'../x'}]}", false},
        {"'configMap':{'name':'m','items':[{'key':'k','path':'a/../../x'}]}", false},
        {"'configMap':{'name':'m','items':[{'key':'k','path':'/x'}]}", false},
        {"'configMap':{'name':'m','items':[{'key':'k','path':'a//x'}]}", false},
        {"'configMap':{'name':'m','items':[{'key':'k','path':'./x'}]}", false},
        {"'configMap':{'name':'m','items':[{'key':'k','path':'a/..'}]}", false},
        {"'configMap':{'name':'m','items':[{'key':'k','path':''}]}", false},
        {"'configMap':{'name':'m','items':[{'key':'k','path':'a\\u0000b'}]}", false},
        {"'secret':{'secretName':'t','items':[{'key':'k','path':'../x'}]}", false},
        {"'downwardAPI':{'items':[{'path':'../x','fieldRef':{'fieldPath':'metadata.name'}}]}",
         false},
        {"'projected':{'sources':[{'configMap':{'name':'m','items':[{'key':'k','path':'..'}]}}]}",
         false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct setting s;
        struct strbuf b = STRBUF_INIT(4096);
        strbuf_printf(&b, "{'volumes':[{'name':'v',%s}]," C("") "}", cases[i].source);
        begin(&s, b.p, "{'metadata':{'name':'m'},'data':{'k':'1'}}",
              "{'metadata':{'name':'t'},'data':{'k':'MQ=='}}");
        pod_words_volumes(&s.in, &s.w);
        CHECK_INT(s.w.files.len, cases[i].inside ? 2 : 1);
        CHECK(cases[i].inside == str_is_empty(s.w.problem));
        end(&s);
        strbuf_done(&b);
    }
}

/* The first of a key is what a shim takes. */
static str first(const struct setting *s, const char *key)
{
    for (size_t i = 0; i < s->w.words.len; i++) {
        if (str_starts(s->w.words.p[i], str_of(key)))
            return s->w.words.p[i];
    }
    return STR_NONE;
}

TEST(values_with_nul_bytes_start_nothing)
{
    static const char *const cases[] = {
        "{" C(",'env':[{'name':'A','value':'1\\u0000uid=0'}]") "}",
        "{" C(",'env':[{'name':'A\\u0000uid=0','value':'1'}]") "}",
        "{" C(",'args':['1\\u0000uid=0']") "}",
        "{" C(",'workingDir':'/\\u0000uid=0'") "}",
        /* A secret with the bytes 1 NUL u i d = 0. */
        "{" C(",'envFrom':[{'secretRef':{'name':'t'}}]") "}",
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct setting s;
        begin(&s, cases[i], NULL, "{'metadata':{'name':'t'},'data':{'k':'MQB1aWQ9MA=='}}");
        pod_words_start(&s.in, container(&s), &s.w);
        CHECK(has(s.w.problem, "NUL byte"));
        CHECK_CSTR(s.w.problem_reason, "CreateContainerConfigError");
        for (size_t k = 0; k < s.w.words.len; k++)
            CHECK(str_find_char(s.w.words.p[k], 0) < 0);
        end(&s);
    }
}

TEST(the_user_is_told_before_what_a_pod_says)
{
    struct setting s;
    begin(&s, "{" C(",'args':['uid=0']") ",'securityContext':{'runAsUser':7}}", NULL, NULL);
    pod_words_start(&s.in, container(&s), &s.w);
    CHECK_CSTR(s.w.problem, "");
    CHECK_CSTR(first(&s, "uid="), "uid=7");
    CHECK_CSTR(s.w.words.p[2], "uid=7");
    end(&s);
}

TEST(expansion_is_bounded)
{
    struct strbuf b = STRBUF_INIT(4 * 1024 * 1024);
    struct setting s;
    strbuf_add_cstr(&b, "{'containers':[{'name':'c','command':['x'],'env':[{'name':'B','value':'");
    for (int i = 0; i < 20000; i++)
        strbuf_add_char(&b, 'b');
    strbuf_add_cstr(&b, "'}");
    for (int i = 0; i < 2000; i++)
        strbuf_printf(&b, ",{'name':'V%d','value':'$(B)$(B)$(B)'}", i);
    strbuf_add_cstr(&b, "]}]}");
    begin(&s, b.p, NULL, NULL);
    pod_words_start(&s.in, container(&s), &s.w);
    CHECK(has(s.w.problem, "larger than"));
    CHECK(s.w.bytes < SHIM_MESSAGE_MAX);
    end(&s);
    strbuf_reset(&b);
    strbuf_add_cstr(&b,
                    "{'containers':[{'name':'c','command':['x'],'env':[{'name':'V','value':''}");
    for (int i = 0; i < 3100; i++)
        strbuf_printf(&b, ",{'name':'V%d','value':''}", i);
    strbuf_add_cstr(&b, "]}]}");
    begin(&s, b.p, NULL, NULL);
    pod_words_start(&s.in, container(&s), &s.w);
    CHECK(has(s.w.problem, "more than 3000 environment variables"));
    end(&s);
    strbuf_done(&b);
}

TEST(variables_are_put_in)
{
    struct setting s;
    begin(&s,
          "{'containers':[{'name':'c','command':['$(A)','$$(A)','$(NO)$(A','($(A))'],"
          "'env':[{'name':'A','value':'1'},{'name':'B','value':'<$(A)>'}]}]}",
          NULL, NULL);
    pod_words_start(&s.in, container(&s), &s.w);
    CHECK_CSTR(s.w.words.p[3], "arg=1");
    CHECK_CSTR(s.w.words.p[4], "arg=$(A)");
    CHECK_CSTR(s.w.words.p[5], "arg=$(NO)$(A");
    CHECK_CSTR(s.w.words.p[6], "arg=(1)");
    CHECK_CSTR(first(&s, "env=B="), "env=B=<1>");
    end(&s);
}

TEST(files_of_volumes_are_bounded)
{
    struct strbuf b = STRBUF_INIT(4 * 1024 * 1024), m = STRBUF_INIT(4 * 1024 * 1024);
    struct setting s;
    strbuf_add_cstr(&m, "{'metadata':{'name':'m'},'data':{'k':'");
    for (int i = 0; i < 1024 * 1024; i++)
        strbuf_add_char(&m, 'm');
    strbuf_add_cstr(&m, "'}}");
    strbuf_add_cstr(&b, "{" C("") ",'volumes':[");
    for (int i = 0; i < 100; i++)
        strbuf_printf(&b, "%s{'name':'v%d','configMap':{'name':'m'}}", i ? "," : "", i);
    strbuf_add_cstr(&b, "]}");
    begin(&s, b.p, m.p, NULL);
    pod_words_volumes(&s.in, &s.w);
    CHECK(has(s.w.problem, "its volumes have more than"));
    CHECK(s.w.file_bytes <= 64 * 1024 * 1024);
    end(&s);
    strbuf_done(&b);
    strbuf_done(&m);
}

TEST(a_hook_sleeps_for_a_time_that_can_be_told)
{
    struct setting s;
    begin(&s, "{" C(",'lifecycle':{'preStop':{'sleep':{'seconds':9223372036854775807}}}") "}", NULL,
          NULL);
    pod_words_hook(&s.in, container(&s), true, &s.w);
    CHECK(s.w.sleep > 0 && s.w.sleep <= 7 * 24 * 3600 * USEC_PER_SEC);
    end(&s);
}
