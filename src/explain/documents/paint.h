/*
 * How output looks: colours where a person reads it, aligned columns, progress bars, and a screen
 * that is drawn again in place. Colours only on a terminal, and never with NO_COLOR.
 */
#ifndef EXPLAIN_DOCUMENTS_PAINT_H
#define EXPLAIN_DOCUMENTS_PAINT_H

#include "base/arena.h"
#include "base/strbuf.h"

enum paint { PAINT_PLAIN, PAINT_GOOD, PAINT_WAIT, PAINT_BAD, PAINT_DIM, PAINT_STRONG };

/* Standard output is a terminal that understands escapes. */
bool paint_is_terminal(void);
void paint_add(struct strbuf *out, enum paint p, str text);
/* The colour of a word that says how something is: Ready, Pending, Failed... */
enum paint paint_of_state(str state);
/* How a number goes on: "%lld pod%s", and the verb after it. What is said "of %lld" stays plural.
 */
const char *paint_plural(int64_t n);
const char *paint_verb(int64_t n, const char *one, const char *many);
/* How many columns there are to write in: those of the terminal; elsewhere lines are not broken. */
size_t paint_columns(void);
/* How many columns it takes. */
size_t paint_width(str text);
/* A sentence in lines of that width, each behind the indent. */
void paint_wrap(struct strbuf *out, str indent, str text, size_t width);
/* "[████····]" */
void paint_bar(struct strbuf *out, int64_t done, int64_t all);

/* Rows of cells, aligned; the last column is not padded. */
struct grid {
    struct arena *arena;
    size_t n_columns, n_cells, cap;
    str *cells;
    unsigned char *paints;
    const char *indent; /* before each row; NULL: nothing */
    size_t *widths;     /* of each column at least, and kept for rows to come; NULL: its own */
};
void grid_init(struct grid *g, struct arena *a, size_t n_columns);
/* Cells are copied. */
void grid_add(struct grid *g, enum paint p, str cell);
void grid_printf(struct grid *g, enum paint p, const char *fmt, ...) PRINTF_LIKE(3, 4);
void grid_write(const struct grid *g, struct strbuf *out);

/* Shows a text: on a terminal in place of the one before, cut to its size; elsewhere below it. Not
 * again while neither text nor size change. Made by zeros. */
struct screen {
    struct strbuf shown;
    unsigned rows, columns; /* of the terminal it was drawn for */
    bool begun;
};
void screen_show(struct screen *s, const struct strbuf *text);
/* Something else was written on it: the next text is drawn even when it is the same. */
void screen_again(struct screen *s);
/* What is shown stays, all of it; the next text goes below. */
void screen_leave(struct screen *s);
void screen_done(struct screen *s);

/* A text drawn where the cursor stands, and again in its place: for what is told one below the
 * other, where a screen of its own would wipe away what was said before. Never taller than the
 * terminal, so that nothing of it scrolls away before it is replaced. Made by zeros. */
struct frame {
    size_t lines; /* drawn last */
};
void frame_draw(struct frame *f, const struct strbuf *text);

#endif
