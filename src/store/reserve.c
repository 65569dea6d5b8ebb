/* See reserve.h. */
#include "store/reserve.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/base.h"

#define MAX_BYTES ((uint64_t)256 << 30)
/* How much more than asked for is allocated at once: an eighth of the file, within these bounds. */
#define STEP_MIN ((uint64_t)1 << 20)
#define STEP_MAX ((uint64_t)64 << 20)
#define RESERVE_MAX_PAGES 1024
#define RESERVE_MIN_PAGES 64
#define RESERVE_SHARE 16 /* of a small file system */
/* What is left to others: certificates, the kubeconfig and the log may be on the same one. */
#define MARGIN_MAX ((uint64_t)1 << 20)
#define MARGIN_SHARE 64

#ifndef ZFS_SUPER_MAGIC
#define ZFS_SUPER_MAGIC 0x2fc12fc1
#endif
#ifndef BCACHEFS_SUPER_MAGIC
#define BCACHEFS_SUPER_MAGIC 0xca451a4e
#endif

static bool moves_on_write(int fd)
{
    static const uint32_t types[] = {BTRFS_SUPER_MAGIC, ZFS_SUPER_MAGIC, BCACHEFS_SUPER_MAGIC,
                                     NILFS_SUPER_MAGIC};
    struct statfs fs;
    if (fstatfs(fd, &fs) < 0)
        return false;
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if ((uint32_t)fs.f_type == types[i])
            return true;
    return false;
}

static uint64_t file_system_size(int fd, uint64_t *ret_free)
{
    struct statvfs fs;
    *ret_free = UINT64_MAX;
    if (fstatvfs(fd, &fs) < 0)
        return UINT64_MAX;
    /* What the file system keeps for the superuser is not for us, also when we are it. */
    *ret_free = (uint64_t)fs.f_bavail * fs.f_frsize;
    return fs.f_blocks ? (uint64_t)fs.f_blocks * fs.f_frsize : UINT64_MAX;
}

void room_init(struct room *r, int fd, size_t page_size)
{
    uint64_t unused, all = file_system_size(fd, &unused) / RESERVE_SHARE / page_size;
    *r = (struct room){
        .fd = fd,
        .page_size = page_size,
        .reserve_max = MIN(all, (uint64_t)RESERVE_MAX_PAGES),
        .moves = moves_on_write(fd),
    };
}

uint64_t room_reserve(const struct room *r)
{
    return MAX(MIN(r->pages / 4, r->reserve_max), (uint64_t)RESERVE_MIN_PAGES);
}

/* Where fallocate is not known, zeros are written; a file system that answers late answers the
 * sync. */
static bool fill(int fd, off_t from, off_t to)
{
    static const char zeros[64 << 10];
    struct stat st;
    if (fstat(fd, &st) < 0)
        return false;
    from = MAX(from, st.st_size);
    while (from < to) {
        ssize_t n = pwrite(fd, zeros, (size_t)MIN(to - from, (off_t)sizeof(zeros)), from);
        if (n < 0 && errno != EINTR)
            return false;
        from += n > 0 ? n : 0;
    }
    return fdatasync(fd) == 0;
}

/* What a failed attempt may have taken is given back. */
static bool give_back(int fd, off_t size)
{
    int saved = errno;
    struct stat st;
    if (fstat(fd, &st) == 0 && st.st_size > size)
        (void)!ftruncate(fd, size);
    errno = saved;
    return false;
}

static bool allocate(const struct room *r, uint64_t pages)
{
    off_t from = (off_t)(r->pages * r->page_size), to = (off_t)(pages * r->page_size);
    uint64_t unused, all = file_system_size(r->fd, &unused);
    uint64_t margin = MIN(all / MARGIN_SHARE, MARGIN_MAX);
    struct stat st;
    if (fstat(r->fd, &st) < 0)
        return false;
    if (to > st.st_size && (uint64_t)(to - MAX(st.st_size, from)) + margin > unused) {
        errno = ENOSPC;
        return false;
    }
    int e;
    do
        e = fallocate(r->fd, 0, from, to - from);
    while (e < 0 && errno == EINTR);
    if (e == 0 || ((errno == EOPNOTSUPP || errno == ENOSYS) && fill(r->fd, from, to)))
        return true;
    return give_back(r->fd, MAX(st.st_size, from));
}

static uint64_t step_pages(const struct room *r)
{
    uint64_t eighth = r->pages * r->page_size / 8;
    return MAX(MIN(eighth, STEP_MAX), STEP_MIN) / r->page_size;
}

bool room_extend(struct room *r, uint64_t pages, bool amply)
{
    uint64_t most = MAX_BYTES / r->page_size, ample = MIN(pages + step_pages(r), most);
    r->error = pages > most ? EFBIG : 0;
    if (pages <= r->pages || pages > most)
        return pages <= r->pages;
    if (amply && allocate(r, ample)) {
        pages = ample;
    } else if (!allocate(r, pages)) {
        r->error = errno;
        return false;
    }
    r->pages = pages;
    return true;
}

bool room_is_scarce(const struct room *r, uint64_t pages)
{
    uint64_t unused;
    if (!r->moves)
        return false;
    (void)file_system_size(r->fd, &unused);
    return unused / r->page_size < 2 * pages;
}

static void put_size(char *buf, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"bytes", "KiB", "MiB", "GiB", "TiB"};
    size_t unit = 0;
    double v = (double)bytes;
    for (; v >= 1024 && unit + 1 < ARRAY_LEN(units); unit++)
        v /= 1024;
    (void)snprintf(buf, size, unit && v < 10 ? "%.1f %s" : "%.0f %s", v, units[unit]);
}

void room_describe(const struct room *r, const char *dir, char *buf, size_t size)
{
    char unused_text[32], all_text[32], room[64];
    uint64_t unused, all = file_system_size(r->fd, &unused);
    put_size(unused_text, sizeof(unused_text), unused);
    put_size(all_text, sizeof(all_text), all);
    (void)snprintf(buf, size, "the file system of %s has %s free of %s (%s)", dir, unused_text,
                   all_text, strerror_r(r->error ? r->error : ENOSPC, room, sizeof(room)));
}
