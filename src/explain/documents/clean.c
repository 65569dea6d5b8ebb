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

static void add_value(struct jw *w, jval v, struct arena *a, enum clean_lines lines)
{
    bool object = jtype(v) == J_OBJECT;
    if (jtype(v) == J_STRING) {
        jw_str(w, clean_text(a, jstr(v), lines));
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
            jw_key(w, clean_text(a, it.key, CLEAN_ALL));
        add_value(w, it.value, a, lines);
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
    add_value(&w, root, &a, lines);
    arena_done(&a);
    return jw_doc(&w);
}
