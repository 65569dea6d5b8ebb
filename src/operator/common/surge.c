/* See surge.h. */
#include "operator/common/surge.h"

#include "operator/common/clique.h"
#include "operator/common/update.h"

static jval of_set(const struct obj *pcs, const char *member)
{
    jval all = jpath(obj_spec(pcs), "updateStrategy.rollingUpdate");
    return jget(all, str_of(member));
}

/* "25%" of so many, rounded up; a number is itself. */
static int64_t units_of(jval v, int64_t replicas)
{
    int64_t percent;
    str text = jstr(v);
    if (jtype(v) != J_STRING)
        return MAX(jint(v, 0), 0);
    if (text.len < 2 || text.p[text.len - 1] != '%' ||
        !str_to_int(str_sub(text, 0, text.len - 1), &percent) || percent <= 0)
        return 0;
    percent = MIN(percent, 100);
    return (MIN(MAX(replicas, 0), INT32_MAX) * percent + 99) / 100;
}

int64_t surge_said(const struct obj *pcs, jval config, int64_t replicas)
{
    jval own = jpath(config, "rollingUpdate.maxSurge");
    return units_of(j_has(own) ? own : of_set(pcs, "maxSurge"), replicas);
}

int64_t surge_most(const struct obj *pcs, jval config, const struct obj *component)
{
    int64_t replicas = jint(jgetc(obj_spec(component), "replicas"), 0);
    int64_t min = jint(jgetc(obj_spec(component), "minAvailable"), 1);
    if ((component->kind == &kind_pcsg && replicas < min) ||
        update_strategy_of(pcs) != UPDATE_RECREATE)
        return 0;
    return surge_said(pcs, config, replicas);
}

usec surge_timeout(const struct obj *pcs)
{
    usec timeout;
    str text = jstr(of_set(pcs, "surgeTimeout"));
    return duration_parse_usec(text, &timeout) && timeout > 0 ? timeout : SURGE_TIMEOUT_DEFAULT;
}

static jval progress_of(const struct obj *component)
{
    return jgetc(obj_status(component), "updateProgress");
}

int64_t surge_held(const struct obj *component)
{
    if (!clique_is_updating(component))
        return 0;
    return MAX(jint(jgetc(progress_of(component), "surgedReplicas"), 0), 0);
}

bool surge_timed_out(const struct obj *component)
{
    return clique_is_updating(component) && j_has(jgetc(progress_of(component), "surgeTimedOutAt"));
}

int64_t surge_total(const struct obj *component)
{
    return MAX(jint(jgetc(obj_spec(component), "replicas"), 0), 0) + surge_held(component);
}

int64_t surge_allowance(const struct obj *pcs, jval config, const struct obj *component,
                        int64_t otherwise)
{
    jval said = jpath(config, "rollingUpdate.maxUnavailable");
    bool surges = surge_most(pcs, config, component) > 0 && !surge_timed_out(component);
    return surges ? MAX(jint(said, 0), 0) : MAX(jint(said, otherwise), 1);
}

int64_t surge_next(const struct surge_facts *f)
{
    if (f->times_out)
        return MIN(f->held, f->placed);
    if (!f->rolls)
        return f->held;
    if (f->outdated > 0) {
        int64_t wanted = f->timed_out ? f->held : MAX(f->held, f->outdated);
        return MIN(f->most, wanted);
    }
    if (f->filling || f->staying < f->desired - f->allowance)
        return MIN(f->held, f->most);
    return 0;
}

/* ---- status ---- */

bool surge_differs(const struct obj *component, const struct surge_record *r)
{
    jval old = progress_of(component);
    return jint(jgetc(old, "surgedReplicas"), 0) != r->held || r->times_out ||
           (r->begins && j_has(jgetc(old, "surgeTimedOutAt")));
}

void surge_write(const struct obj *component, const struct surge_record *r, struct jw *w)
{
    jval old = progress_of(component);
    if (r->held > 0) {
        jw_put_int(w, "surgedReplicas", r->held);
    } else if (j_has(jgetc(old, "surgedReplicas"))) {
        jw_key(w, STR("surgedReplicas"));
        jw_null(w);
    }
    if (r->times_out) {
        struct strbuf now = STRBUF_INIT(64);
        time_format_rfc3339(r->now, &now);
        jw_put_str(w, "surgeTimedOutAt", strbuf_str(&now));
        strbuf_done(&now);
    } else if (r->begins && j_has(jgetc(old, "surgeTimedOutAt"))) {
        jw_key(w, STR("surgeTimedOutAt"));
        jw_null(w);
    }
}
