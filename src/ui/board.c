/* See board.h. */
#include "ui/board.h"

/* What one turn of the loop may spend, and how many times as long it then leaves to others. */
#define TURN_COST (4 * USEC_PER_MSEC)
#define TURN_PAUSE 4
/* An item is made again after so many times what it cost. */
#define ITEM_PAUSE 25

void board_text_unref(void *p)
{
    struct board_text *text = p;
    if (text && --text->refs == 0)
        free(text);
}

static struct board_text *text_new(str s)
{
    struct board_text *t = xmalloc(sizeof(*t) + s.len);
    t->refs = 1;
    t->len = s.len;
    if (s.len)
        memcpy(t->bytes, s.p, s.len);
    return t;
}

/* NULL: of none. */
static struct board_item *item_of(struct tree_node *n)
{
    return n ? container_of(n, struct board_item, order) : NULL;
}

static int compare(const void *number, const struct tree_node *n)
{
    uint64_t a = *(const uint64_t *)number, b = container_of(n, struct board_item, order)->number;
    return a < b ? -1 : a > b;
}

static void item_free(struct board *b, struct board_item *it)
{
    (void)map_del(&b->items, it->name);
    tree_remove(&b->order, &it->order);
    if (list_is_linked(&it->dirty))
        list_remove(&it->dirty);
    board_text_unref(it->text);
    free((char *)it->name.p);
    free(it);
}

/* ---- making ---- */

/* Readers that are not past the oldest of them cannot be told any more what went. */
static void drop_tombs(struct board *b)
{
    struct tree_node *at = tree_first(&b->order);
    while (b->tombs > BOARD_MAX_TOMBS && at) {
        struct board_item *it = item_of(at);
        at = tree_next(at);
        if (!it->is_gone)
            continue;
        b->forgotten = it->number;
        b->tombs--;
        item_free(b, it);
    }
}

/* {"name": "node/a", "value": {...}}, without a value when it is gone. What is too large is still
 * there: its value says what is the matter, in the same words each time, so it is told once. */
static bool make_text(struct board *b, const struct board_item *it, struct strbuf *out)
{
    struct arena a = ARENA_INIT;
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "name", it->name);
    size_t empty = w.out.len;
    jw_key(&w, STR("value"));
    bool there = b->options.make(b->options.ctx, it->name, &w, &a);
    bool fits = there && !w.out.overflow && w.out.len <= BOARD_MAX_TEXT;
    strbuf_add(out, w.out.p, fits ? w.out.len : empty);
    if (there && !fits)
        strbuf_printf(out,
                      ",\"value\":{\"error\":\"this is larger than %d MiB and not sent to the "
                      "page; the commands print it\"}",
                      BOARD_MAX_TEXT >> 20);
    strbuf_add_cstr(out, "}\n");
    jw_done(&w);
    arena_done(&a);
    return there;
}

static bool has_changed(const struct board_item *it, str now)
{
    return !it->text || it->text->len != now.len || memcmp(it->text->bytes, now.p, now.len) != 0;
}

static void item_make(struct board *b, struct board_item *it)
{
    struct strbuf out = STRBUF_INIT(2 * BOARD_MAX_TEXT);
    usec begun = loop_cpu(b->loop);
    list_remove(&it->dirty);
    bool was_there = it->text && !it->is_gone, there = make_text(b, it, &out);
    it->due = loop_now(b->loop) + MAX(BOARD_PAUSE, ITEM_PAUSE * (loop_cpu(b->loop) - begun));
    if (!there && !it->text) {
        item_free(b, it);
    } else if (has_changed(it, strbuf_str(&out))) {
        board_text_unref(it->text);
        it->text = text_new(strbuf_str(&out));
        b->tombs += (size_t)(was_there && !there);
        b->tombs -= (size_t)(it->is_gone && there);
        it->is_gone = !there;
        tree_remove(&b->order, &it->order);
        it->number = ++b->last;
        (void)tree_insert(&b->order, &it->order, &it->number, compare);
    }
    strbuf_done(&out);
}

/* Makes what is due, as far as a turn goes; the timer is set for the rest. */
static void on_timer(struct loop_timer *t)
{
    struct board *b = container_of(t, struct board, timer);
    usec begun = loop_cpu(b->loop), now = loop_now(b->loop), next = 0, spent = 0;
    uint64_t before = b->last;
    for (struct list *at = b->dirty.next; at != &b->dirty && spent < TURN_COST;) {
        struct board_item *it = list_entry(at, struct board_item, dirty);
        at = at->next;
        if (it->due > now) {
            next = next ? MIN(next, it->due) : it->due;
            continue;
        }
        item_make(b, it);
        spent = loop_cpu(b->loop) - begun;
    }
    drop_tombs(b);
    if (spent >= TURN_COST)
        next = now + TURN_PAUSE * spent;
    if (next && !list_is_empty(&b->dirty))
        loop_timer_set(&b->timer, next);
    if (b->last != before)
        b->options.on_news(b->options.ctx);
}

/* ---- for the owner ---- */

void board_init(struct board *b, struct loop *l, const struct board_options *o)
{
    *b = (struct board){.loop = l, .options = *o};
    list_init(&b->dirty);
    loop_timer_init(l, &b->timer, on_timer);
}

void board_clear(struct board *b)
{
    loop_timer_cancel(&b->timer);
    while (b->order.root)
        item_free(b, item_of(b->order.root));
    while (!list_is_empty(&b->dirty))
        item_free(b, list_entry(b->dirty.next, struct board_item, dirty));
    b->tombs = 0;
    b->forgotten = b->last;
}

void board_done(struct board *b)
{
    board_clear(b);
    map_done(&b->items);
}

void board_touch(struct board *b, str name)
{
    struct board_item *it = map_get(&b->items, name);
    if (!it) {
        it = xnew(struct board_item);
        it->name = str_n(str_dup(name), name.len);
        (void)map_put(&b->items, it->name, it);
    }
    if (!list_is_linked(&it->dirty))
        list_push_back(&b->dirty, &it->dirty);
    usec due = MAX(it->due, loop_now(b->loop) + USEC_PER_MSEC);
    if (!loop_timer_is_set(&b->timer) || due < b->timer.due)
        loop_timer_set(&b->timer, due);
}

/* ---- for readers ---- */

const struct board_item *board_next(const struct board *b, struct board_cursor *c, bool *ret_anew)
{
    *ret_anew = !c->is_begun || b->forgotten > MAX(c->at, c->begun);
    if (*ret_anew)
        *c = (struct board_cursor){.begun = b->last, .is_begun = true};
    struct tree_node *at = tree_upper_bound(&b->order, &c->at, compare);
    for (; at; at = tree_next(at)) {
        const struct board_item *it = item_of(at);
        c->at = it->number;
        if (!it->is_gone || it->number > c->begun)
            return it;
    }
    return NULL;
}
