"""Metrics that the hook reports, served at the operator's ``/metrics/hooks``. They count when the run has succeeded.

With a ``group``, a run's values replace all that the hook reported in that group before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ._host import Labels, host

__all__ = ["add", "expire", "observe", "set"]

_Label = str | int | float | bool


def add(name: str, value: float = 1, labels: Mapping[str, _Label] | None = None, *, group: str | None = None) -> None:
    """Adds to a counter: a finite number, 0 or more."""
    host().metric_add(name, value, _pairs(labels), group)


def set(name: str, value: float, labels: Mapping[str, _Label] | None = None, *, group: str | None = None) -> None:
    """Sets a gauge to a finite number."""
    host().metric_set(name, value, _pairs(labels), group)


def observe(
    name: str,
    value: float,
    buckets: Sequence[float],
    labels: Mapping[str, _Label] | None = None,
    *,
    group: str | None = None,
) -> None:
    """Records one observation in a histogram with these upper bounds: finite, ascending, without infinity."""
    host().metric_observe(name, value, buckets, _pairs(labels), group)


def expire(group: str) -> None:
    """Removes all series that this hook reported in the group."""
    host().metric_expire(group)


def _pairs(labels: Mapping[str, _Label] | None) -> Labels:
    return [(name, str(value)) for name, value in (labels or {}).items()]
