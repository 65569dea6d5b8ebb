/* See life.h. */
#include "node/sim/life.h"

#include "base/hash.h"

#define DELAY_MAX (366 * USEC_PER_DAY)

/* ---- delays ---- */

static str setting(const struct obj *pod, const char *name)
{
    char key[64] = LIFE_PREFIX;
    size_t prefix = sizeof(LIFE_PREFIX) - 1, len = strlen(name);
    if (jlen(pod->annotations) == 0)
        return STR_NONE;
    BUG_ON(prefix + len > sizeof(key));
    memcpy(key + prefix, name, len);
    return obj_annotation(pod, str_n(key, prefix + len));
}

/* Evenly within jitter percent of the delay, always the same for one pod and stage. */
static usec jittered(const struct obj *pod, const char *stage, usec delay, unsigned jitter)
{
    if (jitter == 0 || delay == 0)
        return delay;
    uint64_t h = hash_fnv1a64(pod->uid) * 31 + hash_fnv1a64(str_of(stage));
    h ^= h >> 29;
    int64_t thousandth = (int64_t)(h % 2001) - 1000;
    return delay + delay / 1000 * thousandth * jitter / 100;
}

static usec delay_of(const struct obj *pod, const char *stage, usec node, unsigned jitter)
{
    usec own;
    if (duration_parse_usec(setting(pod, stage), &own) && own >= 0)
        return MIN(own, DELAY_MAX);
    return jittered(pod, stage, MIN(node, DELAY_MAX), jitter);
}

static int64_t number_of(const struct obj *pod, const char *name, int64_t otherwise)
{
    int64_t v;
    return str_to_int(setting(pod, name), &v) && v >= 0 && v <= 1000000 ? v : otherwise;
}

struct life life_of(const struct obj *pod, const struct life *node, unsigned jitter)
{
    return (struct life){
        .pull = delay_of(pod, "pull", node->pull, jitter),
        .init = delay_of(pod, "init", node->init, jitter),
        .start = delay_of(pod, "start", node->start, jitter),
        .ready = delay_of(pod, "ready", node->ready, jitter),
        .stop = delay_of(pod, "stop", node->stop, jitter),
        .run = delay_of(pod, "run", node->run, jitter),
        .exit_code = number_of(pod, "exit-code", node->exit_code),
        .exits = number_of(pod, "exits", node->exits),
    };
}
