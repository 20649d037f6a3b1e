"""Keeps together what is made together. The allocator puts new objects into gaps between old ones; with the gaps filled,
those of a run lie side by side, on few pages: each page that a run writes to is copied for it.
"""

import gc
import sys

#: Gaps of this size and less are filled, in bytes.
_LARGEST = 64 * 1024
#: What fills them.
kept: list[object] = []


def fill() -> None:
    """To be called when what is there is to stay."""
    gc.collect()
    # No gap has room for these.
    end = max([id(bytes(8 * _LARGEST)) for _ in range(3)])
    empty = sys.getsizeof(b"")
    size = _LARGEST
    while size > empty:
        one = bytes(size - empty)
        if id(one) < end:
            kept.append(one)
        else:
            size = size * 3 // 4 if size > 512 else size - 8
    # The smallest.
    while id(small := object()) < end:
        kept.append(small)
