/* What the files of regular expressions share: the tree of a pattern, its program, and the
 * machine's memory. Private to them. */
#ifndef KUBE_REGEX_REGEX_IMPL_H
#define KUBE_REGEX_REGEX_IMPL_H

#include "base/arena.h"
#include "base/map.h"
#include "kube/regex/regex.h"
#include "kube/regex/runes.h"

enum {
    REGEX_MAX_PATTERN = 32 << 10, /* bytes */
    REGEX_MAX_REPEAT = 1000,      /* RE2's */
    REGEX_MAX_HEIGHT = 1000,      /* of the tree, as Go has it */
    REGEX_MAX_INSTS = 20000,      /* of the program */
    REGEX_MAX_SETS = 1024,        /* different ones */
    REGEX_MAX_CLASSES = 2048,     /* of characters that are told apart */
    REGEX_MAX_WORK = 1 << 17,     /* ranges that its classes were put together from */
};

/* ---- the tree (regex_parse.c) ---- */

enum regex_assert {
    ASSERT_BEGIN_TEXT = 1 << 0,
    ASSERT_END_TEXT = 1 << 1,
    ASSERT_BEGIN_LINE = 1 << 2,
    ASSERT_END_LINE = 1 << 3,
    ASSERT_WORD = 1 << 4, /* on one side only */
    ASSERT_NO_WORD = 1 << 5,
};

enum node_type { NODE_EMPTY, NODE_SET, NODE_ASSERT, NODE_CAT, NODE_ALT, NODE_REPEAT, NODE_GROUP };

struct node {
    enum node_type type;
    bool nullable; /* may match nothing */
    bool lazy;     /* REPEAT */
    uint16_t height;
    uint32_t product;  /* of the numbers of repetitions inside each other */
    uint32_t set;      /* SET: of regex_tree.sets; ASSERT: enum regex_assert */
    int32_t min, max;  /* REPEAT; max -1: no end */
    struct node *sub;  /* first part */
    struct node *next; /* sibling */
};

struct regex_tree {
    struct arena arena;
    struct node *root;
    VEC(runes) sets; /* each once */
    size_t work;     /* ranges that were put together, those of (?i) four times */
    struct map set_ids;
};

/* 0 or an error. The tree is to be freed in both cases. */
int regex_parse(str pattern, struct regex_tree *t, struct err *err);
void regex_tree_done(struct regex_tree *t);

/* ---- the program (regex_prog.c) ---- */

enum inst_op {
    INST_READ,   /* a character of the set, then the next instruction */
    INST_SPLIT,  /* go on at x, or else at y */
    INST_JUMP,   /* to x */
    INST_ASSERT, /* go on with the next if so */
    INST_MATCH,
};

struct inst {
    uint8_t op;   /* enum inst_op */
    uint8_t what; /* ASSERT: enum regex_assert */
    uint16_t set; /* READ */
    uint32_t x, y;
};

/* What stands before a place, as far as the pattern wants to know. */
enum rune_kind { KIND_OTHER, KIND_WORD, KIND_NEWLINE, KIND_EDGE /* of the text */ };

struct prog {
    struct arena arena;
    struct inst *insts;
    uint32_t n;
    bool anchored; /* matches only at the begin of the text */
    unsigned asserts;
    /* Classes of characters that the pattern does not tell apart. */
    uint32_t n_classes;
    uint16_t ascii[128];
    struct class_range {
        uint32_t lo;
        uint16_t class;
    } * ranges; /* each up to the next, from 0 on */
    size_t n_ranges;
    uint8_t *kinds; /* of classes: enum rune_kind */
    /* Which classes are in which set: a row of bits for each. */
    uint64_t *has;
    size_t row; /* words */
    size_t bytes;
    uint64_t cost; /* units that it took to make */
};

int prog_make(struct regex_tree *t, str pattern, struct prog *p, struct err *err);
void prog_done(struct prog *p);

static inline bool prog_has(const struct prog *p, const struct inst *i, uint32_t class)
{
    return p->has[i->set * p->row + class / 64] >> class % 64 & 1;
}

uint32_t prog_class_beyond_ascii(const struct prog *p, uint32_t rune);

static inline uint32_t prog_class(const struct prog *p, uint32_t rune)
{
    return rune < 128 ? p->ascii[rune] : prog_class_beyond_ascii(p, rune);
}

/* Assertions that hold between two characters. */
unsigned prog_asserts(enum rune_kind before, enum rune_kind after);

/* ---- what is remembered of a program (regex_dfa.c) ---- */

struct dfa_state;

struct dfa {
    struct arena arena;
    struct map by_set;
    struct dfa_state *start; /* NULL: not made yet */
    size_t bytes;
    unsigned misses; /* steps that could not be kept */
};

void dfa_done(struct dfa *d);

struct regex {
    char *pattern;
    char *error; /* why it is none */
    struct prog prog;
    struct dfa dfa;
};

/* This pattern keeps so many bytes more; what others keep may be forgotten for it. */
void regex_take_room(struct regex *r, size_t bytes);
/* What was kept for this pattern. */
void regex_forget(struct regex *r);

/* Takes units off; false: there are not so many. */
static inline bool regex_spend(uint64_t *left, uint64_t units)
{
    if (*left < units) {
        *left = 0;
        return false;
    }
    *left -= units;
    return true;
}

#endif
