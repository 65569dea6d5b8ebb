/*
 * jw: a streaming writer. It emits compact JSON text into a strbuf and inserts commas itself;
 * wrong nesting is a bug and aborts. jw_doc() ends it and gives the document.
 *
 *   struct jw w; jw_init(&w);
 *   jw_object(&w);
 *     jw_key(&w, STR("kind"));  jw_str(&w, STR("Pod"));
 *     jw_put(&w, "spec", spec);              a value of another document, its text as it is
 *   jw_end(&w);
 *   struct doc *d = jw_doc(&w);
 */
#ifndef JSON_WRITE_H
#define JSON_WRITE_H

#include "base/timefmt.h"
#include "json/doc.h"

#define JW_MAX_DEPTH 64

struct jw {
    struct strbuf out;
    unsigned depth;
    bool after_key;
    uint64_t first;  /* bit per level: nothing written yet */
    uint64_t object; /* bit per level: an object */
};

void jw_init(struct jw *w);
/* For a writer that was not turned into a document. */
void jw_done(struct jw *w);
void jw_object(struct jw *w);
void jw_array(struct jw *w);
/* Closes the innermost object or array. */
void jw_end(struct jw *w);
void jw_key(struct jw *w, str key);
void jw_str(struct jw *w, str s); /* invalid UTF-8 becomes U+FFFD */
void jw_int(struct jw *w, int64_t v);
void jw_uint(struct jw *w, uint64_t v);
void jw_real(struct jw *w, double v); /* shortest form that reads back the same; NaN is null */
void jw_bool(struct jw *w, bool v);
void jw_null(struct jw *w);
/* Copies the value's text; absent writes null. */
void jw_val(struct jw *w, jval v);
/* Text that is already valid JSON. */
void jw_raw(struct jw *w, str text);
void jw_printf(struct jw *w, const char *fmt, ...) PRINTF_LIKE(2, 3); /* as a string */

/* Member in one call; key is a C string literal. */
void jw_put_str(struct jw *w, const char *key, str s);
/* A wall time, as RFC 3339 in whole seconds. */
void jw_put_time(struct jw *w, const char *key, usec wall);
void jw_put_cstr(struct jw *w, const char *key, const char *s);
void jw_put_int(struct jw *w, const char *key, int64_t v);
void jw_put_bool(struct jw *w, const char *key, bool v);
/* Nothing at all when the value is absent. */
void jw_put(struct jw *w, const char *key, jval v);
void jw_put_object(struct jw *w, const char *key);
void jw_put_array(struct jw *w, const char *key);

/* Ends the writer and gives what it wrote as a document. Text of ours cannot fail to parse; invalid
 * jw_raw text and more than 256 MiB (see w->out.overflow) are bugs and abort. A key written twice
 * counts once, the later one. */
struct doc *jw_doc(struct jw *w);

/* Needs no escapes: as a JSON string it is the same bytes between quotes. */
bool json_is_plain(str s);
/* Appends s as a JSON string with quotes. */
void json_quote(struct strbuf *out, str s);
/* Indented text (4 spaces per level when indent is 4), for people; 0 gives compact text on one
 * line. Strings and numbers stay as they are written. */
void json_pretty(jval v, unsigned indent, struct strbuf *out);

#endif
