/*
 * What a process of a pod is told: its command, its environment and what it sees of the machine, as
 * the words of a shim's `start` (shim_wire.h); and the files of the pod's volumes. Pure: from the
 * pod, its node and the ConfigMaps and Secrets that it names.
 */
#ifndef NODE_PROCESS_POD_WORDS_H
#define NODE_PROCESS_POD_WORDS_H

#include "base/vec.h"
#include "kube/object.h"

/* A file of a volume. */
struct pod_file {
    str path; /* below volumes/: "NAME/file" */
    str content;
    unsigned mode;
};

struct pod_words {
    struct arena *arena;
    VEC(str) words;
    VEC(struct pod_file) files; /* of all volumes; a path that ends in '/' is a directory */
    usec sleep;                 /* of a hook that only waits; -1: it is a command */
    size_t bytes, file_bytes;   /* how much that is */
    str problem;                /* why it cannot be started; empty: it can */
    str problem_reason;         /* "CreateContainerConfigError" */
};

/* Where things are found out. */
struct pod_words_input {
    const struct obj *pod, *node;
    str pod_dir, hide; /* the pod's directory; a directory that nobody sees */
    str ip;
    bool privileged; /* hostPath, uid 0 and the like are allowed */
    struct obj *(*find)(void *ctx, const struct kind *k, str ns, str name);
    void *ctx;
};

void pod_words_done(struct pod_words *w);
/* The settings of one container. */
void pod_words_start(const struct pod_words_input *in, jval container, struct pod_words *ret);
/* A command inside a container that runs: the same environment and user. */
void pod_words_exec(const struct pod_words_input *in, jval container, const str *args, size_t n,
                    struct pod_words *ret);
/* Its postStart or preStop hook. */
void pod_words_hook(const struct pod_words_input *in, jval container, bool pre_stop,
                    struct pod_words *ret);
/* The files of its volumes. */
void pod_words_volumes(const struct pod_words_input *in, struct pod_words *ret);
/* The user that a pod runs as when it does not say: its own. */
uint32_t pod_words_uid(const struct obj *pod);
/* What of one container does, as of an ephemeral one that comes later. In the arena. */
str pod_words_container_refused(const struct obj *pod, jval container, bool privileged,
                                struct arena *a);
/* What asks for more than a process has, in one sentence; empty: nothing. In the arena. */
str pod_words_refused(const struct obj *pod, bool privileged, struct arena *a);

#endif
