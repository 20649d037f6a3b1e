"""A host in memory, for tests of a hook's functions in plain Python.

It keeps objects by their reference and notes what is written. It knows no schemas, no selectors and no jq: scenarios
(``boathook test``) play the real operator.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from . import _host
from ._host import Handle, Labels, Level, Page, RawItem
from .context import RunInfo
from .errors import KubeError
from .http import HttpError, Request, Response
from .kube import Create, Delete, Object, ObjectRef, Operation, Patch, Query, Update, ref_of
from .reconcile import Child, Parent, Related

__all__ = ["FakeHost", "parent"]


class FakeHost:
    """Objects, snapshots and settings that a hook sees, and what it wrote, logged and reported."""

    def __init__(
        self,
        objects: Sequence[Object] = (),
        snapshots: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
        settings: Mapping[str, Any] | None = None,
        http: Mapping[str, Response | HttpError] | None = None,
        values: Mapping[str, Any] | None = None,
        config_values: Mapping[str, Any] | None = None,
    ) -> None:
        """``snapshots`` has items by binding: ``name``, ``namespace``, ``object``, ``filter_result``. ``http`` has responses
        and errors by method and URL: ``GET https://api.example.com/v1/items``. Without ``values``, the hook belongs to no
        module."""
        self.objects: dict[ObjectRef, Object] = {ref_of(object): copy.deepcopy(object) for object in objects}
        #: Operations, in order.
        self.written: list[Operation] = []
        #: Level, message and fields of each line.
        self.logged: list[tuple[Level, str, dict[str, str]]] = []
        #: Kind (``add``, ``set``, ``observe``), name, labels and value of each report.
        self.metrics: list[tuple[str, str, dict[str, str], float]] = []
        #: Reference, reason and note of each Event.
        self.events: list[tuple[ObjectRef, str, str]] = []
        #: Errors that writes of these objects give.
        self.refusals: dict[ObjectRef, KubeError] = {}
        #: HTTP requests, in order.
        self.requests: list[Request] = []
        self._http = http or {}
        self._snapshots = snapshots or {}
        self._settings = settings or {}
        #: Operations on values, in order. They are not applied.
        self.patches: list[dict[str, Any]] = []
        #: Operations on the configuration, in order. They are not applied.
        self.config_patches: list[dict[str, Any]] = []
        self._values = values
        self._config_values = config_values or {}

    @contextmanager
    def here(self) -> Iterator[FakeHost]:
        """Calls of the SDK come here within."""
        _host.use(self)
        try:
            yield self
        finally:
            _host.use(None)

    def get(self, target: ObjectRef, subresource: str | None) -> str:
        return json.dumps(self._found(target))

    def list(self, query: Query, continue_: str | None) -> Page:
        of_kind = [
            object
            for ref, object in self.objects.items()
            if (ref.api_version, ref.kind) == (query.api_version, query.kind)
            and query.namespace in (None, ref.namespace)
        ]
        return Page([json.dumps(object) for object in of_kind], None)

    def write(self, operation: Operation) -> str | None:
        self.written.append(operation)
        target = ref_of(operation.object) if isinstance(operation, (Create, Update)) else operation.target
        if target in self.refusals:
            raise self.refusals[target]
        match operation:
            case Create(object=object):
                return self._create(target, object, operation.if_exists)
            case Update(object=object):
                self._found(target)
                self.objects[target] = copy.deepcopy(dict(object))
            case Patch():
                return self._patch(operation)
            case Delete():
                if self.objects.pop(target, None) is None and not operation.ignore_missing:
                    raise KubeError("not-found", f"there is no {target}", 404)
                return None
        return json.dumps(self.objects[target])

    def _create(self, target: ObjectRef, object: Mapping[str, Any], if_exists: str) -> str | None:
        if target in self.objects:
            if if_exists == "fail":
                raise KubeError("already-exists", f"{target} is there", 409)
            if if_exists == "keep":
                return None
        self.objects[target] = copy.deepcopy(dict(object))
        return json.dumps(self.objects[target])

    def _patch(self, operation: Patch) -> str | None:
        target = operation.target
        if operation.type not in ("merge", "apply") or not isinstance(operation.patch, Mapping):
            raise NotImplementedError(f"the fake host takes no patch of type {operation.type}: use a scenario")
        if operation.type == "apply":
            self.objects.setdefault(target, {})
        elif target not in self.objects and operation.ignore_missing:
            return None
        self.objects[target] = _merged(self._found(target), operation.patch)
        return json.dumps(self.objects[target])

    def batch(self, operations: Sequence[Operation]) -> Sequence[str | None | KubeError]:
        answers: list[str | None | KubeError] = []
        for operation in operations:
            try:
                answers.append(self.write(operation))
            except KubeError as error:
                answers.append(error)
        return answers

    def emit_event(self, regarding: ObjectRef, warning: bool, reason: str, note: str) -> None:
        self.events.append((regarding, reason, note))

    def http(self, request: Request) -> Response:
        self.requests.append(request)
        asked = f"{request.method} {request.url}"
        answer = self._http.get(asked)
        if answer is None:
            raise HttpError("connection", f"{asked}: the test has no answer: add one to FakeHost(http=…)")
        if isinstance(answer, HttpError):
            raise answer
        return replace(answer, url=request.url)

    def open_snapshot(self, binding: str) -> Handle:
        if binding not in self._snapshots:
            raise LookupError(f"snapshot {binding!r}: there is none in this test")
        return _Handle(self._snapshots[binding])

    def metric_add(self, name: str, value: float, labels: Labels, group: str | None) -> None:
        self.metrics.append(("add", name, dict(labels), value))

    def metric_set(self, name: str, value: float, labels: Labels, group: str | None) -> None:
        self.metrics.append(("set", name, dict(labels), value))

    def metric_observe(
        self, name: str, value: float, buckets: Sequence[float], labels: Labels, group: str | None
    ) -> None:
        self.metrics.append(("observe", name, dict(labels), value))

    def metric_expire(self, group: str) -> None:
        pass

    def log(self, level: Level, message: str, fields: Labels) -> None:
        self.logged.append((level, message, dict(fields)))

    def settings(self) -> str:
        return json.dumps(self._settings)

    def module_values(self) -> tuple[str, str]:
        if self._values is None:
            raise LookupError("the hook belongs to no module in this test: give the host values")
        return json.dumps(self._values), json.dumps(self._config_values)

    def patch_values(self, operations: str, config: bool) -> None:
        if self._values is None:
            raise LookupError("the hook belongs to no module in this test: give the host values")
        (self.config_patches if config else self.patches).extend(json.loads(operations))

    def _found(self, target: ObjectRef) -> Object:
        found = self.objects.get(target)
        if found is None:
            raise KubeError("not-found", f"there is no {target}", 404)
        return found


def parent(
    object: Mapping[str, Any],
    *children: Mapping[str, Any],
    binding: str = "reconcile",
    related: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
) -> Parent:
    """An object of a custom resource with the children that exist, and the related objects by the names of their entries,
    for a function with ``@on_reconcile`` or ``@on_finalize``."""
    there = [Child(ref_of(child), json.dumps(child)) for child in children]
    of = [Related(name, json.dumps(one)) for name, all in (related or {}).items() for one in all]
    return Parent(binding, RunInfo("test", "test"), copy.deepcopy(dict(object)), there, (), of)


class _Handle:
    def __init__(self, items: Sequence[Mapping[str, Any]]) -> None:
        self._items = sorted((_raw(item) for item in items), key=lambda raw: (raw.namespace or "", raw.name))
        self._next = 0

    def len(self) -> int:
        return len(self._items)

    def next(self, most: int) -> Sequence[RawItem]:
        page = self._items[self._next : self._next + most]
        self._next += len(page)
        return page

    def get(self, namespace: str | None, name: str) -> RawItem | None:
        return next((raw for raw in self._items if (raw.namespace, raw.name) == (namespace, name)), None)


def _raw(item: Mapping[str, Any]) -> RawItem:
    text = {key: json.dumps(item[key]) if key in item else None for key in ("object", "filter_result")}
    return RawItem(
        item.get("namespace"),
        item["name"],
        item.get("uid", item["name"]),
        item.get("resource_version", "1"),
        text["object"],
        text["filter_result"],
    )


def _merged(object: Object, patch: Mapping[str, Any]) -> Object:
    """RFC 7386."""
    merged = dict(object)
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, Mapping):
            below = merged.get(key)
            merged[key] = _merged(below if isinstance(below, dict) else {}, value)
        else:
            merged[key] = copy.deepcopy(value)
    return merged
