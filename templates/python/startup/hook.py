# Makes sure, whenever the operator starts, that there is a namespace `shared`.
#
# It never alters one that is there.

import boathook
from boathook import kube, log

# What wakes the hook, and what it may do. The number orders the hooks of one operator.
boathook.configure(
    {
        "onStartup": 10,
        "permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["namespaces"], "verbs": ["create"]}]},
    }
)


@boathook.on_startup
def started() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shared"}}
    created = kube.create(namespace, if_exists="keep")
    log.info(f"namespace shared {'is there' if created is None else 'created'}")
