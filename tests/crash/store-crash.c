/*
 * kill -9 during a write load, again and again on one directory.
 *
 * A child process writes without pause, hundreds of writes in flight. Before each write it says in
 * a pipe what it is about to write at which revision, and when the store calls the write durable it
 * says that too; the pipe outlives the child. The parent kills it at a random moment, opens the
 * directory and compares with what it was told:
 *
 *   every acknowledged revision is there, the revision did not go back, and the state (and each
 *   event of the window) is exactly the announced writes up to the revision found: no write is
 *   half there, none from beyond it, nothing deleted is back.
 *
 * GROVE_TEST_SCALE multiplies the twelve kills; GROVE_TEST_SEED repeats a run as far as the kernel
 * allows.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "store/test-model.h"

#define IN_FLIGHT 100
#define MAX_RUN_MSEC 120

struct message {
    uint64_t is_ack;
    struct model_op op;
};

/* ---- the child ---- */

struct writer {
    struct store *store;
    struct model model; /* for drawing only */
    struct rng rng;
    int fd;
    size_t in_flight;
    struct loop_task more;
    struct loop *loop;
};

struct crash_write {
    struct store_write write;
    struct model_op op;
};

static void tell(const struct writer *w, const struct model_op *op, bool is_ack)
{
    struct message m = {.is_ack = is_ack, .op = *op};
    if (write(w->fd, &m, sizeof(m)) != sizeof(m))
        _exit(3);
}

static void on_durable(struct store_write *sw, const struct err *err)
{
    struct crash_write *cw = container_of(sw, struct crash_write, write);
    struct writer *w = sw->ctx;
    if (err)
        _exit(4);
    tell(w, &cw->op, true);
    obj_unref(sw->obj);
    free(cw);
    w->in_flight--;
    loop_defer(w->loop, LOOP_APPLY, &w->more);
}

static void write_one(struct writer *w)
{
    struct crash_write *cw = xnew(struct crash_write);
    cw->op = model_draw(&w->model, &w->rng, w->store);
    struct obj *o = model_obj(&cw->op, w->store);
    cw->write = (struct store_write){.kind = o->kind,
                                     .ns = o->ns,
                                     .name = o->name,
                                     .obj = o,
                                     .delete = cw->op.value == 0,
                                     .done = on_durable,
                                     .ctx = w};
    tell(w, &cw->op, false);
    if (store_apply(w->store, &cw->write, NULL) < 0)
        _exit(5);
    w->in_flight++;
}

static void on_more(struct loop_task *t)
{
    struct writer *w = container_of(t, struct writer, more);
    /* Batches of one and of many. */
    size_t goal = 1 + rng_below(&w->rng, IN_FLIGHT);
    while (w->in_flight < goal)
        write_one(w);
}

static struct store_options options_in(const char *dir)
{
    return (struct store_options){.dir = dir, .history_events = 300};
}

NORETURN static void child_main(const char *dir, int fd, uint64_t seed, uint64_t next_value)
{
    struct writer w = {.fd = fd, .model.next_value = next_value, .loop = loop_new_real(NULL)};
    rng_seed(&w.rng, seed);
    struct store_options o = options_in(dir);
    struct err err = ERR_INIT;
    w.store = w.loop ? store_open(w.loop, &o, &err) : NULL;
    if (!w.store)
        _exit(2);
    loop_task_init(&w.more, on_more);
    loop_defer(w.loop, LOOP_APPLY, &w.more);
    loop_run(w.loop);
    _exit(0);
}

/* ---- the parent ---- */

struct parent {
    char dir[64];
    struct model model; /* all writes announced; after a check, those that were found */
    uint64_t acked;     /* highest acknowledged revision */
    uint64_t revision;  /* found after the last kill */
    uint64_t total_acks;
};

static void hear(struct parent *p, const struct message *m)
{
    if (!m->is_ack) {
        model_add(&p->model, &m->op);
        return;
    }
    p->total_acks++;
    p->acked = MAX(p->acked, m->op.revision);
}

static int64_t now_msec(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* Reads what the child says until the deadline (-1: to the end of the pipe). Messages are smaller
 * than PIPE_BUF, so none is cut. */
static void listen_until(struct parent *p, int fd, int64_t deadline)
{
    for (;;) {
        int64_t left = deadline < 0 ? -1 : MAX(deadline - now_msec(), 0);
        struct pollfd pfd = {.fd = fd, .events = POLLIN};
        if (poll(&pfd, 1, (int)left) <= 0)
            return;
        struct message m[64];
        ssize_t n = read(fd, m, sizeof(m));
        if (n <= 0)
            return;
        for (size_t i = 0; i < (size_t)n / sizeof(m[0]); i++)
            hear(p, &m[i]);
    }
}

static void run_and_kill(struct parent *p)
{
    int fds[2];
    REQUIRE(pipe2(fds, O_CLOEXEC) == 0);
    uint64_t seed = rng_u64(test_rng());
    int64_t run_msec = 1 + (int64_t)rng_below(test_rng(), MAX_RUN_MSEC);
    pid_t pid = fork();
    REQUIRE(pid >= 0);
    if (pid == 0) {
        close(fds[0]);
        child_main(p->dir, fds[1], seed, p->model.next_value);
    }
    close(fds[1]);
    listen_until(p, fds[0], now_msec() + run_msec);
    kill(pid, SIGKILL);
    int status;
    REQUIRE(waitpid(pid, &status, 0) == pid);
    CHECK(WIFSIGNALED(status));
    listen_until(p, fds[0], -1);
    close(fds[0]);
}

static void check_directory(struct parent *p)
{
    struct loop *l = loop_new_virtual(1, 0);
    struct store_options o = options_in(p->dir);
    struct err err = ERR_INIT;
    struct store *s = store_open(l, &o, &err);
    if (!s)
        test_note("%s", err.message);
    REQUIRE(s);
    uint64_t revision = store_revision(s);
    CHECK(revision >= p->acked);
    CHECK(revision >= p->revision);
    model_cut(&p->model, revision); /* what was announced beyond it did not happen */
    model_check_keys(&p->model, s);
    model_check_replay(&p->model, s, store_oldest_revision(s));
    p->revision = p->acked = revision;
    store_close(s);
    loop_free(l);
}

static void remove_dir(const char *dir)
{
    static const char *const names[] = {"data.mdb", "lock.mdb", "lock"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        char path[128];
        snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
        (void)unlink(path);
    }
    (void)rmdir(dir);
}

TEST(every_acknowledged_write_survives_kill_9)
{
    struct parent p = {.revision = STORE_FIRST_REVISION};
    const char *tmp = getenv("TMPDIR");
    uint64_t runs = test_cases(12);
    kinds_init();
    snprintf(p.dir, sizeof(p.dir), "%s/grove-crash-XXXXXX", tmp ? tmp : "/tmp");
    REQUIRE(mkdtemp(p.dir));
    for (uint64_t i = 0; i < runs; i++) {
        run_and_kill(&p);
        check_directory(&p);
    }
    test_note("%llu kills, %llu writes acknowledged, revision %llu", (unsigned long long)runs,
              (unsigned long long)p.total_acks, (unsigned long long)p.revision);
    CHECK(p.total_acks > 0);
    model_done(&p.model);
    remove_dir(p.dir);
}
