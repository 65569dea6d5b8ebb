/* See faulty-file.h. The real calls are made by number: the names are ours. Tests run everything on
 * one thread (the virtual loop), so there is nothing to lock.
 *
 * With 64-bit offsets asked for, libc's headers rename pwrite and ftruncate behind our back; LMDB
 * uses the old names and we use the new ones, so both are defined here. */
#undef _FILE_OFFSET_BITS
#include "faulty-file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define PAGE 4096
#define SECTOR 512

static struct {
    bool active;
    dev_t dev;
    ino_t ino;
    size_t calls;
    size_t fail_at;
    enum faulty_fault fault;
    struct faulty_trace *trace;
} watch;

static bool is_watched(int fd)
{
    struct stat st;
    return watch.active && fstat(fd, &st) == 0 && st.st_dev == watch.dev && st.st_ino == watch.ino;
}

static void record(struct faulty_call call)
{
    if (watch.trace)
        *vec_push(&watch.trace->calls) = call;
}

/* True when this call is the one to fail. */
static bool count_call(void)
{
    return ++watch.calls == watch.fail_at;
}

static int fail(void)
{
    errno = watch.fault == FAULTY_ENOSPC ? ENOSPC : EIO;
    return -1;
}

static ssize_t real_pwrite(int fd, const void *p, size_t n, off_t offset)
{
    return syscall(SYS_pwrite64, fd, p, n, offset);
}

static ssize_t watched_write(int fd, const void *p, size_t n, off_t offset)
{
    if (count_call()) {
        if (watch.fault != FAULTY_SHORT)
            return fail();
        n /= 2;
    }
    char *copy = xmalloc(n);
    memcpy(copy, p, n);
    record((struct faulty_call){.type = FAULTY_WRITE,
                                .is_synced = (fcntl(fd, F_GETFL) & O_DSYNC) != 0,
                                .offset = offset,
                                .data = copy,
                                .len = n});
    if (!watch.trace)
        free(copy);
    return real_pwrite(fd, p, n, offset);
}

/* ---- in libc's place ---- */

ssize_t pwrite(int fd, const void *p, size_t n, off_t offset)
{
    return is_watched(fd) ? watched_write(fd, p, n, offset) : real_pwrite(fd, p, n, offset);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off64_t offset)
{
    return pwrite(fd, p, n, offset);
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
    if (!is_watched(fd))
        return syscall(SYS_writev, fd, iov, count);
    size_t len = 0;
    for (int i = 0; i < count; i++)
        len += iov[i].iov_len;
    char *flat = xmalloc(len), *at = flat;
    for (int i = 0; i < count; i++) {
        memcpy(at, iov[i].iov_base, iov[i].iov_len);
        at += iov[i].iov_len;
    }
    off_t offset = lseek(fd, 0, SEEK_CUR);
    ssize_t n = watched_write(fd, flat, len, offset);
    if (n > 0)
        lseek(fd, offset + n, SEEK_SET);
    free(flat);
    return n;
}

static int sync_call(void)
{
    if (count_call())
        return fail();
    record((struct faulty_call){.type = FAULTY_SYNC});
    return 0;
}

int fdatasync(int fd)
{
    return is_watched(fd) ? sync_call() : 0;
}

int fsync(int fd)
{
    return is_watched(fd) ? sync_call() : 0;
}

int msync(void *p, size_t n, int flags)
{
    return watch.active ? sync_call() : 0;
}

int ftruncate(int fd, off_t size)
{
    if (is_watched(fd)) {
        if (count_call())
            return fail();
        record((struct faulty_call){.type = FAULTY_TRUNCATE, .offset = size});
    }
    return (int)syscall(SYS_ftruncate, fd, size);
}

int ftruncate64(int fd, off64_t size)
{
    return ftruncate(fd, size);
}

/* ---- watching ---- */

static void read_base(const char *path, struct faulty_trace *t, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    t->base = xmalloc(size);
    t->base_len = size;
    BUG_ON(fd < 0 || pread(fd, t->base, size, 0) != (ssize_t)size);
    close(fd);
}

void faulty_watch(const char *path, struct faulty_trace *trace, size_t fail_at,
                  enum faulty_fault fault)
{
    struct stat st;
    BUG_ON(stat(path, &st) < 0);
    if (trace)
        read_base(path, trace, (size_t)st.st_size);
    watch.dev = st.st_dev;
    watch.ino = st.st_ino;
    watch.calls = 0;
    watch.fail_at = fail_at;
    watch.fault = fault;
    watch.trace = trace;
    watch.active = true;
}

size_t faulty_unwatch(void)
{
    watch.active = false;
    watch.trace = NULL;
    return watch.calls;
}

void faulty_mark(uint64_t mark)
{
    record((struct faulty_call){.type = FAULTY_MARK, .mark = mark});
}

void faulty_trace_done(struct faulty_trace *t)
{
    for (size_t i = 0; i < t->calls.len; i++)
        free(t->calls.p[i].data);
    vec_done(&t->calls);
    free(t->base);
    *t = (struct faulty_trace){0};
}

/* ---- images ---- */

struct image {
    char *p;
    size_t len;
};

static void image_resize(struct image *im, size_t len)
{
    im->p = xrealloc(im->p, MAX(len, 1u));
    if (len > im->len)
        memset(im->p + im->len, 0, len - im->len);
    im->len = len;
}

static void image_write(struct image *im, off_t offset, const char *p, size_t n)
{
    size_t end = (size_t)offset + n;
    if (end > im->len)
        image_resize(im, end);
    memcpy(im->p + offset, p, n);
}

/* Walks a write in pieces that lie within one unit of the disk each; chance (percent) says how many
 * of them arrive. */
static void image_write_pieces(struct image *im, const struct faulty_call *c, size_t unit,
                               unsigned chance, struct rng *r)
{
    for (size_t done = 0; done < c->len;) {
        size_t at = (size_t)c->offset + done;
        size_t n = MIN(unit - at % unit, c->len - done);
        if (rng_chance(r, chance))
            image_write(im, (off_t)at, c->data + done, n);
        done += n;
    }
}

/* What a power cut leaves of a write that was not synced. */
static void image_write_lossy(struct image *im, const struct faulty_call *c, struct rng *r)
{
    switch (rng_below(r, 4)) {
    case 0:
        return;
    case 1:
        image_write(im, c->offset, c->data, c->len);
        return;
    case 2:
        image_write_pieces(im, c, PAGE, 50, r);
        return;
    default:
        image_write_pieces(im, c, SECTOR, 70, r);
    }
}

static size_t last_sync(const struct faulty_trace *t, size_t upto)
{
    while (upto > 0 && t->calls.p[upto - 1].type != FAULTY_SYNC)
        upto--;
    return upto;
}

int faulty_image(const struct faulty_trace *t, size_t upto, struct rng *r, const char *path)
{
    struct image im = {0};
    image_write(&im, 0, t->base, t->base_len);
    size_t synced = last_sync(t, upto);
    for (size_t i = 0; i < upto; i++) {
        const struct faulty_call *c = &t->calls.p[i];
        /* The last call may have been cut off in the middle, O_DSYNC or not. */
        bool is_safe = i < synced || (c->is_synced && i + 1 < upto);
        if (c->type == FAULTY_TRUNCATE)
            image_resize(&im, (size_t)c->offset);
        else if (c->type == FAULTY_WRITE && is_safe)
            image_write(&im, c->offset, c->data, c->len);
        else if (c->type == FAULTY_WRITE)
            image_write_lossy(&im, c, r);
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    ssize_t n = fd < 0 ? -1 : real_pwrite(fd, im.p, im.len, 0);
    if (fd >= 0)
        close(fd);
    bool ok = n == (ssize_t)im.len;
    free(im.p);
    return ok ? 0 : -1;
}
