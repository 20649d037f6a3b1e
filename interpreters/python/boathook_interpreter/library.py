"""Python's own library, as far as a hook can use it.

What hooks use most is imported here, and so is part of the interpreter's first picture; the rest of the pure modules is
kept compiled and packed, and imported when somebody asks for it. There is no file system that it could come from.
"""

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import json
import marshal
import os
import sys
import types
import zlib
from collections.abc import Sequence
from typing import Any

#: Imported while the interpreter is built.
_READY = """
    __future__ _strptime abc annotationlib array ast base64 binascii bisect calendar codecs collections collections.abc
    contextlib contextvars copy copyreg csv dataclasses datetime decimal difflib enum errno fnmatch fractions functools
    graphlib hashlib heapq hmac html http importlib.abc inspect io ipaddress itertools json json.decoder keyword
    linecache logging math numbers operator os pathlib pkgutil pprint random re reprlib secrets shlex stat statistics
    string string.templatelib struct textwrap threading time tomllib traceback types typing unicodedata urllib
    urllib.parse uuid warnings weakref zlib encodings.ascii encodings.idna encodings.latin_1 encodings.utf_8
    _colorize _suggestions
""".split()

#: Of no use without processes, sockets, a terminal, a screen or a file system, or only for those who build Python.
_LEFT_OUT = frozenset(
    """
    antigravity bz2 ctypes curses dbm ensurepip idlelib lib2to3 lzma multiprocessing pydoc_data sqlite3 ssl test
    tkinter this turtle turtledemo venv _pyrepl _aix_support _android_support _apple_support _ios_support _osx_support
    pty tty webbrowser ftplib imaplib poplib smtplib nntplib telnetlib pdb bdb cProfile profile pstats pyclbr pydoc
    """.split()
)

#: They know modules that are part of the interpreter itself.
FIXED_FINDERS: list[Any] = [importlib.machinery.BuiltinImporter, importlib.machinery.FrozenImporter]


def _ready() -> None:
    for name in _READY:
        importlib.import_module(name)


def _packed() -> dict[str, tuple[bool, bytes]]:
    """Every other pure module: whether it is a package, and its code."""
    found: dict[str, tuple[bool, bytes]] = {}
    # Not that of `os`, which is part of the binary.
    root = os.path.dirname(os.path.dirname(json.__file__))
    for folder, folders, files in os.walk(root):
        inside = [] if folder == root else os.path.relpath(folder, root).split(os.sep)
        folders[:] = [name for name in folders if name.isidentifier() and not _left_out([*inside, name])]
        for file in files:
            if file.endswith(".py"):
                _add(found, [*inside, file[:-3]], os.path.join(folder, file))
    if "email.message" not in found:
        raise RuntimeError(f"Python's own library is not in {root}")
    return found


def _left_out(parts: list[str]) -> bool:
    return parts[0] in _LEFT_OUT or parts[-1] in ("tests", "__pycache__", "idle_test")


def _add(found: dict[str, tuple[bool, bytes]], parts: list[str], path: str) -> None:
    is_package = parts[-1] == "__init__"
    name = ".".join(parts[:-1] if is_package else parts)
    if not name or name in sys.modules or _left_out(parts):
        return
    with open(path, "rb") as file:
        source = file.read()
    code = compile(source, f"<python>/{name.replace('.', '/')}.py", "exec", dont_inherit=True, optimize=2)
    found[name] = is_package, zlib.compress(marshal.dumps(code), 9)


class Finder:
    """Finds the packed modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in _PACKED:
            return None
        is_package, _ = _PACKED[name]
        return importlib.util.spec_from_loader(name, Loader(), is_package=is_package)


class Loader(importlib.abc.Loader):
    """Runs a packed module."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        _, packed = _PACKED[module.__name__]
        exec(marshal.loads(zlib.decompress(packed)), module.__dict__)


_ready()
_PACKED = _packed()

#: Modules that a script's own can't have the names of.
TAKEN = frozenset(name.partition(".")[0] for name in [*sys.modules, *_PACKED]) | frozenset(sys.builtin_module_names)


def has(name: str) -> bool:
    """Whether there is a module of this name."""
    return name in sys.modules or name in _PACKED or name in sys.builtin_module_names
