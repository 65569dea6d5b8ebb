/*
 * Inside tables: a row that is being written, and the cells that are computed rather than read from
 * a path. table.c knows columns, table_cells.c and table_kept.c know kinds.
 */
#ifndef APISERVER_FRONT_TABLE_H
#define APISERVER_FRONT_TABLE_H

#include "apiserver/front/front.h"

struct row {
    struct jw *w;
    const struct obj *o;
    usec now;
    jval spec, status;
    struct strbuf text; /* scratch of the cell at hand */
    struct {            /* of a pod: three columns come out of one look at its containers */
        bool known;
        size_t ready, all;
        int64_t restarts;
        usec last_restart;
        struct strbuf reason;
    } pod;
};

/* Writes exactly one value. */
typedef void cell_fn(struct row *r);

/* A cell that is a member of the object: its value, or something in place of nothing. */
struct cell {
    const char *kind, *column;
    cell_fn *fn;        /* or, when NULL: */
    const char *path;   /* "status.podIP" */
    const char *absent; /* text when it is absent or empty; NULL: a number, 0 */
};

/* NULL: the column is not computed. */
const struct cell *table_cell(const struct kind *k, const char *column);
/* table_kept.c: the same, of kinds that are kept for others. */
const struct cell *table_cell_kept(const struct kind *k, const char *column);

void row_put_age(struct row *r, usec since);
/* Writes r->text, or this when nothing was written. */
void row_put_text(struct row *r, const char *otherwise);
/* "k=v,k2=v2", sorted, or "<none>". */
void row_put_map(struct row *r, jval map);
/* Into r->text: the elements, or a member of each, joined by commas. */
void row_add_joined(struct row *r, jval list, str member);
/* Into r->text: where a load balancer is reached. */
void row_add_ingress(struct row *r);

#endif
