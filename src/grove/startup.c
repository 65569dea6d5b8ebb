/* See startup.h. */
#include "grove/startup.h"

bool startup_parse_wait(str s, struct startup_wait *ret)
{
    s = str_trim(s);
    ptrdiff_t colon = str_find_char(s, ':');
    if (colon <= 0 || !str_to_uint(str_sub(s, (size_t)colon + 1, s.len), &ret->ready) ||
        ret->ready == 0)
        return false;
    ret->clique = str_sub(s, 0, (size_t)colon);
    return true;
}

bool startup_pod_is_ready(const struct obj *pod)
{
    return condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}
