/*
 * The disk: one LMDB environment per directory, two databases in it. Described byte by byte in
 * docs/store-format.md; in short:
 *
 *   log    key: revision, 8 bytes big-endian       value: a record (record.c)
 *   meta   key: "format", "oldest", "revision"     value: a number, 8 bytes big-endian
 *
 * Invariants:
 * 1. A commit is one transaction with LMDB's full durability: records, removals and both numbers
 *    become durable together or not at all. It runs on the disk worker, one at a time.
 * 2. No read transaction exists after start-up, so pages freed by a commit are reused by the next
 *    but one and the file stays near the size of what it holds.
 * 3. The lock file is held while the environment is open, which keeps a second process out. LMDB's
 *    own locks are not used (MDB_NOLOCK): there is one process, one writer, and no reader after
 *    start-up. A lock file of LMDB's would be one more file that can be damaged, and it is written
 *    through a map, which on a full file system ends in SIGBUS.
 * 4. LMDB sees a file only after pages_verify() has walked it, and its map ends where the allocated
 *    part of the file ends (reserve.h).
 * 5. After an assertion inside LMDB has failed, LMDB is not called again.
 *
 * A value is put with MDB_RESERVE, that is written straight from the document into LMDB's page, and
 * with MDB_APPEND: revisions ascend, and LMDB refuses one that does not.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <lmdb.h>
#include <setjmp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/internal.h"
#include "store/pages.h"
#include "store/reserve.h"

#define FORMAT 1
#define MAP_NEW ((size_t)1 << 20) /* of a file that is being made */
#define FIRST_PAGES 256           /* allocated beyond what is in use, to begin with */

enum { FREE_DBI = 0 };

struct disk {
    MDB_env *env;
    MDB_dbi log, meta;
    MDB_txn *read; /* start-up only */
    int lock_fd;
    struct room room;
    bool is_full;
    bool broken; /* an assertion in LMDB failed, or it has no map any more */
    jmp_buf escape;
    char assertion[200];
    char dir[]; /* for messages */
};

/* LMDB aborts when this returns. Whoever called it is told instead. */
static void on_assert(MDB_env *env, const char *what)
{
    struct disk *d = mdb_env_get_userctx(env);
    (void)snprintf(d->assertion, sizeof(d->assertion), "%s", what);
    d->broken = true;
    longjmp(d->escape, 1);
}

static int asserted(const struct disk *d, struct err *err)
{
    return err_set(err, ERR_IO,
                   "the database is damaged: LMDB says %s; stop, and look at it with "
                   "grove up --check %s",
                   d->assertion, d->dir);
}

static int lmdb_error(struct err *err, int code, const char *what)
{
    return err_set(err, ERR_IO, "%s: %s", what, mdb_strerror(code));
}

/* ---- numbers ---- */

static MDB_val val(void *p, size_t n)
{
    return (MDB_val){.mv_size = n, .mv_data = p};
}

static str str_of_val(const MDB_val *v)
{
    return str_n(v->mv_data, v->mv_size);
}

static MDB_val name_val(const char *name)
{
    return val((void *)name, strlen(name));
}

static int meta_put(struct disk *d, MDB_txn *txn, const char *name, uint64_t v)
{
    uint8_t bytes[8];
    put_be(bytes, v, sizeof(bytes));
    MDB_val key = name_val(name), value = val(bytes, sizeof(bytes));
    return mdb_put(txn, d->meta, &key, &value, 0);
}

static int meta_get(struct disk *d, MDB_txn *txn, const char *name, uint64_t *ret)
{
    MDB_val key = name_val(name), value;
    int r = mdb_get(txn, d->meta, &key, &value);
    if (r)
        return r;
    if (value.mv_size != 8)
        return MDB_CORRUPTED;
    *ret = get_be(value.mv_data, 8);
    return 0;
}

/* ---- reading at start-up ---- */

int disk_read_begin(struct disk *d, struct disk_head *ret, struct err *err)
{
    if (setjmp(d->escape))
        return asserted(d, err);
    int r = mdb_txn_begin(d->env, NULL, MDB_RDONLY, &d->read);
    if (r)
        return lmdb_error(err, r, "cannot begin to read");
    r = meta_get(d, d->read, "oldest", &ret->oldest);
    r = r ? r : meta_get(d, d->read, "revision", &ret->revision);
    if (r == 0 && ret->oldest >= STORE_FIRST_REVISION && ret->oldest <= ret->revision)
        return 0;
    disk_read_end(d);
    return lmdb_error(err, r ? r : MDB_CORRUPTED, "cannot read the revisions");
}

void disk_read_end(struct disk *d)
{
    if (!d->broken)
        mdb_txn_abort(d->read);
    d->read = NULL;
}

static int read_range(MDB_cursor *c, uint64_t from, uint64_t to, bool whole,
                      int (*fn)(void *ctx, const struct record *r, struct err *err), void *ctx,
                      struct err *err)
{
    uint8_t start[8];
    put_be(start, from, sizeof(start));
    MDB_val key = val(start, sizeof(start)), value;
    int r = mdb_cursor_get(c, &key, &value, MDB_SET_RANGE);
    for (; r == 0; r = mdb_cursor_get(c, &key, &value, MDB_NEXT)) {
        struct record rec;
        int e = record_decode(str_of_val(&key), str_of_val(&value), whole, &rec, err);
        if (e < 0)
            return err_wrap(err, "the record at revision %llu is damaged",
                            (unsigned long long)rec.revision);
        if (rec.revision > to)
            return 0;
        e = fn(ctx, &rec, err);
        if (e < 0)
            return e;
    }
    return r == MDB_NOTFOUND ? 0 : lmdb_error(err, r, "cannot read the log");
}

int disk_read(struct disk *d, uint64_t from, uint64_t to, bool whole,
              int (*fn)(void *ctx, const struct record *r, struct err *err), void *ctx,
              struct err *err)
{
    MDB_cursor *c;
    if (setjmp(d->escape))
        return asserted(d, err);
    int r = mdb_cursor_open(d->read, d->log, &c);
    if (r)
        return lmdb_error(err, r, "cannot read the log");
    r = read_range(c, from, to, whole, fn, ctx, err);
    mdb_cursor_close(c);
    return r;
}

/* ---- commit ---- */

static int commit_records(struct disk *d, MDB_txn *txn, const struct commit *c)
{
    for (size_t i = 0; i < c->records.len; i++) {
        const struct record *rec = &c->records.p[i];
        uint8_t rev[8];
        put_be(rev, rec->revision, sizeof(rev));
        MDB_val key = val(rev, sizeof(rev)), value = val(NULL, record_len(rec));
        int r = mdb_put(txn, d->log, &key, &value, MDB_APPEND | MDB_RESERVE);
        if (r)
            return r;
        record_encode(rec, value.mv_data);
    }
    return 0;
}

static int commit_removals(struct disk *d, MDB_txn *txn, const struct commit *c)
{
    for (size_t i = 0; i < c->removals.len; i++) {
        uint8_t rev[8];
        put_be(rev, c->removals.p[i], sizeof(rev));
        MDB_val key = val(rev, sizeof(rev));
        int r = mdb_del(txn, d->log, &key, NULL);
        if (r && r != MDB_NOTFOUND)
            return r;
    }
    return 0;
}

static int commit_all(struct disk *d, const struct commit *c)
{
    MDB_txn *txn;
    int r = mdb_txn_begin(d->env, NULL, 0, &txn);
    if (r)
        return r;
    r = commit_records(d, txn, c);
    r = r ? r : commit_removals(d, txn, c);
    r = r ? r : meta_put(d, txn, "oldest", c->oldest);
    r = r ? r : meta_put(d, txn, "revision", c->revision);
    if (r == 0)
        return mdb_txn_commit(txn);
    mdb_txn_abort(txn);
    return r;
}

/* ---- room ---- */

/* What a commit finds. */
struct pages_left {
    uint64_t tail;   /* allocated and never used */
    uint64_t freed;  /* given back by earlier commits: may be used now */
    uint64_t coming; /* given back by the last commit: may be used by the next but one */
};

static uint64_t tail_pages(const struct disk *d)
{
    MDB_envinfo info;
    mdb_env_info(d->env, &info);
    /* LMDB leaves the last page of its map alone. */
    uint64_t used = info.me_last_pgno + 2;
    return d->room.pages > used ? d->room.pages - used : 0;
}

/* Walks the free list: one number per record of it. */
static int count_left(struct disk *d, struct pages_left *ret)
{
    MDB_txn *txn;
    MDB_cursor *c;
    MDB_val key, value;
    *ret = (struct pages_left){.tail = tail_pages(d)};
    int r = mdb_txn_begin(d->env, NULL, MDB_RDONLY, &txn);
    if (r)
        return r;
    size_t last = mdb_txn_id(txn);
    r = mdb_cursor_open(txn, FREE_DBI, &c);
    if (r == 0) {
        while ((r = mdb_cursor_get(c, &key, &value, MDB_NEXT)) == 0) {
            size_t id, n;
            memcpy(&id, key.mv_data, sizeof(id));
            memcpy(&n, value.mv_data, sizeof(n));
            *(id < last ? &ret->freed : &ret->coming) += n;
        }
        mdb_cursor_close(c);
    }
    mdb_txn_abort(txn);
    return r == MDB_NOTFOUND ? 0 : r;
}

/* No more pages than this, however the tree looks: small records fill leaves at least to the half,
 * large ones have pages of their own, a removal copies a leaf and perhaps a branch. */
static uint64_t commit_pages(const struct disk *d, const struct commit *c)
{
    enum { PATHS = 32, BRANCHES_PER_LEAF = 16 };
    uint64_t pages = 0, bytes = 0;
    for (size_t i = 0; i < c->records.len; i++) {
        size_t len = record_len(&c->records.p[i]);
        if (len > d->room.page_size / 2 - 32)
            pages += len / d->room.page_size + 1, bytes += 64;
        else
            bytes += len + 32;
    }
    uint64_t leaves = 2 * bytes / d->room.page_size + 2 * c->removals.len;
    return pages + leaves + leaves / BRANCHES_PER_LEAF + PATHS;
}

/* Adds pages at the end until there are so many that were never used. */
static int extend(struct disk *d, uint64_t tail)
{
    size_t before = d->room.pages;
    uint64_t now = tail_pages(d);
    if (now >= tail || !room_extend(&d->room, d->room.pages + (tail - now), true))
        return 0;
    int r = mdb_env_set_mapsize(d->env, d->room.pages * d->room.page_size);
    if (r == 0)
        return 0;
    /* No address space for the larger map; LMDB has let go of the old one. */
    d->room.pages = before;
    d->broken = mdb_env_set_mapsize(d->env, before * d->room.page_size) != 0;
    return d->broken ? r : 0;
}

/* Pages that a commit gives back can be used two commits later. */
static int turn_over(struct disk *d, const struct commit *c)
{
    const struct commit nothing = {.oldest = c->oldest_before, .revision = c->revision_before};
    return commit_all(d, &nothing);
}

/* Is there room for `want` pages? */
static int find_room(struct disk *d, const struct commit *c, uint64_t want, bool *ret)
{
    struct pages_left left = {0};
    int r = extend(d, want);
    *ret = true;
    if (r || tail_pages(d) >= want)
        return r;
    r = count_left(d, &left);
    if (r == 0 && left.tail + left.freed < want && left.tail + left.freed + left.coming >= want) {
        r = turn_over(d, c);
        r = r ? r : count_left(d, &left);
    }
    *ret = left.tail + left.freed >= want;
    return r;
}

/* Half of the reserve is for what was on its way when the store became full. */
static int check_room(struct disk *d, const struct commit *c, bool *ret)
{
    uint64_t need = commit_pages(d, c);
    *ret = true;
    if (!c->grows)
        return 0;
    if (room_is_scarce(&d->room, need + room_reserve(&d->room) / 2)) {
        *ret = false;
        return 0;
    }
    return find_room(d, c, need + room_reserve(&d->room) / 2, ret);
}

/* Says what is left, extending the file when that is little. The store is full when the reserve is
 * touched, and no longer when there is half as much again: so it does not change with each write.
 */
static int measure_room(struct disk *d, struct disk_room *ret)
{
    uint64_t reserve = room_reserve(&d->room),
             enough = d->is_full ? reserve + reserve / 2 : reserve;
    struct pages_left left = {0};
    int r = extend(d, enough);
    if (r == 0 && (left.tail = tail_pages(d)) < enough)
        r = count_left(d, &left);
    uint64_t all = left.tail + left.freed + left.coming;
    d->is_full = all < enough || room_is_scarce(&d->room, enough);
    ret->is_full = d->is_full;
    ret->is_tight = d->is_full && all < reserve / 4;
    ret->bytes = all * d->room.page_size;
    if (d->is_full)
        room_describe(&d->room, d->dir, ret->why, sizeof(ret->why));
    return r;
}

static int no_room(struct disk *d, struct disk_room *ret, struct err *err)
{
    d->is_full = ret->is_full = true;
    room_describe(&d->room, d->dir, ret->why, sizeof(ret->why));
    return err_set(err, ERR_NO_SPACE, "%s", ret->why);
}

static int commit_in_room(struct disk *d, const struct commit *c, struct disk_room *ret,
                          struct err *err)
{
    bool fits = true;
    int r = check_room(d, c, &fits);
    if (r == 0 && fits && (c->records.len > 0 || c->removals.len > 0))
        r = commit_all(d, c);
    /* Nothing has been written: the transaction was aborted for want of pages. */
    if (!fits || r == MDB_MAP_FULL)
        return no_room(d, ret, err);
    r = r ? r : measure_room(d, ret);
    return r ? lmdb_error(err, r, "the disk did not take a commit") : 0;
}

int disk_commit(struct disk *d, const struct commit *c, struct disk_room *ret, struct err *err)
{
    if (d->broken)
        return err_set(err, ERR_IO, "the database cannot be used any more");
    if (setjmp(d->escape))
        return asserted(d, err);
    return commit_in_room(d, c, ret, err);
}

/* ---- open ---- */

static struct disk *disk_new(const char *dir)
{
    size_t len = strlen(dir) + 1;
    struct disk *d = xcalloc(1, sizeof(*d) + len);
    memcpy(d->dir, dir, len);
    d->lock_fd = -1;
    return d;
}

static int lock_holder(int fd)
{
    char text[32];
    ssize_t n = pread(fd, text, sizeof(text), 0);
    int64_t pid = 0;
    if (n > 0)
        (void)str_to_int(str_trim(str_n(text, (size_t)n)), &pid);
    return (int)pid;
}

static int lock_dir(struct disk *d, int dir_fd, const char *dir, struct err *err)
{
    d->lock_fd = openat(dir_fd, "lock", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (d->lock_fd < 0)
        return err_errno(err, ERR_IO, "cannot open %s/lock", dir);
    if (flock(d->lock_fd, LOCK_EX | LOCK_NB) < 0) {
        if (errno != EWOULDBLOCK)
            return err_errno(err, ERR_IO, "cannot lock %s/lock", dir);
        return err_set(err, ERR_CONFLICT, "%s is in use by another grove (pid %d)", dir,
                       lock_holder(d->lock_fd));
    }
    /* The number is for people; on a full file system there is no room for it. */
    if ((ftruncate(d->lock_fd, 0) < 0 || dprintf(d->lock_fd, "%d\n", (int)getpid()) < 0) &&
        errno != ENOSPC && errno != EDQUOT)
        return err_errno(err, ERR_IO, "cannot write %s/lock", dir);
    return 0;
}

static int open_env(struct disk *d, const char *path, unsigned flags, size_t map, struct err *err)
{
    int r = mdb_env_create(&d->env);
    r = r ? r : mdb_env_set_userctx(d->env, d);
    r = r ? r : mdb_env_set_assert(d->env, on_assert);
    r = r ? r : mdb_env_set_maxdbs(d->env, 2);
    r = r ? r : mdb_env_set_mapsize(d->env, map);
    r = r ? r : mdb_env_open(d->env, path, flags | MDB_NOLOCK, 0600);
    if (r)
        return err_set(err, ERR_IO, "cannot open the database in %s: %s", path, mdb_strerror(r));
    return 0;
}

/* Allocates what is there, holes included, and the reserve. Where there is no room for that, the
 * file has at least the length that the commits so far speak of (pages at the end may never have
 * been written), and the store begins full. */
static int open_room(struct disk *d, struct err *err)
{
    MDB_envinfo info;
    MDB_stat st;
    struct stat file;
    int fd, r = mdb_env_get_fd(d->env, &fd);
    mdb_env_info(d->env, &info);
    mdb_env_stat(d->env, &st);
    uint64_t used = info.me_last_pgno + 1;
    if (r || fstat(fd, &file) < 0)
        return err_errno(err, ERR_IO, "cannot look at %s/data.mdb", d->dir);
    room_init(&d->room, fd, st.ms_psize);
    uint64_t there = MAX(used, (uint64_t)file.st_size / st.ms_psize);
    if (!room_extend(&d->room, MAX(there, used + FIRST_PAGES), false)) {
        if (file.st_size < (off_t)(used * st.ms_psize) &&
            ftruncate(fd, (off_t)(used * st.ms_psize)) < 0)
            return err_errno(err, ERR_IO, "cannot extend %s/data.mdb", d->dir);
        d->room.pages = there;
    }
    r = mdb_env_set_mapsize(d->env, d->room.pages * d->room.page_size);
    return r ? lmdb_error(err, r, d->dir) : 0;
}

static int check_format(struct disk *d, MDB_txn *txn, const char *dir, struct err *err)
{
    uint64_t format;
    int r = meta_get(d, txn, "format", &format);
    if (r)
        return lmdb_error(err, r, dir);
    if (format != FORMAT)
        return err_set(err, ERR_UNSUPPORTED, "%s has format %llu, this grove reads format %d: %s",
                       dir, (unsigned long long)format, FORMAT,
                       "use the version of grove that wrote it");
    return 0;
}

static int make_databases(struct disk *d, MDB_txn *txn, struct err *err)
{
    int r = meta_put(d, txn, "format", FORMAT);
    r = r ? r : meta_put(d, txn, "oldest", STORE_FIRST_REVISION);
    r = r ? r : meta_put(d, txn, "revision", STORE_FIRST_REVISION);
    return r ? lmdb_error(err, r, d->dir) : 0;
}

static int open_databases(struct disk *d, bool is_new, struct err *err)
{
    MDB_txn *txn;
    unsigned flags = is_new ? MDB_CREATE : 0;
    if (setjmp(d->escape))
        return asserted(d, err);
    int r = mdb_txn_begin(d->env, NULL, 0, &txn);
    if (r)
        return lmdb_error(err, r, d->dir);
    r = mdb_dbi_open(txn, "log", flags, &d->log);
    r = r ? r : mdb_dbi_open(txn, "meta", flags, &d->meta);
    int e = r        ? lmdb_error(err, r, d->dir)
            : is_new ? make_databases(d, txn, err)
                     : check_format(d, txn, d->dir, err);
    if (e < 0) {
        mdb_txn_abort(txn);
        return e;
    }
    r = mdb_txn_commit(txn);
    return r ? lmdb_error(err, r, d->dir) : 0;
}

static int path_in(const char *dir, const char *name, char *buf, struct err *err)
{
    int n = snprintf(buf, PATH_MAX, "%s/%s", dir, name);
    if (n < 0 || n >= PATH_MAX)
        return err_set(err, ERR_INVALID, "the name of the directory is too long");
    return 0;
}

/* LMDB does not sync the first pages of a new file before it is used: a crash at that moment would
 * leave a file it refuses. So the file is made under another name, and gets its own when it is
 * complete and durable. */
static int create_database(int dir_fd, const char *dir, struct err *err)
{
    char path[PATH_MAX];
    if (faccessat(dir_fd, "data.mdb", F_OK, AT_SYMLINK_NOFOLLOW) == 0)
        return 0;
    if (path_in(dir, "new.mdb", path, err) < 0)
        return err->code;
    (void)unlinkat(dir_fd, "new.mdb", 0);
    struct disk *d = disk_new(dir);
    int r = open_env(d, path, MDB_NOSUBDIR, MAP_NEW, err);
    r = r < 0 ? r : open_databases(d, true, err);
    int e = r < 0 ? 0 : mdb_env_sync(d->env, 1);
    disk_close(d);
    if (r < 0 || e)
        return r < 0 ? r : lmdb_error(err, e, dir);
    /* The directory is synced by open_in(), before anything is written to the file. */
    if (renameat(dir_fd, "new.mdb", dir_fd, "data.mdb") < 0)
        return err_errno(err, ERR_IO, "cannot make %s/data.mdb", dir);
    return 0;
}

/* So that people know what to do with a file that cannot be used. */
int disk_advise(const char *dir, struct err *err)
{
    struct err why = *err;
    return err_set(
        err, why.code,
        "%s: %s. Nothing was changed. `grove up --check %s` says what is damaged and what can "
        "be saved; or put back a copy of the directory, or start with another one",
        dir, why.message, dir);
}

static int open_file(struct disk *d, struct err *err)
{
    char path[PATH_MAX];
    int r = path_in(d->dir, "data.mdb", path, err);
    r = r < 0 ? r : pages_verify(path, NULL, err);
    if (r < 0)
        return r;
    struct stat st;
    if (stat(path, &st) < 0)
        return err_errno(err, ERR_IO, "cannot look at %s", path);
    r = open_env(d, d->dir, 0, (size_t)st.st_size, err);
    r = r < 0 ? r : open_room(d, err);
    return r < 0 ? r : open_databases(d, false, err);
}

static int open_in(struct disk *d, int dir_fd, struct err *err)
{
    int r = lock_dir(d, dir_fd, d->dir, err);
    r = r < 0 ? r : create_database(dir_fd, d->dir, err);
    /* The files themselves must survive too, not only what is in them. */
    if (r == 0 && fsync(dir_fd) < 0)
        return err_errno(err, ERR_IO, "cannot sync %s", d->dir);
    return r < 0 ? r : open_file(d, err);
}

static int sync_parent(int dir_fd)
{
    int fd = openat(dir_fd, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int r = fd < 0 ? -1 : fsync(fd);
    if (fd >= 0)
        close(fd);
    return r;
}

/* Makes the directory when it is missing. */
static int open_dir(const char *dir, struct err *err)
{
    bool made = mkdir(dir, 0700) == 0;
    if (!made && errno != EEXIST)
        return err_errno(err, ERR_IO, "cannot make the directory %s", dir);
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot open the directory %s", dir);
    if (!made || sync_parent(fd) == 0)
        return fd;
    err_errno(err, ERR_IO, "cannot sync the directory above %s", dir);
    close(fd);
    return ERR_IO;
}

static int first_look(struct disk *d, struct disk_room *ret, struct err *err)
{
    if (setjmp(d->escape))
        return asserted(d, err);
    int r = measure_room(d, ret);
    return r ? lmdb_error(err, r, d->dir) : 0;
}

struct disk *disk_open(const char *dir, struct disk_room *ret, struct err *err)
{
    int dir_fd = open_dir(dir, err);
    if (dir_fd < 0)
        return NULL;
    struct disk *d = disk_new(dir);
    int r = open_in(d, dir_fd, err);
    close(dir_fd);
    r = r < 0 ? r : first_look(d, ret, err);
    if (r == 0)
        return d;
    if (r == ERR_INVALID)
        (void)disk_advise(dir, err);
    disk_close(d);
    return NULL;
}

void disk_close(struct disk *d)
{
    if (!d)
        return;
    if (d->env && !d->broken)
        mdb_env_close(d->env);
    if (d->lock_fd >= 0)
        close(d->lock_fd);
    free(d);
}
