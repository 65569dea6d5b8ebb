/* See fair.h. A flow is in `ready`, in `blocked`, or has nothing waiting. */
#include "apiserver/front/fair.h"

static int compare_flows(const struct heap_node *a, const struct heap_node *b)
{
    const struct fair_flow *x = heap_entry(a, const struct fair_flow, node);
    const struct fair_flow *y = heap_entry(b, const struct fair_flow, node);
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

void fair_init(struct fair *f)
{
    *f = (struct fair){0};
    list_init(&f->blocked);
    heap_init(&f->ready, compare_flows);
}

void fair_done(struct fair *f)
{
    BUG_ON(f->flows.len);
    map_done(&f->flows);
    heap_done(&f->ready);
}

struct fair_flow *fair_flow_get(struct fair *f, str name)
{
    struct fair_flow *w = map_get(&f->flows, name);
    if (!w) {
        w = xnew(struct fair_flow);
        w->name = str_n(str_dup(name), name.len);
        list_init(&w->link);
        list_init(&w->items);
        list_init(&w->resting);
        (void)map_put(&f->flows, w->name, w);
    }
    w->refs++;
    return w;
}

void fair_flow_put(struct fair *f, struct fair_flow *w)
{
    if (!w || --w->refs)
        return;
    BUG_ON(w->n_items || w->n_seats);
    (void)map_del(&f->flows, w->name);
    free((char *)w->name.p);
    free(w);
}

static struct fair_item *first_item(const struct fair_flow *w)
{
    return list_entry(w->items.next, struct fair_item, link);
}

static bool has_seat(const struct fair *f, const struct fair_flow *w)
{
    return f->n_seats < FAIR_SEATS && w->n_seats < FAIR_SEATS_EACH;
}

/* Puts it where its first piece says. */
static void place(struct fair *f, struct fair_flow *w)
{
    heap_remove(&f->ready, &w->node);
    list_remove(&w->link);
    if (!w->n_items)
        return;
    w->start = MAX(w->start, f->now);
    w->order = f->order++;
    if (first_item(w)->needs_seat && !has_seat(f, w))
        list_push_back(&f->blocked, &w->link);
    else
        heap_push(&f->ready, &w->node);
}

void fair_push(struct fair *f, struct fair_item *i)
{
    struct fair_flow *w = i->flow;
    list_push_back(&w->items, &i->link);
    f->n_items++;
    if (++w->n_items == 1)
        place(f, w);
}

static void take_out(struct fair *f, struct fair_item *i)
{
    list_remove(&i->link);
    i->flow->n_items--;
    f->n_items--;
}

/* The flow that is next. The last seat may have gone since it was put where it is. */
static struct fair_flow *next_flow(struct fair *f)
{
    for (struct heap_node *n; (n = heap_min(&f->ready));) {
        struct fair_flow *w = heap_entry(n, struct fair_flow, node);
        if (!first_item(w)->needs_seat || has_seat(f, w))
            return w;
        place(f, w);
    }
    return NULL;
}

struct fair_item *fair_pop(struct fair *f)
{
    struct fair_flow *w = next_flow(f);
    if (!w)
        return NULL;
    struct fair_item *i = first_item(w);
    f->now = w->start;
    w->start += i->cost;
    if (i->needs_seat) {
        f->n_seats++;
        w->n_seats++;
    }
    take_out(f, i);
    place(f, w);
    return i;
}

void fair_remove(struct fair *f, struct fair_item *i)
{
    if (!fair_is_waiting(i))
        return;
    bool was_first = first_item(i->flow) == i;
    take_out(f, i);
    if (was_first)
        place(f, i->flow);
}

bool fair_is_waiting(const struct fair_item *i)
{
    return list_is_linked(&i->link);
}

bool fair_is_ready(const struct fair *f)
{
    return heap_min(&f->ready) != NULL;
}

void fair_release_seat(struct fair *f, struct fair_flow *w)
{
    f->n_seats--;
    w->n_seats--;
    /* Those that still find none go to the back, in their order. */
    struct list all;
    list_init(&all);
    for (struct list *n; (n = list_pop_front(&f->blocked));)
        list_push_back(&all, n);
    for (struct list *n; (n = list_pop_front(&all));)
        place(f, list_entry(n, struct fair_flow, link));
}
