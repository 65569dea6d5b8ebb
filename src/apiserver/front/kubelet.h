/*
 * Requests that are passed on to the server of a node (its kubelet): logs, exec, attach,
 * port-forward, and everything below nodes/NAME/proxy; and to pods, below pods/NAME/proxy.
 *
 * The kubelet is at an IP address of the Node's status.addresses and the port of its
 * daemonEndpoints. We show it a client certificate; its own is checked when our authority signed
 * it, and from then on nothing else is accepted of that node while this process lives. A kubelet
 * that signs its certificate itself is believed, as kube-apiserver believes it unless told
 * otherwise.
 *
 * Buffers are bounded on both sides: who has HIGH_WATER bytes waiting for one side stops reading
 * the other.
 */
#ifndef APISERVER_FRONT_KUBELET_H
#define APISERVER_FRONT_KUBELET_H

#include "apiserver/front/front.h"

struct call;
struct kubelets;

struct kubelets *kubelets_new(struct loop *l);
void kubelets_free(struct kubelets *k);
/* What we show them, and what we check theirs with. */
int kubelets_set(struct kubelets *k, str ca_pem, str cert_pem, str key_pem, struct err *err);

enum kubelet_reply {
    KUBELET_TEXT, /* 200, or an error that becomes a Status */
    KUBELET_UPGRADE,
    KUBELET_AS_IT_IS,
};

/* Passes the call on; target: path and query there. lasts: the answer may begin any time. */
void kubelet_pass(struct call *c, const struct obj *node, str target, enum kubelet_reply reply,
                  bool lasts);
/* Passes the call on to a port of the pod itself, over HTTP or HTTPS, which shows and checks no
 * certificate. Its address is what its node says: never one of this machine's own loopback. */
void pod_pass(struct call *c, const struct obj *pod, int port, bool tls, str target);
/* The peer of the call is gone. */
void kubelet_stop(struct call *c);

#endif
