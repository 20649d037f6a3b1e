"""Which taints a node should have. Pure: it makes no calls."""

from typing import Any, TypedDict

from boathook import Object

#: Labels with this prefix are taints, and taints with it come from labels.
PREFIX = "taint.boathook.dev/"
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")

#: As it is: what others put into theirs stays.
Taint = dict[str, Any]


class Seen(TypedDict):
    """A node, as far as it matters."""

    labels: dict[str, str] | None
    taints: list[Taint] | None


def seen(node: Object) -> Seen:
    """Out of a whole node."""
    return {"labels": node["metadata"].get("labels"), "taints": (node.get("spec") or {}).get("taints")}


def invalid(node: Seen) -> list[tuple[str, str]]:
    """Labels with our prefix whose value is no effect."""
    return [(key, effect) for key, effect in ours(node) if effect not in EFFECTS]


def wanted(node: Seen) -> list[Taint] | None:
    """The taints that a node should have, unless it has them."""
    missing = [(key, effect) for key, effect in ours(node) if effect in EFFECTS]
    had = node["taints"] or []
    taints = []
    for taint in had:
        asked = (taint["key"], taint["effect"])
        if asked in missing and not taint.get("value"):
            # It stays as it is, with the time it was added.
            missing.remove(asked)
            taints.append(taint)
        elif not taint["key"].startswith(PREFIX):
            taints.append(taint)
    if not missing and len(taints) == len(had):
        return None
    return taints + [{"key": key, "effect": effect} for key, effect in missing]


def ours(node: Seen) -> list[tuple[str, str]]:
    return sorted((key, effect) for key, effect in (node["labels"] or {}).items() if key.startswith(PREFIX))
