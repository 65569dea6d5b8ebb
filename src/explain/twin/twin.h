/*
 * A twin of a cluster in which something can be tried: the whole control plane (admission,
 * controllers, gang scheduler) in this process under virtual time, with the nodes of the cluster
 * and the pods that hold room on them. Nothing of it reaches the cluster.
 *
 * Pods are taken over as what holds resources and what others' affinity speaks of; their owners and
 * gangs are not, so nothing is preempted: the question is what fits into what is free. Only what is
 * of a set that is adopted comes whole.
 */
#ifndef EXPLAIN_TWIN_TWIN_H
#define EXPLAIN_TWIN_TWIN_H

#include "explain/documents/picture.h"
#include "json/yaml.h"

struct twin;

/* The picture has nodes and all pods. Pods of the set `without` (in the namespace) are left out: it
 * is asked about anew. */
struct twin *twin_new(const struct picture *p, str ns, str without, struct err *err);
void twin_free(struct twin *t);

/* Refuses what would take hours to try: sets of more pods than the nodes of the picture hold. */
int twin_check_size(const struct picture *p, const doc_vec *docs, struct err *err);

/* Objects that decisions rest on: topologies, priorities. A cluster may lack the kinds, or not show
 * them: then there are none. */
enum { TWIN_SETTINGS = 2 };
struct twin_settings {
    struct session_list lists[TWIN_SETTINGS];
};
void twin_read_settings(struct session *s, struct twin_settings *ret);
void twin_copy_settings(struct twin *t, const struct twin_settings *settings);

/* Takes over a set with all that is of it in the picture (children, gangs, maps, revisions, pods)
 * as it is, identity, owners and status included: the controllers go on where those of the cluster
 * are, and have a second to catch up with what was read in between. */
int twin_adopt(struct twin *t, const struct picture *p, const struct obj *pcs, struct err *err);

/* Creates it as an administrator; what it is not admitted for is the error. strict: fields that
 * nobody knows too. */
int twin_create(struct twin *t, const struct kind *k, str ns, struct doc *d, bool strict,
                struct err *err);
/* The accounts that the pods of this set name, where they are not there yet: the twin knows none of
 * the cluster's, and a pod without its account is refused. */
void twin_make_accounts(struct twin *t, str ns, jval pcs);
/* As `grove apply` does it; *ret is the set as it is then, the caller's to unref. */
int twin_apply(struct twin *t, const struct kind *k, str ns, str name, struct doc *d,
               struct obj **ret, struct err *err);
/* Runs on for so long. Every half second nodes do their work: pods that were bound become ready,
 * pods that are going are gone. False: it does not come to an end. */
bool twin_run(struct twin *t, usec time);
/* Grows with every write. */
uint64_t twin_revision(const struct twin *t);
/* Since it began. */
usec twin_time(const struct twin *t);
/* Until nothing happens any more. False: it did not come to rest. */
bool twin_settle(struct twin *t);
/* From now on changes of what sets are made of in the namespace are kept: sets, groups, cliques,
 * pods, gangs and their maps. What is there counts as the first change. */
void twin_watch(struct twin *t, str ns);
struct twin_change {
    struct obj *obj;
    bool gone; /* it is no more; the object is as it was last */
};
/* What a planner said of a write to a map of gangs. */
struct twin_word {
    str map, text;
};
struct twin_news {
    const struct twin_change *changes; /* each object once, as it is now */
    size_t n;
    const struct twin_word *words; /* a word may come before the change */
    size_t n_words;
};
/* What changed since this was asked last; valid until it is asked again. */
struct twin_news twin_news(struct twin *t);
/* What is there now, of these parts (a mask); valid until the next call. */
void twin_picture(struct twin *t, str ns, unsigned parts, struct picture *ret);

#endif
