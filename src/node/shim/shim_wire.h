/*
 * What an agent and a shim say to each other: messages on a SOCK_SEQPACKET socket, each a row of
 * words that end in NUL. The first word is the verb.
 *
 * Agent to shim:
 *   start NAME ATTEMPT STREAK SANDBOX SETTING...   run a container; settings are "key=value", below
 *   stop NAME ATTEMPT MILLISECONDS    TERM now, KILL after that; a shorter time later is heard
 *   exec ID NAME SETTING...           run a command inside; stdin, stdout, stderr by SCM_RIGHTS
 *   cancel ID                         end such a command
 *   end                               go, when nothing runs
 *   quit                              go, and let everything end at once
 *
 * Shim to agent, when it connects and at every change:
 *   run NAME ATTEMPT STREAK SANDBOX STARTED-WALL STARTED-STEADY
 *   exit NAME ATTEMPT STREAK SANDBOX STARTED-WALL STARTED-STEADY FINISHED-WALL FINISHED-STEADY CODE
 *        SIGNAL REASON MESSAGE
 *   synced                            everything that is there has been told
 *   execed ID CODE                    a command has ended
 *
 * Times are microseconds; steady ones are CLOCK_MONOTONIC. "exit" is in the container's directory,
 * as NAME/exit, before anybody is told; NAME/exit.last is the run before. Both are such a row.
 *
 * Settings of a start, in the order in which they take effect:
 *   arg=...  env=KEY=VALUE  cwd=DIR  uid=N  gid=N  group=N   log=BASENAME of the log file
 *   mount=SOURCE<TAB>TARGET<TAB>ro|rw   hide=PATH   readonly-tmp= (no private /tmp: volumes only)
 */
#ifndef NODE_SHIM_WIRE_H
#define NODE_SHIM_WIRE_H

#define SHIM_SOCKET "shim.sock"
#define SHIM_LOCK "shim.lock"
/* The directory of the pod, as the shim finds it. */
#define SHIM_DIR_FD 3

enum {
    SHIM_MESSAGE_MAX = 160 * 1024, /* what a Linux socket takes by default, and some to spare */
    SHIM_WORDS_MAX = 4096,
    SHIM_CONTAINERS_MAX = 64,        /* of one pod */
    SHIM_LOG_MAX = 10 * 1024 * 1024, /* of one file; then it is rotated */
    SHIM_LOG_FILES = 5,
};

#endif
