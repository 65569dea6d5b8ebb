/* See browser.h. */
#include "ui/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"

extern char **environ;

static const char *const programs[] = {"xdg-open", "sensible-browser", "open"};
enum { PATH_MOST = 4096 };

/* ---- the file ---- */

static void remove_file(struct browser *b)
{
    if (b->file.len)
        (void)unlink(b->file.p);
    if (b->dir.len)
        (void)rmdir(b->dir.p);
    strbuf_reset(&b->file);
    strbuf_reset(&b->dir);
}

/* Only its owner can look into a directory that mkdtemp made. */
static bool make_dir(struct browser *b)
{
    const char *const places[] = {getenv("XDG_RUNTIME_DIR"), getenv("TMPDIR"), "/tmp"};
    for (size_t i = 0; i < ARRAY_LEN(places); i++) {
        if (!places[i] || *places[i] != '/')
            continue;
        strbuf_printf(&b->dir, "%s/grove-ui-XXXXXX", places[i]);
        if (!b->dir.overflow && mkdtemp(b->dir.p))
            return true;
        strbuf_reset(&b->dir);
    }
    return false;
}

/* The address consists of digits, dots, brackets, colons, slashes and the token's letters. */
static bool write_file(struct browser *b)
{
    struct err ignored = ERR_INIT;
    struct strbuf text = STRBUF_INIT(2048);
    const char *address = b->address.p;
    strbuf_printf(&text,
                  "<!doctype html><meta charset=\"utf-8\"><title>Grove</title>\n"
                  "<meta http-equiv=\"refresh\" content=\"0;url=%s\">\n"
                  "<p><a href=\"%s\">To the page</a></p>\n",
                  address, address);
    bool made = make_dir(b);
    if (made)
        strbuf_printf(&b->file, "%s/open.html", b->dir.p);
    made = made && !text.overflow && !b->file.overflow &&
           file_write(b->file.p, strbuf_str(&text), 0600, &ignored) == 0;
    if (!made)
        remove_file(b);
    strbuf_done(&text);
    return made;
}

/* ---- the program ---- */

static int spawn(struct browser *b, const char *program)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    char *args[] = {(char *)program, b->file.p, NULL};
    sigemptyset(&none);
    sigfillset(&all);
    /* It may outlive us: whoever reads what we print must not wait for it. */
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDERR_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                              POSIX_SPAWN_SETPGROUP);
    int error = posix_spawnp(&b->pid, program, &files, &attributes, args, environ);
    posix_spawn_file_actions_destroy(&files);
    posix_spawnattr_destroy(&attributes);
    if (error)
        b->pid = 0;
    return error;
}

static void on_exit_seen(struct loop_io *io, unsigned events);

/* Without a pidfd nobody hears of its end, and no other is tried. */
static void watch(struct browser *b)
{
    struct err ignored = ERR_INIT;
    int fd = (int)syscall(SYS_pidfd_open, b->pid, 0);
    b->exit = (struct loop_io){.fd = fd, .events = LOOP_READ, .fn = on_exit_seen};
    if (fd >= 0)
        (void)loop_io_add(b->loop, &b->exit, &ignored);
}

static void unwatch(struct browser *b)
{
    if (b->exit.loop)
        loop_io_remove(&b->exit);
    if (b->exit.fd >= 0)
        close(b->exit.fd);
    b->exit.fd = -1;
}

static void start_next(struct browser *b)
{
    while (b->pid == 0 && b->next < ARRAY_LEN(programs)) {
        if (spawn(b, programs[b->next++]) == 0)
            watch(b);
    }
    if (b->pid == 0)
        remove_file(b);
}

static void on_exit_seen(struct loop_io *io, unsigned events)
{
    struct browser *b = container_of(io, struct browser, exit);
    int status = 0;
    (void)events;
    unwatch(b);
    while (waitpid(b->pid, &status, 0) < 0 && errno == EINTR)
        ;
    b->pid = 0;
    if (b->file.len && !(WIFEXITED(status) && WEXITSTATUS(status) == 0))
        start_next(b);
}

/* ---- for the owner ---- */

void browser_init(struct browser *b, struct loop *l)
{
    *b = (struct browser){.loop = l, .exit.fd = -1};
    strbuf_init(&b->address, 256);
    strbuf_init(&b->dir, PATH_MOST);
    strbuf_init(&b->file, PATH_MOST);
}

static void forget(struct browser *b)
{
    unwatch(b);
    if (b->pid)
        (void)waitpid(b->pid, NULL, WNOHANG);
    b->pid = 0;
    remove_file(b);
}

void browser_done(struct browser *b)
{
    forget(b);
    strbuf_done(&b->address);
    strbuf_done(&b->dir);
    strbuf_done(&b->file);
}

void browser_open(struct browser *b, const char *address)
{
    bool has_screen = getenv("DISPLAY") || getenv("WAYLAND_DISPLAY") || getenv("BROWSER");
    forget(b);
    strbuf_reset(&b->address);
    strbuf_add_cstr(&b->address, address);
    b->next = 0;
    if (has_screen && !b->address.overflow && write_file(b))
        start_next(b);
}

void browser_used(struct browser *b, str token)
{
    if (token.len && str_ends(strbuf_str(&b->address), token))
        remove_file(b);
}
