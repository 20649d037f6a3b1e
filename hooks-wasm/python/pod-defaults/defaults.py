"""What a Pod gets that does not say it itself. Pure, and done twice it changes nothing more.

It never overrides a field that is set.
"""

from typing import Any

from boathook import Object

#: Requests of a container that has neither a request nor a limit of a resource: a limit stands for a request.
REQUESTS = {"cpu": "50m", "memory": "64Mi"}


def fill(pod: Object, labels: dict[str, str]) -> None:
    """Fills in what is missing. `labels` are those of the Pod's namespace that Pods inherit."""
    if labels:
        own = _part(_part(pod, "metadata"), "labels")
        for key, value in labels.items():
            own.setdefault(key, value)
    spec = _part(pod, "spec")
    windows = (spec.get("os") or {}).get("name") == "windows"
    if not windows:
        _part(spec, "securityContext").setdefault("seccompProfile", {"type": "RuntimeDefault"})
    for container in [*(spec.get("initContainers") or []), *(spec.get("containers") or [])]:
        _requests(container)
        if not windows and not _is_privileged(container):
            _part(container, "securityContext").setdefault("allowPrivilegeEscalation", False)


def _requests(container: Object) -> None:
    resources = _part(container, "resources")
    for resource, quantity in REQUESTS.items():
        if resource not in (resources.get("limits") or {}):
            _part(resources, "requests").setdefault(resource, quantity)


def _is_privileged(container: Object) -> bool:
    """Such a container can't be without the right to more privileges: the API server refuses the two together."""
    context = container.get("securityContext") or {}
    added = (context.get("capabilities") or {}).get("add") or []
    return context.get("privileged") is True or any(name in ("SYS_ADMIN", "CAP_SYS_ADMIN") for name in added)


def _part(object: Object, key: str) -> dict[str, Any]:
    """A field that is an object; an empty one where there is none."""
    if object.get(key) is None:
        object[key] = {}
    part: dict[str, Any] = object[key]
    return part
