/*
 * How a set is, as a document: the verdict, numbers of replicas, pods, groups and roles, its gangs,
 * what is not as it should be, and the conditions somebody wrote. `grove status -o json` prints it
 * and the page draws it. Pure functions of a picture, which may hold that set alone.
 */
#ifndef EXPLAIN_DOCUMENTS_SET_STATUS_H
#define EXPLAIN_DOCUMENTS_SET_STATUS_H

#include "explain/documents/findings.h"

/* The set as an object of its own, with at most so many gangs and findings (0: all). Gangs that are
 * left out are counted in "moreGangs". */
void set_status_put(struct jw *w, const struct picture *p, const struct obj *pcs, size_t most,
                    struct arena *a);
/* Its verdict, {"state": "...", "text": "..."}, as the member "verdict". */
void set_status_put_verdict(struct jw *w, const struct picture *p, const struct obj *pcs,
                            const struct findings *f, struct arena *a);

#endif
