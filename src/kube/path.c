/* See path.h. */
#include "kube/path.h"

void path_write(const struct path *p, struct strbuf *out)
{
    if (!p)
        return;
    path_write(p->up, out);
    if (!p->key.p) {
        strbuf_printf(out, "[%zu]", p->index);
        return;
    }
    if (p->up)
        strbuf_add_char(out, '.');
    strbuf_add_str(out, p->key);
}
