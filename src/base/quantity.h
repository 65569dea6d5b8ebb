/*
 * Resource quantities as Kubernetes writes them, exactly: the value is a whole number of nano
 * units in 128 bits (about +-1.7e29), so adding and comparing never rounds. What does not fit is
 * an error, never a wrong number. Finer fractions than nano round away from zero while parsing,
 * as Kubernetes does ("you want some resources if you asked for some").
 *
 * The notation family survives: "1Gi" stays binary, "1e3" stays an exponent.
 */
#ifndef BASE_QUANTITY_H
#define BASE_QUANTITY_H

#include "base/err.h"
#include "base/strbuf.h"

enum quantity_format {
    QUANTITY_DECIMAL_SI,       /* 1500m, 2k, 3M */
    QUANTITY_BINARY_SI,        /* 512Mi */
    QUANTITY_DECIMAL_EXPONENT, /* 1e3 */
};

struct quantity {
    __int128 nano;
    enum quantity_format format;
};

int quantity_parse(str s, struct quantity *ret, struct err *err);
bool quantity_is_valid(str s);
/* The canonical text: no fraction, largest suffix that keeps the number whole. */
void quantity_write(const struct quantity *q, struct strbuf *b);

struct quantity quantity_from_value(int64_t value, enum quantity_format format);
struct quantity quantity_from_milli(int64_t milli, enum quantity_format format);

/* -1, 0, 1; the notation does not matter. */
int quantity_cmp(const struct quantity *a, const struct quantity *b);
int quantity_sign(const struct quantity *q);
static inline bool quantity_is_zero(const struct quantity *q)
{
    return q->nano == 0;
}

/* *a changes by b, or stays and false is returned when the result does not fit. A zero takes over
 * the notation of what is added to it. */
MUST_USE bool quantity_add(struct quantity *a, const struct quantity *b);
MUST_USE bool quantity_sub(struct quantity *a, const struct quantity *b);
MUST_USE bool quantity_mul(struct quantity *a, int64_t factor);

/* Whole units (thousandths), rounded away from zero, held at the ends of int64_t. */
int64_t quantity_value(const struct quantity *q);
int64_t quantity_milli(const struct quantity *q);

#endif
