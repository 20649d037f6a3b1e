"""Definitions of custom resources, made of types."""

import json
import unittest
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Literal, NotRequired, TypedDict

from boathook import DefinitionError, crd, define
from boathook.crd import Column, Field


@dataclass
class Spec:
    image: Annotated[str, Field(min_length=1)]
    size: Annotated[int, Field(minimum=0)] = 1


class Status(TypedDict, total=False):
    readyReplicas: int


class Level(Enum):
    LOW = "low"
    HIGH = "high"


class Port(TypedDict):
    """A port."""

    name: str
    port: Annotated[int, Field(minimum=1, maximum=65535, description="Of the Pods.")]
    protocol: NotRequired[Literal["TCP", "UDP"]]


@dataclass
class Everything:
    """All that
    a spec can have."""

    when: datetime
    share: float | None
    target: int | str
    ports: Annotated[list[Port], Field(list_map_keys=["name"], max_items=3)] = field(default_factory=list)
    labels: dict[str, str] = field(default_factory=dict)
    level: Level = Level.LOW
    weights: tuple[int, ...] = ()
    paused: bool = False
    template: dict[str, Any] | None = None
    rest: Any = None


class Node(TypedDict):
    children: "list[Node]"


class Definitions(unittest.TestCase):
    def setUp(self) -> None:
        crd.reset()

    def schema(self, spec: Any, status: Any = None) -> Any:
        crd.reset()
        define("example.com/v1", "Thing", spec=spec, status=status)
        (one,) = crd.documents()
        return json.loads(one)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]

    def test_a_definition_is_whole(self) -> None:
        columns = [Column("Image", "string", ".spec.image"), Column("Age", "date", ".metadata.creationTimestamp", priority=1)]
        define("example.com/v1alpha1", "WebApp", spec=Spec, status=Status, columns=columns, short_names=["wa"])
        define("example.com/v1", "NetworkPolicy", spec=Status, scope="Cluster", plural="policies")
        web, policy = (json.loads(one) for one in crd.documents())
        self.assertEqual(web["metadata"], {"name": "webapps.example.com"})
        self.assertEqual(
            web["spec"]["names"], {"kind": "WebApp", "plural": "webapps", "singular": "webapp", "shortNames": ["wa"]}
        )
        (version,) = web["spec"]["versions"]
        schema = version.pop("schema")["openAPIV3Schema"]
        self.assertEqual(
            version,
            {
                "name": "v1alpha1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    {"name": "Image", "type": "string", "jsonPath": ".spec.image"},
                    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp", "priority": 1},
                ],
            },
        )
        self.assertEqual((schema["type"], schema["required"]), ("object", ["spec"]))
        spec = {
            "type": "object",
            "required": ["image"],
            "properties": {
                "image": {"type": "string", "minLength": 1},
                "size": {"type": "integer", "minimum": 0, "default": 1},
            },
        }
        self.assertEqual(schema["properties"]["spec"], spec)
        status = schema["properties"]["status"]["properties"]
        self.assertEqual(list(status), ["readyReplicas", "observedGeneration", "conditions"])
        self.assertEqual((policy["metadata"]["name"], policy["spec"]["scope"]), ("policies.example.com", "Cluster"))

    def test_no_field_of_the_status_is_required(self) -> None:
        class Told(TypedDict):
            port: Port

        status = self.schema(Spec, Told)["status"]
        self.assertEqual(list(status["properties"]), ["port", "observedGeneration", "conditions"])
        self.assertNotIn("required", status)
        self.assertEqual(status["properties"]["port"]["required"], ["name", "port"])

    def test_types_are_structural_schemas(self) -> None:
        spec = self.schema(Everything)["spec"]
        self.assertEqual((spec["description"], spec["required"]), ("All that a spec can have.", ["when", "share", "target"]))
        port = {
            "type": "object",
            "description": "A port.",
            "required": ["name", "port"],
            "properties": {
                "name": {"type": "string"},
                "port": {"type": "integer", "description": "Of the Pods.", "minimum": 1, "maximum": 65535},
                "protocol": {"type": "string", "enum": ["TCP", "UDP"]},
            },
        }
        unknown = {"x-kubernetes-preserve-unknown-fields": True}
        self.assertEqual(
            spec["properties"],
            {
                "when": {"type": "string", "format": "date-time"},
                "share": {"type": "number"},
                "target": {"x-kubernetes-int-or-string": True},
                "ports": {
                    "type": "array",
                    "items": port,
                    "maxItems": 3,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "default": [],
                },
                "labels": {"type": "object", "additionalProperties": {"type": "string"}, "default": {}},
                "level": {"type": "string", "enum": ["low", "high"], "default": "low"},
                "weights": {"type": "array", "items": {"type": "integer"}, "default": []},
                "paused": {"type": "boolean", "default": False},
                "template": {"type": "object", **unknown},
                "rest": unknown,
            },
        )

    def test_what_a_definition_cannot_express_is_named_with_its_place(self) -> None:
        @dataclass
        class Set:
            ports: list[set[int]]

        @dataclass
        class Keys:
            by: dict[int, str]

        @dataclass
        class Either:
            one: str | float

        @dataclass
        class Mixed:
            one: Literal["a", 1]

        for spec, told in [
            (Set, "Thing.spec.ports\\[\\]: set is not a type"),
            (Keys, "Thing.spec.by: the keys of an object are texts"),
            (Either, "Thing.spec.one: a field has one type, or is int | str"),
            (Mixed, "Thing.spec.one: the values of a choice"),
            (Node, "Thing.spec.children\\[\\]: Node contains itself"),
            (str, "Thing.spec: its type must be a dataclass or a TypedDict"),
        ]:
            with self.assertRaisesRegex(DefinitionError, told):
                self.schema(spec)
        crd.reset()
        with self.assertRaisesRegex(DefinitionError, "'v1' is not the apiVersion of a custom resource"):
            define("v1", "Thing", spec=Spec)
            crd.documents()
        crd.reset()
        with self.assertRaisesRegex(DefinitionError, "things.example.com is defined twice"):
            for _ in range(2):
                define("example.com/v1", "Thing", spec=Spec)
            crd.documents()


if __name__ == "__main__":
    unittest.main()
