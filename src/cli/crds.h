/*
 * The definitions of Grove's kinds: printed with the manifests, written into a cluster by
 * `grove operator --install-crds`.
 */
#ifndef CLI_CRDS_H
#define CLI_CRDS_H

#include "explain/documents/session.h"

/* The CustomResourceDefinition of the i-th kind, to be unreferenced; NULL after the last. */
struct doc *crds_at(size_t i);

/* Applies all of them: what is missing is made, what is older is brought up to date, objects stay.
 * Fields that somebody else took over are taken back. */
int crds_install(const struct session_opts *o, struct err *err);

#endif
