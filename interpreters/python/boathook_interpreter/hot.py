"""Puts the code that runs execute side by side. Code counts how often it is executed, in itself: scattered over the heap,
that is a page to be copied for every few functions.
"""

import gc
import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType
from typing import Any

from . import gaps


def gather(run: Callable[[], None]) -> None:
    """Makes copies of what this executes, one after the other, for the functions to have."""
    executed = _executed(run)
    gaps.fill()
    copies: dict[CodeType, CodeType] = {}
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__ in executed:
            function.__code__ = _copied(function.__code__, executed, copies)


def _executed(run: Callable[[], None]) -> set[CodeType]:
    found: set[CodeType] = set()

    def saw(frame: FrameType, event: str, argument: Any) -> None:
        found.add(frame.f_code)

    sys.setprofile(saw)
    try:
        run()
    finally:
        sys.setprofile(None)
    return found


def _copied(code: CodeType, executed: set[CodeType], copies: dict[CodeType, CodeType]) -> CodeType:
    if code not in copies:
        inner = [
            _copied(const, executed, copies) if isinstance(const, CodeType) and const in executed else const
            for const in code.co_consts
        ]
        copies[code] = code.replace(co_consts=tuple(inner))
    return copies[code]
