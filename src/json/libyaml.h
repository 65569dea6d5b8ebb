/* libyaml's header is called yaml.h, and so is ours in this folder, which build systems like to put
 * on the search path. Found through "json/libyaml.h", the search for the next one starts behind our
 * source tree. */
#ifndef JSON_LIBYAML_H
#define JSON_LIBYAML_H

#include_next <yaml.h>

#endif
