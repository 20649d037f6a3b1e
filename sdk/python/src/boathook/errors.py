"""Why a run does not succeed, and what should happen next.

Whatever else a hook raises is retried after its back-off, with the places in its own files in the log.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Literal

Reason = Literal[
    "not-found",
    "already-exists",
    "conflict",
    "invalid",
    "forbidden-by-grant",
    "forbidden-by-cluster",
    "too-large",
    "timeout",
    "budget-exceeded",
    "unavailable",
    "other",
]


class Retry(Exception):
    """The run is done again: after the hook's back-off, or after the delay that is given."""

    def __init__(self, message: str, *, after: float | timedelta | None = None) -> None:
        """``after`` is a delay, or seconds."""
        super().__init__(message)
        self.after = timedelta(seconds=after) if isinstance(after, (int, float)) else after


class Permanent(Exception):
    """The run is not done again: its triggers are given up, and the message is logged as an error."""


class KubeError(Exception):
    """A call that did not succeed. It is retried, unless repeating can't help."""

    def __init__(
        self, reason: Reason, message: str, code: int | None = None, status: dict[str, Any] | None = None
    ) -> None:
        super().__init__(message)
        #: For deciding.
        self.reason: Reason = reason
        #: The HTTP status, when a server answered.
        self.code = code
        #: The API server's ``Status``, when it sent one.
        self.status = status

    @property
    def permanent(self) -> bool:
        """Whether repeating is of no use."""
        return self.reason in ("invalid", "forbidden-by-grant")

    @property
    def namespace_terminating(self) -> bool:
        """Whether it was refused because the namespace is being deleted."""
        details = (self.status or {}).get("details") or {}
        return any(cause.get("reason") == "NamespaceTerminating" for cause in details.get("causes") or [])


class DefinitionError(Exception):
    """The functions of a hook, or its configuration, do not fit together."""


def is_permanent(error: BaseException) -> bool:
    """Whether an error says that repeating is of no use."""
    return isinstance(error, (Permanent, DefinitionError)) or (isinstance(error, KubeError) and error.permanent)


def with_context(text: str, error: BaseException) -> Retry | Permanent:
    """The same error with a text before its own; what should happen next stays."""
    message = f"{text}: {error}"
    if is_permanent(error):
        return Permanent(message)
    return Retry(message, after=error.after if isinstance(error, Retry) else None)
