"""What a namespace's copy needs. Pure: it knows neither snapshots nor calls."""

from typing import Literal, TypedDict

Action = Literal["nothing", "create", "update", "recreate", "remove"]


class Source(TypedDict):
    """What of the source is copied."""

    #: Which cannot be changed in place.
    type: str | None
    #: In base64.
    data: dict[str, str] | None


class Copied(Source):
    """A copy, as far as it matters."""

    #: Whether `data` can still be changed in place.
    immutable: bool | None


class Namespace(TypedDict):
    """A namespace, as far as it matters."""

    #: The value of the opt-out label.
    skip: str | None
    #: `Active` or `Terminating`.
    phase: str | None


def decide(source: Source, namespace: Namespace, copy: Copied | None) -> Action:
    """Compares what is with what should be."""
    # Nothing can be created there, and what is there goes by itself.
    if namespace["phase"] == "Terminating":
        return "nothing"
    skip = namespace["skip"] == "true"
    if copy is None:
        return "nothing" if skip else "create"
    if skip:
        return "remove"
    if copy["type"] != source["type"]:
        return "recreate"
    if copy["data"] == source["data"]:
        return "nothing"
    return "recreate" if copy["immutable"] else "update"
