"""The configuration document: what wakes a hook and what it may touch.

These types say what ``boathook schema`` says; the host checks the document and names every mistake.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

#: ``10s``, ``1h30m``.
Duration = str
#: ``64Mi``, or bytes.
Bytes = str | int


class LabelExpression(TypedDict, total=False):
    key: str
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    values: list[str]


class LabelSelector(TypedDict, total=False):
    """As in Kubernetes."""

    matchLabels: dict[str, str]
    matchExpressions: list[LabelExpression]


class AnnotationSelector(TypedDict, total=False):
    """Like :class:`LabelSelector`. Values are any text."""

    matchAnnotations: dict[str, str]
    matchExpressions: list[LabelExpression]


class NameSelector(TypedDict):
    matchNames: list[str]


class FieldExpression(TypedDict):
    field: str
    operator: str
    value: str


class FieldSelector(TypedDict):
    matchExpressions: list[FieldExpression]


class NamespaceSelector(TypedDict, total=False):
    nameSelector: NameSelector
    labelSelector: LabelSelector


class Retry(TypedDict, total=False):
    initial: Duration
    max: Duration
    multiplier: float
    jitter: float
    attempts: int


class Binding(TypedDict, total=False):
    """What all bindings have."""

    name: str
    group: str
    #: Kubernetes bindings whose snapshots the runs of this one may open.
    includeSnapshotsFrom: list[str]
    queue: str
    allowFailure: bool
    retry: Retry


class ScheduleBinding(Binding, total=False):
    crontab: str
    timeZone: str
    missedRuns: Literal["skip", "once"]
    jitter: Duration


class KubernetesBinding(Binding, total=False):
    apiVersion: str
    kind: str
    executeHookOnEvent: list[Literal["Added", "Modified", "Deleted"]]
    executeHookOnSynchronization: bool
    waitForSynchronization: bool
    resynchronizationPeriod: Duration
    ignoreOwnWrites: bool
    debounce: Duration
    previousObject: bool
    #: What of each object is kept and delivered.
    content: Literal["full", "metadata", "none"]
    jqFilter: str
    nameSelector: NameSelector
    labelSelector: LabelSelector
    fieldSelector: FieldSelector
    namespace: NamespaceSelector


class OwnedKind(TypedDict):
    """A kind that a ``reconcile`` binding may return."""

    apiVersion: str
    kind: str


class RelatedKind(TypedDict, total=False):
    """Objects that the objects of a custom resource refer to: by name, by labels, or both."""

    #: The name in ``parent.related``.
    name: str
    apiVersion: str
    kind: str
    #: The field with the name: ``.spec.secretName``, ``.spec.volumes[].secret``.
    nameFrom: str
    #: Where the objects are. By default, that is the namespace of the object that refers to them.
    namespace: str
    labelSelector: LabelSelector


class Names(TypedDict):
    nameSelector: NameSelector


class Prune(TypedDict, total=False):
    """How many children of an object may be deleted at once without an approval."""

    #: Of those that exist: ``50%``.
    maxShare: str
    maxObjects: int


class ReconcileBinding(TypedDict, total=False):
    name: str
    apiVersion: str
    #: As the custom resource's objects have it. It needs a ``status`` subresource.
    kind: str
    #: The kinds that the hook may return.
    owns: list[OwnedKind]
    #: The objects that the hook reads. A change of one calls the hook for the objects that refer to it.
    related: list[RelatedKind]
    namespace: Names
    labelSelector: LabelSelector
    #: The objects are others': the hook attaches its children to them, and may set labels and annotations on them. It
    #: returns the object itself among the children for that, with these labels and annotations only.
    decorates: bool
    #: Objects with these annotations, with ``decorates``.
    annotationSelector: AnnotationSelector
    prune: Prune
    #: What happens to an object that the hook returns, and that exists without being a child.
    adopt: Literal["never", "ifUnowned", "always"]
    #: Keep so many revisions of each object's children, with the newest one: from 2 to 100. Not with ``decorates``.
    revisions: int
    #: Reconcile each object again after this time, although nothing changed.
    resync: Duration
    includeSnapshotsFrom: list[str]
    retry: Retry


class Rule(TypedDict, total=False):
    apiGroups: list[str]
    apiVersions: list[str]
    operations: list[Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "*"]]
    resources: list[str]
    scope: Literal["Cluster", "Namespaced", "*"]


class MatchCondition(TypedDict):
    name: str
    expression: str


class AdmissionBinding(TypedDict, total=False):
    #: A domain name of three parts or more.
    name: str
    rules: list[Rule]
    failurePolicy: Literal["Ignore", "Fail"]
    sideEffects: Literal["None", "NoneOnDryRun"]
    timeoutSeconds: int
    matchConditions: list[MatchCondition]
    matchPolicy: Literal["Exact", "Equivalent"]
    labelSelector: LabelSelector
    namespace: NamespaceSelector
    includeSnapshotsFrom: list[str]
    group: str


class MutatingBinding(AdmissionBinding, total=False):
    reinvocationPolicy: Literal["Never", "IfNeeded"]


class ConversionStep(TypedDict):
    fromVersion: str
    toVersion: str


class ConversionBinding(TypedDict, total=False):
    name: str
    crdName: str
    conversions: list[ConversionStep]
    includeSnapshotsFrom: list[str]
    group: str


class Permission(TypedDict, total=False):
    apiGroups: list[str]
    resources: list[str]
    verbs: list[Literal["get", "list", "create", "update", "patch", "delete", "*"]]
    resourceNames: list[str]
    namespaces: list[str]


class HttpPermission(TypedDict, total=False):
    """HTTP requests to hosts outside the cluster."""

    #: ``api.example.com``; ``*.example.com`` for all below that name; ``api.example.com:8443`` for another port than 443;
    #: ``http://api.example.com`` for a host without TLS.
    hosts: list[str]
    #: ``GET`` and ``HEAD`` when absent.
    methods: list[Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "*"]]
    #: Paths without the query; a ``*`` at the end stands for all that begin so. All paths when absent.
    paths: list[str]


class Permissions(TypedDict, total=False):
    kubernetes: list[Permission]
    http: list[HttpPermission]


class Limits(TypedDict, total=False):
    memory: Bytes
    time: Duration
    hostCalls: int
    hostBytes: Bytes
    logBytes: Bytes


class Burst(TypedDict):
    executionMinInterval: Duration
    executionBurst: int


class Config(TypedDict, total=False):
    """Version v1 of the document."""

    configVersion: Literal["v1"]
    onStartup: int
    schedule: list[ScheduleBinding]
    kubernetes: list[KubernetesBinding]
    reconcile: list[ReconcileBinding]
    kubernetesValidating: list[AdmissionBinding]
    kubernetesMutating: list[MutatingBinding]
    kubernetesCustomResourceConversion: list[ConversionBinding]
    permissions: Permissions
    limits: Limits
    retry: Retry
    concurrency: int
    settings: Burst
    failureEvents: dict[str, Any]
