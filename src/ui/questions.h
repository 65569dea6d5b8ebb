/*
 * Questions that the page asks and commands answer: this program is run once more, as the user,
 * with
 * `-o json`, and what it prints is the answer. So the page says what the commands say, nothing that
 * takes long runs on the loop, and a manifest that somebody pasted is tried out in a process with
 * a limit of memory (ASK_MEMORY) and of time (ASK_TIMEOUT), which is ended when either is passed.
 *
 * One question that is quick and one that tries something out (fit, plan, forecast) run at a time;
 * a few more wait, the rest are refused.
 */
#ifndef UI_QUESTIONS_H
#define UI_QUESTIONS_H

#include "base/err.h"
#include "loop/loop.h"
#include "json/doc.h"

enum { ASK_MAX_WAITING = 8, ASK_MAX_OUTPUT = 16 << 20, ASK_MAX_ERRORS = 16 << 10 };
#define ASK_TIMEOUT (10 * USEC_PER_SEC)
#define ASK_MEMORY ((size_t)2 << 30)

struct asker;

struct asker_options {
    const char *program;    /* to run; NULL: this one */
    const char *kubeconfig; /* as in $KUBECONFIG; NULL: as it is */
    const char *context;    /* NULL: the kubeconfig's */
};

struct asker *asker_new(struct loop *l, const struct asker_options *o);
/* Ends what runs; nobody is answered any more. */
void asker_free(struct asker *k);

struct ask_answer {
    int code;     /* the command's exit code; -1: it was ended */
    str document; /* JSON that it printed; empty: none */
    str error;    /* what it said on standard error, or why it was ended */
};

struct ask {
    str question;       /* one of ask_find's */
    str kind, ns, name; /* of what it is about; empty where it is about a manifest */
    str manifest;       /* for standard input; copied */
    void (*done)(void *ctx, const struct ask_answer *answer); /* on the loop, exactly once */
    void *ctx;
};

/* It changes something. */
bool ask_writes(str question);
/* ERR_INVALID: there is no such question, or it cannot be asked of that. ERR_UNAVAILABLE: too many
 * wait. Otherwise done will be called. */
int asker_ask(struct asker *k, const struct ask *q, struct err *err);
/* Whoever asked does not wait any more: done is not called. Its process is ended, unless it
 * writes something. */
void asker_forget(struct asker *k, const void *ctx);

#endif
