/* CEL: functions of lists, and of lists as sets. */
#include "kube/cel/cel_impl.h"

/* The least (sign 1) or the most (-1) of a list. */
static struct cel_value extreme(struct cel_run *e, const struct cel_value *a, int sign)
{
    struct cel_value best = {0};
    bool first = true;
    for (struct cel_seq s = cel_seq_of(e, a); cel_seq_next(&s); first = false) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        int c = first ? -sign : cel_order(e, &s.value, &best);
        if (c == 3)
            return cel_no_overload(e);
        if (c == -sign)
            best = s.value;
    }
    return first ? cel_failure(e, "%s called on empty list", sign > 0 ? "min" : "max") : best;
}

CEL_FN(cel_f_min)
{
    return extreme(e, a, 1);
}

CEL_FN(cel_f_max)
{
    return extreme(e, a, -1);
}

CEL_FN(cel_f_sum)
{
    struct cel_value sum = of_int(0);
    bool first = true;
    for (struct cel_seq s = cel_seq_of(e, a); cel_seq_next(&s); first = false) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        if (!cel_is_number(&s.value) && s.value.type != CEL_DURATION)
            return cel_no_overload(e);
        sum = first ? s.value : cel_binary(e, CEL_ADD, &sum, &s.value);
        if (sum.type == CEL_ERROR)
            return sum;
    }
    return sum;
}

CEL_FN(cel_f_is_sorted)
{
    struct cel_value before = {0};
    bool first = true;
    for (struct cel_seq s = cel_seq_of(e, a); cel_seq_next(&s); first = false) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        int c = first ? 0 : cel_order(e, &before, &s.value);
        if (c >= 2)
            return cel_no_overload(e);
        if (c > 0)
            return of_bool(false);
        before = s.value;
    }
    return of_bool(true);
}

static struct cel_value find(struct cel_run *e, const struct cel_value *a, bool last)
{
    int64_t at = 0, found = -1;
    for (struct cel_seq s = cel_seq_of(e, a); cel_seq_next(&s); at++) {
        if (!cel_spend(e, 1))
            return cel_too_much(e);
        if ((last || found < 0) && cel_equal(e, &s.value, &a[1]))
            found = at;
    }
    return of_int(found);
}

CEL_FN(cel_f_list_index)
{
    return find(e, a, false);
}

CEL_FN(cel_f_list_last)
{
    return find(e, a, true);
}

/* ---- sets ---- */

/* How many of b's elements are in a; stops when that is decided. */
static bool has_all(struct cel_run *e, const struct cel_value *a, const struct cel_value *b,
                    bool any)
{
    for (struct cel_seq s = cel_seq_of(e, b); cel_seq_next(&s);) {
        struct cel_value in = cel_binary(e, CEL_IN, &s.value, a);
        if (e->exhausted || (in.type == CEL_BOOL && in.b == any))
            return any;
    }
    return !any;
}

CEL_FN(cel_f_sets_contains)
{
    return of_bool(has_all(e, &a[0], &a[1], false));
}

CEL_FN(cel_f_sets_equivalent)
{
    return of_bool(has_all(e, &a[0], &a[1], false) && has_all(e, &a[1], &a[0], false));
}

CEL_FN(cel_f_sets_intersects)
{
    return of_bool(has_all(e, &a[0], &a[1], true));
}
