#!/usr/bin/env python3
"""The official Python client, where it is installed: the calls its users make.

    official.py KUBECONFIG      TAP
"""
import sys

from tap import Skip, expect, main, test

try:
    import kubernetes
except ImportError:
    kubernetes = None


def client():
    if not kubernetes:
        raise Skip("the Python package kubernetes is not installed")
    kubernetes.config.load_kube_config(sys.argv[1])
    return kubernetes.client


@test
def the_version_is_read():
    expect(int(client().VersionApi().get_code().minor) >= 32)


@test
def config_maps_are_written_and_watched():
    core = client().CoreV1Api()
    made = core.create_namespaced_config_map(
        "default", {"metadata": {"name": "py"}, "data": {"a": "1"}})
    core.patch_namespaced_config_map("py", "default", {"data": {"a": "2"}})
    watch = kubernetes.watch.Watch()
    for event in watch.stream(core.list_namespaced_config_map, "default", timeout_seconds=10,
                              resource_version=made.metadata.resource_version):
        expect(event["type"] == "MODIFIED" and event["object"].data == {"a": "2"}, event)
        watch.stop()
    listed = core.list_namespaced_config_map("default").items
    expect("py" in [o.metadata.name for o in listed])
    core.delete_namespaced_config_map("py", "default")


@test
def a_stale_write_conflicts():
    core = client().CoreV1Api()
    old = core.create_namespaced_config_map("default", {"metadata": {"name": "stale"}})
    core.patch_namespaced_config_map("stale", "default", {"data": {"a": "2"}})
    try:
        core.replace_namespaced_config_map("stale", "default", old)
        raise AssertionError("no conflict")
    except kubernetes.client.ApiException as why:
        expect(why.status == 409, why)
    core.delete_collection_namespaced_config_map("default", field_selector="metadata.name=stale")


@test
def custom_objects_are_listed():
    sets = client().CustomObjectsApi().list_namespaced_custom_object(
        "grove.io", "v1alpha1", "default", "podcliquesets")
    expect(sets["kind"] == "PodCliqueSetList" and sets["items"] == [], sets)


main()
