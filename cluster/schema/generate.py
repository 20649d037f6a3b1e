#!/usr/bin/env python3
"""Writes src/kinds/schema.txt: the fields of the built-in kinds, read from the Go types of the Kubernetes API.

Usage: generate.py API APIMACHINERY APIEXTENSIONS AGGREGATOR > ../src/kinds/schema.txt
where the arguments are checkouts of the modules k8s.io/api, k8s.io/apimachinery, k8s.io/apiextensions-apiserver and
k8s.io/kube-aggregator
(`go mod download -json k8s.io/api@v0.36.0` prints where Go puts them).

A line that starts in the first column is a type: its name and, when it merges as a whole, `atomic`. An indented line is a
field: JSON name, protobuf number, type, flags. `~` as a name stands for an embedded struct. Types: `[]T` is a list, `{}T` a
map by string. Flags: `ptr` (a Go pointer), `opt` (left out of JSON when empty),
`zero` (so is a struct), `merge=KEY` and `retain` (strategic merge
patch), `set`, `keys=A,B` and `atomic` (server-side apply).
"""
import re
import sys
from pathlib import Path

SCALARS = {
    "string": "string", "bool": "bool", "int32": "int", "int64": "int", "int": "int", "int16": "int", "uint8": "int",
    "uint16": "int", "uint32": "int", "uint64": "int", "float64": "float", "float32": "float", "[]byte": "bytes", "byte": "int",
}
# Types with an encoding of their own.
SPECIAL = {
    "resource.Quantity": "quantity", "intstr.IntOrString": "intstr", "meta.Time": "time", "meta.MicroTime": "microtime",
    "meta.Duration": "duration", "runtime.RawExtension": "raw", "runtime.Object": "any", "meta.FieldsV1": "fields",
    "apiext.JSON": "any", "apiext.JSONSchemaProps": "any", "types.UID": "string", "types.NodeName": "string", "meta.Verbs": "[]string",
    "types.NamespacedName": "any",
}


def packages(api, machinery, extensions, aggregator):
    for group in ["core", "apps", "batch", "networking", "rbac", "coordination", "events", "policy", "admissionregistration",
                  "autoscaling", "storage", "scheduling", "discovery", "certificates", "node", "resource", "flowcontrol",
                  "authentication", "authorization"]:
        yield group, Path(api) / group / "v1"
    # Versions beside v1 are in the name.
    yield "autoscalingv2", Path(api) / "autoscaling" / "v2"
    yield "apiregistration", Path(aggregator) / "pkg/apis/apiregistration/v1"
    yield "meta", Path(machinery) / "pkg/apis/meta/v1"
    yield "apiext", Path(extensions) / "pkg/apis/apiextensions/v1"


IMPORTS = {"v1": "core", "metav1": "meta", "corev1": "core", "apiv1": "core", "autoscalingv1": "autoscaling", "rbacv1": "rbac"}


def parse(path, package, structs, aliases):
    comments, current, local = [], None, {}
    text = path.read_text()
    # `v1` is the meta package in some files and the core package in others.
    v1 = "meta" if re.search(r'^\s*v1 "k8s.io/apimachinery/pkg/apis/meta/v1"', text, re.M) else "core"
    for line in text.split("\n"):
        stripped = line.strip()
        if stripped.startswith("//"):
            comments.append(stripped[2:].strip())
            continue
        if current is None:
            if m := re.match(r"type (\w+) struct \{(\})?", stripped):
                current = f"{package}.{m[1]}"
                structs[current] = {"comments": comments, "fields": []}
                if m[2]:
                    current = None
            elif m := re.match(r"type (\w+) (.+)$", stripped):
                aliases[f"{package}.{m[1]}"] = (m[2].split("//")[0].strip(), package, v1)
            comments = [] if stripped else comments
        elif stripped == "}":
            current, comments = None, []
        elif m := re.match(r"(?:(\w+)\s+)?([\w\.\*\[\]{}]+)\s+`(.*)`", stripped):
            structs[current]["fields"].append((m[1], m[2], m[3], comments, package, v1))
            comments = []
        elif stripped:
            comments = []


def resolve(go, package, v1, structs, aliases):
    """Returns (type, is a pointer)."""
    if go.startswith("*"):
        return resolve(go[1:], package, v1, structs, aliases)[0], True
    if go in SCALARS:
        return SCALARS[go], False
    if go.startswith("[]"):
        return "[]" + resolve(go[2:], package, v1, structs, aliases)[0], False
    if m := re.match(r"map\[[\w\.]+\](.+)$", go):
        return "{}" + resolve(m[1], package, v1, structs, aliases)[0], False
    if "." in go:
        module, name = go.split(".")
        full = f"{v1 if module == 'v1' else IMPORTS.get(module, module)}.{name}"
    else:
        full = f"{package}.{go}"
    if full in SPECIAL:
        return SPECIAL[full], False
    if full in structs:
        return full, False
    if full in aliases:
        target, where, their_v1 = aliases[full]
        return resolve(target, where, their_v1, structs, aliases)
    sys.stderr.write(f"unknown type {full}\n")
    return "any", False


def marker(comments, name):
    return [c.split("=", 1)[1] for c in comments if c.startswith(f"+{name}=")]


def field_line(field, structs, aliases):
    name, go, tags, comments, package, v1 = field
    tags = dict(re.findall(r'(\w+):"([^"]*)"', tags))
    json_name, *options = tags.get("json", "").split(",")
    kind, pointer = resolve(go, package, v1, structs, aliases)
    proto = tags.get("protobuf", "").split(",")
    number = proto[1] if len(proto) > 1 else "0"
    if "inline" in options or not json_name:
        if kind == "meta.TypeMeta":
            return None
        json_name = "~"
    if json_name == "-":
        return None
    flags = []
    if pointer:
        flags.append("ptr")
    if "omitempty" in options or "omitzero" in options:
        flags.append("opt")
    if "omitzero" in options:
        flags.append("zero")
    strategy = tags.get("patchStrategy", "").split(",")
    if "merge" in strategy:
        flags.append("merge=" + tags.get("patchMergeKey", ""))
    if "retainKeys" in strategy:
        flags.append("retain")
    list_type = marker(comments, "listType")
    if list_type == ["map"]:
        flags.append("keys=" + ",".join(marker(comments, "listMapKey")))
    elif list_type == ["set"]:
        flags.append("set")
    if marker(comments, "structType") == ["atomic"] or marker(comments, "mapType") == ["atomic"]:
        flags.append("atomic")
    return " ".join([f" {json_name}", number, kind, *flags])


def main():
    structs, aliases = {}, {}
    for package, folder in packages(*sys.argv[1:5]):
        for path in sorted(folder.glob("*types*.go")):
            if not path.name.startswith("zz_"):
                parse(path, package, structs, aliases)
    for special in SPECIAL:
        structs.pop(special, None)
    lines, used = {}, set()
    for name, struct in structs.items():
        lines[name] = [line for f in struct["fields"] if (line := field_line(f, structs, aliases))]
    roots = [n for n in structs if any(l.startswith(" metadata 1 meta.ObjectMeta") for l in lines[n])]
    roots += ["meta.DeleteOptions", "meta.Status"]
    while roots:
        name = roots.pop()
        if name in used or name not in lines:
            continue
        used.add(name)
        roots += [t.replace("[]", "").replace("{}", "") for l in lines[name] for t in [l.split()[2]]]
    for name in sorted(used):
        whole = " atomic" if marker(structs[name]["comments"], "structType") == ["atomic"] else ""
        whole = " atomic" if marker(structs[name]["comments"], "mapType") == ["atomic"] else whole
        print("\n".join([name + whole, *lines[name]]))


main()
