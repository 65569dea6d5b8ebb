/*
 * Pictures for tests, written in a few words, one object to a line:
 *
 *   clique llm-0-router replicas 2 min 1
 *   pods llm-0-router 2 ready on n1
 *   node n1 has nvidia.com/gpu 8 {spec: {unschedulable: true}}
 *
 * A line is a kind (set, group, clique, gang, pod, map, event, node), a name, words of the table in
 * test-picture.c, each with its arguments ('...' around one with spaces), and at the end a merge
 * patch in YAML for what the words do not say. `pods NAME 3` are NAME-0 to NAME-2; `nodes n 3` are
 * n1 to n3. Names say what belongs together, as the operator's do: pod llm-0-router-1 is of clique
 * llm-0-router, that of replica 0 of set llm, and all of it of gang llm-0 unless the word `gang`
 * says another. A gang has its pods in its pod groups, and needs as many of each clique as that
 * clique's minimum, or all. UIDs are "uid-" and the name. The time is 12:00:00.
 */
#ifndef EXPLAIN_DOCUMENTS_TEST_PICTURE_H
#define EXPLAIN_DOCUMENTS_TEST_PICTURE_H

#include "base/test.h"
#include "explain/documents/findings.h"

/* 2026-01-01T12:00:00Z */
#define TP_NOW (1767268800 * USEC_PER_SEC)

struct test_picture {
    struct picture picture;
    struct arena arena;
};

struct test_picture *tp_new(const char *lines);
void tp_free(struct test_picture *t);
/* Another object of these bytes in place of one; false when it would be none. */
bool tp_replace(struct test_picture *t, enum picture_part part, size_t i, str json);
/* Fails the test when there is none. */
struct obj *tp_must(struct test_picture *t, enum picture_part part, const char *name);
/* The object that a line means, of its kind; the caller's to unref. */
struct obj *tp_obj(const char *line);

/* What is found, worst first:
 *
 *   waiting podgang/llm-0: VERDICT
 *     CONSTRAINT
 *     - ADVICE
 */
str tp_findings(struct test_picture *t, const char *set);

#endif
