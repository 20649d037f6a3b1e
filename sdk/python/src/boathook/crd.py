"""The definition of a custom resource (CustomResourceDefinition), made of a hook's own types.

``boathook build`` compares it with the project's ``crd.yaml``, and ``boathook build --write-crd`` writes the file.
"""

from __future__ import annotations

import dataclasses
import json
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any, Literal

from .errors import DefinitionError

__all__ = ["Column", "Field", "define"]

Schema = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Column:
    """A column of ``kubectl get``."""

    name: str
    type: Literal["string", "integer", "number", "boolean", "date"]
    #: ``.spec.image``, ``.status.conditions[?(@.type=="Ready")].status``.
    path: str
    #: Columns above 0 are shown with ``--output wide`` only.
    priority: int = 0
    description: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """What a type does not say about a field: ``Annotated[int, Field(minimum=0)]``."""

    description: str | None = None
    #: The value if the field is absent. A field of a dataclass has the default of the dataclass.
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    #: A regular expression.
    pattern: str | None = None
    format: str | None = None
    min_items: int | None = None
    max_items: int | None = None
    #: Names of fields that tell the items of a list apart, so that two managers can own different items.
    list_map_keys: Sequence[str] = ()


_KEYWORDS = {
    "description": "description",
    "default": "default",
    "minimum": "minimum",
    "maximum": "maximum",
    "min_length": "minLength",
    "max_length": "maxLength",
    "pattern": "pattern",
    "format": "format",
    "min_items": "minItems",
    "max_items": "maxItems",
}

_CONDITION = {
    "type": "object",
    "required": ["type", "status"],
    "properties": {
        "type": {"type": "string"},
        "status": {"type": "string"},
        "observedGeneration": {"type": "integer"},
        "lastTransitionTime": {"type": "string", "format": "date-time"},
        "reason": {"type": "string"},
        "message": {"type": "string"},
    },
}

#: What the operator writes into the status.
_OWN_STATUS: Schema = {
    "observedGeneration": {"type": "integer"},
    "conditions": {
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": _CONDITION,
    },
}

#: Called when somebody asks, because most runs do not.
_defined: list[Callable[[], Schema]] = []


def define(
    api_version: str,
    kind: str,
    *,
    spec: type,
    status: type | None = None,
    plural: str | None = None,
    singular: str | None = None,
    short_names: Sequence[str] = (),
    categories: Sequence[str] = (),
    scope: Literal["Namespaced", "Cluster"] = "Namespaced",
    columns: Sequence[Column] = (),
) -> None:
    """Defines a custom resource by a dataclass or a ``TypedDict`` for its ``spec``, and one for its ``status``.

    The status also has what the operator writes, and none of its own fields is required. ``plural`` is ``kind`` in
    lower case with an ``s`` by default.
    """
    def made() -> Schema:
        names: Schema = {"kind": kind, "plural": plural or _plural(kind.lower()), "singular": singular or kind.lower()}
        if short_names:
            names["shortNames"] = list(short_names)
        if categories:
            names["categories"] = list(categories)
        properties = {"spec": _schema(spec, f"{kind}.spec"), "status": _status(status, kind)}
        return _definition(api_version, names, scope, properties, columns)

    _defined.append(made)


# What follows is called by the interpreter, and by tests.


def reset() -> None:
    """Forgets what was defined: tests load one hook after the other."""
    _defined.clear()


def documents() -> list[str]:
    """All definitions, as JSON. The interpreter calls it."""
    found: dict[str, Schema] = {}
    for made in _defined:
        definition = made()
        name = definition["metadata"]["name"]
        if name in found:
            raise DefinitionError(f"define: {name} is defined twice")
        found[name] = definition
    return [json.dumps(one) for one in found.values()]


def _definition(
    api_version: str, names: Schema, scope: str, properties: dict[str, Schema], columns: Sequence[Column]
) -> Schema:
    group, slash, version = api_version.partition("/")
    if not slash or not group or not version:
        raise DefinitionError(f"define: {api_version!r} is not the apiVersion of a custom resource: write GROUP/VERSION")
    for part, schema in properties.items():
        if schema.get("type") != "object":
            raise DefinitionError(f"{names['kind']}.{part}: its type must be a dataclass or a TypedDict")
    of_version: Schema = {"name": version, "served": True, "storage": True, "subresources": {"status": {}}}
    if columns:
        of_version["additionalPrinterColumns"] = [_column(column) for column in columns]
    of_version["schema"] = {"openAPIV3Schema": {"type": "object", "required": ["spec"], "properties": properties}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{names['plural']}.{group}"},
        "spec": {"group": group, "scope": scope, "names": names, "versions": [of_version]},
    }


def _plural(word: str) -> str:
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return f"{word}es"
    if word.endswith("y") and word[-2:-1] not in tuple("aeiou"):
        return f"{word[:-1]}ies"
    return f"{word}s"


def _column(column: Column) -> Schema:
    schema: Schema = {"name": column.name, "type": column.type, "jsonPath": column.path}
    if column.priority:
        schema["priority"] = column.priority
    if column.description is not None:
        schema["description"] = column.description
    return schema


def _status(status: type | None, kind: str) -> Schema:
    schema: Schema = {"type": "object"} if status is None else _schema(status, f"{kind}.status")
    properties: Schema = schema.get("properties", {})
    # The operator also writes a status without the hook's fields, for example when the hook fails.
    optional = {key: value for key, value in schema.items() if key != "required"}
    return {**optional, "properties": {**properties, **_OWN_STATUS}}


_PLAIN: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
    datetime: {"type": "string", "format": "date-time"},
    Any: {"x-kubernetes-preserve-unknown-fields": True},
    object: {"x-kubernetes-preserve-unknown-fields": True},
    dict: {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
}


def _schema(of: Any, place: str, around: tuple[Any, ...] = ()) -> Schema:
    """The structural schema of a type."""
    origin, arguments = typing.get_origin(of), typing.get_args(of)
    if origin in (typing.Required, typing.NotRequired):
        return _schema(arguments[0], place, around)
    if origin is typing.Annotated:
        schema = _schema(arguments[0], place, around)
        for field in arguments[1:]:
            if isinstance(field, Field):
                schema = {**schema, **_keywords(field)}
        return schema
    if origin is Literal:
        return _enum(arguments, place)
    if origin in (typing.Union, types.UnionType):
        rest = [one for one in arguments if one is not type(None)]
        if len(rest) == 1:
            return _schema(rest[0], place, around)
        if set(rest) == {int, str}:
            return {"x-kubernetes-int-or-string": True}
        raise DefinitionError(f"{place}: a field has one type, or is int | str: {of} is neither")
    if origin in (list, Sequence) or (origin is tuple and arguments[1:] == (...,)):
        return {"type": "array", "items": _schema(arguments[0], f"{place}[]", around)}
    if origin in (dict, Mapping):
        if arguments[0] is not str:
            raise DefinitionError(f"{place}: the keys of an object are texts: write dict[str, …]")
        if arguments[1] in (Any, object):
            return dict(_PLAIN[dict])
        return {"type": "object", "additionalProperties": _schema(arguments[1], f"{place}.*", around)}
    if isinstance(of, type) and issubclass(of, Enum):
        return _enum(tuple(one.value for one in of), place)
    if dataclasses.is_dataclass(of) or typing.is_typeddict(of):
        if of in around:
            raise DefinitionError(f"{place}: {_name(of)} contains itself, which a definition cannot express: write dict[str, Any]")
        return _object(of, place, (*around, of))
    try:
        return dict(_PLAIN[of])
    except (KeyError, TypeError):
        raise DefinitionError(f"{place}: {_name(of)} is not a type that a definition can have") from None


def _object(of: Any, place: str, around: tuple[Any, ...]) -> Schema:
    try:
        hints = typing.get_type_hints(of, include_extras=True)
    except NameError as error:
        raise DefinitionError(f"{place}: {error}: a type must be known where the hook calls define") from None
    properties = {name: _schema(hint, f"{place}.{name}", around) for name, hint in hints.items()}
    if dataclasses.is_dataclass(of):
        required = []
        for field in dataclasses.fields(of):
            default = _default(field)
            if default is dataclasses.MISSING:
                required.append(field.name)
            elif default is not None:
                properties[field.name] = {**properties[field.name], "default": default}
    else:
        # Of annotations that are texts, the class knows only the total.
        needed = {name for name in of.__required_keys__ if typing.get_origin(hints[name]) is not typing.NotRequired}
        required = [name for name in hints if name in needed and "default" not in properties[name]]
    schema: Schema = {"type": "object"}
    if text := _described(of):
        schema["description"] = text
    if required:
        schema["required"] = required
    if properties:
        schema["properties"] = properties
    return schema


def _default(field: dataclasses.Field[Any]) -> Any:
    """None if there is one that JSON cannot express."""
    default = field.default
    if field.default_factory is not dataclasses.MISSING:
        default = field.default_factory()
    if default is dataclasses.MISSING or default is None:
        return default
    if isinstance(default, Enum):
        default = default.value
    try:
        return json.loads(json.dumps(default))
    except TypeError:
        return None


def _described(of: Any) -> str | None:
    """The text of the author: a dataclass without one gets its signature."""
    text = of.__dict__.get("__doc__")
    if not text or text.startswith(f"{of.__name__}("):
        return None
    return " ".join(text.split())


def _enum(values: tuple[Any, ...], place: str) -> Schema:
    kinds = {type(value) for value in values}
    if kinds not in ({str}, {int}):
        raise DefinitionError(f"{place}: the values of a choice are all texts, or all integers")
    return {**_PLAIN[kinds.pop()], "enum": list(values)}


def _keywords(field: Field) -> Schema:
    schema = {}
    for name, keyword in _KEYWORDS.items():
        value = getattr(field, name)
        if value is not None:
            schema[keyword] = value
    if field.list_map_keys:
        schema["x-kubernetes-list-type"] = "map"
        schema["x-kubernetes-list-map-keys"] = list(field.list_map_keys)
    return schema


def _name(of: Any) -> str:
    return getattr(of, "__name__", str(of))
