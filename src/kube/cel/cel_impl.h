/*
 * What the files of CEL share: values, the tree, and the state of an evaluation. Private to them.
 *
 *   cel_lex.c      text to tokens
 *   cel_parse.c    tokens to the tree
 *   cel_type.c     what is known of types before anything is evaluated
 *   cel_eval.c     the value of a tree
 *   cel_value.c    making, comparing and adding values
 *   cel_object.c   objects that expressions make, and values as JSON
 *   cel_table.c    the functions, by name and types of arguments
 *   cel_string.c, cel_list.c, cel_convert.c, cel_time.c, cel_quantity.c, cel_net.c, cel_format.c,
 *   cel_authz.c    the functions themselves
 */
#ifndef KUBE_CEL_CEL_IMPL_H
#define KUBE_CEL_CEL_IMPL_H

#include "base/quantity.h"
#include "base/vec.h"
#include "kube/cel/cel.h"

enum cel_type {
    CEL_DYN, /* not known before it is evaluated */
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_BYTES,
    CEL_LIST,
    CEL_MAP, /* and objects */
    CEL_TYPE,
    CEL_DURATION,
    CEL_TIMESTAMP,
    CEL_OPTIONAL,
    CEL_QUANTITY,
    CEL_URL,
    CEL_IP,
    CEL_CIDR,
    CEL_FORMAT,
    CEL_AUTHORIZER,
    CEL_PATH_CHECK,
    CEL_GROUP_CHECK,
    CEL_RESOURCE_CHECK,
    CEL_DECISION,
    CEL_OBJECT, /* made by the expression */
    CEL_ERROR,
    CEL_N_TYPES,
};

/* ---- values ---- */

struct cel_pair;

struct cel_url {
    str scheme, host, hostname, port, path, query;
};

struct cel_net {
    uint8_t bytes[16];
    unsigned size;   /* 4 or 16 */
    unsigned prefix; /* of a CIDR */
};

struct cel_decision {
    bool allowed;
    str reason;
};

/* Lists and maps are those of a document (json is set) or made by the expression. */
struct cel_value {
    enum cel_type type;
    union {
        bool b;
        int64_t i; /* duration: nanoseconds; timestamp: microseconds; type: its number */
        uint64_t u;
        double d;
        str s; /* of an error: what is wrong; of a format: its name */
        struct {
            jval json;
            jval schema;            /* of json; absent: none */
            struct cel_pair *items; /* lists use the values only */
            size_t n;
        };
        const struct cel_value *inner; /* of an optional; NULL: none */
        const struct quantity *quantity;
        const struct cel_url *url;
        const struct cel_net *net;
        const struct cel_access *access;
        const struct cel_decision *decision;
        const struct cel_object *object;
    };
};

struct cel_object {
    str type;                /* "Object.spec" */
    struct cel_value fields; /* a map */
};

struct cel_pair {
    struct cel_value key, value;
};

/* ---- the tree ---- */

/* What is known of the values of a node. */
struct cel_shape {
    enum cel_type type;
    bool is_whole;              /* an object with metadata */
    jval schema;                /* of a list, map or object; absent: nothing more is known */
    const struct cel_shape *of; /* of elements, or what is in an optional; NULL: not known */
    str object;                 /* the type of an object that is made */
};

enum cel_op {
    CEL_LITERAL,
    CEL_VARIABLE,    /* slot */
    CEL_LAZY,        /* slot */
    CEL_SELECT,      /* name */
    CEL_OPT_SELECT,  /* .?name */
    CEL_HAS,         /* of a field of kids[0]: name */
    CEL_INDEX,       /* kids[0] at kids[1] */
    CEL_OPT_INDEX,   /* [?at] */
    CEL_MAKE_LIST,   /* kids */
    CEL_MAKE_MAP,    /* kids: key, value, key, ... */
    CEL_MAKE_OBJECT, /* the same; name: its type */
    CEL_MAYBE,       /* a kid of the above, there when the optional kids[0] is */
    CEL_NOT,
    CEL_NEGATE,
    CEL_BINARY, /* what: an operator */
    CEL_AND,
    CEL_OR,
    CEL_CHOOSE,
    CEL_CALL,  /* what: number of the first function of that name */
    CEL_MACRO, /* what: one of cel_macro; over kids[0], slot holds the element */
};

enum cel_operator {
    CEL_ADD,
    CEL_SUB,
    CEL_MUL,
    CEL_DIV,
    CEL_MOD,
    CEL_EQ,
    CEL_NE,
    CEL_LT,
    CEL_LE,
    CEL_GT,
    CEL_GE,
    CEL_IN,
};

enum cel_macro {
    CEL_ALL,
    CEL_EXISTS,
    CEL_EXISTS_ONE,
    CEL_MAP_TO,
    CEL_FILTER,
    CEL_OPT_MAP,
    CEL_OPT_FLAT_MAP
};

struct cel_node {
    enum cel_op op;
    unsigned what;
    unsigned slot;
    bool is_method;
    struct cel_shape shape;
    struct cel_value literal;
    str name;
    struct cel_node **kids;
    size_t n_kids;
};

enum { CEL_MAX_SLOTS = CEL_MAX_VARS + CEL_MAX_DEPTH, CEL_MAX_ARGS = 4 };

struct cel {
    struct cel_node *root;
    size_t n_vars;
    struct cel_decl vars[CEL_MAX_VARS];
    const struct cel_lazy *lazy;
    size_t n_lazy;
    bool has_authorizer, has_patches;
    size_t n_locals; /* at most at a time */
    uint32_t used;   /* variables, by bit */
};

/* ---- cel_lex.c ---- */

enum cel_token {
    CEL_T_END,
    CEL_T_NAME,
    CEL_T_INT,
    CEL_T_UINT,
    CEL_T_DOUBLE,
    CEL_T_STRING,
    CEL_T_BYTES,
    CEL_T_SIGN, /* operators and brackets: text */
    CEL_T_BAD,
};

struct cel_lexer {
    struct arena *arena;
    str text;
    size_t at;            /* after the token */
    size_t token_at;      /* where it begins */
    enum cel_token token; /* the one to be looked at */
    str word;             /* its text; of a string, what it says */
};

void cel_lex_next(struct cel_lexer *l);

/* ---- cel_type.c ---- */

/* "string", "list(int)", "object" */
str cel_shape_name(struct arena *a, const struct cel_shape *s);
struct cel_shape cel_shape_of_schema(jval schema, bool is_whole);
/* Of the elements of a list, or the values of a map. */
struct cel_shape cel_shape_of_element(const struct cel_shape *s);
/* An object of known fields, not a map. */
bool cel_shape_is_object(const struct cel_shape *s);
/* The field of an object, its name unescaped; false: there is none. */
bool cel_shape_field(const struct cel_shape *s, str escaped, str *ret_name, struct cel_shape *ret);
bool cel_may_be(const struct cel_shape *s, enum cel_type t);
/* The type of a op b, CEL_ERROR when there is no such thing. */
enum cel_type cel_binary_type(enum cel_operator op, enum cel_type a, enum cel_type b);
/* The schema of a member or an element of a value with a schema. */
jval cel_schema_below(jval schema, str key);
jval cel_schema_items(jval schema);
/* Both are alike, or nothing is known. */
struct cel_shape cel_shape_join(const struct cel_shape *a, const struct cel_shape *b);

/* ---- cel_value.c ---- */

#define CEL_MAX_STRING ((size_t)1 << 20)
#define CEL_MAX_LIST 100000
/* What takes memory costs more than what is only looked at, and so does a regular expression. */
#define CEL_ITEM_COST 8
#define CEL_REGEX_COST 64

struct cel_run {
    struct arena *arena;
    struct cel_input in;
    const struct cel *cel; /* being evaluated */
    struct cel_value vars[CEL_MAX_VARS];
    struct cel_value *lazy; /* by number, where they are known */
    bool lazy_known[CEL_MAX_LAZY];
    struct cel_value *locals; /* of the expression being evaluated */
    bool exhausted;
};

static inline struct cel_value of_bool(bool b)
{
    return (struct cel_value){.type = CEL_BOOL, .b = b};
}

static inline struct cel_value of_int(int64_t i)
{
    return (struct cel_value){.type = CEL_INT, .i = i};
}

static inline struct cel_value of_double(double d)
{
    return (struct cel_value){.type = CEL_DOUBLE, .d = d};
}

static inline struct cel_value of_str(str s)
{
    return (struct cel_value){.type = CEL_STRING, .s = s};
}

typedef VEC(struct cel_pair) cel_pairs;

/* for (struct cel_seq s = cel_seq_of(e, v); cel_seq_next(&s);) s.key (of a map), s.value */
struct cel_seq {
    struct cel_run *run;
    const struct cel_value *of;
    struct jiter it;
    size_t at;
    struct cel_value key, value;
};

struct cel_value cel_of_json(struct cel_run *e, jval v, jval schema);
struct cel_value cel_some(struct cel_run *e, struct cel_value v);
struct cel_value cel_none(void);
struct cel_value cel_failure(struct cel_run *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct cel_value cel_no_overload(struct cel_run *e);
/* So many units of work; false: there are none left. */
bool cel_spend(struct cel_run *e, uint64_t units);
struct cel_value cel_too_much(struct cel_run *e);
/* Takes the vector over. */
struct cel_value cel_of_pairs(struct cel_run *e, enum cel_type type, cel_pairs *p);
size_t cel_length(const struct cel_value *v);
struct cel_seq cel_seq_of(struct cel_run *e, const struct cel_value *v);
bool cel_seq_next(struct cel_seq *s);
bool cel_is_number(const struct cel_value *v);
double cel_as_double(const struct cel_value *v);
bool cel_equal(struct cel_run *e, const struct cel_value *a, const struct cel_value *b);
bool cel_find_key(struct cel_run *e, const struct cel_value *map, const struct cel_value *key,
                  struct cel_value *ret);
/* -1, 0, 1; 2: not comparable (NaN); 3: of types without an order. */
int cel_order(struct cel_run *e, const struct cel_value *a, const struct cel_value *b);
struct cel_value cel_binary(struct cel_run *e, enum cel_operator op, const struct cel_value *a,
                            const struct cel_value *b);

/* ---- cel_object.c ---- */

struct cel_value cel_make_object(struct cel_run *e, str type, struct cel_value fields);
/* As a document, held by the arena; NULL: the reason is in err. */
struct doc *cel_doc_of(struct cel_run *e, const struct cel_value *v, struct err *err);

/* ---- functions ---- */

typedef struct cel_value cel_fn(struct cel_run *e, const struct cel_value *a, size_t n);
/* Most look at some of these only. */
#define CEL_FN(name)                                                         \
    struct cel_value name(__attribute__((unused)) struct cel_run *e,         \
                          __attribute__((unused)) const struct cel_value *a, \
                          __attribute__((unused)) size_t n)

/* One number for all functions of that name and form (the receiver of a method is the first
 * argument); -1: there is none. */
int cel_function_find(str name, bool is_method);
/* Whether some function of that number takes these arguments, and what comes of it. */
bool cel_function_check(int function, bool is_method, const struct cel_shape *args, size_t n,
                        struct cel_shape *ret);
/* Arguments are no errors, and strings among them are paid for. */
struct cel_value cel_function_call(int function, bool is_method, struct cel_run *e,
                                   const struct cel_value *args, size_t n);

/* Characters of valid UTF-8, and where the i-th begins; -1: there are fewer. */
size_t cel_characters(str s);
ptrdiff_t cel_character_at(str s, int64_t i);
/* For people, as string() and %s write it. */
bool cel_text_of(struct cel_run *e, const struct cel_value *v, struct strbuf *out);

cel_fn cel_f_size, cel_f_starts, cel_f_ends, cel_f_contains, cel_f_matches, cel_f_find,
    cel_f_find_all, cel_f_index_of, cel_f_last_index_of, cel_f_lower, cel_f_upper, cel_f_trim,
    cel_f_split, cel_f_join, cel_f_replace, cel_f_substring, cel_f_char_at, cel_f_quote,
    cel_f_format, cel_f_escape_key;
cel_fn cel_f_string, cel_f_int, cel_f_uint, cel_f_double, cel_f_bool, cel_f_bytes, cel_f_dyn,
    cel_f_type;
cel_fn cel_f_min, cel_f_max, cel_f_sum, cel_f_is_sorted, cel_f_list_index, cel_f_list_last,
    cel_f_sets_contains, cel_f_sets_equivalent, cel_f_sets_intersects;
cel_fn cel_f_opt_of, cel_f_opt_none, cel_f_opt_non_zero, cel_f_opt_has, cel_f_opt_value,
    cel_f_opt_or, cel_f_opt_or_value;
cel_fn cel_f_timestamp, cel_f_duration, cel_f_year, cel_f_month, cel_f_day, cel_f_date,
    cel_f_week_day, cel_f_year_day, cel_f_hours, cel_f_minutes, cel_f_seconds, cel_f_millis,
    cel_f_span_hours, cel_f_span_minutes, cel_f_span_seconds, cel_f_span_millis;
cel_fn cel_f_quantity, cel_f_is_quantity, cel_f_quantity_sign, cel_f_quantity_is_integer,
    cel_f_quantity_integer, cel_f_quantity_float, cel_f_quantity_add, cel_f_quantity_sub,
    cel_f_quantity_greater, cel_f_quantity_less, cel_f_quantity_compare;
cel_fn cel_f_url, cel_f_is_url, cel_f_url_scheme, cel_f_url_host, cel_f_url_hostname,
    cel_f_url_port, cel_f_url_path, cel_f_url_query;
cel_fn cel_f_ip, cel_f_is_ip, cel_f_ip_is_canonical, cel_f_ip_family, cel_f_ip_unspecified,
    cel_f_ip_loopback, cel_f_ip_local_multicast, cel_f_ip_local_unicast, cel_f_ip_global,
    cel_f_cidr, cel_f_is_cidr, cel_f_cidr_has_ip, cel_f_cidr_has_cidr, cel_f_cidr_ip,
    cel_f_cidr_masked, cel_f_cidr_prefix;
cel_fn cel_f_format_named, cel_f_format_validate;
cel_fn cel_f_authz_path, cel_f_authz_group, cel_f_authz_account, cel_f_authz_resource,
    cel_f_authz_sub, cel_f_authz_namespace, cel_f_authz_name, cel_f_authz_check,
    cel_f_authz_allowed, cel_f_authz_reason, cel_f_authz_errored, cel_f_authz_error;

void cel_net_write(const struct cel_value *v, struct strbuf *out);

#endif
