/*
 * A real `grove up` with a durable store, started as a process of its own for benchmarks that look
 * at it from outside: its processor time, its memory, connections to it. Whatever goes wrong ends
 * the program.
 */
#ifndef BENCH_SERVED_H
#define BENCH_SERVED_H

#include <sys/types.h>
#include <time.h>

#include "client/kubeconfig.h"
#include "net/http.h"
#include "net/tls.h"

struct served {
    struct loop *loop;
    char *grove; /* the program */
    struct strbuf dir;
    bool is_temporary;
    pid_t pid;
    clockid_t cpu; /* of the server, all threads */
    struct kubeconfig config;
    struct tls_client *tls;
    char *host;
    struct arena arena;
};

NORETURN void served_fail(const char *what, const char *why);

/* grove empty: that of this build. data empty: a temporary directory, which goes at the end. */
void served_init(struct served *s, str grove, str data);
void served_done(struct served *s);
/* With these further words of its command line, NULL-terminated. Milliseconds until it is ready. */
double served_start(struct served *s, const char *const *words);
void served_stop(struct served *s);
/* After start; freed by the caller before stop. */
struct http_client *served_client(struct served *s);

/* Microseconds of a clock: CLOCK_MONOTONIC, or the server's. */
double clock_usec(clockid_t clock);
double now_usec(void);
/* Microseconds of processor time of the loop alone: on a machine of its own, nothing is done in
 * less.
 */
double served_loop_usec(const struct served *s);
/* A line of /proc/PID/status, "RssAnon:" or "VmHWM:", in megabytes. */
double served_memory_mb(const struct served *s, const char *line);
/* The loop goes on meanwhile. */
void served_pause(struct served *s, int msec);

#endif
