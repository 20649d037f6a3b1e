"""Parts of an object that are JSON until somebody asks for them. For the SDK only."""

from __future__ import annotations

import json
from typing import Any

from .errors import Permanent

_UNREAD = object()


class Parts:
    """``object`` and ``filter_result``, parsed once."""

    __slots__ = ("_filter_result", "_label", "_object", "_raw_filter_result", "_raw_object")

    def __init__(self, label: str, raw_object: str | None, raw_filter_result: str | None) -> None:
        self._label = label
        self._raw_object = raw_object
        self._raw_filter_result = raw_filter_result
        self._object: Any = _UNREAD
        self._filter_result: Any = _UNREAD

    @property
    def object(self) -> dict[str, Any]:
        """The object; of a deleted one, its last state. It is an error where the binding keeps none."""
        if self._object is _UNREAD:
            if self._raw_object is None:
                raise Permanent(f"there is no object of {self._label}: its binding keeps none (content)")
            self._object = json.loads(self._raw_object)
        found: dict[str, Any] = self._object
        return found

    @property
    def filter_result(self) -> Any:
        """What the binding's ``jqFilter`` gave. It is an error where it has none."""
        if self._filter_result is _UNREAD:
            if self._raw_filter_result is None:
                raise Permanent(f"there is no filter result of {self._label}: its binding has no jqFilter")
            self._filter_result = json.loads(self._raw_filter_result)
        return self._filter_result
