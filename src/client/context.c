/*
 * See context.h. An edit is made twice: as a document, which says what the result has to mean, and
 * in the text, line by line, which keeps what people wrote. The text counts when it means the same;
 * a file in a form that the line editor does not know (JSON, {flow: style}) is written from the
 * document.
 *
 * Lines, as kubectl writes them:
 *
 *   contexts:          a key at the margin
 *   - context: ...     items, which begin with a dash and end before the next dash of the same
 *     name: grove      column or before the next key at the margin
 *   current-context: grove
 */
#include "client/context.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "base/file.h"
#include "json/write.h"
#include "json/yaml.h"

#define MARK "grove.io/instance"

enum { MAX_FILE = 4 << 20 };

/* ---- documents ---- */

static jval named(jval list, str name)
{
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    }
    return JVAL_ABSENT;
}

static jval mark_of(jval context)
{
    return jgetc(named(jpath(context, "context.extensions"), STR(MARK)), "extension");
}

/* Of the context, its cluster and its user. */
struct entry {
    str name, user;
    struct doc *cluster, *user_doc, *context; /* NULL: it is taken out */
    str current;                              /* the context that is current then */
};

static struct doc *item_doc(str name, const char *key, jval value)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "name", name);
    jw_put_object(&w, key);
    for (struct jiter it = jiter(value); jnext(&it);) {
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

static struct doc *context_doc(const struct entry *e, str previous)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_str(&w, "cluster", e->name);
    jw_put_str(&w, "user", e->user);
    jw_put_str(&w, "namespace", STR("default"));
    jw_put_array(&w, "extensions");
    jw_object(&w);
    jw_put_str(&w, "name", STR(MARK));
    jw_put_object(&w, "extension");
    jw_put_str(&w, "previous", previous);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    struct doc *inner = jw_doc(&w), *d;
    d = item_doc(e->name, "context", doc_root(inner));
    doc_unref(inner);
    return d;
}

static const struct {
    const char *key;
    size_t item; /* of struct entry */
    bool user;   /* its name is that of the user */
} lists[] = {
    {"clusters", offsetof(struct entry, cluster), false},
    {"users", offsetof(struct entry, user_doc), true},
    {"contexts", offsetof(struct entry, context), false},
};

static struct doc *item_of(const struct entry *e, size_t list)
{
    return *(struct doc *const *)((const char *)e + lists[list].item);
}

static str name_in(const struct entry *e, size_t list)
{
    return lists[list].user ? e->user : e->name;
}

static void write_list(struct jw *w, jval old, const struct doc *item, str name)
{
    jw_array(w);
    if (item)
        jw_val(w, doc_root(item));
    for (struct jiter it = jiter(old); jnext(&it);) {
        if (!str_eq(jstr(jgetc(it.value, "name")), name))
            jw_val(w, it.value);
    }
    jw_end(w);
}

static bool is_list_key(str key)
{
    return str_is(key, "clusters") || str_is(key, "users") || str_is(key, "contexts");
}

static struct doc *edit_doc(jval root, const struct entry *e)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    if (!j_has(jgetc(root, "apiVersion")))
        jw_put_str(&w, "apiVersion", STR("v1"));
    if (!j_has(jgetc(root, "kind")))
        jw_put_str(&w, "kind", STR("Config"));
    for (struct jiter it = jiter(root); jnext(&it);) {
        if (is_list_key(it.key) || str_is(it.key, "current-context"))
            continue;
        jw_key(&w, it.key);
        jw_val(&w, it.value);
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        jw_key(&w, str_of(lists[i].key));
        write_list(&w, jget(root, str_of(lists[i].key)), item_of(e, i), name_in(e, i));
    }
    jw_put_str(&w, "current-context", e->current);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- lines ---- */

static bool at_margin(str line)
{
    return line.len > 0 && line.p[0] != ' ' && line.p[0] != '-' && line.p[0] != '#' &&
           line.p[0] != '\r';
}

static bool is_key(str line, str key)
{
    return str_starts(line, key) && line.len > key.len && line.p[key.len] == ':';
}

static size_t indent_of(str line)
{
    size_t n = 0;
    while (n < line.len && line.p[n] == ' ')
        n++;
    return n;
}

static bool is_dash(str line, size_t column)
{
    return indent_of(line) == column && line.len > column && line.p[column] == '-';
}

/* The lines of an item, from behind its first dash. */
static bool item_has_name(str item, size_t column, str name)
{
    struct strbuf b = STRBUF_INIT(MAX_FILE);
    struct err err = ERR_INIT;
    strbuf_add_str(&b, item);
    if (b.len > column)
        b.p[column] = ' ';
    struct doc *d = yaml_parse_one(strbuf_str(&b), &err);
    bool is = d && str_eq(jstr(jgetc(doc_root(d), "name")), name);
    doc_unref(d);
    strbuf_done(&b);
    return is;
}

static void add_item(struct strbuf *out, const struct doc *item, size_t column)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE);
    yaml_write(doc_root(item), true, &text);
    bool first = true;
    for (str rest = str_trim(strbuf_str(&text)); rest.p;) {
        str line = str_cut(&rest, '\n');
        strbuf_printf(out, "%*s%s%.*s\n", (int)column, "", first ? "- " : "  ", STR_ARG(line));
        first = false;
    }
    strbuf_done(&text);
}

/* One list at the margin, without the item of that name and with ours in front. */
static void edit_list(str body, const struct doc *item, str name, struct strbuf *out)
{
    size_t column = 0;
    str look = body;
    while (look.len) { /* where its dashes stand */
        str line = str_cut(&look, '\n');
        if (is_dash(line, indent_of(line))) {
            column = indent_of(line);
            break;
        }
    }
    if (item)
        add_item(out, item, column);
    while (body.len) {
        str rest = body, line = str_cut(&rest, '\n');
        size_t n = rest.p ? line.len + 1 : line.len;
        if (is_dash(line, column)) {
            while (rest.len) {
                str more = rest, next = str_cut(&more, '\n');
                if (is_dash(next, column) || str_starts(next, STR("#")))
                    break;
                n += more.p ? next.len + 1 : next.len;
                rest = more;
            }
            if (item_has_name(str_sub(body, 0, n), column, name)) {
                body = str_sub(body, n, body.len);
                continue;
            }
        }
        strbuf_add_str(out, str_sub(body, 0, n));
        body = str_sub(body, n, body.len);
    }
}

/* From a key to the next one at the margin. */
static str section(str *text, str *ret_line)
{
    str rest = *text;
    *ret_line = str_cut(&rest, '\n');
    size_t body = rest.p ? ret_line->len + 1 : ret_line->len, end = body;
    while (end < text->len) {
        str more = str_sub(*text, end, text->len), line = str_cut(&more, '\n');
        if (at_margin(line))
            break;
        end += more.p ? line.len + 1 : line.len;
    }
    str inside = str_sub(*text, body, end);
    *text = str_sub(*text, end, text->len);
    return inside;
}

static void edit_section(str key_line, str body, const struct entry *e, bool *seen,
                         struct strbuf *out)
{
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (!is_key(key_line, str_of(lists[i].key)))
            continue;
        seen[i] = true;
        struct strbuf items = STRBUF_INIT(MAX_FILE);
        edit_list(body, item_of(e, i), name_in(e, i), &items);
        bool none = str_find_char(strbuf_str(&items), '-') < 0;
        strbuf_printf(out, "%s:%s\n", lists[i].key, none ? " []" : "");
        strbuf_add_str(out, strbuf_str(&items));
        strbuf_done(&items);
        return;
    }
    strbuf_add_str(out, key_line);
    strbuf_add_char(out, '\n');
    strbuf_add_str(out, body);
}

static void put_current(struct strbuf *out, str name)
{
    struct strbuf quoted = STRBUF_INIT(MAX_FILE);
    json_quote(&quoted, name);
    strbuf_printf(out, "current-context: %.*s\n", STR_ARG(strbuf_str(&quoted)));
    strbuf_done(&quoted);
}

static void edit_text(str text, jval root, const struct entry *e, struct strbuf *out)
{
    bool seen[ARRAY_LEN(lists)] = {0}, current = false;
    if (!j_has(jgetc(root, "apiVersion")))
        strbuf_add_cstr(out, "apiVersion: v1\n");
    if (!j_has(jgetc(root, "kind")))
        strbuf_add_cstr(out, "kind: Config\n");
    while (text.len) {
        str key_line, body;
        str rest = text, line = str_cut(&rest, '\n');
        if (!at_margin(line)) { /* comments in front */
            strbuf_add_str(out, line);
            strbuf_add_char(out, '\n');
            text = rest;
            continue;
        }
        body = section(&text, &key_line);
        if (is_key(key_line, STR("current-context"))) {
            put_current(out, e->current);
            strbuf_add_str(out, body);
            current = true;
        } else {
            edit_section(key_line, body, e, seen, out);
        }
    }
    for (size_t i = 0; i < ARRAY_LEN(lists); i++) {
        if (seen[i])
            continue;
        strbuf_printf(out, "%s:%s\n", lists[i].key, item_of(e, i) ? "" : " []");
        if (item_of(e, i))
            add_item(out, item_of(e, i), 0);
    }
    if (!current)
        put_current(out, e->current);
}

/* ---- both ---- */

static int make_edit(str text, jval root, const struct entry *e, struct strbuf *out,
                     struct err *err)
{
    struct doc *want = edit_doc(root, e);
    struct err unread = ERR_INIT;
    edit_text(text, root, e, out);
    struct doc *got = yaml_parse_one(strbuf_str(out), &unread);
    if (!got || !jequal(doc_root(got), doc_root(want))) {
        strbuf_reset(out);
        yaml_write(doc_root(want), false, out);
    }
    doc_unref(got);
    doc_unref(want);
    return out->overflow ? err_set(err, ERR_TOO_LARGE, "it is larger than %d bytes", MAX_FILE) : 0;
}

/* An empty file is an empty document. */
static struct doc *parse(str text, struct err *err)
{
    doc_vec docs;
    if (yaml_parse(text, &docs, err))
        return NULL;
    struct doc *d = docs.len == 0 ? doc_parse(STR("{}"), NULL, err) : doc_ref(docs.p[0]);
    if (docs.len > 1 || (d && jtype(doc_root(d)) != J_OBJECT)) {
        doc_unref(d);
        d = NULL;
        (void)err_set(err, ERR_INVALID, "it is not a kubeconfig");
    }
    doc_vec_done(&docs);
    return d;
}

static bool is_ours(jval root, str name)
{
    jval context = named(jgetc(root, "contexts"), name);
    return j_has(mark_of(context));
}

static bool is_taken(jval root, str name, str user)
{
    return j_has(named(jgetc(root, "contexts"), name)) ||
           j_has(named(jgetc(root, "clusters"), name)) || j_has(named(jgetc(root, "users"), user));
}

int context_edit_add(str text, str name, str kubeconfig, struct strbuf *out, struct arena *a,
                     str *ret_previous, struct err *err)
{
    struct doc *own = parse(kubeconfig, err), *d = own ? parse(text, err) : NULL;
    struct entry e = {.name = name, .user = arena_printf(a, "%.*s-admin", STR_ARG(name))};
    int r = d ? 0 : err->code;
    *ret_previous = STR_NONE;
    if (r == 0 && !is_ours(doc_root(d), name) && is_taken(doc_root(d), name, e.user))
        r = err_set(err, ERR_EXISTS, "a context, cluster or user \"%.*s\" is there already",
                    STR_ARG(name));
    if (r == 0) {
        jval root = doc_root(own), old = doc_root(d);
        str current = jstr(jgetc(old, "current-context"));
        bool again = str_eq(current, name);
        str was =
            again ? jstr(jgetc(mark_of(named(jgetc(old, "contexts"), name)), "previous")) : current;
        *ret_previous = arena_str(a, was);
        e.current = name;
        e.cluster = item_doc(name, "cluster", jgetc(jat(jgetc(root, "clusters"), 0), "cluster"));
        e.user_doc = item_doc(e.user, "user", jgetc(jat(jgetc(root, "users"), 0), "user"));
        e.context = context_doc(&e, *ret_previous);
        r = make_edit(text, old, &e, out, err);
    }
    doc_unref(e.cluster);
    doc_unref(e.user_doc);
    doc_unref(e.context);
    doc_unref(own);
    doc_unref(d);
    return r;
}

int context_edit_remove(str text, str name, struct strbuf *out, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct doc *d = parse(text, err);
    int r = d ? 0 : err->code;
    if (r == 0 && is_ours(doc_root(d), name)) {
        jval root = doc_root(d);
        struct entry e = {.name = name, .user = arena_printf(&a, "%.*s-admin", STR_ARG(name))};
        jval contexts = jgetc(root, "contexts");
        str current = jstr(jgetc(root, "current-context"));
        str before = jstr(jgetc(mark_of(named(contexts, name)), "previous"));
        if (str_eq(current, name))
            current = j_has(named(contexts, before)) ? before : STR_NONE;
        e.current = current;
        r = make_edit(text, root, &e, out, err);
    } else if (r == 0) {
        strbuf_add_str(out, text);
    }
    doc_unref(d);
    arena_done(&a);
    return r;
}

/* ---- the file ---- */

bool context_is_own_file(str text)
{
    struct err err = ERR_INIT;
    struct doc *d = parse(text, &err);
    jval root = d ? doc_root(d) : JVAL_ABSENT, clusters = jgetc(root, "clusters");
    jval users = jgetc(root, "users");
    bool own = jlen(clusters) == 1 && jlen(users) == 1 &&
               str_is(jstr(jgetc(jat(clusters, 0), "name")), "grove") &&
               str_is(jstr(jgetc(jat(users, 0), "name")), "grove-admin") &&
               !is_ours(root, STR("grove"));
    doc_unref(d);
    return own;
}

str context_file(struct arena *a)
{
    const char *list = getenv("KUBECONFIG"), *home = getenv("HOME");
    str rest = str_of(list ? list : ""), last = STR_NONE;
    while (rest.len) {
        str file = arena_str(a, str_cut(&rest, ':'));
        if (!file.len)
            continue;
        last = file;
        if (access(file.p, F_OK) == 0)
            return file;
    }
    if (last.len)
        return last;
    return home && *home ? arena_printf(a, "%s/.kube/config", home) : STR_NONE;
}

/* As client-go does it: whoever makes FILE.lock may write, and who cannot does not wait. */
static int take_lock(const char *path, struct err *err)
{
    int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    if (fd < 0 && errno == EEXIST)
        return err_set(err, ERR_UNAVAILABLE,
                       "somebody else is writing to it: %s is there (remove it when nobody is)",
                       path);
    if (fd < 0)
        return err_errno(err, ERR_IO, "cannot make %s", path);
    close(fd);
    return 0;
}

static int make_parent(struct arena *a, str file, struct err *err)
{
    ptrdiff_t slash = str_rfind_char(file, '/');
    if (slash <= 0)
        return 0;
    str dir = arena_str(a, str_sub(file, 0, (size_t)slash));
    return access(dir.p, F_OK) == 0 ? 0 : dir_make(dir.p, 0700, err);
}

struct change {
    str name, kubeconfig; /* kubeconfig: empty to take it out */
    struct arena *arena;
    str *ret_previous;
};

static int change_text(const struct change *c, str text, struct strbuf *out, struct err *err)
{
    if (!c->kubeconfig.len)
        return context_edit_remove(text, c->name, out, err);
    if (context_is_own_file(text))
        return err_set(err, ERR_UNSUPPORTED, "a control plane wrote it for itself");
    return context_edit_add(text, c->name, c->kubeconfig, out, c->arena, c->ret_previous, err);
}

static int change_file(str file, const struct change *c, struct err *err)
{
    struct strbuf text = STRBUF_INIT(MAX_FILE), out = STRBUF_INIT(MAX_FILE);
    struct stat st;
    int r = make_parent(c->arena, file, err);
    char *real = r ? NULL : realpath(file.p, NULL); /* NULL: there is none yet */
    const char *path = real ? real : file.p;
    str lock = arena_printf(c->arena, "%s.lock", path);
    r = r ? r : take_lock(lock.p, err);
    if (r == 0) {
        unsigned mode = stat(path, &st) == 0 ? st.st_mode & 0777 : 0600;
        r = real ? file_read(path, &text, err) : 0;
        r = r ? r : change_text(c, strbuf_str(&text), &out, err);
        if (r == 0 && !str_eq(strbuf_str(&text), strbuf_str(&out)))
            r = file_write(path, strbuf_str(&out), mode, err);
        (void)unlink(lock.p);
    }
    free(real);
    strbuf_done(&text);
    strbuf_done(&out);
    return r;
}

int context_add(str file, str name, str kubeconfig, struct arena *a, str *ret_previous,
                struct err *err)
{
    struct change c = {
        .name = name, .kubeconfig = kubeconfig, .arena = a, .ret_previous = ret_previous};
    return change_file(arena_str(a, file), &c, err);
}

int context_remove(str file, str name, struct err *err)
{
    struct arena a = ARENA_INIT;
    struct change c = {.name = name, .arena = &a};
    str path = arena_str(&a, file);
    int r = access(path.p, F_OK) == 0 ? change_file(path, &c, err) : 0;
    arena_done(&a);
    return r;
}
