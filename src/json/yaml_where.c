/* See yaml_where.h. libyaml's own tree is used, because its nodes know their lines; it lives as
 * long as the question. */
#include "json/yaml_where.h"

#include "base/base.h"
#include "json/libyaml.h"

enum { MAX_LOOKED_AT = 100000, MAX_DEPTH = 256 };

static str node_text(const yaml_node_t *n)
{
    if (!n || n->type != YAML_SCALAR_NODE)
        return STR_NONE;
    return str_n((const char *)n->data.scalar.value, n->data.scalar.length);
}

static size_t line_of(const yaml_node_t *n)
{
    return n->start_mark.line + 1;
}

/* yaml_parse leaves such documents out. */
static bool is_empty(const yaml_node_t *root)
{
    str s = node_text(root);
    return root->type == YAML_SCALAR_NODE && root->data.scalar.style == YAML_PLAIN_SCALAR_STYLE &&
           (s.len == 0 || str_is(s, "null") || str_is(s, "~"));
}

/* ---- along a path ---- */

/* How much of the path a key is: keys may have dots in them. */
static size_t key_len(str path, str key)
{
    bool whole = key.len > 0 && str_starts(path, key) &&
                 (key.len == path.len || path.p[key.len] == '.' || path.p[key.len] == '[');
    return whole ? key.len : 0;
}

struct step {
    yaml_node_t *key, *value;
};

static struct step find_member(yaml_document_t *d, const yaml_node_t *map, str *path)
{
    struct step best = {0};
    size_t longest = 0;
    for (yaml_node_pair_t *p = map->data.mapping.pairs.start; p < map->data.mapping.pairs.top;
         p++) {
        yaml_node_t *key = yaml_document_get_node(d, p->key);
        size_t n = key_len(*path, node_text(key));
        if (n > longest) {
            longest = n;
            best = (struct step){key, yaml_document_get_node(d, p->value)};
        }
    }
    *path = str_sub(*path, longest, path->len);
    return best;
}

/* "[12]" at the start of the path. */
static struct step find_item(yaml_document_t *d, const yaml_node_t *list, str *path)
{
    ptrdiff_t end = str_find_char(*path, ']');
    uint64_t index;
    if (!str_starts(*path, STR("[")) || end < 0 ||
        !str_to_uint(str_sub(*path, 1, (size_t)end), &index) ||
        index >= (uint64_t)(list->data.sequence.items.top - list->data.sequence.items.start))
        return (struct step){0};
    *path = str_sub(*path, (size_t)end + 1, path->len);
    yaml_node_t *item = yaml_document_get_node(d, list->data.sequence.items.start[index]);
    return (struct step){item, item};
}

/* ---- by value ---- */

struct search {
    yaml_document_t *doc;
    str key, value;
    size_t looked_at;
    size_t line; /* 0: not found */
};

static void search_below(struct search *s, yaml_node_t *n, str key, unsigned depth)
{
    if (!n || s->line || s->looked_at++ > MAX_LOOKED_AT || depth > MAX_DEPTH)
        return;
    if (n->type == YAML_SCALAR_NODE) {
        if ((!s->key.len || str_eq(key, s->key)) && str_eq(node_text(n), s->value))
            s->line = line_of(n);
    } else if (n->type == YAML_SEQUENCE_NODE) {
        for (yaml_node_item_t *i = n->data.sequence.items.start; i < n->data.sequence.items.top;
             i++)
            search_below(s, yaml_document_get_node(s->doc, *i), key, depth + 1);
    } else if (n->type == YAML_MAPPING_NODE) {
        for (yaml_node_pair_t *p = n->data.mapping.pairs.start; p < n->data.mapping.pairs.top; p++)
            search_below(s, yaml_document_get_node(s->doc, p->value),
                         node_text(yaml_document_get_node(s->doc, p->key)), depth + 1);
    }
}

static bool has_scalars(yaml_document_t *d, const yaml_node_t *list)
{
    const yaml_node_item_t *first = list->data.sequence.items.start;
    return first < list->data.sequence.items.top &&
           yaml_document_get_node(d, *first)->type == YAML_SCALAR_NODE;
}

/* Below a list: in one of scalars the item itself, in one of objects under a key. */
static size_t line_by_value(yaml_document_t *d, yaml_node_t *list, str rest, str value)
{
    ptrdiff_t dot = str_rfind_char(rest, '.');
    struct search s = {.doc = d, .value = value};
    if (rest.len)
        s.key = str_sub(rest, (size_t)(dot + 1), rest.len);
    else if (!has_scalars(d, list))
        s.key = STR("name");
    search_below(&s, list, STR_NONE, 0);
    return s.line;
}

static size_t line_in(yaml_document_t *d, str path, str value)
{
    yaml_node_t *at = yaml_document_get_root_node(d);
    size_t line = line_of(at);
    while (at) {
        while (path.len && path.p[0] == '.')
            path = str_sub(path, 1, path.len);
        bool by_value = at->type == YAML_SEQUENCE_NODE && value.len && !str_starts(path, STR("["));
        size_t found = by_value ? line_by_value(d, at, path, value) : 0;
        if (found)
            return found;
        if (!path.len)
            break;
        struct step next = {0};
        if (at->type == YAML_MAPPING_NODE)
            next = find_member(d, at, &path);
        else if (at->type == YAML_SEQUENCE_NODE)
            next = find_item(d, at, &path);
        if (next.key)
            line = line_of(next.key);
        at = next.value;
    }
    return line;
}

size_t yaml_line_of(str text, size_t document, str path, str value)
{
    yaml_parser_t p;
    yaml_document_t d;
    size_t line = 0;
    bool more = true;
    if (!yaml_parser_initialize(&p))
        BUG("out of memory");
    yaml_parser_set_input_string(&p, (const unsigned char *)(text.p ? text.p : ""), text.len);
    while (more && !line && yaml_parser_load(&p, &d)) {
        const yaml_node_t *root = yaml_document_get_root_node(&d);
        more = root != NULL;
        if (root && !is_empty(root) && document-- == 0) {
            line = line_in(&d, path, value);
            more = false;
        }
        yaml_document_delete(&d);
    }
    yaml_parser_delete(&p);
    return line;
}
