/* The hierarchy of a set as text; all sets of the namespace when the name is empty. */
#ifndef CLI_TREE_H
#define CLI_TREE_H

#include "cli/session.h"

int tree_write(struct session *s, str name, struct strbuf *out, struct err *err);

#endif
