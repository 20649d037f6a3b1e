"""The objects that the hook's ``kubernetes`` bindings match right now.

Reading them costs no request and needs no permission. All snapshots opened in one run show one moment.
"""

from __future__ import annotations

from collections.abc import Iterator

from ._host import RawItem, host
from ._parts import Parts

__all__ = ["Item", "Snapshot", "open"]

#: Items that one call to the host asks for.
_PAGE = 512


class Item(Parts):
    """One object of a snapshot: ``object`` and ``filter_result`` are parsed when they are asked for."""

    __slots__ = ("name", "namespace", "resource_version", "uid")

    def __init__(self, raw: RawItem) -> None:
        #: ``None`` for cluster-scoped objects.
        self.namespace = raw.namespace
        self.name = raw.name
        self.uid = raw.uid
        self.resource_version = raw.resource_version
        label = raw.name if raw.namespace is None else f"{raw.namespace}/{raw.name}"
        super().__init__(label, raw.object, raw.filter_result)


class Snapshot:
    """An open snapshot: iterate over it, or ask for one object."""

    __slots__ = ("_begun", "_binding", "_handle")

    def __init__(self, binding: str) -> None:
        self._binding = binding
        self._handle = host().open_snapshot(binding)
        self._begun = False

    def __len__(self) -> int:
        return self._handle.len()

    def __bool__(self) -> bool:
        return True

    def get(self, namespace: str | None, name: str) -> Item | None:
        """The object with this name; the namespace is ``None`` for cluster-scoped ones."""
        raw = self._handle.get(namespace, name)
        return None if raw is None else Item(raw)

    def __iter__(self) -> Iterator[Item]:
        """The objects in order of namespace and name, each time from the beginning."""
        handle = host().open_snapshot(self._binding) if self._begun else self._handle
        self._begun = True
        while page := handle.next(_PAGE):
            for raw in page:
                yield Item(raw)


def open(binding: str) -> Snapshot:
    """Opens the snapshot of a binding that a trigger of this run lists."""
    return Snapshot(binding)
