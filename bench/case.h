/*
 * Micro benchmarks: named cases, each one operation run a fixed number of times. The same program
 * gives two figures: `bench/budgets` runs it under callgrind and counts instructions, --wall prints
 * nanoseconds.
 *
 *   PROGRAM --list              name, operations per call, calls
 *   PROGRAM --compiler          gcc-12: what it was built with
 *   PROGRAM [NAME...]           runs them, for callgrind
 *   PROGRAM --wall [NAME...]    name, nanoseconds per operation
 *
 * Callgrind is told to collect inside bench_op() and to write a part after each bench_end(), so one
 * run counts every case apart, and what prepares a call is not counted. No header of valgrind's is
 * needed. Everything a case does is a function of its code: fixed seeds, virtual time.
 */
#ifndef BENCH_CASE_H
#define BENCH_CASE_H

#include "json/doc.h"

struct bench_case {
    const char *name;
    size_t units; /* operations in one call of op: figures are per operation */
    size_t calls; /* counted ones; one more comes before them and warms up */
    void (*setup)(void);
    void (*prepare)(void); /* before each call, not counted; may be NULL */
    size_t (*op)(void);    /* returns something that depends on its result */
    void (*done)(void);
};

int bench_main(int argc, char **argv, const struct bench_case *cases, size_t n);

/* A JSON file of bench/data. */
struct doc *bench_doc(const char *name);
/* Refuses to go on: a benchmark whose operation fails measures nothing. */
void bench_must(bool good, const char *what);

#endif
