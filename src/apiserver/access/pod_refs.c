/*
 * What a pod refers to by name, in its own namespace. A table says where: the path of a list in the
 * spec, and in each of its items the path of a name.
 *
 *   volumes[].projected.sources[].secret.name   is   {"volumes", "projected.sources",
 * "secret.name"}
 */
#include "apiserver/access/node_rights.h"

struct place {
    enum pod_ref what;
    const char *list;  /* of the spec */
    const char *inner; /* a list in each item; NULL: the item itself */
    const char *name;
};

#define CONTAINERS(list_)                                                     \
    {POD_REF_SECRET, list_, "env", "valueFrom.secretKeyRef.name"},            \
        {POD_REF_SECRET, list_, "envFrom", "secretRef.name"},                 \
        {POD_REF_CONFIG_MAP, list_, "env", "valueFrom.configMapKeyRef.name"}, \
    {                                                                         \
        POD_REF_CONFIG_MAP, list_, "envFrom", "configMapRef.name"             \
    }

static const struct place places[] = {
    CONTAINERS("containers"),
    CONTAINERS("initContainers"),
    CONTAINERS("ephemeralContainers"),
    {POD_REF_SECRET, "imagePullSecrets", NULL, "name"},
    {POD_REF_SECRET, "volumes", NULL, "secret.secretName"},
    {POD_REF_SECRET, "volumes", "projected.sources", "secret.name"},
    {POD_REF_SECRET, "volumes", NULL, "azureFile.secretName"},
    {POD_REF_SECRET, "volumes", NULL, "cephfs.secretRef.name"},
    {POD_REF_SECRET, "volumes", NULL, "cinder.secretRef.name"},
    {POD_REF_SECRET, "volumes", NULL, "csi.nodePublishSecretRef.name"},
    {POD_REF_SECRET, "volumes", NULL, "flexVolume.secretRef.name"},
    {POD_REF_SECRET, "volumes", NULL, "iscsi.secretRef.name"},
    {POD_REF_SECRET, "volumes", NULL, "rbd.secretRef.name"},
    {POD_REF_SECRET, "volumes", NULL, "scaleIO.secretRef.name"},
    {POD_REF_SECRET, "volumes", NULL, "storageos.secretRef.name"},
    {POD_REF_CONFIG_MAP, "volumes", NULL, "configMap.name"},
    {POD_REF_CONFIG_MAP, "volumes", "projected.sources", "configMap.name"},
    {POD_REF_CLAIM, "volumes", NULL, "persistentVolumeClaim.claimName"},
    {POD_REF_RESOURCE_CLAIM, "resourceClaims", NULL, "resourceClaimName"},
};

/* Empty name: any. */
static bool is_it(jval item, const char *path, str name)
{
    str found = jstr(jpath(item, path));
    return found.len && (!name.len || str_eq(found, name));
}

static bool is_in(jval spec, const struct place *p, str name)
{
    for (struct jiter it = jiter(jget(spec, str_of(p->list))); jnext(&it);) {
        if (!p->inner && is_it(it.value, p->name, name))
            return true;
        struct jiter in = jiter(p->inner ? jpath(it.value, p->inner) : JVAL_ABSENT);
        while (jnext(&in))
            if (is_it(in.value, p->name, name))
                return true;
    }
    return false;
}

static bool spec_refers(jval spec, enum pod_ref what, str name)
{
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (places[i].what == what && is_in(spec, &places[i], name))
            return true;
    return false;
}

bool pod_spec_refers(jval spec, enum pod_ref what)
{
    return spec_refers(spec, what, STR_NONE);
}

/* Claims made for the pod: "POD-VOLUME", or by a name that its status tells. */
static bool has_own(const struct obj *pod, enum pod_ref what, str name)
{
    struct arena a = ARENA_INIT;
    bool found = false;
    for (struct jiter it = jiter(jgetc(obj_spec(pod), "volumes"));
         what == POD_REF_CLAIM && !found && jnext(&it);)
        found = j_has(jgetc(it.value, "ephemeral")) &&
                str_eq(name, arena_cat(&a, pod->name, STR("-"), jstr(jgetc(it.value, "name"))));
    for (struct jiter it = jiter(jgetc(obj_status(pod), "resourceClaimStatuses"));
         what == POD_REF_RESOURCE_CLAIM && !found && jnext(&it);)
        found = str_eq(name, jstr(jgetc(it.value, "resourceClaimName")));
    arena_done(&a);
    return found;
}

bool pod_refers(const struct obj *pod, enum pod_ref what, str name)
{
    if (!name.len || j_has(jget(pod->annotations, STR(NODE_MIRROR))))
        return false;
    return spec_refers(obj_spec(pod), what, name) || has_own(pod, what, name);
}
