"""The SDK's host: its calls, as those of the WIT package. What is of a wrong type is an error here, as the bindings
would end the run."""

import json
from collections.abc import Sequence
from typing import Any, cast

from boathook import _host, kube
from boathook.errors import KubeError, Reason
from boathook.http import Headers, HttpError, Request, Response
from boathook.http import Reason as HttpReason
from componentize_py_types import Err
from wit_world.imports import http
from wit_world.imports import kube as wit
from wit_world.imports import log, metrics, settings, snapshots, values
from wit_world.imports.types import ObjectRef


def connect() -> None:
    """Makes it the SDK's."""
    # The classes of the bindings have the fields of the SDK's.
    _host.use(cast(_host.Host, Native()))


class Handle:
    """An open snapshot."""

    def __init__(self, snapshot: snapshots.Snapshot) -> None:
        self._snapshot = snapshot

    def len(self) -> int:
        return self._snapshot.len()

    def next(self, most: int) -> list[snapshots.Item]:
        return self._snapshot.next(most)

    def get(self, namespace: str | None, name: str) -> snapshots.Item | None:
        return self._snapshot.get(_maybe(namespace, "namespace"), text(name, "name"))


class Native:
    """The host itself."""

    def get(self, target: kube.ObjectRef, subresource: str | None) -> str:
        target_ = _ref(target)
        try:
            return wit.get(target_, _maybe(subresource, "subresource"))
        except Err as error:
            raise _refused(error.value) from None

    def list(self, query: kube.Query, continue_: str | None) -> wit.Page:
        wanted = wit.ListQuery(
            text(query.api_version, "api_version"),
            text(query.kind, "kind"),
            _maybe(query.namespace, "namespace"),
            _maybe(query.label_selector, "label_selector"),
            _maybe(query.field_selector, "field_selector"),
            None if query.limit is None else _natural(query.limit, "limit", 2**32 - 1),
            continue_,
        )
        try:
            return wit.list(wanted)
        except Err as error:
            raise _refused(error.value) from None

    def write(self, operation: kube.Operation) -> str | None:
        wanted = _operation(operation)
        try:
            return wit.write(wanted)
        except Err as error:
            raise _refused(error.value) from None

    def batch(self, operations: Sequence[kube.Operation]) -> Sequence[str | None | KubeError]:
        answers = wit.batch([_operation(operation) for operation in operations])
        return [_refused(answer.value) if isinstance(answer, Err) else answer.value for answer in answers]

    def emit_event(self, regarding: kube.ObjectRef, warning: bool, reason: str, note: str) -> None:
        kind = wit.EventType.WARNING if warning else wit.EventType.NORMAL
        target = _ref(regarding)
        try:
            wit.emit_event(target, kind, text(reason, "reason"), text(note, "note"))
        except Err as error:
            raise _refused(error.value) from None

    def http(self, request: Request) -> Response:
        wanted = http.Request(
            text(request.method, "method"),
            text(request.url, "url"),
            [(name, _header(name, value)) for name, value in request.headers.items()],
            request.content,
            None if request.timeout is None else max(1, round(request.timeout * 1000)),
        )
        (answer,) = http.send([wanted])
        if isinstance(answer, Err):
            reason = cast(HttpReason, answer.value.reason.name.lower().replace("_", "-"))
            raise HttpError(reason, answer.value.message)
        response = answer.value
        headers = Headers([(name, value.decode("latin-1")) for name, value in response.headers])
        return Response(response.status, headers, response.body, request.url)

    def open_snapshot(self, binding: str) -> Handle:
        try:
            return Handle(snapshots.open(text(binding, "binding")))
        except Err as error:
            raise LookupError(f"snapshot {binding!r}: {error.value}") from None

    def metric_add(self, name: str, value: float, labels: _host.Labels, group: str | None) -> None:
        _reported(metrics.add, name, value, labels, group)

    def metric_set(self, name: str, value: float, labels: _host.Labels, group: str | None) -> None:
        _reported(metrics.set, name, value, labels, group)

    def metric_observe(
        self, name: str, value: float, buckets: Sequence[float], labels: _host.Labels, group: str | None
    ) -> None:
        bounds = [float(bound) for bound in buckets]
        try:
            metrics.observe(text(name, "name"), float(value), bounds, _pairs(labels), _maybe(group, "group"))
        except Err as error:
            raise ValueError(error.value) from None

    def metric_expire(self, group: str) -> None:
        try:
            metrics.expire(text(group, "group"))
        except Err as error:
            raise ValueError(error.value) from None

    def log(self, level: _host.Level, message: str, fields: _host.Labels) -> None:
        log.write(_LEVELS[level], _clean(str(message)), _pairs(fields))

    def settings(self) -> str:
        return settings.get()

    def module_values(self) -> tuple[str, str]:
        try:
            found = values.get()
        except Err as error:
            raise LookupError(error.value) from None
        return found.values, found.config

    def patch_values(self, operations: str, config: bool) -> None:
        try:
            (values.patch_config if config else values.patch)(operations)
        except Err as error:
            raise LookupError(error.value) from None


_LEVELS = {"debug": log.Level.DEBUG, "info": log.Level.INFO, "warn": log.Level.WARN, "error": log.Level.ERROR}


def _reported(report: Any, name: str, value: float, labels: _host.Labels, group: str | None) -> None:
    try:
        report(text(name, "name"), float(value), _pairs(labels), _maybe(group, "group"))
    except Err as error:
        raise ValueError(error.value) from None


def _refused(failure: wit.Failure) -> KubeError:
    reason = cast(Reason, failure.reason.name.lower().replace("_", "-"))
    status = None if failure.status is None else json.loads(failure.status)
    return KubeError(reason, failure.message, failure.code, status)


def _operation(wanted: kube.Operation) -> wit.Operation:
    match wanted:
        case kube.Create():
            part = None
            if wanted.subresource is not None:
                if wanted.target is None:
                    raise TypeError("a subresource is created of a target, and there is none")
                part = text(wanted.subresource, "subresource"), _ref(wanted.target)
            if_exists = _one_of(_IF_EXISTS, wanted.if_exists, "if_exists")
            return wit.Operation_Create(wit.CreateOp(_json(wanted.object), if_exists, part))
        case kube.Update():
            subresource = _maybe(wanted.subresource, "subresource")
            return wit.Operation_Update(wit.UpdateOp(_json(wanted.object), subresource))
        case kube.Patch():
            subresource = _maybe(wanted.subresource, "subresource")
            patch = _patch(wanted)
            return wit.Operation_Patch(wit.PatchOp(_ref(wanted.target), patch, subresource, bool(wanted.ignore_missing)))
        case kube.Delete():
            return wit.Operation_Delete(wit.DeleteOp(_ref(wanted.target), _delete_options(wanted)))
        case _:
            raise TypeError(f"an operation is Create, Update, Patch or Delete of boathook.kube, and no {_type(wanted)}")


_IF_EXISTS = {"fail": wit.IfExists.FAIL, "keep": wit.IfExists.KEEP, "replace": wit.IfExists.REPLACE}
_PROPAGATION = {
    "background": wit.Propagation.BACKGROUND,
    "foreground": wit.Propagation.FOREGROUND,
    "orphan": wit.Propagation.ORPHAN,
}


def _patch(wanted: kube.Patch) -> wit.Patch:
    match wanted.type:
        case "jq":
            return wit.Patch_Jq(text(wanted.patch, "a jq patch"))
        case "apply":
            options = wit.ApplyOptions(bool(wanted.force), _maybe(wanted.field_manager, "field_manager"))
            return wit.Patch_Apply((_json(wanted.patch), options))
        case "merge":
            return wit.Patch_Merge(_json(wanted.patch))
        case "json":
            return wit.Patch_Json(_json(wanted.patch))
        case "strategic":
            return wit.Patch_Strategic(_json(wanted.patch))
        case other:
            raise ValueError(f"a patch is json, merge, strategic, apply or jq, and not {other!r}")


def _delete_options(wanted: kube.Delete) -> wit.DeleteOptions:
    return wit.DeleteOptions(
        _one_of(_PROPAGATION, wanted.propagation, "propagation"),
        bool(wanted.ignore_missing),
        _maybe(wanted.uid, "uid"),
        _maybe(wanted.resource_version, "resource_version"),
        None if wanted.wait is None else _natural(round(wanted.wait * 1000), "wait", 2**64 - 1),
    )


def _ref(target: kube.ObjectRef) -> ObjectRef:
    if not isinstance(target, kube.ObjectRef):
        raise TypeError(f"a target is an ObjectRef, and no {_type(target)}")
    return ObjectRef(
        text(target.api_version, "api_version"),
        text(target.kind, "kind"),
        _maybe(target.namespace, "namespace"),
        text(target.name, "name"),
    )


def _json(value: object) -> str:
    if value is None:
        raise TypeError("an object or a patch is missing")
    return json.dumps(value)


def _pairs(pairs: _host.Labels) -> _host.Labels:
    return [(_clean(str(name)), _clean(str(value))) for name, value in pairs]


def text(value: object, what: str) -> str:
    """A text that can be handed over."""
    if not isinstance(value, str):
        raise TypeError(f"{what} is a text, and no {_type(value)}")
    return _clean(value)


def _header(name: str, value: object) -> bytes:
    try:
        return text(value, f"header {name}").encode("latin-1")
    except UnicodeEncodeError:
        raise HttpError("invalid", f"the value of the header {name} has characters that a header cannot have") from None


def _clean(value: str) -> str:
    """Without halves of characters, which are no UTF-8."""
    if value.isascii():
        return str(value)
    return value.encode("utf-8", "backslashreplace").decode("utf-8")


def _maybe(value: str | None, what: str) -> str | None:
    return None if value is None else text(value, what)


def _natural(value: int, what: str, most: int) -> int:
    if not isinstance(value, int) or not 0 <= value <= most:
        raise ValueError(f"{what} {value!r} is no number from 0 to {most}")
    return value


def _one_of(known: dict[str, Any], value: str, what: str) -> Any:
    if value not in known:
        raise ValueError(f"{what} {value!r}: it is one of {', '.join(known)}")
    return known[value]


def _type(value: object) -> str:
    return type(value).__name__
