/*
 * The user's own kubeconfig: `grove up` adds a context to it, so that kubectl and every command
 * find the control plane without being told, and takes it out again at its end.
 *
 * Nothing else in the file changes: lines that are not ours stay as they are, comments too. The
 * context carries a mark (an extension, as kubeconfigs have them) by which we know it again; one of
 * the same name without the mark is somebody else's and is left alone. The mark remembers which
 * context was current before. The file is locked as kubectl locks it (FILE.lock) and replaced in
 * one step; a symbolic link stays one.
 */
#ifndef CLIENT_CONTEXT_H
#define CLIENT_CONTEXT_H

#include "base/arena.h"
#include "base/err.h"
#include "base/strbuf.h"

/* The file kubectl would write a new context to: of $KUBECONFIG the first that is there, else the
 * last; else ~/.kube/config. Empty: there is no home. */
str context_file(struct arena *a);
/* Whether it is a kubeconfig that a control plane wrote for itself: that one is not the user's. */
bool context_is_own_file(str text);

/* Adds the cluster and the user of a kubeconfig of ours as a context, and makes it the current one;
 * what we added before under the name is replaced. ERR_EXISTS: somebody else has the name.
 * ret_previous, in the arena: the context that was current; empty: none was. */
int context_add(str file, str name, str kubeconfig, struct arena *a, str *ret_previous,
                struct err *err);
/* Takes it out; the one before is current again when ours still is. Nothing to do when it is not
 * there or not ours. */
int context_remove(str file, str name, struct err *err);

/* The same of texts, for tests. 0 with the new text in out. */
int context_edit_add(str text, str name, str kubeconfig, struct strbuf *out, struct arena *a,
                     str *ret_previous, struct err *err);
int context_edit_remove(str text, str name, struct strbuf *out, struct err *err);

#endif
