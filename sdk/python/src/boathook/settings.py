"""What the admin configured."""

from __future__ import annotations

import json
from typing import Any, cast

from ._host import host

__all__ = ["get"]


def get() -> dict[str, Any]:
    """The settings of the hook's bundle; empty without any."""
    return cast(dict[str, Any], json.loads(host().settings()))
