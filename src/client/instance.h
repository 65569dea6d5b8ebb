/*
 * Control planes that run: each leaves a record that it keeps locked while it lives, so that
 * commands and `grove down` find them, and a record without its process is known for what it is.
 * Records are in $XDG_RUNTIME_DIR/grove, or in /tmp/grove-UID, a directory nobody else can write
 * to.
 */
#ifndef CLIENT_INSTANCE_H
#define CLIENT_INSTANCE_H

#include "base/arena.h"
#include "base/err.h"

struct instance {
    int64_t pid;
    str name;                      /* unlike those of the others; also that of its context */
    str address, data, kubeconfig; /* data: empty when it is temporary */
    bool detached;                 /* nobody waits for it at a terminal */
};

/* Of this process; the lock goes with it. */
int instance_record(const struct instance *i, struct err *err);
/* Removes our record. */
void instance_forget(void);
/* Those that run; in the order of their process ids. */
size_t instance_list(struct arena *a, struct instance **ret);
/* A name that no other has: this one, or with the port of the address behind it. */
str instance_free_name(struct arena *a, str name, str address);
/* Asks it to stop and waits until it has. */
int instance_stop(const struct instance *i, struct err *err);

#endif
