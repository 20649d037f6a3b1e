"""The Kubernetes API, within the hook's grants. Calls wait; what is refused is raised as ``KubeError``."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast

from ._host import host
from .errors import KubeError

__all__ = [
    "Create",
    "Delete",
    "KubeError",
    "Object",
    "ObjectRef",
    "Operation",
    "Patch",
    "Query",
    "Result",
    "Update",
    "apply",
    "batch",
    "create",
    "delete",
    "emit_event",
    "find",
    "get",
    "list",
    "merge",
    "ref_of",
    "update",
    "write",
]

#: An object as the API server gives it.
Object: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ObjectRef:
    """Names one object of the cluster."""

    api_version: str
    kind: str
    name: str
    #: ``None`` for cluster-scoped objects.
    namespace: str | None = None

    def __str__(self) -> str:
        return f"{self.kind} {self.name if self.namespace is None else f'{self.namespace}/{self.name}'}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """Which objects to list."""

    api_version: str
    kind: str
    #: ``None``: all namespaces.
    namespace: str | None = None
    #: As in ``kubectl get -l``.
    label_selector: str | None = None
    #: As in ``kubectl get --field-selector``.
    field_selector: str | None = None
    #: Objects in a page; 500 by default.
    limit: int | None = None


@dataclass(frozen=True, slots=True)
class Create:
    """Creates an object."""

    object: Mapping[str, Any]
    #: When it is there already; ``keep`` and ``replace`` are successes.
    if_exists: Literal["fail", "keep", "replace"] = "fail"
    #: Creates this subresource of ``target`` instead: ``eviction``, ``binding``, ``token``.
    subresource: str | None = None
    target: ObjectRef | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """Replaces an object; with ``metadata.resourceVersion``, only if it did not change meanwhile."""

    object: Mapping[str, Any]
    subresource: str | None = None


@dataclass(frozen=True, slots=True)
class Patch:
    """Changes an object (``apply`` also creates it)."""

    target: ObjectRef
    #: JSON Patch, JSON Merge Patch, strategic merge patch, server-side apply, a jq program.
    type: Literal["json", "merge", "strategic", "apply", "jq"]
    #: A text for ``jq``.
    patch: Mapping[str, Any] | Sequence[Mapping[str, Any]] | str
    subresource: str | None = None
    #: Success when there is no such object.
    ignore_missing: bool = False
    #: With ``apply``: take fields over from other managers.
    force: bool = False
    #: With ``apply``; the hook's own by default.
    field_manager: str | None = None


@dataclass(frozen=True, slots=True)
class Delete:
    """Deletes an object."""

    target: ObjectRef
    ignore_missing: bool = False
    propagation: Literal["background", "foreground", "orphan"] = "background"
    #: Only if the object still has it.
    uid: str | None = None
    #: Only if the object still has it.
    resource_version: str | None = None
    #: Wait so many seconds for the object to be gone.
    wait: float | None = None


#: A change of one object, for ``write`` and ``batch``.
Operation: TypeAlias = Create | Update | Patch | Delete


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one operation of a batch."""

    #: As the server answered it; ``None`` where there was nothing to write.
    object: Object | None = None
    error: KubeError | None = None


def get(target: ObjectRef, subresource: str | None = None) -> Object:
    """Reads one object, or a subresource of it. Verb ``get``."""
    return _parsed(host().get(target, subresource))


def find(target: ObjectRef) -> Object | None:
    """As ``get``; ``None`` when there is no such object."""
    try:
        return get(target)
    except KubeError as error:
        if error.reason == "not-found":
            return None
        raise


def list(query: Query) -> Iterator[Object]:
    """Objects page by page, as they are read. Verb ``list``."""
    more: str | None = None
    while True:
        page = host().list(query, more)
        for item in page.items:
            yield _parsed(item)
        more = page.continue_
        if more is None:
            return


def write(operation: Operation) -> Object | None:
    """Writes. The object as the server answered it; ``None`` where there was nothing to write."""
    answer = host().write(operation)
    return None if answer is None else _parsed(answer)


def batch(operations: Sequence[Operation]) -> Sequence[Result]:
    """Writes many: the host does them at the same time, in order where they name one object. A result for each."""
    return [
        Result(error=answer) if isinstance(answer, KubeError) else Result(None if answer is None else _parsed(answer))
        for answer in host().batch(operations)
    ]


def create(
    object: Mapping[str, Any], *, if_exists: Literal["fail", "keep", "replace"] = "fail"
) -> Object | None:
    """Creates an object; ``None`` when it was there and is kept."""
    return write(Create(object, if_exists))


def update(object: Mapping[str, Any], subresource: str | None = None) -> Object | None:
    """Replaces an object; with ``metadata.resourceVersion``, only if it did not change meanwhile."""
    return write(Update(object, subresource))


def apply(object: Mapping[str, Any], *, force: bool = False, field_manager: str | None = None) -> Object | None:
    """Server-side apply: the fields of this object are the hook's."""
    return write(Patch(ref_of(object), "apply", object, force=force, field_manager=field_manager))


def merge(target: ObjectRef, patch: Mapping[str, Any], *, ignore_missing: bool = False) -> Object | None:
    """JSON Merge Patch."""
    return write(Patch(target, "merge", patch, ignore_missing=ignore_missing))


def delete(target: ObjectRef) -> None:
    """Deletes an object; it need not be there."""
    write(Delete(target, ignore_missing=True))


def emit_event(regarding: ObjectRef, reason: str, note: str, *, warning: bool = False) -> None:
    """Creates a Kubernetes Event about an object. Verb ``create`` on ``events``."""
    host().emit_event(regarding, warning, reason, note)


def ref_of(object: Mapping[str, Any]) -> ObjectRef:
    """The reference of an object."""
    metadata = object.get("metadata") or {}
    api_version, kind, name = object.get("apiVersion"), object.get("kind"), metadata.get("name")
    if not (isinstance(api_version, str) and isinstance(kind, str) and isinstance(name, str)):
        raise TypeError("an object needs apiVersion, kind and metadata.name")
    return ObjectRef(api_version, kind, name, metadata.get("namespace"))


def _parsed(text: str) -> Object:
    return cast(Object, json.loads(text))
