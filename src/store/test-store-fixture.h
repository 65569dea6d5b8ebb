/*
 * What the tests of this folder share: a store on a loop of either sort, writes in one line, and a
 * diary of what was called in which order.
 */
#ifndef STORE_TEST_STORE_FIXTURE_H
#define STORE_TEST_STORE_FIXTURE_H

#include "base/test.h"
#include "store/internal.h"

struct fixture {
    struct loop *loop;
    struct store *store;
    struct store_options options;
    char dir[64]; /* of a store on disk; empty otherwise */
    struct store_sub sub;
    struct loop_timer timer; /* for tests that let time pass */
    size_t unfinished;       /* writes whose done has not come */
    size_t batches;
    int last_error;
    uint64_t failed_from; /* first revision whose write failed, or 0 */
    struct strbuf diary;  /* "event ADDED a 2; done a 2; batch; " */
};

/* In memory, on the virtual loop, with the diary subscribed. */
void fixture_init(struct fixture *f);
/* In a fresh directory, on the real or the virtual loop. */
void fixture_init_disk(struct fixture *f, bool is_virtual);
void fixture_done(struct fixture *f);
/* With the files that a store makes. */
void fixture_remove_dir(const char *dir);
/* With the options as they are now; the diary stays. */
void fixture_reopen(struct fixture *f);

struct obj *test_obj(const struct kind *k, str ns, str name, uint64_t rv, str payload);
str test_payload(const struct obj *o);
/* Takes over the object; done goes to the diary. Returns the revision, 0 when refused. */
uint64_t apply_obj(struct fixture *f, struct obj *o, bool delete);
/* Writes into namespace "ns" unless told. */
uint64_t put_kind(struct fixture *f, const struct kind *k, const char *ns, const char *name,
                  const char *payload);
uint64_t del_kind(struct fixture *f, const struct kind *k, const char *ns, const char *name);
uint64_t put(struct fixture *f, const char *name, const char *payload);
uint64_t del(struct fixture *f, const char *name);
/* Runs the loop until every done has come. */
void settle(struct fixture *f);
/* The diary since the last time. */
void check_diary_(struct fixture *f, const char *want, const char *file, int line);
#define CHECK_DIARY(f, want) check_diary_(f, want, __FILE__, __LINE__)
/* Payload of the durable version, or "-". */
str durable(struct fixture *f, const char *name);
str newest(struct fixture *f, const char *name);

#endif
