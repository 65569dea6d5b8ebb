/* See journal.h. A map of objects, each with a list of notes; the objects are also in the order in
 * which something was last decided about them, so that the one to forget is the first. */
#include "client/journal.h"

#include "base/map.h"

enum { MAX_KEY = 1024, MAX_TEXT = 512 };

struct note {
    struct list link;
    usec at;
    uint64_t count;
    str who, what, why; /* in text */
    size_t size;
    char text[];
};

struct record {
    struct list link; /* journal.order */
    struct list notes;
    unsigned n_notes;
    str key; /* in text */
    size_t size;
    char text[];
};

struct journal {
    struct map records;
    struct list order; /* longest ago first */
    size_t bytes, max_bytes;
};

struct journal *journal_new(size_t max_bytes)
{
    struct journal *j = xnew(struct journal);
    j->max_bytes = max_bytes;
    list_init(&j->order);
    return j;
}

static void drop_note(struct journal *j, struct record *r, struct note *n)
{
    list_remove(&n->link);
    r->n_notes--;
    j->bytes -= n->size;
    free(n);
}

static void drop_record(struct journal *j, struct record *r)
{
    list_foreach (it, &r->notes)
        drop_note(j, r, list_entry(it, struct note, link));
    (void)map_del(&j->records, r->key);
    list_remove(&r->link);
    j->bytes -= r->size;
    free(r);
}

void journal_free(struct journal *j)
{
    if (!j)
        return;
    while (!list_is_empty(&j->order))
        drop_record(j, list_entry(j->order.next, struct record, link));
    map_done(&j->records);
    free(j);
}

size_t journal_bytes(const struct journal *j)
{
    return j->bytes;
}

/* ---- noting ---- */

/* "Pod default/x"; false: no object has such a name. */
static bool write_key(char key[MAX_KEY], str kind, str ns, str name, str *ret)
{
    int n = snprintf(key, MAX_KEY, "%.*s %.*s/%.*s", STR_ARG(kind), STR_ARG(ns), STR_ARG(name));
    *ret = (str){key, (size_t)n};
    return n > 0 && n < MAX_KEY;
}

static struct record *record_of(struct journal *j, str key)
{
    struct record *r = map_get(&j->records, key);
    if (r) {
        list_remove(&r->link);
    } else {
        r = xcalloc(1, sizeof(*r) + key.len);
        r->size = sizeof(*r) + key.len;
        memcpy(r->text, key.p, key.len);
        r->key = (str){r->text, key.len};
        list_init(&r->notes);
        (void)map_put(&j->records, r->key, r);
        j->bytes += r->size;
    }
    list_push_back(&j->order, &r->link);
    return r;
}

static str copy(char **to, str from)
{
    str s = {*to, from.len};
    if (from.len)
        memcpy(*to, from.p, from.len);
    *to += from.len;
    return s;
}

/* Not in the middle of a character. */
static str cut(str s)
{
    size_t n = MIN(s.len, (size_t)MAX_TEXT);
    while (n > 0 && n < s.len && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return str_sub(s, 0, n);
}

static void add_note(struct journal *j, struct record *r, usec at, str who, str what, str why)
{
    struct note *n = r->n_notes ? list_entry(r->notes.prev, struct note, link) : NULL;
    why = cut(why);
    if (n && str_eq(n->who, who) && str_eq(n->what, what) && str_eq(n->why, why)) {
        n->at = at;
        n->count++;
        return;
    }
    if (r->n_notes == JOURNAL_PER_OBJECT)
        drop_note(j, r, list_entry(r->notes.next, struct note, link));
    size_t size = sizeof(*n) + who.len + what.len + why.len;
    n = xcalloc(1, size);
    char *text = n->text;
    n->at = at;
    n->count = 1;
    n->who = copy(&text, who);
    n->what = copy(&text, what);
    n->why = copy(&text, why);
    n->size = size;
    list_push_back(&r->notes, &n->link);
    r->n_notes++;
    j->bytes += size;
}

/* What is done, in a word or two. A binding says where; an apply is a patch to who reads it. */
static str word_of(const struct plan_write *w, char *buf, size_t size)
{
    static const char *const words[] = {[PLAN_CREATE] = "create",
                                        [PLAN_UPDATE] = "update",
                                        [PLAN_PATCH] = "patch",
                                        [PLAN_DELETE] = "delete",
                                        [PLAN_SUB_CREATE] = "post"};
    if (str_is(w->subresource, "binding"))
        return STR("bind");
    int n = snprintf(buf, size, "%s%s%.*s", words[w->op], w->subresource.len ? " " : "",
                     STR_ARG(w->subresource));
    return (str){buf, MIN((size_t)MAX(n, 0), size - 1)};
}

static bool is_decision(const struct plan_write *w)
{
    return w->why.len || w->op == PLAN_CREATE || w->op == PLAN_DELETE || w->op == PLAN_SUB_CREATE;
}

void journal_note(struct journal *j, usec at, const char *who, const struct plan *p)
{
    for (size_t i = 0; i < p->writes.len; i++) {
        const struct plan_write *w = &p->writes.p[i];
        char key[MAX_KEY], word[128], node[MAX_TEXT];
        str name, why = w->why;
        if (!is_decision(w) || !write_key(key, str_of(w->kind->kind), w->ns, w->name, &name))
            continue;
        if (!why.len && w->body && str_is(w->subresource, "binding")) {
            int n = snprintf(node, sizeof(node), "to node %.*s",
                             STR_ARG(jstr(jpath(doc_root(w->body), "target.name"))));
            why = (str){node, MIN((size_t)MAX(n, 0), sizeof(node) - 1)};
        }
        add_note(j, record_of(j, name), at, str_of(who), word_of(w, word, sizeof(word)), why);
    }
    while (j->bytes > j->max_bytes)
        drop_record(j, list_entry(j->order.next, struct record, link));
}

/* ---- reading ---- */

static void put_note(struct jw *w, const struct note *n)
{
    struct strbuf b = STRBUF_INIT(64);
    time_format_micro(n->at, &b);
    jw_object(w);
    jw_put_str(w, "time", strbuf_str(&b));
    jw_put_str(w, "by", n->who);
    jw_put_str(w, "what", n->what);
    jw_put_str(w, "why", n->why);
    if (n->count > 1)
        jw_put_int(w, "count", (int64_t)n->count);
    jw_end(w);
    strbuf_done(&b);
}

void journal_put(const struct journal *j, str kind, str ns, str name, struct jw *w)
{
    char text[MAX_KEY];
    str key;
    struct record *r = write_key(text, kind, ns, name, &key) ? map_get(&j->records, key) : NULL;
    jw_array(w);
    if (r) {
        list_foreach (it, &r->notes)
            put_note(w, list_entry(it, struct note, link));
    }
    jw_end(w);
}
