"""What the host hands over, as the SDK has it. Objects stay texts: who needs one parses it."""

import json
from datetime import UTC, datetime

from boathook import admission, context, kube, reconcile
from wit_world.imports import reconciliation
from wit_world.imports import types as wit

_CHANGES: dict[wit.Change, context.Change] = {
    wit.Change.ADDED: "Added",
    wit.Change.MODIFIED: "Modified",
    wit.Change.DELETED: "Deleted",
}


def info(info: wit.RunInfo) -> context.RunInfo:
    return context.RunInfo(info.run_id, info.hook, info.attempt, info.dry_run)


def context_(info_: wit.RunInfo, contexts: list[wit.BindingContext]) -> context.Context:
    """Why a run happens."""
    return context.Context(
        info(info_), [context.BindingContext(one.binding, _trigger(one), tuple(one.snapshots)) for one in contexts]
    )


def _trigger(one: wit.BindingContext) -> context.Trigger:
    match one.trigger:
        case wit.Trigger_Event(value=event):
            target = event.target
            return context.Event(
                one.binding,
                _CHANGES[event.change],
                kube.ObjectRef(target.api_version, target.kind, target.name, target.namespace),
                event.uid,
                event.resource_version,
                object=event.object,
                filter_result=event.filter_result,
                previous_filter_result=event.previous_filter_result,
                previous_object=event.previous_object,
            )
        case wit.Trigger_Synchronization():
            return context.Synchronization()
        case wit.Trigger_Schedule(value=tick):
            return context.Tick(datetime.fromtimestamp(tick.scheduled_at / 1000, UTC), tick.missed)
        case wit.Trigger_Group(value=name):
            return context.Group(name)
        case _:
            return context.Startup()


def review(info_: wit.RunInfo, binding: str, request: str) -> admission.Review:
    """One request of the API server."""
    return admission.Review(binding, info(info_), json.loads(request))


def conversion(binding: str, from_version: str, to_version: str, objects: list[str]) -> admission.Conversion:
    """What a conversion is asked for."""
    return admission.Conversion(binding, from_version, to_version, [json.loads(one) for one in objects])


def parent(info_: wit.RunInfo, binding: str, parent: reconciliation.Parent) -> reconcile.Parent:
    """One object of a custom resource, and what the cluster has of it."""
    children = [
        reconcile.Child(kube.ObjectRef(child.api_version, child.kind, child.name, child.namespace), child.object)
        for child in parent.children
    ]
    related = [reconcile.Related(one.name, one.object) for one in parent.related]
    snapshots = tuple(parent.snapshots)
    return reconcile.Parent(binding, info(info_), json.loads(parent.object), children, snapshots, related)
