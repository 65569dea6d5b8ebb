/* Inside revisions: a pod spec in the one form that all its spellings share. */
#ifndef GROVE_REVISION_CANON_H
#define GROVE_REVISION_CANON_H

#include "base/strbuf.h"
#include "json/doc.h"

/* Two pod specs make the same pods when this writes the same text for both. */
void canon_pod_spec(jval pod_spec, struct strbuf *out);

#endif
