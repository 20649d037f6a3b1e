"""Looks through a script's modules before they run: all of them parse, and what they import is there.

What stands in a `try` or under `TYPE_CHECKING` may be missing, and packages of others are left to themselves.
"""

import ast
from collections.abc import Callable, Iterator

from . import library

_Find = Callable[[str], tuple[str, bool, bytes] | None]
_Compiled = Callable[[str, str, bool, ast.Module | None], None]


class Missing(ImportError):
    """A module that is in no reach."""


class Taken(ImportError):
    """A module that has a name of Python's own library."""


class Checked:
    """Modules that were looked through."""

    def __init__(self, compiled: _Compiled, find: _Find) -> None:
        self._compiled = compiled
        self._find = find
        self._seen: set[str] = set()

    def add(self, name: str, path: str) -> None:
        """The module to begin with, and all that it imports."""
        found = self._find(name)
        if found is None or found[0] != path:
            raise Missing(f"the hook's entry {path} can't be a module: its name is none")
        waiting = [(name, *found)]
        self._seen.add(name)
        while waiting:
            waiting += self._look(*waiting.pop())

    def _look(self, name: str, path: str, is_package: bool, text: bytes) -> Iterator[tuple[str, str, bool, bytes]]:
        ours = not path.startswith("vendor/")
        if ours and name.partition(".")[0] in library.TAKEN:
            raise Taken(f"{path}: Python's own library has a module of this name: call the file otherwise")
        try:
            tree = ast.parse(text, path)
        except SyntaxError:
            if ours:
                raise
            return
        self._compiled(name, path, is_package, tree)
        package = name if is_package else name.rpartition(".")[0]
        for wanted, line, column, needed in _imported(tree, package):
            yield from self._import(wanted)
            if ours and needed and not self._is_there(wanted):
                raise Missing(f"{path}:{line}:{column}: {told(wanted)}")

    def _import(self, name: str) -> Iterator[tuple[str, str, bool, bytes]]:
        """The module and the packages around it, as far as they are the script's."""
        parts = name.split(".")
        if parts[0] in library.TAKEN:
            return
        around = []
        for end in range(1, len(parts) + 1):
            part = ".".join(parts[:end])
            found = self._find(part)
            if found is None:
                around.append(part)
                continue
            for folder in around:
                # A folder of modules without an `__init__.py`.
                if folder not in self._seen:
                    self._seen.add(folder)
                    self._compiled(folder, found[0], True, None)
            around.clear()
            if part not in self._seen:
                self._seen.add(part)
                yield part, *found

    def _is_there(self, name: str) -> bool:
        return name in self._seen or library.has(name)


def told(name: str) -> str:
    """What to do about a module that is not there."""
    return (
        f"no module {name!r}: a package in pure Python comes by `pip install --target vendor NAME`; one with native "
        "code needs a component of the hook's own, made by componentize-py"
    )


def _imported(tree: ast.AST, package: str, needed: bool = True) -> Iterator[tuple[str, int, int, bool]]:
    """Modules with their place, and whether the script can't do without."""
    for node in ast.iter_child_nodes(tree):
        match node:
            case ast.Import(names=names):
                for alias in names:
                    yield alias.name, node.lineno, node.col_offset + 1, needed
            # Python itself says that there is no package around it.
            case ast.ImportFrom(level=level) if level > len(package.split(".")) or (level and not package):
                pass
            case ast.ImportFrom(module=module, names=names, level=level):
                base = _absolute(module, level, package)
                yield base, node.lineno, node.col_offset + 1, needed
                # It may be a module or a value.
                for alias in names:
                    yield f"{base}.{alias.name}", node.lineno, node.col_offset + 1, False
            case ast.Try() | ast.TryStar():
                yield from _imported(node, package, False)
            case ast.If(test=ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING")):
                for other in node.orelse:
                    yield from _imported(ast.Module([other], []), package, needed)
            case _:
                yield from _imported(node, package, needed)


def _absolute(module: str | None, level: int, package: str) -> str:
    if level == 0:
        return module or ""
    parts = package.split(".")
    parts = parts[: len(parts) - level + 1]
    return ".".join([*parts, module] if module else parts)
