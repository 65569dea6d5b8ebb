/*
 * What a pod's spec must be where no table can say it: amounts, names that must differ, references
 * inside the spec that must lead somewhere, numbers of ports. For pods, for templates of workloads
 * and for those of PodCliqueSets; in kube-apiserver's words. Pure; errors are collected. base is
 * the path of the spec.
 */
#ifndef KUBE_POD_RULES_H
#define KUBE_POD_RULES_H

#include "kube/status.h"
#include "json/view.h"

/* Names, images and amounts of containers. */
void pod_rules_containers(struct field_errors *e, jval spec, const char *base);
/* What only another operating system has than the one that the pod is for (pod_os.c). */
void pod_rules_os(struct field_errors *e, jval spec, const char *base);
/* Volumes and their mounts, ports, tolerations, affinity, operating system. */
void pod_rules_parts(struct field_errors *e, jval spec, const char *base);
/* Both, and what Grove has rules of its own for or writes itself where the pods are of a set:
 * variables, scheduling gates, host names. */
void pod_rules_all(struct field_errors *e, jval spec, const char *base);

#endif
