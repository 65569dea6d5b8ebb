/* What a process of a pod sees of the machine: set up by the child between clone and exec. */
#ifndef NODE_SHIM_ENTER_H
#define NODE_SHIM_ENTER_H

#include <stddef.h>
#include <sys/types.h>

/* The words of a start (shim_wire.h), settings only. */
struct enter {
    const char *const *settings;
    size_t n;
    const char *root; /* an empty directory to build the file system on */
};

/* In new mount and pid namespaces: builds the file system that the process sees, read-only as the
 * machine's but for what is mounted, and makes it the root. On failure writes a sentence to `why`
 * and returns -1. */
int enter_build_root(const struct enter *e, char *why, size_t size);
/* Gives up all rights, for the user that the settings name, and executes the command. Returns only
 * on failure, with a sentence in `why`. */
int enter_execute(const struct enter *e, char *why, size_t size);

#endif
