"""What a run was woken by."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from ._parts import Parts
from .kube import ObjectRef
from .snapshots import Snapshot

Change = Literal["Added", "Modified", "Deleted"]


@dataclass(frozen=True, slots=True)
class RunInfo:
    """The circumstances of a run."""

    #: Unique for each run; it is in every log and audit line of the run.
    run_id: str
    #: The hook's name.
    hook: str
    #: 1 for the first try, then counting.
    attempt: int = 1
    #: Writes are checked and answered, but not kept.
    dry_run: bool = False


class Event(Parts):
    """One change of one object: ``object`` and ``filter_result`` are parsed when they are asked for."""

    __slots__ = ("_previous_filter_result", "_previous_object", "binding", "change", "resource_version", "target", "uid")

    def __init__(
        self,
        binding: str,
        change: Change,
        target: ObjectRef,
        uid: str,
        resource_version: str,
        *,
        object: str | None = None,
        filter_result: str | None = None,
        previous_filter_result: str | None = None,
        previous_object: str | None = None,
    ) -> None:
        #: The binding's name.
        self.binding = binding
        #: What happened, seen through the binding's selectors and filter.
        self.change = change
        #: The object it happened to.
        self.target = target
        #: ``metadata.uid``. An object that is deleted and created again has a different uid.
        self.uid = uid
        #: ``metadata.resourceVersion`` of the state delivered here.
        self.resource_version = resource_version
        self._previous_filter_result = previous_filter_result
        self._previous_object = previous_object
        super().__init__(str(target), object, filter_result)

    @property
    def previous_filter_result(self) -> Any:
        """What the filter gave before this change; ``None`` for ``Added``, and without a ``jqFilter``."""
        text = self._previous_filter_result
        return None if text is None else json.loads(text)

    @property
    def previous_object(self) -> dict[str, Any] | None:
        """The object before this change; only for ``Modified``, of a binding with ``previousObject``."""
        text = self._previous_object
        return None if text is None else json.loads(text)


@dataclass(frozen=True, slots=True)
class Startup:
    """The operator started."""


@dataclass(frozen=True, slots=True)
class Tick:
    """A schedule struck."""

    #: The planned time, in UTC.
    scheduled_at: datetime
    #: Ticks of this binding that were skipped since the one before.
    missed: int = 0


@dataclass(frozen=True, slots=True)
class Synchronization:
    """A binding knows all its objects for the first time: read its snapshot."""


@dataclass(frozen=True, slots=True)
class Group:
    """Bindings of this group changed: read their snapshots."""

    name: str


#: Why a run happens.
Trigger: TypeAlias = Startup | Tick | Synchronization | Group | Event


@dataclass(frozen=True, slots=True)
class BindingContext:
    """One trigger with its binding."""

    #: The name of the binding; ``onStartup`` for start-up.
    binding: str
    #: What happened.
    trigger: Trigger
    #: The snapshots that this run may open.
    snapshots: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """Why this run happens: its triggers, oldest first, at least one. It succeeds or fails for all of them."""

    #: The circumstances of the run.
    info: RunInfo
    #: What woke the hook.
    triggers: Sequence[BindingContext]

    def has(self, binding: str) -> bool:
        """Whether a trigger of this binding is among them."""
        return any(context.binding == binding for context in self.triggers)

    def synchronized(self, binding: str) -> bool:
        """Whether this binding was synchronized."""
        return any(
            context.binding == binding and isinstance(context.trigger, Synchronization) for context in self.triggers
        )

    def events(self, binding: str) -> list[Event]:
        """The events of this binding, oldest first."""
        return [
            context.trigger
            for context in self.triggers
            if context.binding == binding and isinstance(context.trigger, Event)
        ]

    def snapshot(self, binding: str) -> Snapshot:
        """Opens the snapshot of a binding."""
        return Snapshot(binding)
