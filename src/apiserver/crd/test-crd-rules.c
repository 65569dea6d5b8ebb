/*
 * Rules of definitions (x-kubernetes-validations), from the definition that carries them to the
 * objects they refuse. Texts are those of kube-apiserver v1.36.
 */
#include "apiserver/crd.h"
#include "apiserver/test-apiserver-fixture.h"
#include "grove/types.h"
#include "json/edit.h"

#define CRD_WITH(members)                                                                       \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition','metadata':{"    \
    "'name':'things.example.org'},'spec':{'group':'example.org','scope':'Namespaced','names':{" \
    "'plural':'things','kind':'Thing'},'versions':[{'name':'v1','served':true,'storage':true,"  \
    "'subresources':{'status':{},'scale':{'specReplicasPath':'.spec.replicas',"                 \
    "'statusReplicasPath':'.status.replicas'}},'schema':{'openAPIV3Schema':{'type':'object'"    \
    "," members "}}}]}}"
#define CRD(properties) CRD_WITH("'properties':{" properties "}")
#define RULES(list) "'x-kubernetes-validations':[" list "]"
#define SPEC(properties, rules) "'spec':{'type':'object'" rules ",'properties':{" properties "}}"
#define STATUS "'status':{'type':'object','properties':{'replicas':{'type':'integer'}}}"
#define THING(spec) \
    "{'apiVersion':'example.org/v1','kind':'Thing','metadata':{'name':'t'},'spec':{" spec "}}"

/* Quotes inside of expressions are written as `. */
static const char *quoted(struct fixture *f, const char *json)
{
    str text = arena_str(&f->arena, str_of(json));
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (size_t i = 0; i < text.len; i++) {
        if (text.p[i] == '`')
            strbuf_add_cstr(&b, "\\u0027");
        else
            strbuf_add_char(&b, text.p[i]);
    }
    const char *out = arena_str(&f->arena, strbuf_str(&b)).p;
    strbuf_done(&b);
    return out;
}

static const struct kind *thing(void)
{
    return kind_by_plural(STR("example.org"), STR("v1"), STR("things"));
}

static bool define(struct fixture *f, const char *crd)
{
    bool ok = CHECK_INT(create(f, &kind_crd, "", quoted(f, crd)), 201);
    if (!ok)
        test_note("%.*s", STR_ARG(f->message));
    fixture_run(f, 100 * 1000);
    return ok;
}

/* ---- what is refused when the definition is written ---- */

static const struct {
    const char *schema, *why;
} refused[] = {
    {SPEC("'a':{'type':'integer'}", "," RULES("{'rule':'self.b > 1'}")),
     "spec.validation.openAPIV3Schema.properties[spec].x-kubernetes-validations[0].rule: Invalid "
     "value: apiextensions.ValidationRule{Rule:\"self.b > 1\", Message:\"\", "
     "MessageExpression:\"\", Reason:(*apiextensions.FieldValueErrorReason)(nil), FieldPath:\"\", "
     "OptionalOldSelf:(*bool)(nil)}: compilation failed: ERROR: <input>:1:5: undefined field 'b'\n "
     "| self.b > 1\n | ....^"},
    {SPEC("'a':{'type':'integer'}", "," RULES("{'rule':'self.a'}")),
     "compilation failed: must evaluate to bool"},
    {SPEC("'a':{'type':'integer'}", "," RULES("{'rule':'self.a == `x`'}")),
     "found no matching overload for '_==_' applied to '(int, string)'"},
    {SPEC("'a':{'type':'string'}", "," RULES("{'rule':'nothing(self.a)'}")),
     "undeclared reference to 'nothing' (in container '')"},
    {SPEC("'a':{'type':'string'}", "," RULES("{'rule':'self.a +'}")),
     "compilation failed: ERROR: <input>:1:9: Syntax error:"},
    {SPEC("'a':{'type':'string'}", "," RULES("{'rule':' '}")),
     "x-kubernetes-validations[0].rule: Required value: rule is not specified"},
    {SPEC("'a':{'type':'string','x-kubernetes-validations':[{'rule':'self.size() > 1','message':"
          "' '}]}",
          ""),
     "properties[spec].properties[a].x-kubernetes-validations[0].message: Invalid value: \" \": "
     "message must be non-empty if specified"},
    {SPEC("'a':{'type':'string'}", "," RULES("{'rule':'self.a\\n == `x`'}")),
     "message: Required value: message must be specified if rule contains line breaks"},
    {SPEC("'a':{'type':'string'}", "," RULES("{'rule':'true','reason':'Because'}")),
     "x-kubernetes-validations[0].reason: Unsupported value: \"Because\": supported values: "
     "\"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", "
     "\"FieldValueRequired\""},
    {SPEC("'a':{'type':'string'}", "," RULES("{'rule':'true','fieldPath':'.b'}")),
     "x-kubernetes-validations[0].fieldPath: Invalid value: \".b\": fieldPath must be a valid "
     "path"},
    {SPEC("'a':{'type':'integer'}", "," RULES("{'rule':'true','messageExpression':'self.a'}")),
     "messageExpression compilation failed: must evaluate to string"},
    {SPEC("'l':{'type':'array','items':{'type':'string'," RULES("{'rule':'self == oldSelf'}") "}}",
          ""),
     "properties[l].items.x-kubernetes-validations[0].rule: Invalid value: \"self == oldSelf\": "
     "oldSelf cannot be used on the uncorrelatable portion of the schema within "
     "spec.validation.openAPIV3Schema.properties[spec].properties[l]"},
    {SPEC("'l':{'type':'array','x-kubernetes-list-type':'set','items':{'type':'string'," RULES(
              "{'rule':'self == oldSelf'}") "}}",
          ""),
     "oldSelf cannot be used on the uncorrelatable portion"},
    {SPEC("'a':{'type':'string'}", "," RULES("{'rule':'true','optionalOldSelf':true}")),
     "optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule"},
    {SPEC("'l':{'type':'array','items':{'type':'string'}}",
          "," RULES("{'rule':'self.l.all(a, self.l.all(b, self.l.all(c, self.l.all(d, "
                    "self.l.all(e, a == e)))))'}")),
     "x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of "
     "more than 100x"},
    {"'metadata':{'type':'object'}," SPEC("'a':{'type':'string'}",
                                          "," RULES("{'rule':'self.metadata.name == `x`'}")),
     "undefined field 'metadata'"}, /* only the root has it */
    {SPEC("'a':{'type':'string','anyOf':[{" RULES("{'rule':'true'}") "}]}", ""),
     "x-kubernetes-validations: Forbidden: must be empty to be structural"},
};

TEST(a_rule_that_cannot_work_refuses_the_definition)
{
    struct fixture f;
    fixture_init(&f);
    for (size_t i = 0; i < ARRAY_LEN(refused); i++) {
        const char *crd = text_of(&f, CRD("%s"), refused[i].schema).p;
        if (!CHECK_INT(create(&f, &kind_crd, "", quoted(&f, crd)), 422) ||
            !CHECK(str_find(f.message, str_of(refused[i].why)) >= 0)) {
            test_note("got  %.*s", STR_ARG(f.message));
            test_note("want %s", refused[i].why);
        }
    }
    fixture_done(&f);
}

/* ---- what is refused when an object is written ---- */

#define KEY_RULES RULES("{'rule':'self == oldSelf','message':'key is immutable'}")
#define ONCE_RULES                                                                           \
    RULES("{'rule':'!oldSelf.hasValue() || oldSelf.value() == self','optionalOldSelf':true," \
          "'message':'set it once'}")
#define PORT_RULES RULES("{'rule':'type(self) == int ? self < 65536 : self.matches(`^[a-z]+$`)'}")
#define CPU_RULES                                                                           \
    RULES("{'rule':'quantity(string(self)).isLessThan(quantity(`4`))','messageExpression':" \
          "'`at most 4 CPUs, not ` + string(self)'}")
#define ITEM_RULES                                                                           \
    RULES("{'rule':'!has(oldSelf.n) || self.n >= oldSelf.n','message':'n must not shrink'}," \
          "{'rule':'self.n < 100','reason':'FieldValueForbidden','fieldPath':'.n'}")
#define TAG_RULES                                                       \
    RULES("{'rule':'self.all(t, self.exists_one(u, u == t))','reason':" \
          "'FieldValueDuplicate'}")
#define INT_OR_STRING "'x-kubernetes-int-or-string':true,"
#define KEYED "'type':'array','x-kubernetes-list-type':'map','x-kubernetes-list-map-keys':['name']"

static const char properties[] =
    "'replicas':{'type':'integer'},'maxReplicas':{'type':'integer'},'mode':{'type':'string'},"
    "'a-b':{'type':'string'},'key':{'type':'string'," KEY_RULES "},"
    "'once':{'type':'string'," ONCE_RULES "},'port':{" INT_OR_STRING PORT_RULES "},"
    "'cpu':{" INT_OR_STRING CPU_RULES "},'labels':{'type':'object','additionalProperties':{"
    "'type':'string'," RULES(
        "{'rule':'self.size() < 4'}") "}},"
                                      "'maybe':{'type':'string','nullable':true," RULES(
                                          "{'rule':'self != `x`'}") "},"
                                                                    "'items':{" KEYED
                                                                    ",'items':{'type':'object','"
                                                                    "required':['name']," ITEM_RULES
                                                                    ",'properties':{"
                                                                    "'name':{'type':'string'},'n':{"
                                                                    "'type':'integer'}}}},"
                                                                    "'tags':{'type':'array','items'"
                                                                    ":{'type':'string'}," TAG_RULES
                                                                    "}";
#define SPEC_RULES                                                                               \
    "," RULES("{'rule':'!has(self.maxReplicas) || self.replicas <= self.maxReplicas','message':" \
              "'replicas must not exceed maxReplicas'},{'rule':'!has(self.a__dash__b) || "       \
              "has(self.mode)','reason':'FieldValueRequired','fieldPath':'.mode','message':"     \
              "'needed with a-b'},{'rule':'!has(self.mode) || self.mode != `broken` || "         \
              "self.key == `x`'}")

#define DEFINITION CRD(SPEC("%s", SPEC_RULES) "," STATUS)

static const struct {
    const char *spec, *why; /* NULL: it is taken */
} objects[] = {
    {"'replicas':1", NULL},
    {"'replicas':1,'maxReplicas':2", NULL},
    {"'replicas':3,'maxReplicas':2",
     "Thing.example.org \"t\" is invalid: spec: Invalid value: replicas must not exceed "
     "maxReplicas"},
    {"'a-b':'x','mode':'y'", NULL},
    {"'a-b':'x'", "Thing.example.org \"t\" is invalid: spec.mode: Required value: needed with a-b"},
    {"'mode':'broken'",
     "Thing.example.org \"t\" is invalid: spec: Invalid value: no such key: key evaluating rule: "
     "!has(self.mode) || self.mode != 'broken' || self.key == 'x'"},
    {"'key':'x','once':'y'", NULL}, /* nothing is before */
    {"'port':80", NULL},
    {"'port':'http'", NULL},
    {"'port':70000", "spec.port: Invalid value: failed rule: type(self) == int ? self < 65536 : "
                     "self.matches('^[a-z]+$')"},
    {"'port':'80'", "spec.port: Invalid value: failed rule"},
    {"'cpu':'500m'", NULL},
    {"'cpu':8", "spec.cpu: Invalid value: at most 4 CPUs, not 8"},
    {"'cpu':'x'", "evaluating rule: quantity(string(self))"},
    {"'labels':{'a':'ok','b.c':'long'}",
     "spec.labels.b.c: Invalid value: failed rule: self.size() < 4"},
    {"'maybe':null", NULL}, /* nothing to judge */
    {"'maybe':'x'", "spec.maybe: Invalid value: failed rule: self != 'x'"},
    {"'items':[{'name':'a','n':1},{'name':'b','n':2}]", NULL},
    {"'items':[{'name':'a','n':1},{'name':'b','n':100}]",
     "Thing.example.org \"t\" is invalid: spec.items[1].n: Forbidden: failed rule: self.n < 100"},
    {"'items':[{'name':'a'}]",
     "spec.items[0]: Invalid value: no such key: n evaluating rule: self.n < 100"},
    {"'tags':['a','b']", NULL},
    {"'tags':['a','a']", "Thing.example.org \"t\" is invalid: spec.tags: Duplicate value"},
    {"'replicas':3,'maxReplicas':2,'port':70000", "[spec: Invalid value: replicas must not exceed "
                                                  "maxReplicas, spec.port: Invalid value:"},
    /* rules are not asked about what is not what they are about */
    {"'replicas':'x','maxReplicas':2",
     "<nil>: Invalid value: null: some validation rules were not checked because the object was "
     "invalid; correct the existing errors to complete validation"},
};

TEST(objects_are_judged_by_the_rules_of_their_kind)
{
    struct fixture f;
    fixture_init(&f);
    if (define(&f, text_of(&f, DEFINITION, properties).p))
        for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
            const char *json = text_of(&f, THING("%s"), objects[i].spec).p;
            int code = create(&f, thing(), "ns", json);
            if (!CHECK_INT(code, objects[i].why ? 422 : 201) ||
                (objects[i].why && !CHECK(str_find(f.message, str_of(objects[i].why)) >= 0))) {
                test_note("%s: %.*s", objects[i].spec, STR_ARG(f.message));
                test_note("want %s", objects[i].why ? objects[i].why : "nothing");
            }
            (void)delete (&f, thing(), "ns", "t");
        }
    fixture_done(&f);
}

static const struct {
    const char *before, *patch, *why;
} changes[] = {
    {"'key':'x'", "{'spec':{'replicas':2}}", NULL},
    {"'key':'x'", "{'spec':{'key':'y'}}", "spec.key: Invalid value: key is immutable"},
    {"'replicas':1", "{'spec':{'key':'y'}}", NULL}, /* there was none */
    {"'key':'x'", "{'spec':{'key':null}}", NULL},   /* there is none */
    {"'once':'x'", "{'spec':{'once':'y'}}", "spec.once: Invalid value: set it once"},
    {"'replicas':1", "{'spec':{'once':'y'}}", NULL},
    {"'replicas':1,'maxReplicas':2", "{'spec':{'replicas':3}}",
     "replicas must not exceed maxReplicas"},
    /* items are told apart by their keys, wherever they are */
    {"'items':[{'name':'a','n':1},{'name':'b','n':5}]",
     "{'spec':{'items':[{'name':'b','n':5},{'name':'a','n':1}]}}", NULL},
    {"'items':[{'name':'a','n':1},{'name':'b','n':5}]",
     "{'spec':{'items':[{'name':'b','n':4},{'name':'a','n':1}]}}",
     "spec.items[0]: Invalid value: n must not shrink"},
    {"'items':[{'name':'a','n':5}]", "{'spec':{'items':[{'name':'c','n':1}]}}", NULL},
};

TEST(what_changes_is_judged_by_what_was_before)
{
    struct fixture f;
    fixture_init(&f);
    if (define(&f, text_of(&f, DEFINITION, properties).p))
        for (size_t i = 0; i < ARRAY_LEN(changes); i++) {
            CHECK_INT(create(&f, thing(), "ns", text_of(&f, THING("%s"), changes[i].before).p),
                      201);
            int code = patch(&f, thing(), "ns", "t", API_PATCH_MERGE, changes[i].patch);
            if (!CHECK_INT(code, changes[i].why ? 422 : 200) ||
                (changes[i].why && !CHECK(str_find(f.message, str_of(changes[i].why)) >= 0)))
                test_note("%s: %.*s", changes[i].patch, STR_ARG(f.message));
            (void)delete (&f, thing(), "ns", "t");
        }
    fixture_done(&f);
}

#define ROOT_RULES                                                                           \
    RULES("{'rule':'!has(self.status) || self.status.replicas <= self.spec.replicas',"       \
          "'message':'too many'},{'rule':'self.spec.replicas < 10 && self.metadata.name != " \
          "`bad`','message':'too large'}")

TEST(rules_hold_for_scale_and_status_too)
{
    struct fixture f;
    fixture_init(&f);
    if (define(&f, CRD_WITH("'properties':{" SPEC("'replicas':{'type':'integer'}",
                                                  "") "," STATUS "}," ROOT_RULES))) {
        CHECK_INT(create(&f, thing(), "ns", THING("'replicas':3")), 201);
        CHECK_INT(
            patch_sub(&f, thing(), "ns", "t", "scale", API_PATCH_MERGE, "{'spec':{'replicas':10}}"),
            422);
        CHECK_CSTR(f.message,
                   "Thing.example.org \"t\" is invalid: <nil>: Invalid value: too large");
        CHECK_INT(patch_sub(&f, thing(), "ns", "t", "status", API_PATCH_MERGE,
                            "{'status':{'replicas':4}}"),
                  422);
        CHECK_CSTR(f.message, "Thing.example.org \"t\" is invalid: <nil>: Invalid value: too many");
        CHECK_INT(patch_sub(&f, thing(), "ns", "t", "status", API_PATCH_MERGE,
                            "{'status':{'replicas':3}}"),
                  200);
        CHECK_INT(
            patch_sub(&f, thing(), "ns", "t", "scale", API_PATCH_MERGE, "{'spec':{'replicas':5}}"),
            200);
    }
    fixture_done(&f);
}

/* ---- stricter schemas ---- */

#define LOOSE                                                                          \
    CRD(SPEC("'size':{'type':'string'},'n':{'type':'integer'},'list':{'type':'array'," \
             "'items':{'type':'string'}},'other':{'type':'string'}",                   \
             ""))
#define STRICT                                                                                     \
    CRD(SPEC(                                                                                      \
        "'size':{'type':'string','maxLength':3," RULES(                                            \
            "{'rule':'self != `bad`'}") "},'n':{"                                                  \
                                        "'type':'integer','maximum':5," RULES(                     \
                                            "{'rule':'self % 2 == 0'}") "},'list':{"               \
                                                                        "'type':'array','items':{" \
                                                                        "'type':'string','enum':[" \
                                                                        "'a','b']}},'other':{'"    \
                                                                        "type':"                   \
                                                                        "'string'}",               \
        ",'required':['other']"))

static const struct {
    const char *patch, *why;
} ratchets[] = {
    {"{'metadata':{'labels':{'a':'b'}},'spec':{'other':'x'}}", NULL},
    {"{'spec':{'n':9,'other':'x'}}",
     "spec.n: Invalid value: 9: spec.n in body should be less than"},
    {"{'spec':{'n':3,'other':'x'}}", "spec.n: Invalid value: failed rule: self % 2 == 0"},
    {"{'spec':{'n':4,'other':'x'}}", NULL},
    {"{'spec':{'size':'longer','other':'x'}}", "spec.size: Too long"},
    {"{'spec':{'list':['a','old','new'],'other':'x'}}", "spec.list[1]: Unsupported value: \"old\""},
    {"{'spec':{'list':['old'],'other':'x'}}", NULL},
    {"{'spec':{'n':7}}", "spec.other: Required value"}, /* what is missing always counts */
};

TEST(what_was_wrong_before_a_schema_became_strict_may_stay)
{
    struct fixture f;
    fixture_init(&f);
    if (define(&f, LOOSE))
        for (size_t i = 0; i < ARRAY_LEN(ratchets); i++) {
            uint64_t rv;
            CHECK_INT(create(&f, thing(), "ns", THING("'size':'long','n':7,'list':['old']")), 201);
            CHECK_INT(get(&f, &kind_crd, "", "things.example.org"), 200);
            rv = f.obj->rv;
            struct doc *strict = fixture_doc(&f, quoted(&f, STRICT));
            CHECK_INT(send(&f, (struct api_request){.verb = API_PATCH,
                                                    .kind = &kind_crd,
                                                    .name = STR("things.example.org"),
                                                    .patch = API_PATCH_MERGE,
                                                    .body = strict}),
                      200);
            fixture_run(&f, 100 * 1000);
            CHECK(rv != f.obj->rv);
            int code = patch(&f, thing(), "ns", "t", API_PATCH_MERGE, ratchets[i].patch);
            if (!CHECK_INT(code, ratchets[i].why ? 422 : 200) ||
                (ratchets[i].why && !CHECK(str_find(f.message, str_of(ratchets[i].why)) >= 0)))
                test_note("%s: %.*s", ratchets[i].patch, STR_ARG(f.message));
            (void)delete (&f, thing(), "ns", "t");
            CHECK_INT(send(&f, (struct api_request){.verb = API_PATCH,
                                                    .kind = &kind_crd,
                                                    .name = STR("things.example.org"),
                                                    .patch = API_PATCH_MERGE,
                                                    .body = fixture_doc(&f, quoted(&f, LOOSE))}),
                      200);
            fixture_run(&f, 100 * 1000);
        }
    fixture_done(&f);
}

TEST(a_rule_that_never_ends_is_stopped)
{
    struct fixture f;
    struct strbuf b = STRBUF_INIT(1 << 20);
    fixture_init(&f);
    strbuf_add_cstr(&b, "'list':['x'");
    for (int i = 0; i < 2000; i++)
        strbuf_printf(&b, ",'%d'", i);
    strbuf_add_char(&b, ']');
    if (define(&f, CRD(SPEC("'list':{'type':'array','items':{'type':'string'}," RULES(
                                "{'rule':'self.all(a, self.all(b, a + b != `zz`))'}") "}",
                            "")))) {
        CHECK_INT(create(&f, thing(), "ns", text_of(&f, THING("%.*s"), STR_ARG(strbuf_str(&b))).p),
                  422);
        CHECK(str_find(f.message, STR("spec.list: Invalid value: validation failed due to running "
                                      "out of cost budget")) > 0);
    }
    strbuf_done(&b);
    fixture_done(&f);
}

/* ---- kinds of Grove ---- */

#define LONG_DOMAIN "rack-of-a-domain-name-that-is-longer-than-the-sixty-three-bytes-of-today"
#define OLD_SET                                                                                    \
    "{'apiVersion':'grove.io/v1alpha1','kind':'PodCliqueSet','metadata':{'name':'s','namespace':"  \
    "'ns','uid':'00000000-0000-4000-8000-000000000002','generation':1,'finalizers':["              \
    "'example.org/"                                                                                \
    "x']},'spec':{'replicas':1,'template':{'cliqueStartupType':'CliqueStartupTypeAnyOrder','"      \
    "topologyConstraint':{'topologyName':'t',"                                                     \
    "'pack':{'required':'" LONG_DOMAIN "'}},'cliques':[{'name':'w','spec':{'roleName':'w',"        \
    "'replicas':1,'minAvailable':1,'podSpec':{'containers':[{'name':'c','image':'i:1'}]}}}]}},"    \
    "'status':{'updatedReplicas':0,'availableReplicas':0,'conditions':[{'type':'Theirs','status':" \
    "'True','reason':'','message':'','"                                                            \
    "lastTransitionTime':'2026-01-01T00:00:00Z'}]}}"
#define ADD_CONDITION(reason)                                                                     \
    "[{'op':'add','path':'/status/conditions/-','value':{'type':'Ours','status':'True','reason':" \
    "'" reason "','message':'','lastTransitionTime':'2026-01-01T00:00:00Z'}}]"

static void on_stored(struct store_write *w, const struct err *err)
{
    (void)w;
    CHECK(!err);
}

/* Past all admission: as an older version wrote it. */
static void put_old_set(struct fixture *f)
{
    struct edit e;
    edit_init(&e, &f->arena);
    edit_set_str(&e, STR("/metadata/resourceVersion"),
                 text_of(f, "%llu", (unsigned long long)store_next_revision(f->store)));
    struct obj *o = obj_hold(
        &f->arena, obj_new(&kind_pcs, edit_apply(&e, fixture_doc(f, OLD_SET), NULL), NULL));
    edit_done(&e);
    struct store_write *w = arena_new(&f->arena, struct store_write);
    *w = (struct store_write){
        .kind = &kind_pcs, .ns = o->ns, .name = o->name, .obj = o, .done = on_stored};
    REQUIRE(store_apply(f->store, w, NULL) == 0);
    fixture_run(f, USEC_PER_SEC);
}

static int patch_set(struct fixture *f, const char *sub, enum api_patch_type how, const char *json)
{
    return send(f, (struct api_request){.verb = API_PATCH,
                                        .kind = &kind_pcs,
                                        .ns = STR("ns"),
                                        .name = STR("s"),
                                        .subresource = str_of(sub),
                                        .patch = how,
                                        .body = fixture_doc(f, json)});
}

/* Else nobody could scale it, and its finalizers would keep it for ever. */
TEST(limits_that_came_later_do_not_lock_up_objects_of_groves_kinds)
{
    struct fixture f;
    fixture_init(&f);
    put_old_set(&f);
    if (!CHECK_INT(patch_set(&f, "", API_PATCH_MERGE, "{'spec':{'replicas':2}}"), 200) ||
        !CHECK_INT(patch_set(&f, "status", API_PATCH_JSON, ADD_CONDITION("Fine")), 200))
        test_note("%.*s", STR_ARG(f.message));
    CHECK_INT(patch_set(&f, "status", API_PATCH_JSON, ADD_CONDITION("")), 422);
    CHECK_INT(patch_set(&f, "", API_PATCH_MERGE,
                        "{'spec':{'template':{'topologyConstraint':{'pack':{'required':'" //
                        LONG_DOMAIN "s'}}}}}"),
              422);
    CHECK_INT(delete (&f, &kind_pcs, "ns", "s"), 200);
    CHECK_INT(patch_set(&f, "", API_PATCH_MERGE, "{'metadata':{'finalizers':[]}}"), 200);
    CHECK_INT(get(&f, &kind_pcs, "ns", "s"), 404);
    fixture_done(&f);
}
