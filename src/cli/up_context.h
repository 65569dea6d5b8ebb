/* What `grove up` leaves in the user's kubeconfig while it runs (client/context.h). */
#ifndef CLI_UP_CONTEXT_H
#define CLI_UP_CONTEXT_H

#include "base/arena.h"
#include "base/err.h"

struct up_context {
    struct arena arena;
    str name;       /* of the instance; also of the context */
    str file;       /* the kubeconfig it was added to; empty: to none */
    str previous;   /* the context that was current before */
    str kubeconfig; /* our own, where it is copied from */
    char why[512];  /* why there is none; empty: nobody asked for one */
};

/* wanted: whether a context is to be added. name is what the user said; empty: "grove". */
void up_context_enter(struct up_context *c, str name, str address, str kubeconfig, bool wanted);
/* Our own kubeconfig was written again. */
void up_context_refresh(struct up_context *c);
void up_context_leave(struct up_context *c);

#endif
