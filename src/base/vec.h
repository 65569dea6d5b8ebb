/*
 * Typed vectors: VEC(int) v = {0}; *vec_push(&v) = 3; for (size_t i = 0; i < v.len; i++) v.p[i].
 *
 * The heap form owns its memory (vec_done); elements are plain data and move when it grows, so
 * never keep a pointer to one across a push.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include "base/base.h"

#define VEC(type)   \
    struct {        \
        type *p;    \
        size_t len; \
        size_t cap; \
    }

void vec_grow_(void **p, size_t *cap, size_t need, size_t elem);

/* Pointer to a new element at the end (not initialised). */
#define vec_push(v)                                                                \
    ({                                                                             \
        if ((v)->len == (v)->cap)                                                  \
            vec_grow_((void **)&(v)->p, &(v)->cap, (v)->len + 1, sizeof(*(v)->p)); \
        &(v)->p[(v)->len++];                                                       \
    })
#define vec_reserve(v, n)                                                         \
    do {                                                                          \
        if ((v)->cap < (size_t)(n))                                               \
            vec_grow_((void **)&(v)->p, &(v)->cap, (size_t)(n), sizeof(*(v)->p)); \
    } while (0)
#define vec_last(v) (&(v)->p[(v)->len - 1])
#define vec_pop(v) ((v)->p[--(v)->len])
#define vec_clear(v) ((void)((v)->len = 0))
/* Order is kept; O(n). */
#define vec_remove(v, i)                                                          \
    do {                                                                          \
        size_t i_ = (i);                                                          \
        (v)->len--;                                                               \
        memmove(&(v)->p[i_], &(v)->p[i_ + 1], ((v)->len - i_) * sizeof(*(v)->p)); \
    } while (0)
#define vec_sort(v, cmp) ((v)->len > 1 ? qsort((v)->p, (v)->len, sizeof(*(v)->p), (cmp)) : (void)0)
#define vec_done(v)              \
    do {                         \
        free((v)->p);            \
        (v)->p = NULL;           \
        (v)->len = (v)->cap = 0; \
    } while (0)

#endif
