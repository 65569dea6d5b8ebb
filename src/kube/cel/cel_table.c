/*
 * CEL: the functions, by name and types of arguments. Rows of one name stand together; which of
 * them is meant is decided when the types are known, at the latest when it is called.
 */
#include "kube/cel/cel_impl.h"

enum { AS_FUNCTION = 1, AS_METHOD = 2 };

/* Letters of types in the rows below; '*' is any. */
static const char letters[CEL_N_TYPES] = {
    [CEL_BOOL] = 'b',       [CEL_INT] = 'i',         [CEL_UINT] = 'u',
    [CEL_DOUBLE] = 'd',     [CEL_STRING] = 's',      [CEL_BYTES] = 'y',
    [CEL_LIST] = 'l',       [CEL_MAP] = 'm',         [CEL_TYPE] = 'T',
    [CEL_TIMESTAMP] = 't',  [CEL_DURATION] = 'D',    [CEL_OPTIONAL] = 'o',
    [CEL_QUANTITY] = 'q',   [CEL_URL] = 'U',         [CEL_IP] = 'I',
    [CEL_CIDR] = 'C',       [CEL_FORMAT] = 'F',      [CEL_AUTHORIZER] = 'A',
    [CEL_PATH_CHECK] = 'P', [CEL_GROUP_CHECK] = 'G', [CEL_RESOURCE_CHECK] = 'R',
    [CEL_DECISION] = 'E',   [CEL_OBJECT] = 'O',
};

static enum cel_type type_of_letter(char c)
{
    for (size_t i = 0; i < ARRAY_LEN(letters); i++)
        if (letters[i] == c)
            return (enum cel_type)i;
    return CEL_DYN;
}

#define F AS_FUNCTION
#define M AS_METHOD

static const struct function {
    const char *name;
    unsigned form;
    const char *args; /* a letter each, the receiver first; '*' is anything */
    /* 'S': strings; of the first, 'e': its elements, 'v': what is in it, '1': as it is. */
    char type;
    cel_fn *call;
} functions[] = {
    {"size", F | M, "s", 'i', cel_f_size},
    {"size", F | M, "y", 'i', cel_f_size},
    {"size", F | M, "l", 'i', cel_f_size},
    {"size", F | M, "m", 'i', cel_f_size},
    {"type", F, "*", 'T', cel_f_type},
    {"dyn", F, "*", '*', cel_f_dyn},
    {"int", F, "i", 'i', cel_f_int},
    {"int", F, "u", 'i', cel_f_int},
    {"int", F, "d", 'i', cel_f_int},
    {"int", F, "s", 'i', cel_f_int},
    {"int", F, "t", 'i', cel_f_int},
    {"uint", F, "u", 'u', cel_f_uint},
    {"uint", F, "i", 'u', cel_f_uint},
    {"uint", F, "d", 'u', cel_f_uint},
    {"uint", F, "s", 'u', cel_f_uint},
    {"double", F, "d", 'd', cel_f_double},
    {"double", F, "i", 'd', cel_f_double},
    {"double", F, "u", 'd', cel_f_double},
    {"double", F, "s", 'd', cel_f_double},
    {"bool", F, "b", 'b', cel_f_bool},
    {"bool", F, "s", 'b', cel_f_bool},
    {"bytes", F, "y", 'y', cel_f_bytes},
    {"bytes", F, "s", 'y', cel_f_bytes},
    {"string", F, "s", 's', cel_f_string},
    {"string", F, "b", 's', cel_f_string},
    {"string", F, "i", 's', cel_f_string},
    {"string", F, "u", 's', cel_f_string},
    {"string", F, "d", 's', cel_f_string},
    {"string", F, "y", 's', cel_f_string},
    {"string", F, "t", 's', cel_f_string},
    {"string", F, "D", 's', cel_f_string},
    {"string", F, "I", 's', cel_f_string},
    {"string", F, "C", 's', cel_f_string},
    /* strings */
    {"startsWith", M, "ss", 'b', cel_f_starts},
    {"endsWith", M, "ss", 'b', cel_f_ends},
    {"contains", M, "ss", 'b', cel_f_contains},
    {"matches", F | M, "ss", 'b', cel_f_matches},
    {"find", M, "ss", 's', cel_f_find},
    {"findAll", M, "ss", 'S', cel_f_find_all},
    {"findAll", M, "ssi", 'S', cel_f_find_all},
    {"charAt", M, "si", 's', cel_f_char_at},
    {"indexOf", M, "ss", 'i', cel_f_index_of},
    {"indexOf", M, "ssi", 'i', cel_f_index_of},
    {"indexOf", M, "l*", 'i', cel_f_list_index},
    {"lastIndexOf", M, "ss", 'i', cel_f_last_index_of},
    {"lastIndexOf", M, "ssi", 'i', cel_f_last_index_of},
    {"lastIndexOf", M, "l*", 'i', cel_f_list_last},
    {"lowerAscii", M, "s", 's', cel_f_lower},
    {"upperAscii", M, "s", 's', cel_f_upper},
    {"trim", M, "s", 's', cel_f_trim},
    {"split", M, "ss", 'S', cel_f_split},
    {"split", M, "ssi", 'S', cel_f_split},
    {"join", M, "l", 's', cel_f_join},
    {"join", M, "ls", 's', cel_f_join},
    {"replace", M, "sss", 's', cel_f_replace},
    {"replace", M, "sssi", 's', cel_f_replace},
    {"substring", M, "si", 's', cel_f_substring},
    {"substring", M, "sii", 's', cel_f_substring},
    {"format", M, "sl", 's', cel_f_format},
    {"strings.quote", F, "s", 's', cel_f_quote},
    {"jsonpatch.escapeKey", F, "s", 's', cel_f_escape_key},
    /* lists and sets */
    {"min", M, "l", 'e', cel_f_min},
    {"max", M, "l", 'e', cel_f_max},
    {"sum", M, "l", 'e', cel_f_sum},
    {"isSorted", M, "l", 'b', cel_f_is_sorted},
    {"sets.contains", F, "ll", 'b', cel_f_sets_contains},
    {"sets.equivalent", F, "ll", 'b', cel_f_sets_equivalent},
    {"sets.intersects", F, "ll", 'b', cel_f_sets_intersects},
    /* optional values */
    {"optional.of", F, "*", 'o', cel_f_opt_of},
    {"optional.none", F, "", 'o', cel_f_opt_none},
    {"optional.ofNonZeroValue", F, "*", 'o', cel_f_opt_non_zero},
    {"hasValue", M, "o", 'b', cel_f_opt_has},
    {"value", M, "o", 'v', cel_f_opt_value},
    {"or", M, "oo", '1', cel_f_opt_or},
    {"orValue", M, "o*", 'v', cel_f_opt_or_value},
    /* time */
    {"timestamp", F, "t", 't', cel_f_timestamp},
    {"timestamp", F, "s", 't', cel_f_timestamp},
    {"timestamp", F, "i", 't', cel_f_timestamp},
    {"duration", F, "D", 'D', cel_f_duration},
    {"duration", F, "s", 'D', cel_f_duration},
    {"getFullYear", M, "t", 'i', cel_f_year},
    {"getMonth", M, "t", 'i', cel_f_month},
    {"getDayOfMonth", M, "t", 'i', cel_f_day},
    {"getDate", M, "t", 'i', cel_f_date},
    {"getDayOfWeek", M, "t", 'i', cel_f_week_day},
    {"getDayOfYear", M, "t", 'i', cel_f_year_day},
    {"getHours", M, "t", 'i', cel_f_hours},
    {"getHours", M, "D", 'i', cel_f_span_hours},
    {"getMinutes", M, "t", 'i', cel_f_minutes},
    {"getMinutes", M, "D", 'i', cel_f_span_minutes},
    {"getSeconds", M, "t", 'i', cel_f_seconds},
    {"getSeconds", M, "D", 'i', cel_f_span_seconds},
    {"getMilliseconds", M, "t", 'i', cel_f_millis},
    {"getMilliseconds", M, "D", 'i', cel_f_span_millis},
    /* quantities */
    {"quantity", F, "s", 'q', cel_f_quantity},
    {"isQuantity", F, "s", 'b', cel_f_is_quantity},
    {"sign", M, "q", 'i', cel_f_quantity_sign},
    {"isInteger", M, "q", 'b', cel_f_quantity_is_integer},
    {"asInteger", M, "q", 'i', cel_f_quantity_integer},
    {"asApproximateFloat", M, "q", 'd', cel_f_quantity_float},
    {"add", M, "qq", 'q', cel_f_quantity_add},
    {"add", M, "qi", 'q', cel_f_quantity_add},
    {"sub", M, "qq", 'q', cel_f_quantity_sub},
    {"sub", M, "qi", 'q', cel_f_quantity_sub},
    {"isGreaterThan", M, "qq", 'b', cel_f_quantity_greater},
    {"isLessThan", M, "qq", 'b', cel_f_quantity_less},
    {"compareTo", M, "qq", 'i', cel_f_quantity_compare},
    /* URLs, addresses */
    {"url", F, "s", 'U', cel_f_url},
    {"isURL", F, "s", 'b', cel_f_is_url},
    {"getScheme", M, "U", 's', cel_f_url_scheme},
    {"getHost", M, "U", 's', cel_f_url_host},
    {"getHostname", M, "U", 's', cel_f_url_hostname},
    {"getPort", M, "U", 's', cel_f_url_port},
    {"getEscapedPath", M, "U", 's', cel_f_url_path},
    {"getQuery", M, "U", 'm', cel_f_url_query},
    {"ip", F, "s", 'I', cel_f_ip},
    {"ip", M, "C", 'I', cel_f_cidr_ip},
    {"isIP", F, "s", 'b', cel_f_is_ip},
    {"ip.isCanonical", F, "s", 'b', cel_f_ip_is_canonical},
    {"family", M, "I", 'i', cel_f_ip_family},
    {"isUnspecified", M, "I", 'b', cel_f_ip_unspecified},
    {"isLoopback", M, "I", 'b', cel_f_ip_loopback},
    {"isLinkLocalMulticast", M, "I", 'b', cel_f_ip_local_multicast},
    {"isLinkLocalUnicast", M, "I", 'b', cel_f_ip_local_unicast},
    {"isGlobalUnicast", M, "I", 'b', cel_f_ip_global},
    {"cidr", F, "s", 'C', cel_f_cidr},
    {"isCIDR", F, "s", 'b', cel_f_is_cidr},
    {"containsIP", M, "CI", 'b', cel_f_cidr_has_ip},
    {"containsIP", M, "Cs", 'b', cel_f_cidr_has_ip},
    {"containsCIDR", M, "CC", 'b', cel_f_cidr_has_cidr},
    {"containsCIDR", M, "Cs", 'b', cel_f_cidr_has_cidr},
    {"masked", M, "C", 'C', cel_f_cidr_masked},
    {"prefixLength", M, "C", 'i', cel_f_cidr_prefix},
    /* formats */
    {"format.named", F, "s", 'o', cel_f_format_named},
    {"format.dns1123Label", F, "", 'F', NULL},
    {"format.dns1123Subdomain", F, "", 'F', NULL},
    {"format.dns1035Label", F, "", 'F', NULL},
    {"format.dns1123LabelPrefix", F, "", 'F', NULL},
    {"format.dns1123SubdomainPrefix", F, "", 'F', NULL},
    {"format.qualifiedName", F, "", 'F', NULL},
    {"format.labelValue", F, "", 'F', NULL},
    {"format.uuid", F, "", 'F', NULL},
    {"format.byte", F, "", 'F', NULL},
    {"format.date", F, "", 'F', NULL},
    {"format.datetime", F, "", 'F', NULL},
    {"validate", M, "Fs", 'o', cel_f_format_validate},
    /* the authorizer */
    {"path", M, "As", 'P', cel_f_authz_path},
    {"group", M, "As", 'G', cel_f_authz_group},
    {"serviceAccount", M, "Ass", 'A', cel_f_authz_account},
    {"resource", M, "Gs", 'R', cel_f_authz_resource},
    {"subresource", M, "Rs", 'R', cel_f_authz_sub},
    {"namespace", M, "Rs", 'R', cel_f_authz_namespace},
    {"name", M, "Rs", 'R', cel_f_authz_name},
    {"check", M, "Ps", 'E', cel_f_authz_check},
    {"check", M, "Rs", 'E', cel_f_authz_check},
    {"allowed", M, "E", 'b', cel_f_authz_allowed},
    {"reason", M, "E", 's', cel_f_authz_reason},
    {"errored", M, "E", 'b', cel_f_authz_errored},
    {"error", M, "E", 's', cel_f_authz_error},
};

int cel_function_find(str name, bool is_method)
{
    for (size_t i = 0; i < ARRAY_LEN(functions); i++)
        if (str_is(name, functions[i].name) && functions[i].form & (is_method ? M : F))
            return (int)i;
    return -1;
}

static bool same_name(size_t i, int function)
{
    return i < ARRAY_LEN(functions) && strcmp(functions[i].name, functions[function].name) == 0;
}

static bool args_fit(const struct function *f, bool is_method, const struct cel_shape *args,
                     size_t n)
{
    if (!(f->form & (is_method ? M : F)) || strlen(f->args) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (f->args[i] != '*' && !cel_may_be(&args[i], type_of_letter(f->args[i])))
            return false;
    /* An object is no map that could be measured. */
    return !(n == 1 && f->args[0] == 'm' && cel_shape_is_object(&args[0]));
}

static struct cel_shape result_shape(const struct function *f, const struct cel_shape *args)
{
    static const struct cel_shape string = {.type = CEL_STRING};
    switch (f->type) {
    case 'S':
        return (struct cel_shape){.type = CEL_LIST, .of = &string};
    case 'e':
        return cel_shape_of_element(&args[0]);
    case 'v':
        return args[0].of ? *args[0].of : (struct cel_shape){.type = CEL_DYN};
    case '1':
        return args[0];
    default:
        return (struct cel_shape){.type = type_of_letter(f->type)};
    }
}

bool cel_function_check(int function, bool is_method, const struct cel_shape *args, size_t n,
                        struct cel_shape *ret)
{
    bool any = false;
    for (size_t i = (size_t)function; same_name(i, function); i++) {
        if (!args_fit(&functions[i], is_method, args, n))
            continue;
        struct cel_shape shape = result_shape(&functions[i], args);
        *ret = any ? cel_shape_join(ret, &shape) : shape;
        any = true;
    }
    return any;
}

static bool values_fit(const struct function *f, bool is_method, const struct cel_value *args,
                       size_t n)
{
    if (!(f->form & (is_method ? M : F)) || strlen(f->args) != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if (f->args[i] != '*' && f->args[i] != letters[args[i].type])
            return false;
    return true;
}

struct cel_value cel_function_call(int function, bool is_method, struct cel_run *e,
                                   const struct cel_value *args, size_t n)
{
    for (size_t i = (size_t)function; same_name(i, function); i++) {
        const struct function *f = &functions[i];
        if (!values_fit(f, is_method, args, n))
            continue;
        /* Those without a function are constants: formats, by their names. */
        return f->call ? f->call(e, args, n)
                       : (struct cel_value){.type = CEL_FORMAT,
                                            .s = str_of(f->name + sizeof("format.") - 1)};
    }
    return cel_no_overload(e);
}
