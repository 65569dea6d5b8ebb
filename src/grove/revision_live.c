/*
 * Is a PodClique that somebody else made what the template says? An operator puts things of its own
 * into the pod spec of a PodClique (environment variables of scaling groups, the NVLink claim) and
 * among its labels; those are left aside on both sides. Labels and annotations beyond the
 * template's are no difference: other programs put marks on objects, and pods must not roll for
 * that.
 */
#include "grove/revision_live.h"

#include "grove/names.h"
#include "grove/revision.h"
#include "grove/revision_canon.h"
#include "grove/types.h"
#include "json/write.h"

bool live_is_clique(const struct obj *pclq, str clique)
{
    /* Owners are named in full; a label has only a part of a long name. */
    str owner = jstr(jgetc(obj_controller_ref(pclq), "name"));
    str group = obj_label(pclq, STR(LABEL_PCSG));
    if (str_is_empty(owner))
        owner = str_is_empty(group) ? obj_label(pclq, STR(LABEL_PART_OF)) : group;
    return name_index(pclq->name, owner, clique) >= 0;
}

/* ---- pod specs without what operators add ---- */

#define CLAIM "mnnvl-claim"

static bool is_reserved_env(jval item)
{
    static const char *const names[] = {
        "GROVE_PCS_NAME",
        "GROVE_PCS_INDEX",
        "GROVE_PCLQ_NAME",
        "GROVE_HEADLESS_SERVICE",
        "GROVE_PCLQ_POD_INDEX",
        "GROVE_PCSG_NAME",
        "GROVE_PCSG_TEMPLATE_NUM_PODS",
        "GROVE_PCSG_INDEX",
    };
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (str_is(jstr(jgetc(item, "name")), names[i]))
            return true;
    }
    return false;
}

static bool is_claim(jval item)
{
    return str_is(jstr(jgetc(item, "name")), CLAIM);
}

static void write_without(struct jw *w, jval list, bool (*is_ours)(jval item))
{
    jw_array(w);
    for (struct jiter it = jiter(list); jnext(&it);) {
        if (!is_ours(it.value))
            jw_val(w, it.value);
    }
    jw_end(w);
}

static void write_resources(struct jw *w, jval resources)
{
    jw_object(w);
    for (struct jiter it = jiter(resources); jnext(&it);) {
        jw_key(w, it.key);
        if (str_is(it.key, "claims"))
            write_without(w, it.value, is_claim);
        else
            jw_val(w, it.value);
    }
    jw_end(w);
}

static void write_containers(struct jw *w, jval containers)
{
    jw_array(w);
    for (struct jiter c = jiter(containers); jnext(&c);) {
        jw_object(w);
        for (struct jiter it = jiter(c.value); jnext(&it);) {
            jw_key(w, it.key);
            if (str_is(it.key, "env"))
                write_without(w, it.value, is_reserved_env);
            else if (str_is(it.key, "resources"))
                write_resources(w, it.value);
            else
                jw_val(w, it.value);
        }
        jw_end(w);
    }
    jw_end(w);
}

/* Canonical text of a pod spec without what operators add; the priority class of pods is the
 * set's. */
static void add_own_spec(struct strbuf *out, jval pod_spec)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    for (struct jiter it = jiter(pod_spec); jnext(&it);) {
        if (str_is(it.key, "priorityClassName"))
            continue;
        jw_key(&w, it.key);
        if (str_is(it.key, "containers") || str_is(it.key, "initContainers"))
            write_containers(&w, it.value);
        else if (str_is(it.key, "resourceClaims"))
            write_without(&w, it.value, is_claim);
        else
            jw_val(&w, it.value);
    }
    jw_end(&w);
    struct doc *d = jw_doc(&w);
    canon_pod_spec(doc_root(d), out);
    doc_unref(d);
}

/* ---- metadata ---- */

/* Keys whose value is the operator's, whatever the template says. */
static bool is_operators_key(str key)
{
    static const char *const keys[] = {LABEL_MANAGED_BY, LABEL_PART_OF, LABEL_NAME,
                                       LABEL_COMPONENT};
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (str_is(key, keys[i]))
            return true;
    }
    return str_starts(key, STR("grove.io/"));
}

static bool carries(jval live, jval template)
{
    for (struct jiter it = jiter(template); jnext(&it);) {
        if (!is_operators_key(it.key) && !jequal(jget(live, it.key), it.value))
            return false;
    }
    return true;
}

bool revision_is_live(jval clique, const struct obj *pclq)
{
    if (!carries(pclq->labels, jgetc(clique, "labels")) ||
        !carries(pclq->annotations, jgetc(clique, "annotations")))
        return false;
    struct strbuf want = STRBUF_INIT((size_t)64 << 20), have = STRBUF_INIT((size_t)64 << 20);
    add_own_spec(&want, jpath(clique, "spec.podSpec"));
    add_own_spec(&have, jgetc(obj_spec(pclq), "podSpec"));
    bool same = str_eq(strbuf_str(&want), strbuf_str(&have));
    strbuf_done(&want);
    strbuf_done(&have);
    return same;
}
