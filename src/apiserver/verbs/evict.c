/*
 * What a PodDisruptionBudget says to an eviction: yes, and then it is counted at once, or no with
 * kube-apiserver's 429.
 *
 * The count is a write of its own to the budget's status: one disruption less, and the pod's name
 * in disruptedPods, so that the disruption controller (budgets.c) does not count the pod as healthy
 * before it sees it go. It is judged against the newest pending version and applied before the
 * pod's deletion is, in the same turn of the loop: two evictions never share one allowance. Nobody
 * waits for its answer; the store takes both writes or none from then on.
 */
#include "apiserver/request.h"
#include "kube/pdb_conditions.h"
#include "kube/selector.h"

#define REFUSED "Cannot evict pod as it would violate the pod's disruption budget."
#define MORE_THAN_ONE                                                                          \
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not " \
    "support."
/* Evictions the disruption controller has not confirmed. */
#define DISRUPTED_MAX 2000
#define RETRY_SECONDS 10

/* ---- which budget ---- */

static bool is_ready(const struct obj *pod)
{
    return condition_is_true(jgetc(obj_status(pod), "conditions"), STR("Ready"));
}

/* It does not run, so nothing is disrupted. */
static bool is_free_to_go(const struct obj *pod)
{
    str phase = jstr(jgetc(obj_status(pod), "phase"));
    return pod->deleting || str_is(phase, "Succeeded") || str_is(phase, "Failed") ||
           str_is(phase, "Pending");
}

/* Newest versions of those that select the pod: the first, and how many there are. */
static struct obj *find_budget(struct req *q, size_t *ret_n)
{
    struct store_iter it = store_range(q->server->store, &kind_pdb, q->r->ns, STR_NONE, STR_NONE);
    struct obj *first = NULL;
    *ret_n = 0;
    for (const struct obj *o; (o = store_next(&it));) {
        struct obj *newest = store_newest(q->server->store, &kind_pdb, o->ns, o->name);
        const struct selector *s =
            newest ? label_selector_from(&q->arena, jgetc(obj_spec(newest), "selector"), NULL)
                   : NULL;
        if (!s || !label_selector_match(s, q->base->labels))
            continue;
        if ((*ret_n)++ == 0)
            first = newest;
    }
    return first;
}

/* A pod that is not ready takes nothing from a budget that is kept. */
static bool is_unhealthy_and_spare(const struct obj *pod, const struct obj *budget)
{
    jval status = obj_status(budget);
    int64_t desired = jint(jgetc(status, "desiredHealthy"), 0);
    if (is_ready(pod))
        return false;
    return str_is(jstr(jgetc(obj_spec(budget), "unhealthyPodEvictionPolicy")), "AlwaysAllow") ||
           (desired > 0 && jint(jgetc(status, "currentHealthy"), 0) >= desired);
}

/* ---- no ---- */

static void refuse(struct req *q, int retry_after, str cause)
{
    struct status *s = status_new(&q->arena, 429, "TooManyRequests", "%s", REFUSED);
    s->retry_after = retry_after;
    status_add_cause(&q->arena, s, "DisruptionBudget", cause, STR_NONE);
    req_refuse(q, s);
}

static void refuse_exhausted(struct req *q, const struct obj *budget)
{
    jval status = obj_status(budget);
    jval c = condition_find(jgetc(status, "conditions"), STR(PDB_CONDITION));
    if (str_is(jstr(jgetc(c, "reason")), "SyncFailed"))
        refuse(q, 0,
               arena_printf(&q->arena,
                            "The disruption budget %.*s does not allow evicting pods currently "
                            "because it failed sync: %.*s",
                            STR_ARG(budget->name), STR_ARG(jstr(jgetc(c, "message")))));
    else
        refuse(q, 0,
               arena_printf(&q->arena,
                            "The disruption budget %.*s needs %lld healthy pods and has %lld "
                            "currently",
                            STR_ARG(budget->name),
                            (long long)jint(jgetc(status, "desiredHealthy"), 0),
                            (long long)jint(jgetc(status, "currentHealthy"), 0)));
}

static bool check(struct req *q, const struct obj *budget)
{
    jval status = obj_status(budget);
    const char *why = NULL;
    if (jint(jgetc(status, "observedGeneration"), 0) < budget->generation) {
        refuse(q, RETRY_SECONDS,
               arena_printf(&q->arena,
                            "The disruption budget %.*s is still being processed by the server.",
                            STR_ARG(budget->name)));
        return false;
    }
    if (jint(jgetc(status, "disruptionsAllowed"), 0) < 0)
        why = "pdb disruptions allowed is negative";
    else if (jlen(jgetc(status, "disruptedPods")) > DISRUPTED_MAX)
        why = "DisruptedPods map too big - too many evictions not confirmed by PDB controller";
    if (why)
        req_refuse(q, status_forbidden(&q->arena, &kind_pdb, budget->name, str_of(why)));
    else if (jint(jgetc(status, "disruptionsAllowed"), 0) == 0)
        refuse_exhausted(q, budget);
    return !req_is_refused(q);
}

/* ---- yes ---- */

struct booking {
    struct api_request r;
    struct arena arena;
};

static void on_booked(struct api_request *r, const struct api_reply *reply)
{
    struct booking *b = container_of(r, struct booking, r);
    (void)reply;
    arena_done(&b->arena);
    free(b);
}

static struct doc *booking_patch(const struct req *q, const struct obj *budget, struct arena *a)
{
    jval status = obj_status(budget);
    int64_t left = jint(jgetc(status, "disruptionsAllowed"), 0) - 1;
    str now = time_text(a, loop_wall(q->server->loop));
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_object(&w, "status");
    jw_put_int(&w, "disruptionsAllowed", left);
    jw_put_object(&w, "disruptedPods");
    jw_key(&w, q->name);
    jw_str(&w, now);
    jw_end(&w);
    if (left == 0)
        pdb_put_conditions(&w, jgetc(status, "conditions"), "InsufficientPods", false, STR_NONE,
                           jint(jgetc(status, "observedGeneration"), 0), now);
    jw_end(&w);
    jw_end(&w);
    return doc_hold(a, jw_doc(&w));
}

static void book(const struct req *q, const struct obj *budget)
{
    struct booking *b = xnew(struct booking);
    arena_init(&b->arena);
    b->r = (struct api_request){
        .verb = API_PATCH,
        .kind = &kind_pdb,
        .ns = arena_str(&b->arena, budget->ns),
        .name = arena_str(&b->arena, budget->name),
        .subresource = STR("status"),
        .body = booking_patch(q, budget, &b->arena),
        .patch = API_PATCH_MERGE,
        .field_manager = STR("kube-apiserver"),
        .done = on_booked,
    };
    request_start(q->server, &server_user, &b->r, NULL);
}

bool evict_permit(struct req *q)
{
    size_t n;
    if (is_free_to_go(q->base))
        return true;
    struct obj *budget = find_budget(q, &n);
    if (n > 1) {
        req_refuse(q, status_internal(&q->arena, "%s", MORE_THAN_ONE));
        return false;
    }
    if (!budget || is_unhealthy_and_spare(q->base, budget))
        return true;
    if (!check(q, budget))
        return false;
    if (!q->dry_run)
        book(q, budget);
    return true;
}
