/* What the files of admission share. Private to them. */
#ifndef APISERVER_ADMIT_IMPL_H
#define APISERVER_ADMIT_IMPL_H

#include "apiserver/admit.h"

/* One kind. All run for the main endpoint and for scale; old is NULL on create. */
struct admit_ops {
    const struct kind *kind;
    void (*dflt)(const struct admit *a, jval root, struct edit *e);
    void (*mutate)(const struct admit *a, jval root, struct edit *e);
    void (*validate)(const struct admit *a, jval root);
};

void pod_default(const struct admit *a, jval root, struct edit *e);
void pod_mutate(const struct admit *a, jval root, struct edit *e);
void pod_validate(const struct admit *a, jval root);
void pod_validate_update(const struct admit *a, jval spec);
void role_validate(const struct admit *a, jval root);
void role_binding_default(const struct admit *a, jval root, struct edit *e);
void role_binding_validate(const struct admit *a, jval root);
void service_default(const struct admit *a, jval root, struct edit *e);
void service_mutate(const struct admit *a, jval root, struct edit *e);
void service_validate(const struct admit *a, jval root);

/* Defaults of containers that depend on their other fields, for pods and templates; base is the
 * pointer of the pod spec. */
void containers_default(const struct admit *a, jval spec, const char *base, struct edit *e);
void containers_validate(const struct admit *a, jval spec, const char *base);

/* "spec.containers[2].image" in the arena. */
str admit_path(const struct admit *a, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* Sets what is absent or null. */
void default_raw(struct edit *e, jval object, const char *key, const char *path, const char *json);

#endif
