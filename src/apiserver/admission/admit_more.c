/*
 * Rules of the smaller kinds that no table can say: disruption budgets, autoscalers, leases, the
 * keys of config maps and secrets. In kube-apiserver's words.
 */
#include "apiserver/admission/admit_impl.h"

static void invalid(const struct admit *a, str path, jval v, const char *why)
{
    field_error_add(a->errors, FIELD_ERR_INVALID, path, j_has(v) ? jtext(v) : STR("null"), "%s",
                    why);
}

static void require(const struct admit *a, const char *path)
{
    field_error_add(a->errors, FIELD_ERR_REQUIRED, str_of(path), STR_NONE, NULL);
}

/* ---- config maps and secrets ---- */

static bool is_key(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool word = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        if (!word && c != '-' && c != '_' && c != '.')
            return false;
    }
    return s.len > 0 && s.len <= 253;
}

void data_keys_validate(const struct admit *a, jval root, const char *member)
{
    jval data = jget(root, str_of(member));
    if (jtype(data) != J_OBJECT)
        return; /* its type is refused already; its elements have no keys to look at */
    jval other = str_is(str_of(member), "data") ? jgetc(root, "binaryData") : JVAL_ABSENT;
    CLEANUP(jlookup_done) struct jlookup in_other = jlookup(other);
    for (struct jiter it = jiter(data); jnext(&it) && !field_errors_full(a->errors);) {
        bool twice = j_has(jlookup_get(&in_other, it.key));
        if (LIKELY(is_key(it.key) && !twice))
            continue;
        str path = admit_path(a, "%s[%.*s]", member, STR_ARG(it.key));
        struct strbuf quoted = STRBUF_INIT(1 << 16);
        json_quote(&quoted, it.key);
        field_error_add(a->errors, FIELD_ERR_INVALID, path, strbuf_str(&quoted), "%s",
                        twice ? "duplicate of key present in binaryData"
                              : "a valid config key must consist of alphanumeric characters, '-', "
                                "'_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
                                "regex used for validation is '[-._a-zA-Z0-9]+')");
        strbuf_done(&quoted);
    }
}

/* What a secret of a known type must have. */
void secret_type_validate(const struct admit *a, jval root)
{
    static const struct {
        const char *type, *key;
    } keys[] = {
        {"kubernetes.io/tls", "tls.crt"},
        {"kubernetes.io/tls", "tls.key"},
        {"kubernetes.io/dockercfg", ".dockercfg"},
        {"kubernetes.io/dockerconfigjson", ".dockerconfigjson"},
        {"kubernetes.io/ssh-auth", "ssh-privatekey"},
    };
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        if (str_is(jstr(jgetc(root, "type")), keys[i].type) &&
            !j_has(jget(jgetc(root, "data"), str_of(keys[i].key))))
            require(a, admit_path(a, "data[%s]", keys[i].key).p);
}

/* ---- disruption budgets ---- */

static void check_amount(const struct admit *a, jval v, const char *path)
{
    int64_t n;
    str s = jstr(v);
    bool percent = s.len > 1 && s.p[s.len - 1] == '%';
    for (size_t i = 0; i + 1 < s.len; i++)
        percent &= s.p[i] >= '0' && s.p[i] <= '9';
    if (jint_get(v, &n) && n < 0)
        invalid(a, str_of(path), v, "must be greater than or equal to 0");
    else if (jtype(v) == J_STRING && !percent)
        invalid(a, str_of(path), v,
                "a valid percent string must be a numeric string followed by an ending '%' (e.g. "
                "'1%',  or '93%', regex used for validation is '[0-9]+%')");
}

void pdb_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    jval least = jgetc(spec, "minAvailable"), most = jgetc(spec, "maxUnavailable");
    if (j_has(least) && j_has(most))
        invalid(a, STR("spec"), spec, "minAvailable and maxUnavailable cannot be both set");
    if (j_has(least))
        check_amount(a, least, "spec.minAvailable");
    if (j_has(most))
        check_amount(a, most, "spec.maxUnavailable");
}

/* ---- autoscalers ---- */

void hpa_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec"), target = jgetc(spec, "scaleTargetRef");
    int64_t most = jint(jgetc(spec, "maxReplicas"), 0), least = jint(jgetc(spec, "minReplicas"), 1);
    if (least < 0)
        invalid(a, STR("spec.minReplicas"), jgetc(spec, "minReplicas"),
                "must be greater than or equal to 1");
    if (most < 1)
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.maxReplicas"),
                        admit_path(a, "%lld", (long long)most), "must be greater than 0");
    if (most < least)
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec.maxReplicas"),
                        admit_path(a, "%lld", (long long)most),
                        "must be greater than or equal to `minReplicas`");
    if (!jstr(jgetc(target, "kind")).len)
        require(a, "spec.scaleTargetRef.kind");
    if (!jstr(jgetc(target, "name")).len)
        require(a, "spec.scaleTargetRef.name");
}

/* ---- leases ---- */

void lease_validate(const struct admit *a, jval root)
{
    jval spec = jgetc(root, "spec");
    jval duration = jgetc(spec, "leaseDurationSeconds"), moves = jgetc(spec, "leaseTransitions");
    if (j_has(duration) && jint(duration, 1) <= 0)
        invalid(a, STR("spec.leaseDurationSeconds"), duration, "must be greater than 0");
    if (j_has(moves) && jint(moves, 0) < 0)
        invalid(a, STR("spec.leaseTransitions"), moves, "must be greater than or equal to 0");
}
