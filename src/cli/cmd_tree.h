/* The hierarchy of sets as a document and as text. */
#ifndef CLI_CMD_TREE_H
#define CLI_CMD_TREE_H

#include "cli/set_view.h"

struct doc *tree_build(const struct picture *p, const struct view_target *t, struct arena *a,
                       struct err *err);
void tree_write(jval doc, bool wide, struct arena *a, struct strbuf *out);

#endif
