/* CEL: text to tokens. A string token says what it means, its escapes resolved. */
#include "kube/cel/cel_impl.h"

static bool is_name_start(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static char peek(const struct cel_lexer *l, size_t ahead)
{
    return l->at + ahead < l->text.len ? l->text.p[l->at + ahead] : '\0';
}

static void skip_blanks(struct cel_lexer *l)
{
    for (;;) {
        char c = peek(l, 0);
        if (l->at < l->text.len && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f')) {
            l->at++;
        } else if (c == '/' && peek(l, 1) == '/') {
            while (l->at < l->text.len && l->text.p[l->at] != '\n')
                l->at++;
        } else {
            return;
        }
    }
}

static void take_name(struct cel_lexer *l)
{
    while (is_name_start(peek(l, 0)) || is_digit(peek(l, 0)))
        l->at++;
    l->token = CEL_T_NAME;
    l->word = str_sub(l->text, l->token_at, l->at);
}

static void take_digits(struct cel_lexer *l, bool hex)
{
    for (char c = peek(l, 0);
         is_digit(c) || (hex && ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'))); c = peek(l, 0))
        l->at++;
}

static void take_number(struct cel_lexer *l)
{
    bool hex = peek(l, 0) == '0' && (peek(l, 1) == 'x' || peek(l, 1) == 'X');
    l->token = CEL_T_INT;
    if (hex)
        l->at += 2;
    take_digits(l, hex);
    if (!hex && peek(l, 0) == '.' && is_digit(peek(l, 1))) {
        l->token = CEL_T_DOUBLE;
        l->at++;
        take_digits(l, false);
    }
    if (!hex && (peek(l, 0) == 'e' || peek(l, 0) == 'E')) {
        l->token = CEL_T_DOUBLE;
        l->at++;
        if (peek(l, 0) == '+' || peek(l, 0) == '-')
            l->at++;
        take_digits(l, false);
    }
    l->word = str_sub(l->text, l->token_at, l->at);
    if (l->token == CEL_T_INT && (peek(l, 0) == 'u' || peek(l, 0) == 'U')) {
        l->token = CEL_T_UINT;
        l->at++;
    }
}

/* ---- strings ---- */

static int hex_value(char c)
{
    return is_digit(c)            ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

static void put_utf8(struct strbuf *b, uint32_t c)
{
    if (c < 0x80) {
        strbuf_add_char(b, (char)c);
    } else if (c < 0x800) {
        strbuf_add_char(b, (char)(0xc0 | c >> 6));
        strbuf_add_char(b, (char)(0x80 | (c & 0x3f)));
    } else if (c < 0x10000) {
        strbuf_add_char(b, (char)(0xe0 | c >> 12));
        strbuf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_add_char(b, (char)(0x80 | (c & 0x3f)));
    } else {
        strbuf_add_char(b, (char)(0xf0 | c >> 18));
        strbuf_add_char(b, (char)(0x80 | (c >> 12 & 0x3f)));
        strbuf_add_char(b, (char)(0x80 | (c >> 6 & 0x3f)));
        strbuf_add_char(b, (char)(0x80 | (c & 0x3f)));
    }
}

/* A character by number, or in bytes one of them. */
static bool put_code(struct strbuf *b, uint32_t c, bool is_byte)
{
    bool is_scalar = is_byte ? c <= 0xff : c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
    if (is_scalar && is_byte)
        strbuf_add_char(b, (char)c);
    else if (is_scalar)
        put_utf8(b, c);
    return is_scalar;
}

/* \x41, \u0041, \U00000041 */
static bool take_hex(struct cel_lexer *l, struct strbuf *b, size_t digits, bool is_byte)
{
    uint32_t c = 0;
    for (size_t i = 0; i < digits; i++, l->at++) {
        int v = hex_value(peek(l, 0));
        if (v < 0)
            return false;
        c = c << 4 | (uint32_t)v;
    }
    return put_code(b, c, is_byte);
}

/* \101, its first digit taken. */
static bool take_octal(struct cel_lexer *l, struct strbuf *b, char first, bool is_byte)
{
    uint32_t c = (uint32_t)(first - '0');
    for (size_t i = 0; i < 2; i++, l->at++) {
        char d = peek(l, 0);
        if (d < '0' || d > '7')
            return false;
        c = c << 3 | (uint32_t)(d - '0');
    }
    return put_code(b, c, is_byte);
}

static bool take_escape(struct cel_lexer *l, struct strbuf *b, bool is_bytes)
{
    static const char from[] = "abfnrtv\\'\"`?", to[] = "\a\b\f\n\r\t\v\\'\"`?";
    char c = peek(l, 0);
    const char *known = c ? strchr(from, c) : NULL;
    l->at++;
    if (known) {
        strbuf_add_char(b, to[known - from]);
        return true;
    }
    return c >= '0' && c <= '3'   ? take_octal(l, b, c, is_bytes)
           : c == 'x' || c == 'X' ? take_hex(l, b, 2, is_bytes)
           : is_bytes             ? false
           : c == 'u'             ? take_hex(l, b, 4, false)
           : c == 'U'             ? take_hex(l, b, 8, false)
                                  : false;
}

static void take_string(struct cel_lexer *l, bool raw, bool is_bytes)
{
    struct strbuf b = STRBUF_INIT(CEL_MAX_TEXT * 4);
    char quote = peek(l, 0);
    size_t n = peek(l, 1) == quote && peek(l, 2) == quote ? 3 : 1;
    l->token = CEL_T_BAD;
    l->at += n;
    while (l->at < l->text.len) {
        bool ends = peek(l, 0) == quote && (n == 1 || (peek(l, 1) == quote && peek(l, 2) == quote));
        if (ends) {
            l->at += n;
            l->token = is_bytes ? CEL_T_BYTES : CEL_T_STRING;
            break;
        }
        if (n == 1 && peek(l, 0) == '\n')
            break;
        if (peek(l, 0) == '\\' && !raw) {
            l->at++;
            if (!take_escape(l, &b, is_bytes))
                break;
        } else {
            strbuf_add_char(&b, l->text.p[l->at++]);
        }
    }
    l->word = arena_str(l->arena, strbuf_str(&b));
    strbuf_done(&b);
}

/* r'', b'', rb'' and so on; false: it is something else. */
static bool take_prefixed(struct cel_lexer *l)
{
    bool raw = false, bytes = false;
    size_t n = 0;
    for (; n < 2; n++) {
        char c = peek(l, n);
        if ((c == 'r' || c == 'R') && !raw)
            raw = true;
        else if ((c == 'b' || c == 'B') && !bytes)
            bytes = true;
        else
            break;
    }
    if (peek(l, n) != '"' && peek(l, n) != '\'')
        return false;
    l->at += n;
    take_string(l, raw, bytes);
    return true;
}

/* ---- signs ---- */

static void take_sign(struct cel_lexer *l)
{
    static const char *const signs[] = {"&&", "||", "==", "!=", "<=", ">=", "<", ">",
                                        "!",  "?",  ":",  "+",  "-",  "*",  "/", "%",
                                        "(",  ")",  "[",  "]",  "{",  "}",  ",", "."};
    l->token = CEL_T_BAD;
    l->word = str_sub(l->text, l->at, l->at + 1);
    for (size_t i = 0; i < ARRAY_LEN(signs) && l->token == CEL_T_BAD; i++) {
        if (!str_starts(str_sub(l->text, l->at, l->text.len), str_of(signs[i])))
            continue;
        l->token = CEL_T_SIGN;
        l->word = str_of(signs[i]);
    }
    l->at += l->word.len;
}

void cel_lex_next(struct cel_lexer *l)
{
    skip_blanks(l);
    l->token_at = l->at;
    char c = peek(l, 0);
    if (l->at >= l->text.len) {
        l->token = CEL_T_END;
        l->word = STR("<EOF>");
    } else if (take_prefixed(l)) {
        return;
    } else if (is_name_start(c)) {
        take_name(l);
    } else if (is_digit(c) || (c == '.' && is_digit(peek(l, 1)))) {
        take_number(l);
    } else {
        take_sign(l);
    }
}
