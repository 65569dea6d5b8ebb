/* See file.h. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

static int code_of_errno(void)
{
    return errno == ENOENT                     ? ERR_NOT_FOUND
           : errno == EACCES || errno == EPERM ? ERR_FORBIDDEN
                                               : ERR_IO;
}

static int read_all(int fd, const char *path, struct strbuf *out, struct err *err)
{
    for (;;) {
        /* One byte beyond the limit tells a file that just fits from one that does not. */
        char beyond = 0;
        size_t room = MIN((size_t)4096, out->max - out->len);
        char *to = room > 0 ? strbuf_reserve(out, room) : &beyond;
        ssize_t n = read(fd, to, MAX(room, (size_t)1));
        if (n == 0)
            return 0;
        if (n < 0 && errno != EINTR)
            return err_errno(err, code_of_errno(), "cannot read %s", path);
        if (n > 0 && room == 0)
            return err_set(err, ERR_TOO_LARGE, "%s is larger than %zu bytes", path, out->max);
        if (n > 0)
            strbuf_commit(out, (size_t)n);
    }
}

int file_read(const char *path, struct strbuf *out, struct err *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_errno(err, code_of_errno(), "cannot open %s", path);
    int r = read_all(fd, path, out, err);
    close(fd);
    return r;
}

static int write_all(int fd, str content)
{
    while (content.len > 0) {
        ssize_t n = write(fd, content.p, content.len);
        if (n < 0 && errno != EINTR)
            return -1;
        if (n > 0)
            content = str_sub(content, (size_t)n, content.len);
    }
    return fsync(fd);
}

int file_write(const char *path, str content, unsigned mode, struct err *err)
{
    struct strbuf temp = STRBUF_INIT(8192);
    strbuf_printf(&temp, "%s.XXXXXX", path);
    int fd = temp.overflow ? -1 : mkostemp(temp.p, O_CLOEXEC);
    int r = 0;
    if (fd < 0) {
        r = err_errno(err, code_of_errno(), "cannot create %s", path);
    } else if (fchmod(fd, mode) || write_all(fd, content) || rename(temp.p, path)) {
        r = err_errno(err, code_of_errno(), "cannot write %s", path);
        (void)unlink(temp.p);
    }
    if (fd >= 0)
        close(fd);
    strbuf_done(&temp);
    return r;
}

int dir_make(const char *path, unsigned mode, struct err *err)
{
    char *copy = xstrdup(path);
    int r = 0;
    for (char *p = copy + 1; r == 0; p++) {
        if (*p != '/' && *p != '\0')
            continue;
        char end = *p;
        *p = '\0';
        if (mkdir(copy, mode) && errno != EEXIST)
            r = err_errno(err, code_of_errno(), "cannot make directory %s", copy);
        *p = end;
        if (end == '\0')
            break;
    }
    free(copy);
    return r;
}

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st;
    (void)flag;
    (void)ftw;
    return remove(path);
}

int dir_remove(const char *path, struct err *err)
{
    if (nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS) && errno != ENOENT)
        return err_errno(err, code_of_errno(), "cannot remove %s", path);
    return 0;
}
