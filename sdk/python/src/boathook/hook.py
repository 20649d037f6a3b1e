"""The functions of a hook: each says by its decorator what it is for.

``@on_run`` takes all triggers of a run at once. The others take one trigger each, in order; a hook has either.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, cast

from .admission import Conversion, Mutation, Review, Verdict
from .config import Config
from .context import BindingContext, Context, Event, Group, RunInfo, Startup, Synchronization, Tick
from .errors import DefinitionError, Permanent
from .kube import Object
from .reconcile import Desired, Finalized, Parent, Written, written, written_finalized
from .snapshots import Snapshot

_F = TypeVar("_F", bound=Callable[..., object])

_functions: dict[tuple[str, str], Callable[..., Any]] = {}
_config: Config | str | Callable[[], Config | str] | None = None
_info: RunInfo | None = None


def configure(config: Config | str | Callable[[], Config | str]) -> None:
    """Says what wakes the hook and what it may touch: a literal, a text in YAML or JSON, or a function that gives one."""
    global _config
    if _config is not None:
        raise DefinitionError("configure is called twice")
    _config = config


def info() -> RunInfo:
    """The circumstances of this run."""
    if _info is None:
        raise RuntimeError("there is no run here")
    return _info


def on_run(function: Callable[[Context], None]) -> Callable[[Context], None]:
    """For all triggers of a run at once."""
    return _keep("on_run", "", function)


def on_startup(function: Callable[[], None]) -> Callable[[], None]:
    """For the operator's start (``onStartup``)."""
    return _keep("on_startup", "onStartup", function)


def on_event(binding: str) -> Callable[[Callable[[Event], None]], Callable[[Event], None]]:
    """For each change of an object of a ``kubernetes`` binding."""
    return _keeping("on_event", binding)


def on_synchronization(binding: str) -> Callable[[Callable[[Snapshot], None]], Callable[[Snapshot], None]]:
    """For the objects that a ``kubernetes`` binding knows when it begins."""
    return _keeping("on_synchronization", binding)


def on_schedule(binding: str) -> Callable[[Callable[[Tick], None]], Callable[[Tick], None]]:
    """For each tick of a ``schedule`` binding."""
    return _keeping("on_schedule", binding)


def on_group(group: str) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """For changes of the bindings of a group."""
    return _keeping("on_group", group)


def on_validating(
    binding: str,
) -> Callable[[Callable[[Review], Verdict | None]], Callable[[Review], Verdict | None]]:
    """For requests of a ``kubernetesValidating`` binding. ``None`` allows."""
    return _keeping("on_validating", binding)


def on_mutating(
    binding: str,
) -> Callable[[Callable[[Review], Mutation | Verdict | None]], Callable[[Review], Mutation | Verdict | None]]:
    """For requests of a ``kubernetesMutating`` binding. ``None`` allows, and leaves the object as it is."""
    return _keeping("on_mutating", binding)


def on_conversion(
    binding: str,
) -> Callable[[Callable[[Conversion], list[Object]]], Callable[[Conversion], list[Object]]]:
    """For a ``kubernetesCustomResourceConversion`` binding: the objects in the other version, in the same order."""
    return _keeping("on_conversion", binding)


def on_reconcile(binding: str) -> Callable[[Callable[[Parent], Desired]], Callable[[Parent], Desired]]:
    """For each object of a ``reconcile`` binding: what should be for it."""
    return _keeping("on_reconcile", binding)


def on_finalize(binding: str) -> Callable[[Callable[[Parent], Finalized]], Callable[[Parent], Finalized]]:
    """For each object of a ``reconcile`` binding that is being deleted: undoes what the hook did outside the cluster. The
    host calls it until it returns ``Finalized(done=True)``."""
    return _keeping("on_finalize", binding)


def _keeping(kind: str, binding: str) -> Callable[[_F], _F]:
    # `@on_event` without its parentheses would take the function for the name.
    if not isinstance(binding, str):
        raise DefinitionError(f"@{kind} needs the name of a binding: @{kind}(\"NAME\")")
    return lambda function: _keep(kind, binding, function)


def _keep(kind: str, binding: str, function: _F) -> _F:
    if not callable(function):
        raise DefinitionError(f"@{kind} stands before a function, without parentheses")
    if inspect.iscoroutinefunction(function):
        raise DefinitionError(f"{function.__name__} is async: functions of a hook are plain, and calls of the host wait")
    if (kind, binding) in _functions:
        raise DefinitionError(f"two functions are {_shown(kind, binding)}")
    if kind not in _ANSWERS and _kinds() - _ANSWERS and (kind == "on_run") != ("on_run" in _kinds()):
        raise DefinitionError("a hook has either one @on_run or functions for single triggers, not both")
    _functions[kind, binding] = function
    return function


_ANSWERS = {"on_validating", "on_mutating", "on_conversion", "on_reconcile", "on_finalize"}


def _kinds() -> set[str]:
    return {kind for kind, _ in _functions}


def _shown(kind: str, binding: str) -> str:
    return f"@{kind}({json.dumps(binding)})" if kind not in ("on_run", "on_startup") else f"@{kind}"


# What follows is called by the interpreter, and by tests.


def reset() -> None:
    """Forgets the hook's functions and configuration, and its run: tests load one hook after the other."""
    global _config, _info
    _config = _info = None
    _functions.clear()


def document() -> str:
    """The configuration document, after a look at whether functions and bindings fit together."""
    config = _config() if callable(_config) else _config
    if config is None:
        raise DefinitionError("the hook has no configuration: call boathook.configure({...})")
    if not _functions:
        raise DefinitionError("the hook has no function: write one with @on_run or @on_event")
    # Who reads the document tells what does not fit to it.
    if isinstance(config, str):
        return config
    if problems := _misfits(config):
        raise DefinitionError("; ".join(problems))
    return json.dumps({"configVersion": "v1", **config})


def functions() -> list[tuple[str, str]]:
    """The kind and the binding of each function. The operator holds them against a document that is a text."""
    return [(kind, "" if kind == "on_startup" else binding) for kind, binding in _functions]


def answers(kind: str) -> bool:
    """Whether there is a function of this kind: ``validating``, ``mutating``, ``conversion``, ``reconcile``, ``finalize``."""
    return f"on_{kind}" in _kinds()


def run(context: Context) -> None:
    """Does the work for the triggers of a run."""
    global _info
    _info = context.info
    whole = _functions.get(("on_run", ""))
    if whole is not None:
        whole(context)
        return
    for one in context.triggers:
        _dispatch(one)


def _dispatch(context: BindingContext) -> None:
    match context.trigger:
        case Event() as event:
            _call("on_event", context.binding, event)
        case Synchronization():
            # Opened only if there is somebody to look at it.
            if ("on_synchronization", context.binding) in _functions:
                _call("on_synchronization", context.binding, Snapshot(context.binding))
        case Tick() as tick:
            _call("on_schedule", context.binding, tick)
        case Group(name):
            _call("on_group", name)
        case Startup():
            _call("on_startup", "onStartup")


def _call(kind: str, binding: str, *arguments: object) -> None:
    function = _functions.get((kind, binding))
    if function is None:
        raise Permanent(f"no function of the hook is {_shown(kind, binding)}")
    function(*arguments)


def validate(review: Review) -> Verdict:
    """Decides on a request."""
    global _info
    _info = review.info
    answer = _asked("on_validating", review.binding)(review)
    if answer is None:
        return Verdict()
    if not isinstance(answer, Verdict):
        raise TypeError(f"{_shown('on_validating', review.binding)} returned no Verdict but {type(answer).__name__}")
    return answer


def mutate(review: Review) -> Mutation:
    """Decides on a request, and changes its object."""
    global _info
    _info = review.info
    answer = _asked("on_mutating", review.binding)(review)
    if answer is None:
        return Mutation()
    if isinstance(answer, Verdict):
        return Mutation(verdict=answer)
    if not isinstance(answer, Mutation):
        raise TypeError(f"{_shown('on_mutating', review.binding)} returned no Mutation but {type(answer).__name__}")
    if answer.object is not None and answer.json_patch is not None:
        raise TypeError("a mutation is either an object or a json_patch, not both")
    return answer


def convert(conversion: Conversion) -> list[Object]:
    """Gives objects in another version."""
    objects = _asked("on_conversion", conversion.binding)(conversion)
    if not isinstance(objects, list):
        raise TypeError(f"{_shown('on_conversion', conversion.binding)} returned no list")
    return objects


def reconcile(parent: Parent) -> Written:
    """Says what should be for one object."""
    return _about("on_reconcile", parent, written)


def finalize(parent: Parent) -> Written:
    """Says how far the end of one object is."""
    return _about("on_finalize", parent, written_finalized)


def _about(kind: str, parent: Parent, check: Callable[[object], Written]) -> Written:
    global _info
    _info = parent.info
    answer = _asked(kind, parent.binding)(parent)
    try:
        return check(answer)
    except Permanent as error:
        raise Permanent(f"{_shown(kind, parent.binding)} returned an invalid answer: {error}") from None


def _asked(kind: str, binding: str) -> Callable[..., Any]:
    function = _functions.get((kind, binding))
    if function is None:
        raise Permanent(f"no function of the hook is {_shown(kind, binding)}")
    return function


def _misfits(config: Config) -> list[str]:
    """Functions without their binding, and bindings without their function."""
    wanted, possible = _wanted(cast(Mapping[str, Any], config))
    problems = [
        f"{_shown(kind, binding)}: the configuration has no such binding"
        for kind, binding in _functions
        if kind != "on_run" and (kind, binding) not in possible
    ]
    for kind, binding in wanted:
        single = kind not in _ANSWERS
        if (kind, binding) not in _functions and not (single and "on_run" in _kinds()):
            mend = _mend(kind)
            problems.append(f"no function is {_shown(kind, binding)}{mend}")
    return problems


def _mend(kind: str) -> str:
    match kind:
        case "on_event":
            return ", which the binding's events need; without them, set executeHookOnEvent to []"
        case "on_synchronization":
            return ", for what is there at the start; else set executeHookOnSynchronization to False"
        case _:
            return ", which the configuration needs"


def _wanted(config: Mapping[str, Any]) -> tuple[list[tuple[str, str]], set[tuple[str, str]]]:
    """Functions that the document needs, and those that it can use."""
    wanted: list[tuple[str, str]] = []
    if "onStartup" in config:
        wanted.append(("on_startup", "onStartup"))
    for binding in config.get("schedule") or []:
        group = binding.get("group")
        wanted.append(("on_group", group) if group else ("on_schedule", binding.get("name", "schedule")))
    possible = set(wanted)
    for binding in config.get("kubernetes") or []:
        name, group = binding.get("name", "kubernetes"), binding.get("group")
        possible |= {("on_event", name), ("on_synchronization", name)}
        if group:
            wanted.append(("on_group", group))
            continue
        if binding.get("executeHookOnEvent") != []:
            wanted.append(("on_event", name))
        if binding.get("executeHookOnSynchronization", True):
            wanted.append(("on_synchronization", name))
    for kind, key in (
        ("on_validating", "kubernetesValidating"),
        ("on_mutating", "kubernetesMutating"),
        ("on_conversion", "kubernetesCustomResourceConversion"),
        ("on_reconcile", "reconcile"),
    ):
        wanted += [(kind, binding.get("name", key)) for binding in config.get(key) or []]
    possible |= {("on_finalize", binding.get("name", "reconcile")) for binding in config.get("reconcile") or []}
    wanted = list(dict.fromkeys(wanted))
    return wanted, possible | set(wanted)
