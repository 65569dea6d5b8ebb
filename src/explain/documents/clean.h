/*
 * Texts of other people on a terminal: a name or a message may hold anything, and a terminal takes
 * some of it as an order. Whatever is shown goes through here once: views and tables as the
 * document they are written from, errors and references as they are printed. JSON and YAML have
 * escapes of their own and are left alone.
 */
#ifndef EXPLAIN_DOCUMENTS_CLEAN_H
#define EXPLAIN_DOCUMENTS_CLEAN_H

#include "base/arena.h"
#include "json/doc.h"

enum clean_lines { CLEAN_ALL, CLEAN_KEEP_LINES }; /* whether line breaks are part of the text */

/* The text with control characters written out ("\u001b", "\n"); the same one when it has none. */
str clean_text(struct arena *a, str text, enum clean_lines lines);
/* A document with such strings in place of its own; NULL when it needs none. */
struct doc *clean_doc(jval root, enum clean_lines lines);

/* Names of gangs end in the time they were made: "chat-0-1795015013473408007". In text for people
 * all but the last digits of such a number go: "chat-0-…408007". The same text when there is none.
 */
str clean_short(struct arena *a, str text);
/* A document with such strings in place of its own; NULL when it needs none. */
struct doc *clean_short_doc(jval root);
/* Whether a name that somebody copied from such a text means this one. */
bool clean_is_short_for(str given, str name);

#endif
