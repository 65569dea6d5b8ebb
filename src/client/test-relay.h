/* An HTTP proxy for tests: notes what it is asked (CONNECT) and, whatever name that was, joins the
 * connection to one port of this machine. On the real loop. */
#ifndef CLIENT_TEST_RELAY_H
#define CLIENT_TEST_RELAY_H

#include "base/test.h"
#include "loop/loop.h"

struct relay {
    struct loop *loop;
    struct loop_io io;
    int port, target;
    const char *answer; /* instead of "200 ok"; it closes then */
    struct strbuf log;  /* heads of requests */
    struct list pairs;
};

void relay_init(struct relay *r, struct loop *l, int target);
void relay_done(struct relay *r);

#endif
