/*
 * What the tests of the front end share: the fixture's server behind HTTP on an in-memory pipe, on
 * the virtual loop. Requests in one line, answers kept for looking at, and watches that collect
 * their lines. JSON in request bodies is written with single quotes.
 */
#ifndef APISERVER_FRONT_TEST_FRONT_FIXTURE_H
#define APISERVER_FRONT_TEST_FRONT_FIXTURE_H

#include "apiserver/front/front_impl.h"
#include "apiserver/front/test-front-pipe.h"
#include "apiserver/test-apiserver-fixture.h"

#define WEB_TOKEN "the-administrators-token"
#define WEB_MAX (64 << 20)

struct web {
    struct fixture f;
    struct front *front;
    struct http_client *client;
    struct front_pipe pipe;
    /* of the next requests */
    const char *token; /* NULL: none */
    const char *accept, *content_type;
    const char *header, *header_value; /* one more; NULL: none */
    /* the last answer */
    int code;
    struct strbuf headers; /* "name: value\n" */
    struct strbuf body;
    struct doc *doc; /* the body when it is JSON */
};

void web_init(struct web *w);
void web_done(struct web *w);

/* Sends it and runs the loop until it is answered; returns the code, 0 when it failed. */
int ask(struct web *w, const char *method, const char *path, const char *body);
/* The same with bytes that are not text. */
int ask_bytes(struct web *w, const char *method, const char *path, str body);
/* A header of the last answer, lower-case name; and how many there are of it. */
str header(struct web *w, const char *name);
size_t n_headers(struct web *w, const char *name);
/* A member of the last answer; its text for anything but a string. */
str member(struct web *w, const char *path);
str body(const struct web *w);
/* The answer is a failure Status of this code, reason (NULL: none) and message. */
void check_status(struct web *w, int code, const char *reason, const char *message);

struct web_watch {
    struct http_call call;
    struct web *web;
    struct http_header headers[4];
    int code;
    struct strbuf text;
    bool ended, failed;
    struct arena arena; /* documents of lines */
};

void watch_open(struct web_watch *x, struct web *w, const char *path);
/* Runs the loop until it has so many lines, or ended. */
size_t watch_wait(struct web_watch *x, size_t lines);
size_t watch_lines(const struct web_watch *x);
jval watch_line(struct web_watch *x, size_t i);
/* "ADDED a", "BOOKMARK", "ERROR 410" */
str watch_word(struct web_watch *x, size_t i);
void watch_close(struct web_watch *x);

#endif
