"""The host's functions, which the interpreter brings and tests play. For the SDK only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from .errors import KubeError
    from .http import Request, Response
    from .kube import ObjectRef, Operation, Query

Level = Literal["debug", "info", "warn", "error"]
Labels = list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a list."""

    items: list[str]
    continue_: str | None


@dataclass(frozen=True, slots=True)
class RawItem:
    """One object of a snapshot; its parts are JSON."""

    namespace: str | None
    name: str
    uid: str
    resource_version: str
    object: str | None
    filter_result: str | None


class Handle(Protocol):
    """An open snapshot."""

    def len(self) -> int: ...
    def next(self, most: int) -> Sequence[RawItem]: ...
    def get(self, namespace: str | None, name: str) -> RawItem | None: ...


class Host(Protocol):
    """What a hook can ask for. Objects are JSON; refusals of ``kube`` are raised as ``KubeError``, those of ``http`` as
    ``HttpError``, and those of values as ``LookupError``."""

    def get(self, target: ObjectRef, subresource: str | None) -> str: ...
    def list(self, query: Query, continue_: str | None) -> Page: ...
    def write(self, operation: Operation) -> str | None: ...
    def batch(self, operations: Sequence[Operation]) -> Sequence[str | None | KubeError]: ...
    def emit_event(self, regarding: ObjectRef, warning: bool, reason: str, note: str) -> None: ...
    def http(self, request: Request) -> Response: ...
    def open_snapshot(self, binding: str) -> Handle: ...
    def metric_add(self, name: str, value: float, labels: Labels, group: str | None) -> None: ...
    def metric_set(self, name: str, value: float, labels: Labels, group: str | None) -> None: ...
    def metric_observe(
        self, name: str, value: float, buckets: Sequence[float], labels: Labels, group: str | None
    ) -> None: ...
    def metric_expire(self, group: str) -> None: ...
    def log(self, level: Level, message: str, fields: Labels) -> None: ...
    def settings(self) -> str: ...
    def module_values(self) -> tuple[str, str]: ...
    def patch_values(self, operations: str, config: bool) -> None: ...


_current: Host | None = None


def use(host: Host | None) -> None:
    """Takes the host's functions from here on."""
    global _current
    _current = host


def host() -> Host:
    """The host of this run."""
    if _current is None:
        raise RuntimeError("there is no host here: a hook runs in Boathook, and in tests with boathook.testing")
    return _current
