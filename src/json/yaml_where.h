/* Where in a YAML text something stands: for messages about files that people wrote. */
#ifndef JSON_YAML_WHERE_H
#define JSON_YAML_WHERE_H

#include "base/str.h"

/* The line, from 1, of what a path names ("spec.template.cliques[0].spec.replicas") in one document
 * of a text; documents are counted as yaml_parse returns them. Where the file does not have it, the
 * line of the nearest thing around it. 0: there is no such document.
 *
 * value, where it is given, is the text of a scalar that the message is about: below a list it is
 * looked for by itself, because rules over all items ("cliques.startsAfter") do not say which:
 * under the key that ends the path, or else under "name". */
size_t yaml_line_of(str text, size_t document, str path, str value);

#endif
