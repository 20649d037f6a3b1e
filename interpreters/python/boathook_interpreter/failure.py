"""What a script raised, in the host's terms: a text with places in the author's own files, and what should happen
next."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType

from boathook import DefinitionError, Permanent, Retry, is_permanent
from componentize_py_types import Err
from wit_world.imports.types import Failure, Failure_Permanent, Failure_Retry, Failure_RetryAfter

from . import imports, program

#: The maximum number of nested causes that a failure reports.
_CAUSES = 8
#: The maximum number of places that a failure reports, the innermost first.
_PLACES = 8


@contextmanager
def told() -> Iterator[None]:
    """Tells the host what is raised within."""
    try:
        yield
    except BaseException as error:
        raise Err(_failure(error)) from None
    finally:
        _flush()


@contextmanager
def told_as_text() -> Iterator[None]:
    """Tells the host what is raised within, where there is nothing to be done again."""
    try:
        yield
    except BaseException as error:
        raise Err(text(error)) from None
    finally:
        _flush()


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass


def _failure(error: BaseException) -> Failure:
    if is_permanent(error):
        return Failure_Permanent(text(error))
    if isinstance(error, Retry) and error.after is not None:
        return Failure_RetryAfter((max(0, round(error.after.total_seconds() * 1000)), text(error)))
    return Failure_Retry(text(error))


def text(error: BaseException) -> str:
    """For people: the error, its causes, and where in the hook's files it was raised."""
    messages, seen = [_message(error)], error
    for _ in range(_CAUSES):
        cause = seen.__cause__ or (None if seen.__suppress_context__ else seen.__context__)
        if cause is None:
            break
        messages.append(_message(cause))
        seen = cause
    # Who says what should happen next knows what went wrong.
    places = [] if isinstance(error, (Retry, Permanent, DefinitionError)) else _places(error.__traceback__)
    shown = f" ({', '.join(places)})" if places else ""
    return ": ".join(messages) + shown


def _message(error: BaseException) -> str:
    """`TypeError: …`; without the name where it says nothing."""
    try:
        message = str(error)
    except Exception:
        message = "an error whose text can't be made"
    name = type(error).__name__
    match error:
        case Retry() | Permanent() | DefinitionError() | imports.Missing() | imports.Taken():
            return message or name
        case SyntaxError(filename=str(file), lineno=int(line)):
            return f"{file}:{line}:{error.offset or 1}: {name}: {error.msg}"
        case ModuleNotFoundError(name=str(module)):
            return f"{name}: {imports.told(module)}"
        case SystemExit():
            return f"the hook called sys.exit({message})"
        case _:
            return f"{name}: {message}" if message else name


def _places(traceback: TracebackType | None) -> list[str]:
    places = []
    while traceback is not None:
        code = traceback.tb_frame.f_code
        if program.is_ours(code.co_filename):
            places.append(f"{code.co_name} {code.co_filename}:{traceback.tb_lineno}")
        traceback = traceback.tb_next
    return places[: -_PLACES - 1 : -1]
