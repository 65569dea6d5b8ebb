/* See startup.h. The container's side of the contract is grove/wait.h. */
#include "operator/common/startup.h"

#include "grove/wait.h"
#include "operator/common/gangmap_world.h"

/* Nobody can read more of them; a gang that large is refused anyway. */
enum { MAX_PARENTS = 10000 };

static bool is_type(const struct pcs_view *pcs, const char *type)
{
    return str_ends(pcs->startup_type, str_of(type));
}

static void add_name(startup_names *ret, str name)
{
    if (ret->len < MAX_PARENTS)
        *vec_push(ret) = name;
}

/* All copies of a clique that are in the base gang. */
static void add_base(struct arena *a, const struct clique_place *c, const struct pcs_view *pcs,
                     str clique, startup_names *ret)
{
    struct group_view group;
    if (!pcs_group_of(pcs, clique, &group)) {
        add_name(ret, name_pclq(a, c->pcs->name, c->pcs_index, clique));
        return;
    }
    str pcsg = name_pcsg(a, c->pcs->name, c->pcs_index, group.name);
    for (int64_t j = 0; j < group.min_available && ret->len < MAX_PARENTS; j++)
        add_name(ret, name_member_pclq(a, pcsg, j, clique));
}

static bool is_scaled(const struct clique_place *c)
{
    return c->owner->kind == &kind_pcsg && c->group_index >= c->group.min_available;
}

static void add_parent(struct arena *a, const struct clique_place *c, const struct pcs_view *pcs,
                       str clique, startup_names *ret)
{
    struct clique_view there;
    struct group_view group;
    if (!pcs_find_clique(pcs, clique, &there))
        return;
    if (is_scaled(c) && pcs_group_of(pcs, clique, &group) && str_eq(group.name, c->group.name))
        add_name(ret, name_member_pclq(a, c->owner->name, c->group_index, clique));
    else
        add_base(a, c, pcs, clique, ret);
}

/* The name before this one in the template; empty for the first. */
static str predecessor(const struct pcs_view *pcs, str clique)
{
    str before = STR_NONE;
    for (struct jiter it = jiter(pcs->cliques); jnext(&it);) {
        str name = jstr(jgetc(it.value, "name"));
        if (str_eq(name, clique))
            return before;
        before = name;
    }
    return STR_NONE;
}

void startup_parents(struct arena *a, const struct clique_place *c, startup_names *ret)
{
    struct pcs_view pcs;
    pcs_view(c->pcs, &pcs);
    *ret = (startup_names){0};
    if (is_type(&pcs, "InOrder")) {
        add_parent(a, c, &pcs, predecessor(&pcs, c->clique.name), ret);
    } else if (is_type(&pcs, "Explicit")) {
        for (struct jiter it = jiter(c->clique.starts_after); jnext(&it);)
            add_parent(a, c, &pcs, jstr(it.value), ret);
    }
}

/* A PodClique that is not there is yet to come, unless it is of a replica that its group does not
 * want. */
static bool is_wanted(const struct world *w, struct arena *a, const struct obj *pcs,
                      int64_t replica, str clique, str pclq)
{
    struct pcs_view view;
    struct group_view group;
    int64_t index;
    pcs_view(pcs, &view);
    if (!pcs_group_of(&view, clique, &group))
        return true;
    str name = name_pcsg(a, pcs->name, replica, group.name);
    const struct obj *pcsg = world_get(w, &kind_pcsg, pcs->ns, name);
    str number = str_sub(pclq, name.len + 1, pclq.len - clique.len - 1);
    return !pcsg || !str_to_int(number, &index) || gangmap_wants(w, a, pcs, pcsg, index);
}

/* The minAvailable of its template; 0: there is none. */
static int64_t full_need(struct arena *a, const struct obj *pcs, int64_t replica, str pclq,
                         str *ret_clique)
{
    struct clique_view clique;
    jval template = clique_template(a, pcs, replica, pclq);
    if (j_is_absent(template))
        return 0;
    clique_view(template, &clique);
    *ret_clique = clique.name;
    return clique.min_available;
}

int64_t startup_need(const struct world *w, struct arena *a, const struct obj *pcs,
                     int64_t pcs_index, str pclq)
{
    str clique;
    int64_t need = full_need(a, pcs, pcs_index, pclq, &clique);
    if (need == 0 || !is_wanted(w, a, pcs, pcs_index, clique, pclq))
        return 0;
    const struct obj *there = world_get(w, &kind_pclq, pcs->ns, pclq);
    int64_t replicas = jint(jgetc(there ? obj_spec(there) : JVAL_ABSENT, "replicas"), need);
    return MIN(need, MAX(replicas, 0));
}

/* What the waiting clique or pod must see of the parent. One whose own replica of its group is not
 * wanted goes with it: until then it waits as it did. */
static int64_t need_of(const struct world *w, struct arena *a, const struct obj *pcs,
                       int64_t pcs_index, const struct obj *waiting, str pclq)
{
    str clique, group = obj_label(waiting, STR(LABEL_PCSG));
    const struct obj *pcsg =
        str_is_empty(group) ? NULL : labelled_obj(w, &kind_pcsg, waiting->ns, group);
    bool stays =
        !pcsg || gangmap_wants(w, a, pcs, pcsg, label_index(waiting, STR(LABEL_PCSG_INDEX)));
    return stays ? startup_need(w, a, pcs, pcs_index, pclq)
                 : full_need(a, pcs, pcs_index, pclq, &clique);
}

bool startup_is_short(const struct world *w, struct arena *a, const struct obj *pcs,
                      const struct obj *pclq)
{
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    str clique;
    for (struct jiter it = jiter(jgetc(obj_spec(pclq), "startsAfter")); jnext(&it);) {
        str parent = jstr(it.value);
        if (need_of(w, a, pcs, replica, pclq, parent) < full_need(a, pcs, replica, parent, &clique))
            return true;
    }
    return false;
}

bool startup_waits_in_vain(const struct world *w, struct arena *a, const struct obj *pcs,
                           const struct obj *pod)
{
    struct wait_parent *parents;
    int64_t replica = label_index(pod, STR(LABEL_PCS_INDEX));
    if (condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Initialized")))
        return false;
    size_t n = wait_of_pod(pod, a, &parents);
    for (size_t i = 0; i < n; i++) {
        if (parents[i].need > need_of(w, a, pcs, replica, pod, parents[i].clique))
            return true;
    }
    return false;
}

/* ---- the pod's side ---- */

#define VOLUME_TOKEN "sa-token-secret-vol"
#define VOLUME_POD_INFO "pod-info-vol"

str startup_image(struct arena *a, str configured)
{
    if (str_is_empty(configured))
        return STR(INITC_IMAGE);
    /* A colon after the last slash begins a tag; one before belongs to a port. */
    ptrdiff_t slash = str_rfind_char(configured, '/'), colon = str_rfind_char(configured, ':');
    bool tagged = colon > slash || str_find_char(configured, '@') >= 0;
    return arena_cat(a, configured, tagged ? STR_NONE : STR(":" GROVE_VERSION));
}

bool startup_waits(const struct obj *pclq)
{
    return jlen(jgetc(obj_spec(pclq), "startsAfter")) > 0;
}

static void write_mount(struct jw *w, const char *volume, const char *path)
{
    jw_object(w);
    jw_put_cstr(w, "name", volume);
    jw_put_cstr(w, "mountPath", path);
    jw_put_bool(w, "readOnly", true);
    jw_end(w);
}

/* Somebody in the pod is to be root. */
static bool is_for_root(jval pod_spec)
{
    jval context = jgetc(pod_spec, "securityContext");
    return jtype(jgetc(context, "runAsNonRoot")) == J_FALSE ||
           jint(jgetc(context, "runAsUser"), 1) == 0;
}

/* What the restricted level of the Pod Security Standards asks of a container: a pod that meets it
 * does so with this one too. A pod that is told to run as root takes this one along; the kubelet
 * would not start it otherwise. */
static void write_security(struct jw *w, jval pod_spec)
{
    jw_put_object(w, "securityContext");
    jw_put_bool(w, "allowPrivilegeEscalation", false);
    jw_put_object(w, "capabilities");
    jw_put_array(w, "drop");
    jw_str(w, STR("ALL"));
    jw_end(w);
    jw_end(w);
    if (!is_for_root(pod_spec))
        jw_put_bool(w, "runAsNonRoot", true);
    jw_put_object(w, "seccompProfile");
    jw_put_cstr(w, "type", "RuntimeDefault");
    jw_end(w);
    jw_end(w);
}

void startup_write_container(struct jw *w, struct arena *a, const struct world *world,
                             const struct obj *pcs, const struct obj *pclq, str image)
{
    int64_t replica = label_index(pclq, STR(LABEL_PCS_INDEX));
    jw_object(w);
    jw_put_cstr(w, "name", INITC_NAME);
    jw_put_str(w, "image", image);
    jw_put_array(w, "args");
    for (struct jiter it = jiter(jgetc(obj_spec(pclq), "startsAfter")); jnext(&it);) {
        str parent = jstr(it.value);
        int64_t need = need_of(world, a, pcs, replica, pclq, parent);
        if (need > 0) /* one that is not to be would be waited for for ever */
            jw_printf(w, INITC_FLAG "%.*s:%lld", STR_ARG(parent), (long long)need);
    }
    jw_end(w);
    jw_put_array(w, "volumeMounts");
    write_mount(w, VOLUME_POD_INFO, "/var/grove/pod-info");
    write_mount(w, VOLUME_TOKEN, "/var/run/secrets/kubernetes.io/serviceaccount");
    jw_end(w);
    write_security(w, jgetc(obj_spec(pclq), "podSpec"));
    jw_end(w);
}

static void write_pod_info(struct jw *w, const char *file, const char *field)
{
    jw_object(w);
    jw_put_cstr(w, "path", file);
    jw_put_object(w, "fieldRef");
    jw_put_cstr(w, "apiVersion", "v1");
    jw_put_cstr(w, "fieldPath", field);
    jw_end(w);
    jw_end(w);
}

/* Init containers of other versions count only pods of the gang that they are told. So those that
 * wait for pods of another gang are not told theirs. */
void startup_write_volumes(struct jw *w, struct arena *a, const struct obj *pcs,
                           const struct obj *pclq)
{
    bool scaled = !str_is_empty(obj_label(pclq, STR(LABEL_BASE_PODGANG)));
    jw_object(w);
    jw_put_cstr(w, "name", VOLUME_TOKEN);
    jw_put_object(w, "secret");
    jw_put_str(w, "secretName", name_initc_secret(a, pcs->name));
    jw_put_int(w, "defaultMode", 0644);
    jw_end(w);
    jw_end(w);
    jw_object(w);
    jw_put_cstr(w, "name", VOLUME_POD_INFO);
    jw_put_object(w, "downwardAPI");
    jw_put_array(w, "items");
    write_pod_info(w, "namespace", "metadata.namespace");
    if (!scaled)
        write_pod_info(w, "podgangname", "metadata.labels['" LABEL_PODGANG "']");
    jw_end(w);
    jw_end(w);
    jw_end(w);
}
