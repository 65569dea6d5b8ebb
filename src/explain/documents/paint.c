/* See paint.h. */
#include "explain/documents/paint.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/base.h"

enum { GAP = 3, BAR_WIDTH = 20, MAX_SCREEN = 64 << 20 };

bool paint_is_terminal(void)
{
    const char *term = getenv("TERM");
    return isatty(STDOUT_FILENO) && !(term && str_is(str_of(term), "dumb"));
}

static bool is_coloured(void)
{
    const char *no = getenv("NO_COLOR");
    return paint_is_terminal() && !(no && *no);
}

void paint_add(struct strbuf *out, enum paint p, str text)
{
    static const char *const codes[] = {"",         "\033[32m", "\033[33m",
                                        "\033[31m", "\033[2m",  "\033[1m"};
    bool on = p != PAINT_PLAIN && is_coloured();
    if (on)
        strbuf_add_cstr(out, codes[p]);
    strbuf_add_str(out, text);
    if (on)
        strbuf_add_cstr(out, "\033[0m");
}

/* What a kubelet says of a container that does not run: ErrImagePull, CrashLoopBackOff... */
static bool is_trouble(str state)
{
    return str_ends(state, STR("BackOff")) || str_ends(state, STR("Error")) ||
           str_starts(state, STR("Err")) || str_starts(state, STR("Invalid"));
}

enum paint paint_of_state(str state)
{
    static const struct {
        const char *word;
        enum paint paint;
    } words[] = {
        {"Ready", PAINT_GOOD},      {"Available", PAINT_GOOD},   {"Running", PAINT_GOOD},
        {"available", PAINT_GOOD},  {"fits", PAINT_GOOD},        {"Failed", PAINT_BAD},
        {"Unavailable", PAINT_BAD}, {"Degraded", PAINT_BAD},     {"degraded", PAINT_BAD},
        {"failed", PAINT_BAD},      {"stuck", PAINT_BAD},        {"NotReady", PAINT_BAD},
        {"Unhealthy", PAINT_BAD},   {"unavailable", PAINT_BAD},  {"refused", PAINT_BAD},
        {"Warning", PAINT_BAD},     {"Succeeded", PAINT_DIM},    {"Terminating", PAINT_DIM},
        {"stopped", PAINT_DIM},     {"ScaledToZero", PAINT_DIM},
    };
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        if (str_is(state, words[i].word))
            return words[i].paint;
    }
    if (is_trouble(state))
        return PAINT_BAD;
    return str_is_empty(state) || str_is(state, "-") ? PAINT_DIM : PAINT_WAIT;
}

const char *paint_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

const char *paint_verb(int64_t n, const char *one, const char *many)
{
    return n == 1 ? one : many;
}

/* Code points, which is what a terminal shows of names and numbers. */
size_t paint_width(str text)
{
    size_t n = 0;
    for (size_t i = 0; i < text.len; i++)
        n += (text.p[i] & 0xc0) != 0x80;
    return n;
}

void paint_bar(struct strbuf *out, int64_t done, int64_t all)
{
    int64_t full = all > 0 ? (int64_t)((__int128)MIN(done, all) * BAR_WIDTH / all) : 0;
    strbuf_add_char(out, '[');
    for (int64_t i = 0; i < BAR_WIDTH; i++)
        strbuf_add_cstr(out, i < full ? "█" : "·");
    strbuf_add_char(out, ']');
}

void paint_wrap(struct strbuf *out, str indent, str text, size_t width)
{
    size_t used = 0;
    while (text.len > 0) {
        str word = str_cut(&text, ' ');
        size_t needs = paint_width(word);
        if (used > 0 && used + 1 + needs > width) {
            strbuf_add_char(out, '\n');
            used = 0;
        }
        strbuf_add_str(out, used ? STR(" ") : indent);
        strbuf_add_str(out, word);
        used += needs + (used ? 1 : paint_width(indent));
    }
    strbuf_add_char(out, '\n');
}

/* ---- columns ---- */

void grid_init(struct grid *g, struct arena *a, size_t n_columns)
{
    *g = (struct grid){.arena = a, .n_columns = n_columns};
}

void grid_add(struct grid *g, enum paint p, str cell)
{
    if (g->n_cells == g->cap) {
        size_t cap = g->cap ? 2 * g->cap : 64;
        str *cells = arena_array(g->arena, str, cap);
        unsigned char *paints = arena_array(g->arena, unsigned char, cap);
        for (size_t i = 0; i < g->n_cells; i++) {
            cells[i] = g->cells[i];
            paints[i] = g->paints[i];
        }
        g->cells = cells;
        g->paints = paints;
        g->cap = cap;
    }
    g->paints[g->n_cells] = (unsigned char)p;
    g->cells[g->n_cells++] = arena_str(g->arena, cell);
}

void grid_printf(struct grid *g, enum paint p, const char *fmt, ...)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(&b, fmt, ap);
    va_end(ap);
    grid_add(g, p, strbuf_str(&b));
    strbuf_done(&b);
}

void grid_write(const struct grid *g, struct strbuf *out)
{
    size_t *widths = g->widths ? g->widths : arena_array(g->arena, size_t, g->n_columns);
    for (size_t i = 0; i < g->n_cells; i++)
        widths[i % g->n_columns] = MAX(widths[i % g->n_columns], paint_width(g->cells[i]));
    for (size_t i = 0; i < g->n_cells; i++) {
        size_t c = i % g->n_columns;
        bool last = c == g->n_columns - 1, rest = false;
        for (size_t k = i + 1; !rest && k % g->n_columns != 0 && k < g->n_cells; k++)
            rest = g->cells[k].len > 0;
        if (c == 0 && g->indent)
            strbuf_add_cstr(out, g->indent);
        paint_add(out, (enum paint)g->paints[i], g->cells[i]);
        strbuf_printf(out, "%*s", rest ? (int)(widths[c] - paint_width(g->cells[i]) + GAP) : 0, "");
        if (last)
            strbuf_add_char(out, '\n');
    }
}

/* ---- the screen ---- */

static struct winsize terminal_size(void)
{
    struct winsize size = {0};
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) || size.ws_row < 4)
        size.ws_row = 24;
    if (size.ws_col == 0)
        size.ws_col = 80;
    return size;
}

size_t paint_columns(void)
{
    return paint_is_terminal() ? terminal_size().ws_col : SIZE_MAX / 2;
}

/* A line that went on in the next row would push the others off the screen. Colours take no room,
 * and one that was begun is ended. */
static void add_cut(struct strbuf *out, str line, size_t columns)
{
    size_t width = 0, i = 0;
    bool cut = false;
    while (i < line.len && !cut) {
        size_t from = i++;
        if (line.p[from] == '\033') {
            while (i < line.len && line.p[i - 1] != 'm')
                i++;
        } else {
            while (i < line.len && (line.p[i] & 0xc0) == 0x80)
                i++;
            cut = ++width == columns && i < line.len;
        }
        if (!cut)
            strbuf_add_str(out, str_sub(line, from, i));
    }
    if (cut)
        strbuf_add_cstr(out, is_coloured() ? "\033[0m…" : "…");
}

static void draw(const struct strbuf *text, struct winsize size)
{
    struct strbuf out = STRBUF_INIT(MAX_SCREEN);
    str rest = strbuf_str(text);
    size_t room = size.ws_row - 2U, lines = 0, left = 0;
    strbuf_add_cstr(&out, "\033[H");
    while (rest.len > 0) {
        str line = str_cut(&rest, '\n');
        if (lines++ >= room) {
            left++;
            continue;
        }
        add_cut(&out, line, size.ws_col);
        strbuf_add_cstr(&out, "\033[K\n");
    }
    if (left)
        strbuf_printf(&out, "\033[2m… %zu more line%s\033[0m\033[K", left,
                      paint_plural((int64_t)left));
    strbuf_add_cstr(&out, "\033[J");
    fwrite(out.p, 1, out.len, stdout);
    strbuf_done(&out);
}

void screen_show(struct screen *s, const struct strbuf *text)
{
    bool terminal = paint_is_terminal();
    struct winsize size = terminal ? terminal_size() : (struct winsize){0};
    bool resized = size.ws_row != s->rows || size.ws_col != s->columns;
    s->rows = size.ws_row;
    s->columns = size.ws_col;
    if (s->begun && !resized && str_eq(strbuf_str(&s->shown), strbuf_str(text)))
        return;
    /* What a terminal makes of its text when its width changes is anybody's guess. */
    if (terminal && (!s->begun || resized))
        fputs("\033[2J", stdout);
    if (terminal) {
        draw(text, size);
    } else {
        /* Pages need something between them, single lines do not. */
        size_t n_lines = 0;
        for (size_t i = 0; i < text->len; i++)
            n_lines += text->p[i] == '\n';
        fputs(s->begun && n_lines > 1 ? "\n" : "", stdout);
        fwrite(text->p ? text->p : "", 1, text->len, stdout);
    }
    fflush(stdout);
    if (!s->begun)
        strbuf_init(&s->shown, MAX_SCREEN);
    strbuf_reset(&s->shown);
    strbuf_add_str(&s->shown, strbuf_str(text));
    s->begun = true;
}

void frame_draw(struct frame *f, const struct strbuf *text)
{
    struct strbuf out = STRBUF_INIT(MAX_SCREEN);
    struct winsize size = terminal_size();
    str rest = strbuf_str(text);
    size_t lines = 0, most = (size_t)size.ws_row - 2, more = 0;
    if (f->lines)
        strbuf_printf(&out, "\033[%zuA", f->lines);
    while (rest.len) {
        str line = str_cut(&rest, '\n');
        if (lines >= most) {
            more++;
            continue;
        }
        add_cut(&out, line, size.ws_col);
        strbuf_add_cstr(&out, "\033[K\n");
        lines++;
    }
    if (more)
        strbuf_printf(&out, "… %zu more line%s\033[K\n", more, paint_plural((int64_t)more));
    f->lines = lines + (more ? 1 : 0);
    strbuf_add_cstr(&out, "\033[J");
    fwrite(out.p, 1, out.len, stdout);
    fflush(stdout);
    strbuf_done(&out);
}

void screen_again(struct screen *s)
{
    if (s->begun && paint_is_terminal())
        strbuf_reset(&s->shown);
}

void screen_leave(struct screen *s)
{
    if (s->begun && paint_is_terminal()) {
        fputs("\033[H\033[J", stdout);
        fwrite(s->shown.p ? s->shown.p : "", 1, s->shown.len, stdout);
        fflush(stdout);
    }
    screen_done(s);
}

void screen_done(struct screen *s)
{
    if (s->begun)
        strbuf_done(&s->shown);
    *s = (struct screen){0};
}
