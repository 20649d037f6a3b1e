"""Writes down the images of each Pod that comes in a ConfigMap: what a run costs in each language is measured with it.

It never reads from the cluster.
"""

import boathook
from boathook import Context, kube

boathook.configure(
    {
        "kubernetes": [{"name": "pods", "apiVersion": "v1", "kind": "Pod"}],
        "permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["patch"]}]},
    }
)


@boathook.on_run
def run(ctx: Context) -> None:
    for event in ctx.events("pods"):
        images = [container["image"] for container in event.object["spec"]["containers"]]
        kube.apply(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"namespace": event.target.namespace, "name": event.target.name},
                "data": {"images": " ".join(images)},
            }
        )
