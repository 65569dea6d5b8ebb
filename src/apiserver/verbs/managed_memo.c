/*
 * See managed_memo.h.
 *
 * The key of a structure is the object in document order: a mark for each container, each member's
 * name with its length, and a mark for each scalar: null, zero or not. Items of lists stand with
 * their whole text, because any of it may be what tells them apart. The one exception is what
 * differs from pod to pod of a template: "value" in the items of an "env". No list has a key of
 * that name.
 *
 * An object with one owner has that one's UID in its fields, once. It is left out of the key, and
 * what is kept has a hole in its place.
 */
#include "apiserver/verbs/managed_memo.h"

#include "base/str.h"
#include "json/write.h"

#define FIELDS_SLOTS 512
#define DOC_SLOTS 256
#define VALUE_MAX ((size_t)16 << 10)

/* ---- structure ---- */

struct walk {
    char *at;
    char *end;
    jval owner; /* UID of the only owner */
};

static bool walk_add(struct walk *w, char mark, str s)
{
    uint32_t head = (uint32_t)s.len << 8 | (uint8_t)mark;
    if ((size_t)(w->end - w->at) < s.len + sizeof(head))
        return false;
    memcpy(w->at, &head, sizeof(head));
    if (s.len)
        memcpy(w->at + sizeof(head), s.p, s.len);
    w->at += sizeof(head) + s.len;
    return true;
}

/* Go may not write these at all, so that they differ from other values. */
static bool is_zero(jval v, enum jtype t)
{
    return t == J_FALSE || (t == J_STRING && jstr(v).len == 0) || (t == J_INT && jint(v, 1) == 0);
}

static bool walk_value(struct walk *w, jval v, str skip);

/* An item of a list: its text, or member by member when there is a value to leave out. */
static bool walk_item(struct walk *w, jval item)
{
    jval env = jgetc(item, "env"), value = jgetc(item, "value");
    bool owns = w->owner.doc && jgetc(item, "uid").at == w->owner.at;
    if (j_is_absent(env) && j_is_absent(value) && !owns)
        return walk_add(w, 't', jtext(item));
    for (struct jiter it = jiter(item); jnext(&it);) {
        bool ok = walk_add(w, 'k', it.key);
        if (it.value.at == env.at && jtype(env) == J_ARRAY)
            ok = ok && walk_value(w, it.value, STR_NONE);
        else if (owns && it.value.at == w->owner.at)
            ok = ok && walk_add(w, 'h', STR_NONE);
        else if (owns)
            ok = ok && walk_value(w, it.value, STR_NONE);
        else if (it.value.at == value.at && jtype(value) == J_STRING)
            ok = ok && walk_add(w, 's', STR_NONE);
        else
            ok = ok && walk_add(w, 't', jtext(it.value));
        if (!ok)
            return false;
    }
    return walk_add(w, '}', STR_NONE);
}

static bool walk_value(struct walk *w, jval v, str skip)
{
    enum jtype t = jtype(v);
    if (t != J_OBJECT && t != J_ARRAY)
        return walk_add(w, t == J_NULL ? 'n' : is_zero(v, t) ? 'z' : 's', STR_NONE);
    if (!walk_add(w, t == J_OBJECT ? '{' : '[', STR_NONE))
        return false;
    for (struct jiter it = jiter(v); jnext(&it);) {
        if (t == J_ARRAY ? !walk_item(w, it.value) : !walk_add(w, 'k', it.key))
            return false;
        if (t == J_OBJECT && !str_eq(it.key, skip) && !walk_value(w, it.value, STR_NONE))
            return false;
    }
    return walk_add(w, '}', STR_NONE);
}

/* The UID of the only owner, when nothing has to be escaped in it. */
static jval owner_of(jval object)
{
    enum { UID_MIN = 16, UID_MAX = 64 }; /* long enough to be found again */
    jval owners = jget(jgetc(object, "metadata"), STR("ownerReferences"));
    jval uid = jlen(owners) == 1 ? jgetc(jat(owners, 0), "uid") : JVAL_ABSENT;
    str s = jstr(uid);
    return s.len >= UID_MIN && s.len <= UID_MAX && json_is_plain(s) ? uid : JVAL_ABSENT;
}

bool memo_structure(const struct kind *k, jval object, str skip, struct memo_key *ret_key)
{
    struct walk w = {.at = ret_key->text,
                     .end = ret_key->text + sizeof(ret_key->text),
                     .owner = owner_of(object)};
    ret_key->owner = jstr(w.owner);
    memcpy(w.at, &k, sizeof(k));
    w.at += sizeof(k);
    /* What users define may have changed since. */
    uint64_t version = kind_is(k, KIND_DEFINED) ? kinds_version() : 0;
    memcpy(w.at, &version, sizeof(version));
    w.at += sizeof(version);
    if (!walk_value(&w, object, skip))
        return false;
    ret_key->len = (size_t)(w.at - ret_key->text);
    return true;
}

bool memo_change(str fields, const struct fieldset *changed, const struct fieldset *removed,
                 struct memo_key *ret_key)
{
    struct walk w = {.at = ret_key->text, .end = ret_key->text + sizeof(ret_key->text)};
    const struct fieldset *const sets[] = {changed, removed};
    bool ok = walk_add(&w, 'c', fields);
    struct strbuf b = STRBUF_INIT(sizeof(ret_key->text));
    for (size_t i = 0; i < ARRAY_LEN(sets); i++) {
        strbuf_reset(&b);
        fieldset_write(sets[i], &b);
        ok = ok && !b.overflow && walk_add(&w, 'f', strbuf_str(&b));
    }
    strbuf_done(&b);
    ret_key->owner = STR_NONE;
    ret_key->len = (size_t)(w.at - ret_key->text);
    return ok;
}

static size_t slot_of(str s, size_t n_slots)
{
    return str_hash_sample(s, 0) % n_slots;
}

/* ---- fields of a structure ---- */

struct fields_slot {
    char *key, *fields;
    size_t key_len, fields_len;
    size_t hole, hole_len; /* where an owner's UID stands; 0: nowhere */
};

static struct fields_slot fields_slots[FIELDS_SLOTS];

static struct fields_slot *fields_slot_of(str key)
{
    return &fields_slots[slot_of(key, FIELDS_SLOTS)];
}

str memo_get_fields(struct arena *a, const struct memo_key *k)
{
    str key = str_n(k->text, k->len);
    const struct fields_slot *s = fields_slot_of(key);
    if (!s->key || !str_eq(str_n(s->key, s->key_len), key))
        return STR_NONE;
    str fields = str_n(s->fields, s->fields_len);
    if (!s->hole)
        return arena_str(a, fields);
    return arena_cat(a, str_sub(fields, 0, s->hole), k->owner,
                     str_sub(fields, s->hole + s->hole_len, fields.len));
}

/* Where the owner stands in the fields; false when it is not there once, as it should be. */
static bool find_hole(str fields, str owner, size_t *ret)
{
    ptrdiff_t at = str_find(fields, owner);
    *ret = at > 0 ? (size_t)at : 0;
    return at > 0 && str_find(str_sub(fields, *ret + 1, fields.len), owner) < 0;
}

void memo_put_fields(const struct memo_key *k, str fields)
{
    str key = str_n(k->text, k->len);
    struct fields_slot *s = fields_slot_of(key);
    size_t hole = 0;
    if (fields.len > VALUE_MAX || (k->owner.len && !find_hole(fields, k->owner, &hole)))
        return;
    free(s->key);
    free(s->fields);
    *s = (struct fields_slot){str_dup(key), str_dup(fields), key.len, fields.len,
                              hole,         k->owner.len};
}

/* ---- documents by their text ---- */

static struct doc *doc_slots[DOC_SLOTS];

struct doc *memo_doc(str text)
{
    struct doc **slot = &doc_slots[slot_of(text, DOC_SLOTS)];
    if (*slot && str_eq(doc_text(*slot), text))
        return doc_ref(*slot);
    struct doc *d = doc_parse(text, NULL, NULL);
    if (d && text.len <= VALUE_MAX) {
        doc_unref(*slot);
        *slot = doc_ref(d);
    }
    return d;
}
