/* Which strings the items of a list have in a member, to find those that come twice. Few are
 * compared one by one; many are remembered, so that a long list costs what its items do and not
 * their square. Begins zeroed but for the first two; done with former_done. */
#ifndef KUBE_FORMER_H
#define KUBE_FORMER_H

#include "base/map.h"
#include "json/view.h"

struct former {
    jval list;
    const char *member;
    struct map seen;
    struct jiter at; /* items before it are in `seen` */
    bool is_begun, is_over;
};
/* Whether one of the items before this one has the string; asked for indexes that do not fall. */
bool former_has(struct former *f, size_t index, str value);
void former_done(struct former *f);

#endif
