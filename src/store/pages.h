/*
 * The data file read as bytes, without LMDB: is it whole?
 *
 * LMDB trusts its file. A page number, an offset or a length that is wrong makes it read or write
 * outside its map, or abort. So nothing is given to LMDB before every page that it could reach was
 * looked at here: the two meta pages, the trees of the databases, the overflow pages, and the list
 * of free pages. A file that passes can be read and written without a signal. What the records say
 * is not judged here; they have a checksum of their own.
 *
 * Checked of the newest commit:
 * 1. Both meta pages are LMDB's, of a known version, and belong to consecutive transactions.
 * 2. Every page that is reachable lies inside the file, says its own number, is of the type that
 *    its place demands and is reached once.
 * 3. Nodes lie inside their page and fill it without overlap; keys ascend within and across pages;
 *    the number of entries, of pages of each type and the depth are what the database says.
 * 4. Free pages are pages of the file, listed once, and used by nobody.
 * 5. The databases are the ones that the store makes, with their flags.
 *
 * The layout is that of LMDB 0.9 on this machine (pages in the byte order of the processor). Reads
 * only; no state beyond the call.
 */
#ifndef STORE_PAGES_H
#define STORE_PAGES_H

#include "base/err.h"

struct pages_report {
    /* in */
    bool past; /* walk the commit before the newest one */
    /* Something is wrong. NULL: the first finding ends the walk. */
    void (*on_finding)(void *ctx, const char *what);
    /* A record of the database "log" in the order of the tree, also where other parts are damaged.
     * May be NULL. The slices point into the file and live until pages_verify() returns. */
    void (*on_record)(void *ctx, str key, str value);
    void *ctx;
    /* out */
    size_t page_size;
    uint64_t pages;  /* that the commit knows of */
    uint64_t free;   /* of these, not in use */
    uint64_t commit; /* the transaction's number */
    size_t findings;
    /* The numbers of the database "meta"; 0: not found. */
    uint64_t format, oldest, revision;
};

/* Opens, reads and walks the file at path, for messages called by that name. 0 when it is whole;
 * ERR_INVALID with the first finding; ERR_IO, ERR_NOT_FOUND when it cannot be read. `r` may be
 * NULL. The file must not change meanwhile. */
int pages_verify(const char *path, struct pages_report *r, struct err *err);

#endif
