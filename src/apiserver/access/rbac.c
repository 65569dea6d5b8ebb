/* Rules; see rbac.h. */
#include "apiserver/access/rbac.h"

#include "base/vec.h"

/* A rule of many verbs, groups, resources and names is a product: more than this many are not
 * looked at one by one. */
enum { SPLIT_MAX = 4096 };

/* ---- reading ---- */

static struct words read_words(struct arena *a, jval list)
{
    size_t n = jlen(list), i = 0;
    str *s = arena_array(a, str, n);
    for (struct jiter it = jiter(list); i < n && jnext(&it);)
        s[i++] = jstr(it.value);
    return (struct words){s, i};
}

struct policy_rules policy_rules_read(struct arena *a, jval rules)
{
    size_t n = jlen(rules), i = 0;
    struct policy_rule *p = arena_array(a, struct policy_rule, n);
    for (struct jiter it = jiter(rules); i < n && jnext(&it); i++)
        p[i] = (struct policy_rule){.verbs = read_words(a, jgetc(it.value, "verbs")),
                                    .groups = read_words(a, jgetc(it.value, "apiGroups")),
                                    .resources = read_words(a, jgetc(it.value, "resources")),
                                    .names = read_words(a, jgetc(it.value, "resourceNames")),
                                    .urls = read_words(a, jgetc(it.value, "nonResourceURLs"))};
    return (struct policy_rules){p, i};
}

/* ---- deciding ---- */

static bool is_star(str s)
{
    return s.len == 1 && s.p[0] == '*';
}

static bool has(struct words w, str word)
{
    for (size_t i = 0; i < w.n; i++)
        if (str_eq(w.p[i], word))
            return true;
    return false;
}

static bool has_or_star(struct words w, str word)
{
    for (size_t i = 0; i < w.n; i++)
        if (is_star(w.p[i]) || str_eq(w.p[i], word))
            return true;
    return false;
}

/* "pods", "pods/log" */
static bool is_resource(str word, str resource, str sub)
{
    if (!sub.len)
        return str_eq(word, resource);
    return word.len == resource.len + 1 + sub.len && word.p[resource.len] == '/' &&
           str_starts(word, resource) && str_ends(word, sub);
}

static bool has_resource(struct words w, str resource, str sub)
{
    for (size_t i = 0; i < w.n; i++)
        if (is_star(w.p[i]) || is_resource(w.p[i], resource, sub) ||
            (sub.len && is_resource(w.p[i], STR("*"), sub)))
            return true;
    return false;
}

/* A star at the end stands for anything. */
static bool has_url(struct words w, str path)
{
    for (size_t i = 0; i < w.n; i++) {
        str u = w.p[i];
        bool open = str_ends(u, STR("*"));
        if (open ? str_starts(path, str_sub(u, 0, u.len - 1)) : str_eq(path, u))
            return true;
    }
    return false;
}

bool policy_rule_allows(const struct policy_rule *r, const struct access *x)
{
    if (x->path.len)
        return has_url(r->urls, x->path) && has_or_star(r->verbs, x->verb);
    return has_or_star(r->groups, x->group) && has_resource(r->resources, x->resource, x->sub) &&
           has_or_star(r->verbs, x->verb) && (!r->names.n || has(r->names, x->name));
}

/* ---- covering ---- */

static bool covers_words(struct words held, struct words asked)
{
    for (size_t i = 0; i < asked.n; i++)
        if (!has_or_star(held, asked.p[i]))
            return false;
    return true;
}

static bool covers_resources(struct words held, struct words asked)
{
    for (size_t i = 0; i < asked.n; i++) {
        str sub = asked.p[i], resource = str_cut(&sub, '/');
        if (!has_resource(held, resource, sub))
            return false;
    }
    return true;
}

static bool covers_urls(struct words held, struct words asked)
{
    for (size_t i = 0; i < asked.n; i++)
        if (!has_url(held, asked.p[i]))
            return false;
    return true;
}

static bool covers_names(struct words held, struct words asked)
{
    if (!held.n || !asked.n)
        return !held.n;
    for (size_t i = 0; i < asked.n; i++)
        if (!has(held, asked.p[i]))
            return false;
    return true;
}

static bool is_covered(struct policy_rules held, const struct policy_rule *asked)
{
    for (size_t i = 0; i < held.n; i++) {
        const struct policy_rule *h = &held.p[i];
        if (covers_words(h->verbs, asked->verbs) && covers_words(h->groups, asked->groups) &&
            covers_resources(h->resources, asked->resources) && covers_urls(h->urls, asked->urls) &&
            covers_names(h->names, asked->names))
            return true;
    }
    return false;
}

struct splitter {
    struct arena *arena;
    struct policy_rules held;
    VEC(struct policy_rule) missing;
    size_t n; /* looked at */
};

static struct words one(struct words w, size_t i)
{
    return w.n ? (struct words){&w.p[i], 1} : w;
}

static bool same_words(struct words a, struct words b)
{
    return a.n == b.n && (!a.n || str_eq(a.p[0], b.p[0]));
}

/* Verbs of one resource go together again. */
static void add_missing(struct splitter *s, const struct policy_rule *small)
{
    for (size_t i = 0; i < s->missing.len && small->resources.n; i++) {
        struct policy_rule *m = &s->missing.p[i];
        if (!same_words(m->groups, small->groups) || !same_words(m->names, small->names) ||
            !same_words(m->resources, small->resources) || m->urls.n)
            continue;
        str *verbs = arena_array(s->arena, str, m->verbs.n + 1);
        memcpy(verbs, m->verbs.p, m->verbs.n * sizeof(str));
        verbs[m->verbs.n] = small->verbs.p[0];
        m->verbs = (struct words){verbs, m->verbs.n + 1};
        return;
    }
    *vec_push(&s->missing) = *small;
}

static void try_small(struct splitter *s, const struct policy_rule *small)
{
    if (++s->n <= SPLIT_MAX && !is_covered(s->held, small))
        add_missing(s, small);
}

static void split_resources(struct splitter *s, const struct policy_rule *r)
{
    size_t names = MAX(r->names.n, (size_t)1);
    for (size_t g = 0; g < r->groups.n && s->n <= SPLIT_MAX; g++)
        for (size_t i = 0; i < r->resources.n && s->n <= SPLIT_MAX; i++)
            for (size_t v = 0; v < r->verbs.n && s->n <= SPLIT_MAX; v++)
                for (size_t k = 0; k < names && s->n <= SPLIT_MAX; k++) {
                    struct policy_rule small = {.verbs = one(r->verbs, v),
                                                .groups = one(r->groups, g),
                                                .resources = one(r->resources, i),
                                                .names = one(r->names, k)};
                    try_small(s, &small);
                }
}

static void split_urls(struct splitter *s, const struct policy_rule *r)
{
    for (size_t u = 0; u < r->urls.n && s->n <= SPLIT_MAX; u++)
        for (size_t v = 0; v < r->verbs.n && s->n <= SPLIT_MAX; v++) {
            struct policy_rule small = {.verbs = one(r->verbs, v), .urls = one(r->urls, u)};
            try_small(s, &small);
        }
}

bool policy_rules_missing(struct arena *a, struct policy_rules held, struct policy_rules asked,
                          struct policy_rules *ret)
{
    struct splitter s = {.arena = a, .held = held};
    for (size_t i = 0; i < asked.n; i++) {
        if (is_covered(held, &asked.p[i]))
            continue;
        split_resources(&s, &asked.p[i]);
        split_urls(&s, &asked.p[i]);
    }
    struct policy_rule *p = arena_array(a, struct policy_rule, s.missing.len);
    if (s.missing.len)
        memcpy(p, s.missing.p, s.missing.len * sizeof(*p));
    *ret = (struct policy_rules){p, s.missing.len};
    vec_done(&s.missing);
    return s.n <= SPLIT_MAX;
}

/* ---- showing ---- */

static void put_words(struct strbuf *b, const char *label, struct words w)
{
    if (!w.n)
        return;
    strbuf_printf(b, "%s%s:[", b->len > 1 ? ", " : "", label);
    for (size_t i = 0; i < w.n; i++)
        strbuf_printf(b, "%s\"%.*s\"", i ? " " : "", STR_ARG(w.p[i]));
    strbuf_add_char(b, ']');
}

str policy_rule_text(struct arena *a, const struct policy_rule *r)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    strbuf_add_char(&b, '{');
    put_words(&b, "APIGroups", r->groups);
    put_words(&b, "Resources", r->resources);
    put_words(&b, "NonResourceURLs", r->urls);
    put_words(&b, "ResourceNames", r->names);
    put_words(&b, "Verbs", r->verbs);
    strbuf_add_char(&b, '}');
    str s = arena_str(a, strbuf_str(&b));
    strbuf_done(&b);
    return s;
}
