/* See wait.h. */
#include "grove/wait.h"

#include "grove/names.h"
#include "grove/types.h"

int wait_parse(str text, struct arena *a, struct wait_parent *ret, struct err *err)
{
    str rest = str_trim(text);
    str clique = str_trim(str_cut(&rest, ':'));
    int64_t need;
    if (str_is_empty(clique) || !rest.p || str_find_char(rest, ':') >= 0 ||
        !str_to_int(str_trim(rest), &need) || need <= 0)
        return err_set(err, ERR_INVALID,
                       "\"%.*s\" is not NAME:NUMBER, the name of a PodClique and how many of its "
                       "pods must be ready",
                       STR_ARG(text));
    *ret = (struct wait_parent){
        .clique = arena_str(a, clique), .label = name_label(a, clique), .need = need};
    return 0;
}

static jval find_init_container(const struct obj *pod)
{
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "initContainers")); jnext(&it);) {
        if (str_is(jstr(jgetc(it.value, "name")), INITC_NAME))
            return it.value;
    }
    return JVAL_ABSENT;
}

size_t wait_of_pod(const struct obj *pod, struct arena *a, struct wait_parent **ret)
{
    jval args = jgetc(find_init_container(pod), "args");
    size_t n = 0;
    *ret = arena_array(a, struct wait_parent, jlen(args) + 1);
    for (struct jiter it = jiter(args); jnext(&it);) {
        str text = jstr(it.value);
        if (str_starts(text, STR(INITC_FLAG)) &&
            wait_parse(str_sub(text, strlen(INITC_FLAG), text.len), a, &(*ret)[n], NULL) == 0)
            n++;
    }
    return n;
}

bool wait_is_ready(const struct obj *pod)
{
    return !pod->deleting && condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

bool wait_is_of(const struct wait_parent *parent, const struct obj *pod)
{
    return str_eq(obj_label(pod, STR(LABEL_PCLQ)), parent->label);
}

bool wait_is_over(const struct wait_parent *parents, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (parents[i].ready < parents[i].need)
            return false;
    }
    return true;
}
