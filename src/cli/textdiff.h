/* What differs between two texts, line by line, as `diff -u` shows it. */
#ifndef CLI_TEXTDIFF_H
#define CLI_TEXTDIFF_H

#include "base/strbuf.h"

/* Appends hunks with three lines around each change, and the two names above them; nothing at all
 * when the texts are the same. */
void textdiff_write(str old_name, str old_text, str new_name, str new_text, struct strbuf *out);

#endif
