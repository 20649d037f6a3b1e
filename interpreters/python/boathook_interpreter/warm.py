"""Runs before the first picture is taken, of a small hook and with a host that answers from memory. What Python makes
at first use, code that fits its arguments and caches of types, is in the picture then, and no run makes it again.

Leaves nothing behind that a script could see.
"""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from boathook import crd, hook
from wit_world.imports import kube, source, types

from . import contexts, failure, hot, program

#: Code is made to fit after a few calls.
_RUNS = 40

_NAME = "boathook_warm"
_HOOK = b"""
import boathook
from boathook import Context, kube

boathook.configure({
    "kubernetes": [{"name": "pods", "apiVersion": "v1", "kind": "Pod"}],
    "permissions": {"kubernetes": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["*"]}]},
})


@boathook.on_run
def run(ctx: Context) -> None:
    for event in ctx.events("pods"):
        names = [container["name"] for container in event.object["spec"]["containers"]]
        made = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"namespace": event.target.namespace, "name": event.target.name, "labels": {"a": "b"}},
            "data": {"names": " ".join(names)},
        }
        kube.apply(made)
        kube.create(made)
"""
_OBJECT = json.dumps({
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "one", "namespace": "default", "labels": {"app": "one"}, "annotations": {}},
    "spec": {"containers": [{"name": "main", "image": "one:1", "env": [{"name": "A", "value": "1"}]}] * 3},
    "status": {"ready": True, "restarts": 0, "load": 0.5, "reason": None},
})


def up() -> None:
    """To be called once, when all else is there."""
    with _played():
        # The compiled form, then the runs that begin with it.
        compiled = program.compile_all()
        _forget()
        source.compiled = lambda: compiled
        hot.gather(_run)
        for _ in range(_RUNS):
            _forget()
            _run()
        _forget()


def _run() -> None:
    target = types.ObjectRef("v1", "Pod", "default", "one")
    # As the host's numbers become values.
    change = types.Change(types.Change.MODIFIED.value)
    event = types.WatchEvent(change, target, "1", "2", _OBJECT, None, None, None)
    context = types.BindingContext("pods", types.Trigger_Event(event), [])
    with failure.told():
        program.load()
        hook.run(contexts.context_(types.RunInfo("run", "warm", 1, False), [context]))


def _forget() -> None:
    sys.modules.pop(_NAME, None)
    program.forget()
    hook.reset()
    crd.reset()


@contextmanager
def _played() -> Iterator[None]:
    """The host's functions, played."""
    played: list[tuple[Any, str, Any]] = [
        (source, "entry", lambda: f"{_NAME}.py"),
        (source, "read", lambda path: _HOOK if path == f"{_NAME}.py" else None),
        (source, "compiled", lambda: None),
        (kube, "write", lambda operation: _OBJECT),
    ]
    before = [(module, name, getattr(module, name)) for module, name, _ in played]
    for module, name, function in played:
        setattr(module, name, function)
    try:
        yield
    finally:
        for module, name, function in before:
            setattr(module, name, function)
