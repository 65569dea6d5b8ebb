/*
 * Device claims, their templates and slices of resources between v1beta1 and later versions. Two
 * things moved: what a request asks for stands in `exactly`, and what a device is stands no longer
 * in `basic`. Nothing is lost either way.
 */
#include "apiserver/request.h"
#include "json/write.h"

/* How an item of a list is written in v1beta1 and later. */
struct move {
    const char *path[4]; /* of the list, up to NULL */
    const char *member;  /* what the rest of the item stands in, in one of the two */
    const char *beside;  /* what stands beside it, after the name; NULL: nothing */
    bool in_beta;        /* it is v1beta1 that has the member */
};

static const struct move request = {
    {"spec", "devices", "requests"}, "exactly", "firstAvailable", false};
static const struct move template_request = {
    {"spec", "spec", "devices", "requests"}, "exactly", "firstAvailable", false};
static const struct move device = {{"spec", "devices"}, "basic", NULL, true};

static const struct {
    const struct kind *beta;
    const struct move *move;
} moves[] = {
    {&kind_resource_claim_v1beta1, &request},
    {&kind_resource_claim_template_v1beta1, &template_request},
    {&kind_resource_slice_v1beta1, &device},
};

static bool stays(const struct move *m, str key)
{
    return str_is(key, "name") || (m->beside && str_is(key, m->beside));
}

static void put_members(struct jw *w, const struct move *m, jval item, bool staying)
{
    for (struct jiter it = jiter(item); jnext(&it);) {
        if (stays(m, it.key) != staying)
            continue;
        jw_key(w, it.key);
        jw_val(w, it.value);
    }
}

static size_t count_moving(const struct move *m, jval item)
{
    size_t n = 0;
    for (struct jiter it = jiter(item); jnext(&it);)
        n += !stays(m, it.key);
    return n;
}

static void put_item(struct jw *w, const struct move *m, jval item, bool into)
{
    if (jtype(item) != J_OBJECT) {
        jw_val(w, item);
        return;
    }
    jw_object(w);
    put_members(w, m, item, true);
    if (into && count_moving(m, item)) {
        jw_put_object(w, m->member);
        put_members(w, m, item, false);
        jw_end(w);
    } else if (!into) {
        jval inner = jget(item, str_of(m->member));
        for (struct jiter it = jiter(inner); jnext(&it);) {
            jw_key(w, it.key);
            jw_val(w, it.value);
        }
    }
    jw_end(w);
}

/* The value at the path that begins with `step`, its list rewritten. */
static void put_below(struct jw *w, const struct move *m, size_t step, jval v, bool into)
{
    bool is_last = step == ARRAY_LEN(m->path) || !m->path[step];
    if (jtype(v) != (is_last ? J_ARRAY : J_OBJECT)) {
        jw_val(w, v);
        return;
    }
    if (is_last)
        jw_array(w);
    else
        jw_object(w);
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (is_last) {
            put_item(w, m, it.value, into);
            continue;
        }
        jw_key(w, it.key);
        if (str_is(it.key, m->path[step]))
            put_below(w, m, step + 1, it.value, into);
        else
            jw_val(w, it.value);
    }
    jw_end(w);
}

bool convert_put_resource(struct jw *w, const struct kind *from, const struct kind *to, jval root)
{
    for (size_t i = 0; i < ARRAY_LEN(moves); i++) {
        const struct move *m = moves[i].move;
        bool to_beta = to == moves[i].beta;
        if (!to_beta && from != moves[i].beta)
            continue;
        for (struct jiter it = jiter(root); jnext(&it);) {
            if (str_is(it.key, "kind") || str_is(it.key, "apiVersion"))
                continue;
            jw_key(w, it.key);
            if (str_is(it.key, m->path[0]))
                put_below(w, m, 1, it.value, to_beta == m->in_beta);
            else
                jw_val(w, it.value);
        }
        return true;
    }
    return false;
}
