/*
 * Values to text: the streaming writer, quoting, and the printer that walks a tape.
 *
 * The writer keeps two bits per level (nothing written yet; an object) and so knows by itself where
 * a comma belongs. Misuse (a value without a key, an end too many) is a bug of ours and aborts.
 */
#include "json/write.h"

#include <math.h>

#include "json/scratch.h"
#include "json/tape.h"

/* ---- quoting ---- */

static const char hex[] = "0123456789abcdef";

/* Bytes that do not simply stand for themselves: control, quote, backslash, not ASCII. */
static const bool special[256] = {
    [0 ... 0x1f] = true, ['"'] = true, ['\\'] = true, [0x80 ... 0xff] = true};

static inline bool is_special(unsigned char c)
{
    return special[c];
}

static void add_escape(struct strbuf *out, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        char two[2] = {'\\', to[found - from]};
        strbuf_add(out, two, sizeof(two));
    } else {
        char six[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        strbuf_add(out, six, sizeof(six));
    }
}

/* One special byte or sequence at p; returns what is after it. */
static const char *add_special(struct strbuf *out, const char *p, const char *end)
{
    if ((unsigned char)*p < 0x80) {
        add_escape(out, (unsigned char)*p);
        return p + 1;
    }
    unsigned n = utf8_sequence(p, end);
    if (n)
        strbuf_add(out, p, n);
    else
        strbuf_add_cstr(out, "\xef\xbf\xbd");
    return p + (n ? n : 1);
}

#define ONES UINT64_C(0x0101010101010101)
#define TOPS (ONES << 7)

static inline uint64_t load_word(const char *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof(x));
    return x;
}

/* Two times four bytes, which may overlap. */
static inline uint64_t load_halves(const char *a, const char *b)
{
    uint32_t x, y;
    memcpy(&x, a, sizeof(x));
    memcpy(&y, b, sizeof(y));
    return x | (uint64_t)y << 32;
}

/* Eight bytes at once; what looks special among them may still be a byte above a special one. */
static inline bool may_be_special(uint64_t x)
{
    uint64_t quote = x ^ ONES * '"', slash = x ^ ONES * '\\';
    return ((x - ONES * 0x20) | (quote - ONES) | (slash - ONES) | x) & TOPS;
}

bool json_is_plain(str s)
{
    size_t i = 0;
    while (i + 8 <= s.len && !may_be_special(load_word(s.p + i)))
        i += 8;
    /* What is left with some of what was seen before it; of a short one both halves. */
    if (i && i + 8 > s.len && !may_be_special(load_word(s.p + s.len - 8)))
        return true;
    if (s.len < 8 && s.len >= 4 && !may_be_special(load_halves(s.p, s.p + s.len - 4)))
        return true;
    while (i < s.len && !is_special((unsigned char)s.p[i]))
        i++;
    return i == s.len;
}

/* With this behind the closing quote, or nothing when it is zero. What needs no escape, which is
 * nearly everything, is one reservation and one copy. */
static void quote(struct strbuf *out, str s, char behind)
{
    if (!s.p)
        s = STR(""); /* no arithmetic on a null pointer */
    const char *p = s.p, *end = s.p + s.len, *run = p;
    if (LIKELY(json_is_plain(s))) {
        size_t n = s.len + 2 + (behind != 0);
        char *to = strbuf_reserve(out, n);
        if (!to)
            return;
        *to++ = '"';
        if (s.len)
            memcpy(to, s.p, s.len);
        to += s.len;
        *to++ = '"';
        *to = behind;
        strbuf_commit(out, n);
        return;
    }
    strbuf_add_char(out, '"');
    while (p < end) {
        if (!is_special((unsigned char)*p)) {
            p++;
            continue;
        }
        strbuf_add(out, run, (size_t)(p - run));
        run = p = add_special(out, p, end);
    }
    strbuf_add(out, run, (size_t)(p - run));
    strbuf_add_char(out, '"');
    if (behind)
        strbuf_add_char(out, behind);
}

void json_quote(struct strbuf *out, str s)
{
    quote(out, s, '\0');
}

/* ---- the streaming writer ---- */

void jw_init(struct jw *w)
{
    *w = (struct jw){.out = scratch_text()};
}

void jw_done(struct jw *w)
{
    scratch_text_done(&w->out);
    *w = (struct jw){0};
}

static uint64_t level_bit(const struct jw *w)
{
    return (uint64_t)1 << (w->depth - 1);
}

static void comma(struct jw *w)
{
    if (w->first & level_bit(w))
        w->first &= ~level_bit(w);
    else
        strbuf_add_char(&w->out, ',');
}

/* Before any value. */
static void begin_value(struct jw *w)
{
    if (w->depth == 0) {
        BUG_ON(w->out.len > 0); /* one value at the top */
        return;
    }
    if (w->object & level_bit(w)) {
        BUG_ON(!w->after_key);
        w->after_key = false;
    } else {
        comma(w);
    }
}

static void open_level(struct jw *w, bool is_object)
{
    begin_value(w);
    BUG_ON(w->depth == JW_MAX_DEPTH);
    w->depth++;
    w->first |= level_bit(w);
    w->object = is_object ? w->object | level_bit(w) : w->object & ~level_bit(w);
    strbuf_add_char(&w->out, is_object ? '{' : '[');
}

void jw_object(struct jw *w)
{
    open_level(w, true);
}

void jw_array(struct jw *w)
{
    open_level(w, false);
}

void jw_end(struct jw *w)
{
    BUG_ON(w->depth == 0 || w->after_key);
    strbuf_add_char(&w->out, w->object & level_bit(w) ? '}' : ']');
    w->depth--;
}

void jw_key(struct jw *w, str key)
{
    BUG_ON(w->depth == 0 || !(w->object & level_bit(w)) || w->after_key);
    comma(w);
    quote(&w->out, key, ':');
    w->after_key = true;
}

void jw_str(struct jw *w, str s)
{
    begin_value(w);
    json_quote(&w->out, s);
}

void jw_int(struct jw *w, int64_t v)
{
    begin_value(w);
    strbuf_add_int(&w->out, v);
}

void jw_uint(struct jw *w, uint64_t v)
{
    begin_value(w);
    strbuf_add_uint(&w->out, v);
}

/* Fewest digits that read back the same. Below the normal range even one may do; above it a number
 * of up to 15 digits always survives, so the search starts there. */
static void add_real(struct strbuf *out, double v)
{
    char text[40];
    for (int digits = fpclassify(v) == FP_SUBNORMAL ? 1 : 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        if (strtod(text, NULL) == v)
            break;
    }
    strbuf_add_cstr(out, text);
}

void jw_real(struct jw *w, double v)
{
    begin_value(w);
    if (!isfinite(v))
        strbuf_add_cstr(&w->out, "null"); /* JSON has no other word for it */
    else if (v == 0)
        strbuf_add_char(&w->out, '0');
    else
        add_real(&w->out, v);
}

void jw_bool(struct jw *w, bool v)
{
    begin_value(w);
    strbuf_add_cstr(&w->out, v ? "true" : "false");
}

void jw_null(struct jw *w)
{
    begin_value(w);
    strbuf_add_cstr(&w->out, "null");
}

void jw_val(struct jw *w, jval v)
{
    begin_value(w);
    strbuf_add_str(&w->out, j_is_absent(v) ? STR("null") : jtext(v));
}

void jw_raw(struct jw *w, str text)
{
    begin_value(w);
    strbuf_add_str(&w->out, text);
}

void jw_printf(struct jw *w, const char *fmt, ...)
{
    struct strbuf s = STRBUF_INIT(TEXT_MAX);
    va_list ap;
    va_start(ap, fmt);
    strbuf_vprintf(&s, fmt, ap);
    va_end(ap);
    jw_str(w, strbuf_str(&s));
    strbuf_done(&s);
}

void jw_put_str(struct jw *w, const char *key, str s)
{
    jw_key(w, str_of(key));
    jw_str(w, s);
}

void jw_put_time(struct jw *w, const char *key, usec wall)
{
    struct strbuf text = STRBUF_INIT(64);
    time_format_rfc3339(wall, &text);
    jw_put_str(w, key, strbuf_str(&text));
    strbuf_done(&text);
}

void jw_put_cstr(struct jw *w, const char *key, const char *s)
{
    jw_put_str(w, key, str_of(s));
}

void jw_put_int(struct jw *w, const char *key, int64_t v)
{
    jw_key(w, str_of(key));
    jw_int(w, v);
}

void jw_put_bool(struct jw *w, const char *key, bool v)
{
    jw_key(w, str_of(key));
    jw_bool(w, v);
}

void jw_put(struct jw *w, const char *key, jval v)
{
    if (j_is_absent(v))
        return;
    jw_key(w, str_of(key));
    jw_val(w, v);
}

void jw_put_object(struct jw *w, const char *key)
{
    jw_key(w, str_of(key));
    jw_object(w);
}

void jw_put_array(struct jw *w, const char *key)
{
    jw_key(w, str_of(key));
    jw_array(w);
}

/* A key written twice is a bug of the caller, but one that data can trigger, so it is not worth the
 * process: the later one counts. */
struct doc *jw_doc(struct jw *w)
{
    static const struct json_limits limits = {
        .max_bytes = TEXT_MAX, .max_depth = DEPTH_MAX, .allow_duplicate_keys = true};
    BUG_ON(w->depth != 0 || w->out.len == 0 || w->out.overflow);
    struct err err = ERR_INIT;
    struct doc *d = doc_parse_buffer(&w->out, &limits, &err);
    if (!d)
        bug_at(__FILE__, __LINE__, err.message);
    jw_done(w);
    return d;
}

/* ---- printing a tape ---- */

static void add_newline(struct strbuf *out, unsigned columns)
{
    char *p = strbuf_reserve(out, columns + (size_t)1);
    if (!p)
        return;
    p[0] = '\n';
    memset(p + 1, ' ', columns);
    strbuf_commit(out, columns + (size_t)1);
}

static void pretty_value(jval v, unsigned indent, unsigned columns, struct strbuf *out)
{
    enum jtype t = jtype(v);
    if (t != J_OBJECT && t != J_ARRAY) {
        strbuf_add_str(out, j_is_absent(v) ? STR("null") : jtext(v));
        return;
    }
    strbuf_add_char(out, t == J_OBJECT ? '{' : '[');
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (it.index)
            strbuf_add_char(out, ',');
        add_newline(out, columns + indent);
        if (t == J_OBJECT) {
            json_quote(out, it.key);
            strbuf_add_cstr(out, ": ");
        }
        pretty_value(it.value, indent, columns + indent, out);
    }
    if (jlen(v))
        add_newline(out, columns);
    strbuf_add_char(out, t == J_OBJECT ? '}' : ']');
}

/* Copies n bytes in steps of 16: source and target both have 16 bytes of room behind. */
static inline char *copy_wide(char *to, const char *from, size_t n)
{
    char *end = to + n;
    do {
        memcpy(to, from, 16);
        to += 16;
        from += 16;
    } while (to < end);
    return end;
}

struct compact_level {
    uint32_t end; /* tape index at which it closes */
    bool is_object;
};

/* Without spaces the tape can be walked in a straight line: every node is a key, a scalar or an
 * opening bracket, and brackets close where the index says. The result is never longer than the
 * source, so room is reserved once. */
static void compact_value(jval v, struct strbuf *out)
{
    const struct doc *d = v.doc;
    const uint64_t *tape = d->tape;
    char *start = strbuf_reserve(out, jtext(v).len + TEXT_PAD), *to = start;
    if (!start)
        return;
    struct compact_level *levels = xmalloc((d->depth + (size_t)1) * sizeof(*levels));
    size_t depth = 0;
    uint32_t at = v.at, end = tape_next(tape, v.at);
    bool is_key = false;
    for (;;) {
        uint64_t node = tape[at];
        unsigned tag = node_tag(node);
        if (UNLIKELY(is_key && tag >= TAPE_DEAD)) {
            at = tape_next(tape, at + node_width(node));
            goto close;
        }
        const char *from = d->text + node_off(node);
        if (node_is_container(node)) {
            *to++ = *from;
            levels[depth++] = (struct compact_level){(uint32_t)tape[at + 1], tag == TAPE_OBJECT};
            at += 2;
        } else {
            size_t quotes = tag == J_STRING || tag == TAPE_ESC;
            to = copy_wide(to, from - quotes, node_len(node) + 2 * quotes);
            at += node_width(node);
            if (is_key) {
                *to++ = ':';
                is_key = false;
                continue;
            }
            *to++ = ',';
        }
    close:
        while (depth && at == levels[depth - 1].end) {
            to -= to[-1] == ',';
            *to++ = levels[--depth].is_object ? '}' : ']';
            *to++ = ',';
        }
        if (at == end)
            break;
        is_key = levels[depth - 1].is_object;
    }
    to--; /* the comma after the whole value */
    free(levels);
    strbuf_commit(out, (size_t)(to - start));
}

/* compact_value() needs more room than it fills; near the limit of out it gets a buffer of its own.
 */
static void compact_near_limit(jval v, struct strbuf *out)
{
    struct strbuf roomy = STRBUF_INIT(TEXT_MAX * 2);
    compact_value(v, &roomy);
    strbuf_add_str(out, strbuf_str(&roomy));
    strbuf_done(&roomy);
}

void json_pretty(jval v, unsigned indent, struct strbuf *out)
{
    if (indent > 0 || j_is_absent(v))
        pretty_value(v, indent, 0, out);
    else if (LIKELY(out->max - out->len > jtext(v).len + TEXT_PAD))
        compact_value(v, out);
    else
        compact_near_limit(v, out);
}
