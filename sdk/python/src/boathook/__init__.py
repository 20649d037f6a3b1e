"""Write Boathook hooks for Kubernetes in Python.

.. code-block:: python

    import boathook
    from boathook import Event, Snapshot, log

    boathook.configure({"kubernetes": [{"name": "namespaces", "apiVersion": "v1", "kind": "Namespace"}]})

    @boathook.on_event("namespaces")
    def changed(event: Event) -> None:
        log.info(f"{event.change} {event.target.name}")

    @boathook.on_synchronization("namespaces")
    def begun(namespaces: Snapshot) -> None:
        log.info(f"{len(namespaces)} namespaces")
"""

from . import config, crd, http, kube, log, metrics, settings, snapshots, values
from .admission import Conversion, Denial, Mutation, Review, Verdict, allow, deny, mutate
from .config import Config
from .context import (
    BindingContext,
    Change,
    Context,
    Event,
    Group,
    RunInfo,
    Startup,
    Synchronization,
    Tick,
    Trigger,
)
from .crd import define
from .errors import DefinitionError, KubeError, Permanent, Retry, is_permanent, with_context
from .hook import (
    configure,
    info,
    on_conversion,
    on_event,
    on_finalize,
    on_group,
    on_mutating,
    on_reconcile,
    on_run,
    on_schedule,
    on_startup,
    on_synchronization,
    on_validating,
)
from .http import HttpError
from .kube import Object, ObjectRef
from .reconcile import Child, Condition, Desired, Finalized, Parent, ReconcileEvent, Related
from .snapshots import Item, Snapshot

__version__ = "0.1.0"

__all__ = [
    "BindingContext",
    "Change",
    "Child",
    "Condition",
    "Config",
    "Context",
    "Conversion",
    "DefinitionError",
    "Denial",
    "Desired",
    "Event",
    "Finalized",
    "Group",
    "HttpError",
    "Item",
    "KubeError",
    "Mutation",
    "Object",
    "ObjectRef",
    "Parent",
    "Permanent",
    "ReconcileEvent",
    "Related",
    "Retry",
    "Review",
    "RunInfo",
    "Snapshot",
    "Startup",
    "Synchronization",
    "Tick",
    "Trigger",
    "Verdict",
    "allow",
    "config",
    "configure",
    "crd",
    "define",
    "deny",
    "http",
    "info",
    "is_permanent",
    "kube",
    "log",
    "metrics",
    "mutate",
    "on_conversion",
    "on_event",
    "on_finalize",
    "on_group",
    "on_mutating",
    "on_reconcile",
    "on_run",
    "on_schedule",
    "on_startup",
    "on_synchronization",
    "on_validating",
    "settings",
    "snapshots",
    "values",
    "with_context",
]
