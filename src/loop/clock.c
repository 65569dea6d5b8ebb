/* See clock.h. */
#include "loop/clock.h"

#include <unistd.h>

#include "base/file.h"

/* Wall times differ from what monotonic time says by this much before it counts as a step: what is
 * less is within what `low` and `high` of a span allow for. */
#define STEP LOOP_WALL_STEP
#define RECORD "v1"
enum { BOOT_MAX = 128, LINE_MAX = 256 };

/* A time to come by no more than this is a moment ago: who asks may have looked at the clock a
 * while before whoever wrote it. */
#define AHEAD USEC_PER_SEC

/* ---- the table ---- */

static struct clock_span *last_span(struct clock_table *t)
{
    return &t->spans[t->n - 1];
}

static void begin_span(struct clock_table *t, usec from, usec offset)
{
    t->spans[t->n++] = (struct clock_span){from, INT64_MAX, offset, offset};
    t->offset = offset;
}

void clock_table_init(struct clock_table *t, usec now, usec wall)
{
    *t = (struct clock_table){.seen = now};
    begin_span(t, INT64_MIN, wall - now);
}

/* The two oldest become one, which says the later of what they said. */
static void merge_oldest(struct clock_table *t)
{
    struct clock_span *a = &t->spans[0], *b = &t->spans[1];
    b->from = MIN(a->from, b->from);
    b->to = MAX(a->to, b->to);
    b->low = MIN(a->low, b->low);
    b->high = MAX(a->high, b->high);
    memmove(a, b, --t->n * sizeof(*a));
}

bool clock_table_look(struct clock_table *t, usec now, usec wall, usec since)
{
    struct clock_span *s = last_span(t);
    usec offset = wall - now, moved = offset - t->offset;
    usec from = MIN(MAX(since, t->seen), now);
    t->seen = now;
    if (moved <= STEP && moved >= -STEP) {
        s->low = MIN(s->low, offset);
        s->high = MAX(s->high, offset);
        return false;
    }
    /* It was set between `from` and now: each span is as long as it may have been. */
    s->to = now + s->high;
    if (t->n == CLOCK_SPANS)
        merge_oldest(t);
    begin_span(t, from + offset, offset);
    return true;
}

usec clock_latest(usec wall)
{
    return wall % USEC_PER_SEC == 0 ? wall + USEC_PER_SEC : wall;
}

/* Spans may overlap where nobody knows when exactly the clock was set: of the moments that a time
 * may have been, the latest counts. */
usec clock_table_moment(const struct clock_table *t, usec now, usec wall, usec latest)
{
    const struct clock_span *last = &t->spans[t->n - 1];
    usec found = INT64_MIN, skipped = INT64_MIN;
    for (size_t i = t->n; i-- > 0;) {
        const struct clock_span *s = &t->spans[i];
        usec to = s == last ? now + s->high + AHEAD : s->to;
        if (wall <= to && latest >= s->from)
            found = MAX(found, MIN(latest, s->to) - s->low);
        /* Between two spans: it was set forward past this time. */
        if (i > 0 && latest < s->from && wall > t->spans[i - 1].to)
            skipped = MAX(skipped, s->from - s->low);
    }
    found = found != INT64_MIN ? found : skipped;
    return found != INT64_MIN ? found : latest - last->low;
}

usec clock_table_shown(const struct clock_table *t, usec moment)
{
    size_t i = t->n - 1;
    while (i > 0 && t->spans[i].from - t->spans[i].low > moment)
        i--;
    return moment + t->spans[i].low;
}

/* ---- records ---- */

/* "v1 BOOT NOW FROM:TO:LOW:HIGH,...": the last span goes on. */
void clock_table_write(const struct clock_table *t, str boot, usec now, struct strbuf *out)
{
    strbuf_printf(out, "%s %.*s %lld ", RECORD, STR_ARG(boot), (long long)now);
    for (size_t i = 0; i < t->n; i++) {
        const struct clock_span *s = &t->spans[i];
        strbuf_printf(out, "%s%lld:%lld:%lld:%lld", i ? "," : "", (long long)s->from,
                      (long long)s->to, (long long)s->low, (long long)s->high);
    }
}

static bool read_span(str text, struct clock_span *ret)
{
    usec *const fields[] = {&ret->from, &ret->to, &ret->low, &ret->high};
    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        if (!str_to_int(str_cut(&text, ':'), fields[i]))
            return false;
    }
    return str_is_empty(text) && ret->from <= ret->to && ret->low <= ret->high;
}

/* Times are years, not ages: sums of them stay in range. */
static bool is_sane(const struct clock_table *t)
{
    const usec most = (usec)10000 * 366 * USEC_PER_DAY;
    for (size_t i = 0; i < t->n; i++) {
        const struct clock_span *s = &t->spans[i];
        bool first = i == 0 && s->from == INT64_MIN, open = i + 1 == t->n && s->to == INT64_MAX;
        if ((!first && (s->from < -most || s->from > most)) || s->low < -most || s->high > most ||
            (!open && s->to > most) || (i + 1 == t->n && !open))
            return false;
    }
    return t->n > 0 && t->spans[0].from == INT64_MIN;
}

bool clock_table_read(struct clock_table *t, str record, str boot, usec now, usec wall)
{
    struct clock_table r = {0};
    if (!str_is(str_cut(&record, ' '), RECORD) || !str_eq(str_cut(&record, ' '), boot) ||
        !str_to_int(str_cut(&record, ' '), &r.seen) || r.seen < 0 || r.seen > now)
        return false;
    while (!str_is_empty(record) && r.n < CLOCK_SPANS) {
        if (!read_span(str_cut(&record, ','), &r.spans[r.n++]))
            return false;
    }
    if (!str_is_empty(record) || !is_sane(&r))
        return false;
    struct clock_span *s = last_span(&r);
    r.offset = s->low + (s->high - s->low) / 2;
    (void)clock_table_look(&r, now, wall, r.seen);
    *t = r;
    return true;
}

/* ---- the clock of a process ---- */

struct clock {
    struct loop *loop;
    struct loop_wall_watch watch;
    struct clock_table table;
    usec set_by; /* simulations */
    usec base;   /* steady − monotonic */
    char boot[BOOT_MAX];
    struct list listeners;
};

static void tell(struct clock *c)
{
    struct list all;
    list_init(&all);
    for (struct list *n; (n = list_pop_front(&c->listeners));)
        list_push_back(&all, n);
    for (struct list *n; (n = list_pop_front(&all));) {
        list_push_back(&c->listeners, n);
        struct clock_listener *l = list_entry(n, struct clock_listener, link);
        l->fn(l);
    }
}

static void look(struct clock *c, usec since)
{
    if (clock_table_look(&c->table, loop_now(c->loop), clock_wall(c), since))
        tell(c);
}

static void on_wall_set(struct loop_wall_watch *w, usec since)
{
    look(container_of(w, struct clock, watch), since);
}

/* Whose monotonic time it is: of a boot of a machine, and of a namespace of times on it. */
static void read_boot(struct clock *c)
{
    struct strbuf id = STRBUF_INIT(LINE_MAX);
    char ns[LINE_MAX] = "";
    if (loop_is_virtual(c->loop)) {
        (void)snprintf(c->boot, sizeof(c->boot), "virtual");
        return;
    }
    if (file_read("/proc/sys/kernel/random/boot_id", &id, NULL) == 0 &&
        readlink("/proc/self/ns/time", ns, sizeof(ns) - 1) >= 0)
        (void)snprintf(c->boot, sizeof(c->boot), "%.*s/%s", STR_ARG(str_trim(strbuf_str(&id))), ns);
    strbuf_done(&id);
}

struct clock *clock_new(struct loop *l, usec by)
{
    struct clock *c = xnew(struct clock);
    c->loop = l;
    list_init(&c->listeners);
    read_boot(c);
    c->set_by = by;
    usec now = loop_now(l), wall = clock_wall(c);
    clock_table_init(&c->table, now, wall);
    c->base = wall - now;
    c->watch.fn = on_wall_set;
    loop_watch_wall(l, &c->watch);
    return c;
}

void clock_free(struct clock *c)
{
    if (!c)
        return;
    loop_unwatch_wall(&c->watch);
    while (list_pop_front(&c->listeners))
        ;
    free(c);
}

usec clock_wall(const struct clock *c)
{
    return loop_wall(c->loop) + c->set_by;
}

usec clock_steady(const struct clock *c)
{
    return loop_now(c->loop) + c->base;
}

usec clock_moment(const struct clock *c, usec wall)
{
    return clock_table_moment(&c->table, loop_now(c->loop), wall, clock_latest(wall)) + c->base;
}

usec clock_moment_exact(const struct clock *c, usec wall)
{
    return clock_table_moment(&c->table, loop_now(c->loop), wall, wall) + c->base;
}

usec clock_shown(const struct clock *c, usec moment)
{
    return clock_table_shown(&c->table, moment - c->base);
}

void clock_listen(struct clock *c, struct clock_listener *l)
{
    list_init(&l->link);
    list_push_back(&c->listeners, &l->link);
}

void clock_unlisten(struct clock_listener *l)
{
    list_remove(&l->link);
}

void clock_save(const struct clock *c, struct strbuf *out)
{
    if (c->boot[0])
        clock_table_write(&c->table, str_of(c->boot), loop_now(c->loop), out);
}

void clock_restore(struct clock *c, str record)
{
    if (c->boot[0])
        (void)clock_table_read(&c->table, record, str_of(c->boot), loop_now(c->loop),
                               clock_wall(c));
}

void clock_stay(struct clock *c, usec by)
{
    c->set_by -= by;
}

void clock_set_by(struct clock *c, usec by)
{
    c->set_by += by;
    look(c, loop_now(c->loop));
}
