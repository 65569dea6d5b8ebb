/* What the tests of this folder share: documents from readable text, and a custom kind. */
#ifndef KUBE_TEST_KUBE_FIXTURE_H
#define KUBE_TEST_KUBE_FIXTURE_H

#include "base/test.h"
#include "kube/tables/kinds.h"
#include "json/doc.h"

/* JSON with ' for ", held by the arena. Text that does not parse aborts. */
jval fixture_json(struct arena *a, const char *text);
struct doc *fixture_doc(struct arena *a, const char *text);
/* widgets.example.com/v1: a custom resource with one field for each rule. */
extern const struct kind fixture_widget;
void fixture_init(void);
/* Compares with JSON as above, whatever the order of members. */
#define CHECK_JSON(a, got, want) CHECK(fixture_same((a), (got), (want)))
/* False (and a note of both texts) when they differ. */
bool fixture_same(struct arena *a, jval got, const char *want);

#endif
