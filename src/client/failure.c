/* See failure.h. */
#include "client/failure.h"

/* Times in a row that busy or broken servers are excused. */
enum { EXCUSED = 2 };

static bool is_excusable(const struct failure *f)
{
    return f->code == 0 || f->code == 429 || f->code >= 500;
}

/* Not in the middle of a character. */
static str cut(struct arena *a, str s)
{
    size_t len = MIN(s.len, FAILURE_TEXT_MAX);
    while (len > 0 && len < s.len && (s.p[len] & 0xc0) == 0x80)
        len--;
    return arena_str(a, str_sub(s, 0, len));
}

void failures_note(struct failures *f, struct arena *a, const struct plan_write *w,
                   const struct api_reply *reply)
{
    for (size_t i = 0; i < f->n; i++) {
        if (f->items[i].op == w->op && f->items[i].kind == w->kind)
            return;
    }
    if (f->n == FAILURES_MAX)
        return;
    const struct status *s = reply->status;
    f->items[f->n++] = (struct failure){
        .op = w->op,
        .kind = w->kind,
        .ns = w->ns,
        .name = w->name,
        .code = reply->unknown_outcome ? 0 : reply->code,
        .reason = s && s->reason ? cut(a, str_of(s->reason)) : STR_NONE,
        .message = s ? cut(a, s->message) : STR_NONE,
    };
}

static size_t text_len(const struct failures *f)
{
    size_t len = 0;
    for (size_t i = 0; i < f->n; i++) {
        const struct failure *x = &f->items[i];
        len += x->ns.len + x->name.len + x->reason.len + x->message.len;
    }
    return len;
}

static str move(char **at, str s)
{
    char *p = *at;
    if (s.len)
        memcpy(p, s.p, s.len);
    *at += s.len;
    return str_n(p, s.len);
}

struct failures *failures_keep(const struct failures *f, struct failures *before)
{
    struct failures *out = xcalloc(1, sizeof(*out) + text_len(f));
    char *at = (char *)(out + 1);
    *out = *f;
    out->row = (before ? before->row : 0) + 1;
    for (size_t i = 0; i < out->n; i++) {
        struct failure *x = &out->items[i];
        x->ns = move(&at, x->ns);
        x->name = move(&at, x->name);
        x->reason = move(&at, x->reason);
        x->message = move(&at, x->message);
    }
    free(before);
    return out;
}

bool failures_matter(const struct failures *f)
{
    for (size_t i = 0; i < f->n; i++) {
        if (!is_excusable(&f->items[i]))
            return true;
    }
    return f->n > 0 && f->row > EXCUSED;
}
