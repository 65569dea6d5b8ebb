/*
 * splice: builds a document out of pieces of others, text and tape together, so that nothing is
 * parsed again. A value is copied as a block: its text as it is, its nodes moved by the distance
 * between old and new place. Only containers that changed are written anew.
 *
 * Members that stand side by side in their document and follow each other here are one block, too:
 * they are only noted until something else comes.
 *
 * The caller nests properly and says how many members a container had when it closes it. Overflow
 * (size, depth) is remembered and reported once, by splice_doc.
 */
#ifndef JSON_SPLICE_H
#define JSON_SPLICE_H

#include "json/doc.h"
#include "json/scratch.h"

/* Members or items [at, end) of the tape that are not copied yet; none without a document. */
struct splice_run {
    const struct doc *doc;
    uint32_t at, end;
    uint32_t text_at, text_end;
    bool deep; /* there are containers among them */
};

struct splice {
    struct strbuf text;
    struct strbuf side;
    tape_vec tape;
    uint32_t depth;
    uint32_t deepest;
    uint32_t max_depth;
    bool null; /* it may have one */
    struct splice_run run;
};

/* hint: bytes of text to expect. max_depth 0: the default of a parsed document. */
void splice_init(struct splice *s, size_t hint, uint32_t max_depth);
void splice_done(struct splice *s);
/* Returns the container's mark for splice_close. */
uint32_t splice_open(struct splice *s, bool is_object);
void splice_close(struct splice *s, uint32_t mark, size_t count);
/* Writes the separating comma unless it is the first. */
void splice_key(struct splice *s, str key, bool first);
void splice_comma(struct splice *s, bool first);
/* Absent becomes null. */
void splice_value(struct splice *s, jval v);
/* Key and value; comma and item. */
void splice_member(struct splice *s, str key, jval v, bool first);
void splice_item(struct splice *s, jval v, bool first);
/* Ends it, whatever comes out. */
struct doc *splice_doc(struct splice *s, struct err *err);

#endif
