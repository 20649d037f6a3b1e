"""A custom resource, and the objects that it becomes."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Literal

from .context import RunInfo
from .errors import Permanent
from .kube import Object, ObjectRef

__all__ = ["Child", "Condition", "Desired", "Finalized", "Parent", "ReconcileEvent", "Related"]


class Child:
    """A child as the cluster has it. ``object`` is parsed when you use it."""

    __slots__ = ("_object", "_raw", "target")

    def __init__(self, target: ObjectRef, raw: str) -> None:
        #: The child's name in the cluster.
        self.target = target
        self._raw = raw
        self._object: Object | None = None

    @property
    def object(self) -> Object:
        """The object, without ``metadata.managedFields``."""
        if self._object is None:
            parsed: Object = json.loads(self._raw)
            self._object = parsed
        return self._object


class Related:
    """An object that the parent refers to. ``object`` is parsed when you use it."""

    __slots__ = ("_object", "_raw", "name")

    def __init__(self, name: str, raw: str) -> None:
        #: The name of the entry in the document's ``related``.
        self.name = name
        self._raw = raw
        self._object: Object | None = None

    @property
    def object(self) -> Object:
        """The object, without ``metadata.managedFields``."""
        if self._object is None:
            parsed: Object = json.loads(self._raw)
            self._object = parsed
        return self._object


@dataclass(frozen=True, slots=True)
class Parent:
    """One object of a custom resource, and what the cluster has of it."""

    #: The binding's name.
    binding: str
    #: The circumstances.
    info: RunInfo
    #: The object, without ``metadata.managedFields``.
    object: Object
    #: All children that exist, in the order of the document's ``owns``, then by namespace and name.
    children: Sequence[Child] = ()
    #: The snapshots that this run may open.
    snapshots: Sequence[str] = ()
    #: The objects that exist of those that the object refers to, in the order of the document's ``related``.
    related: Sequence[Related] = ()

    @property
    def name(self) -> str:
        """``metadata.name``."""
        return str(self.object["metadata"]["name"])

    @property
    def namespace(self) -> str | None:
        """``None`` for cluster-scoped objects."""
        namespace: str | None = self.object["metadata"].get("namespace")
        return namespace

    @property
    def spec(self) -> dict[str, Any]:
        """The object's ``spec``. It is an error if there is none."""
        spec: dict[str, Any] | None = self.object.get("spec")
        if spec is None:
            place = self.name if self.namespace is None else f"{self.namespace}/{self.name}"
            raise Permanent(f"there is no spec of {self.object.get('kind', 'object')} {place}")
        return spec

    def child(self, kind: str, name: str, namespace: str | None = None) -> Child | None:
        """The child of this kind and name, if it exists. It is in the parent's namespace, unless you name another one."""
        wanted = (kind, namespace or self.namespace, name)
        for child in self.children:
            target = child.target
            if (target.kind, target.namespace, target.name) == wanted:
                return child
        return None

    def child_status(self, kind: str, name: str, field: str, default: Any = None) -> Any:
        """A field of a child's status, as ``child_status("Deployment", "web", "readyReplicas", 0)``."""
        child = self.child(kind, name)
        status = None if child is None else child.object.get("status")
        return (status or {}).get(field, default)


@dataclass(frozen=True, slots=True)
class Condition:
    """A condition in the parent's status. The host sets ``observedGeneration`` and ``lastTransitionTime``."""

    #: One word in CamelCase. ``Ready`` counts once all children are applied.
    type: str
    #: Whether it holds.
    status: bool | Literal["True", "False", "Unknown"]
    #: One word in CamelCase.
    reason: str
    #: A sentence for people.
    message: str


@dataclass(frozen=True, slots=True)
class ReconcileEvent:
    """A Kubernetes Event about the object. It needs the permission to ``create`` and ``patch`` ``events`` of
    ``events.k8s.io``. Equal Events are counted in one."""

    #: One word in CamelCase.
    reason: str
    #: A sentence for people.
    message: str
    #: Whether it is about a possible problem.
    type: Literal["Normal", "Warning"] = "Normal"


@dataclass(frozen=True, slots=True)
class Desired:
    """What should be."""

    #: The objects that the parent needs, each with ``apiVersion``, ``kind`` and ``metadata.name``, and only with the
    #: fields that the hook decides. A child that is no longer returned is deleted.
    children: Sequence[Mapping[str, Any]] = ()
    #: No children are wanted. Without it, an answer without children is an error if children exist.
    none_wanted: bool = False
    #: Fields of the parent's status.
    status: Mapping[str, Any] | None = None
    #: Conditions in addition to those of the host.
    conditions: Sequence[Condition] = ()
    #: Reconcile again after this delay, or after so many seconds, if nothing else happens first.
    requeue_after: float | timedelta | None = None
    #: Events about the object, at most 10.
    events: Sequence[ReconcileEvent] = ()


@dataclass(frozen=True, slots=True)
class Finalized:
    """How far the work is that undoes what the hook did outside the cluster."""

    #: Everything is undone: the host deletes the children that are left, and then the object.
    done: bool
    #: The children that are needed until then. The host deletes the others.
    children: Sequence[Mapping[str, Any]] = ()
    #: Fields of the object's status.
    status: Mapping[str, Any] | None = None
    #: Conditions in addition to those of the host.
    conditions: Sequence[Condition] = ()
    #: Finalize again after this delay, or after so many seconds. Without it, that is the binding's first back-off.
    requeue_after: float | timedelta | None = None
    #: Events about the object, at most 10.
    events: Sequence[ReconcileEvent] = ()


# What follows is called by the interpreter, and by tests.


@dataclass(frozen=True, slots=True)
class Written:
    """An answer, as the host takes it."""

    #: JSON.
    children: list[str]
    #: JSON.
    status: str | None
    conditions: list[tuple[str, bool | None, str, str]]
    #: Milliseconds.
    requeue_after: int | None
    #: Whether it is a warning, the reason, and the message.
    events: list[tuple[bool, str, str]]
    none_wanted: bool = False
    done: bool = False


def written(desired: object) -> Written:
    """Checks what a function with ``@on_reconcile`` returned. An error names the field."""
    if not isinstance(desired, Desired):
        raise _invalid("it", "a Desired", desired)
    return _written(desired, none_wanted=_flag("none_wanted", desired.none_wanted))


def written_finalized(finalized: object) -> Written:
    """Checks what a function with ``@on_finalize`` returned. An error names the field."""
    if not isinstance(finalized, Finalized):
        raise _invalid("it", "a Finalized", finalized)
    return _written(finalized, done=_flag("done", finalized.done))


def _written(answer: Desired | Finalized, *, none_wanted: bool = False, done: bool = False) -> Written:
    return Written(
        [_json(f"children[{at}]", child) for at, child in enumerate(_items("children", answer.children))],
        None if answer.status is None else _json("status", answer.status),
        [_condition(f"conditions[{at}]", one) for at, one in enumerate(_items("conditions", answer.conditions))],
        None if answer.requeue_after is None else _millis("requeue_after", answer.requeue_after),
        [_event(f"events[{at}]", one) for at, one in enumerate(_items("events", answer.events))],
        none_wanted,
        done,
    )


def _flag(place: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise _invalid(place, "True or False", value)
    return value


def _invalid(place: str, must_be: str, found: object) -> Permanent:
    return Permanent(f"{place} must be {must_be}, and is {type(found).__name__}")


def _items(place: str, value: object) -> Sequence[Any]:
    if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
        return value
    raise _invalid(place, "a list", value)


def _json(place: str, value: object) -> str:
    if not isinstance(value, Mapping):
        raise _invalid(place, "a dictionary", value)
    try:
        return json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise Permanent(f"{place} cannot be written as JSON: {error}") from None


_STATUS: dict[object, bool | None] = {True: True, False: False, "True": True, "False": False, "Unknown": None}


def _condition(place: str, value: object) -> tuple[str, bool | None, str, str]:
    if not isinstance(value, Condition):
        raise _invalid(place, "a Condition", value)
    _texts(place, value, "type", "reason", "message")
    if not isinstance(value.status, (bool, str)) or value.status not in _STATUS:
        raise Permanent(f"{place}.status must be True, False or \"Unknown\", and is {value.status!r}")
    return value.type, _STATUS[value.status], value.reason, value.message


def _event(place: str, value: object) -> tuple[bool, str, str]:
    if not isinstance(value, ReconcileEvent):
        raise _invalid(place, "a ReconcileEvent", value)
    _texts(place, value, "reason", "message")
    if value.type not in ("Normal", "Warning"):
        raise Permanent(f"{place}.type must be \"Normal\" or \"Warning\", and is {value.type!r}")
    return value.type == "Warning", value.reason, value.message


def _texts(place: str, value: object, *names: str) -> None:
    for name in names:
        if not isinstance(getattr(value, name), str):
            raise _invalid(f"{place}.{name}", "a text", getattr(value, name))


def _millis(place: str, value: object) -> int:
    seconds = value.total_seconds() if isinstance(value, timedelta) else value
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise _invalid(place, "a number of seconds or a timedelta", value)
    if isinstance(seconds, float) and not math.isfinite(seconds):
        raise Permanent(f"{place} must be finite, and is {seconds}")
    if seconds < 0:
        raise Permanent(f"{place} must not be negative, and is {seconds}")
    # The host has 64 bits.
    return math.ceil(min(seconds * 1000, 2**64 - 1))
