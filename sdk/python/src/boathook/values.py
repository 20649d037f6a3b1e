"""The values of the module that the hook belongs to.

A hook sees them as they were when its run began. What it changes is checked and kept when the run has succeeded, all of it or
nothing. A hook of a module changes the section of its module; a global hook changes the section ``global``, and turns modules
on and off. Outside of modules, each call raises ``Permanent``.
"""

from __future__ import annotations

import json
from typing import Any, cast

from ._host import host
from .errors import Permanent

__all__ = ["config", "get", "remove", "remove_config", "set", "set_config"]


def get() -> dict[str, Any]:
    """The values: ``global`` and, for a hook of a module, the section of the module."""
    return cast(dict[str, Any], json.loads(_both()[0]))


def config() -> dict[str, Any]:
    """The configuration, as users wrote it: ``global`` and the section of the module."""
    return cast(dict[str, Any], json.loads(_both()[1]))


def set(path: str, value: Any) -> None:
    """Sets a value. The path is a JSON pointer, such as ``/web/replicas``; ``/web/hosts/-`` adds to a list. ``/webEnabled``
    turns a module on or off, for a global hook."""
    _patch({"op": "add", "path": path, "value": value}, config=False)


def remove(path: str) -> None:
    """Removes a value."""
    _patch({"op": "remove", "path": path}, config=False)


def set_config(path: str, value: Any) -> None:
    """Sets a value of the configuration."""
    _patch({"op": "add", "path": path, "value": value}, config=True)


def remove_config(path: str) -> None:
    """Removes a value of the configuration."""
    _patch({"op": "remove", "path": path}, config=True)


def _both() -> tuple[str, str]:
    try:
        return host().module_values()
    except LookupError as error:
        raise Permanent(str(error)) from None


def _patch(operation: dict[str, Any], config: bool) -> None:
    text = json.dumps([operation])
    try:
        host().patch_values(text, config)
    except LookupError as error:
        raise Permanent(str(error)) from None
