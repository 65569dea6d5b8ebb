/* Names of objects for who types: what `complete` of a command offers (base/opt.h). The server is
 * asked, for a second at most; one that does not answer offers nothing. */
#ifndef CLI_OFFER_NAMES_H
#define CLI_OFFER_NAMES_H

#include "base/opt.h"

/* TYPE NAME or TYPE/NAME. */
void names_of_objects(const struct command_typed *t);
/* NAME or pcs/NAME: commands about sets. */
void names_of_sets(const struct command_typed *t);
/* Of control planes that run. */
void names_of_instances(const struct command_typed *t);

#endif
