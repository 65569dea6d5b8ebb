/*
 * Room on the file system for the data file: pages that are allocated before LMDB uses them.
 *
 * LMDB extends its file by writing beyond the end. On a full file system such a write fails in the
 * middle of a commit, or is cut short and comes back as an input/output error, and nobody can tell
 * that from a broken disk. So the file is extended here, by fallocate, before a transaction begins,
 * and LMDB's map is never larger than what was allocated. Then a full file system is the answer to
 * one call that wrote nothing, a transaction that needs more pages than there are ends with
 * MDB_MAP_FULL and is aborted before its first write, and a write to an allocated page does not
 * fail for want of space.
 *
 * File systems that write to a new place each time (btrfs, ZFS, ...) give no such promise for
 * allocated pages. There, the free space of the file system is looked at as well (room_is_scarce).
 *
 * The reserve is a number of pages that only commits may use which make the store smaller. It is
 * part of the data file, so that nobody else can take it away.
 *
 * Used by one thread at a time: the loop at start-up, then the disk worker.
 */
#ifndef STORE_RESERVE_H
#define STORE_RESERVE_H

#include "base/err.h"

struct room {
    int fd; /* borrowed */
    size_t page_size;
    uint64_t pages; /* allocated: LMDB may use those below */
    uint64_t reserve_max;
    bool moves; /* a write goes to a new place on the disk */
    int error;  /* errno of the last allocation, 0 when it succeeded */
};

/* Allocates nothing. */
void room_init(struct room *r, int fd, size_t page_size);
/* How many pages are left when the store calls itself full: a quarter of the file, within bounds.
 */
uint64_t room_reserve(const struct room *r);
/* Allocates so that there are that many pages; amply: some more where that is possible, so that it
 * need not be asked for often. False: there is no room. */
bool room_extend(struct room *r, uint64_t pages, bool amply);
/* The file system would have to find new places for so many pages, and has too few. */
bool room_is_scarce(const struct room *r, uint64_t pages);
/* "the file system of DIR has 12 KiB free of 8 MiB (No space left on device)" */
void room_describe(const struct room *r, const char *dir, char *buf, size_t size);

#endif
