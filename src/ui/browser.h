/*
 * Opening an address in the user's browser, as far as there is a screen and a program for it.
 *
 * The address has a token in it, and command lines can be read by every user of the machine.
 * Therefore the program is given a file that only this user can read, in a directory of its own
 * below $XDG_RUNTIME_DIR ($TMPDIR, /tmp), and which sends the browser on to the address. It is
 * removed as soon as the token is worth nothing.
 *
 * Nothing waits for the program, which may run for as long as the browser does: in a process group
 * of its own (Ctrl-C is not for it), with no signal blocked. One that fails before the address was
 * used is followed by the next that may be there.
 */
#ifndef UI_BROWSER_H
#define UI_BROWSER_H

#include "base/strbuf.h"
#include "loop/loop.h"

struct browser {
    struct loop *loop;
    struct strbuf address;
    struct strbuf dir, file; /* empty: there is none */
    size_t next;             /* program to try */
    pid_t pid;               /* 0: none runs */
    struct loop_io exit;     /* its pidfd */
};

void browser_init(struct browser *b, struct loop *l);
/* Removes the file; the browser itself stays. */
void browser_done(struct browser *b);
/* Again: the file of the last address is removed. Blocks for as long as it takes to write a small
 * file. */
void browser_open(struct browser *b, const char *address);
/* The token was used: the file that leads to the address which ends in it is removed. */
void browser_used(struct browser *b, str token);

#endif
