/*
 * managedFields and server-side apply, as pure functions over documents and kind tables.
 *
 * A set of fields is FieldsV1: "f:name" for members, "k:{...}" for items of a list-map by their
 * keys, "v:..." for items of a set, "." for the thing itself. Atomic lists and maps are leaves.
 */
#ifndef APISERVER_VERBS_MANAGED_H
#define APISERVER_VERBS_MANAGED_H

#include "base/timefmt.h"
#include "kube/status.h"
#include "kube/tables/kinds.h"
#include "json/edit.h"

/* Managers that wrote in another version of the kind own fields of that version. Where a webhook
 * converts between versions they are judged by the object in theirs, as kube-apiserver does; where
 * only apiVersion differs their paths are those of any version. */
struct managed_versions {
    void *ctx;
    /* The document in that version, which is of the kind *ret_kind; borrowed. NULL with a kind: it
     * has to be converted first, and whoever called is to call again when it is. NULL without one:
     * there is no such version any more. */
    const struct doc *(*as)(void *ctx, const struct doc *d, str api_version,
                            const struct kind **ret_kind);
};

/* After a create, update or patch: `new` with metadata.managedFields telling who changed what
 * (operation Update). old is NULL on create. Takes over nothing; returns a new reference, which is
 * `new` itself when nothing changed.
 *
 * Whatever differs between old and new is the manager's, so call it when the request's own changes
 * and the defaults are in `new` and those of admission (service account, cluster IP) are not.
 * A list the client edited is the starting point, [] and [{}] forget all owners, and a client that
 * sends none keeps the live ones; a subresource always starts from the live ones. */
struct doc *managed_update(const struct kind *k, const struct doc *old, struct doc *new,
                           str manager, str subresource, usec now);
/* The same as a change to `new`, for a caller that has more to change: nothing is added when
 * nothing changed. versions: NULL where only apiVersion differs. False: a version is not known yet,
 * and there is no change. */
bool managed_update_edit(const struct kind *k, const struct doc *old, const struct doc *new,
                         str manager, str subresource, usec now,
                         const struct managed_versions *versions, struct edit *e);
/* Server-side apply of a configuration onto the live object (NULL: create). On conflicts returns
 * NULL and the 409 in *ret_status; a configuration that breaks the schema gives kube-apiserver's
 * 500. Subresource "status" applies the status only, no subresource all but the status (where the
 * kind has one apart). The result is merged and carries its managedFields; it is `live` itself when
 * nothing changed. Defaults and validation are the caller's. */
struct doc *managed_apply(const struct kind *k, const struct doc *live, struct doc *config,
                          str manager, str subresource, bool force, usec now, struct arena *a,
                          struct status **ret_status);
/* The same with its managedFields as a change to the result, for a caller that has more to change.
 * NULL without a status: a version is not known yet. */
struct doc *managed_apply_edit(const struct kind *k, const struct doc *live, struct doc *config,
                               str manager, str subresource, bool force, usec now,
                               const struct managed_versions *versions, struct arena *a,
                               struct edit *e, struct status **ret_status);

#endif
