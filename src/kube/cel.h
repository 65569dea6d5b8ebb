/*
 * The Common Expression Language, a typed subset: what admission rules are written in. An
 * expression is compiled once into a tree and evaluated over JSON documents; neither does anything
 * else than that.
 *
 *   has(object.metadata.labels) && object.spec.containers.all(c, c.image.startsWith("ok/"))
 *
 * There are null, bool, int, uint, double, string, lists and maps; the operators ! - * / % + < <=
 * > >= == != in && || ?: . and []; the macros has, all, exists, exists_one, map and filter; the
 * functions listed in cel_functions.c. Bytes, time, and the extensions of Kubernetes (quantities,
 * URLs, the authorizer) are not there: an expression that uses them does not compile.
 *
 * Bounded: an expression has so many bytes, nodes and levels; an evaluation costs at most what the
 * caller allows, in units of work that do not depend on the machine. What is known to be of the
 * wrong type is refused when it is compiled, the rest is an error when it is evaluated. As the
 * language says, && and || forget an error of one side when the other decides.
 */
#ifndef KUBE_CEL_H
#define KUBE_CEL_H

#include "json/doc.h"

enum { CEL_MAX_TEXT = 16 << 10, CEL_MAX_NODES = 4096, CEL_MAX_DEPTH = 64, CEL_MAX_VARS = 16 };

struct cel; /* in the arena it was compiled into */

/* names: the variables, at most CEL_MAX_VARS. The result must be a bool, or nothing is known of it
 * yet. NULL with the reason and where it is. */
struct cel *cel_compile(struct arena *a, str text, const char *const *names, size_t n_names,
                        struct err *err);
/* vars: one for each name; absent is an error when it is used. ERR_INVALID: the expression failed;
 * ERR_TOO_LARGE: it cost too much. What it makes meanwhile is in the arena. */
int cel_eval(const struct cel *c, struct arena *a, const jval *vars, uint64_t cost, bool *ret,
             struct err *err);

#endif
