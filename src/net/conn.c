/*
 * The connection: moves bytes between transport and role; see conn.h for the states.
 *
 * Bounds: one turn reads at most READ_TURN (a role may say less) and writes at most WRITE_TURN
 * bytes, then others have theirs; at most REST_MAX bytes that the role does not want yet are kept,
 * then reading stops until it does.
 */
#include "net/conn.h"

enum { READ_TURN = 64 << 10, WRITE_TURN = 32 << 10, REST_MAX = 64 << 10, WRITE_PIECES = 128 };

#define TO(state) (1u << CONN_##state)
static const unsigned allowed_moves[CONN_STATES] = {
    [CONN_OPENING] = TO(IDLE) | TO(CLOSED),
    [CONN_IDLE] = TO(HEAD) | TO(MUX) | TO(CLOSED),
    [CONN_HEAD] = TO(BODY) | TO(FLUSH) | TO(CLOSED),
    [CONN_BODY] = TO(BUSY) | TO(FLUSH) | TO(IDLE) | TO(CLOSED),
    [CONN_BUSY] = TO(FLUSH) | TO(CLOSED),
    [CONN_FLUSH] = TO(IDLE) | TO(LINGER) | TO(CLOSED),
    [CONN_LINGER] = TO(CLOSED),
    [CONN_MUX] = TO(LINGER) | TO(CLOSED),
    [CONN_CLOSED] = 0,
};
#undef TO

void conn_set_state(struct conn *c, enum conn_state to)
{
    BUG_ON(!(allowed_moves[c->state] & (1u << to)));
    c->state = to;
}

/* ---- interest and deadline ---- */

static bool wants_input(const struct conn *c)
{
    return !c->has_ended && !c->is_paused && !c->is_waiting && c->rest.len - c->rest_at < REST_MAX;
}

static void update_interest(struct conn *c)
{
    if (c->state != CONN_CLOSED && c->state != CONN_OPENING)
        transport_want(c->t, wants_input(c), c->out.bytes > 0);
}

void conn_set_deadline(struct conn *c, usec due)
{
    c->deadline = due;
    if (due && (!loop_timer_is_set(&c->timer) || c->timer.due > due))
        loop_timer_set(&c->timer, due);
}

/* Most deadlines are moved before they come, so the timer is left alone until it fires. */
static void on_timer(struct loop_timer *timer)
{
    struct conn *c = container_of(timer, struct conn, timer);
    if (!c->deadline)
        return;
    if (loop_now(c->loop) < c->deadline)
        loop_timer_set(timer, c->deadline);
    else
        c->role->expired(c);
}

/* ---- reading ---- */

static size_t rest_len(const struct conn *c)
{
    return c->rest.len - c->rest_at;
}

/* Bytes before rest_at are closed up when there is need for room, not at each message: many small
 * ones that wait would be moved once for each. */
static void keep(struct conn *c, str in)
{
    strbuf_consume(&c->rest, c->rest_at);
    c->rest_at = 0;
    strbuf_add_str(&c->rest, in);
    BUG_ON(c->rest.overflow);
}

/* Hands bytes to the role, older ones first. */
static void feed(struct conn *c, str in)
{
    if (!rest_len(c)) {
        c->role->input(c, &in);
        if (in.len && c->state != CONN_CLOSED)
            keep(c, in);
        return;
    }
    if (in.len)
        keep(c, in);
    str rest = str_sub(strbuf_str(&c->rest), c->rest_at, c->rest.len);
    c->role->input(c, &rest);
    c->rest_at = c->rest.len - rest.len;
    if (!rest.len)
        conn_discard_rest(c);
}

static void broken(struct conn *c)
{
    struct err err = ERR_INIT;
    transport_err(c->t, &err, "connection");
    conn_close(c, &err);
}

/* How much may be read in this turn; 0: the role will say when. */
static size_t room_of(struct conn *c)
{
    size_t room = c->role->room ? c->role->room(c) : READ_TURN;
    c->is_waiting = room == 0;
    return MIN(room, (size_t)READ_TURN);
}

static void read_turn(struct conn *c, size_t room)
{
    char buf[TRANSPORT_RECORD];
    size_t total = 0;
    while (c->state != CONN_CLOSED && wants_input(c)) {
        if (total >= room) {
            /* TLS may hold bytes that the socket will not announce again. */
            conn_resume(c);
            return;
        }
        ssize_t n = transport_read(c->t, buf, sizeof(buf));
        if (n == TRANSPORT_AGAIN)
            return;
        if (n == TRANSPORT_ERROR) {
            broken(c);
        } else if (n == 0) {
            c->has_ended = true;
            c->role->ended(c);
        } else {
            total += (size_t)n;
            feed(c, str_n(buf, (size_t)n));
        }
    }
}

void conn_read_on(struct conn *c)
{
    if (c->is_paused)
        return;
    size_t room = room_of(c);
    if (room && rest_len(c))
        feed(c, STR_NONE);
    if (room && c->state != CONN_CLOSED)
        read_turn(c, room);
    update_interest(c);
}

static void on_resume(struct loop_task *task)
{
    conn_read_on(container_of(task, struct conn, resume_task));
}

void conn_resume(struct conn *c)
{
    loop_defer(c->loop, LOOP_APPLY, &c->resume_task);
}

static void on_pause_over(struct loop_timer *t)
{
    struct conn *c = container_of(t, struct conn, pause);
    c->is_paused = false;
    conn_resume(c);
    if (c->role->resumed)
        c->role->resumed(c);
}

void conn_pause(struct conn *c, usec how_long)
{
    usec until = loop_now(c->loop) + how_long;
    if (c->state == CONN_CLOSED || (c->is_paused && c->pause.due >= until))
        return;
    c->is_paused = true;
    loop_timer_set(&c->pause, until);
    update_interest(c);
}

/* ---- writing ---- */

/* Whoever stands in line is not told again and again that the peer takes bytes. */
static void write_more(struct conn *c)
{
    c->t->writes_later = true;
    if (c->role->more)
        c->role->more(c);
    else
        conn_flush_later(c);
}

bool conn_flush(struct conn *c)
{
    size_t total = 0;
    while (total < WRITE_TURN) {
        if (c->role->fill && c->out.bytes < TRANSPORT_RECORD)
            c->role->fill(c);
        if (c->is_doomed)
            return false;
        if (!c->out.bytes)
            break;
        struct iovec iov[WRITE_PIECES];
        size_t want = c->t->ssl ? TRANSPORT_RECORD : WRITE_TURN;
        int pieces = outq_peek(&c->out, iov, WRITE_PIECES, want);
        /* The peer is woken once for many records and not for each. */
        c->t->has_more = c->out.bytes > want;
        ssize_t n = transport_writev(c->t, iov, pieces);
        if (n == TRANSPORT_AGAIN)
            break;
        if (n < 0) {
            conn_doom(c);
            return false;
        }
        outq_consume(&c->out, (size_t)n);
        total += (size_t)n;
        c->written += (size_t)n;
        c->has_written = true;
    }
    c->t->has_more = false;
    if (total >= WRITE_TURN)
        write_more(c);
    return true;
}

void conn_write_turn(struct conn *c)
{
    c->t->writes_later = false;
    if (!c->is_doomed && conn_flush(c) && c->has_written) {
        c->has_written = false;
        c->role->written(c);
    }
    if (c->is_doomed && c->state != CONN_CLOSED)
        broken(c);
    update_interest(c);
}

static void on_write(struct loop_task *task)
{
    conn_write_turn(container_of(task, struct conn, write_task));
}

void conn_flush_later(struct conn *c)
{
    loop_defer(c->loop, LOOP_WRITE, &c->write_task);
}

void conn_doom(struct conn *c)
{
    c->is_doomed = true;
    conn_flush_later(c);
}

/* ---- life cycle ---- */

static void open_turn(struct conn *c)
{
    struct err err = ERR_INIT;
    int r = transport_open(c->t, &err);
    if (r == TRANSPORT_ERROR)
        conn_close(c, &err);
    if (r != 0)
        return;
    conn_set_state(c, CONN_IDLE);
    c->role->opened(c);
    /* The last flight of the handshake may have brought data along. */
    if (c->state != CONN_CLOSED)
        read_turn(c, room_of(c));
    update_interest(c);
}

static void on_ready(struct transport *t, unsigned events)
{
    struct conn *c = t->ctx;
    if (c->state == CONN_OPENING) {
        if (c->role->opening)
            c->role->opening(c);
        else
            open_turn(c);
        return;
    }
    if (wants_input(c))
        read_turn(c, room_of(c));
    else if (events & LOOP_HANGUP)
        broken(c);
    if (c->state != CONN_CLOSED && c->out.bytes)
        write_more(c);
    update_interest(c);
}

static void on_reap(struct loop_task *task)
{
    struct conn *c = container_of(task, struct conn, reap_task);
    c->role->release(c);
}

void conn_init(struct conn *c, struct loop *l, const struct conn_role *role, struct transport *t)
{
    c->loop = l;
    c->role = role;
    c->t = t;
    c->state = CONN_OPENING;
    strbuf_init(&c->rest, REST_MAX + TRANSPORT_RECORD);
    loop_task_init(&c->write_task, on_write);
    loop_task_init(&c->resume_task, on_resume);
    loop_task_init(&c->reap_task, on_reap);
    loop_timer_init(l, &c->timer, on_timer);
    loop_timer_init(l, &c->pause, on_pause_over);
    if (t) {
        t->on_ready = on_ready;
        t->ctx = c;
    }
}

void conn_done(struct conn *c)
{
    loop_timer_cancel(&c->timer);
    loop_timer_cancel(&c->pause);
    loop_task_cancel(&c->write_task);
    loop_task_cancel(&c->resume_task);
    loop_task_cancel(&c->reap_task);
    outq_done(&c->out);
    strbuf_done(&c->rest);
    transport_free(c->t);
    c->t = NULL;
}

void conn_discard_rest(struct conn *c)
{
    strbuf_done(&c->rest);
    c->rest_at = 0;
}

void conn_open(struct conn *c)
{
    open_turn(c);
}

void conn_close(struct conn *c, const struct err *err)
{
    if (c->state == CONN_CLOSED)
        return;
    conn_set_state(c, CONN_CLOSED);
    if (c->t) {
        if (!err && c->t->is_open)
            transport_shutdown(c->t);
        transport_close(c->t);
    }
    loop_timer_cancel(&c->timer);
    loop_timer_cancel(&c->pause);
    loop_task_cancel(&c->write_task);
    loop_task_cancel(&c->resume_task);
    outq_clear(&c->out);
    c->role->closed(c, err);
    loop_defer(c->loop, LOOP_WRITE, &c->reap_task);
}

void conn_destroy(struct conn *c)
{
    conn_close(c, NULL);
    c->role->release(c);
}
