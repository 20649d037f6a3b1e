"""The script: its modules, as the host gives their files.

Modules come from the folder of the entry, and from `vendor`. Never looks anywhere else.
"""

import ast
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import marshal
import sys
import types
from collections.abc import Sequence

from wit_world.imports import source

from . import imports

#: Packages of others, as `pip install --target vendor` puts them.
VENDOR = "vendor"

#: Path and code of a module; a package has a search path.
_Module = tuple[str, bool, bytes]

_modules: dict[str, _Module] = {}
_missing: set[str] = set()
_entry = ""


def load() -> None:
    """Runs the entry's module, which tells the SDK its functions."""
    global _entry
    compiled = source.compiled()
    if compiled is not None:
        _entry, modules = marshal.loads(compiled)
        _modules.update(modules)
    importlib.import_module(_entry)


def forget() -> None:
    """Knows of no script any more."""
    global _entry
    _entry = ""
    _modules.clear()
    _missing.clear()


def compile_all() -> bytes:
    """Compiles what the entry imports, directly or not, in the form that `load` takes."""
    global _entry
    path = source.entry()
    _entry = path.rpartition("/")[2].removesuffix(".py")
    checked = imports.Checked(_compiled, find)
    checked.add(_entry, path)
    return marshal.dumps((_entry, _modules))


def _compiled(name: str, path: str, is_package: bool, tree: ast.Module | None) -> None:
    code = compile(tree, path, "exec", dont_inherit=True) if tree else compile("", path, "exec")
    _modules[name] = path, is_package, marshal.dumps(code)


def find(name: str) -> tuple[str, bool, bytes] | None:
    """The file of a module: its path, whether it is a package, and the text."""
    inside = name.replace(".", "/")
    for root in (source.entry().rpartition("/")[0], VENDOR):
        base = f"{root}/{inside}" if root else inside
        for path, is_package in ((f"{base}.py", False), (f"{base}/__init__.py", True)):
            text = source.read(path)
            if text is not None:
                return path, is_package, text
    return None


def module(name: str) -> _Module | None:
    """A module of the script. One that nobody saw coming is compiled now."""
    if name not in _modules and name not in _missing:
        found = find(name)
        if found is None:
            _missing.add(name)
        else:
            path, is_package, text = found
            _compiled(name, path, is_package, ast.parse(text, path))
    return _modules.get(name)


def is_ours(path: str) -> bool:
    """Whether code is of one of the hook's own files, and no package of others."""
    return not path.startswith(("<", "/", f"{VENDOR}/"))


class Finder:
    """Finds the script's modules."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        found = module(name)
        if found is None:
            return None
        spec = importlib.machinery.ModuleSpec(name, Loader(), origin=found[0], is_package=found[1])
        spec.has_location = True
        return spec


class Loader(importlib.abc.Loader):
    """Runs a module of the script."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        exec(marshal.loads(_modules[module.__name__][2]), module.__dict__)

    def get_source(self, name: str) -> str | None:
        found = find(name)
        return None if found is None else found[2].decode()

    def get_data(self, path: str) -> bytes:
        data = source.read(path)
        if data is None:
            raise FileNotFoundError(path)
        return data
