"""Lines of the operator's log, with fields. ``logging`` and ``print`` write there, too."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ._host import Labels, Level, host

if TYPE_CHECKING:
    from logging import LogRecord

__all__ = ["Handler", "debug", "error", "info", "warn"]

#: What every record of ``logging`` has; all else on it came by ``extra``.
_OWN = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


def debug(message: str, **fields: object) -> None:
    """Only for finding a fault."""
    host().log("debug", message, _pairs(fields))


def info(message: str, **fields: object) -> None:
    """What the hook did."""
    host().log("info", message, _pairs(fields))


def warn(message: str, **fields: object) -> None:
    """Something is odd, and the hook goes on."""
    host().log("warn", message, _pairs(fields))


def error(message: str, **fields: object) -> None:
    """Something failed."""
    host().log("error", message, _pairs(fields))


class Handler(logging.Handler):
    """Brings what ``logging`` is told into the operator's log. The interpreter gives it to the root logger."""

    def emit(self, record: LogRecord) -> None:
        fields = {name: value for name, value in vars(record).items() if name not in _OWN}
        if record.name != "root":
            fields["logger"] = record.name
        try:
            host().log(_level(record.levelno), self.format(record), _pairs(fields))
        except Exception:
            self.handleError(record)


def _level(number: int) -> Level:
    if number >= logging.ERROR:
        return "error"
    if number >= logging.WARNING:
        return "warn"
    return "info" if number >= logging.INFO else "debug"


def _pairs(fields: dict[str, object]) -> Labels:
    return [(name, value if isinstance(value, str) else str(value)) for name, value in fields.items()]
