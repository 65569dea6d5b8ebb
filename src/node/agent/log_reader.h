/*
 * Reads the log of one run of a container (node/shim/shim_log.h), oldest file first, and writes it as
 * `kubectl logs` shows it. Blocking: for the loop's worker. All files are opened at the beginning, so
 * that a rotation in between loses nothing.
 */
#ifndef NODE_AGENT_LOG_READER_H
#define NODE_AGENT_LOG_READER_H

#include "base/strbuf.h"
#include "base/timefmt.h"

enum { LOG_READER_FILES = 8, LOG_READER_PIECE = 64 * 1024 };

struct log_reader {
    /* what is wanted */
    char path[4096]; /* of the newest file */
    int64_t tail;    /* lines; -1: all */
    int64_t limit;   /* bytes; -1: all */
    usec since;      /* wall time; 0: from the beginning */
    bool timestamps;
    char only[8]; /* "stdout", "stderr"; empty: both */
    /* where it is */
    int fds[LOG_READER_FILES]; /* oldest first */
    size_t n, at;
    int64_t offset;
    bool opened, ended; /* ended: all that is there was read */
    struct strbuf part; /* a line that has not ended */
    struct strbuf out;  /* of the last piece */
};

void log_reader_init(struct log_reader *r, const char *path);
void log_reader_done(struct log_reader *r);
/* Reads the next piece into out, which it empties before. */
void log_reader_next(struct log_reader *r);

#endif
