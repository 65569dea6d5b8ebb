/*
 * Quantities from any bytes: whatever parses must have a canonical text that parses back to the
 * same value and, in the same notation, the same text; and arithmetic on it must not trap. (The
 * notation itself may be lost, in Kubernetes too: binary 2000 is written without a suffix.)
 */
#include "base/quantity.h"
#include "fuzz.h"

static void check_canonical(const struct quantity *q)
{
    struct strbuf text CLEANUP(strbuf_done) = STRBUF_INIT(200);
    struct strbuf again CLEANUP(strbuf_done) = STRBUF_INIT(200);
    struct quantity back;
    quantity_write(q, &text);
    BUG_ON(text.overflow);
    BUG_ON(quantity_parse(strbuf_str(&text), &back, NULL) < 0);
    BUG_ON(quantity_cmp(q, &back) != 0);
    back.format = q->format;
    quantity_write(&back, &again);
    BUG_ON(!str_eq(strbuf_str(&text), strbuf_str(&again)));
}

static void check_arithmetic(struct quantity q)
{
    struct quantity sum = q;
    int64_t value = quantity_value(&q), milli = quantity_milli(&q);
    BUG_ON(quantity_sign(&q) >= 0 && (value < 0 || milli < value));
    BUG_ON(quantity_sign(&q) <= 0 && (value > 0 || milli > value));
    if (quantity_add(&sum, &q)) {
        BUG_ON(!quantity_sub(&sum, &q));
        BUG_ON(quantity_cmp(&sum, &q) != 0);
    }
    BUG_ON(!quantity_sub(&sum, &q) || !quantity_is_zero(&sum));
    BUG_ON(!quantity_mul(&q, -1));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quantity q;
    struct err err = ERR_INIT;
    if (quantity_parse(str_n((const char *)data, size), &q, &err) < 0) {
        BUG_ON(err.code != ERR_INVALID || !err.message[0]);
        return 0;
    }
    check_canonical(&q);
    check_arithmetic(q);
    return 0;
}
