/* See phase.h. */
#include "operator/common/phase.h"

#include "grove/types.h"

/* A group has no word for PHASE_FAILED: nothing says of a group that it failed. */
static const struct {
    const char *set, *group;
} words[N_PHASES] = {
    [PHASE_NONE] = {"", ""},
    [PHASE_CREATING] = {"Creating", "Pending"},
    [PHASE_SCHEDULING] = {"Scheduling", "Scheduling"},
    [PHASE_AVAILABLE] = {"Available", "Available"},
    [PHASE_UPDATING] = {"Updating", "Updating"},
    [PHASE_DEGRADED] = {"Degraded", "Unavailable"},
    [PHASE_FAILED] = {"Failed", "Unavailable"},
    [PHASE_ZERO] = {"ScaledToZero", "ScaledToZero"},
};

/* The table of moves: a row for the phase it is in, a column for the one it should be in, and in
 * the cell the one that is written next. What begins, or begins again from zero, is Creating first;
 * what is Creating is Scheduling before it is Available. All other moves are made at once. */
enum { N = PHASE_NONE, C, S, A, U, D, F, Z };
static const uint8_t moves[N_PHASES][N_PHASES] = {
    /* N  C  S  A  U  D  F  Z */
    {N, C, C, C, C, C, C, Z}, /* nothing yet */
    {C, C, S, S, U, D, F, Z}, /* Creating */
    {S, C, S, A, U, D, F, Z}, /* Scheduling */
    {A, C, S, A, U, D, F, Z}, /* Available */
    {U, C, S, A, U, D, F, Z}, /* Updating */
    {D, C, S, A, U, D, F, Z}, /* Degraded */
    {F, C, S, A, U, D, F, Z}, /* Failed */
    {Z, C, C, C, C, C, C, Z}, /* ScaledToZero */
};

enum phase phase_goal(const struct phase_facts *f)
{
    const struct {
        bool holds;
        enum phase phase;
    } rules[] = {
        {f->failed, PHASE_FAILED},       {f->none, PHASE_ZERO},     {f->updating, PHASE_UPDATING},
        {f->available, PHASE_AVAILABLE}, {f->lost, PHASE_DEGRADED}, {!f->created, PHASE_CREATING},
    };
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        if (rules[i].holds)
            return rules[i].phase;
    }
    return PHASE_SCHEDULING;
}

enum phase phase_step(enum phase from, enum phase goal)
{
    return (enum phase)moves[from][goal];
}

bool phase_is_loss(enum phase from, struct phase_numbers before, struct phase_numbers now)
{
    bool was_up = from == PHASE_AVAILABLE || from == PHASE_UPDATING;
    if (from == PHASE_DEGRADED)
        return true;
    if (was_up && now.wanted <= before.wanted)
        return true;
    /* With fewer wanted, those that went may have been the available ones. */
    return now.wanted >= before.wanted && now.available < before.available;
}

const char *phase_word(const struct kind *kind, enum phase p)
{
    return kind == &kind_pcs ? words[p].set : words[p].group;
}

enum phase phase_of(const struct obj *o)
{
    str word = jstr(jgetc(obj_status(o), "phase"));
    for (enum phase p = PHASE_CREATING; p < N_PHASES; p++) {
        if (str_is(word, words[p].set) || str_is(word, words[p].group))
            return p;
    }
    return PHASE_NONE;
}
