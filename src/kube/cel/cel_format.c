/* CEL: the formats of names that Kubernetes has, as values: format.dns1123Label().validate(x) is
 * none when x is one, and otherwise says what is wrong. */
#include "base/b64.h"
#include "base/timefmt.h"
#include "kube/cel/cel_impl.h"

static bool is_label_prefix(str s)
{
    str cut = s.len && s.p[s.len - 1] == '-' ? str_sub(s, 0, s.len - 1) : s;
    return str_is_dns1123_label(cut);
}

static bool is_subdomain_prefix(str s)
{
    str cut = s.len && s.p[s.len - 1] == '-' ? str_sub(s, 0, s.len - 1) : s;
    return str_is_dns1123_subdomain(cut);
}

static bool is_uuid(str s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.p[i];
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        bool hex = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
        if (dash ? c != '-' : !hex)
            return false;
    }
    return s.len == 36;
}

static bool is_base64(str s)
{
    struct strbuf b = STRBUF_INIT(SIZE_MAX / 2);
    bool ok = b64_decode(s, B64_STD | B64_NEWLINES, &b);
    strbuf_done(&b);
    return ok;
}

static bool is_date(str s)
{
    char full[32];
    usec t;
    if (s.len != 10)
        return false;
    (void)snprintf(full, sizeof(full), "%.10sT00:00:00Z", s.p);
    return time_parse_rfc3339(str_of(full), &t);
}

static bool is_date_time(str s)
{
    usec t;
    return time_parse_rfc3339(s, &t);
}

static const struct {
    const char *name;
    bool (*is)(str s);
    const char *wrong;
} formats[] = {
    {"dns1123Label", str_is_dns1123_label,
     "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
     "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
     "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"},
    {"dns1123Subdomain", str_is_dns1123_subdomain,
     "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
     "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
     "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"},
    {"dns1035Label", str_is_dns1035_label,
     "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
     "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or "
     "'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')"},
    {"dns1123LabelPrefix", is_label_prefix, "not the beginning of an RFC 1123 label"},
    {"dns1123SubdomainPrefix", is_subdomain_prefix, "not the beginning of an RFC 1123 subdomain"},
    {"qualifiedName", str_is_qualified_name,
     "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
     "with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
     "validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
    {"labelValue", str_is_label_value,
     "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
     "'.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  "
     "or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
    {"uuid", is_uuid, "does not match the UUID format"},
    {"byte", is_base64, "invalid base64"},
    {"date", is_date, "invalid date"},
    {"datetime", is_date_time, "invalid datetime"},
};

static int find(str name)
{
    for (size_t i = 0; i < ARRAY_LEN(formats); i++)
        if (str_is(name, formats[i].name))
            return (int)i;
    return -1;
}

/* Made by format.named("x"), where the name is only known now. */
CEL_FN(cel_f_format_named)
{
    struct cel_value v = {.type = CEL_FORMAT, .s = a->s};
    return find(a->s) < 0 ? cel_none() : cel_some(e, v);
}

CEL_FN(cel_f_format_validate)
{
    int i = find(a[0].s);
    cel_pairs wrong = {0};
    if (i < 0 || formats[i].is(a[1].s))
        return cel_none();
    *vec_push(&wrong) = (struct cel_pair){.value = of_str(str_of(formats[i].wrong))};
    return cel_some(e, cel_of_pairs(e, CEL_LIST, &wrong));
}
