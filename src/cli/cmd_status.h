/* How sets are, as a document and as text. */
#ifndef CLI_CMD_STATUS_H
#define CLI_CMD_STATUS_H

#include "cli/set_view.h"
#include "explain/documents/findings.h"

struct doc *status_build(const struct picture *p, const struct view_target *t, struct arena *a,
                         struct err *err);
void status_write(jval doc, bool wide, struct arena *a, struct strbuf *out);

/* "waiting: gang x does not fit" in the state's colour. */
void status_write_verdict(jval verdict, struct strbuf *out);

#endif
