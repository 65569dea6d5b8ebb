/*
 * Pods through their subresources ephemeralcontainers (kubectl debug) and resize: what of the pod
 * may change there, and how. Everything else in such a write was made equal to the old pod before
 * (meta.c), so only the part itself is judged.
 */
#include "apiserver/admission/admit_impl.h"

/* ---- ephemeral containers ---- */

static jval find_named(jval list, str name)
{
    for (struct jiter it = jiter(list); jnext(&it);)
        if (str_eq(jstr(jgetc(it.value, "name")), name))
            return it.value;
    return JVAL_ABSENT;
}

/* They come, and stay as they are until the pod goes. */
static void check_kept(const struct admit *a, jval old, jval new)
{
    for (struct jiter it = jiter(old); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        jval now = find_named(new, name);
        if (jequal(it.value, now))
            continue;
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec.ephemeralContainers"), STR_NONE,
                        "existing ephemeral containers \"%.*s\" may not be %s", STR_ARG(name),
                        j_has(now) ? "changed" : "removed");
    }
}

static void check_ephemeral(const struct admit *a, jval spec, jval c, size_t i)
{
    static const char *const fixed[] = {"ports",        "livenessProbe", "readinessProbe",
                                        "startupProbe", "lifecycle",     "resources",
                                        "resizePolicy", "restartPolicy"};
    jval name = jgetc(c, "name"), target = jgetc(c, "targetContainerName");
    for (size_t k = 0; k < ARRAY_LEN(fixed); k++) {
        jval v = jget(c, str_of(fixed[k]));
        if (j_has(v) && (jtype(v) == J_STRING || jlen(v)))
            field_error_add(a->errors, FIELD_ERR_FORBIDDEN,
                            admit_path(a, "spec.ephemeralContainers[%zu].%s", i, fixed[k]),
                            STR_NONE, "cannot be set for an Ephemeral Container");
    }
    if (j_has(find_named(jgetc(spec, "containers"), jstr(name))) ||
        j_has(find_named(jgetc(spec, "initContainers"), jstr(name))))
        field_error_add(a->errors, FIELD_ERR_DUPLICATE,
                        admit_path(a, "spec.ephemeralContainers[%zu].name", i), jtext(name), NULL);
    if (jstr(target).len && !j_has(find_named(jgetc(spec, "containers"), jstr(target))) &&
        !j_has(find_named(jgetc(spec, "initContainers"), jstr(target))))
        field_error_add(a->errors, FIELD_ERR_NOT_FOUND,
                        admit_path(a, "spec.ephemeralContainers[%zu].targetContainerName", i),
                        jtext(target), NULL);
}

static void validate_ephemeral(const struct admit *a, jval spec)
{
    jval list = jgetc(spec, "ephemeralContainers");
    check_kept(a, jgetc(obj_spec(a->old), "ephemeralContainers"), list);
    pod_rules_containers(a->errors, spec, "spec");
    pod_rules_os(a->errors, spec, "spec");
    for (struct jiter it = jiter(list); jnext(&it);)
        check_ephemeral(a, spec, it.value, it.index);
}

/* ---- resize ---- */

static bool is_resizable(str resource)
{
    return str_is(resource, "cpu") || str_is(resource, "memory");
}

/* Of requests or limits, by container. */
static void check_amounts(const struct admit *a, jval old, jval new, str path, const char *which)
{
    jval was = jget(jgetc(old, "resources"), str_of(which));
    jval is = jget(jgetc(new, "resources"), str_of(which));
    bool removed = false, other = false;
    CLEANUP(jlookup_done) struct jlookup in_was = jlookup(was);
    CLEANUP(jlookup_done) struct jlookup in_is = jlookup(is);
    for (struct jiter it = jiter(was); jnext(&it);) {
        jval after = jlookup_get(&in_is, it.key);
        removed |= is_resizable(it.key) && !j_has(after);
        other |= !is_resizable(it.key) && !jequal(it.value, after);
    }
    for (struct jiter it = jiter(is); jnext(&it);)
        other |= !is_resizable(it.key) && !j_has(jlookup_get(&in_was, it.key));
    if (removed)
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN,
                        admit_path(a, "%.*s.resources.%s", STR_ARG(path), which), STR_NONE,
                        "resource %s cannot be removed", which);
    if (other)
        field_error_add(a->errors, FIELD_ERR_FORBIDDEN, STR("spec"), STR_NONE,
                        "only cpu and memory resources are mutable");
}

/* Of what runs before the containers only that which stays beside them changes its size. */
static bool is_fixed(const char *list, jval old)
{
    return str_is(str_of(list), "initContainers") &&
           !str_is(jstr(jgetc(old, "restartPolicy")), "Always");
}

static void check_resized(const struct admit *a, jval old, jval new, size_t i, const char *list)
{
    str path = admit_path(a, "spec.%s[%zu]", list, i);
    if (is_fixed(list, old)) {
        if (!jequal(jgetc(old, "resources"), jgetc(new, "resources")))
            field_error_add(a->errors, FIELD_ERR_FORBIDDEN,
                            admit_path(a, "%.*s.resources", STR_ARG(path)), STR_NONE,
                            "resources of an init container are mutable only when its "
                            "restartPolicy is Always");
        return;
    }
    check_amounts(a, old, new, path, "requests");
    check_amounts(a, old, new, path, "limits");
}

static void validate_resize(const struct admit *a, jval spec)
{
    static const char *const lists[] = {"containers", "initContainers"};
    jval old = obj_spec(a->old);
    pod_rules_containers(a->errors, spec, "spec");
    for (size_t l = 0; l < ARRAY_LEN(lists); l++) {
        struct jiter was = jiter(jget(old, str_of(lists[l])));
        for (struct jiter it = jiter(jget(spec, str_of(lists[l]))); jnext(&it);)
            check_resized(a, jnext(&was) ? was.value : JVAL_ABSENT, it.value, it.index, lists[l]);
    }
    const char *class = pod_qos_class(spec);
    if (!str_is(str_of(class), pod_qos_class(old)))
        field_error_add(a->errors, FIELD_ERR_INVALID, STR("spec"), admit_path(a, "\"%s\"", class),
                        "Pod QOS Class may not change as a result of resizing");
}

bool pod_validate_part(const struct admit *a, jval spec)
{
    if (str_is(a->subresource, "ephemeralcontainers"))
        validate_ephemeral(a, spec);
    else if (str_is(a->subresource, "resize"))
        validate_resize(a, spec);
    else
        return false;
    return true;
}
