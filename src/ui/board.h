/*
 * The board: everything the page draws, as items that each have a key and a text. Readers follow it
 * from wherever they are: an item that changes moves to the end of the order and gets the next
 * number, so a reader that has seen everything up to a number needs only what stands behind it. A
 * slow reader costs nothing: it finds each item once, as it is by then, and nothing waits for it.
 *
 *   number   1        2        3        4
 *   item     node/a   node/b   set/x    meta        a reader at 2 needs set/x and meta
 *
 *   node/a changes:
 *   number   2        3        4        5
 *   item     node/b   set/x    meta     node/a      the same reader needs set/x, meta, node/a
 *
 * What is gone stays as a line that says so, until there are too many of them: readers that had not
 * come so far then begin anew.
 *
 * An item whose text would be longer than BOARD_MAX_TEXT has {"error": "..."} as its value, which
 * says so.
 *
 * Items are made again by a function of their owner, some time after they were touched: at most
 * every BOARD_PAUSE, less often when that is expensive, and a few milliseconds' worth in one turn
 * of the loop.
 */
#ifndef UI_BOARD_H
#define UI_BOARD_H

#include "base/list.h"
#include "base/map.h"
#include "base/tree.h"
#include "loop/loop.h"
#include "json/write.h"

enum { BOARD_MAX_TOMBS = 4096, BOARD_MAX_TEXT = 2 << 20 };
#define BOARD_PAUSE (100 * USEC_PER_MSEC)

/* One line of the stream, with its end; shared by the board and what is on its way to readers. */
struct board_text {
    unsigned refs;
    size_t len;
    char bytes[];
};
void board_text_unref(void *text);

struct board_item {
    struct tree_node order; /* by number */
    struct list dirty;      /* those that were touched */
    uint64_t number;
    usec due;                /* not made again before */
    struct board_text *text; /* NULL: never told */
    bool is_gone;
    str name; /* "node/a" */
};

struct board_options {
    /* Writes what the item of this name is now; false: there is no such thing any more. */
    bool (*make)(void *ctx, str name, struct jw *w, struct arena *a);
    /* There is something new for readers. */
    void (*on_news)(void *ctx);
    void *ctx;
};

struct board {
    struct loop *loop;
    struct board_options options;
    struct map items; /* by name */
    struct tree order;
    struct list dirty;
    uint64_t last;      /* number */
    uint64_t forgotten; /* of the newest line about something gone that was dropped */
    size_t tombs;
    struct loop_timer timer;
};

void board_init(struct board *b, struct loop *l, const struct board_options *o);
void board_done(struct board *b);
/* It may have changed, come or gone. */
void board_touch(struct board *b, str name);
/* Forgets all. */
void board_clear(struct board *b);

/* Where a reader is. Begins with zeros. */
struct board_cursor {
    uint64_t at;    /* has all up to this one */
    uint64_t begun; /* what was gone by then it has never heard of */
    bool is_begun;
};
/* The next item for this reader, or NULL; it is behind it then. *ret_anew: what the reader knows is
 * out of date and it is to forget it. */
const struct board_item *board_next(const struct board *b, struct board_cursor *c, bool *ret_anew);

#endif
