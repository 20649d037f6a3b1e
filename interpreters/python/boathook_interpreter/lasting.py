"""Says which objects are there for good. Python counts who uses an object in the object itself, so a run would write to
the page of everything that it only reads, and each such page is copied for it. `interpreters/snapshot` finds the list and
makes its objects immortal (PEP 683): nobody counts them any more.
"""

import gc
import sys
from types import CodeType
from typing import Any

from . import gaps

#: Held, so that none of them goes before the picture is taken.
_lasting: list[Any] = []
#: By this the list is found: the address and the length follow.
_MARK = b"boathook lasting"
_mark = b""


def mark() -> None:
    """To be called once, when all is there."""
    global _mark
    seen = {id(_lasting), id(gaps.kept)}
    waiting: list[Any] = [sys.modules]
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        _lasting.append(one)
        waiting.extend(gc.get_referents(one))
        if isinstance(one, CodeType):
            waiting.extend(_parts(one))
    _mark = _MARK + id(_lasting).to_bytes(4, "little") + len(_lasting).to_bytes(4, "little")


def _parts(code: CodeType) -> tuple[Any, ...]:
    """Of what the collector does not know."""
    return code.co_consts, code.co_names, code.co_name, code.co_qualname, code.co_filename, code.co_linetable, code.co_exceptiontable
