/* Whose turn it is: the queue on its own, and what users see of it over HTTP. */
#include "apiserver/front/fair.h"
#include "apiserver/front/test-front-fixture.h"

/* ---- the queue ---- */

enum { FLOWS = 5, ITEMS = 400 };

struct piece {
    struct fair_item item;
    size_t user, number;
};

struct line {
    struct fair fair;
    struct fair_flow *flows[FLOWS];
    struct piece pieces[FLOWS][ITEMS];
    size_t n[FLOWS];
    uint64_t served[FLOWS]; /* cost */
    size_t taken[FLOWS];
};

static void line_init(struct line *l)
{
    static const char *const names[FLOWS] = {"ann", "bob", "cat", "dan", "eve"};
    *l = (struct line){0};
    fair_init(&l->fair);
    for (size_t i = 0; i < FLOWS; i++)
        l->flows[i] = fair_flow_get(&l->fair, str_of(names[i]));
}

static void line_done(struct line *l)
{
    for (size_t i = 0; i < FLOWS; i++)
        fair_flow_put(&l->fair, l->flows[i]);
    fair_done(&l->fair);
}

static struct piece *line_push(struct line *l, size_t user, uint32_t cost, bool needs_seat)
{
    struct piece *p = &l->pieces[user][l->n[user]];
    *p = (struct piece){.user = user, .number = l->n[user]++};
    list_init(&p->item.link);
    p->item.flow = l->flows[user];
    p->item.cost = cost;
    p->item.needs_seat = needs_seat;
    fair_push(&l->fair, &p->item);
    return p;
}

static struct piece *line_pop(struct line *l)
{
    struct fair_item *i = fair_pop(&l->fair);
    if (!i)
        return NULL;
    struct piece *p = container_of(i, struct piece, item);
    l->served[p->user] += i->cost;
    l->taken[p->user]++;
    return p;
}

TEST(fair_one_user_is_served_in_order)
{
    static struct line l;
    line_init(&l);
    for (size_t i = 0; i < 10; i++)
        line_push(&l, 0, (uint32_t)(100 - i), false);
    for (size_t i = 0; i < 10; i++)
        CHECK_INT(line_pop(&l)->number, i);
    CHECK(!line_pop(&l));
    line_done(&l);
}

TEST(fair_a_newcomer_is_next_however_long_the_line_of_another)
{
    static struct line l;
    line_init(&l);
    for (size_t i = 0; i < 300; i++)
        line_push(&l, 0, 100, false);
    for (size_t i = 0; i < 50; i++)
        (void)line_pop(&l);
    line_push(&l, 1, 100, false);
    /* At most the piece whose turn it was anyway goes before. */
    size_t before = 0;
    while (line_pop(&l)->user != 1)
        before++;
    CHECK(before <= 1);
    while (line_pop(&l))
        ;
    line_done(&l);
}

TEST(fair_who_was_away_has_saved_nothing_up)
{
    static struct line l;
    line_init(&l);
    for (size_t i = 0; i < 200; i++)
        line_push(&l, 0, 10, false);
    for (size_t i = 0; i < 100; i++)
        (void)line_pop(&l);
    for (size_t i = 0; i < 100; i++)
        line_push(&l, 1, 10, false);
    for (size_t i = 0; i < 20; i++)
        (void)line_pop(&l);
    CHECK(l.taken[1] >= 9 && l.taken[1] <= 11);
    while (line_pop(&l))
        ;
    line_done(&l);
}

/* While two users both have work, what they were given differs by no more than one piece each. */
TEST(fair_users_with_work_get_the_same)
{
    enum { MOST = 1000 };
    struct rng *rng = test_rng();
    for (size_t n = test_cases(50); n > 0; n--) {
        static struct line l;
        line_init(&l);
        for (size_t u = 0; u < FLOWS; u++)
            for (size_t i = 0; i < ITEMS; i++)
                line_push(&l, u, 1 + (uint32_t)rng_below(rng, u % 2 ? MOST : 10), false);
        bool all_busy = true;
        while (all_busy) {
            (void)line_pop(&l);
            for (size_t u = 0; u < FLOWS; u++)
                all_busy = all_busy && l.flows[u]->n_items;
            for (size_t u = 1; u < FLOWS && all_busy; u++) {
                int64_t apart = (int64_t)l.served[u] - (int64_t)l.served[0];
                if (!CHECK(apart <= 2 * MOST && apart >= -2 * MOST))
                    all_busy = false;
            }
        }
        while (line_pop(&l))
            ;
        for (size_t u = 0; u < FLOWS; u++)
            CHECK_INT(l.taken[u], ITEMS);
        line_done(&l);
    }
}

TEST(fair_what_is_taken_back_is_not_served)
{
    struct rng *rng = test_rng();
    for (size_t n = test_cases(50); n > 0; n--) {
        static struct line l;
        static bool gone[FLOWS][ITEMS];
        memset(gone, 0, sizeof(gone));
        line_init(&l);
        size_t left = 0;
        for (int step = 0; step < 1000; step++) {
            size_t u = rng_below(rng, FLOWS);
            if (rng_chance(rng, 50) && l.n[u] < ITEMS) {
                line_push(&l, u, 1 + (uint32_t)rng_below(rng, 50), false);
                left++;
            } else if (rng_chance(rng, 30) && l.n[u]) {
                struct piece *p = &l.pieces[u][rng_below(rng, l.n[u])];
                left -= fair_is_waiting(&p->item);
                gone[u][p->number] = gone[u][p->number] || fair_is_waiting(&p->item);
                fair_remove(&l.fair, &p->item);
            } else {
                struct piece *p = line_pop(&l);
                CHECK((p != NULL) == (left > 0));
                left -= p != NULL;
                CHECK(!p || !gone[p->user][p->number]);
            }
            CHECK_INT(l.fair.n_items, left);
            CHECK_INT(fair_is_ready(&l.fair), left > 0);
        }
        while (line_pop(&l))
            ;
        line_done(&l);
    }
}

TEST(fair_heavy_work_needs_a_seat_and_others_pass)
{
    static struct line l;
    line_init(&l);
    for (size_t u = 0; u < 4; u++) {
        line_push(&l, u, 1000, true);
        line_push(&l, u, 10, false);
    }
    line_push(&l, 0, 1000, true);
    line_push(&l, 4, 10, false);
    /* Two users have seats; each goes on with what is light, and stops before the next heavy. */
    while (line_pop(&l))
        ;
    CHECK_INT(l.fair.n_seats, FAIR_SEATS);
    CHECK_INT(l.taken[0], 2);
    CHECK_INT(l.taken[1], 2);
    CHECK_INT(l.taken[2] + l.taken[3], 0);
    CHECK_INT(l.taken[4], 1);
    CHECK(!fair_is_ready(&l.fair));
    /* A seat that is given back goes to whoever waited for longest, not to the same user. */
    fair_release_seat(&l.fair, l.flows[0]);
    CHECK_INT(line_pop(&l)->user, 2);
    CHECK_INT(line_pop(&l)->user, 2);
    CHECK(!line_pop(&l));
    fair_release_seat(&l.fair, l.flows[1]);
    fair_release_seat(&l.fair, l.flows[2]);
    while (line_pop(&l))
        ;
    CHECK_INT(l.taken[0] + l.taken[3], 5);
    fair_release_seat(&l.fair, l.flows[0]);
    fair_release_seat(&l.fair, l.flows[3]);
    CHECK_INT(l.fair.n_items, 0);
    line_done(&l);
}

TEST(fair_a_user_is_forgotten_with_the_last_reference)
{
    struct fair f;
    fair_init(&f);
    struct fair_flow *a = fair_flow_get(&f, STR("ann"));
    CHECK(fair_flow_get(&f, STR("ann")) == a);
    CHECK(fair_flow_get(&f, STR("bob")) != a);
    fair_flow_put(&f, fair_flow_get(&f, STR("ann")));
    fair_flow_put(&f, a);
    CHECK_INT(f.flows.len, 2);
    fair_flow_put(&f, a);
    CHECK_INT(f.flows.len, 1);
    a = fair_flow_get(&f, STR("bob"));
    fair_flow_put(&f, a);
    fair_flow_put(&f, a);
    fair_done(&f);
}

/* ---- over HTTP ---- */

static const char *const impersonate = "impersonate-user";

/* Whoever the administrator acts as is a user like any other. */
static void be(struct web *w, const char *user)
{
    w->header = user ? impersonate : NULL;
    w->header_value = user;
}

static void let_everybody(struct web *w)
{
    REQUIRE(ask(w, "POST", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
                "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'ClusterRoleBinding',"
                "'metadata':{'name':'all'},'roleRef':{'apiGroup':'rbac.authorization.k8s.io',"
                "'kind':'ClusterRole','name':'cluster-admin'},'subjects':[{'kind':'Group',"
                "'apiGroup':'rbac.authorization.k8s.io','name':'system:authenticated'}]}") == 201);
}

#define MAPS "/api/v1/namespaces/ns/configmaps"

static void open_watch(struct web_watch *x, struct web *w)
{
    watch_open(x, w, MAPS "?watch=1&resourceVersion=0");
}

TEST(fair_a_user_may_have_so_many_watches)
{
    struct web w;
    web_init(&w);
    let_everybody(&w);
    w.front->limits.user_watches = 2;
    struct web_watch x[4];
    be(&w, "mallory");
    for (size_t i = 0; i < 3; i++) {
        open_watch(&x[i], &w);
        fixture_run(&w.f, 10 * USEC_PER_MSEC);
    }
    CHECK_INT(x[0].code, 200);
    CHECK_INT(x[1].code, 200);
    CHECK_INT(x[2].code, 429);
    /* Others are not concerned, and nor is the administrator. */
    be(&w, "alice");
    open_watch(&x[3], &w);
    fixture_run(&w.f, 2 * USEC_PER_SEC);
    CHECK_INT(x[3].code, 200);
    watch_close(&x[3]);
    be(&w, NULL);
    open_watch(&x[3], &w);
    fixture_run(&w.f, 2 * USEC_PER_SEC);
    CHECK_INT(x[3].code, 200);
    /* When one is gone there is room again. */
    watch_close(&x[0]);
    watch_close(&x[2]);
    fixture_run(&w.f, 2 * USEC_PER_SEC);
    be(&w, "mallory");
    open_watch(&x[0], &w);
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    CHECK_INT(x[0].code, 200);
    watch_close(&x[0]);
    watch_close(&x[1]);
    watch_close(&x[3]);
    web_done(&w);
}

/* A connection of that user's, and a request on it; NULL: nobody in particular. */
static void send_as(struct front_peer *p, const char *user, const char *method, const char *path)
{
    struct strbuf b = STRBUF_INIT(4096);
    strbuf_printf(&b, "%s %s HTTP/1.1\r\nHost: a\r\n", method, path);
    if (user)
        strbuf_printf(&b, "Authorization: Bearer " WEB_TOKEN "\r\n");
    if (user && strcmp(user, "admin") != 0)
        strbuf_printf(&b, "Impersonate-User: %s\r\n", user);
    strbuf_add_cstr(&b, "\r\n");
    front_peer_send(p, strbuf_str(&b));
    strbuf_done(&b);
}

static size_t count(const struct front_peer *p, const char *text)
{
    str rest = strbuf_str(&p->in);
    size_t n = 0;
    for (ptrdiff_t at; (at = str_find(rest, str_of(text))) >= 0; n++)
        rest = str_sub(rest, (size_t)at + 1, rest.len);
    return n;
}

/* It waits for a version that does not come, three seconds. */
#define SLOW MAPS "/a?resourceVersion=999999"

TEST(fair_a_user_may_have_so_many_requests)
{
    struct web w;
    struct front_peer p[4];
    web_init(&w);
    let_everybody(&w);
    w.front->limits.user_requests = 2;
    for (size_t i = 0; i < 4; i++)
        front_peer_open(&p[i], &w.pipe);
    send_as(&p[0], "mallory", "GET", SLOW);
    send_as(&p[1], "mallory", "GET", SLOW);
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    send_as(&p[2], "mallory", "GET", MAPS);
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    CHECK_INT(p[0].in.len + p[1].in.len, 0);
    /* As kube-apiserver says it: text, and when to come again. */
    CHECK_INT(count(&p[2], "HTTP/1.1 429 Too Many Requests\r\n"), 1);
    CHECK_INT(count(&p[2], "\r\nretry-after: 1\r\n"), 1);
    CHECK_INT(count(&p[2], "\r\ncontent-type: text/plain; charset=utf-8\r\n"), 1);
    CHECK_INT(count(&p[2], "\r\n\r\nToo many requests, please try again later.\n"), 1);
    send_as(&p[3], "alice", "GET", MAPS);
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    CHECK_INT(count(&p[3], "HTTP/1.1 200 OK"), 1);
    send_as(&p[3], "admin", "GET", MAPS);
    send_as(&p[3], NULL, "GET", "/healthz");
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    CHECK_INT(count(&p[3], "HTTP/1.1 200 OK"), 3);
    /* Who was refused is not heard before that time, and then is. */
    send_as(&p[2], "mallory", "GET", MAPS);
    fixture_run(&w.f, 500 * USEC_PER_MSEC);
    CHECK_INT(count(&p[2], "HTTP/1.1"), 1);
    fixture_run(&w.f, 4 * USEC_PER_SEC);
    CHECK_INT(count(&p[0], "HTTP/1.1 504"), 1);
    CHECK(count(&p[2], "HTTP/1.1") == 2);
    for (size_t i = 0; i < 4; i++)
        front_peer_close(&p[i]);
    web_done(&w);
}

TEST(fair_a_user_may_have_so_many_connections)
{
    struct web w;
    struct front_peer p[3];
    web_init(&w);
    let_everybody(&w);
    w.front->limits.user_connections = 1;
    for (size_t i = 0; i < 3; i++)
        front_peer_open(&p[i], &w.pipe);
    send_as(&p[0], "mallory", "GET", MAPS);
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    send_as(&p[1], "mallory", "GET", MAPS);
    send_as(&p[2], "alice", "GET", MAPS);
    send_as(&p[0], "mallory", "GET", MAPS);
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    CHECK_INT(count(&p[0], "HTTP/1.1 200 OK"), 2);
    CHECK_INT(count(&p[1], "HTTP/1.1 429 "), 1);
    CHECK_INT(count(&p[1], "\r\nconnection: close\r\n"), 1);
    CHECK_INT(count(&p[2], "HTTP/1.1 200 OK"), 1);
    /* One that ends makes room. */
    front_peer_close(&p[0]);
    front_peer_close(&p[1]);
    fixture_run(&w.f, 5 * USEC_PER_SEC);
    front_peer_open(&p[0], &w.pipe);
    send_as(&p[0], "mallory", "GET", MAPS);
    fixture_run(&w.f, 10 * USEC_PER_MSEC);
    CHECK_INT(count(&p[0], "HTTP/1.1 200 OK"), 1);
    front_peer_close(&p[0]);
    front_peer_close(&p[2]);
    web_done(&w);
}

TEST(fair_a_request_that_takes_too_long_is_told_so)
{
    struct web w;
    web_init(&w);
    w.front->limits.request_timeout = USEC_PER_SEC;
    CHECK_INT(ask(&w, "GET", SLOW, NULL), 504);
    check_status(&w, 504, "Timeout",
                 "Timeout: request did not complete within the allotted timeout");
    /* A watch may. */
    struct web_watch x;
    open_watch(&x, &w);
    fixture_run(&w.f, 5 * USEC_PER_SEC);
    CHECK_INT(x.code, 200);
    CHECK(!x.ended);
    watch_close(&x);
    fixture_run(&w.f, 5 * USEC_PER_SEC);
    web_done(&w);
}

static void fill(struct web *w)
{
    struct strbuf b = STRBUF_INIT(1 << 20);
    for (int i = 0; i < 40; i++) {
        strbuf_reset(&b);
        strbuf_printf(&b,
                      "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'c%d'},"
                      "'data':{'x':'",
                      i);
        for (int k = 0; k < 100000; k++)
            strbuf_add_char(&b, 'y');
        strbuf_add_cstr(&b, "'}}");
        REQUIRE(ask(w, "POST", MAPS, b.p) == 201);
    }
    strbuf_done(&b);
}

TEST(fair_above_the_limit_of_memory_who_holds_most_is_cut_off)
{
    struct web w;
    struct front_peer deaf[4], small;
    web_init(&w);
    let_everybody(&w);
    fill(&w);
    w.front->limits.memory = 5 << 18;
    front_peer_open(&small, &w.pipe);
    for (size_t i = 0; i < 4; i++) {
        front_peer_open(&deaf[i], &w.pipe);
        front_peer_listen(&deaf[i], false);
        send_as(&deaf[i], "mallory", "GET", MAPS "?watch=1");
        fixture_run(&w.f, 100 * USEC_PER_MSEC);
    }
    /* Each would leave a third of a megabyte of its beginning unread. */
    CHECK(turns_held(w.front) < (7 << 18));
    CHECK(w.front->n_watches < 4);
    /* The small request of somebody who holds nothing is answered all the same. */
    send_as(&small, "alice", "GET", MAPS "/c1");
    fixture_run(&w.f, 100 * USEC_PER_MSEC);
    CHECK_INT(count(&small, "HTTP/1.1 200 OK"), 1);
    for (size_t i = 0; i < 4; i++)
        front_peer_close(&deaf[i]);
    front_peer_close(&small);
    fixture_run(&w.f, 3 * USEC_PER_SEC);
    CHECK_INT(turns_held(w.front), 0);
    CHECK_INT(w.front->fair.flows.len, 0);
    web_done(&w);
}

/* The state a watch begins with waits where it is until its reader has caught up. */
TEST(fair_a_watch_goes_on_as_its_client_reads)
{
    struct web w;
    struct front_peer deaf;
    web_init(&w);
    let_everybody(&w);
    fill(&w);
    front_peer_open(&deaf, &w.pipe);
    front_peer_listen(&deaf, false);
    send_as(&deaf, "mallory", "GET", MAPS "?watch=1");
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(w.front->n_watches, 1);
    CHECK(turns_held(w.front) < (1 << 20));
    REQUIRE(ask(&w, "POST", MAPS, CONFIG_MAP("late", "")) == 201);
    front_peer_listen(&deaf, true);
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(count(&deaf, "{\"type\":\"ADDED\""), 41);
    CHECK_INT(count(&deaf, "\"name\":\"late\""), 1);
    front_peer_close(&deaf);
    fixture_run(&w.f, 3 * USEC_PER_SEC);
    CHECK_INT(turns_held(w.front), 0);
    web_done(&w);
}

TEST(fair_nothing_is_left_of_users_who_are_gone)
{
    struct web w;
    struct front_peer p[8];
    web_init(&w);
    let_everybody(&w);
    fill(&w);
    for (size_t i = 0; i < 8; i++) {
        front_peer_open(&p[i], &w.pipe);
        front_peer_listen(&p[i], i % 2);
        send_as(&p[i], i % 3 ? "mallory" : "alice", "GET", i % 2 ? MAPS : "/api/v1/configmaps");
        if (i > 4)
            fixture_run(&w.f, USEC_PER_MSEC);
    }
    for (size_t i = 0; i < 8; i++)
        front_peer_close(&p[i]);
    fixture_run(&w.f, USEC_PER_SEC);
    CHECK_INT(w.front->fair.flows.len, 0);
    CHECK_INT(w.front->fair.n_items, 0);
    CHECK_INT(w.front->fair.n_seats, 0);
    CHECK_INT(turns_held(w.front), 0);
    web_done(&w);
}

/* A pod of so many containers, none of which has an image. */
static void send_crowded(struct front_peer *p, const char *user, size_t containers)
{
    struct strbuf b = STRBUF_INIT(8 << 20), body = STRBUF_INIT(8 << 20);
    strbuf_add_cstr(&body, "{\"metadata\":{\"name\":\"p\"},\"spec\":{\"containers\":[");
    for (size_t i = 0; i < containers; i++)
        strbuf_printf(&body, "%s{\"name\":\"c%zu\"}", i ? "," : "", i);
    strbuf_add_cstr(&body, "]}}");
    strbuf_printf(
        &b,
        "POST /api/v1/namespaces/ns/pods HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " WEB_TOKEN
        "\r\nImpersonate-User: %s\r\nContent-Type: application/json\r\n"
        "Content-Length: %zu\r\n\r\n%.*s",
        user, body.len, STR_ARG(strbuf_str(&body)));
    front_peer_send(p, strbuf_str(&b));
    strbuf_done(&b);
    strbuf_done(&body);
}

static size_t crowded_answers(struct web *w, struct front_peer *p, usec how_long)
{
    fixture_run(&w->f, how_long);
    return count(p, "HTTP/1.1 422 ");
}

/* Few bytes may be much work: 20 kB here. Four are taken at once and four a second after that; of
 * a user nobody shares the server with, as many as fit into the share. Small ones pass. */
TEST(fair_writes_of_many_members_have_their_pace)
{
    enum { MANY = 1000, LATER = 40 };
    struct web w;
    struct front_peer p[LATER], other;
    web_init(&w);
    let_everybody(&w);
    w.pipe.capacity = 8 << 20;
    front_peer_open(&other, &w.pipe);
    for (size_t i = 0; i < LATER; i++) {
        front_peer_open(&p[i], &w.pipe);
        send_as(&other, "alice", "GET", MAPS);
        send_crowded(&p[i], "mallory", MANY);
        fixture_run(&w.f, USEC_PER_MSEC);
    }
    size_t n = 0, at_once = 0;
    for (size_t i = 0; i < LATER; i++)
        at_once += crowded_answers(&w, &p[i], 0);
    CHECK(at_once >= 4 && at_once <= 5);
    fixture_run(&w.f, 2 * USEC_PER_SEC);
    for (size_t i = 0; i < LATER; i++)
        n += crowded_answers(&w, &p[i], 0);
    CHECK_INT(n - at_once, 8);
    /* what is small does not wait for them, nor does what others send */
    struct front_peer small;
    front_peer_open(&small, &w.pipe);
    send_crowded(&small, "mallory", 10);
    CHECK_INT(crowded_answers(&w, &small, 10 * USEC_PER_MSEC), 1);
    front_peer_close(&small);
    front_peer_open(&small, &w.pipe);
    send_crowded(&small, "alice", MANY);
    CHECK_INT(crowded_answers(&w, &small, 10 * USEC_PER_MSEC), 1);
    front_peer_close(&small);
    /* those who go give back what they had asked for */
    for (size_t i = 0; i < LATER; i++)
        front_peer_close(&p[i]);
    fixture_run(&w.f, 2 * USEC_PER_SEC);
    front_peer_open(&small, &w.pipe);
    send_crowded(&small, "mallory", MANY);
    CHECK_INT(crowded_answers(&w, &small, 10 * USEC_PER_MSEC), 1);
    front_peer_close(&small);
    front_peer_close(&other);
    fixture_run(&w.f, 10 * USEC_PER_SEC);
    CHECK_INT(w.front->fair.flows.len, 0);
    web_done(&w);
}

/* A small patch to what is large counts as what it is to be applied to. */
TEST(fair_patches_of_large_objects_have_their_pace)
{
    enum { TRIES = 20, KEYS = 16000 };
    struct web w;
    struct front_peer p;
    web_init(&w);
    let_everybody(&w);
    struct strbuf body = STRBUF_INIT(1 << 20);
    strbuf_add_cstr(&body, "{'metadata':{'name':'wide'},'data':{");
    for (size_t i = 0; i < KEYS; i++)
        strbuf_printf(&body, "%s'k%zu':'v'", i ? "," : "", i);
    strbuf_add_cstr(&body, "}}");
    CHECK_INT(create(&w.f, &kind_config_map, "ns", body.p), 201);
    strbuf_done(&body);
    size_t n = 0;
    for (size_t i = 0; i < TRIES; i++) {
        static const char patch[] = "{\"data\":{\"k1\":\"x\"}}";
        front_peer_open(&p, &w.pipe);
        struct strbuf b = STRBUF_INIT(4096);
        strbuf_printf(&b,
                      "PATCH /api/v1/namespaces/ns/configmaps/wide HTTP/1.1\r\nHost: a\r\n"
                      "Authorization: Bearer " WEB_TOKEN "\r\nImpersonate-User: mallory\r\n"
                      "Content-Type: application/merge-patch+json\r\nContent-Length: %zu\r\n\r\n%s",
                      sizeof(patch) - 1, patch);
        front_peer_send(&p, strbuf_str(&b));
        strbuf_done(&b);
        fixture_run(&w.f, 10 * USEC_PER_MSEC);
        n += count(&p, "HTTP/1.1 200 ");
        front_peer_close(&p);
    }
    CHECK(n >= 4 && n < TRIES);
    web_done(&w);
}

static void send_large(struct front_peer *p, const char *user, size_t size)
{
    struct strbuf b = STRBUF_INIT(8 << 20);
    strbuf_printf(&b,
                  "POST " MAPS " HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer " WEB_TOKEN "\r\n"
                  "Impersonate-User: %s\r\nContent-Length: %zu\r\n\r\n",
                  user, size);
    for (size_t i = 0; i < size; i++)
        strbuf_add_char(&b, 'x');
    front_peer_send(p, strbuf_str(&b));
    strbuf_done(&b);
}

/* Eight megabytes at once, and then eight in each second; a new connection changes nothing. */
TEST(fair_large_bodies_have_their_pace)
{
    struct web w;
    struct front_peer p, other;
    web_init(&w);
    let_everybody(&w);
    w.pipe.capacity = 8 << 20;
    usec began = loop_now(w.f.loop);
    for (int i = 0; i < 12; i++) {
        front_peer_open(&p, &w.pipe);
        send_large(&p, "mallory", 2 << 20);
        for (int k = 0; k < 1000 && !count(&p, "HTTP/1.1 "); k++)
            fixture_run(&w.f, 10 * USEC_PER_MSEC);
        /* It is no JSON. */
        CHECK_INT(count(&p, "HTTP/1.1 400 "), 1);
        front_peer_close(&p);
    }
    usec took = loop_now(w.f.loop) - began;
    /* 24 MB, of which the first 8 and the last are free. */
    CHECK(took > 1500 * USEC_PER_MSEC && took < 3 * USEC_PER_SEC);
    front_peer_open(&p, &w.pipe);
    front_peer_open(&other, &w.pipe);
    send_large(&p, "mallory", 2 << 20);
    send_large(&other, "alice", 2 << 20);
    fixture_run(&w.f, 20 * USEC_PER_MSEC);
    CHECK_INT(count(&other, "HTTP/1.1 400 "), 1);
    CHECK_INT(p.in.len, 0);
    front_peer_close(&p);
    front_peer_close(&other);
    fixture_run(&w.f, 10 * USEC_PER_SEC);
    CHECK_INT(w.front->fair.flows.len, 0);
    web_done(&w);
}
