/* What the two halves of CEL share: the tree. Private to them. */
#ifndef KUBE_CEL_IMPL_H
#define KUBE_CEL_IMPL_H

#include "base/vec.h"
#include "kube/cel.h"

enum cel_type {
    CEL_DYN, /* not known before it is evaluated */
    CEL_NULL,
    CEL_BOOL,
    CEL_INT,
    CEL_UINT,
    CEL_DOUBLE,
    CEL_STRING,
    CEL_LIST,
    CEL_MAP,
    CEL_ERROR,
};

struct cel_pair;

/* Lists and maps are those of a document (doc is set) or made by the expression. */
struct cel_value {
    enum cel_type type;
    union {
        bool b;
        int64_t i;
        uint64_t u;
        double d;
        str s; /* of an error: what is wrong */
        struct {
            jval json;
            struct cel_pair *items; /* lists use the values only */
            size_t n;
        };
    };
};

struct cel_pair {
    struct cel_value key, value;
};

enum cel_op {
    CEL_LITERAL,
    CEL_VARIABLE,  /* slot */
    CEL_SELECT,    /* name */
    CEL_HAS,       /* of a field of kids[0]: name */
    CEL_INDEX,     /* kids[0] at kids[1] */
    CEL_MAKE_LIST, /* kids */
    CEL_MAKE_MAP,  /* kids: key, value, key, ... */
    CEL_NOT,
    CEL_NEGATE,
    CEL_BINARY, /* what: an operator */
    CEL_AND,
    CEL_OR,
    CEL_CHOOSE,
    CEL_CALL,  /* what: number of a function */
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

enum cel_macro { CEL_ALL, CEL_EXISTS, CEL_EXISTS_ONE, CEL_MAP_TO, CEL_FILTER };

struct cel_node {
    enum cel_op op;
    unsigned what;
    unsigned slot;
    enum cel_type type; /* as far as it is known */
    struct cel_value literal;
    str name;
    struct cel_node **kids;
    size_t n_kids;
};

enum { CEL_MAX_SLOTS = CEL_MAX_VARS + CEL_MAX_DEPTH };

struct cel {
    struct cel_node *root;
    size_t n_vars;
    const char *names[CEL_MAX_VARS];
};

/* ---- cel_eval.c ---- */

#define CEL_MAX_STRING ((size_t)1 << 20)
#define CEL_MAX_LIST 100000

struct cel_eval_state {
    struct arena *arena;
    const struct cel *cel;
    struct cel_value slots[CEL_MAX_SLOTS];
    uint64_t left;
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

/* for (struct cel_seq s = cel_seq_of(v); cel_seq_next(&s);) s.key (of a map), s.value */
struct cel_seq {
    const struct cel_value *of;
    struct jiter it;
    size_t at;
    struct cel_value key, value;
};

struct cel_value cel_failure(struct cel_eval_state *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
struct cel_value cel_no_overload(struct cel_eval_state *e);
/* So many units of work; false: there are none left. */
bool cel_spend(struct cel_eval_state *e, uint64_t units);
struct cel_value cel_too_much(struct cel_eval_state *e);
/* Takes the vector over. */
struct cel_value cel_of_pairs(struct cel_eval_state *e, enum cel_type type, cel_pairs *p);
size_t cel_length(const struct cel_value *v);
struct cel_seq cel_seq_of(const struct cel_value *v);
bool cel_seq_next(struct cel_seq *s);
bool cel_is_number(const struct cel_value *v);
double cel_as_double(const struct cel_value *v);
/* -1, 0, 1; 2: not comparable (NaN); 3: of types without an order. */
int cel_order(struct cel_eval_state *e, const struct cel_value *a, const struct cel_value *b);
struct cel_value cel_arithmetic(struct cel_eval_state *e, enum cel_operator op,
                                const struct cel_value *a, const struct cel_value *b);

/* ---- cel_functions.c ---- */

/* By name and number of arguments (the receiver is the first); -1: there is none. */
int cel_function_find(str name, bool is_method, size_t n_args);
enum cel_type cel_function_type(int function);
struct cel_value cel_function_call(int function, struct cel_eval_state *e,
                                   const struct cel_value *args);

#endif
