/*
 * The page: a live picture of a cluster in a browser, served in plain HTTP on a loopback address of
 * its own. `grove up` serves it for its administrator, `grove ui` for the user of a kubeconfig. It
 * can do no more than that user.
 *
 * Who gets in: the printed address has a one-time token in its fragment, which browsers do not
 * send; the page exchanges it for a session, which it sends as a header of each request (login.h).
 * There is no cookie. Requests that name another host (DNS rebinding), come from another origin or
 * from a frame are refused, and answers forbid scripts, styles and connections that are not of the
 * page.
 *
 *   GET  /, /app.js, /app.css, /icon.svg      the page itself, from the program
 *   POST /api/session   {"token": ...}        -> {"session": ...}
 *   DELETE /api/session                       ends it
 *   GET  /api/stream                          lines of JSON, for as long as one reads (board.h)
 *   POST /api/ask       {"question", "kind", "namespace", "name", "manifest"}
 *                                             -> {"code", "document", "error"} (questions.h)
 */
#ifndef UI_UI_H
#define UI_UI_H

#include "client/api.h"
#include "loop/loop.h"

enum { UI_MAX_STREAMS = 32, UI_MAX_SESSION_STREAMS = 4, UI_MAX_BODY = 1 << 20 };

struct ui;

struct ui_options {
    const char *listen;     /* a loopback address; NULL: 127.0.0.1 and a free port */
    struct api *api;        /* the user's access; must outlive it */
    const char *kubeconfig; /* as in $KUBECONFIG, for the commands; NULL: as it is. Outlives it */
    const char *context;    /* of it; NULL: its own. Outlives it */
    str ns;                 /* only sets of this namespace; empty: all. Outlives it */
    str server;             /* the API server as people know it. Outlives it */
    bool may_write;
};

struct ui *ui_new(struct loop *l, const struct ui_options *o, struct err *err);
/* A new address to open, "http://127.0.0.1:PORT/#TOKEN", good for one browser. Valid until the next
 * is asked for. */
const char *ui_address(struct ui *u);
/* Opens the last of those addresses in the user's browser, if there is a screen and a program for
 * it. */
void ui_open_browser(struct ui *u);
void ui_free(struct ui *u);

#endif
