/*
 * conn: one connection, either role: a transport, what waits to be written, what was read and not
 * yet used, one deadline, and a state. The role (server or client, by protocol) is a table of
 * callbacks; the connection calls them and the role moves the state.
 *
 * States and moves (S: server, C: client):
 *
 *   OPENING ──► IDLE ──► HEAD ──► BODY ──S──► BUSY ──► FLUSH ──► LINGER
 *                ▲         │        │                      ▲ │
 *                │         └────S───┴──────────S───────────┘ │
 *                ├──────────C───────┘                        │
 *                └───────────────────S───────────────────────┘
 *
 *   OPENING  connecting, TLS handshake
 *   IDLE     between two messages
 *   HEAD     S: the request's first byte is here   C: the request is written, the reply awaited
 *   BODY     S: the request's body is arriving     C: the reply's body is arriving
 *   BUSY     S: the handler has the request; its reply is not complete
 *   FLUSH    S: the reply is complete, not all of it written (also an error reply to a bad HEAD
 *            or BODY)
 *   LINGER   S: all written, our side shut; waiting for the peer to end, so that it can read the
 *            reply before a reset destroys it
 *   MUX      after IDLE: HTTP/2, many messages at once; what each of them is doing is the role's.
 *            S: then LINGER
 *   CLOSED   from any state, for good; the memory goes at the end of the loop's iteration
 *
 * Reading never stops while a request is handled, so that a peer that goes away is noticed; what it
 * sends early is kept up to a limit. Writing is deferred to the loop's WRITE phase: however many
 * slices a handler queues, they leave in as few system calls as fit.
 */
#ifndef NET_CONN_H
#define NET_CONN_H

#include "net/outq.h"
#include "net/transport.h"

enum conn_state {
    CONN_OPENING,
    CONN_IDLE,
    CONN_HEAD,
    CONN_BODY,
    CONN_BUSY,
    CONN_FLUSH,
    CONN_LINGER,
    CONN_MUX,
    CONN_CLOSED,
    CONN_STATES,
};

struct conn;

struct conn_role {
    /* The handshake is done; the state is IDLE. */
    void (*opened)(struct conn *c);
    /* Optional: there is something to do for the handshake. It is done when the role calls
     * conn_open; without this, at once. */
    void (*opening)(struct conn *c);
    /* Optional: how many bytes may be read in this turn; 0: none, until the role calls
     * conn_read_on. */
    size_t (*room)(struct conn *c);
    /* Optional: a pause is over. */
    void (*resumed)(struct conn *c);
    /* Uses from *in what it can now; the rest is offered again by conn_resume. */
    void (*input)(struct conn *c, str *in);
    /* The peer writes no more. */
    void (*ended)(struct conn *c);
    /* Optional: the queue holds less than a record; adds to it what else there is to write. Calls
     * nobody outside the connection. */
    void (*fill)(struct conn *c);
    /* Optional: there is more to write than one turn may, or the peer can take bytes again. Without
     * it they are written in the next write phase. */
    void (*more)(struct conn *c);
    /* Some or all of the queue was written. */
    void (*written)(struct conn *c);
    void (*expired)(struct conn *c);
    /* Last but one; err is why, NULL for an orderly end. */
    void (*closed)(struct conn *c, const struct err *err);
    /* Unlink and free: nothing refers to the connection any more. */
    void (*release)(struct conn *c);
};

struct conn {
    struct loop *loop;
    const struct conn_role *role;
    struct transport *t;
    enum conn_state state;
    struct outq out;
    struct strbuf rest; /* read and not yet used, from rest_at on */
    size_t rest_at;
    bool has_ended;   /* the peer's bytes are at an end */
    bool is_doomed;   /* to be closed by the write task */
    bool has_written; /* role->written is owed; a role may set it */
    bool is_paused;   /* nothing is read */
    bool is_waiting;  /* nothing is read: the role has no room */
    uint64_t written; /* bytes, since the beginning */
    struct loop_task write_task;
    struct loop_task resume_task;
    struct loop_task reap_task;
    struct loop_timer timer;
    struct loop_timer pause;
    usec deadline; /* 0: none. The timer may be early; it is set again then. */
};

/* Takes over the transport. The role may be changed later, in any of its callbacks. */
void conn_init(struct conn *c, struct loop *l, const struct conn_role *role, struct transport *t);
/* Frees what the connection holds, in role->release. */
void conn_done(struct conn *c);
/* Begins the handshake. */
void conn_open(struct conn *c);
void conn_set_state(struct conn *c, enum conn_state to);
/* From any callback; role->closed is called before it returns, release later. */
void conn_close(struct conn *c, const struct err *err);
/* Closes at once and releases; not inside a callback of the connection. */
void conn_destroy(struct conn *c);
/* Closes from the write task: safe where the caller does not expect role->closed. */
void conn_doom(struct conn *c);

/* 0: none. */
void conn_set_deadline(struct conn *c, usec due);
/* A write turn in the loop's WRITE phase. */
void conn_flush_later(struct conn *c);
/* Writes, tells the role, closes what is doomed. */
void conn_write_turn(struct conn *c);
/* Only writes what the peer takes, calls nobody; false when the connection is broken (doomed). */
bool conn_flush(struct conn *c);
/* Offers what was kept and reads on, from the loop. */
void conn_resume(struct conn *c);
/* The same at once; not inside a callback of the connection. */
void conn_read_on(struct conn *c);
/* Nothing is read for so long, counted from now; a pause is made longer, never shorter. */
void conn_pause(struct conn *c, usec how_long);
/* Forgets what was kept; not from role->input. */
void conn_discard_rest(struct conn *c);

#endif
