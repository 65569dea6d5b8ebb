/*
 * The file layer that lies, for tests only: linked into a test program, it takes the place of
 * libc's pwrite, writev, fdatasync, fsync, msync and ftruncate for everybody in the process, LMDB
 * included. For the one file it watches it can make the n-th call fail, and it records every call,
 * so that the file can be rebuilt as a power cut would have left it.
 */
#ifndef CRASH_FAULTY_FILE_H
#define CRASH_FAULTY_FILE_H

#include "base/rng.h"
#include "base/vec.h"

enum faulty_fault {
    FAULTY_NONE,
    FAULTY_EIO,
    FAULTY_ENOSPC,
    FAULTY_SHORT, /* half of a write; a sync fails with EIO */
};

enum faulty_call_type { FAULTY_WRITE, FAULTY_SYNC, FAULTY_TRUNCATE, FAULTY_MARK };

struct faulty_call {
    enum faulty_call_type type;
    bool is_synced; /* a write through a descriptor with O_DSYNC: durable when it returns */
    off_t offset;   /* of a write; the new size of a truncation */
    char *data;
    size_t len;
    uint64_t mark;
};

struct faulty_trace {
    char *base; /* the file when watching began */
    size_t base_len;
    VEC(struct faulty_call) calls;
};

/* Starts to watch (and to record, when trace is given). The fail_at-th call fails, counted from 1;
 * 0: none. Syncs of everything are not passed on: the page cache is as good within one process. */
void faulty_watch(const char *path, struct faulty_trace *trace, size_t fail_at,
                  enum faulty_fault fault);
/* Stops; returns how many calls there were. */
size_t faulty_unwatch(void);
/* Puts a mark between the calls. */
void faulty_mark(uint64_t mark);
void faulty_trace_done(struct faulty_trace *t);

/* Writes the file as it may be after a power cut when `upto` calls had been begun: everything
 * synced, and of each later page nothing, all, or some sectors of 512 bytes. */
int faulty_image(const struct faulty_trace *t, size_t upto, struct rng *r, const char *path);

#endif
