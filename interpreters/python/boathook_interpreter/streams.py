"""Standard output, standard error, and `logging`: all become lines of the operator's log."""

import io
import logging
import sys
from typing import cast

from boathook import log


def connect() -> None:
    """Brings them there."""
    for stream in (cast(io.TextIOWrapper, sys.stdout), cast(io.TextIOWrapper, sys.stderr)):
        # A run may end at any time. Each line reaches the log at once, so that the log has the output up to then.
        stream.reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True, write_through=False)
    root = logging.getLogger()
    root.addHandler(log.Handler())
    root.setLevel(logging.INFO)
    logging.raiseExceptions = False
    # Warnings of modules that are compiled at every run would say the same thing again and again.
    logging.captureWarnings(True)
