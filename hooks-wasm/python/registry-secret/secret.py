"""The shapes of Secrets that the hook writes and reads. It makes no calls."""

from typing import Any

from boathook import Object, ObjectRef

from plan import Copied, Source

#: Name of the source and of every copy.
NAME = "registry-credentials"
#: Namespace of the source.
SOURCE = "default"
#: Marks a Secret as a copy.
COPY_LABEL = "registry-secret.boathook.dev/copy"
#: On a namespace, with `true`: no copy here.
SKIP_LABEL = "registry-secret.boathook.dev/skip"


def reference(namespace: str) -> ObjectRef:
    """The Secret with our name in a namespace."""
    return ObjectRef("v1", "Secret", NAME, namespace)


def new_copy(namespace: str, source: Source) -> Object:
    """A copy to be created: what of the source is copied, our label, and nothing else."""
    copy: Object = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": NAME, "namespace": namespace, "labels": {COPY_LABEL: "true"}},
    }
    return copy | {key: value for key, value in source.items() if value is not None}


def data_patch(resource_version: str, source: Source, copied: Copied) -> Object:
    """A merge patch that makes a copy's data the source's, if the copy is still as it was seen."""
    data: dict[str, Any] = dict.fromkeys(copied["data"] or {})
    return {"metadata": {"resourceVersion": resource_version}, "data": data | (source["data"] or {})}


def is_copy(secret: Object) -> bool:
    """Whether it is labelled as our copy."""
    labels = secret["metadata"].get("labels") or {}
    return labels.get(COPY_LABEL) == "true"
