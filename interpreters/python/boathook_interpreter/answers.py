"""What a script answers, in the host's terms. Never decides anything."""

import json

from boathook import admission, hook, kube, reconcile
from wit_world.exports.finalizing import Finalized
from wit_world.exports.functions import Function, Purpose
from wit_world.exports.mutating import Mutation, Mutation_JsonPatch, Mutation_Object, Mutation_Unchanged
from wit_world.exports.reconciling import Desired
from wit_world.exports.script import Handler
from wit_world.imports.admission import Denial, Verdict
from wit_world.imports.reconciliation import Condition, ConditionStatus, Event, EventType

from .native import text


def handlers() -> list[Handler]:
    """What there are functions for."""
    named = {
        "validating": Handler.VALIDATING,
        "mutating": Handler.MUTATING,
        "conversion": Handler.CONVERSION,
        "reconcile": Handler.RECONCILING,
        "finalize": Handler.FINALIZING,
    }
    return [handler for kind, handler in named.items() if hook.answers(kind)]


def functions() -> list[Function]:
    """What there is a function for."""
    return [Function(_PURPOSES[kind], name) for kind, name in hook.functions()]


_PURPOSES = {
    "on_run": Purpose.RUN,
    "on_startup": Purpose.STARTUP,
    "on_event": Purpose.EVENT,
    "on_synchronization": Purpose.SYNCHRONIZATION,
    "on_schedule": Purpose.SCHEDULE,
    "on_group": Purpose.GROUP,
    "on_validating": Purpose.VALIDATING,
    "on_mutating": Purpose.MUTATING,
    "on_conversion": Purpose.CONVERSION,
    "on_reconcile": Purpose.RECONCILING,
    "on_finalize": Purpose.FINALIZING,
}


def verdict(verdict: admission.Verdict) -> Verdict:
    denied = None if verdict.denied is None else _denial(verdict.denied)
    annotations = [(str(name), str(value)) for name, value in verdict.audit_annotations.items()]
    return Verdict(denied, [text(warning, "a warning") for warning in verdict.warnings], annotations)


def _denial(denied: admission.Denial) -> Denial:
    return Denial(
        text(denied.message, "message"),
        None if denied.code is None else int(denied.code),
        None if denied.reason is None else text(denied.reason, "reason"),
    )


def mutation(mutation: admission.Mutation) -> Mutation:
    if mutation.object is not None:
        return Mutation_Object(json.dumps(mutation.object))
    if mutation.json_patch is not None:
        return Mutation_JsonPatch(json.dumps(mutation.json_patch))
    return Mutation_Unchanged()


def objects(objects: list[kube.Object]) -> list[str]:
    return [json.dumps(one) for one in objects]


def desired(answer: reconcile.Written) -> Desired:
    return Desired(
        answer.children, answer.none_wanted, answer.status, _conditions(answer), answer.requeue_after, _events(answer)
    )


def finalized(answer: reconcile.Written) -> Finalized:
    return Finalized(
        answer.done, answer.children, answer.status, _conditions(answer), answer.requeue_after, _events(answer)
    )


def _conditions(answer: reconcile.Written) -> list[Condition]:
    return [
        Condition(text(kind, "type"), _STATUS[holds], text(reason, "reason"), text(message, "message"))
        for kind, holds, reason, message in answer.conditions
    ]


def _events(answer: reconcile.Written) -> list[Event]:
    return [
        Event(EventType.WARNING if warns else EventType.NORMAL, text(reason, "reason"), text(message, "message"))
        for warns, reason, message in answer.events
    ]


_STATUS = {True: ConditionStatus.TRUE, False: ConditionStatus.FALSE, None: ConditionStatus.UNKNOWN}
