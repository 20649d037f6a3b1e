#!/usr/bin/env python3
"""Writes src/cluster/roles.jsonl: the roles and bindings that a kube-apiserver makes for itself, one object in a line.

Usage: roles.py LIST... > ../src/cluster/roles.jsonl
where each LIST is what `kubectl get clusterroles|clusterrolebindings -o json` or `kubectl get roles,rolebindings -A -o json`
prints on a fresh server that runs the clusterrole-aggregation-controller. Roles of the controllers themselves are left out.
"""
import json
import sys

KEPT = ("name", "namespace", "labels", "annotations")

for path in sys.argv[1:]:
    for item in json.load(open(path))["items"]:
        name = item["metadata"]["name"]
        if name.startswith("system:controller:"):
            continue
        item["metadata"] = {key: item["metadata"][key] for key in KEPT if key in item["metadata"]}
        print(json.dumps(item, separators=(",", ":"), sort_keys=True))
