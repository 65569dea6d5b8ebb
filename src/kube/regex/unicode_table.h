/* Facts of Unicode 15.0 as tables: which category and script each code point has, and which of them
 * are the same but for case. Private to runes.c. */
#ifndef KUBE_REGEX_UNICODE_TABLE_H
#define KUBE_REGEX_UNICODE_TABLE_H

#include "base/base.h"

#define RUNE_MAX 0x10ffffu

struct rune_range {
    uint32_t lo, hi; /* inclusive */
};

/* LU and LL are upper and lower case letters, CN is what is not assigned. UL is no category but
 * stands for upper, lower, upper, lower and so on, one each. */
enum unicode_category {
    UNICODE_LU,
    UNICODE_LL,
    UNICODE_LT,
    UNICODE_LM,
    UNICODE_LO,
    UNICODE_MN,
    UNICODE_MC,
    UNICODE_ME,
    UNICODE_ND,
    UNICODE_NL,
    UNICODE_NO,
    UNICODE_PC,
    UNICODE_PD,
    UNICODE_PS,
    UNICODE_PE,
    UNICODE_PI,
    UNICODE_PF,
    UNICODE_PO,
    UNICODE_SM,
    UNICODE_SC,
    UNICODE_SK,
    UNICODE_SO,
    UNICODE_ZS,
    UNICODE_ZL,
    UNICODE_ZP,
    UNICODE_CC,
    UNICODE_CF,
    UNICODE_CS,
    UNICODE_CO,
    UNICODE_CN,
    UNICODE_UL,
};

/* first code point << 8 | category, each up to the next; all of Unicode, in order. */
extern const uint32_t unicode_categories[];
extern const size_t unicode_n_categories;

extern const struct unicode_script {
    const char *name;
    uint16_t first, n; /* of unicode_script_ranges */
} unicode_scripts[];
extern const size_t unicode_n_scripts;
extern const struct rune_range unicode_script_ranges[];

/* c + delta is the next of those that differ from c in case only, and the last leads to the first
 * (k, K, and the sign for kelvin). For every stride-th from lo to hi. In order of lo. */
extern const struct unicode_fold {
    uint32_t lo, hi;
    int32_t delta;
    uint32_t stride;
} unicode_folds[];
extern const size_t unicode_n_folds;

#endif
