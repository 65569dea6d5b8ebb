#include "kube/former.h"

bool former_has(struct former *f, size_t index, str value)
{
    enum { FEW = 32 };
    if (MIN(index, jlen(f->list)) <= FEW) {
        for (struct jiter it = jiter(f->list); jnext(&it) && it.index < index;)
            if (str_eq(jstr(jget(it.value, str_of(f->member))), value))
                return true;
        return false;
    }
    if (!f->is_begun) {
        f->is_begun = true;
        f->at = jiter(f->list);
        f->is_over = !jnext(&f->at);
    }
    for (; !f->is_over && f->at.index < index; f->is_over = !jnext(&f->at))
        (void)map_put(&f->seen, jstr(jget(f->at.value, str_of(f->member))), f);
    return map_has(&f->seen, value);
}

void former_done(struct former *f)
{
    map_done(&f->seen);
}
