/* CEL: amounts of resources. */
#include "kube/cel/cel_impl.h"

static struct cel_value of_quantity(struct cel_run *e, struct quantity q)
{
    struct quantity *kept = arena_new(e->arena, struct quantity);
    memcpy(kept, &q, sizeof(q));
    return (struct cel_value){.type = CEL_QUANTITY, .quantity = kept};
}

CEL_FN(cel_f_quantity)
{
    struct quantity q;
    struct err err = ERR_INIT;
    return quantity_parse(a->s, &q, &err) == 0 ? of_quantity(e, q)
                                               : cel_failure(e, "%s", err.message);
}

CEL_FN(cel_f_is_quantity)
{
    return of_bool(quantity_is_valid(a->s));
}

CEL_FN(cel_f_quantity_sign)
{
    return of_int(quantity_sign(a->quantity));
}

#define NANO ((__int128)1000000000)

/* A whole number of units that an int holds. */
static bool whole(const struct quantity *q, int64_t *ret)
{
    __int128 units = q->nano / NANO;
    *ret = (int64_t)units;
    return q->nano % NANO == 0 && units >= INT64_MIN && units <= INT64_MAX;
}

CEL_FN(cel_f_quantity_is_integer)
{
    int64_t i;
    return of_bool(whole(a->quantity, &i));
}

CEL_FN(cel_f_quantity_integer)
{
    int64_t i;
    return whole(a->quantity, &i) ? of_int(i) : cel_failure(e, "cannot convert value to integer");
}

CEL_FN(cel_f_quantity_float)
{
    return of_double((double)a->quantity->nano / 1e9);
}

/* The second may be an int. */
static struct quantity operand(const struct cel_value *v)
{
    return v->type == CEL_QUANTITY ? *v->quantity : quantity_from_value(v->i, QUANTITY_DECIMAL_SI);
}

CEL_FN(cel_f_quantity_add)
{
    struct quantity sum = *a[0].quantity, b = operand(&a[1]);
    return quantity_add(&sum, &b) ? of_quantity(e, sum) : cel_failure(e, "quantity overflow");
}

CEL_FN(cel_f_quantity_sub)
{
    struct quantity sum = *a[0].quantity, b = operand(&a[1]);
    return quantity_sub(&sum, &b) ? of_quantity(e, sum) : cel_failure(e, "quantity overflow");
}

CEL_FN(cel_f_quantity_greater)
{
    return of_bool(quantity_cmp(a[0].quantity, a[1].quantity) > 0);
}

CEL_FN(cel_f_quantity_less)
{
    return of_bool(quantity_cmp(a[0].quantity, a[1].quantity) < 0);
}

CEL_FN(cel_f_quantity_compare)
{
    return of_int(quantity_cmp(a[0].quantity, a[1].quantity));
}
