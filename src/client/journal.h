/*
 * The journal of decisions: what was decided about an object, by which controller and why, as the
 * plans said it. It lives in memory and only the last of it is kept: a few entries of each object,
 * and of all objects together no more than fits; who was not decided about for longest is forgotten
 * first. Nothing rests on it: it is for people who ask what happened to something that may be gone.
 *
 * Entries are decisions, noted when the plan is accepted. The same decision again (a write that was
 * refused or failed and is planned anew) is counted, not repeated.
 */
#ifndef CLIENT_JOURNAL_H
#define CLIENT_JOURNAL_H

#include "client/plan.h"

enum { JOURNAL_PER_OBJECT = 16, JOURNAL_MAX_BYTES = 4 << 20 };

struct journal;

struct journal *journal_new(size_t max_bytes);
void journal_free(struct journal *j);
/* Every write of the plan that says why, makes, deletes or binds something. at: wall time. */
void journal_note(struct journal *j, usec at, const char *who, const struct plan *p);
/* What is kept of one object, oldest first, as an array of
 * {"time":...,"by":controller,"what":"delete","why":sentence,"count":n}; count where it is more
 * than 1. Empty when nothing is known. */
void journal_put(const struct journal *j, str kind, str ns, str name, struct jw *w);
/* What it holds at present. */
size_t journal_bytes(const struct journal *j);

#endif
