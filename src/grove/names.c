/* Names as functions of the world; the formulas are in one place so that tests can state them. */
#include "grove/names.h"

#include "base/hash.h"

static str suffix_of(struct arena *a, uint64_t hash, size_t len)
{
    char *p = arena_alloc(a, len + 1);
    for (size_t i = 0; i < len; i++, hash /= HASH_SAFE_CHARS)
        p[i] = hash_safe_char(hash % HASH_SAFE_CHARS);
    return str_n(p, len);
}

/* A kubelet keeps a pod's logs in a directory called NAMESPACE_POD_UID. File names have 255 bytes,
 * namespaces 63 and UIDs 36: a pod with a longer name may never start. */
enum { OBJECT_NAME_MAX = 253, POD_NAME_MAX = 255 - 63 - 36 - 2, LABEL_MAX = 63, HASH_LEN = 8 };

static bool is_separator(char c)
{
    return c == '-' || c == '.';
}

/* The beginning of `text`, the hash of `whole` and the end of `text`, in at most `max` bytes. */
static str with_hash(struct arena *a, str text, str whole, size_t max)
{
    BUG_ON(max < HASH_LEN + 4);
    size_t keep = MIN(max - HASH_LEN - 2, text.len);
    size_t head = keep / 2;
    ptrdiff_t dash = str_rfind_char(str_sub(text, 0, head), '-');
    if (keep == text.len && dash > 0)
        head = (size_t)dash; /* nothing is cut: do not split a word */
    str front = str_sub(text, 0, head), back = str_sub(text, text.len - (keep - head), text.len);
    /* The end holds the clique's name; a separator beside the hash would make an invalid name. */
    while (!str_is_empty(back) && is_separator(back.p[0]))
        back = str_sub(back, 1, back.len);
    while (!str_is_empty(front) && is_separator(front.p[front.len - 1]))
        front = str_sub(front, 0, front.len - 1);
    str hash = suffix_of(a, hash_fnv1a64(whole), HASH_LEN);
    return arena_cat(a, front, STR("-"), hash, STR("-"), back);
}

str name_fit(struct arena *a, str s, size_t max)
{
    return s.len <= max ? s : with_hash(a, s, s, max);
}

str name_object(struct arena *a, str s)
{
    return name_fit(a, s, OBJECT_NAME_MAX);
}

str name_label(struct arena *a, str s)
{
    return name_fit(a, s, LABEL_MAX);
}

bool name_may_be_shortened(str label)
{
    size_t word = 0;
    for (size_t i = 0; i < label.len; i++) {
        bool dash = label.p[i] == '-';
        if (dash && word == HASH_LEN && i > HASH_LEN && label.p[i - HASH_LEN - 1] == '-')
            return true;
        word = dash ? 0 : word + 1;
    }
    return false;
}

bool name_has_label(str name, str label)
{
    if (name.len <= LABEL_MAX || label.len > LABEL_MAX)
        return str_eq(name, label);
    struct arena a = ARENA_INIT;
    bool is = str_eq(name_label(&a, name), label);
    arena_done(&a);
    return is;
}

/* A DNS label. Object names may hold dots; a name that loses them gets the hash too, so that "a.b"
 * and "a-b" stay two. */
static str dns_label(struct arena *a, str s, size_t max)
{
    if (str_find_char(s, '.') < 0)
        return name_fit(a, s, max);
    char *text = arena_alloc(a, s.len + 1);
    for (size_t i = 0; i < s.len; i++)
        text[i] = s.p[i] == '.' ? '-' : s.p[i];
    return with_hash(a, str_n(text, s.len), s, max);
}

str name_base_gang(struct arena *a, str pcs, int64_t i)
{
    str name = arena_cat(a, pcs, STR("-"), arena_int(a, i));
    return name_object(a, name);
}

str name_service(struct arena *a, str pcs, int64_t i)
{
    str name = name_base_gang(a, pcs, i);
    if (str_is_empty(pcs) || pcs.p[0] < '0' || pcs.p[0] > '9')
        return dns_label(a, name, LABEL_MAX);
    /* Service names start with a letter. */
    str lettered = dns_label(a, arena_cat(a, STR("s-"), name), LABEL_MAX);
    return with_hash(a, lettered, name, LABEL_MAX);
}

str name_pcsg(struct arena *a, str pcs, int64_t i, str group)
{
    str name = arena_cat(a, pcs, STR("-"), arena_int(a, i), STR("-"), group);
    return name_object(a, name);
}

str name_pclq(struct arena *a, str pcs, int64_t i, str clique)
{
    return name_pcsg(a, pcs, i, clique);
}

str name_member_pclq(struct arena *a, str pcsg, int64_t g, str clique)
{
    return name_pcsg(a, pcsg, g, clique);
}

str name_scaled_gang(struct arena *a, str pcsg, int64_t g, int64_t min_available)
{
    return name_base_gang(a, pcsg, g - min_available);
}

/* ---- numbers in names ---- */

/* The number that stands before -PART at the end of a name, and how long what is before it is; -1:
 * none does. */
static int64_t number_before(str name, str part, size_t *ret_head)
{
    size_t tail = part.len ? part.len + 1 : 0;
    uint64_t number;
    if (name.len <= tail || (tail && (!str_ends(name, part) || name.p[name.len - tail] != '-')))
        return -1;
    str rest = str_sub(name, 0, name.len - tail);
    ptrdiff_t dash = str_rfind_char(rest, '-');
    str digits = dash < 0 ? STR_NONE : str_sub(rest, (size_t)dash + 1, rest.len);
    bool padded = digits.len > 1 && digits.p[0] == '0';
    if (padded || !str_to_uint(digits, &number) || number > INT64_MAX)
        return -1;
    *ret_head = (size_t)dash;
    return (int64_t)number;
}

static bool is_named(str name, str owner, int64_t i, str part)
{
    struct arena a = ARENA_INIT;
    str is = part.len ? name_pcsg(&a, owner, i, part) : name_base_gang(&a, owner, i);
    bool same = str_eq(is, name);
    arena_done(&a);
    return same;
}

/* A shortened name has this much of its end and more. A longer part hides the number: the first
 * ones are tried, few, because whoever writes sets chooses how many such names there are. */
enum { END_LEN = 100, COUNTED = 64, DIGITS = 20 };

static int64_t hidden_index(str name, str owner, str part)
{
    if (part.len < END_LEN || !str_ends(name, str_sub(part, part.len - END_LEN, part.len)))
        return -1;
    for (int64_t i = 0; i < COUNTED; i++) {
        if (is_named(name, owner, i, part))
            return i;
    }
    return -1;
}

int64_t name_index(str name, str owner, str part)
{
    size_t head = 0;
    int64_t i = number_before(name, part, &head);
    if (i >= 0 && head == owner.len && str_starts(name, owner))
        return i;
    if (owner.len + part.len + DIGITS + 2 <= OBJECT_NAME_MAX) /* it would stand there in full */
        return -1;
    return i >= 0 && is_named(name, owner, i, part) ? i : hidden_index(name, owner, part);
}

str name_role(struct arena *a, str pcs)
{
    return arena_printf(a, "grove.io:pcs:%.*s", STR_ARG(pcs));
}

str name_initc_secret(struct arena *a, str pcs)
{
    return name_object(a, arena_printf(a, "%.*s-ic-sat", STR_ARG(pcs)));
}

/* ---- pods ---- */

/* 27^5. */
enum { POD_SUFFIX = 5, POD_SUFFIXES = 14348907 };

/* (index, n) as one number, each pair as another: along the diagonals. The first 5,356 of these
 * have a number below POD_SUFFIXES; beyond, two pairs may share one. */
static uint64_t pair_up(uint64_t index, uint64_t n)
{
    uint64_t diagonal = (index + n) % (1u << 30);
    return (diagonal * (diagonal + 1) / 2 + n) % POD_SUFFIXES;
}

/* Numbers in an order of the clique's own: a factor that 3 does not divide, and a shift. */
struct order {
    uint64_t factor, shift;
};

static struct order order_of(str uid)
{
    uint64_t hash = hash_fnv1a64(uid), factor = hash % POD_SUFFIXES;
    return (struct order){factor + (factor % 3 == 0), (hash >> 32) % POD_SUFFIXES};
}

static uint64_t shuffle(struct order o, uint64_t number)
{
    return (o.factor * number + o.shift) % POD_SUFFIXES;
}

/* factor^-1 is factor^(phi - 1), phi of 3^15 being 2 * 3^14. */
static uint64_t unshuffle(struct order o, uint64_t place)
{
    uint64_t number = (place + POD_SUFFIXES - o.shift) % POD_SUFFIXES, power = o.factor;
    for (uint64_t e = 2 * (POD_SUFFIXES / 3) - 1; e > 0; e /= 2) {
        if (e % 2)
            number = number * power % POD_SUFFIXES;
        power = power * power % POD_SUFFIXES;
    }
    return number;
}

/* The place that a suffix stands for; -1: it is none. */
static int64_t place_of(str suffix)
{
    int64_t place = 0;
    for (size_t i = suffix.len; i > 0; i--) {
        unsigned digit = 0;
        while (digit < HASH_SAFE_CHARS && hash_safe_char(digit) != suffix.p[i - 1])
            digit++;
        if (digit == HASH_SAFE_CHARS)
            return -1;
        place = place * HASH_SAFE_CHARS + digit;
    }
    return place;
}

bool name_pod_number(str name, str pclq_uid, int64_t index, unsigned *ret_n)
{
    int64_t place =
        name.len < POD_SUFFIX ? -1 : place_of(str_sub(name, name.len - POD_SUFFIX, name.len));
    if (place < 0 || index < 0)
        return false;
    uint64_t number = unshuffle(order_of(pclq_uid), (uint64_t)place), diagonal = (uint64_t)index;
    /* On its diagonal the number is the n-th, and index + n is the diagonal. */
    while ((diagonal + 1) * (diagonal + 2) / 2 <= number)
        diagonal++;
    uint64_t n = number - diagonal * (diagonal + 1) / 2;
    if (number < diagonal * (diagonal + 1) / 2 || (uint64_t)index + n != diagonal)
        return false;
    *ret_n = (unsigned)n;
    return true;
}

str name_pod(struct arena *a, str pclq, str pclq_uid, int64_t index, unsigned n)
{
    uint64_t number = pair_up((uint64_t)MAX(index, 0), n);
    str suffix = suffix_of(a, shuffle(order_of(pclq_uid), number), POD_SUFFIX);
    str base = name_fit(a, pclq, POD_NAME_MAX - 1 - suffix.len);
    return arena_cat(a, base, STR("-"), suffix);
}

str name_hostname(struct arena *a, str pclq, int64_t index)
{
    str tail = arena_cat(a, STR("-"), arena_int(a, index));
    str base = dns_label(a, pclq, LABEL_MAX - tail.len);
    return arena_cat(a, base, tail);
}

str hash_encode(struct arena *a, uint64_t hash)
{
    str digits = arena_uint(a, hash);
    char *p = arena_alloc(a, digits.len + 1);
    for (size_t i = 0; i < digits.len; i++)
        p[i] = hash_safe_char((unsigned char)digits.p[i]);
    return str_n(p, digits.len);
}
