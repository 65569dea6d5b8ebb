/* What a server writes when it starts: all writes are sent at once (on a disk they are one commit),
 * and `done` is called when every one of them was answered. */
#ifndef APISERVER_BOOT_WRITES_H
#define APISERVER_BOOT_WRITES_H

#include "client/api.h"

struct apiserver;
struct boot_writes;

/* what: "a default role", for messages. done is called once, not from inside; the writes are freed
 * before. */
struct boot_writes *boot_writes_new(struct apiserver *a, const char *what,
                                    void (*done)(void *ctx, const struct err *err), void *ctx);
/* Verb, kind, namespace, patch type and body are read from r; the slices live as long as `want`, of
 * which a reference is held; the reference to the body is taken over. */
void boot_writes_send(struct boot_writes *b, struct api_request r, struct doc *want);
/* The server can do without them: where the store is full that is logged and no error. */
void boot_writes_are_optional(struct boot_writes *b);
/* All were sent. */
void boot_writes_end(struct boot_writes *b);

#endif
