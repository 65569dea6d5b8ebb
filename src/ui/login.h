/*
 * Who may look: one-time tokens, which are part of printed addresses, and the sessions that they
 * are exchanged for. Both are 256 random bits and live in this process only. All sessions act as
 * the one user whose credentials the page was started with. A session that is not used for
 * LOGIN_IDLE ends.
 */
#ifndef UI_LOGIN_H
#define UI_LOGIN_H

#include "base/str.h"
#include "loop/loop.h"

enum { LOGIN_MAX_SESSIONS = 16, LOGIN_MAX_TOKENS = 16, LOGIN_SECRET = 44 };
#define LOGIN_IDLE (12 * USEC_PER_HOUR)

struct login_session {
    char id[LOGIN_SECRET]; /* empty: unused */
    usec used;             /* monotonic */
    size_t streams;        /* open; while there is one it does not end */
};

struct login {
    struct loop *loop;
    char tokens[LOGIN_MAX_TOKENS][LOGIN_SECRET];
    size_t next; /* token to be overwritten */
    struct login_session sessions[LOGIN_MAX_SESSIONS];
};

void login_init(struct login *l, struct loop *loop);
/* A new one; the oldest of too many is worth nothing any more. Valid until it is used or the next
 * one is made. */
const char *login_token(struct login *l);
/* The session that the token is good for, once; NULL: for none, or there are too many sessions. */
struct login_session *login_redeem(struct login *l, str token);
/* NULL when there is none of that name. It counts as used now. */
struct login_session *login_find(struct login *l, str id);
void login_end(struct login_session *s);

#endif
