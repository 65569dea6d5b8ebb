/*
 * What managedFields of one object have in common with those of the next: pods of one template own
 * the same fields, and writes of one second by one manager carry the same entry.
 *
 * Two small tables of the process, used by the loop thread only. They save time and nothing else:
 * an entry is found by its whole key, never by a hash alone, so that a result does not depend on
 * what was asked before. Both have a fixed number of slots, a newcomer takes the place of whoever
 * has its slot, and what is too large is not kept.
 */
#ifndef APISERVER_VERBS_MANAGED_MEMO_H
#define APISERVER_VERBS_MANAGED_MEMO_H

#include "kube/fieldset.h"
#include "kube/tables/kinds.h"
#include "json/doc.h"

struct memo_key {
    size_t len;
    str owner; /* UID of the only owner: the same object with another one has the same key */
    char text[16 << 10];
};

/* All that decides which fields a new object owns: names, and the values that tell list items
 * apart. skip: a member of the object that does not count, or STR_NONE. False when that is more
 * than worth keeping. */
bool memo_structure(const struct kind *k, jval object, str skip, struct memo_key *ret_key);
/* All that decides what fields become when these are added and those go. */
bool memo_change(str fields, const struct fieldset *changed, const struct fieldset *removed,
                 struct memo_key *ret_key);
/* FieldsV1, in the arena; STR_NONE when not known. */
str memo_get_fields(struct arena *a, const struct memo_key *key);
void memo_put_fields(const struct memo_key *key, str fields);

/* The document with this text, which must be JSON. The caller gets a reference. */
struct doc *memo_doc(str text);

#endif
