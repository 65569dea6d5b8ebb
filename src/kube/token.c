/*
 * See token.h. A token is
 *
 *   base64url({"alg":"ES256","kid":...}) "." base64url(claims) "." base64url(r || s)
 *
 * with r and s as 32 bytes each, where OpenSSL speaks DER.
 *
 * A signature costs some 100 microseconds to check and the same token comes with every request of a
 * client, so the last tokens found good are remembered by their SHA-256 in a small table, one place
 * per hash: a new one simply takes the place of an old one. Only the fact that our key signed these
 * bytes is remembered; times and existence are looked at every time.
 */
#include "kube/token.h"

#include <openssl/core_names.h>
#include <openssl/ecdsa.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "base/b64.h"
#include "base/hash.h"
#include "json/write.h"

enum { TOKEN_MAX = 16 << 10, HALF = 32, SIGNATURE = 2 * HALF, DER_MAX = 128, SEEN = 256 };

struct seen {
    uint8_t digest[SHA256_SIZE];
    struct doc *claims; /* NULL: empty */
};

struct token_key {
    EVP_PKEY *key;
    struct strbuf id;     /* "kid": base64url of the SHA-256 of the public key */
    struct strbuf header; /* base64url of the first part */
    struct seen seen[SEEN];
};

DEFINE_CLEANUP(BIO *, BIO_free_all)
DEFINE_CLEANUP(EVP_PKEY *, EVP_PKEY_free)
DEFINE_CLEANUP(EVP_MD_CTX *, EVP_MD_CTX_free)
DEFINE_CLEANUP(ECDSA_SIG *, ECDSA_SIG_free)

/* ---- the key ---- */

int token_key_make(struct strbuf *ret_pem, struct err *err)
{
    CLEANUP(EVP_PKEY_free_p) EVP_PKEY *key = EVP_EC_gen("P-256");
    CLEANUP(BIO_free_all_p) BIO *bio = BIO_new(BIO_s_secmem());
    char *p = NULL;
    if (!key || !bio || PEM_write_bio_PKCS8PrivateKey(bio, key, NULL, NULL, 0, NULL, NULL) != 1)
        return err_set(err, ERR_INTERNAL, "cannot make a key for service account tokens");
    long n = BIO_get_mem_data(bio, &p);
    strbuf_init(ret_pem, 1 << 16);
    strbuf_add(ret_pem, p, (size_t)n);
    return 0;
}

static bool is_p256(const EVP_PKEY *key)
{
    char group[64] = "";
    return EVP_PKEY_get_utf8_string_param(key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group),
                                          NULL) == 1 &&
           str_is(str_of(group), "prime256v1");
}

static void name_key(struct token_key *k)
{
    unsigned char *der = NULL;
    int n = i2d_PUBKEY(k->key, &der);
    uint8_t digest[SHA256_SIZE];
    BUG_ON(n <= 0);
    hash_sha256(str_n((char *)der, (size_t)n), digest);
    OPENSSL_free(der);
    strbuf_init(&k->id, 256);
    b64_encode(str_n((char *)digest, sizeof(digest)), B64_URL | B64_NO_PAD, &k->id);
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_cstr(&w, "alg", "ES256");
    jw_put_str(&w, "kid", strbuf_str(&k->id));
    jw_end(&w);
    strbuf_init(&k->header, 1024);
    b64_encode(strbuf_str(&w.out), B64_URL | B64_NO_PAD, &k->header);
    jw_done(&w);
}

struct token_key *token_key_new(str pem, struct err *err)
{
    CLEANUP(BIO_free_all_p) BIO *bio = BIO_new_mem_buf(pem.p ? pem.p : "", (int)pem.len);
    CLEANUP(EVP_PKEY_free_p)
    EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, NULL, (void *)"") : NULL;
    if (!key || !is_p256(key)) {
        (void)err_set(err, ERR_INVALID,
                      "the key for service account tokens is not a P-256 private key in PEM");
        return NULL;
    }
    struct token_key *k = xnew(struct token_key);
    k->key = TAKE_PTR(key);
    name_key(k);
    return k;
}

void token_key_free(struct token_key *k)
{
    if (!k)
        return;
    for (size_t i = 0; i < SEEN; i++)
        doc_unref(k->seen[i].claims);
    EVP_PKEY_free(k->key);
    strbuf_done(&k->id);
    strbuf_done(&k->header);
    free(k);
}

static void put_coordinate(struct jw *w, const struct token_key *k, const char *name,
                           const char *param)
{
    BIGNUM *bn = NULL;
    unsigned char bytes[HALF];
    BUG_ON(EVP_PKEY_get_bn_param(k->key, param, &bn) != 1 || BN_bn2binpad(bn, bytes, HALF) != HALF);
    BN_free(bn);
    struct strbuf text = STRBUF_INIT(256);
    b64_encode(str_n((char *)bytes, HALF), B64_URL | B64_NO_PAD, &text);
    jw_put_str(w, name, strbuf_str(&text));
    strbuf_done(&text);
}

struct doc *token_key_set(const struct token_key *k)
{
    struct jw w;
    jw_init(&w);
    jw_object(&w);
    jw_put_array(&w, "keys");
    jw_object(&w);
    jw_put_cstr(&w, "use", "sig");
    jw_put_cstr(&w, "kty", "EC");
    jw_put_str(&w, "kid", strbuf_str(&k->id));
    jw_put_cstr(&w, "crv", "P-256");
    jw_put_cstr(&w, "alg", "ES256");
    put_coordinate(&w, k, "x", OSSL_PKEY_PARAM_EC_PUB_X);
    put_coordinate(&w, k, "y", OSSL_PKEY_PARAM_EC_PUB_Y);
    jw_end(&w);
    jw_end(&w);
    jw_end(&w);
    return jw_doc(&w);
}

/* ---- signatures ---- */

static void der_to_raw(const unsigned char *der, size_t n, unsigned char raw[SIGNATURE])
{
    CLEANUP(ECDSA_SIG_free_p) ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &der, (long)n);
    BUG_ON(!sig || BN_bn2binpad(ECDSA_SIG_get0_r(sig), raw, HALF) != HALF ||
           BN_bn2binpad(ECDSA_SIG_get0_s(sig), raw + HALF, HALF) != HALF);
}

static size_t raw_to_der(str raw, unsigned char der[DER_MAX])
{
    CLEANUP(ECDSA_SIG_free_p) ECDSA_SIG *sig = ECDSA_SIG_new();
    BIGNUM *r = BN_bin2bn((const unsigned char *)raw.p, HALF, NULL);
    BIGNUM *s = BN_bin2bn((const unsigned char *)raw.p + HALF, HALF, NULL);
    BUG_ON(!sig || !r || !s || ECDSA_SIG_set0(sig, r, s) != 1);
    unsigned char *p = der;
    int n = i2d_ECDSA_SIG(sig, &p);
    return n > 0 ? (size_t)n : 0;
}

static void sign(const struct token_key *k, str text, unsigned char raw[SIGNATURE])
{
    CLEANUP(EVP_MD_CTX_free_p) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char der[DER_MAX];
    size_t n = sizeof(der);
    BUG_ON(!ctx || EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, k->key) != 1 ||
           EVP_DigestSign(ctx, der, &n, (const unsigned char *)text.p, text.len) != 1);
    der_to_raw(der, n, raw);
}

static bool is_signed(const struct token_key *k, str text, str raw)
{
    CLEANUP(EVP_MD_CTX_free_p) EVP_MD_CTX *ctx = EVP_MD_CTX_new();
    unsigned char der[DER_MAX];
    if (raw.len != SIGNATURE)
        return false;
    size_t n = raw_to_der(raw, der);
    return ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, k->key) == 1 &&
           EVP_DigestVerify(ctx, der, n, (const unsigned char *)text.p, text.len) == 1;
}

/* ---- making ---- */

static void put_ref(struct jw *w, str key, str name, str uid)
{
    jw_key(w, key);
    jw_object(w);
    jw_put_str(w, "name", name);
    jw_put_str(w, "uid", uid);
    jw_end(w);
}

static void put_legacy(struct jw *w, const struct token_claims *c)
{
    jw_put_cstr(w, "iss", TOKEN_LEGACY_ISSUER);
    jw_put_str(w, "kubernetes.io/serviceaccount/namespace", c->ns);
    jw_put_str(w, "kubernetes.io/serviceaccount/secret.name", c->bound_name);
    jw_put_str(w, "kubernetes.io/serviceaccount/service-account.name", c->name);
    jw_put_str(w, "kubernetes.io/serviceaccount/service-account.uid", c->uid);
}

static void put_bound(struct jw *w, const struct token_claims *c, const str *audiences, size_t n)
{
    jw_put_array(w, "aud");
    for (size_t i = 0; i < n; i++)
        jw_str(w, audiences[i]);
    jw_end(w);
    jw_put_int(w, "exp", c->expires / USEC_PER_SEC);
    jw_put_int(w, "iat", c->not_before / USEC_PER_SEC);
    jw_put_cstr(w, "iss", TOKEN_ISSUER);
    jw_put_str(w, "jti", c->id);
    jw_put_object(w, "kubernetes.io");
    jw_put_str(w, "namespace", c->ns);
    if (!str_is_empty(c->bound_kind))
        put_ref(w, c->bound_kind, c->bound_name, c->bound_uid);
    put_ref(w, STR("serviceaccount"), c->name, c->uid);
    jw_end(w);
    jw_put_int(w, "nbf", c->not_before / USEC_PER_SEC);
}

static void put_claims(struct jw *w, const struct token_claims *c, const str *audiences, size_t n)
{
    jw_init(w);
    jw_object(w);
    if (c->legacy)
        put_legacy(w, c);
    else
        put_bound(w, c, audiences, n);
    jw_key(w, STR("sub"));
    jw_printf(w, "system:serviceaccount:%.*s:%.*s", STR_ARG(c->ns), STR_ARG(c->name));
    jw_end(w);
}

str token_sign(const struct token_key *k, const struct token_claims *c, const str *audiences,
               size_t n_audiences, struct arena *a)
{
    struct jw w;
    unsigned char raw[SIGNATURE];
    struct strbuf out = STRBUF_INIT(TOKEN_MAX);
    put_claims(&w, c, audiences, n_audiences);
    strbuf_add_str(&out, strbuf_str(&k->header));
    strbuf_add_char(&out, '.');
    b64_encode(strbuf_str(&w.out), B64_URL | B64_NO_PAD, &out);
    jw_done(&w);
    sign(k, strbuf_str(&out), raw);
    strbuf_add_char(&out, '.');
    b64_encode(str_n((char *)raw, sizeof(raw)), B64_URL | B64_NO_PAD, &out);
    str token = out.overflow ? STR_NONE : arena_str(a, strbuf_str(&out));
    strbuf_done(&out);
    return token;
}

/* ---- reading ---- */

/* The part before the next dot, decoded and parsed. */
static struct doc *decode_part(str part)
{
    CLEANUP(strbuf_done) struct strbuf b = STRBUF_INIT(TOKEN_MAX);
    return b64_decode(part, B64_URL | B64_NO_PAD, &b) ? doc_parse(strbuf_str(&b), NULL, NULL)
                                                      : NULL;
}

static bool header_fits(const struct token_key *k, str part)
{
    CLEANUP(doc_unref_p) struct doc *d = decode_part(part);
    if (!d)
        return false;
    jval kid = jgetc(doc_root(d), "kid");
    return str_is(jstr(jgetc(doc_root(d), "alg")), "ES256") &&
           (j_is_absent(kid) || str_eq(jstr(kid), strbuf_str(&k->id)));
}

/* A new reference, or NULL. */
static struct doc *verify(const struct token_key *k, str token)
{
    CLEANUP(strbuf_done) struct strbuf raw = STRBUF_INIT(4 * SIGNATURE);
    str rest = token, header = str_cut(&rest, '.'), payload = str_cut(&rest, '.');
    if (!rest.p || !header_fits(k, header) || !b64_decode(rest, B64_URL | B64_NO_PAD, &raw))
        return NULL;
    str text = str_n(token.p, header.len + 1 + payload.len);
    return is_signed(k, text, strbuf_str(&raw)) ? decode_part(payload) : NULL;
}

/* Borrowed. */
static struct doc *verify_once(struct token_key *k, str token)
{
    uint8_t digest[SHA256_SIZE];
    hash_sha256(token, digest);
    struct seen *s = &k->seen[digest[0] % SEEN];
    if (s->claims && memcmp(s->digest, digest, sizeof(digest)) == 0)
        return s->claims;
    struct doc *d = verify(k, token);
    if (!d)
        return NULL;
    doc_unref(s->claims);
    s->claims = d;
    memcpy(s->digest, digest, sizeof(digest));
    return d;
}

static void read_legacy(jval v, struct token_claims *ret)
{
    ret->legacy = true;
    ret->ns = jstr(jgetc(v, "kubernetes.io/serviceaccount/namespace"));
    ret->name = jstr(jgetc(v, "kubernetes.io/serviceaccount/service-account.name"));
    ret->uid = jstr(jgetc(v, "kubernetes.io/serviceaccount/service-account.uid"));
    ret->bound_kind = STR("secret");
    ret->bound_name = jstr(jgetc(v, "kubernetes.io/serviceaccount/secret.name"));
}

static usec seconds(jval v)
{
    int64_t s = jint(v, 0);
    return s < 0 || s > INT64_MAX / USEC_PER_SEC ? 0 : s * USEC_PER_SEC;
}

static void read_bound(jval v, struct token_claims *ret)
{
    static const char *const kinds[] = {"pod", "secret", "node"};
    jval about = jget(v, STR("kubernetes.io")), account = jgetc(about, "serviceaccount");
    ret->ns = jstr(jgetc(about, "namespace"));
    ret->name = jstr(jgetc(account, "name"));
    ret->uid = jstr(jgetc(account, "uid"));
    ret->id = jstr(jgetc(v, "jti"));
    ret->not_before = seconds(jgetc(v, "nbf"));
    ret->expires = seconds(jgetc(v, "exp"));
    ret->audiences = jgetc(v, "aud");
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        jval ref = jget(about, str_of(kinds[i]));
        if (!j_has(ref))
            continue;
        ret->bound_kind = str_of(kinds[i]);
        ret->bound_name = jstr(jgetc(ref, "name"));
        ret->bound_uid = jstr(jgetc(ref, "uid"));
        break;
    }
}

bool token_read(struct token_key *k, str token, struct arena *a, struct token_claims *ret)
{
    *ret = (struct token_claims){.audiences = JVAL_ABSENT};
    if (token.len > TOKEN_MAX)
        return false;
    struct doc *d = verify_once(k, token);
    if (!d)
        return false;
    jval v = doc_root(doc_hold(a, doc_ref(d)));
    str issuer = jstr(jgetc(v, "iss"));
    if (str_is(issuer, TOKEN_LEGACY_ISSUER))
        read_legacy(v, ret);
    else if (str_is(issuer, TOKEN_ISSUER))
        read_bound(v, ret);
    return !str_is_empty(ret->ns) && !str_is_empty(ret->name) && !str_is_empty(ret->uid);
}
