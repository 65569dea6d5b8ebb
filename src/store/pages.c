/* See pages.h. */
#include "store/pages.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "store/internal.h"

/* LMDB's format (mdb.c of 0.9): offsets in bytes. */
enum {
    PAGE_HEAD = 16, /* 0 number, 10 flags, 12 lower, 14 upper; of overflow pages 12 their count */
    PAGE_FLAGS = 10,
    PAGE_LOWER = 12,
    PAGE_UPPER = 14,
    PAGE_COUNT = 12,
    NODE_HEAD = 8, /* 0 size or child (6 bytes, in branches), 4 flags, 6 length of the key */
    NODE_FLAGS = 4,
    NODE_KEY_LEN = 6,
    DB_SIZE = 48, /* 0 pad, 4 flags, 6 depth, 8 branch, 16 leaf, 24 overflow, 32 entries, 40 root */
    META_MAGIC = 0,
    META_VERSION = 4,
    META_FREE_DB = 24,
    META_MAIN_DB = META_FREE_DB + DB_SIZE,
    META_LAST = META_MAIN_DB + DB_SIZE,
    META_TXN = META_LAST + 8,
    META_SIZE = META_TXN + 8,
};
enum { P_BRANCH = 1, P_LEAF = 2, P_OVERFLOW = 4, P_META = 8 };
enum { F_BIG = 1, F_DATABASE = 2 };
enum { PAGE_MIN = 512, PAGE_MAX = 32768, DEPTH_MAX = 32, INTEGER_KEY = 8, FLAGS_MASK = 0xff };

#define MAGIC 0xBEEFC0DEu
#define VERSION 1
#define NO_PAGE UINT64_MAX
#define FILE_MAX ((uint64_t)256 << 30)

struct db {
    const char *name;
    uint16_t flags, depth;
    uint64_t branch, leaf, overflow, entries, root;
};

struct meta {
    uint64_t txn, last;
    struct db free, main;
};

struct walk {
    const uint8_t *p;
    size_t len;
    size_t psize;
    uint64_t n;    /* pages of the commit that is walked */
    uint8_t *seen; /* a bit per page; NULL: pages are not marked */
    struct pages_report *r;
    struct err *err;
    bool stop;
};

/* One tree while it is walked. */
struct tree {
    struct walk *w;
    const struct db *db;
    struct db counted;
    str last;  /* key of the last leaf node */
    str bound; /* the next key is not below it; p NULL: none */
    void (*on_node)(struct tree *t, str key, str value, unsigned flags);
    void *ctx;
};

/* ---- numbers: in the byte order of the processor, perhaps not aligned ---- */

#define GET(type, name)                \
    static type name(const uint8_t *p) \
    {                                  \
        type v;                        \
        memcpy(&v, p, sizeof(v));      \
        return v;                      \
    }
GET(uint16_t, get16)
GET(uint32_t, get32)
GET(uint64_t, get64)

/* ---- findings ---- */

static void finding(struct walk *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

static void finding(struct walk *w, const char *fmt, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    if (w->r->findings++ == 0)
        (void)err_set(w->err, ERR_INVALID, "%s", text);
    if (w->r->on_finding)
        w->r->on_finding(w->r->ctx, text);
    else
        w->stop = true;
}

/* ---- pages ---- */

static bool mark(struct walk *w, uint64_t pgno)
{
    uint8_t bit = (uint8_t)(1u << (pgno & 7));
    if (!w->seen)
        return true;
    if (w->seen[pgno >> 3] & bit)
        return false;
    w->seen[pgno >> 3] |= bit;
    return true;
}

/* The bytes of `count` pages that nobody else uses; NULL: a finding. */
static const uint8_t *page_take(struct walk *w, const struct db *db, uint64_t pgno, uint64_t count)
{
    if (pgno < 2 || pgno >= w->n || count > w->n - pgno) {
        finding(w, "database %s points to page %llu, and there are only pages 2 to %llu", db->name,
                (unsigned long long)pgno + (count - 1), (unsigned long long)w->n - 1);
        return NULL;
    }
    if ((pgno + count) * w->psize > w->len) {
        finding(w, "page %llu of database %s is missing: the file ends at byte %zu",
                (unsigned long long)(pgno + count - 1), db->name, w->len);
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++) {
        if (mark(w, pgno + i))
            continue;
        finding(w, "page %llu of database %s is used twice", (unsigned long long)pgno + i,
                db->name);
        return NULL;
    }
    return w->p + pgno * w->psize;
}

static const char *type_name(unsigned flags)
{
    return flags == P_BRANCH ? "branch" : flags == P_LEAF ? "leaf" : "overflow";
}

static bool check_head(struct walk *w, const struct db *db, const uint8_t *p, uint64_t pgno,
                       unsigned type)
{
    if (get64(p) == pgno && get16(p + PAGE_FLAGS) == type)
        return true;
    finding(w, "page %llu (byte %llu) of database %s is no %s page of that number",
            (unsigned long long)pgno, (unsigned long long)pgno * w->psize, db->name,
            type_name(type));
    return false;
}

/* ---- keys ---- */

/* LMDB compares the free list's keys as numbers and all others as bytes. */
static int key_order(const struct tree *t, str a, str b)
{
    if (!(t->db->flags & INTEGER_KEY))
        return str_cmp(a, b);
    uint64_t x = get64((const uint8_t *)a.p), y = get64((const uint8_t *)b.p);
    return (x > y) - (x < y);
}

static bool is_key(const struct tree *t, str key)
{
    return key.len > 0 && (!(t->db->flags & INTEGER_KEY) || key.len == 8);
}

static bool key_follows(struct tree *t, str key)
{
    if (!is_key(t, key) || (t->last.p && key_order(t, t->last, key) >= 0) ||
        (t->bound.p && key_order(t, t->bound, key) > 0))
        return false;
    t->last = key;
    t->bound = STR_NONE;
    return true;
}

/* ---- nodes ---- */

/* Bounds of a node that begins at p; 0: it does not end inside its page. */
static size_t node_size(const uint8_t *p, size_t room, bool is_leaf)
{
    if (room < NODE_HEAD)
        return 0;
    size_t size = NODE_HEAD + (size_t)get16(p + NODE_KEY_LEN);
    if (is_leaf)
        size += get16(p + NODE_FLAGS) & F_BIG ? sizeof(uint64_t) : get32(p);
    size += size & 1;
    return size <= room ? size : 0;
}

static str node_key_of(const uint8_t *p)
{
    return str_n((const char *)p + NODE_HEAD, get16(p + NODE_KEY_LEN));
}

/* Where the nodes are and that they fill the page; the number of nodes, or 0 with a finding. */
static size_t check_nodes(struct tree *t, const uint8_t *p, uint64_t pgno, bool is_leaf)
{
    struct walk *w = t->w;
    size_t lower = get16(p + PAGE_LOWER), upper = get16(p + PAGE_UPPER), filled = 0;
    size_t n = lower >= PAGE_HEAD ? (lower - PAGE_HEAD) / 2 : 0;
    /* LMDB does not search a branch with one child, except in the list of free pages. */
    bool good = n > (is_leaf || t->db->flags & INTEGER_KEY ? 0 : 1) && lower % 2 == 0 &&
                lower <= upper && upper <= w->psize;
    for (size_t i = 0; good && i < n; i++) {
        size_t at = get16(p + PAGE_HEAD + 2 * i);
        size_t size = at < upper || at > w->psize ? 0 : node_size(p + at, w->psize - at, is_leaf);
        good = size > 0;
        filled += size;
    }
    if (good && filled == w->psize - upper)
        return n;
    finding(w, "page %llu (byte %llu) of database %s: its nodes do not fit together",
            (unsigned long long)pgno, (unsigned long long)pgno * w->psize, t->db->name);
    return 0;
}

static void bad_order(struct tree *t, uint64_t pgno)
{
    finding(t->w, "page %llu (byte %llu) of database %s: its keys are not in order",
            (unsigned long long)pgno, (unsigned long long)pgno * t->w->psize, t->db->name);
}

/* The value of a node that keeps it in pages of its own. */
static bool big_value(struct tree *t, const uint8_t *node, str *ret)
{
    struct walk *w = t->w;
    uint64_t len = get32(node), pgno = get64(node + NODE_HEAD + get16(node + NODE_KEY_LEN));
    uint64_t need = (PAGE_HEAD - 1 + len) / w->psize + 1;
    if (pgno < 2 || pgno >= w->n || (pgno + 1) * w->psize > w->len) {
        (void)page_take(w, t->db, pgno, need); /* says why not */
        return false;
    }
    const uint8_t *p = w->p + pgno * w->psize;
    if (!check_head(w, t->db, p, pgno, P_OVERFLOW))
        return false;
    uint64_t count = get32(p + PAGE_COUNT);
    if (count < need || !page_take(w, t->db, pgno, count)) {
        if (count < need)
            finding(w, "page %llu of database %s: %llu pages are too few for a value of %llu bytes",
                    (unsigned long long)pgno, t->db->name, (unsigned long long)count,
                    (unsigned long long)len);
        return false;
    }
    t->counted.overflow += count;
    *ret = str_n((const char *)p + PAGE_HEAD, len);
    return true;
}

static void walk_leaf(struct tree *t, const uint8_t *p, uint64_t pgno, size_t n)
{
    t->counted.leaf++;
    for (size_t i = 0; i < n && !t->w->stop; i++) {
        const uint8_t *node = p + get16(p + PAGE_HEAD + 2 * i);
        unsigned flags = get16(node + NODE_FLAGS);
        str key = node_key_of(node), value = str_n(key.p + key.len, get32(node));
        t->counted.entries++;
        if (!key_follows(t, key))
            bad_order(t, pgno);
        else if (!(flags & F_BIG) || big_value(t, node, &value))
            t->on_node(t, key, value, flags & ~(unsigned)F_BIG);
    }
}

static void walk_page(struct tree *t, uint64_t pgno, unsigned depth);

static void walk_branch(struct tree *t, const uint8_t *p, uint64_t pgno, size_t n, unsigned depth)
{
    t->counted.branch++;
    for (size_t i = 0; i < n && !t->w->stop; i++) {
        const uint8_t *node = p + get16(p + PAGE_HEAD + 2 * i);
        str key = node_key_of(node);
        uint64_t child = get32(node) | (uint64_t)get16(node + NODE_FLAGS) << 32;
        /* The first key of a branch is never looked at. */
        if (i > 0 && (!is_key(t, key) || (t->last.p && key_order(t, t->last, key) >= 0))) {
            bad_order(t, pgno);
            continue;
        }
        if (i > 0)
            t->bound = key;
        walk_page(t, child, depth + 1);
    }
}

static void walk_page(struct tree *t, uint64_t pgno, unsigned depth)
{
    struct walk *w = t->w;
    bool is_leaf = depth == t->db->depth;
    const uint8_t *p = page_take(w, t->db, pgno, 1);
    if (!p || !check_head(w, t->db, p, pgno, is_leaf ? P_LEAF : P_BRANCH))
        return;
    size_t n = check_nodes(t, p, pgno, is_leaf);
    if (n > 0 && is_leaf)
        walk_leaf(t, p, pgno, n);
    else if (n > 0)
        walk_branch(t, p, pgno, n, depth);
}

/* ---- databases ---- */

static struct db db_read(const uint8_t *p, const char *name)
{
    return (struct db){.name = name,
                       .flags = get16(p + 4),
                       .depth = get16(p + 6),
                       .branch = get64(p + 8),
                       .leaf = get64(p + 16),
                       .overflow = get64(p + 24),
                       .entries = get64(p + 32),
                       .root = get64(p + 40)};
}

static void walk_tree(struct walk *w, const struct db *db,
                      void (*on_node)(struct tree *t, str key, str value, unsigned flags),
                      void *ctx)
{
    struct tree t = {.w = w, .db = db, .on_node = on_node, .ctx = ctx};
    size_t before = w->r->findings;
    if (w->stop)
        return;
    if (db->depth > DEPTH_MAX || (db->root == NO_PAGE) != (db->depth == 0)) {
        finding(w, "the root of database %s is damaged", db->name);
        return;
    }
    if (db->depth > 0)
        walk_page(&t, db->root, 1);
    /* What a damaged page would have added is not known. */
    if (w->r->findings == before &&
        (t.counted.branch != db->branch || t.counted.leaf != db->leaf ||
         t.counted.overflow != db->overflow || t.counted.entries != db->entries))
        finding(w, "database %s has %llu entries in %llu pages instead of %llu in %llu", db->name,
                (unsigned long long)t.counted.entries,
                (unsigned long long)t.counted.branch + t.counted.leaf + t.counted.overflow,
                (unsigned long long)db->entries,
                (unsigned long long)db->branch + db->leaf + db->overflow);
}

static void on_free(struct tree *t, str key, str value, unsigned flags)
{
    struct walk *w = t->w;
    const uint8_t *p = (const uint8_t *)value.p;
    uint64_t n = value.len >= 8 ? get64(p) : UINT64_MAX, before = NO_PAGE;
    bool good = flags == 0 && value.len % 8 == 0 && n <= value.len / 8 - 1;
    *(uint64_t *)t->ctx = get64((const uint8_t *)key.p);
    for (uint64_t i = 1; good && i <= n; i++) {
        uint64_t pgno = get64(p + 8 * i);
        good = pgno >= 2 && pgno < w->n && pgno < before && mark(w, pgno);
        before = pgno;
        w->r->free++;
    }
    if (!good)
        finding(w, "the list of free pages is damaged: entry %llu",
                (unsigned long long)get64((const uint8_t *)key.p));
}

static void on_log(struct tree *t, str key, str value, unsigned flags)
{
    struct walk *w = t->w;
    if (flags)
        finding(w, "a record of the log has the unknown flags %u", flags);
    else if (w->r->on_record)
        w->r->on_record(w->r->ctx, key, value);
}

static void on_meta(struct tree *t, str key, str value, unsigned flags)
{
    struct pages_report *r = t->w->r;
    uint64_t *numbers[] = {&r->format, &r->oldest, &r->revision};
    static const char *const names[] = {"format", "oldest", "revision"};
    if (flags || value.len != 8) {
        finding(t->w, "a number of database meta is damaged");
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        if (str_is(key, names[i]))
            *numbers[i] = get_be(value.p, 8);
}

static const struct {
    const char *name;
    void (*on_node)(struct tree *t, str key, str value, unsigned flags);
} databases[] = {{"log", on_log}, {"meta", on_meta}};

static void on_database(struct tree *t, str key, str value, unsigned flags)
{
    unsigned *found = t->ctx;
    for (size_t i = 0; i < ARRAY_LEN(databases); i++) {
        if (!str_is(key, databases[i].name) || flags != F_DATABASE || value.len != DB_SIZE)
            continue;
        struct db db = db_read((const uint8_t *)value.p, databases[i].name);
        *found |= 1u << i;
        if (db.flags)
            finding(t->w, "database %s has the unknown flags %u", db.name, db.flags);
        else
            walk_tree(t->w, &db, databases[i].on_node, NULL);
        return;
    }
    finding(t->w, "there is a database \"%.*s\" that is not the store's: another program's file?",
            (int)MIN(key.len, 40), key.p);
}

/* ---- meta pages ---- */

static bool meta_read(struct walk *w, unsigned i, struct meta *ret)
{
    const uint8_t *p = w->p + i * w->psize, *m = p + PAGE_HEAD;
    if ((i + 1) * w->psize > w->len) {
        finding(w, "the file ends within meta page %u, at byte %zu", i, w->len);
        return false;
    }
    *ret = (struct meta){.txn = get64(m + META_TXN),
                         .last = get64(m + META_LAST),
                         .free = db_read(m + META_FREE_DB, "of free pages"),
                         .main = db_read(m + META_MAIN_DB, "of databases")};
    if (get64(p) == i && get16(p + PAGE_FLAGS) == P_META && get32(m + META_MAGIC) == MAGIC &&
        get32(m + META_VERSION) == VERSION && get32(m + META_FREE_DB) == w->psize &&
        (ret->free.flags & FLAGS_MASK) == INTEGER_KEY && ret->main.flags == 0 && ret->last >= 1 &&
        ret->last < FILE_MAX / w->psize && (ret->txn == 0 || ret->txn % 2 == i))
        return true;
    finding(w, "meta page %u (byte %zu) is damaged", i, i * w->psize);
    return false;
}

/* The page size is in the first meta page, or in the second if that one is lost. */
static bool find_page_size(struct walk *w)
{
    for (size_t at = 0; at <= PAGE_MAX; at = at ? at * 2 : PAGE_MIN) {
        if (at + PAGE_HEAD + META_SIZE > w->len)
            break;
        const uint8_t *m = w->p + at + PAGE_HEAD;
        uint32_t psize = get32(m + META_FREE_DB);
        if (get32(m + META_MAGIC) != MAGIC || psize < PAGE_MIN || psize > PAGE_MAX ||
            (psize & (psize - 1)) || (at > 0 && psize != at))
            continue;
        w->psize = psize;
        return true;
    }
    finding(w, "it is no file of LMDB's: there is no meta page at its beginning");
    return false;
}

static void walk_commit(struct walk *w, const struct meta *m)
{
    unsigned found = 0;
    uint64_t last_freed = m->txn;
    struct db main = m->main, free_pages = m->free;
    free_pages.flags &= FLAGS_MASK;
    w->n = m->last + 1;
    w->r->pages = w->n;
    w->r->commit = m->txn;
    w->seen = xcalloc(w->n / 8 + 1, 1);
    walk_tree(w, &main, on_database, &found);
    if (!w->stop && found != (1u << ARRAY_LEN(databases)) - 1)
        finding(w, "the database \"%s\" is missing", found & 1 ? "meta" : "log");
    walk_tree(w, &free_pages, on_free, &last_freed);
    /* Every commit after the first replaces pages, and lists them under its own number. */
    if (!w->stop && last_freed != m->txn)
        finding(w, "the newest meta page says transaction %llu, its list of free pages says %llu",
                (unsigned long long)m->txn, (unsigned long long)last_freed);
    free(w->seen);
    w->seen = NULL;
}

static void walk_file(struct walk *w)
{
    struct meta m[2];
    if (!find_page_size(w))
        return;
    w->r->page_size = w->psize;
    bool good[2] = {meta_read(w, 0, &m[0]), false};
    good[1] = !w->stop && meta_read(w, 1, &m[1]);
    if (w->stop || (!good[0] && !good[1]))
        return;
    bool both = good[0] && good[1];
    unsigned newest = both ? m[1].txn > m[0].txn : good[1];
    const struct meta *now = &m[newest], *past = &m[1 - newest];
    /* Commits write the two pages in turn. */
    if (both && now->txn - past->txn != 1 && now->txn != 0)
        finding(w,
                "the meta pages are of the transactions %llu and %llu, which do not follow each "
                "other",
                (unsigned long long)past->txn, (unsigned long long)now->txn);
    if (w->r->past && !both)
        finding(w, "there is no meta page of the commit before the newest one");
    else if (!w->stop)
        walk_commit(w, w->r->past ? past : now);
}

/* ---- the file ---- */

/* Read errors come as an answer here; later, through the map, they would come as a signal. It also
 * brings the file into memory in the order in which the disk likes to read. */
static int read_through(int fd, const char *path, struct err *err)
{
    enum { STEP = 1 << 20 };
    char *buf = xmalloc(STEP);
    int r = 0;
    for (off_t at = 0; r == 0;) {
        ssize_t n = pread(fd, buf, STEP, at);
        if (n == 0)
            break;
        if (n < 0 && errno != EINTR)
            r = err_errno(err, ERR_IO, "cannot read %s at byte %lld: the disk fails", path,
                          (long long)at);
        at += n > 0 ? n : 0;
    }
    free(buf);
    return r;
}

static int check_type(const struct stat *st, const char *path, struct err *err)
{
    if (S_ISDIR(st->st_mode))
        return err_set(err, ERR_INVALID, "%s is a directory and not a file", path);
    if (!S_ISREG(st->st_mode))
        return err_set(err, ERR_INVALID, "%s is no regular file", path);
    if (st->st_size == 0)
        return err_set(err, ERR_INVALID, "%s is empty", path);
    return 0;
}

static int verify_fd(int fd, const char *path, struct pages_report *r, struct err *err)
{
    struct stat st;
    struct err first = ERR_INIT;
    if (fstat(fd, &st) < 0)
        return err_errno(err, ERR_IO, "cannot look at %s", path);
    int e = check_type(&st, path, err);
    e = e < 0 ? e : read_through(fd, path, err);
    if (e < 0)
        return e;
    struct walk w = {.len = (size_t)st.st_size, .r = r, .err = &first};
    w.p = mmap(NULL, w.len, PROT_READ, MAP_SHARED, fd, 0);
    if (w.p == MAP_FAILED)
        return err_errno(err, ERR_IO, "cannot map %s", path);
    walk_file(&w);
    munmap((void *)w.p, w.len);
    return r->findings ? err_set(err, ERR_INVALID, "%s is damaged: %s", path, first.message) : 0;
}

int pages_verify(const char *path, struct pages_report *r, struct err *err)
{
    struct pages_report none = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return err_errno(err, errno == ENOENT ? ERR_NOT_FOUND : ERR_IO, "cannot open %s", path);
    int e = verify_fd(fd, path, r ? r : &none, err);
    close(fd);
    return e;
}
