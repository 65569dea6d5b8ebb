/* Intrusive doubly linked list with a sentinel head; a node is in at most one list. */
#ifndef BASE_LIST_H
#define BASE_LIST_H

#include "base/base.h"

struct list {
    struct list *next, *prev;
};

static inline void list_init(struct list *head)
{
    head->next = head->prev = head;
}

static inline bool list_is_empty(const struct list *head)
{
    return head->next == head;
}

/* A node that was list_init()ed or removed is linked to itself. */
static inline bool list_is_linked(const struct list *node)
{
    return node->next && node->next != node;
}

/* A head that nobody list_init()ed is caught here, where it is first used. */
static inline void list_insert_before(struct list *at, struct list *node)
{
    BUG_ON(!at->prev);
    node->prev = at->prev;
    node->next = at;
    at->prev->next = node;
    at->prev = node;
}

static inline void list_push_back(struct list *head, struct list *node)
{
    list_insert_before(head, node);
}

static inline void list_push_front(struct list *head, struct list *node)
{
    list_insert_before(head->next, node);
}

static inline void list_remove(struct list *node)
{
    if (!node->next)
        return;
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

static inline struct list *list_pop_front(struct list *head)
{
    if (list_is_empty(head))
        return NULL;
    struct list *n = head->next;
    list_remove(n);
    return n;
}

#define list_entry(node, type, member) container_of(node, type, member)
/* The body may remove the current node. */
#define list_foreach(it, head)                                                \
    for (struct list *it = (head)->next, *next_##it = it->next; it != (head); \
         it = next_##it, next_##it = it->next)

#endif
