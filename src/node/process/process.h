/*
 * The process driver: pods as processes of this machine, with nothing installed. Each pod has a
 * shim (node/shim), which is the parent of its processes and outlives whoever started it; this
 * driver starts shims, asks them, and keeps what they tell as what was observed of their pods.
 *
 *   DIR/pods/UID/pod.json       the pod as it was when it was started, for who comes after us
 *   DIR/pods/UID/sandbox        which sandbox of the pod this is: 0, 1, ...
 *   DIR/pods/UID/volumes/NAME   its volumes
 *   DIR/pods/UID/root           where each process builds its root, in its own mount namespace
 *   DIR/pods/UID/shim/          the shim's: socket, lock, and for each container
 *   DIR/pods/UID/shim/NAME/     exit, exit.last, 0.log, 1.log, ... (shim_wire.h, shim_log.h)
 *
 * process_new adopts what it finds there: pods whose shim answers go on as if nothing had happened,
 * those whose shim does not have lost their sandbox. Nothing is signalled by pid.
 *
 * What may block (directories, volumes, starting a shim) is done by the loop's worker.
 */
#ifndef NODE_PROCESS_PROCESS_H
#define NODE_PROCESS_PROCESS_H

#include "base/err.h"
#include "loop/loop.h"
#include "node/machine/machine.h"
#include "node/process/pod_words.h"

struct process;

struct process_options {
    struct loop *loop;
    const char *dir;
    /* Something was observed of the pod of this name. */
    void (*changed)(void *ctx, str ns, str name);
    void *ctx;
};

struct process *process_new(const struct process_options *o, struct err *err);
/* The pods go on. */
void process_free(struct process *p);
/* Ends every shim and all that it holds, at once. */
void process_quit(struct process *p);

/* The clock that its moments are on. */
usec process_now(const struct process *p);
/* What was observed of a pod, in the order of its parts; slices live as long as the arena. */
void process_seen(struct process *p, const struct obj *pod, struct arena *a, struct pod_seen *ret);
/* Begins to do it. The words are those of a start (pod_words.h), the files those of a sandbox. */
void process_act(struct process *p, const struct obj *pod, const struct machine_action *action,
                 const struct pod_words *words);

/* It cannot be done yet, as a reason and a sentence: that is what is observed, and in a while it is
 * asked again. */
void process_block(struct process *p, const struct obj *pod, const struct machine_action *action,
                   str reason, str why);

/* A pod of this name that is here and is not the one with this UID; NULL: none. */
const struct obj *process_other(struct process *p, str ns, str name, str uid);
/* The one of this name that was created last; NULL: none is here. */
const struct obj *process_newest(struct process *p, str ns, str name);
/* The next pod that is here, by UID; NULL: no more. For who begins. */
const struct obj *process_next(struct process *p, str after_uid);
/* Nothing of it runs, and nothing of it is needed any more: its directory goes. */
void process_forget(struct process *p, str uid);

/* Runs a command in a container that runs. fds (stdin, stdout, stderr) are duplicated; done is
 * called once, with 126 when that was not possible. */
typedef void process_exec_done(void *ctx, int code);
void process_exec(struct process *p, str uid, str container, const struct pod_words *words,
                  const int fds[3], process_exec_done *done, void *ctx);
/* The commands of this ctx are ended, and nobody is told. */
void process_exec_forget(struct process *p, void *ctx);

/* The directory of a container's logs; in the arena. Empty: the pod is not here. */
str process_log_dir(struct process *p, str uid, str container, struct arena *a);

#endif
