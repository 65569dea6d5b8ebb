/* See login.h. */
#include "ui/login.h"

#include <openssl/crypto.h>

#include "base/b64.h"

void login_init(struct login *l, struct loop *loop)
{
    *l = (struct login){.loop = loop};
}

static void make_secret(struct loop *loop, char *ret)
{
    unsigned char bytes[32];
    struct strbuf text = STRBUF_INIT(256);
    loop_random(loop, bytes, sizeof(bytes));
    b64_encode(str_n((const char *)bytes, sizeof(bytes)), B64_URL | B64_NO_PAD, &text);
    BUG_ON(text.len != LOGIN_SECRET - 1);
    memcpy(ret, text.p, LOGIN_SECRET - 1);
    ret[LOGIN_SECRET - 1] = '\0';
    strbuf_done(&text);
}

/* In a time that does not tell how much of it is right. */
static bool is_secret(const char *secret, str given)
{
    return *secret && given.len == LOGIN_SECRET - 1 &&
           CRYPTO_memcmp(secret, given.p, LOGIN_SECRET - 1) == 0;
}

const char *login_token(struct login *l)
{
    char *token = l->tokens[l->next++ % LOGIN_MAX_TOKENS];
    make_secret(l->loop, token);
    return token;
}

static void end_idle(struct login *l)
{
    for (size_t i = 0; i < LOGIN_MAX_SESSIONS; i++) {
        struct login_session *s = &l->sessions[i];
        if (*s->id && s->streams == 0 && loop_now(l->loop) - s->used > LOGIN_IDLE)
            login_end(s);
    }
}

/* A place for a new one: a free one, or that of the session that nobody looks at for longest. */
static struct login_session *free_place(struct login *l)
{
    struct login_session *best = NULL;
    end_idle(l);
    for (size_t i = 0; i < LOGIN_MAX_SESSIONS; i++) {
        struct login_session *s = &l->sessions[i];
        if (!*s->id && s->streams == 0)
            return s;
        if (s->streams == 0 && (!best || s->used < best->used))
            best = s;
    }
    return best;
}

struct login_session *login_redeem(struct login *l, str token)
{
    for (size_t i = 0; i < LOGIN_MAX_TOKENS; i++) {
        if (!is_secret(l->tokens[i], token))
            continue;
        struct login_session *s = free_place(l);
        if (!s)
            return NULL;
        OPENSSL_cleanse(l->tokens[i], LOGIN_SECRET);
        *s = (struct login_session){.used = loop_now(l->loop)};
        make_secret(l->loop, s->id);
        return s;
    }
    return NULL;
}

struct login_session *login_find(struct login *l, str id)
{
    end_idle(l);
    for (size_t i = 0; i < LOGIN_MAX_SESSIONS; i++) {
        if (is_secret(l->sessions[i].id, id)) {
            l->sessions[i].used = loop_now(l->loop);
            return &l->sessions[i];
        }
    }
    return NULL;
}

void login_end(struct login_session *s)
{
    OPENSSL_cleanse(s->id, LOGIN_SECRET);
}
