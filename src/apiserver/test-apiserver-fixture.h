/*
 * What the tests of this folder share: a server over a memory store on the virtual loop, requests
 * in one line, and their answers kept for looking at. JSON is written with single quotes.
 */
#ifndef APISERVER_TEST_APISERVER_FIXTURE_H
#define APISERVER_TEST_APISERVER_FIXTURE_H

#include "apiserver/request.h"
#include "base/test.h"

struct fixture {
    struct loop *loop;
    struct store *store;
    struct apiserver *server;
    struct user user;
    struct arena arena; /* documents of requests; cleared by fixture_done */
    /* the last answer */
    bool answered;
    int code;
    struct doc *doc; /* object, Status or whatever else it was */
    struct obj *obj; /* NULL: it was no object */
    str reason, message;
    struct arena reply; /* what the lines below point to */
    struct obj **items;
    size_t n_items;
    uint64_t rv;
    str continue_token;
    int64_t remaining;
    str *warnings;
    size_t n_warnings;
};

/* Bootstrapped, and with the namespace "ns", which has its service account as "default" has. */
void fixture_init(struct fixture *f);
void fixture_done(struct fixture *f);
/* Runs until nothing is due for this long. */
void fixture_run(struct fixture *f, usec for_);
/* A document of the fixture's arena. */
struct doc *fixture_doc(struct fixture *f, const char *json);

/* Sends it, runs the loop until it is answered, returns the code. */
int send(struct fixture *f, struct api_request r);
/* Sends it and returns at once; the answer lands in f when it comes. r must live until then. */
void send_only(struct fixture *f, struct api_request *r);
void wait_answer(struct fixture *f);
int get(struct fixture *f, const struct kind *k, const char *ns, const char *name);
int create(struct fixture *f, const struct kind *k, const char *ns, const char *json);
int update(struct fixture *f, const struct kind *k, const char *ns, const char *name,
           const char *json);
int patch(struct fixture *f, const struct kind *k, const char *ns, const char *name,
          enum api_patch_type type, const char *json);
int patch_sub(struct fixture *f, const struct kind *k, const char *ns, const char *name,
              const char *subresource, enum api_patch_type type, const char *json);
int delete (struct fixture *f, const struct kind *k, const char *ns, const char *name);
int list(struct fixture *f, const struct kind *k, const char *ns, struct api_request r);
/* POST to a subresource of a pod in "ns". */
int post_sub(struct fixture *f, const char *pod, const char *subresource, const char *json);
int bind_pod(struct fixture *f, const char *pod, const char *node);
/* Writes that tables of policies name: a pod, the scale of deployment "d", a thing of example.org,
 * an autoscaler in v2. */
int act_make_pod(struct fixture *f);
int act_scale(struct fixture *f);
int act_make_thing(struct fixture *f);
int act_make_hpa(struct fixture *f);
/* In the fixture's arena. */
str text_of(struct fixture *f, const char *fmt, ...) PRINTF_LIKE(2, 3);
/* A member of the last answer, "metadata.name"; its text for anything but a string. */
str field(struct fixture *f, const char *path);
/* Names of the listed items, joined by spaces. */
str names(struct fixture *f);

#define POD(name, spec)                                                                      \
    "{'apiVersion':'v1','kind':'Pod','metadata':{'name':'" name "'},'spec':{'containers':[{" \
    "'name':'c','image':'registry.example/x:1'}]" spec "}}"
#define CONFIG_MAP(name, more)                                                      \
    "{'apiVersion':'v1','kind':'ConfigMap','metadata':{'name':'" name "'" more "}," \
    "'data':{'a':'1'}}"

/* Requests for certificates of /O=dev/CN=eve and of /O=system:masters/CN=eve, as a
 * CertificateSigningRequest has them. */
#define REQUEST_DEV                                                                              \
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIV01INENBUUF3SERFTU1Bb0dBMVVFQ2d3RFpHVj" \
    "JNUXd3Q2dZRFZRUUREQU5sZG1Vd1dUQVRCZ2NxaGtqTwpQUUlCQmdncWhrak9QUU1CQndOQ0FBUTZiRnpsRjI3SWxR" \
    "VmpzQnczN1VPdFRJZGZlRGc5ZzRoRXl4RDJoNnJOCmNXdXNDeGZUcks3MmhySTJNdXNPUUJZZEh3MXU0ejFTUDJaMH" \
    "laSEprL1l0b0FBd0NnWUlLb1pJemowRUF3SUQKU0FBd1JRSWhBTjRHeDE3ZmNnRXRHelVyaUMzU0JGRC9BU1lIbkZT" \
    "c2lhNEtsZEE1bWFrd0FpQlVpcnRhRXhsNwp6ZjRDdEx0bEdENDJud0tZZW5XOWx3d25Xd2puR1lBR25RPT0KLS0tLS" \
    "1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg=="
#define REQUEST_MASTERS                                                                          \
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIaU1JR0pBZ0VBTUNjeEZ6QVZCZ05WQkFvTURuTj" \
    "VjM1JsYlRwdFlYTjBaWEp6TVF3d0NnWURWUVFEREFObApkbVV3V1RBVEJnY3Foa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3" \
    "TkNBQVE2YkZ6bEYyN0lsUVZqc0J3MzdVT3RUSWRmCmVEZzlnNGhFeXhEMmg2ck5jV3VzQ3hmVHJLNzJockkyTXVzT1" \
    "FCWWRIdzF1NHoxU1AyWjB5WkhKay9ZdG9BQXcKQ2dZSUtvWkl6ajBFQXdJRFNBQXdSUUloQUs0Ulo4ZFdXYWVCZmts" \
    "ZnFJWSt0Z2hUQVdiNmNGQnR5YzY0dk55Qwpjc3NiQWlCY2J3RHlPQmVnR3pET1FSRlFwNVVEYVVqZ3ZRdDVVeGluK0" \
    "hBQmMvRHJwZz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="

#endif
