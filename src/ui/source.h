/*
 * What the page is made from: caches of what the user may see, and the items of the board made from
 * them. The caches run only while somebody looks.
 *
 * Items: "meta" (where, who, what could not be read), "node/NAME" (explain/documents/fleet.h) and
 * "set/NAMESPACE/NAME" (explain/documents/set_status.h, with its namespace). A change touches what
 * it is about: a pod its node and its set, anything else of a set that set.
 */
#ifndef UI_SOURCE_H
#define UI_SOURCE_H

#include "client/api.h"
#include "ui/board.h"

struct source;

struct source_options {
    struct api *api; /* the user's access; must outlive it */
    str ns;          /* sets in this namespace; empty: in all. Must outlive it */
    str server;      /* as people know it; must outlive it */
    bool may_write;  /* pause, resume and undo updates */
    struct board *board;
};

struct source *source_new(struct loop *l, const struct source_options *o);
void source_free(struct source *s);
void source_start(struct source *s);
/* Forgets everything; the board is cleared. */
void source_stop(struct source *s);
/* board_options.make */
bool source_make(struct source *s, str name, struct jw *w, struct arena *a);
/* The set, or NULL. Borrowed. */
const struct obj *source_set(const struct source *s, str ns, str name);

#endif
