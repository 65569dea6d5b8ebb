/*
 * YAML out, as `kubectl -o yaml` prints: libyaml's emitter, whose port to Go is what kubectl uses,
 * told the same things: two spaces, no line folding, letters beyond ASCII as they are, sequences at
 * the column of their key. What is ours: the order of keys, and which strings must be quoted so
 * that they read back as strings (anything json/yaml_scalar.h gives another meaning, dates, base 60
 * numbers). Strings with a line break are literal blocks.
 */
#include "base/vec.h"
#include "json/libyaml.h"
#include "json/yaml.h"
#include "json/yaml_scalar.h"

struct member {
    str key;
    jval value;
};

struct writer {
    yaml_emitter_t emitter;
    bool sort_keys;
    size_t flow_max; /* collections of at most so much text stand on one line */
};

/* ---- the order of keys ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The code point at s[i], which starts one; documents are UTF-8. */
static uint32_t rune_at(str s, size_t i)
{
    unsigned char c = (unsigned char)s.p[i];
    if (c < 0x80)
        return c;
    uint32_t v = c >= 0xf0 ? c & 0x07 : c >= 0xe0 ? c & 0x0f : c & 0x1f;
    for (i++; i < s.len && ((unsigned char)s.p[i] & 0xc0) == 0x80; i++)
        v = v << 6 | ((unsigned char)s.p[i] & 0x3f);
    return v;
}

/* Beyond ASCII most code points are letters; these blocks are punctuation, symbols and pictures. */
static bool is_letter(uint32_t rune)
{
    static const struct {
        uint32_t first, last;
    } others[] = {{0x00, 0x40},     {0x5b, 0x60},     {0x7b, 0xa9},      {0xab, 0xb4},
                  {0xb6, 0xb9},     {0xbb, 0xbf},     {0xd7, 0xd7},      {0xf7, 0xf7},
                  {0x2000, 0x2070}, {0x2190, 0x2bff}, {0x3000, 0x3004},  {0xe000, 0xf8ff},
                  {0xfe00, 0xfe6f}, {0xff00, 0xff20}, {0x1f000, 0x1faff}};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (rune >= others[i].first && rune <= others[i].last)
            return false;
    return true;
}

static size_t digits_end(str s, size_t i)
{
    while (i < s.len && is_digit(s.p[i]))
        i++;
    return i;
}

/* Digits [i, end) without leading zeros. */
static str significant(str s, size_t i)
{
    size_t end = digits_end(s, i);
    while (i < end && s.p[i] == '0')
        i++;
    return str_sub(s, i, end);
}

/* Whether a differing digit at i belongs to a number that has begun before it with another digit
 * than zero; then zeros count. */
static bool inside_number(str s, size_t i)
{
    while (i-- > 0 && is_digit(s.p[i]))
        if (s.p[i] != '0')
            return true;
    return false;
}

static int digits_cmp(str a, str b, size_t i)
{
    size_t a_end = digits_end(a, i), b_end = digits_end(b, i);
    if (inside_number(a, i))
        return a_end != b_end ? (a_end < b_end ? -1 : 1) : a.p[i] - b.p[i];
    str x = significant(a, i), y = significant(b, i);
    if (x.len != y.len)
        return x.len < y.len ? -1 : 1;
    int c = str_cmp(x, y);
    if (c)
        return c;
    return a_end != b_end ? (a_end < b_end ? -1 : 1)
                          : (unsigned char)a.p[i] - (unsigned char)b.p[i];
}

/* Natural order: letters after everything else, numbers inside names by value ("a2" before
 * "a10"). */
static int key_cmp(str a, str b)
{
    size_t i = 0;
    while (i < a.len && i < b.len && a.p[i] == b.p[i])
        i++;
    if (i == a.len || i == b.len)
        return a.len == b.len ? 0 : (a.len < b.len ? -1 : 1);
    while (i > 0 && ((unsigned char)a.p[i] & 0xc0) == 0x80)
        i--;
    uint32_t a_rune = rune_at(a, i), b_rune = rune_at(b, i);
    bool a_letter = is_letter(a_rune), b_letter = is_letter(b_rune);
    if (a_letter != b_letter)
        return a_letter ? 1 : -1;
    return a_letter ? (a_rune < b_rune ? -1 : 1) : digits_cmp(a, b, i);
}

/* Merges the sorted halves [lo, mid) and [mid, hi) of m through scratch. */
static void merge_halves(struct member *m, struct member *scratch, size_t lo, size_t mid, size_t hi)
{
    size_t a = lo, b = mid;
    for (size_t i = lo; i < hi; i++) {
        bool take_b = a == mid || (b < hi && key_cmp(m[b].key, m[a].key) < 0);
        scratch[i] = m[take_b ? b++ : a++];
    }
    memcpy(&m[lo], &scratch[lo], (hi - lo) * sizeof(*m));
}

/* The order is kubectl's and not transitive ("2" < "12" < "1a" < "2"): qsort must not be given such
 * a comparison, a merge sort comes to some order with any. */
static void sort_members(struct member *m, size_t n)
{
    struct member *scratch = xmalloc(MAX(n, (size_t)1) * sizeof(*m));
    for (size_t width = 1; width < n; width *= 2)
        for (size_t lo = 0; lo + width < n; lo += 2 * width)
            merge_halves(m, scratch, lo, lo + width, MIN(lo + 2 * width, n));
    free(scratch);
}

/* ---- scalars ---- */

/* [-+]?[0-9][0-9_]*(:[0-5]?[0-9])+(\.[0-9_]*)?: YAML 1.1 readers take it for a number. */
static bool is_base60(str s)
{
    size_t i = s.len && (s.p[0] == '-' || s.p[0] == '+');
    if (i >= s.len || !is_digit(s.p[i]))
        return false;
    while (i < s.len && (is_digit(s.p[i]) || s.p[i] == '_'))
        i++;
    size_t groups = 0;
    while (i < s.len && s.p[i] == ':') {
        size_t n = digits_end(s, i + 1) - (i + 1);
        if (n == 0 || n > 2 || (n == 2 && s.p[i + 1] > '5'))
            return false;
        i += 1 + n;
        groups++;
    }
    if (i < s.len && s.p[i] == '.')
        for (i++; i < s.len && (is_digit(s.p[i]) || s.p[i] == '_');)
            i++;
    return groups > 0 && i == s.len;
}

static yaml_scalar_style_t string_style(str s)
{
    if (str_find_char(s, '\n') >= 0)
        return YAML_LITERAL_SCALAR_STYLE;
    if (yaml_resolve(s, NULL) != YAML_STR || yaml_is_timestamp(s) || is_base60(s))
        return YAML_DOUBLE_QUOTED_SCALAR_STYLE;
    return YAML_PLAIN_SCALAR_STYLE;
}

static void emit(struct writer *w, yaml_event_t *e)
{
    /* Memory is the only thing that can fail: events come in a right order and strings are UTF-8.
     */
    if (!yaml_emitter_emit(&w->emitter, e))
        BUG("yaml emitter");
}

static void emit_scalar(struct writer *w, str s, yaml_scalar_style_t style)
{
    yaml_event_t e;
    if (!yaml_scalar_event_initialize(&e, NULL, NULL, (const yaml_char_t *)(s.p ? s.p : ""),
                                      (int)s.len, 1, 1, style))
        BUG("yaml scalar");
    emit(w, &e);
}

static void emit_string(struct writer *w, str s)
{
    emit_scalar(w, s, string_style(s));
}

/* ---- collections ---- */

static void emit_value(struct writer *w, jval v);

static bool is_flow(const struct writer *w, jval v)
{
    return jtext(v).len <= w->flow_max;
}

static void emit_array(struct writer *w, jval v)
{
    yaml_event_t e;
    yaml_sequence_start_event_initialize(
        &e, NULL, NULL, 1, is_flow(w, v) ? YAML_FLOW_SEQUENCE_STYLE : YAML_ANY_SEQUENCE_STYLE);
    emit(w, &e);
    for (struct jiter it = jiter(v); jnext(&it);)
        emit_value(w, it.value);
    yaml_sequence_end_event_initialize(&e);
    emit(w, &e);
}

static void emit_object(struct writer *w, jval v)
{
    VEC(struct member) members = {0};
    vec_reserve(&members, jlen(v));
    for (struct jiter it = jiter(v); jnext(&it);)
        *vec_push(&members) = (struct member){it.key, it.value};
    if (w->sort_keys)
        sort_members(members.p, members.len);
    yaml_event_t e;
    yaml_mapping_start_event_initialize(
        &e, NULL, NULL, 1, is_flow(w, v) ? YAML_FLOW_MAPPING_STYLE : YAML_ANY_MAPPING_STYLE);
    emit(w, &e);
    for (size_t i = 0; i < members.len; i++) {
        emit_string(w, members.p[i].key);
        emit_value(w, members.p[i].value);
    }
    yaml_mapping_end_event_initialize(&e);
    emit(w, &e);
    vec_done(&members);
}

static void emit_value(struct writer *w, jval v)
{
    switch (jtype(v)) {
    case J_OBJECT:
        emit_object(w, v);
        break;
    case J_ARRAY:
        emit_array(w, v);
        break;
    case J_STRING:
        emit_string(w, jstr(v));
        break;
    case J_ABSENT:
        emit_scalar(w, STR("null"), YAML_PLAIN_SCALAR_STYLE);
        break;
    default:
        emit_scalar(w, jtext(v), YAML_PLAIN_SCALAR_STYLE);
        break;
    }
}

static int write_out(void *ctx, unsigned char *p, size_t n)
{
    strbuf_add(ctx, p, n);
    return 1;
}

static void write_document(struct writer *w, jval v, struct strbuf *out)
{
    if (!yaml_emitter_initialize(&w->emitter))
        BUG("out of memory");
    yaml_emitter_set_output(&w->emitter, write_out, out);
    yaml_emitter_set_unicode(&w->emitter, 1);
    yaml_emitter_set_width(&w->emitter, -1);
    yaml_emitter_set_indent(&w->emitter, 2);
    yaml_event_t e;
    yaml_stream_start_event_initialize(&e, YAML_UTF8_ENCODING);
    emit(w, &e);
    yaml_document_start_event_initialize(&e, NULL, NULL, NULL, 1);
    emit(w, &e);
    emit_value(w, v);
    w->emitter.open_ended = 0; /* no "..." after a block that keeps its line breaks */
    yaml_document_end_event_initialize(&e, 1);
    emit(w, &e);
    yaml_stream_end_event_initialize(&e);
    emit(w, &e);
    yaml_emitter_delete(&w->emitter);
}

void yaml_write(jval v, bool sort_keys, struct strbuf *out)
{
    struct writer w = {.sort_keys = sort_keys};
    write_document(&w, v, out);
}

void yaml_write_short(jval v, struct strbuf *out)
{
    struct writer w = {.flow_max = 128};
    write_document(&w, v, out);
}
