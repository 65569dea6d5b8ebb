/*
 * Pods about pods, against an oracle: little clusters and gangs whose pods say all kinds of things
 * about each other and about nodes, as objects; the oracle knows what kube-scheduler's filters say,
 * one pod after another, and tries every order and every node. The scheduler never binds what the
 * oracle would not, and never refuses what it can place.
 */
#include "sched/model/test-round.h"

enum {
    MAX_NODES = 5,
    MAX_CLASSES = 3,
    MAX_GROUPS = 3,
    MAX_NEED = 2,
    MAX_PODS = 20,
    MAX_SAID = 2,
    LABELS = 3,
    KEYS = 3,
    SEEN = 1 << 16
};
static const char *const keys[KEYS] = {"kubernetes.io/hostname", "zone", "rack"};
static const char *const effects[] = {"NoSchedule", "NoExecute", "PreferNoSchedule"};

/* Pods with all of these labels, in the domain of the key. */
struct mterm {
    int key;
    unsigned labels;
};

struct mspread {
    struct mterm term;
    int skew, min_domains;
    bool taints, ignores_affinity; /* policies: Honor, Ignore; else as by default */
    bool wish;                     /* ScheduleAnyway */
};

struct mclass {
    int cpu;
    unsigned labels;
    struct mterm apart[MAX_SAID], near[MAX_SAID];
    struct mspread spread[MAX_SAID];
    size_t n_apart, n_near, n_spread;
    unsigned ports; /* bits: 80 on all addresses, 80 on one, 81 in a sidecar */
    bool tolerates, tolerates_cordon;
    int zone;        /* wanted; -1: any */
    bool wishes_far; /* from its like */
};

struct mnode {
    int cpu, place[KEYS]; /* domain by key; -1: has no such label */
    int taint;            /* effect; -1: none */
    bool cordoned;
};

struct model {
    size_t n_nodes, n_classes, n_pods, n_groups;
    struct mnode nodes[MAX_NODES];
    struct mclass classes[MAX_CLASSES];
    struct {
        int cls, node;
    } pods[MAX_PODS]; /* on nodes */
    struct {
        int cls, need;
    } groups[MAX_GROUPS]; /* of the gang */
    int pack;             /* all in one: zone, rack of a zone, host; 0: anywhere */
    int as_one; /* they are one group of pods that differ: 1: which is packed, 2: in a set of groups
                 */
    uint64_t *seen; /* of the oracle: states that lead nowhere */
};

/* ---- the oracle ---- */

static bool matches(const struct model *m, const struct mterm *t, int cls)
{
    return (m->classes[cls].labels & t->labels) == t->labels;
}

static bool meet(const struct model *m, int key, int a, int b)
{
    return m->nodes[a].place[key] >= 0 && m->nodes[a].place[key] == m->nodes[b].place[key];
}

static bool is_wanted(const struct mclass *k, const struct mnode *n)
{
    return k->zone < 0 || n->place[1] == k->zone;
}

static bool is_tolerated(const struct mclass *k, const struct mnode *n)
{
    return (n->taint < 0 || n->taint == 2 || k->tolerates) && (!n->cordoned || k->tolerates_cordon);
}

static bool node_takes(const struct model *m, const struct mclass *k, int node)
{
    int used = 0;
    unsigned ports = 0;
    for (size_t i = 0; i < m->n_pods; i++) {
        const struct mclass *o = &m->classes[m->pods[i].cls];
        used += m->pods[i].node == node ? o->cpu : 0;
        ports |= m->pods[i].node == node ? o->ports : 0;
    }
    bool clash = (k->ports & ports) || ((k->ports & 3) && (ports & 3) && ((k->ports | ports) & 1));
    return is_wanted(k, &m->nodes[node]) && is_tolerated(k, &m->nodes[node]) && !clash &&
           (k->cpu == 0 || used + k->cpu <= m->nodes[node].cpu);
}

static bool is_apart(const struct model *m, int cls, int node)
{
    const struct mclass *k = &m->classes[cls];
    for (size_t i = 0; i < m->n_pods; i++) {
        int other = m->pods[i].cls, at = m->pods[i].node;
        const struct mclass *o = &m->classes[other];
        for (size_t x = 0; x < k->n_apart; x++) {
            if (matches(m, &k->apart[x], other) && meet(m, k->apart[x].key, node, at))
                return false;
        }
        for (size_t x = 0; x < o->n_apart; x++) {
            if (matches(m, &o->apart[x], cls) && meet(m, o->apart[x].key, node, at))
                return false;
        }
    }
    return true;
}

static bool matches_all(const struct model *m, const struct mclass *k, int cls)
{
    for (size_t i = 0; i < k->n_near; i++) {
        if (!matches(m, &k->near[i], cls))
            return false;
    }
    return true;
}

static bool has_company(const struct model *m, int cls, int node)
{
    const struct mclass *k = &m->classes[cls];
    bool all = true, any = false;
    for (size_t x = 0; x < k->n_near; x++) {
        int key = k->near[x].key;
        bool here = false;
        if (m->nodes[node].place[key] < 0)
            return false;
        for (size_t i = 0; i < m->n_pods; i++) {
            bool counts =
                matches_all(m, k, m->pods[i].cls) && m->nodes[m->pods[i].node].place[key] >= 0;
            any = any || counts;
            here = here || (counts && meet(m, key, node, m->pods[i].node));
        }
        all = all && here;
    }
    return all || (!any && matches_all(m, k, cls));
}

static bool node_counts(const struct mclass *k, const struct mspread *s, const struct mnode *n)
{
    for (size_t i = 0; i < k->n_spread; i++) {
        if (!k->spread[i].wish && n->place[k->spread[i].term.key] < 0)
            return false;
    }
    return (s->ignores_affinity || is_wanted(k, n)) && (!s->taints || is_tolerated(k, n));
}

static bool is_even(const struct model *m, int cls, const struct mspread *s, int node)
{
    const struct mclass *k = &m->classes[cls];
    int counts[MAX_NODES] = {0}, least = INT32_MAX, domains = 0, key = s->term.key;
    bool there[MAX_NODES] = {0};
    if (m->nodes[node].place[key] < 0)
        return false;
    for (size_t n = 0; n < m->n_nodes; n++) {
        if (node_counts(k, s, &m->nodes[n]))
            there[m->nodes[n].place[key]] = true;
    }
    for (size_t i = 0; i < m->n_pods; i++) {
        const struct mnode *n = &m->nodes[m->pods[i].node];
        if (node_counts(k, s, n) && matches(m, &s->term, m->pods[i].cls))
            counts[n->place[key]]++;
    }
    for (int d = 0; d < MAX_NODES; d++) {
        domains += there[d];
        least = there[d] && counts[d] < least ? counts[d] : least;
    }
    if (domains < s->min_domains || least == INT32_MAX)
        least = 0;
    return counts[m->nodes[node].place[key]] + matches(m, &s->term, cls) - least <= s->skew;
}

static bool may_go(const struct model *m, int cls, int node)
{
    const struct mclass *k = &m->classes[cls];
    if (!node_takes(m, k, node) || !is_apart(m, cls, node) || !has_company(m, cls, node))
        return false;
    for (size_t i = 0; i < k->n_spread; i++) {
        if (!k->spread[i].wish && !is_even(m, cls, &k->spread[i], node))
            return false;
    }
    return true;
}

/* One domain: all labels down to the level are there and the same. */
static bool is_packed(const struct model *m, int a, int b)
{
    const struct mnode *x = &m->nodes[a], *y = &m->nodes[b];
    if (m->pack > 0 && (x->place[1] < 0 || x->place[1] != y->place[1]))
        return false;
    if (m->pack > 1 && (x->place[2] < 0 || x->place[2] != y->place[2]))
        return false;
    return m->pack < 3 || a == b;
}

/* How many of each group go to each node; two bits each. */
typedef int places[MAX_GROUPS][MAX_NODES];

static bool was_seen(const struct model *m, uint64_t state)
{
    size_t at = (size_t)((state + 1) * UINT64_C(0x9e3779b97f4a7c15) % SEEN);
    while (m->seen[at] && m->seen[at] != state + 1)
        at = (at + 1) % SEEN;
    bool was = m->seen[at] != 0;
    m->seen[at] = state + 1;
    return was;
}

/* Some order in which all of them go somewhere, or (fixed) where they are to go. */
static bool oracle_try(struct model *m, int *left, places fixed, uint64_t state, size_t before)
{
    bool any = false;
    if (was_seen(m, state))
        return false;
    for (size_t g = 0; g < m->n_groups; g++) {
        any = any || left[g] > 0;
        for (size_t n = 0; n < m->n_nodes && left[g] > 0; n++) {
            unsigned shift = (unsigned)(g * MAX_NODES + n) * 2;
            int there = (int)(state >> shift & 3);
            int first = m->n_pods > before ? m->pods[before].node : (int)n;
            if ((fixed && there >= fixed[g][n]) || !is_packed(m, (int)n, first) ||
                !may_go(m, m->groups[g].cls, (int)n))
                continue;
            m->pods[m->n_pods].cls = m->groups[g].cls;
            m->pods[m->n_pods++].node = (int)n;
            left[g]--;
            bool found = oracle_try(m, left, fixed, state + (UINT64_C(1) << shift), before);
            left[g]++;
            m->n_pods--;
            if (found)
                return true;
        }
    }
    return !any;
}

static bool oracle_places(struct model *m, places fixed)
{
    int left[MAX_GROUPS];
    for (size_t g = 0; g < m->n_groups; g++)
        left[g] = m->groups[g].need;
    m->seen = xcalloc(SEEN, sizeof(*m->seen));
    bool found = oracle_try(m, left, fixed, 0, m->n_pods);
    free(TAKE_PTR(m->seen));
    return found;
}

/* ---- chance ---- */

static struct mterm random_term(struct rng *r)
{
    return (struct mterm){(int)rng_below(r, KEYS),
                          1u << rng_below(r, LABELS) | (rng_chance(r, 20) ? 1u : 0)};
}

static void random_class(struct rng *r, struct mclass *k)
{
    *k = (struct mclass){.cpu = (int)rng_below(r, 3), .zone = -1};
    k->labels = (unsigned)rng_below(r, 1u << LABELS);
    k->n_apart = rng_chance(r, 40) ? 1 + rng_below(r, MAX_SAID) : 0;
    k->n_near = rng_chance(r, 35) ? 1 + rng_below(r, MAX_SAID) : 0;
    k->n_spread = rng_chance(r, 45) ? 1 + rng_below(r, MAX_SAID) : 0;
    for (size_t i = 0; i < MAX_SAID; i++) {
        k->apart[i] = random_term(r);
        k->near[i] = random_term(r);
        k->spread[i] = (struct mspread){.term = random_term(r),
                                        .skew = 1 + (int)rng_below(r, 2),
                                        .min_domains = 1 + (int)rng_below(r, 4),
                                        .taints = rng_chance(r, 40),
                                        .ignores_affinity = rng_chance(r, 30),
                                        .wish = rng_chance(r, 20)};
    }
    k->ports = rng_chance(r, 25) ? 1u << rng_below(r, 3) : 0;
    k->tolerates = rng_chance(r, 50);
    k->tolerates_cordon = rng_chance(r, 30);
    k->zone = rng_chance(r, 25) ? (int)rng_below(r, 2) : -1;
    k->wishes_far = rng_chance(r, 15);
}

static void random_gang(struct rng *r, struct model *m)
{
    m->n_groups = 1 + rng_below(r, MAX_GROUPS);
    m->pack = rng_chance(r, 40) ? 1 + (int)rng_below(r, 3) : 0;
    m->as_one = m->pack ? (int)rng_below(r, 3) : 0;
    for (size_t g = 0; g < m->n_groups; g++) {
        m->groups[g].cls = (int)rng_below(r, m->n_classes);
        m->groups[g].need = 1 + (int)rng_below(r, MAX_NEED);
    }
}

static void random_model(struct rng *r, struct model *m)
{
    *m = (struct model){.n_nodes = 2 + rng_below(r, MAX_NODES - 1)};
    m->n_classes = 1 + rng_below(r, MAX_CLASSES);
    for (size_t i = 0; i < m->n_nodes; i++) {
        struct mnode *n = &m->nodes[i];
        *n = (struct mnode){.cpu = 1 + (int)rng_below(r, 5)};
        n->place[0] = (int)i;
        n->place[1] = rng_chance(r, 10) ? -1 : (int)rng_below(r, 3);
        n->place[2] = rng_chance(r, 20) ? -1 : (int)rng_below(r, 2);
        n->taint = rng_chance(r, 30) ? (int)rng_below(r, 3) : -1;
        n->cordoned = rng_chance(r, 10);
    }
    for (size_t i = 0; i < m->n_classes; i++)
        random_class(r, &m->classes[i]);
    for (size_t i = rng_below(r, 5); i > 0; i--) {
        m->pods[m->n_pods].cls = (int)rng_below(r, m->n_classes);
        m->pods[m->n_pods++].node = (int)rng_below(r, m->n_nodes);
    }
    random_gang(r, m);
}

/* ---- as objects ---- */

static void write_selector(struct strbuf *b, unsigned labels)
{
    strbuf_add_cstr(b, "labelSelector: {matchLabels: {");
    for (int i = 0; i < LABELS; i++) {
        if (labels >> i & 1)
            strbuf_printf(b, "l%d: 'y', ", i);
    }
    strbuf_add_cstr(b, "}}");
}

static void write_terms(struct strbuf *b, const char *what, const struct mterm *t, size_t n)
{
    strbuf_printf(b, "%s: {requiredDuringSchedulingIgnoredDuringExecution: [", what);
    for (size_t i = 0; i < n; i++) {
        strbuf_printf(b, "{topologyKey: %s, ", keys[t[i].key]);
        write_selector(b, t[i].labels);
        strbuf_add_cstr(b, "}, ");
    }
    strbuf_add_cstr(b, "]");
}

static void write_spreads(struct strbuf *b, const struct mclass *k)
{
    strbuf_add_cstr(b, ", topologySpreadConstraints: [");
    for (size_t i = 0; i < k->n_spread; i++) {
        const struct mspread *s = &k->spread[i];
        strbuf_printf(b, "{maxSkew: %d, topologyKey: %s, whenUnsatisfiable: %s, ", s->skew,
                      keys[s->term.key], s->wish ? "ScheduleAnyway" : "DoNotSchedule");
        if (!s->wish && s->min_domains > 1)
            strbuf_printf(b, "minDomains: %d, ", s->min_domains);
        if (s->taints)
            strbuf_add_cstr(b, "nodeTaintsPolicy: Honor, ");
        if (s->ignores_affinity)
            strbuf_add_cstr(b, "nodeAffinityPolicy: Ignore, ");
        write_selector(b, s->term.labels);
        strbuf_add_cstr(b, "}, ");
    }
    strbuf_add_cstr(b, "]");
}

static void write_containers(struct strbuf *b, const struct mclass *k)
{
    strbuf_printf(b, "containers: [{name: a, resources: {requests: {cpu: '%d'}}", k->cpu);
    if (k->ports & 3)
        strbuf_printf(b, ", ports: [{containerPort: 1, hostPort: 80%s}]",
                      k->ports & 2 ? ", hostIP: 10.0.0.1" : "");
    strbuf_add_cstr(b, "}]");
    if (k->ports & 4)
        strbuf_add_cstr(b, ", initContainers: [{name: s, restartPolicy: Always, ports: "
                           "[{containerPort: 1, hostPort: 81}]}]");
}

static void load_pod(struct test_world *t, const struct mclass *k, const char *name,
                     const char *gang, const char *node)
{
    struct strbuf b = STRBUF_INIT(100000);
    strbuf_printf(&b, "{apiVersion: v1, kind: Pod, metadata: {name: %s, labels: {", name);
    if (gang)
        strbuf_printf(&b, "grove.io/podgang: %s, ", gang);
    for (int i = 0; i < LABELS; i++) {
        if (k->labels >> i & 1)
            strbuf_printf(&b, "l%d: 'y', ", i);
    }
    strbuf_add_cstr(&b, "}}, spec: {");
    write_containers(&b, k);
    strbuf_add_cstr(&b, ", affinity: {");
    write_terms(&b, "podAntiAffinity", k->apart, k->n_apart);
    if (k->wishes_far)
        strbuf_add_cstr(&b, ", preferredDuringSchedulingIgnoredDuringExecution: [{weight: 10, "
                            "podAffinityTerm: {topologyKey: rack, labelSelector: {}}}]");
    strbuf_add_cstr(&b, "}, ");
    write_terms(&b, "podAffinity", k->near, k->n_near);
    strbuf_add_cstr(&b, "}}");
    if (k->n_spread)
        write_spreads(&b, k);
    if (k->zone >= 0)
        strbuf_printf(&b, ", nodeSelector: {zone: z%d}", k->zone);
    strbuf_printf(&b, ", tolerations: [%s%s]", k->tolerates ? "{key: k, operator: Exists}, " : "",
                  k->tolerates_cordon ? "{key: node.kubernetes.io/unschedulable, operator: Exists}"
                                      : "");
    if (node)
        strbuf_printf(&b, ", nodeName: %s}, status: {phase: Running", node);
    strbuf_add_cstr(&b, "}}");
    tw_load(t, b.p);
    strbuf_done(&b);
}

static void load_nodes(struct test_world *t, const struct model *m)
{
    tw_load(t, "{apiVersion: grove.io/v1alpha1, kind: ClusterTopologyBinding, metadata: {name: "
               "topo}, spec: {levels: [{domain: zone, key: zone}, {domain: rack, key: rack}]}}");
    for (size_t i = 0; i < m->n_nodes; i++) {
        const struct mnode *n = &m->nodes[i];
        char zone[32] = "", rack[32] = "", taint[64] = "";
        if (n->place[1] >= 0)
            (void)snprintf(zone, sizeof(zone), ", zone: z%d", n->place[1]);
        if (n->place[2] >= 0)
            (void)snprintf(rack, sizeof(rack), ", rack: r%d", n->place[2]);
        if (n->taint >= 0)
            (void)snprintf(taint, sizeof(taint), "taints: [{key: k, effect: %s}]",
                           effects[n->taint]);
        tw_loadf(t,
                 "{apiVersion: v1, kind: Node, metadata: {name: n%zu, labels: "
                 "{kubernetes.io/hostname: n%zu%s%s}}, spec: {%s%s%s}, status: {allocatable: {cpu: "
                 "'%d', pods: '110'}, conditions: [{type: Ready, status: 'True'}]}}",
                 i, i, zone, rack, taint, taint[0] && n->cordoned ? ", " : "",
                 n->cordoned ? "unschedulable: true" : "", n->cpu);
    }
}

static void load_gang(struct test_world *t, const struct model *m, const char *name)
{
    struct strbuf b = STRBUF_INIT(100000);
    strbuf_printf(&b,
                  "{apiVersion: scheduler.grove.io/v1alpha1, kind: PodGang, metadata: {name: %s, "
                  "annotations: {grove.io/topology-name: topo}}, spec: {",
                  name);
    char pack[128] = "";
    int all = 0;
    if (m->pack)
        (void)snprintf(pack, sizeof(pack), "topologyConstraint: {packConstraint: {required: %s}}, ",
                       keys[m->pack % KEYS]);
    for (size_t g = 0; g < m->n_groups; g++)
        all += m->groups[g].need;
    if (m->as_one == 2)
        strbuf_printf(&b,
                      "topologyConstraintGroupConfigs: [{name: c, podGroupNames: [%s], "
                      "topologyConstraint: {packConstraint: {required: zone}}}], ",
                      name);
    strbuf_printf(&b, "%spodgroups: [", m->as_one ? "" : pack);
    if (m->as_one)
        strbuf_printf(&b, "{name: %s, minReplicas: %d, %spodReferences: [", name, all, pack);
    for (size_t g = 0; g < m->n_groups; g++) {
        if (!m->as_one)
            strbuf_printf(&b, "{name: %s-%zu, minReplicas: %d, podReferences: [", name, g,
                          m->groups[g].need);
        for (int i = 0; i < m->groups[g].need; i++) {
            char pod[64];
            (void)snprintf(pod, sizeof(pod), "%s-%zu-%d", name, g, i);
            load_pod(t, &m->classes[m->groups[g].cls], pod, name, NULL);
            strbuf_printf(&b, "{namespace: default, name: %s}, ", pod);
        }
        if (!m->as_one)
            strbuf_add_cstr(&b, "]}, ");
    }
    strbuf_add_cstr(&b, m->as_one ? "]}]}}" : "]}}");
    tw_load(t, b.p);
    strbuf_done(&b);
}

/* ---- the comparison ---- */

/* Where the gang's pods were bound; returns how many. */
static int read_places(struct test_world *t, const struct model *m, const char *gang, places ret)
{
    int bound = 0;
    memset(ret, 0, sizeof(places));
    for (size_t g = 0; g < m->n_groups; g++) {
        for (int i = 0; i < m->groups[g].need; i++) {
            char pod[64];
            int64_t n;
            (void)snprintf(pod, sizeof(pod), "%s-%zu-%d", gang, g, i);
            str node = node_of(t, pod);
            if (str_is_empty(node) || !str_to_int(str_sub(node, 1, node.len), &n))
                continue;
            ret[g][n]++;
            bound++;
        }
    }
    return bound;
}

static void settle(struct model *m, places at)
{
    for (size_t g = 0; g < m->n_groups; g++) {
        for (size_t n = 0; n < m->n_nodes; n++) {
            for (int i = 0; i < at[g][n]; i++) {
                m->pods[m->n_pods].cls = m->groups[g].cls;
                m->pods[m->n_pods++].node = (int)n;
            }
        }
    }
}

static str reason_of(struct test_world *t, const char *gang)
{
    jval conditions = jgetc(obj_status(tw_must(t, &kind_pod_gang, gang)), "conditions");
    return jstr(jgetc(condition_find(conditions, STR("Unschedulable")), "message"));
}

static void note_terms(const char *what, const struct mterm *t, size_t n)
{
    for (size_t i = 0; i < n; i++)
        test_note("    %s %s labels %u", what, keys[t[i].key], t[i].labels);
}

/* What the case was, for whoever has to find out why. */
static void note_model(const struct model *m, places at)
{
    for (size_t i = 0; i < m->n_nodes; i++) {
        const struct mnode *n = &m->nodes[i];
        test_note("node %zu: cpu %d zone %d rack %d taint %d cordoned %d", i, n->cpu, n->place[1],
                  n->place[2], n->taint, n->cordoned);
    }
    for (size_t i = 0; i < m->n_classes; i++) {
        const struct mclass *k = &m->classes[i];
        test_note("class %zu: cpu %d labels %u ports %u tolerates %d %d zone %d", i, k->cpu,
                  k->labels, k->ports, k->tolerates, k->tolerates_cordon, k->zone);
        note_terms("apart", k->apart, k->n_apart);
        note_terms("near", k->near, k->n_near);
        for (size_t s = 0; s < k->n_spread; s++)
            test_note("    spread %s labels %u skew %d domains %d taints %d ignores %d wish %d",
                      keys[k->spread[s].term.key], k->spread[s].term.labels, k->spread[s].skew,
                      k->spread[s].min_domains, k->spread[s].taints, k->spread[s].ignores_affinity,
                      k->spread[s].wish);
    }
    test_note("gang packed %d as one %d", m->pack, m->as_one);
    for (size_t i = 0; i < m->n_pods; i++)
        test_note("pod of class %d on %d", m->pods[i].cls, m->pods[i].node);
    for (size_t g = 0; g < m->n_groups; g++) {
        test_note("group of %d of class %d:", m->groups[g].need, m->groups[g].cls);
        for (size_t n = 0; n < m->n_nodes; n++)
            test_note("    on %zu: %d", n, at[g][n]);
    }
}

TEST(gangs_whose_pods_look_at_each_other_are_placed_when_and_only_when_the_oracle_can)
{
    struct rng *rng = test_rng();
    unsigned placed = 0, refused = 0, unsure = 0;
    for (size_t n = test_cases(1000); n > 0; n--) {
        struct test_world *t = world_new();
        struct model m;
        random_model(rng, &m);
        load_nodes(t, &m);
        /* Tables that stand and learn of everything, or such as are made at the end. */
        if (rng_chance(rng, 50))
            plan_round(t);
        for (size_t i = 0; i < m.n_pods; i++) {
            char name[32], node[32];
            (void)snprintf(name, sizeof(name), "old-%zu", i);
            (void)snprintf(node, sizeof(node), "n%d", m.pods[i].node);
            load_pod(t, &m.classes[m.pods[i].cls], name, NULL, node);
        }
        for (int turn = 0; turn < 2; turn++) {
            const char *gang = turn == 0 ? "a" : "b";
            places at;
            int all = 0;
            random_gang(rng, &m);
            for (size_t g = 0; g < m.n_groups; g++)
                all += m.groups[g].need;
            load_gang(t, &m, gang);
            bool can = oracle_places(&m, NULL);
            plan_round(t);
            carry_out(t);
            int bound = read_places(t, &m, gang, at);
            CHECK(bound == 0 || bound == all);
            bool good = bound ? oracle_places(&m, at) : !can;
            bool sure = bound || str_find(reason_of(t, gang), STR("given up")) < 0;
            unsure += !sure;
            if (!CHECK(good || !sure)) {
                test_note("it says: %.*s", STR_ARG(reason_of(t, gang)));
                note_model(&m, at);
            }
            placed += bound > 0;
            refused += bound == 0;
            settle(&m, at);
            if (bound == 0)
                break;
        }
        tw_free(t);
    }
    CHECK(placed > 0 && refused > 0);
    CHECK(unsure * 50 <= placed + refused);
}
