/* See termination_backoff.h. */
#include "grove/termination_backoff.h"

#define LONGEST USEC_PER_DAY
#define HEALTHY (10 * USEC_PER_MIN)
#define DELAY_DEFAULT (4 * USEC_PER_HOUR)
enum { DOUBLINGS = 4 };

/* ---- breaches ---- */

usec termination_delay(const struct obj *pcs)
{
    usec delay;
    str text = jstr(jpath(obj_root(pcs), "spec.template.terminationDelay"));
    return duration_parse_usec(text, &delay) && delay >= 0 ? delay : DELAY_DEFAULT;
}

usec termination_breached_since(const struct obj *child)
{
    jval c = condition_find(jgetc(obj_status(child), "conditions"), STR("MinAvailableBreached"));
    usec since;
    if (!str_is(jstr(jgetc(c, "status")), "True") ||
        !time_parse_rfc3339(jstr(jgetc(c, "lastTransitionTime")), &since))
        return 0;
    return since;
}

/* ---- the arithmetic ---- */

usec backoff_wait(usec delay, int64_t before)
{
    usec most = MAX(delay, LONGEST), wait = delay;
    for (int64_t i = 0; i < MIN(before, DOUBLINGS) && wait < most; i++)
        wait *= 2;
    return MIN(wait, most);
}

static usec reset_after(usec delay)
{
    return MAX(delay, HEALTHY);
}

bool backoff_answers(struct termination_record r, usec since)
{
    return r.count > 0 && r.at > since;
}

int64_t backoff_before(struct termination_record r, usec since, usec delay)
{
    if (r.count <= 0)
        return 0;
    /* It was answered already, which is what was counted last. */
    if (backoff_answers(r, since))
        return r.count - 1;
    return since - r.at >= reset_after(delay) ? 0 : r.count;
}

usec backoff_until(struct termination_record r, usec delay)
{
    return r.at + reset_after(delay) + backoff_wait(delay, r.count);
}

jval backoff_read(const struct obj *pcs, struct arena *a)
{
    str text = obj_annotation(pcs, STR(ANNOTATION_TERMINATIONS));
    struct doc *d = str_is_empty(text) ? NULL : doc_hold(a, doc_parse(text, NULL, NULL));
    return d && jtype(doc_root(d)) == J_OBJECT ? doc_root(d) : JVAL_ABSENT;
}

static struct termination_record record_of(jval entry)
{
    struct termination_record r = {.count = jint(jgetc(entry, "count"), 0)};
    if (r.count < 0 || r.count > INT32_MAX || !time_parse_rfc3339(jstr(jgetc(entry, "at")), &r.at))
        return (struct termination_record){0};
    return r;
}

struct termination_record backoff_of(jval stored, str gang)
{
    return record_of(jget(stored, gang));
}

str backoff_gang(struct arena *a, const struct obj *owner, int64_t index)
{
    return arena_printf(a, "%.*s-%lld", STR_ARG(owner->name), (long long)index);
}

static void write_now(const struct world *world, struct jw *w, const struct termination_now *t,
                      struct arena *a)
{
    jw_key(w, backoff_gang(a, t->owner, t->index));
    jw_object(w);
    jw_put_int(w, "count", t->count);
    /* Rounded up: it is later than the breach, however short the delay. */
    jw_put_time(w, "at", world_shown(world, t->due) + USEC_PER_SEC - 1);
    if (t->owner->kind == &kind_pcsg) {
        jw_put_str(w, "group", t->owner->name);
        jw_put_int(w, "copy", t->index);
    } else {
        jw_put_int(w, "replica", t->index);
    }
    jw_end(w);
}

static const struct termination_now *find_now(const struct termination_now *now, size_t n, str gang,
                                              struct arena *a)
{
    for (size_t i = 0; i < n; i++) {
        if (str_eq(backoff_gang(a, now[i].owner, now[i].index), gang))
            return &now[i];
    }
    return NULL;
}

static void note_next(usec *next, usec at)
{
    *next = *next ? MIN(*next, at) : at;
}

str backoff_text(const struct world *world, const struct obj *pcs, jval stored,
                 const struct termination_now *now, size_t n, usec delay, struct arena *a,
                 bool *ret_news, usec *ret_next)
{
    struct jw w;
    size_t left = 0;
    *ret_next = 0;
    jw_init(&w);
    jw_object(&w);
    for (size_t i = 0; i < n && left < TERMINATIONS_MAX; i++, left++) {
        write_now(world, &w, &now[i], a);
        note_next(ret_next,
                  backoff_until((struct termination_record){now[i].count, now[i].due}, delay));
    }
    for (struct jiter it = jiter(stored); jnext(&it);) {
        struct termination_record r = record_of(it.value);
        r.at = world_moment(world, r.at);
        usec until = backoff_until(r, delay);
        if (r.count == 0 || until <= world_steady(world) || left >= TERMINATIONS_MAX ||
            find_now(now, n, it.key, a))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
        note_next(ret_next, until);
        left++;
    }
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    str text = left ? arena_str(a, doc_text(d)) : STR_NONE;
    doc_unref(d);
    *ret_news = !str_eq(text, obj_annotation(pcs, STR(ANNOTATION_TERMINATIONS)));
    return text;
}

/* A member's gang is its replica of the group. */
usec termination_deadline(const struct obj *pcs, const struct obj *child)
{
    struct arena a = ARENA_INIT;
    jval owner = obj_controller_ref(child);
    bool member = str_is(jstr(jgetc(owner, "kind")), kind_pcsg.kind);
    int64_t index = label_index(child, member ? STR(LABEL_PCSG_INDEX) : STR(LABEL_PCS_INDEX));
    usec since = termination_breached_since(child), delay = termination_delay(pcs);
    struct obj named = {.name = member ? jstr(jgetc(owner, "name")) : pcs->name};
    struct termination_record r =
        backoff_of(backoff_read(pcs, &a), backoff_gang(&a, &named, index));
    arena_done(&a);
    return since ? since + backoff_wait(delay, backoff_before(r, since, delay)) : 0;
}
