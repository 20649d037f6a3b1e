"""Questions of the API server, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .context import RunInfo
from .kube import Object

__all__ = ["Conversion", "Denial", "Mutation", "Review", "Verdict", "allow", "deny", "mutate"]


@dataclass(frozen=True, slots=True)
class Review:
    """One request of the API server."""

    #: The binding's name.
    binding: str
    #: The circumstances.
    info: RunInfo
    #: An AdmissionRequest (admission.k8s.io/v1), all of it.
    request: dict[str, Any]

    @property
    def operation(self) -> str:
        """``CREATE``, ``UPDATE``, ``DELETE`` or ``CONNECT``."""
        return str(self.request.get("operation", ""))

    @property
    def namespace(self) -> str | None:
        """``None`` for cluster-scoped objects."""
        return self.request.get("namespace")

    @property
    def name(self) -> str | None:
        """``None`` where the API server makes the name."""
        return self.request.get("name")

    @property
    def object(self) -> Object:
        """As it should become; an empty object for ``DELETE``."""
        return self.request.get("object") or {}

    @property
    def old_object(self) -> Object | None:
        """As it is; ``None`` for ``CREATE``."""
        return self.request.get("oldObject")

    @property
    def user(self) -> dict[str, Any]:
        """Whose request it is: ``username``, ``groups``."""
        return self.request.get("userInfo") or {}


@dataclass(frozen=True, slots=True)
class Denial:
    """Why a request is denied."""

    #: Shown to the person whose request it was.
    message: str
    #: HTTP status of the answer; 403 when absent.
    code: int | None = None
    #: Machine-readable; ``Forbidden`` when absent.
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A decision. ``Verdict()`` allows."""

    denied: Denial | None = None
    #: Shown to the person in any case.
    warnings: Sequence[str] = ()
    #: For the API server's audit log.
    audit_annotations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Mutation:
    """What becomes of the object: one of ``object`` and ``json_patch``."""

    #: The whole object as it should be; the host makes the patch.
    object: Mapping[str, Any] | None = None
    #: RFC 6902.
    json_patch: Sequence[Mapping[str, Any]] | None = None
    verdict: Verdict = field(default_factory=Verdict)


@dataclass(frozen=True, slots=True)
class Conversion:
    """What a conversion is asked for."""

    #: The binding's name.
    binding: str
    #: ``example.com/v1``.
    from_version: str
    #: ``example.com/v2``.
    to_version: str
    objects: list[Object]


def allow(*warnings: str) -> Verdict:
    """Allows, perhaps with warnings."""
    return Verdict(warnings=warnings)


def deny(message: str, *, code: int | None = None, reason: str | None = None) -> Verdict:
    """Denies. ``code`` is 403 and ``reason`` ``Forbidden`` by default."""
    return Verdict(denied=Denial(message, code, reason))


def mutate(object: Mapping[str, Any], *warnings: str) -> Mutation:
    """Allows, with the object as it should be."""
    return Mutation(object, verdict=allow(*warnings))
