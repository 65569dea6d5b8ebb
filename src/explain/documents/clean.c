/* See clean.h. */
#include "explain/documents/clean.h"

#include "base/base.h"
#include "base/strbuf.h"
#include "json/write.h"

enum { MAX_TEXT = 256 << 20, DEL = 0x7f, C1_LEAD = 0xc2, C1_END = 0xa0 };

/* The control character that begins at i: its code, and how many bytes it takes; 0 when none does.
 * Those of C1 take two bytes in UTF-8, and some terminals obey them. */
static size_t control_at(str s, size_t i, unsigned *ret_code)
{
    unsigned char c = (unsigned char)s.p[i];
    unsigned char next = i + 1 < s.len ? (unsigned char)s.p[i + 1] : 0;
    *ret_code = c == C1_LEAD ? next : c;
    if (c < ' ' || c == DEL)
        return 1;
    return c == C1_LEAD && next >= 0x80 && next < C1_END ? 2 : 0;
}

static void add_visible(struct strbuf *out, unsigned code)
{
    if (code == '\n' || code == '\r' || code == '\t')
        strbuf_printf(out, "\\%c", code == '\n' ? 'n' : code == '\r' ? 'r' : 't');
    else
        strbuf_printf(out, "\\u%04x", code);
}

str clean_text(struct arena *a, str text, enum clean_lines lines)
{
    struct strbuf out = STRBUF_INIT(MAX_TEXT);
    size_t done = 0, n;
    unsigned code;
    for (size_t i = 0; i < text.len; i += MAX(n, (size_t)1)) {
        n = control_at(text, i, &code);
        if (n == 0 || (code == '\n' && lines == CLEAN_KEEP_LINES))
            continue;
        strbuf_add_str(&out, str_sub(text, done, i));
        add_visible(&out, code);
        done = i + n;
    }
    if (done == 0)
        return text;
    strbuf_add_str(&out, str_sub(text, done, text.len));
    str ret = arena_str(a, strbuf_str(&out));
    strbuf_done(&out);
    return ret;
}

/* What a string of a document becomes. */
typedef str change_fn(struct arena *a, str text, enum clean_lines lines);

static void add_value(struct jw *w, jval v, struct arena *a, enum clean_lines lines,
                      change_fn *change)
{
    bool object = jtype(v) == J_OBJECT;
    if (jtype(v) == J_STRING) {
        jw_str(w, change(a, jstr(v), lines));
        return;
    }
    if (!object && jtype(v) != J_ARRAY) {
        jw_val(w, v);
        return;
    }
    if (object)
        jw_object(w);
    else
        jw_array(w);
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (object)
            jw_key(w, change(a, it.key, CLEAN_ALL));
        add_value(w, it.value, a, lines, change);
    }
    jw_end(w);
}

/* Escapes in the text of a document, and what needs none in JSON. */
static bool is_suspect(str text)
{
    for (size_t i = 0; i < text.len; i++) {
        unsigned code;
        if (text.p[i] == '\\' || control_at(text, i, &code) > 0)
            return true;
    }
    return false;
}

struct doc *clean_doc(jval root, enum clean_lines lines)
{
    struct arena a = ARENA_INIT;
    struct jw w;
    if (!is_suspect(jtext(root)))
        return NULL;
    jw_init(&w);
    add_value(&w, root, &a, lines, clean_text);
    arena_done(&a);
    return jw_doc(&w);
}

/* ---- long numbers ---- */

enum { LONG_NUMBER = 16, DIGITS_LEFT = 6 };
#define LEFT_OUT "…"

static size_t digits_at(str text, size_t i)
{
    size_t n = 0;
    while (i + n < text.len && text.p[i + n] >= '0' && text.p[i + n] <= '9')
        n++;
    return n;
}

/* The next one, behind a dash; text.len when there is none. */
static size_t find_long(str text, size_t from, size_t *ret_len)
{
    for (size_t i = from; i + 1 < text.len; i++) {
        if (text.p[i] != '-')
            continue;
        *ret_len = digits_at(text, i + 1);
        if (*ret_len >= LONG_NUMBER)
            return i + 1;
    }
    return text.len;
}

str clean_short(struct arena *a, str text)
{
    struct strbuf out = STRBUF_INIT(MAX_TEXT);
    size_t done = 0, n = 0, at;
    while ((at = find_long(text, done, &n)) < text.len) {
        strbuf_add_str(&out, str_sub(text, done, at));
        strbuf_add_cstr(&out, LEFT_OUT);
        done = at + n - DIGITS_LEFT;
    }
    if (done == 0)
        return text;
    strbuf_add_str(&out, str_sub(text, done, text.len));
    str ret = arena_str(a, strbuf_str(&out));
    strbuf_done(&out);
    return ret;
}

static str shorten(struct arena *a, str text, enum clean_lines lines)
{
    (void)lines;
    return clean_short(a, text);
}

struct doc *clean_short_doc(jval root)
{
    struct arena a = ARENA_INIT;
    struct jw w;
    size_t n;
    if (find_long(jtext(root), 0, &n) == jtext(root).len)
        return NULL;
    jw_init(&w);
    add_value(&w, root, &a, CLEAN_ALL, shorten);
    arena_done(&a);
    return jw_doc(&w);
}

bool clean_is_short_for(str given, str name)
{
    ptrdiff_t at = str_find(given, STR(LEFT_OUT));
    if (at < 0)
        return false;
    str tail = str_sub(given, (size_t)at + strlen(LEFT_OUT), given.len);
    return str_starts(name, str_sub(given, 0, (size_t)at)) && str_ends(name, tail);
}
