/*
 * ConversionReview: the question as kube-apiserver puts it, and what an answer means. Whatever a
 * webhook sends, the result is all the objects that were asked about, in the version asked for and
 * with the metadata they had (labels and annotations apart), or a reason, in kube-apiserver's
 * words.
 */
#include "apiserver/crd/conversion.h"
#include "apiserver/request.h"
#include "json/write.h"

#define GROUP "apiextensions.k8s.io"
/* Objects stand three levels below the root of a review. */
static const struct json_limits answer_limits = {.max_depth = 260};

/* ---- the question ---- */

str conversion_review_version(jval conversion)
{
    static const char *const known[] = {"v1", "v1beta1"};
    jval versions = jpath(conversion, "webhook.conversionReviewVersions");
    for (struct jiter it = jiter(versions); jnext(&it);)
        for (size_t i = 0; i < ARRAY_LEN(known); i++)
            if (str_is(jstr(it.value), known[i]))
                return str_of(known[i]);
    return STR_NONE;
}

str conversion_review(struct arena *a, const struct conversion_question *q)
{
    char buf[256];
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "kind", "ConversionReview");
    jw_key(&w, STR("apiVersion"));
    jw_printf(&w, GROUP "/%.*s", STR_ARG(q->version));
    jw_put_object(&w, "request");
    jw_put_str(&w, "uid", q->uid);
    jw_put_str(&w, "desiredAPIVersion", kind_api_version(q->to, buf, sizeof(buf)));
    jw_put_array(&w, "objects");
    for (size_t i = 0; i < q->n; i++)
        jw_val(&w, doc_root(q->docs[i]));
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    str text = arena_str(a, strbuf_str(&w.out));
    jw_done(&w);
    return text;
}

/* ---- metadata ---- */

/* As Go calls the type of a decoded value. */
static const char *go_type(jval v)
{
    static const char *const types[] = {
        [J_ABSENT] = "<nil>",
        [J_NULL] = "<nil>",
        [J_FALSE] = "bool",
        [J_TRUE] = "bool",
        [J_INT] = "int64",
        [J_REAL] = "float64",
        [J_STRING] = "string",
        [J_ARRAY] = "[]interface {}",
        [J_OBJECT] = "map[string]interface {}",
    };
    return types[jtype(v)];
}

/* What is wrong with the labels or annotations of an answer; empty: nothing. */
static str strings_fault(struct arena *a, const char *member, jval had, jval has)
{
    bool labels = strcmp(member, "labels") == 0;
    if (!j_has(has) || jtype(has) == J_NULL)
        return STR_NONE;
    if (jtype(has) != J_OBJECT)
        return arena_printf(a, "invalid metadata.%s of type %s in converted object", member,
                            go_type(has));
    for (struct jiter it = jiter(has); jnext(&it);)
        if (jtype(it.value) != J_STRING)
            return arena_printf(a,
                                "metadata.%s[%.*s] must be a string, but is %s in converted object",
                                member, STR_ARG(str_sub(it.key, 0, 128)), go_type(it.value));
    return jequal(had, has) ? STR_NONE : meta_strings_fault(a, has, labels);
}

/* Metadata is what it was, but for labels and annotations. */
static void put_meta(struct jw *w, jval had, jval has)
{
    static const char *const free_members[] = {"labels", "annotations"};
    jw_put_object(w, "metadata");
    for (struct jiter it = jiter(had); jnext(&it);) {
        if (str_is(it.key, "labels") || str_is(it.key, "annotations"))
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
    for (size_t i = 0; i < ARRAY_LEN(free_members); i++) {
        jval v = jget(has, str_of(free_members[i]));
        if (jtype(v) == J_OBJECT)
            jw_put(w, free_members[i], v);
    }
    jw_end(w);
}

static struct doc *restore(jval in, jval out, struct err *err)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put(&w, "apiVersion", jgetc(out, "apiVersion"));
    jw_put(&w, "kind", jgetc(out, "kind"));
    put_meta(&w, jgetc(in, "metadata"), jgetc(out, "metadata"));
    for (struct jiter it = jiter(out); jnext(&it);) {
        if (str_is(it.key, "apiVersion") || str_is(it.key, "kind") || str_is(it.key, "metadata"))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    jw_end(&w);
    /* It is the webhook's text: nested too deep it is no document of ours. */
    struct doc *d = doc_parse(strbuf_str(&w.out), NULL, err);
    jw_done(&w);
    return d;
}

/* ---- one object ---- */

static str identity_fault(struct arena *a, jval in, jval out)
{
    static const struct {
        const char *path, *what;
    } same[] = {{"kind", "kind"},
                {"metadata.name", "name"},
                {"metadata.namespace", "namespace"},
                {"metadata.uid", "UID"}};
    for (size_t i = 0; i < ARRAY_LEN(same); i++) {
        str had = jstr(jpath(in, same[i].path)), has = jstr(jpath(out, same[i].path));
        if (!str_eq(had, has))
            return arena_printf(a, "must have the same %s: %.*s != %.*s", same[i].what,
                                STR_ARG(had), STR_ARG(str_sub(has, 0, 256)));
    }
    return STR_NONE;
}

static str meta_fault(struct arena *a, jval in, jval out)
{
    jval had = jgetc(in, "metadata"), has = jgetc(out, "metadata");
    if (j_is_absent(has))
        return STR("missing metadata in converted object");
    if (jtype(has) != J_OBJECT)
        return arena_printf(a, "invalid metadata of type %s in converted object", go_type(has));
    str why = strings_fault(a, "labels", jgetc(had, "labels"), jgetc(has, "labels"));
    return why.len ? why
                   : strings_fault(a, "annotations", jgetc(had, "annotations"),
                                   jgetc(has, "annotations"));
}

static struct doc *judge_object(struct arena *a, const struct conversion_question *q, size_t i,
                                jval out, str *ret_why)
{
    char buf[256];
    struct err err = ERR_INIT;
    jval in = doc_root(q->docs[i]);
    str want = kind_api_version(q->to, buf, sizeof(buf)), got = jstr(jgetc(out, "apiVersion"));
    str at = q->n > 1 ? arena_printf(a, "converted object at index %zu", i) : STR("object");
    str why;
    struct doc *d = NULL;
    if (jtype(out) != J_OBJECT)
        why = arena_printf(a, "invalid type, expected an object, got %s", go_type(out));
    else if (!str_eq(want, got))
        why = arena_printf(a, "invalid groupVersion (expected %.*s, received %.*s)", STR_ARG(want),
                           STR_ARG(str_sub(got, 0, 256)));
    else if ((why = identity_fault(a, in, out)).len == 0 && (why = meta_fault(a, in, out)).len)
        at = q->n > 1 ? arena_printf(a, "metadata in object at index %zu", i) : STR("metadata");
    if (!why.len && !(d = restore(in, out, &err)))
        why = arena_printf(a, "%s", err.message);
    if (why.len)
        *ret_why = arena_printf(a, "returned invalid %.*s: %.*s", STR_ARG(at), STR_ARG(why));
    return d;
}

/* ---- the answer ---- */

/* The reason why there is no usable list of objects; empty: there is. */
static str review_fault(struct arena *a, const struct conversion_question *q, jval root)
{
    jval response = jgetc(root, "response"), result = jgetc(response, "result");
    str api = jstr(jgetc(root, "apiVersion")), kind = jstr(jgetc(root, "kind"));
    str uid = jstr(jgetc(response, "uid")), message = jstr(jgetc(result, "message"));
    bool beta = str_is(q->version, "v1beta1");
    if (jtype(root) != J_OBJECT)
        return STR("couldn't get version/kind; json parse error: the answer is no object");
    if (!beta && (!str_is(api, GROUP "/v1") || !str_is(kind, "ConversionReview")))
        return arena_printf(a,
                            "expected webhook response of " GROUP "/v1, Kind=ConversionReview, got "
                            "%.*s, Kind=%.*s",
                            STR_ARG(str_sub(api.len ? api : STR("/"), 0, 128)),
                            STR_ARG(str_sub(kind, 0, 128)));
    if (jtype(response) != J_OBJECT)
        return STR("no response provided");
    if (!beta && !str_eq(uid, q->uid))
        return arena_printf(a, "expected response.uid=\"%.*s\", got \"%.*s\"", STR_ARG(q->uid),
                            STR_ARG(str_sub(uid, 0, 128)));
    if (str_is(jstr(jgetc(result, "status")), "Success"))
        return STR_NONE;
    return message.len ? arena_str(a, str_sub(message, 0, 2048))
                       : arena_printf(a, "response.result.status was '%.*s', not 'Success'",
                                      STR_ARG(str_sub(jstr(jgetc(result, "status")), 0, 128)));
}

static bool judge_objects(struct arena *a, const struct conversion_question *q, jval list,
                          struct doc **ret, str *ret_why)
{
    if (jlen(list) != q->n) {
        *ret_why = arena_printf(a, "returned %zu objects, expected %zu", jlen(list), q->n);
        return false;
    }
    for (struct jiter it = jiter(list); jnext(&it);) {
        ret[it.index] = judge_object(a, q, it.index, it.value, ret_why);
        if (ret[it.index])
            continue;
        while (it.index-- > 0)
            doc_unref(ret[it.index]);
        return false;
    }
    return true;
}

bool conversion_judge(struct arena *a, const struct conversion_question *q,
                      const struct hook_answer *answer, struct doc **ret, str *ret_why)
{
    struct err err = ERR_INIT;
    str why = hook_code_fault(a, answer);
    struct doc *d = why.len ? NULL : doc_parse(answer->body, &answer_limits, &err);
    if (!why.len && !d)
        why = arena_printf(a, "couldn't get version/kind; json parse error: %s", err.message);
    if (!why.len)
        why = review_fault(a, q, doc_root(d));
    bool ok = false;
    if (why.len)
        *ret_why = arena_printf(a, "failed: %.*s", STR_ARG(why));
    else
        ok = judge_objects(a, q, jpath(doc_root(d), "response.convertedObjects"), ret, ret_why);
    doc_unref(d);
    return ok;
}
