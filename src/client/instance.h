/*
 * Control planes that run detached: each leaves a record that it keeps locked while it lives, so
 * that `grove down` finds them, and a record without its process is known for what it is. Records
 * are in $XDG_RUNTIME_DIR/grove, or in /tmp/grove-UID, a directory nobody else can write to.
 */
#ifndef CLIENT_INSTANCE_H
#define CLIENT_INSTANCE_H

#include "base/arena.h"
#include "base/err.h"

struct instance {
    int64_t pid;
    str address, data, kubeconfig; /* data: empty when it is temporary */
};

/* Of this process; the lock goes with it. */
int instance_record(const struct instance *i, struct err *err);
/* Removes our record. */
void instance_forget(void);
/* Those that run; in the order of their process ids. */
size_t instance_list(struct arena *a, struct instance **ret);
/* Asks it to stop and waits until it has. */
int instance_stop(const struct instance *i, struct err *err);

#endif
